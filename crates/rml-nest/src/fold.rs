//! Folds: they reduce the values along a dimension to one value.

use rml_ir::DType;
use rml_ir::op::Reduction;

/// How a dimension is folded. Terms are taken first to last.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fold {
    /// The sum of nums in sixteen lanes: term i goes to lane i mod 16, which starts from 0; then lane l + 8 is added to
    /// lane l, then l + 4, l + 2 and l + 1.
    Lanes,
    /// The sum of ints from 0, one by one; it fails where a partial sum does not fit.
    Serial,
    /// The product of nums from 1, one by one.
    Product,
    /// The largest one. NaN beats all numbers, and the first among equals stays.
    Largest,
    /// The smallest one, likewise.
    Smallest,
    /// The position of the largest one; 0 if there are none.
    LargestAt,
    /// The position of the smallest one; 0 if there are none.
    SmallestAt,
    /// Whether any is true.
    Any,
    /// Whether all are true.
    All,
}

impl Fold {
    /// All folds.
    pub const ALL: [Fold; 9] = [
        Fold::Lanes,
        Fold::Serial,
        Fold::Product,
        Fold::Largest,
        Fold::Smallest,
        Fold::LargestAt,
        Fold::SmallestAt,
        Fold::Any,
        Fold::All,
    ];

    /// The name in the text.
    pub fn name(self) -> &'static str {
        match self {
            Fold::Lanes => "lanes",
            Fold::Serial => "serial",
            Fold::Product => "product",
            Fold::Largest => "largest",
            Fold::Smallest => "smallest",
            Fold::LargestAt => "largest_at",
            Fold::SmallestAt => "smallest_at",
            Fold::Any => "any",
            Fold::All => "all",
        }
    }

    /// The fold of a reduction on that type; a mean folds as its sum. None for reductions that take several folds.
    pub fn of(by: Reduction, dtype: DType) -> Option<Fold> {
        Some(match by {
            Reduction::Sum if dtype == DType::Int => Fold::Serial,
            Reduction::Sum | Reduction::Mean => Fold::Lanes,
            Reduction::Max => Fold::Largest,
            Reduction::Min => Fold::Smallest,
            Reduction::ArgMax => Fold::LargestAt,
            Reduction::ArgMin => Fold::SmallestAt,
            Reduction::Any => Fold::Any,
            Reduction::All => Fold::All,
            Reduction::Prod => Fold::Product,
            Reduction::LogSumExp => return None,
        })
    }

    /// The type of the result; none if it does not fold that type.
    pub fn result(self, of: DType) -> Option<DType> {
        match (self, of) {
            (Fold::Lanes | Fold::Product, DType::Num) => Some(DType::Num),
            (Fold::Serial, DType::Int) => Some(DType::Int),
            (Fold::Largest | Fold::Smallest, DType::Num | DType::Int) => Some(of),
            (Fold::LargestAt | Fold::SmallestAt, DType::Num | DType::Int) => Some(DType::Int),
            (Fold::Any | Fold::All, DType::Bool) => Some(DType::Bool),
            (Fold::Lanes | Fold::Product | Fold::Serial | Fold::Any | Fold::All, _) => None,
            (Fold::Largest | Fold::Smallest | Fold::LargestAt | Fold::SmallestAt, DType::Bool) => None,
        }
    }
}
