//! The clock of every variable: the set of cycles in which it is present.
//!
//! The calculus is that of Lustre, with conditions compared by meaning: clock terms are inferred ([`infer`]),
//! conditions become functions of atoms ([`values`]), and each equation is compared with the clocks of its variables
//! ([`check`]).
//!
//! Invariants, checked by [`verify`] unless the program is rejected:
//! - **K1** every variable of the program has a clock.
//! - **K2** clocks are interned: two variables have the same [`ClockId`] if and only if they are proved to be present
//!   together. In a program that is proved to be synchronous, the clocks of every equation satisfy its primitive, so a
//!   variable is present exactly where the samplings of its clock hold.
//! - **K3** a parent comes before its children; the condition of a sampled clock is a `bool []` whose own clock is the
//!   parent, and is the first of all equal conditions.
//! - **K4** the base clock is the first.
//! - **K5** `same` names the first variable of each set of equal variables; all of them have the same type and the same
//!   clock.

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

/// The definition of a clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ClockData {
    /// The clock of all cycles.
    Base,
    /// The cycles of `parent` in which `cond` is `positive`.
    On {
        /// The clock of the condition.
        parent: ClockId,
        /// The condition; one variable represents all those that are proved equal to it.
        cond: Var,
        /// The value of the condition.
        positive: bool,
    },
    /// A clock that is unknown before the program runs; each unknown clock has its own id.
    Unknown,
}

/// The clocks of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clocks {
    /// The clock of each variable.
    pub of: IndexVec<Var, ClockId>,
    /// All clocks.
    pub clocks: IndexVec<ClockId, ClockData>,
    /// For each variable, the first variable that is proved to be the same stream (the variable itself if there is none
    /// before it).
    pub same: IndexVec<Var, Var>,
}

impl Clocks {
    /// The clock that ticks in every cycle.
    pub const BASE: ClockId = ClockId(0);

    /// Whether two variables are proved to be the same stream.
    pub fn are_same(&self, a: Var, b: Var) -> bool {
        self.same[a] == self.same[b]
    }

    /// The samplings from the root to a clock, outermost first: each condition with its value.
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

    /// The root of a clock: the base clock or an unknown one.
    pub fn root(&self, clock: ClockId) -> ClockId {
        let mut at = clock;
        while let ClockData::On { parent, .. } = self.clocks[at] {
            at = parent;
        }
        at
    }
}

/// The result of the synchronisation analysis of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// No inputs on their declared clocks cause a synchronisation error.
    Synchronous,
    /// Some inputs on their declared clocks cause a synchronisation error; these are the errors.
    Rejected(Diagnostics),
    /// Neither is proved, so the simulator checks at run time. The warnings say what could not be compared.
    Dynamic(Diagnostics),
}

/// The clocks of a program, and the verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClockReport {
    /// The clocks; for a rejected program, they follow its equations up to the first disagreement.
    pub clocks: Clocks,
    /// Whether the clocks are consistent.
    pub verdict: Verdict,
}

/// Infers the clocks of a program and checks them.
///
/// An input without a declared clock gets the clock that its use requires (as the branch of a `merge`), or else the
/// base clock. Variables without a driver tick in every cycle (CLOCK-3, CLOCK-7).
///
/// Requires: `flat::verify`. Ensures: K1 to K5 for a program that is not rejected.
pub fn clocks(flat: &Flat) -> ClockReport {
    let _span = tracing::debug_span!("clocks", equations = flat.equations.len()).entered();
    let constraints = constraint::constraints(flat);
    let (mut verdict, mut clocks) = assume(flat, &constraints, &BTreeSet::new());
    if let Verdict::Rejected(_) = verdict {
        // Errors are shown best where they arise if inputs that turn out to be on the base clock are assumed so from
        // the start.
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

/// The verdict of [`clocks`] under the assumption that these inputs without a declared clock are present in every
/// cycle.
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
