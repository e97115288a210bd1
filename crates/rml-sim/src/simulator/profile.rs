//! Measures the time of a simulation by equations.
//!
//! For equations that are evaluated one by one, a sample is timed. A call of a backend computes several equations at
//! once; it is timed as a whole, and its time is divided among them in proportion to their amounts of arithmetic.

use rml_base::profile::{Name, Recorder, Sampler, Scope, Site};
use rml_ir::flat::Var;
use rml_ir::op::Op;

use super::Simulator;
use super::engine::Go;
use super::program::{Operand, Program, Step, index};

/// The measurements of a simulation. There is a site for each step.
#[derive(Debug)]
pub(super) struct Probe {
    recorder: Recorder,
    steps: Sampler,
    /// The number of times that each step was timed before sampling began, so that no step is missed in short runs.
    first: Vec<u8>,
    /// The amount of arithmetic of each step.
    work: Vec<f64>,
}

impl Probe {
    pub(super) fn new(program: &Program, scope: &Scope) -> Self {
        let steps = 0..index(program.steps.len());
        let recorder = scope.recorder(steps.clone().map(|step| site(program, step)));
        let work = steps.map(|step| work(program, step)).collect();
        let first = vec![0; program.steps.len()];
        Self { steps: Sampler::new(&recorder), first, recorder, work }
    }

    /// Whether a step is timed now; if so, the number of steps that it represents.
    fn choose(&mut self, step: u32) -> Option<u64> {
        const FIRST: u8 = 8;
        let first = &mut self.first[step as usize];
        if *first < FIRST {
            *first += 1;
            return Some(1);
        }
        self.steps.choose()
    }

    pub(super) fn now(&self) -> u64 {
        self.recorder.now()
    }

    /// Adds a call that computed these steps.
    pub(super) fn called(&mut self, steps: &[u32], start: u64) {
        let end = self.now();
        let all: f64 = steps.iter().map(|step| self.work[*step as usize]).sum();
        for &step in steps {
            let share = self.work[step as usize] / all;
            self.recorder.add(step as usize, (end - start) as f64 * share, 1.0);
        }
        self.recorder.event(Name::Other("call of the backend"), start, end);
        self.recorder.tell_rarely(end);
    }
}

fn site(program: &Program, step: u32) -> Site {
    let what = match &program.steps[step as usize] {
        Step::Unary { op, .. } | Step::Binary { op, .. } | Step::Apply { op, .. } => op.name(),
        Step::Constant => "constant",
        Step::Copy { .. } => "copy",
        Step::If { .. } => "if",
        Step::When { .. } => "when",
        Step::Merge { .. } => "merge",
        Step::Forward(_) => "fby",
        Step::Backward(_) => "fby back",
        Step::Param { .. } => "param",
        Step::InputClock(clock) => {
            return Site { span: program.flat.vars[clock.input].span, what: "clock" };
        }
    };
    Site { span: program.equation(step).span, what }
}

/// The number of elements that a step computes, or for a product the number of multiplications.
fn work(program: &Program, step: u32) -> f64 {
    let step = &program.steps[step as usize];
    let elements = |cell: u32| program.flat.vars[Var(cell)].ty.shape.len() as f64;
    let Some((out, _)) = step.result() else { return 1.0 };
    let (mut work, mut factors) = (elements(out), elements(out));
    step.for_each_operand(|x: Operand| {
        let of = x.cell().map_or(1.0, |cell| elements(index(cell)));
        (work, factors) = (work.max(of), factors * of);
    });
    // For (m, k), (k, n) and (m, n) this is m k n.
    if matches!(step, Step::Binary { op: Op::MatMul, .. }) { factors.sqrt() } else { work }.max(1.0)
}

impl Simulator {
    /// Runs steps until none is left, and times some of them.
    pub(super) fn run_timed(&mut self, program: &Program) -> Go {
        while let Some((cycle, step)) = self.rows.next() {
            self.activations += 1;
            let timed = self.probe.as_mut().and_then(|p| Some((p.choose(step)?, p.now())));
            let done = self.activate(program, cycle, step);
            if let (Some(probe), Some((weight, start))) = (&mut self.probe, timed) {
                let end = probe.now();
                let ns = (end - start).saturating_sub(probe.steps.clock());
                probe.recorder.add(step as usize, (ns * weight) as f64, weight as f64);
                probe.recorder.event(Name::Site(step as usize), start, end);
                probe.recorder.tell_rarely(end);
                probe.steps.timed(2, end - start);
            }
            done?;
        }
        Ok(())
    }
}
