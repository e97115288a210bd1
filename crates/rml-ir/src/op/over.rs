//! Operators on many values at once: what a backend needs to compute a whole block of ticks by one operator.

use super::{AxisIndex, Op};
use crate::types::Shape;

impl Op {
    /// The operator that does for `n` values, stacked along a new first axis, what this one does for each of them: its
    /// axes are counted one further, and its shapes begin with `n`. Operands that broadcast have to be of one rank, and
    /// the kernel of a convolution is one for all values. None where no one operator does it, or where its operands
    /// have to be changed, too; such an operator is computed value by value.
    pub fn over(&self, n: usize) -> Option<Op> {
        let longer =
            |shape: &Shape| -> Shape { std::iter::once(n).chain(shape.dims().iter().copied()).collect() };
        let all =
            |items: &[AxisIndex]| std::iter::once(AxisIndex::whole(n)).chain(items.iter().copied()).collect();
        match self {
            Op::Copy | Op::StopGradient | Op::Not | Op::Unary(_) | Op::Convert(_) => Some(self.clone()),
            Op::Binary(_) | Op::Compare(_) | Op::And | Op::Or | Op::Clip | Op::Where => Some(self.clone()),
            Op::Cholesky | Op::Solve | Op::Rfft | Op::Irfft { .. } => Some(self.clone()),
            Op::Pick | Op::Softmax | Op::LogSoftmax | Op::OneHot { .. } => Some(self.clone()),
            Op::Conv(_) | Op::MaxPool(_) | Op::AvgPool(_) | Op::Patches(_) => Some(self.clone()),
            Op::ConvTranspose { shape, conv } => {
                Some(Op::ConvTranspose { shape: longer(shape), conv: conv.clone() })
            }
            Op::Unpatches { shape, pool } => Some(Op::Unpatches { shape: longer(shape), pool: pool.clone() }),
            Op::Transpose { perm } => {
                Some(Op::Transpose { perm: std::iter::once(0).chain(perm.iter().map(|i| i + 1)).collect() })
            }
            Op::Reshape { shape } => Some(Op::Reshape { shape: longer(shape) }),
            Op::Concat { axis } => Some(Op::Concat { axis: axis + 1 }),
            Op::Stack { axis } => Some(Op::Stack { axis: axis + 1 }),
            Op::Index { items } => Some(Op::Index { items: all(items) }),
            Op::Unindex { shape, items } => Some(Op::Unindex { shape: longer(shape), items: all(items) }),
            Op::Reduce(by, Some(axis)) => Some(Op::Reduce(*by, Some(axis + 1))),
            Op::CumSum { axis, reverse } => Some(Op::CumSum { axis: axis + 1, reverse: *reverse }),
            Op::Sort { axis, descending } => Some(Op::Sort { axis: axis + 1, descending: *descending }),
            Op::ArgSort { axis, descending } => Some(Op::ArgSort { axis: axis + 1, descending: *descending }),
            Op::SortBy { axis, descending } => Some(Op::SortBy { axis: axis + 1, descending: *descending }),
            Op::MatMul | Op::Einsum(_) | Op::ConvKernel { .. } | Op::Broadcast { .. } | Op::SumTo { .. } => {
                None
            }
            Op::Gather { .. } | Op::ScatterAdd { .. } | Op::Reduce(_, None) => None,
            Op::RandomUniform { .. } | Op::RandomNormal { .. } => None,
        }
    }
}
