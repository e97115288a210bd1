//! Matrix products and contractions.

use rml_ir::op::Einsum;

use crate::net::{Attr, Net, V};

/// NumPy's product.
pub(super) fn matmul(net: &mut Net, a: &V, b: &V, dims: &[usize]) -> V {
    if a.is_empty() || b.is_empty() {
        return net.splat(0.0, a.elem, dims);
    }
    net.node("MatMul", &[a, b], &[], a.elem, dims)
}

/// The contraction of one or two operands.
pub(super) fn einsum(net: &mut Net, labels: &Einsum, args: &[&V], dims: &[usize]) -> V {
    contraction(net, &labels.to_string(), args, dims)
}

/// A contraction by its equation.
pub(super) fn contraction(net: &mut Net, equation: &str, args: &[&V], dims: &[usize]) -> V {
    if args.iter().any(|x| x.is_empty()) {
        return net.splat(0.0, args[0].elem, dims);
    }
    net.node("Einsum", args, &[Attr::Text("equation", equation)], args[0].elem, dims)
}
