//! The clock of every variable: the set of cycles in which it is present.
//!
//! Lustre's calculus, with conditions compared by meaning: clock terms are inferred ([`infer`]), conditions become
//! functions of atoms ([`values`]), and each equation is compared with the clocks of its variables ([`check`]).
//!
//! Invariants, checked by [`verify`] unless the program is rejected:
//! - **K1** every variable of the program has a clock.
//! - **K2** clocks are interned: two variables have the same [`ClockId`] iff they are proved to be present together. In
//!   a program that is proved to be synchronous, the clocks of every equation satisfy its primitive, so that a variable
//!   is present exactly where the samplings of its clock hold.
//! - **K3** a parent comes before its children; the condition of a sampled clock is a `bool []` whose own clock is the
//!   parent, and the first of those that are the same.
//! - **K4** the base clock is the first.
//! - **K5** `same` names the first variable of each set of equal ones, which has the same type and the same clock.

use std::collections::BTreeSet;

use rml_base::{Diagnostics, IndexVec, entity_id};
use rml_ir::flat::{Flat, Var};

mod adjoint;
mod bdd;
mod blame;
mod check;
mod classes;
mod constant;
mod constraint;
mod infer;
mod mismatch;
mod report;
mod show;
mod table;
mod values;
mod verify;
mod witness;

pub use blame::{Meeting, Seen, blame};
pub(crate) use constant::const_key;
pub use report::CALLED;
pub(crate) use show::expression;
pub use verify::verify;

use constraint::Constraint;

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
        /// The condition; one variable stands for all those that are proved equal to it.
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

impl Clocks {
    /// The clock of every cycle.
    pub const BASE: ClockId = ClockId(0);

    /// Whether two variables are proved to be the same stream.
    pub fn are_same(&self, a: Var, b: Var) -> bool {
        self.same[a] == self.same[b]
    }

    /// The samplings that lead from the root to a clock, outermost first: each condition with its value.
    pub fn samplings(&self, clock: ClockId) -> Vec<(Var, bool)> {
        let mut path = Vec::new();
        let mut at = clock;
        while let ClockData::On { parent, cond, positive } = self.clocks[at] {
            path.push((cond, positive));
            at = parent;
        }
        path.reverse();
        path
    }

    /// The clock under whose samplings a clock is: the base clock or an unknown one.
    pub fn root(&self, clock: ClockId) -> ClockId {
        let mut at = clock;
        while let ClockData::On { parent, .. } = self.clocks[at] {
            at = parent;
        }
        at
    }
}

/// What is known about the synchronisation of a program before it runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// No inputs that respect their clocks give a synchronisation error.
    Synchronous,
    /// Some inputs that respect their clocks give one: errors.
    Rejected(Diagnostics),
    /// Neither is proved; the simulator checks at run time. Warnings that say what could not be compared.
    Dynamic(Diagnostics),
}

/// The clocks of a program and what follows from them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClockReport {
    /// The clocks; those of a rejected program are what its equations say before the first disagreement.
    pub clocks: Clocks,
    /// Whether they fit.
    pub verdict: Verdict,
}

/// Infers the clocks of a program and checks them.
///
/// An input without a declared clock gets the one that its use asks for (the branch of a `merge`), else the base clock;
/// what nothing drives ticks in every cycle (CLOCK-3, CLOCK-7).
///
/// Requires: `flat::verify`. Ensures: K1 to K5 for a program that is not rejected.
pub fn clocks(flat: &Flat) -> ClockReport {
    let _span = tracing::debug_span!("clocks", equations = flat.equations.len()).entered();
    let constraints = constraint::constraints(flat);
    let (mut verdict, mut clocks) = assume(flat, &constraints, &BTreeSet::new());
    if let Verdict::Rejected(_) = verdict {
        // What is wrong shows best where it arises if the inputs that are on the base clock are known to be from the
        // start.
        let inputs = flat.inputs.iter().filter(|i| i.clock.is_none()).map(|i| i.var);
        let on_base = inputs.filter(|v| clocks.of[*v] == Clocks::BASE).collect();
        let again = assume(flat, &constraints, &on_base);
        if let Verdict::Rejected(_) = again.0 {
            (verdict, clocks) = again;
        }
    }
    if rml_ir::check::is_verifying()
        && !matches!(verdict, Verdict::Rejected(_))
        && let Err(found) = verify(flat, &clocks, verdict == Verdict::Synchronous)
    {
        panic!(
            "the table of clocks is broken:\n{}\n{clocks:?}\n{}",
            found.join("\n"),
            rml_ir::flat::print(flat)
        );
    }
    ClockReport { clocks, verdict }
}

/// The verdict and the clocks under an assumption.
/// The verdict of [`clocks`] if these inputs without a declared clock are present in every cycle.
pub fn clocks_if_always(flat: &Flat, inputs: &BTreeSet<Var>) -> Verdict {
    assume(flat, &constraint::constraints(flat), inputs).0
}

fn assume(flat: &Flat, constraints: &[Constraint], on_base: &BTreeSet<Var>) -> (Verdict, Clocks) {
    let inferred = infer::infer(flat, constraints, on_base);
    let mut values = values::values(flat, &inferred);
    let clocks = table::table(flat, &inferred, &values);
    let verdict = check::check(flat, constraints, &inferred, &mut values, &clocks);
    (verdict, clocks)
}
