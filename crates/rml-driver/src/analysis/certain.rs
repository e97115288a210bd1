//! Synchronisation errors that no input can avoid.

use rml_analysis::{ClockReport, Clocks, Meeting, Seen, Verdict, blame};
use rml_base::codes::analysis::CLOCK_MISMATCH;
use rml_base::{Diagnostic, Diagnostics, IndexVec};
use rml_ir::flat::{Flat, Var};
use rml_sim::{BlindRun, Status};

/// The number of cycles of the run without values.
const CYCLES: usize = 64;

/// The clocks of a program, and whether they are consistent. If the calculus cannot decide, a run without values may
/// show that they cannot be.
///
/// Requires: `flat::verify`.
pub(super) fn clocks(flat: &Flat) -> ClockReport {
    let mut report = rml_analysis::clocks(flat);
    if let Verdict::Dynamic(_) = report.verdict
        && let Some(error) = certain_error(flat, &report.clocks)
    {
        report.verdict = Verdict::Rejected(Diagnostics::from(error));
    }
    report
}

/// An error that every sufficiently long run meets.
fn certain_error(flat: &Flat, clocks: &Clocks) -> Option<Diagnostic> {
    let given: Vec<Var> =
        flat.inputs.iter().map(|i| i.var).filter(|v| clocks.of[*v] == Clocks::BASE).collect();
    let run = BlindRun::new(flat.clone(), &given, CYCLES);
    let cycles = run.cycles();
    if let Some(failure) = run.synchronisation_error() {
        let (together, seen) = (run.together(&failure), seen(&run, failure.cycle));
        let meeting = Meeting { cycle: failure.cycle, cycles, together: &together, seen: &seen };
        let own = || meeting.remark(Diagnostic { code: CLOCK_MISMATCH, ..failure.report });
        return Some(blame(run.flat(), &meeting).unwrap_or_else(own));
    }
    let (cycle, claim) = run.false_claim()?;
    blame(run.flat(), &Meeting { cycle, cycles, together: &[claim.var], seen: &seen(&run, cycle) })
}

/// The facts about all variables in a cycle.
fn seen(run: &BlindRun, cycle: u64) -> IndexVec<Var, Seen> {
    let of = |v| match run.status(cycle, v) {
        Status::Absent => Seen::Absent,
        Status::Unknown => Seen::Present,
        Status::Value(value) => value.as_bool().map_or(Seen::Present, Seen::Is),
        Status::Bottom | Status::Error => Seen::Nothing,
    };
    run.flat().vars.ids().map(of).collect()
}
