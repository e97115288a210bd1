//! Which operators may have no result (ERROR-4).

use super::Op;
use crate::types::DType;

impl Op {
    /// Whether the operator has no result for some operands of these types: an integer may not fit, or a position may lie outside of an
    /// axis. Memory that runs out does not count.
    pub fn may_fail(&self, mut args: impl Iterator<Item = DType>) -> bool {
        match self {
            Op::Neg | Op::Abs | Op::Add | Op::Sub | Op::Mul | Op::Div => {
                args.any(|dtype| dtype == DType::Int)
            }
            Op::Sum { .. } | Op::SumTo { .. } | Op::CumSum { .. } => args.any(|dtype| dtype == DType::Int),
            Op::ToInt => args.any(|dtype| dtype == DType::Num),
            Op::Gather { .. } | Op::ScatterAdd { .. } | Op::Pick => true,
            Op::Copy | Op::StopGradient | Op::Not | Op::Sign | Op::ToNum | Op::ToBool => false,
            Op::Exp | Op::Expm1 | Op::Log | Op::Log1p | Op::Sqrt | Op::Sin | Op::Cos | Op::Erf => false,
            Op::Sigmoid | Op::Tanh | Op::Relu | Op::Flush | Op::Gelu | Op::Softplus => false,
            Op::Floor | Op::Ceil | Op::Round | Op::Pow | Op::Softmax | Op::LogSoftmax => false,
            // Of ints these choose an operand, or give less than the divisor.
            Op::Mod | Op::Minimum | Op::Maximum | Op::Clip | Op::Where | Op::Max { .. } | Op::Min { .. } => {
                false
            }
            Op::And | Op::Or | Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => false,
            Op::MatMul | Op::Einsum(_) | Op::Conv(_) | Op::ConvTranspose { .. } | Op::ConvKernel { .. } => {
                false
            }
            Op::MaxPool(_) | Op::AvgPool(_) | Op::Patches(_) | Op::Unpatches { .. } => false,
            Op::Transpose { .. } | Op::Reshape { .. } | Op::Broadcast { .. } | Op::Concat { .. } => false,
            Op::Stack { .. } | Op::Index { .. } | Op::Unindex { .. } | Op::OneHot { .. } => false,
            Op::Mean { .. } | Op::ArgMax { .. } | Op::ArgMin { .. } | Op::Any { .. } | Op::All { .. } => {
                false
            }
            Op::RandomUniform { .. } | Op::RandomNormal { .. } => false,
        }
    }
}
