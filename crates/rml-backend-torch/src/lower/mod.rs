//! The kernel of each operator, one file a family.

use rml_ir::DType;
use rml_ir::op::Op;
use tch::{TchError, Tensor};

use crate::kernel::{Context, Kernel, kind, one, two};

mod arithmetic;
mod convolution;
mod gather;
mod layout;
mod linear;
mod pointwise;
mod reduce;
mod windows;

/// Prepares an operator; operands and result have the context's types.
///
/// # Errors
/// If a constant that it needs cannot be made on the device.
pub(crate) fn lower(op: &Op, cx: &Context<'_>) -> Result<Kernel, TchError> {
    let int = cx.is_int();
    Ok(match op {
        Op::Copy | Op::StopGradient => one(|x| Ok(x.shallow_clone())),
        Op::Neg if int => arithmetic::watched(|x| x[0].f_neg()),
        Op::Neg => one(Tensor::f_neg),
        Op::Not => one(Tensor::f_logical_not),
        Op::Abs if int => arithmetic::watched(|x| x[0].f_abs()),
        Op::Abs => one(Tensor::f_abs),
        Op::Sign if int => one(Tensor::f_sign),
        Op::Sign => one(pointwise::sign),
        Op::Exp => one(Tensor::f_exp),
        Op::Expm1 => one(Tensor::f_expm1),
        Op::Log => one(Tensor::f_log),
        Op::Log1p => one(Tensor::f_log1p),
        Op::Sqrt => one(Tensor::f_sqrt),
        Op::Sin => one(Tensor::f_sin),
        Op::Cos => one(Tensor::f_cos),
        Op::Erf => one(Tensor::f_erf),
        Op::Sigmoid => one(Tensor::f_sigmoid),
        Op::Tanh => one(Tensor::f_tanh),
        Op::Relu => pointwise::relu(cx)?,
        Op::Flush => pointwise::flush(cx)?,
        Op::Gelu => one(pointwise::gelu),
        Op::Softplus => pointwise::softplus(cx)?,
        Op::Floor => one(Tensor::f_floor),
        Op::Ceil => one(Tensor::f_ceil),
        Op::Round => one(Tensor::f_round),
        Op::ToNum => pointwise::cast(kind(DType::Num, cx.precision)),
        Op::ToInt => pointwise::to_int(cx),
        Op::ToBool => one(|x| x.f_ne(0_i64)),
        Op::Add if int => arithmetic::watched(|x| x[0].f_add(x[1])),
        Op::Add => two(Tensor::f_add),
        Op::Sub if int => arithmetic::watched(|x| x[0].f_sub(x[1])),
        Op::Sub => two(Tensor::f_sub),
        Op::Mul if int => arithmetic::watched(|x| x[0].f_mul(x[1])),
        Op::Mul => two(Tensor::f_mul),
        Op::Div if int => arithmetic::int_div(),
        Op::Div => two(Tensor::f_div),
        Op::Mod => two(arithmetic::int_mod),
        Op::Pow => two(Tensor::f_pow),
        Op::Minimum => two(Tensor::f_minimum),
        Op::Maximum => two(Tensor::f_maximum),
        Op::Clip => Box::new(|x, _| x[0].f_maximum(x[1])?.f_minimum(x[2])),
        Op::Where => Box::new(|x, _| x[1].f_where_self(x[0], x[2])),
        Op::And => two(Tensor::f_logical_and),
        Op::Or => two(Tensor::f_logical_or),
        Op::Eq => two(Tensor::f_eq_tensor),
        Op::Ne => two(Tensor::f_ne_tensor),
        Op::Lt => two(Tensor::f_lt_tensor),
        Op::Le => two(Tensor::f_le_tensor),
        Op::Gt => two(Tensor::f_gt_tensor),
        Op::Ge => two(Tensor::f_ge_tensor),
        Op::MatMul => linear::matmul(cx),
        Op::Einsum(labels) => linear::einsum(labels, cx),
        Op::Conv(conv) => convolution::forward(conv, cx),
        Op::ConvTranspose { shape: _, conv } => convolution::transpose(conv, cx),
        Op::ConvKernel { shape: _, conv } => convolution::kernel(conv, cx),
        Op::MaxPool(pool) => windows::max_pool(pool, cx),
        Op::AvgPool(pool) => windows::avg_pool(pool, cx),
        Op::Patches(pool) => windows::patches(pool, cx),
        Op::Unpatches { shape: _, pool } => windows::unpatches(pool, cx),
        Op::Transpose { perm } => layout::transpose(perm),
        Op::Reshape { shape: _ } => layout::reshape(cx),
        Op::Broadcast { shape: _ } => layout::broadcast(cx),
        Op::SumTo { shape } => reduce::sum_to(shape, cx),
        Op::Concat { axis } => layout::concat(*axis),
        Op::Stack { axis } => layout::stack(*axis),
        Op::Index { items } => layout::index(items, cx),
        Op::Unindex { shape: _, items } => layout::unindex(items, cx),
        Op::Gather { axis } => gather::gather(*axis, cx),
        Op::ScatterAdd { shape, axis } => gather::scatter_add(shape, *axis, cx),
        Op::Pick => gather::pick(cx),
        Op::Sum { axis } => reduce::sum(*axis, cx),
        Op::Mean { axis } => reduce::mean(*axis),
        Op::Max { axis } => reduce::max(*axis),
        Op::Min { axis } => reduce::min(*axis),
        Op::ArgMax { axis } => reduce::arg_max(*axis),
        Op::ArgMin { axis } => reduce::arg_min(*axis),
        Op::Any { axis } => reduce::any(*axis),
        Op::All { axis } => reduce::all(*axis),
        Op::CumSum { axis, reverse } => reduce::cumsum(*axis, *reverse, cx),
        Op::RandomUniform { shape: _ } | Op::RandomNormal { shape: _ } => {
            unreachable!("random numbers are drawn on the host")
        }
        Op::Softmax => one(|x| x.f_softmax(-1, None)),
        Op::LogSoftmax => one(|x| x.f_log_softmax(-1, None)),
        Op::OneHot { classes } => layout::one_hot(*classes, cx)?,
    })
}
