//! What a tape is claimed to hold.

use rml_ir::Type;
use rml_ir::flat::Var;
use rml_ir::op::AxisIndex;

/// What a tape is claimed to hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// A variable.
    Whole(Var),
    /// Some of the elements of a variable.
    Part(Var, AxisRange),
    /// A product of matrices, whose chains are taken so far along the inner dimension.
    Begun(Var, usize),
    /// Whether the end of a window is available and holds: false where it is absent. It is available where the
    /// outermost samplings of the clock of the end, that many of them, are.
    Holds(Var, usize),
}

/// The elements from `start` on along an axis, as many as `len`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct AxisRange {
    /// The axis.
    pub axis: usize,
    /// The first one.
    pub start: usize,
    /// How many.
    pub len: usize,
}

impl Claim {
    /// The variable.
    pub fn var(self) -> Var {
        match self {
            Claim::Whole(v) | Claim::Part(v, _) | Claim::Begun(v, _) | Claim::Holds(v, _) => v,
        }
    }

    /// The variable, if the tape holds the whole of it.
    pub fn whole(self) -> Option<Var> {
        if let Claim::Whole(v) = self { Some(v) } else { None }
    }

    /// The type of what a tape holds, where that of the variable is `of`; none if the variable has no such part.
    pub fn ty(self, of: &Type) -> Option<Type> {
        match self {
            Claim::Whole(_) | Claim::Begun(..) | Claim::Holds(..) => Some(of.clone()),
            Claim::Part(_, cut) => cut.ty(of),
        }
    }
}

impl AxisRange {
    /// The type of the elements of a value of that type; none if it has no such elements.
    pub fn ty(self, of: &Type) -> Option<Type> {
        let mut dims = of.shape.dims().to_vec();
        let size = dims.get_mut(self.axis)?;
        if self.start.checked_add(self.len)? > *size {
            return None;
        }
        *size = self.len;
        Some(Type::new(of.dtype, &dims))
    }

    /// The index that takes these elements of a value with those dimensions.
    pub fn items(self, dims: &[usize]) -> Vec<AxisIndex> {
        let item = |(axis, size): (usize, &usize)| {
            if axis == self.axis {
                AxisIndex::Slice { start: self.start, len: self.len, step: 1 }
            } else {
                AxisIndex::whole(*size)
            }
        };
        dims.iter().enumerate().map(item).collect()
    }
}
