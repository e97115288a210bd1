//! Matrix products and contractions.

use rml_ir::op::Einsum;

use crate::net::{Attr, Net, V};

/// NumPy's product as a product of matrices: a vector becomes a row or a column.
///
/// This avoids an error in ONNX Runtime: its optimizer merges a transposition of the left operand into the product
/// (`MatMulTransposeFusion`), but ignores the transposition if the right operand is a vector.
pub(super) fn matmul(net: &mut Net, a: &V, b: &V, dims: &[usize]) -> V {
    if a.is_empty() || b.is_empty() {
        return net.splat(0.0, a.elem, dims);
    }
    let mut size = dims.to_vec();
    let (mut left, mut right) = (a.clone(), b.clone());
    if let [n] = b.dims[..] {
        right = net.reshape(b, &[n, 1]);
        size.push(1);
    }
    if let [n] = a.dims[..] {
        left = net.reshape(a, &[1, n]);
        size.insert(size.len() - 1, 1);
    }
    let product = net.node("MatMul", &[&left, &right], &[], a.elem, &size);
    net.reshape(&product, dims)
}

/// The contraction of one or two operands.
pub(super) fn einsum(net: &mut Net, labels: &Einsum, args: &[&V], dims: &[usize]) -> V {
    contraction(net, &labels.to_string(), args, dims)
}

/// A contraction, given by its equation.
pub(super) fn contraction(net: &mut Net, equation: &str, args: &[&V], dims: &[usize]) -> V {
    if args.iter().any(|x| x.is_empty()) {
        return net.splat(0.0, args[0].elem, dims);
    }
    net.node("Einsum", args, &[Attr::Text("equation", equation)], args[0].elem, dims)
}
