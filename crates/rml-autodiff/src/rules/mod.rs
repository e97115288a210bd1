//! The rules of transposition, with one file for each family of primitives (ADJ-4 to ADJ-12).
//!
//! A rule computes the contribution of a use of a variable to its gradient, given the gradient of the equation's
//! result. The condition under which the contribution is present comes from the [activity analysis](crate::activity).

pub(crate) mod apply;
pub(crate) mod call;
pub(crate) mod clock;
pub(crate) mod delay;
pub(crate) mod param;

use rml_ir::normal::{Rhs, Var};

use crate::activity::{Activity, Use};
use crate::build::Builder;

/// The contribution of a use to the gradient of the variable.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Contribution {
    /// The contribution is present where the condition of the use is true.
    Gated(Var),
    /// The contribution is present with the variable, and zero where the condition of the use is false.
    Padded(Var),
}

/// The contribution of a use; `None` if the result has no gradient after all.
pub(crate) fn contribution(b: &mut Builder, activity: &Activity, found: &Use) -> Option<Contribution> {
    if let Some(result) = found.result {
        return Some(Contribution::Gated(result));
    }
    let eq = b.node.equations[found.eq].clone();
    b.span = eq.span;
    let o = *eq.lhs.first()?;
    let d = *b.gradients.get(&o)?;
    let bp = b.condition_of(o)?;
    Some(match &eq.rhs {
        Rhs::Apply { op, args, statics } => {
            let site = apply::Site { args, statics, out: o, position: found.position, d, bp };
            Contribution::Gated(apply::pullback(b, op, &site)?)
        }
        Rhs::If { cond, .. } => Contribution::Gated(clock::of_if(b, *cond, found.position == 1, d, bp)),
        Rhs::When { .. } => Contribution::Gated(d),
        Rhs::Merge { cond, .. } => Contribution::Gated(clock::of_if(b, *cond, found.position == 1, d, bp)),
        Rhs::Fby { .. } | Rhs::FbyBack { .. } if found.position == 0 => {
            let first = *activity.firsts.get(&found.eq)?;
            Contribution::Gated(clock::of_if(b, first, true, d, bp))
        }
        Rhs::Fby { .. } => Contribution::Padded(delay::transposed(b, true, d, bp)),
        Rhs::FbyBack { .. } | Rhs::Post { .. } => Contribution::Padded(delay::transposed(b, false, d, bp)),
        Rhs::Const(_) | Rhs::Param { .. } | Rhs::ParamUpdate { .. } | Rhs::Call { .. } => return None,
    })
}
