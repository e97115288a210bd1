//! Comparisons of two elements.

use crate::types::DType;

/// A comparison. NaN equals nothing, and nothing is less or greater than NaN.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Compare {
    /// Whether they are equal, for all types.
    Eq,
    /// Whether they differ, for all types.
    Ne,
    /// Less than, for int and num.
    Lt,
    /// At most, for int and num.
    Le,
    /// Greater than, for int and num.
    Gt,
    /// At least, for int and num.
    Ge,
}

impl Compare {
    /// All of them.
    pub const ALL: [Compare; 6] =
        [Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge];

    /// The name: `eq`.
    pub const fn name(self) -> &'static str {
        match self {
            Compare::Eq => "eq",
            Compare::Ne => "ne",
            Compare::Lt => "lt",
            Compare::Le => "le",
            Compare::Gt => "gt",
            Compare::Ge => "ge",
        }
    }

    /// How a program writes it between its operands: `==`.
    pub const fn symbol(self) -> &'static str {
        match self {
            Compare::Eq => "==",
            Compare::Ne => "!=",
            Compare::Lt => "<",
            Compare::Le => "<=",
            Compare::Gt => ">",
            Compare::Ge => ">=",
        }
    }

    /// The element types that it compares.
    pub const fn takes(self) -> &'static [DType] {
        match self {
            Compare::Eq | Compare::Ne => &[DType::Bool, DType::Int, DType::Num],
            Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge => &[DType::Int, DType::Num],
        }
    }

    /// Whether it is true of two elements.
    #[inline(always)]
    pub fn holds<T: PartialOrd>(self, a: &T, b: &T) -> bool {
        match self {
            Compare::Eq => a == b,
            Compare::Ne => a != b,
            Compare::Lt => a < b,
            Compare::Le => a <= b,
            Compare::Gt => a > b,
            Compare::Ge => a >= b,
        }
    }
}
