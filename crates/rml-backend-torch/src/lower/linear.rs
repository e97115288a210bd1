//! Contractions.

use rml_ir::op::Einsum;
use tch::Tensor;

use crate::kernel::Kernel;

/// The contraction of one or two operands.
pub(super) fn einsum(labels: &Einsum) -> Kernel {
    let equation = labels.to_string();
    Box::new(move |x, _| Tensor::f_einsum(&equation, x, None::<&[i64]>))
}
