//! Folds of an axis.

use crate::types::DType;

/// How the elements along an axis are combined.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reduction {
    /// Their sum, for int and num. 0 of nothing.
    Sum,
    /// Their mean; num only. NaN of nothing.
    Mean,
    /// Their product, taken first to last; num only. 1 of nothing.
    Prod,
    /// The logarithm of the sum of their exponentials; num only. -inf of nothing.
    LogSumExp,
    /// The largest one; NaN wins; int and num.
    Max,
    /// The position of the first largest one (row-major where all elements are folded); an int. NaN wins.
    ArgMax,
    /// The smallest one; NaN wins; int and num.
    Min,
    /// The position of the first smallest one; an int. NaN wins.
    ArgMin,
    /// Whether any is true. False of nothing.
    Any,
    /// Whether all are true. True of nothing.
    All,
}

impl Reduction {
    /// All of them.
    pub const ALL: [Reduction; 10] = [
        Reduction::Sum,
        Reduction::Mean,
        Reduction::Prod,
        Reduction::LogSumExp,
        Reduction::Max,
        Reduction::ArgMax,
        Reduction::Min,
        Reduction::ArgMin,
        Reduction::Any,
        Reduction::All,
    ];

    /// The name: `sum`.
    pub const fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "sum",
            Reduction::Mean => "mean",
            Reduction::Prod => "prod",
            Reduction::LogSumExp => "logsumexp",
            Reduction::Max => "max",
            Reduction::ArgMax => "argmax",
            Reduction::Min => "min",
            Reduction::ArgMin => "argmin",
            Reduction::Any => "any",
            Reduction::All => "all",
        }
    }

    /// The element types that it folds.
    pub const fn takes(self) -> &'static [DType] {
        match self {
            Reduction::Sum | Reduction::Max | Reduction::ArgMax | Reduction::Min | Reduction::ArgMin => {
                &[DType::Int, DType::Num]
            }
            Reduction::Mean | Reduction::Prod | Reduction::LogSumExp => &[DType::Num],
            Reduction::Any | Reduction::All => &[DType::Bool],
        }
    }

    /// The element type that it makes of one.
    pub const fn gives(self, of: DType) -> DType {
        match self {
            Reduction::Sum | Reduction::Mean | Reduction::Prod | Reduction::LogSumExp => of,
            Reduction::Max | Reduction::Min => of,
            Reduction::ArgMax | Reduction::ArgMin => DType::Int,
            Reduction::Any | Reduction::All => DType::Bool,
        }
    }

    /// Whether it has a result of no elements.
    pub const fn has_neutral(self) -> bool {
        match self {
            Reduction::Sum | Reduction::Mean | Reduction::Prod | Reduction::LogSumExp => true,
            Reduction::Any | Reduction::All => true,
            Reduction::Max | Reduction::ArgMax | Reduction::Min | Reduction::ArgMin => false,
        }
    }
}
