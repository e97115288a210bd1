//! Measuring where the time of windows goes: a run of a routine is timed as a whole, and its time is shared among tapes
//! by how much arithmetic each of them is.

use std::time::Duration;

use rml_backend::Compiled;
use rml_base::profile::{Cost, Name, Recorder, Scope, Site};
use rml_ir::op::{Class, Op};
use rml_plan::{Atom, Plan, Rule, TapeData};

/// The measurements of a machine. There is a site for each tape.
#[derive(Debug)]
pub(crate) struct Probe {
    recorder: Recorder,
    /// How much arithmetic each tape is, and whether once a window rather than once a tick.
    work: Vec<(f64, bool)>,
}

impl Probe {
    pub(crate) fn new(plan: &Plan, scope: &Scope) -> Self {
        let recorder = scope.recorder(plan.tapes.iter().map(site));
        Self { recorder, work: plan.tapes.iter().map(|tape| work(plan, tape)).collect() }
    }

    pub(crate) fn now(&self) -> u64 {
        self.recorder.now()
    }

    /// Adds what the backend compiled since `start` for the routine of a window.
    pub(crate) fn prepared(&mut self, compiled: &Compiled, start: u64) {
        let cost = |time: Duration, count: u64| Cost { ns: time.as_nanos() as f64, calls: count as f64 };
        self.recorder
            .programs(cost(compiled.time, compiled.programs), cost(compiled.load_time, compiled.loaded));
        self.recorder.event(Name::Other("preparing a window"), start, self.now());
    }

    /// Adds a run of that many ticks.
    pub(crate) fn ran(&mut self, ticks: usize, start: u64) {
        let end = self.now();
        let of = |(work, once): &(f64, bool)| if *once { *work } else { *work * ticks as f64 };
        let all: f64 = self.work.iter().map(of).sum();
        for (i, work) in self.work.iter().enumerate() {
            let calls = if work.1 { 1.0 } else { ticks as f64 };
            self.recorder.add(i, (end - start) as f64 * of(work) / all, calls);
        }
        self.recorder.event(Name::Other("call of the backend"), start, end);
        self.recorder.tell_rarely(end);
    }
}

fn site(tape: &TapeData) -> Site {
    let what = match tape.cases.first().map(|case| &case.rule) {
        Some(Rule::Apply { op, .. }) => op.name(),
        Some(Rule::Product { .. }) => Op::MatMul.name(),
        Some(Rule::Sum { .. }) => "sum over ticks",
        Some(Rule::Select { .. }) => "if",
        Some(Rule::Restart { .. }) => "fby",
        Some(Rule::Copy(_) | Rule::Input(_) | Rule::Read { .. }) | None => "copy",
    };
    Site { span: tape.span, what }
}

/// The elements that a tape has, or reads, or in a product those that it multiplies; and whether once a window.
pub(crate) fn work(plan: &Plan, tape: &TapeData) -> (f64, bool) {
    let once = tape.place().is_edge();
    let elements = |atom: &Atom| match atom {
        Atom::Const(k) => plan.consts[*k].shape().len() as f64,
        Atom::Tape(tape, _) => plan.tapes[*tape].ty.shape.len() as f64,
    };
    let own = tape.ty.shape.len() as f64;
    let of = |op: &Op, args: &[Atom]| match op.class() {
        // For (m, k), (k, n) and (m, n) that is m k n.
        Class::Product => args.iter().map(elements).fold(own, |all, n| all * n).sqrt(),
        _ => args.iter().map(elements).fold(own, f64::max),
    };
    match tape.cases.first().map(|case| &case.rule) {
        Some(Rule::Apply { op, args }) => (of(op, args).max(1.0), once),
        Some(Rule::Product { args, .. }) => (of(&Op::MatMul, args).max(1.0), once),
        // A sum stands at one tick, and adds at each.
        Some(Rule::Sum { terms, .. }) => {
            (terms.iter().map(|t| of(&t.op, &t.args)).fold(1.0, f64::max), false)
        }
        _ => (own.max(1.0), once),
    }
}
