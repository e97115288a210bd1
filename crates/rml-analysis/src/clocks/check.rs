//! Compares the constraints of each equation with the clocks of its variables.

use rml_base::Diagnostics;
use rml_ir::flat::Flat;

use super::bdd::{FALSE, Node};
use super::constraint::Constraint;
use super::infer::Inferred;
use super::mismatch::{Kind, Mismatch, clock, disagreements, sampled};
use super::report::Reporter;
use super::values::Values;
use super::witness::Witnesses;
use super::{Clocks, Verdict};

/// Checks all constraints.
pub(super) fn check(
    flat: &Flat,
    constraints: &[Constraint],
    inferred: &Inferred,
    values: &mut Values,
    clocks: &Clocks,
) -> Verdict {
    let mut mismatches = disagreements(constraints, inferred, values).told;
    judge(flat, inferred, values, &mut mismatches);
    let reporter = Reporter { flat, constraints, inferred, clocks };
    let is_error = |m: &&Mismatch| m.witness.is_some();
    let mut errors = Diagnostics::new();
    for mismatch in mismatches.iter().filter(is_error) {
        match reporter.of_call(mismatch) {
            // In this case, all values of the adjoint disagree for the same reason.
            Some(found) if errors.iter().any(|other| other.span() == found.span()) => {}
            Some(found) => errors.push(found),
            None => errors.push(reporter.error(mismatch)),
        }
    }
    if errors.has_errors() {
        return Verdict::Rejected(errors);
    }
    if mismatches.is_empty() {
        return Verdict::Synchronous;
    }
    Verdict::Dynamic(Diagnostics(mismatches.iter().map(|m| reporter.warning(m)).collect()))
}

/// Determines which mismatches certainly occur for some inputs.
fn judge(flat: &Flat, inferred: &Inferred, values: &mut Values, mismatches: &mut [Mismatch]) {
    for mismatch in mismatches {
        let (a, b) = match mismatch.kind {
            Kind::Together(a, b) => (clock(inferred, values, a), Some(clock(inferred, values, b))),
            Kind::Sample(s) => (clock(inferred, values, s.var), sampled(inferred, values, s)),
        };
        let Some(b) = b else { continue };
        if a.root.is_some() || b.root.is_some() {
            continue;
        }
        let differ: Node = values.bdd.xor(a.on, b.on).unwrap_or(FALSE);
        mismatch.witness = Witnesses::new(flat, inferred, values).find(differ);
    }
}
