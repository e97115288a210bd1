//! Operators as nodes.

use rml_ir::op::Op;

use crate::net::{Elem, Net, V};

mod gather;
mod layout;
mod pointwise;
mod product;
mod random;
mod reduce;
mod windows;

pub(crate) use layout::reverse;

/// The message of a panic that only operands that do not fit their operator can cause.
const CHECKED: &str = "functions satisfy B1 to B3";

/// An operator whose result has elements and the dimensions `dims`; `num` is how numbers are stored. None if ONNX Runtime does not have it.
pub(crate) fn operator(net: &mut Net, op: &Op, args: &[&V], dims: &[usize], num: Elem) -> Option<V> {
    let x = args[0];
    Some(match op {
        Op::Erf | Op::Gelu if num == Elem::F64 => return None,
        Op::Copy | Op::StopGradient => x.clone(),
        Op::Neg | Op::Not | Op::Abs | Op::Sign | Op::ToNum | Op::ToInt | Op::ToBool => {
            pointwise::unary(net, op, x, num)
        }
        Op::Exp | Op::Expm1 | Op::Log | Op::Log1p | Op::Sqrt | Op::Sin | Op::Cos | Op::Erf => {
            pointwise::unary(net, op, x, num)
        }
        Op::Sigmoid | Op::Tanh | Op::Relu | Op::Gelu | Op::Softplus => pointwise::unary(net, op, x, num),
        Op::Flush | Op::Floor | Op::Ceil | Op::Round => pointwise::unary(net, op, x, num),
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Mod | Op::Pow => pointwise::binary(net, op, x, args[1]),
        Op::Minimum | Op::Maximum | Op::And | Op::Or => pointwise::binary(net, op, x, args[1]),
        Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => pointwise::binary(net, op, x, args[1]),
        Op::Clip => pointwise::clip(net, x, args[1], args[2]),
        Op::Where => net.select(x, args[1], args[2]),
        Op::MatMul => product::matmul(net, x, args[1], dims),
        Op::Einsum(labels) => product::einsum(net, labels, args, dims),
        Op::Conv(conv) => windows::conv(net, conv, x, args[1], dims),
        Op::ConvTranspose { conv, .. } => windows::conv_transpose(net, conv, x, args[1], dims),
        Op::ConvKernel { conv, .. } => windows::conv_kernel(net, conv, x, args[1], dims),
        Op::MaxPool(pool) => windows::max_pool(net, pool, x, dims),
        Op::AvgPool(pool) => windows::avg_pool(net, pool, x, dims),
        Op::Patches(pool) => windows::patches(net, pool, x, dims),
        Op::Unpatches { pool, .. } => windows::unpatches(net, pool, x, dims),
        Op::Transpose { perm } => net.transpose(x, perm),
        Op::Reshape { .. } => net.reshape(x, dims),
        Op::Broadcast { .. } => net.expand(x, dims),
        Op::SumTo { .. } => reduce::sum_to(net, x, dims),
        Op::Concat { axis } => layout::concat(net, *axis, args, dims),
        Op::Stack { axis } => layout::stack(net, *axis, args, dims),
        Op::Index { items } => layout::index(net, items, x, dims),
        Op::Unindex { items, .. } => layout::unindex(net, items, x, dims),
        Op::Gather { axis } => gather::gather(net, *axis, x, args[1], dims),
        Op::ScatterAdd { axis, .. } => gather::scatter_add(net, *axis, x, args[1], dims),
        Op::Pick => gather::pick(net, x, args[1]),
        Op::Sum { axis } => reduce::sum(net, *axis, x),
        Op::Mean { axis } => reduce::mean(net, *axis, x, dims),
        Op::Max { axis } => reduce::extreme(net, *axis, x, true, dims),
        Op::Min { axis } => reduce::extreme(net, *axis, x, false, dims),
        Op::ArgMax { axis } => reduce::position(net, *axis, x, true, dims),
        Op::ArgMin { axis } => reduce::position(net, *axis, x, false, dims),
        Op::Any { axis } => reduce::quantify(net, *axis, x, false, dims),
        Op::All { axis } => reduce::quantify(net, *axis, x, true, dims),
        Op::CumSum { axis, reverse } => reduce::cumsum(net, *axis, *reverse, x),
        Op::RandomUniform { .. } => random::uniform(net, args, dims, num),
        Op::RandomNormal { .. } => random::normal(net, args, dims, num),
        Op::Softmax => net.map("Softmax", x),
        Op::LogSoftmax => reduce::log_softmax(net, x),
        Op::OneHot { classes } => layout::one_hot(net, *classes, x, num),
    })
}
