//! Verdicts about clocks against runs.

use std::sync::Arc;

use rml_analysis::{Clocks, Verdict, clocks};
use rml_base::codes;
use rml_ir::flat::{Drawn, Flat};
use rml_ir::{DType, Value};
use rml_sim::{Input, Options, Simulator, Status};

use crate::Random;

/// What is said about a program's clocks, and whether runs met a synchronisation error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judged {
    /// No run that respects its clocks errs, and none did.
    Proved,
    /// Some run errs; whether one was seen to.
    Rejected(bool),
    /// It is not known; whether a run was seen to err.
    Dynamic(bool),
}

/// A trace that respects the clocks: inputs on the base clock are present in every cycle, declared ones where they are
/// declared to be, and those whose clock was inferred where the program asks for them.
pub fn respecting(flat: &Flat, clocks: &Clocks, r: &mut Random, cycles: usize) -> Vec<Vec<Input>> {
    let mut cycle = || {
        let mut row: Vec<Input> = Vec::new();
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
                Some((Some(Input::Given(Value::Bool(b))), positive)) if *b == positive => Input::Given(value),
                // Present if the condition turns out to be.
                Some((Some(Input::OnDemand(Some(Value::Bool(b)))), positive)) if *b == positive => {
                    Input::OnDemand(Some(value))
                }
                Some(_) => Input::Absent,
                None if clocks.of[input.var] == Clocks::BASE => Input::Given(value),
                None => Input::OnDemand(Some(value)),
            });
        }
        row
    };
    (0..cycles).map(|_| cycle()).collect()
}

/// The same inputs with some ints so large that the sum of two does not fit.
pub fn overflowing(mut inputs: Vec<Vec<Input>>, r: &mut Random) -> Vec<Vec<Input>> {
    for input in inputs.iter_mut().flatten() {
        if let Input::Given(Value::Int(i @ 2..)) | Input::OnDemand(Some(Value::Int(i @ 2..))) = input
            && r.chance(0.35)
        {
            *i = 1 << 62;
        }
    }
    inputs
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// With a synchronisation error.
    Error,
    /// Well: all cells of its first half are known.
    Known,
    /// In another way.
    Open,
}

fn end(flat: &Arc<Drawn>, trace: &[Vec<Input>]) -> End {
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

fn errs(flat: &Arc<Drawn>, trace: &[Vec<Input>]) -> bool {
    end(flat, trace) == End::Error
}

/// Whether 600 random runs end well. An error may hide where a run waits for ever, so those say nothing.
pub fn runs_well(flat: &Arc<Drawn>, r: &mut Random) -> bool {
    let report = clocks(flat);
    (0..600).all(|_| end(flat, &respecting(flat, &report.clocks, r, 8)) == End::Known)
}

/// Compares the verdict with random runs: 12 where clocks are proved, else up to 60 until one errs.
///
/// # Errors
/// A program that is proved, and the trace on which it errs.
pub fn judge(flat: &Arc<Drawn>, r: &mut Random) -> Result<Judged, String> {
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
