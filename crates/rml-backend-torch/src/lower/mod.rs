//! The kernel of each operator, with one file per family.

use rml_ir::DType;
use rml_ir::op::{Binary, Compare, Op, Reduction, Unary};
use tch::{TchError, Tensor};

use crate::kernel::{Context, Kernel, kind, one, two};

mod arithmetic;
mod convolution;
mod fourier;
mod gather;
mod layout;
mod linear;
mod matrices;
mod pointwise;
mod reduce;
mod windows;

/// Prepares an operator whose operands and result have the types in the context.
///
/// # Errors
/// A constant that it needs cannot be made on the device.
pub(crate) fn lower(op: &Op, cx: &Context<'_>) -> Result<Kernel, TchError> {
    Ok(match op {
        Op::Copy | Op::StopGradient => one(|x| Ok(x.shallow_clone())),
        Op::Not => one(Tensor::f_logical_not),
        Op::Unary(f) => unary(*f, cx)?,
        Op::Convert(DType::Num) => pointwise::cast(kind(DType::Num, cx.precision)),
        Op::Convert(DType::Int) => pointwise::to_int(cx),
        Op::Convert(DType::Bool) => one(|x| x.f_ne(0_i64)),
        Op::Binary(f) => binary(*f, cx.is_int()),
        Op::Compare(how) => two(match how {
            Compare::Eq => Tensor::f_eq_tensor,
            Compare::Ne => Tensor::f_ne_tensor,
            Compare::Lt => Tensor::f_lt_tensor,
            Compare::Le => Tensor::f_le_tensor,
            Compare::Gt => Tensor::f_gt_tensor,
            Compare::Ge => Tensor::f_ge_tensor,
        }),
        Op::Clip => Box::new(|x, _| x[0].f_maximum(x[1])?.f_minimum(x[2])),
        Op::Where => Box::new(|x, _| x[1].f_where_self(x[0], x[2])),
        Op::And => two(Tensor::f_logical_and),
        Op::Or => two(Tensor::f_logical_or),
        Op::MatMul => linear::matmul(cx),
        Op::Einsum(labels) => linear::einsum(labels, cx),
        Op::Rfft => one(fourier::rfft),
        Op::Irfft { n } => fourier::irfft(*n),
        Op::Cholesky => one(matrices::cholesky),
        Op::Solve => matrices::solve(cx),
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
        Op::Reduce(by, axis) => match by {
            Reduction::Sum => reduce::sum(*axis, cx),
            Reduction::Mean => reduce::mean(*axis),
            Reduction::Prod => reduce::prod(*axis),
            Reduction::LogSumExp => reduce::logsumexp(*axis),
            Reduction::Max => reduce::max(*axis),
            Reduction::Min => reduce::min(*axis),
            Reduction::ArgMax => reduce::arg_max(*axis),
            Reduction::ArgMin => reduce::arg_min(*axis),
            Reduction::Any => reduce::any(*axis),
            Reduction::All => reduce::all(*axis),
        },
        Op::CumSum { axis, reverse } => reduce::cumsum(*axis, *reverse, cx),
        Op::Sort { axis, descending }
        | Op::ArgSort { axis, descending }
        | Op::SortBy { axis, descending } => reduce::sort(op, *axis, *descending, cx),
        Op::RandomUniform { shape: _ } | Op::RandomNormal { shape: _ } => {
            unreachable!("random numbers are drawn on the host")
        }
        Op::Softmax => one(|x| x.f_softmax(-1, None)),
        Op::LogSoftmax => one(|x| x.f_log_softmax(-1, None)),
        Op::OneHot { classes } => layout::one_hot(*classes, cx)?,
    })
}

/// Functions of one operand.
fn unary(f: Unary, cx: &Context<'_>) -> Result<Kernel, TchError> {
    let int = cx.is_int();
    Ok(match f {
        Unary::Neg if int => arithmetic::watched(|x| x[0].f_neg()),
        Unary::Neg => one(Tensor::f_neg),
        Unary::Abs if int => arithmetic::watched(|x| x[0].f_abs()),
        Unary::Abs => one(Tensor::f_abs),
        Unary::Sign if int => one(Tensor::f_sign),
        Unary::Sign => one(pointwise::sign),
        Unary::Exp => one(Tensor::f_exp),
        Unary::Expm1 => one(Tensor::f_expm1),
        Unary::Log => one(Tensor::f_log),
        Unary::Log1p => one(Tensor::f_log1p),
        Unary::Sqrt => one(Tensor::f_sqrt),
        Unary::Sin => one(Tensor::f_sin),
        Unary::Cos => one(Tensor::f_cos),
        Unary::Erf => one(Tensor::f_erf),
        Unary::Sigmoid => one(Tensor::f_sigmoid),
        Unary::Tanh => one(Tensor::f_tanh),
        Unary::Relu => pointwise::relu(cx)?,
        Unary::Flush => pointwise::flush(cx)?,
        Unary::Gelu => one(pointwise::gelu),
        Unary::Softplus => pointwise::softplus(cx)?,
        Unary::Floor => one(Tensor::f_floor),
        Unary::Ceil => one(Tensor::f_ceil),
        Unary::Round => one(Tensor::f_round),
    })
}

/// Functions of two operands.
fn binary(f: Binary, int: bool) -> Kernel {
    match f {
        Binary::Add if int => arithmetic::watched(|x| x[0].f_add(x[1])),
        Binary::Add => two(Tensor::f_add),
        Binary::Sub if int => arithmetic::watched(|x| x[0].f_sub(x[1])),
        Binary::Sub => two(Tensor::f_sub),
        Binary::Mul if int => arithmetic::watched(|x| x[0].f_mul(x[1])),
        Binary::Mul => two(Tensor::f_mul),
        Binary::Div if int => arithmetic::int_div(),
        Binary::Div => two(Tensor::f_div),
        Binary::Mod if int => two(arithmetic::int_mod),
        Binary::Mod => two(arithmetic::num_mod),
        Binary::Pow => two(Tensor::f_pow),
        Binary::Atan2 => two(Tensor::f_atan2),
        Binary::LogAddExp => two(Tensor::f_logaddexp),
        Binary::Minimum => two(Tensor::f_minimum),
        Binary::Maximum => two(Tensor::f_maximum),
    }
}
