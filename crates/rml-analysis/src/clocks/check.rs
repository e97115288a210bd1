//! Holds every equation against the clocks of its variables.

use std::collections::BTreeSet;

use rml_base::{Diagnostics, IndexVec};
use rml_ir::flat::{Flat, Var};

use super::bdd::{FALSE, Node};
use super::constraint::{Constraint, Sample};
use super::infer::{Inferred, Origin};
use super::report::Reporter;
use super::values::{Presence, Values};
use super::witness::{Witness, Witnesses};
use super::{Clocks, Verdict};

/// Two clocks that an equation puts together and that are not proved equal.
#[derive(Clone, Debug)]
pub(super) struct Mismatch {
    /// By position.
    pub(super) constraint: usize,
    pub(super) kind: Kind,
    /// Whether it is certain; if so, where the two differ.
    pub(super) witness: Option<Witness>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Two variables that are to be present together.
    Together(Var, Var),
    /// A variable that is to be present where a condition says.
    Sample(Sample),
}

/// Checks all constraints.
pub(super) fn check(
    flat: &Flat,
    constraints: &[Constraint],
    inferred: &Inferred,
    values: &mut Values,
    clocks: &Clocks,
) -> Verdict {
    let mut checker = Checker { constraints, inferred, values, mismatches: Vec::new() };
    checker.run();
    let mut mismatches = std::mem::take(&mut checker.mismatches);
    checker.judge(flat, &mut mismatches);
    let reporter = Reporter { flat, constraints, inferred, clocks };
    let is_error = |m: &&Mismatch| m.witness.is_some();
    let errors: Diagnostics =
        Diagnostics(mismatches.iter().filter(is_error).map(|m| reporter.error(m)).collect());
    if errors.has_errors() {
        return Verdict::Rejected(errors);
    }
    if mismatches.is_empty() {
        return Verdict::Synchronous;
    }
    Verdict::Dynamic(Diagnostics(mismatches.iter().map(|m| reporter.warning(m)).collect()))
}

impl Kind {
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
    values: &'a mut Values,
    mismatches: Vec<Mismatch>,
}

impl Checker<'_> {
    fn clock(&self, v: Var) -> Presence {
        self.values.presences[self.inferred.of[v]]
    }

    /// Finds the mismatches that do not follow from others: nothing is said about a clock that was derived by a constraint of which
    /// a mismatch has been told. The first one in the order of derivation is always told.
    fn run(&mut self) {
        let mut found: Vec<(usize, Kind)> = Vec::new();
        for (at, constraint) in self.constraints.iter().enumerate() {
            found.extend(self.mismatch(constraint).map(|kind| (at, kind)));
        }
        let mut time: IndexVec<Var, usize> = IndexVec::filled(0, self.inferred.of.len());
        for (n, v) in self.inferred.order.iter().enumerate() {
            time[*v] = n;
        }
        found.sort_by_key(|(at, _)| (time[self.constraints[*at].target], *at));
        let mut told = BTreeSet::new();
        for (at, kind) in found {
            if !kind.vars().into_iter().any(|v| self.follows(v, at, &told)) {
                told.insert(at);
                self.mismatches.push(Mismatch { constraint: at, kind, witness: None });
            }
        }
        self.without_those_of_claims();
        self.mismatches.sort_by_key(|m| m.constraint);
    }

    /// Where a declared clock is wrong, nothing is said about what uses the variable as if it were right.
    fn without_those_of_claims(&mut self) {
        let claimed = |m: &Mismatch| self.constraints[m.constraint].claim.is_some();
        let wrong: BTreeSet<Var> = self
            .mismatches
            .iter()
            .filter(|m| claimed(m))
            .map(|m| self.constraints[m.constraint].target)
            .collect();
        let found = std::mem::take(&mut self.mismatches);
        let is_own =
            |m: &Mismatch| claimed(m) || !m.kind.vars().into_iter().any(|v| self.owes_clock(v, &wrong));
        self.mismatches = found.into_iter().filter(is_own).collect();
    }

    /// Whether the clock of a variable was derived from that of one of others, or is its own.
    fn owes_clock(&self, v: Var, others: &BTreeSet<Var>) -> bool {
        let mut v = v;
        while !others.contains(&v) {
            let Origin::Constraint { from, .. } = self.inferred.origin[v] else { return false };
            v = from;
        }
        true
    }

    /// Whether the clock of a variable was derived by a constraint, other than the one in question, that has been told of.
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
    fn mismatch(&mut self, constraint: &Constraint) -> Option<Kind> {
        let reference = constraint.together.first().copied();
        let other = reference.and_then(|a| {
            let differs = |b: &&Var| self.clock(**b) != self.clock(a);
            Some(Kind::Together(a, *constraint.together.iter().find(differs)?))
        });
        other.or_else(|| {
            let differs = |s: &&Sample| self.sampled(**s) != Some(self.clock(s.var));
            constraint.samples.iter().find(differs).copied().map(Kind::Sample)
        })
    }

    /// The clock that a sample asks for; `None` beyond the limit of the diagrams.
    fn sampled(&self, sample: Sample) -> Option<Presence> {
        let parent = self.inferred.of[sample.cond];
        let term = self.inferred.sampled(parent, sample)?;
        Some(self.values.presences[term])
    }

    /// Finds out which mismatches are certain.
    fn judge(&mut self, flat: &Flat, mismatches: &mut [Mismatch]) {
        for mismatch in mismatches {
            let (a, b) = match mismatch.kind {
                Kind::Together(a, b) => (self.clock(a), Some(self.clock(b))),
                Kind::Sample(s) => (self.clock(s.var), self.sampled(s)),
            };
            let Some(b) = b else { continue };
            if a.root.is_some() || b.root.is_some() {
                continue;
            }
            let differ: Node = self.values.bdd.xor(a.on, b.on).unwrap_or(FALSE);
            mismatch.witness = Witnesses::new(flat, self.values).find(differ);
        }
    }
}
