//! Explains a synchronisation error of a run by the clocks of the program.

use std::collections::BTreeSet;

use rml_base::{Diagnostic, IndexVec};
use rml_ir::flat::{Flat, Var};

use super::constraint::constraints;
use super::infer::{Inferred, Term, TermId, infer};
use super::mismatch::{Kind, Mismatch, disagreements};
use super::report::Reporter;
use super::table::table;
use super::values::values;
use super::witness::Witness;

/// The fact that a run knows about a variable in one cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// Nothing is known.
    Nothing,
    /// The variable is absent.
    Absent,
    /// The variable is present, but its value is unknown or not a truth value.
    Present,
    /// The variable is present with this truth value.
    Is(bool),
}

/// A synchronisation error that occurs in every run.
#[derive(Clone, Copy, Debug)]
pub struct Meeting<'a> {
    /// The cycle in which streams disagree.
    pub cycle: u64,
    /// The number of cycles after which the error has occurred in every run.
    pub cycles: u64,
    /// Variables that must be present together and are not; empty if they are unknown.
    pub together: &'a [Var],
    /// The known fact about each variable in that cycle.
    pub seen: &'a IndexVec<Var, Seen>,
}

impl Meeting<'_> {
    /// Adds to an error that it occurs in every run, and when.
    #[must_use]
    pub fn remark(&self, error: Diagnostic) -> Diagnostic {
        let Meeting { cycle, cycles, .. } = self;
        let plural = if *cycles == 1 { "" } else { "s" };
        error.note(format!(
            "this happens in cycle {cycle} for all inputs: every run of {cycles} cycle{plural} or more meets it"
        ))
    }
}

/// The error that says which two clocks of a program disagree in a cycle, where each comes from, and how to correct
/// this. `None` if the clocks are proved to agree, or if the facts about the cycle do not distinguish them.
///
/// Requires: `flat::verify`.
pub fn blame(flat: &Flat, meeting: &Meeting<'_>) -> Option<Diagnostic> {
    let constraints = constraints(flat);
    let inferred = infer(flat, &constraints, &BTreeSet::new());
    let values = values(flat, &inferred);
    let clocks = table(flat, &inferred, &values);
    let disagreements = disagreements(&constraints, &inferred, &values);
    let told_first = disagreements.told.into_iter().chain(disagreements.following);
    let mut blamed = told_first.filter_map(|mismatch| {
        let witness = apart(&inferred, mismatch.kind, meeting)?;
        Some(Mismatch { witness: Some(witness), ..mismatch })
    });
    let is_met = |m: &Mismatch| {
        meeting.together.is_empty() || m.kind.present_together().iter().any(|v| meeting.together.contains(v))
    };
    let first = blamed.next()?;
    let mismatch = if is_met(&first) { first } else { blamed.find(is_met).unwrap_or(first) };
    let reporter = Reporter { flat, constraints: &constraints, inferred: &inferred, clocks: &clocks };
    Some(meeting.remark(reporter.error(&mismatch)))
}

/// The conditions by which the two sides of a mismatch differ in the cycle; `None` if they are not known to differ.
fn apart(inferred: &Inferred, kind: Kind, meeting: &Meeting<'_>) -> Option<Witness> {
    let terms = match kind {
        Kind::Together(a, b) => [inferred.of[a], inferred.of[b]],
        Kind::Sample(s) => [inferred.of[s.var], inferred.sampled(inferred.of[s.cond], s)?],
    };
    let [a, b] = terms.map(|term| is_active(inferred, term, meeting));
    let (a, b) = (a?, b?);
    (a.0 != b.0).then(|| {
        let all: BTreeSet<(Var, bool)> = a.1.into_iter().chain(b.1).collect();
        all.into_iter().collect()
    })
}

/// Whether a clock is active in the cycle, and the conditions that decide it.
fn is_active(inferred: &Inferred, term: TermId, meeting: &Meeting<'_>) -> Option<(bool, Witness)> {
    let (root, path) = inferred.path(term);
    let is_root = match inferred.terms[root] {
        Term::Unknown(v) => match meeting.seen[v] {
            Seen::Nothing => return None,
            Seen::Absent => false,
            Seen::Present | Seen::Is(_) => true,
        },
        Term::Base | Term::On { .. } => true,
    };
    let mut witness = Witness::new();
    if !is_root {
        return Some((false, witness));
    }
    for (cond, positive) in path {
        let Seen::Is(value) = meeting.seen[cond] else { return None };
        witness.push((cond, value));
        if value != positive {
            return Some((false, witness));
        }
    }
    Some((true, witness))
}
