//! The clock of every variable: the set of cycles in which it is present.
//!
//! Invariants:
//! - **K1** every variable of the program has a clock.
//! - **K2** clocks are interned: two variables have the same [`ClockId`] iff they are proved to be present together.
//! - **K3** a parent stands before its children; the condition of a sampled clock is a `bool []` whose own clock is the parent.

use rml_base::{IndexVec, entity_id};
use rml_ir::flat::Var;

entity_id!(
    /// A clock.
    ClockId,
    "ck"
);

/// How a clock comes about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ClockData {
    /// Every cycle.
    Base,
    /// The cycles of `parent` in which `cond` is `positive`.
    On {
        /// The clock of the condition.
        parent: ClockId,
        /// The condition; one variable stands for all that are proved equal to it.
        cond: Var,
        /// For which of its values.
        positive: bool,
    },
    /// Not known before the program runs; each unknown clock has an id of its own.
    Unknown,
}

/// The clocks of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clocks {
    /// The clock of each variable.
    pub of: IndexVec<Var, ClockId>,
    /// All clocks.
    pub clocks: IndexVec<ClockId, ClockData>,
    /// For each variable, the first one that is proved to be the same stream (itself, if there is none before it).
    pub same: IndexVec<Var, Var>,
}
