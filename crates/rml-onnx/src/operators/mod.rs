//! Operators as nodes.

use rml_ir::op::{Binary, Op, Unary};

use crate::net::{Elem, Net, V};

mod fourier;
mod gather;
mod layout;
mod pointwise;
mod product;
mod random;
mod reduce;
mod sort;
mod windows;

pub(crate) use layout::reverse;

/// An operator whose result has the dimensions `dims` and at least one element; `num` is the element type of numbers.
/// None if ONNX Runtime does not have the operator.
pub(crate) fn operator(net: &mut Net, op: &Op, args: &[&V], dims: &[usize], num: Elem) -> Option<V> {
    let x = args[0];
    Some(match op {
        Op::Unary(Unary::Erf | Unary::Gelu) | Op::Binary(Binary::Atan2) if num == Elem::F64 => return None,
        Op::Cholesky | Op::Solve => return None,
        Op::Rfft => fourier::rfft(net, x, dims),
        Op::Irfft { n } => fourier::irfft(net, *n, x, dims),
        Op::Copy | Op::StopGradient => x.clone(),
        Op::Not => net.map("Not", x),
        Op::Unary(f) => pointwise::unary(net, *f, x),
        Op::Convert(to) => pointwise::convert(net, *to, x, num),
        Op::Binary(f) => pointwise::binary(net, *f, x, args[1]),
        Op::Compare(how) => pointwise::compare(net, *how, x, args[1]),
        Op::And => net.zip("And", x, args[1]),
        Op::Or => net.zip("Or", x, args[1]),
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
        Op::Reduce(by, axis) => reduce::reduce(net, *by, *axis, x, dims),
        Op::CumSum { axis, reverse } => reduce::cumsum(net, *axis, *reverse, x),
        Op::Sort { axis, descending } => sort::by(net, *axis, *descending, x, x),
        Op::ArgSort { axis, descending } => sort::order(net, *axis, *descending, x),
        Op::SortBy { axis, descending } => sort::by(net, *axis, *descending, x, args[1]),
        Op::RandomUniform { .. } => random::uniform(net, args, dims, num),
        Op::RandomNormal { .. } => random::normal(net, args, dims, num),
        Op::Softmax => net.map("Softmax", x),
        Op::LogSoftmax => reduce::log_softmax(net, x),
        Op::OneHot { classes } => layout::one_hot(net, *classes, x, num),
    })
}
