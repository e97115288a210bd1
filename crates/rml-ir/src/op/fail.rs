//! Which operators may have no result (ERROR-4).

use super::{Binary, Op, Reduction, Unary};
use crate::types::DType;

impl Op {
    /// Whether the operator has no result for some operands of these types: an integer may not fit, or a position may
    /// be outside of an axis. Memory that runs out does not count.
    pub fn may_fail(&self, mut args: impl Iterator<Item = DType>) -> bool {
        let mut takes = |wanted| args.any(|dtype| dtype == wanted);
        match self {
            Op::Unary(f) => takes(DType::Int) && *f != Unary::Sign,
            // Of ints these three choose an operand, or give less than the divisor.
            Op::Binary(f) => {
                takes(DType::Int) && !matches!(f, Binary::Mod | Binary::Minimum | Binary::Maximum)
            }
            Op::Reduce(by, _) => match by {
                Reduction::Sum => takes(DType::Int),
                Reduction::Mean | Reduction::Prod | Reduction::LogSumExp => false,
                Reduction::Max | Reduction::ArgMax | Reduction::Min => false,
                Reduction::ArgMin | Reduction::Any | Reduction::All => false,
            },
            Op::SumTo { .. } | Op::CumSum { .. } => takes(DType::Int),
            Op::Convert(to) => *to == DType::Int && takes(DType::Num),
            Op::Gather { .. } | Op::ScatterAdd { .. } | Op::Pick => true,
            Op::Copy | Op::StopGradient | Op::Not | Op::And | Op::Or | Op::Compare(_) => false,
            Op::Clip | Op::Where | Op::Softmax | Op::LogSoftmax => false,
            Op::MatMul | Op::Einsum(_) | Op::Conv(_) | Op::ConvTranspose { .. } | Op::ConvKernel { .. } => {
                false
            }
            Op::MaxPool(_) | Op::AvgPool(_) | Op::Patches(_) | Op::Unpatches { .. } => false,
            Op::Transpose { .. } | Op::Reshape { .. } | Op::Broadcast { .. } | Op::Concat { .. } => false,
            Op::Stack { .. } | Op::Index { .. } | Op::Unindex { .. } | Op::OneHot { .. } => false,
            Op::Cholesky | Op::Solve | Op::Rfft | Op::Irfft { .. } => false,
            Op::Sort { .. } | Op::ArgSort { .. } | Op::SortBy { .. } => false,
            Op::RandomUniform { .. } | Op::RandomNormal { .. } => false,
        }
    }
}
