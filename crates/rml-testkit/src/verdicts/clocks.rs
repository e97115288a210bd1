//! Compares verdicts about clocks with runs.

use std::sync::Arc;

use rml_analysis::{Clocks, Verdict, clocks};
use rml_base::codes;
use rml_ir::flat::{Drawn, Flat};
use rml_ir::{DType, Value};
use rml_sim::{InputCell, Options, Simulator, Status};

use crate::Lcg;

/// The verdict about a program's clocks, and whether runs had a synchronisation error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judged {
    /// Every run that respects the clocks is free of errors, and no run had one.
    Proved,
    /// Some run has an error; the field states whether one was found.
    Rejected(bool),
    /// The verdict is not known; the field states whether a run had an error.
    Dynamic(bool),
}

/// A trace that respects the clocks. Inputs on the base clock are present in every cycle, declared inputs in the cycles
/// of their declared clocks, and inputs with inferred clocks if the program asks for them.
pub fn respecting(flat: &Flat, clocks: &Clocks, r: &mut Lcg, cycles: usize) -> Vec<Vec<InputCell>> {
    let mut cycle = || {
        let mut row: Vec<InputCell> = Vec::new();
        for input in &flat.inputs {
            let value = match flat.vars[input.var].ty.dtype {
                DType::Bool => Value::Bool(r.below(2) == 0),
                _ => Value::Int(r.below(9) as i64 - 2),
            };
            let gate = input.clock.map(|(cond, positive)| {
                let at = flat.inputs.iter().position(|i| i.var == cond);
                (at.and_then(|at| row.get(at)), positive)
            });
            row.push(match gate {
                Some((Some(InputCell::Given(Value::Bool(b))), positive)) if *b == positive => {
                    InputCell::Given(value)
                }
                // The input is present if the condition is found to be true.
                Some((Some(InputCell::OnDemand(Some(Value::Bool(b)))), positive)) if *b == positive => {
                    InputCell::OnDemand(Some(value))
                }
                Some(_) => InputCell::Absent,
                None if clocks.of[input.var] == Clocks::BASE => InputCell::Given(value),
                None => InputCell::OnDemand(Some(value)),
            });
        }
        row
    };
    (0..cycles).map(|_| cycle()).collect()
}

/// The same inputs, in which some ints are so large that the sum of two does not fit.
pub fn overflowing(mut inputs: Vec<Vec<InputCell>>, r: &mut Lcg) -> Vec<Vec<InputCell>> {
    for input in inputs.iter_mut().flatten() {
        if let InputCell::Given(Value::Int(i @ 2..)) | InputCell::OnDemand(Some(Value::Int(i @ 2..))) = input
            && r.chance(0.35)
        {
            *i = 1 << 62;
        }
    }
    inputs
}

/// The end of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The run ended with a synchronisation error.
    Error,
    /// All cells of the first half of the run are known.
    Known,
    /// Any other end.
    Open,
}

fn end(flat: &Arc<Drawn>, trace: &[Vec<InputCell>]) -> End {
    let mut simulator = Simulator::new(Arc::clone(flat), Options { record: true, ..Options::default() });
    let result = trace.iter().try_for_each(|row| simulator.feed(row));
    let result = result.and_then(|()| simulator.finish(true));
    let is_known =
        |n: usize, v| matches!(simulator.status(n as u64, v), Ok(Some(Status::Absent | Status::Value(_))));
    match result {
        Err(e) if e.code == codes::sim::SYNC_ERROR => End::Error,
        Ok(()) if (0..trace.len() / 2).all(|n| flat.vars.ids().all(|v| is_known(n, v))) => End::Known,
        _ => End::Open,
    }
}

fn errs(flat: &Arc<Drawn>, trace: &[Vec<InputCell>]) -> bool {
    end(flat, trace) == End::Error
}

/// Whether 600 random runs end with known cells. A run that waits forever does not count, because it may hide an error.
pub fn runs_well(flat: &Arc<Drawn>, r: &mut Lcg) -> bool {
    let report = clocks(flat);
    (0..600).all(|_| end(flat, &respecting(flat, &report.clocks, r, 8)) == End::Known)
}

/// Compares the verdict with random runs: 12 if the clocks are proved, otherwise up to 60 until one has an error.
///
/// # Errors
/// The clocks are proved, but a run has an error; the text contains the program and the trace.
pub fn judge(flat: &Arc<Drawn>, r: &mut Lcg) -> Result<Judged, String> {
    let report = clocks(flat);
    let mut run = || {
        let trace = respecting(flat, &report.clocks, r, 8);
        errs(flat, &trace).then_some(trace)
    };
    Ok(match &report.verdict {
        Verdict::Synchronous => match (0..12).find_map(|_| run()) {
            None => Judged::Proved,
            Some(trace) => {
                return Err(format!("proved, but errs on {trace:?}\n{}", rml_ir::flat::print(flat)));
            }
        },
        Verdict::Rejected(_) => Judged::Rejected((0..60).any(|_| run().is_some())),
        Verdict::Dynamic(_) => Judged::Dynamic((0..60).any(|_| run().is_some())),
    })
}
