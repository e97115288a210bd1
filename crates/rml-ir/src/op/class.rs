//! Classes of operators, by the places of the operands' elements that they read and write. Engines choose a loop, a
//! layout or a place in memory by the class, so that a new operator of a known class needs no line there.

use super::Op;

/// The classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// The operand itself.
    Identity,
    /// Each element is made from the elements at its own place; operands broadcast.
    Pointwise,
    /// Elements are moved or repeated, but not computed.
    Layout,
    /// An axis, or all, are folded.
    Fold,
    /// Each element depends on those along one axis, and the shape stays.
    Along,
    /// Sums of products of elements, and what undoes them.
    Product,
    /// Windows over spatial axes.
    Sliding,
    /// Ints of an operand say where.
    Lookup,
    /// Pseudo-random numbers, which a key and the tick determine.
    Random,
}

impl Op {
    /// The class.
    pub const fn class(&self) -> Class {
        match self {
            Op::Copy | Op::StopGradient => Class::Identity,
            Op::Not | Op::Unary(_) | Op::Convert(_) | Op::Binary(_) | Op::Compare(_) => Class::Pointwise,
            Op::And | Op::Or | Op::Clip | Op::Where => Class::Pointwise,
            Op::Transpose { .. } | Op::Reshape { .. } | Op::Broadcast { .. } | Op::Concat { .. } => {
                Class::Layout
            }
            Op::Stack { .. } | Op::Index { .. } | Op::Unindex { .. } => Class::Layout,
            Op::SumTo { .. } | Op::Reduce(..) => Class::Fold,
            Op::CumSum { .. } | Op::Softmax | Op::LogSoftmax => Class::Along,
            Op::Sort { .. } | Op::ArgSort { .. } | Op::SortBy { .. } => Class::Along,
            Op::MatMul | Op::Einsum(_) | Op::Cholesky | Op::Solve => Class::Product,
            Op::Rfft | Op::Irfft { .. } => Class::Product,
            Op::Conv(_) | Op::ConvTranspose { .. } | Op::ConvKernel { .. } => Class::Sliding,
            Op::MaxPool(_) | Op::AvgPool(_) | Op::Patches(_) | Op::Unpatches { .. } => Class::Sliding,
            Op::Gather { .. } | Op::ScatterAdd { .. } | Op::Pick | Op::OneHot { .. } => Class::Lookup,
            Op::RandomUniform { .. } | Op::RandomNormal { .. } => Class::Random,
        }
    }

    /// Whether each element of the result is made from the elements at its own place alone, the operand itself
    /// included.
    pub const fn is_pointwise(&self) -> bool {
        matches!(self.class(), Class::Pointwise | Class::Identity)
    }
}
