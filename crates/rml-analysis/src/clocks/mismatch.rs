//! Mismatches: equations that require two clocks to be equal that are not proved to be equal.

use std::collections::BTreeSet;

use rml_base::IndexVec;
use rml_ir::Sample;
use rml_ir::flat::Var;

use super::constraint::Constraint;
use super::infer::{Inferred, Origin};
use super::values::{Presence, Values};
use super::witness::Witness;

/// Two clocks that an equation requires to be equal and that are not proved to be equal.
#[derive(Clone, Debug)]
pub(super) struct Mismatch {
    /// The index of the constraint.
    pub(super) constraint: usize,
    pub(super) kind: Kind,
    /// The conditions under which the two differ, if that certainly occurs.
    pub(super) witness: Option<Witness>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Two variables that must be present together.
    Together(Var, Var),
    /// A variable that must be present where a condition has a value.
    Sample(Sample),
}

/// The mismatches of a program.
pub(super) struct Disagreements {
    /// The mismatches that do not follow from others, in the order of the program.
    pub(super) told: Vec<Mismatch>,
    /// The others.
    pub(super) following: Vec<Mismatch>,
}

/// Finds all constraints that the clocks are not proved to satisfy.
pub(super) fn disagreements(
    constraints: &[Constraint],
    inferred: &Inferred,
    values: &Values,
) -> Disagreements {
    Checker { constraints, inferred, values }.run()
}

impl Kind {
    /// The variables that must be present together.
    pub(super) fn present_together(self) -> Vec<Var> {
        match self {
            Kind::Together(a, b) => vec![a, b],
            Kind::Sample(s) => vec![s.var],
        }
    }

    /// The variables whose clocks disagree.
    fn vars(self) -> [Var; 2] {
        match self {
            Kind::Together(a, b) => [a, b],
            Kind::Sample(s) => [s.var, s.cond],
        }
    }
}

struct Checker<'a> {
    constraints: &'a [Constraint],
    inferred: &'a Inferred,
    values: &'a Values,
}

pub(super) fn clock(inferred: &Inferred, values: &Values, v: Var) -> Presence {
    values.presences[inferred.of[v]]
}

/// The clock that a sample requires; `None` if it exceeds the limit of the diagrams.
pub(super) fn sampled(inferred: &Inferred, values: &Values, sample: Sample) -> Option<Presence> {
    let term = inferred.sampled(inferred.of[sample.cond], sample)?;
    Some(values.presences[term])
}

impl Checker<'_> {
    /// Separates the mismatches that are reported from those that follow from them. A mismatch is not reported if one
    /// of its clocks was derived by a constraint that already has a reported mismatch. The first mismatch in the order
    /// of derivation is always reported.
    fn run(&self) -> Disagreements {
        let mut found: Vec<Mismatch> = Vec::new();
        for (at, constraint) in self.constraints.iter().enumerate() {
            let kind = self.mismatch(constraint);
            found.extend(kind.map(|kind| Mismatch { constraint: at, kind, witness: None }));
        }
        let mut time: IndexVec<Var, usize> = IndexVec::filled(0, self.inferred.of.len());
        for (n, v) in self.inferred.order.iter().enumerate() {
            time[*v] = n;
        }
        found.sort_by_key(|m| (time[self.constraints[m.constraint].target], m.constraint));
        let mut named = BTreeSet::new();
        let (mut told, mut following) = (Vec::new(), Vec::new());
        for mismatch in found {
            let at = mismatch.constraint;
            if mismatch.kind.vars().into_iter().any(|v| self.follows(v, at, &named)) {
                following.push(mismatch);
            } else {
                named.insert(at);
                told.push(mismatch);
            }
        }
        let (mut told, of_claims) = self.without_those_of_claims(told);
        following.extend(of_claims);
        told.sort_by_key(|m| m.constraint);
        Disagreements { told, following }
    }

    /// If a declared clock is wrong, mismatches are not reported that only follow from its use as if it were correct.
    fn without_those_of_claims(&self, found: Vec<Mismatch>) -> (Vec<Mismatch>, Vec<Mismatch>) {
        let claimed = |m: &Mismatch| self.constraints[m.constraint].claim.is_some();
        let wrong: BTreeSet<Var> =
            found.iter().filter(|m| claimed(m)).map(|m| self.constraints[m.constraint].target).collect();
        let is_own =
            |m: &Mismatch| claimed(m) || !m.kind.vars().into_iter().any(|v| self.owes_clock(v, &wrong));
        found.into_iter().partition(is_own)
    }

    /// Whether the clock of a variable was derived from the clock of one of `others`, or the variable is one of them.
    fn owes_clock(&self, v: Var, others: &BTreeSet<Var>) -> bool {
        let mut v = v;
        while !others.contains(&v) {
            let Origin::Constraint { from, .. } = self.inferred.origin[v] else { return false };
            v = from;
        }
        true
    }

    /// Whether the clock of a variable was derived by a constraint with a reported mismatch, other than the constraint
    /// `at`.
    fn follows(&self, v: Var, at: usize, told: &BTreeSet<usize>) -> bool {
        let mut v = v;
        while let Origin::Constraint { constraint, from } = self.inferred.origin[v] {
            if constraint != at && self.constraints[constraint].target == v && told.contains(&constraint) {
                return true;
            }
            v = from;
        }
        false
    }

    /// The first two clocks of a constraint that are not the same.
    fn mismatch(&self, constraint: &Constraint) -> Option<Kind> {
        let reference = constraint.together.first().copied();
        let other = reference.and_then(|a| {
            let differs =
                |b: &&Var| clock(self.inferred, self.values, **b) != clock(self.inferred, self.values, a);
            Some(Kind::Together(a, *constraint.together.iter().find(differs)?))
        });
        other.or_else(|| {
            let differs = |s: &&Sample| {
                sampled(self.inferred, self.values, **s) != Some(clock(self.inferred, self.values, s.var))
            };
            constraint.samples.iter().find(differs).copied().map(Kind::Sample)
        })
    }
}
