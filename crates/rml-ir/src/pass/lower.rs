//! The only path from the inlined program to the equations that run.

use super::{cone, fold, fold_initial_values, settle};
use crate::flat::{Drawn, Flat};

/// Which variables of a program are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Keep {
    /// Those that the outputs and the parameters that training updates need.
    #[default]
    Needed,
    /// All, with the equations as they are written, so that each can be traced.
    All,
}

/// A step of [`lower`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LowerStep {
    /// [`settle`].
    Settle,
    /// [`fold`]; [`fold_initial_values`] if all variables are kept.
    Fold,
    /// [`cone`].
    Cone,
}

/// Makes the equations that run: for `compile` and all commands that run a program, and for the analyses.
///
/// Requires: `flat::verify`. Ensures: the same; for every trace without errors, of which all inputs are given, outputs
/// and states are what they were before, bit for bit, in every cycle.
pub fn lower(flat: Flat, keep: Keep) -> Flat {
    lower_with(flat, keep, &mut |_, _| {})
}

/// As [`lower`]; `after` is shown the program after each step that is taken.
pub fn lower_with(flat: Flat, keep: Keep, after: &mut dyn FnMut(LowerStep, &Flat)) -> Flat {
    type Pass = fn(Flat) -> Flat;
    let steps: &[(LowerStep, Pass)] = match keep {
        Keep::Needed => &[(LowerStep::Settle, settle), (LowerStep::Fold, fold), (LowerStep::Cone, cone)],
        Keep::All => &[(LowerStep::Fold, fold_initial_values)],
    };
    steps.iter().fold(flat, |flat, (step, pass)| {
        let flat = pass(flat);
        after(*step, &flat);
        flat
    })
}

/// [`settle`] and [`cone`] of a program that is drawn already, as what [`forget_values`](super::forget_values) makes
/// is.
///
/// Ensures: as both; they make no constant that is still to be drawn.
pub fn lower_drawn(flat: Drawn) -> Drawn {
    Drawn::made("lower_drawn", cone(settle(flat.into_inner())))
}
