//! The clock calculus against the simulator on random programs: what is proved never meets a synchronisation error on inputs that
//! respect their clocks; what is rejected meets one on some such inputs; and how much of what always runs well is proved.

use std::sync::Arc;

use rml_analysis::{Clocks, Verdict, clocks};
use rml_base::codes;
use rml_ir::flat::{ConstKind, Constant, Equation, Flat, Init, Rhs, State, Var, VarData};
use rml_ir::op::Op;
use rml_ir::{DType, Value};
use rml_sim::oracle::{self, OracleOptions};
use rml_sim::{BlindRun, Input, Options, Simulator};
use rml_testkit::flat::random;

/// Pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    fn take(&mut self, n: usize) -> Vec<u32> {
        (0..n).map(|_| self.next()).collect()
    }
}

/// A trace that respects the clocks: inputs on the base clock are present in every cycle, declared ones where they are declared to
/// be, and those whose clock was inferred where the program asks for them.
fn trace(flat: &Flat, clocks: &Clocks, numbers: &mut Numbers, cycles: usize) -> Vec<Vec<Input>> {
    let mut cycle = || {
        let mut row: Vec<Input> = Vec::new();
        for input in &flat.inputs {
            let value = match flat.vars[input.var].ty.dtype {
                DType::Bool => Value::Bool(numbers.next().is_multiple_of(2)),
                _ => Value::Int(i64::from(numbers.next() % 9) - 2),
            };
            let gate = input.clock.map(
                |(_, positive)| matches!(row.first(), Some(Input::Given(Value::Bool(b))) if *b == positive),
            );
            row.push(match gate {
                Some(true) => Input::Given(value),
                Some(false) => Input::Absent,
                None if clocks.of[input.var] == Clocks::BASE => Input::Given(value),
                None => Input::OnDemand(Some(value)),
            });
        }
        row
    };
    (0..cycles).map(|_| cycle()).collect()
}

/// Whether a run meets a synchronisation error.
fn errs(flat: &Arc<Flat>, trace: &[Vec<Input>]) -> bool {
    let mut simulator = Simulator::new(Arc::clone(flat), Options::default());
    let result = trace.iter().try_for_each(|row| simulator.feed(row));
    let result = result.and_then(|()| simulator.finish(true));
    result.is_err_and(|e| e.code == codes::sim::SYNC_ERROR)
}

#[derive(Default, Debug)]
struct Counts {
    /// Proved; of those that are not: rejected and seen to err, rejected and not seen to err.
    proved: usize,
    rejected: usize,
    not_exhibited: usize,
    /// Neither: seen to err, and not seen to err.
    dynamic_erring: usize,
    dynamic_fine: usize,
}

/// Analyses and runs random programs.
fn count(seeds: std::ops::Range<u64>, size: usize, wild: bool) -> Counts {
    let mut counts = Counts::default();
    for seed in seeds {
        let mut numbers = Numbers(seed * 2 + u64::from(wild));
        let (flat, _) = random::program(&numbers.take(200), size, wild);
        let report = clocks(&flat);
        let mut run = || errs(&flat, &trace(&flat, &report.clocks, &mut numbers, 8));
        let program = || rml_ir::flat::print(&flat);
        match &report.verdict {
            Verdict::Synchronous => {
                assert!((0..12).all(|_| !run()), "seed {seed}: proved, but errs\n{}", program());
                counts.proved += 1;
            }
            Verdict::Rejected(_) if (0..60).any(|_| run()) => counts.rejected += 1,
            Verdict::Rejected(_) => counts.not_exhibited += 1,
            Verdict::Dynamic(_) if (0..60).any(|_| run()) => counts.dynamic_erring += 1,
            Verdict::Dynamic(_) => counts.dynamic_fine += 1,
        }
    }
    counts
}

impl Counts {
    /// How much of what was not seen to err is proved.
    fn proved_share(&self) -> f64 {
        self.proved as f64 / (self.proved + self.dynamic_fine) as f64
    }
}

/// Programs that are built to respect clocks, with declared inputs and windows, are proved.
#[test]
fn well_clocked_programs_are_proved() {
    let counts = count(0..700, 25, false);
    assert!(counts.proved_share() > 0.99 && counts.rejected + counts.dynamic_erring == 0, "{counts:?}");
}

/// Programs of operands from anywhere: most err. What is rejected is seen to err, what runs well is mostly proved.
#[test]
fn ill_clocked_programs_are_rejected() {
    let counts = count(0..1300, 12, true);
    let exhibited = counts.rejected as f64 / (counts.rejected + counts.not_exhibited) as f64;
    assert!(counts.rejected > 100 && exhibited > 0.95 && counts.proved_share() > 0.9, "{counts:?}");
}

/// The program with most of its bool inputs that no declared clock speaks of replaced by alternations, which depend on nothing.
fn alternating(mut flat: Flat, numbers: &mut Numbers) -> Flat {
    let push = |flat: &mut Flat, lhs: Var, rhs: Rhs| {
        let span = flat.vars[lhs].span;
        flat.equations.push(Equation { lhs, rhs, span })
    };
    let inputs = std::mem::take(&mut flat.inputs);
    let declares: Vec<Var> = inputs.iter().filter_map(|i| Some([i.var, i.clock?.0])).flatten().collect();
    for input in inputs {
        let data = flat.vars[input.var].clone();
        if data.ty.dtype != DType::Bool || declares.contains(&input.var) || numbers.next().is_multiple_of(5) {
            flat.inputs.push(input);
            continue;
        }
        let mut new = || flat.vars.push(VarData { name: None, ..data.clone() });
        let (negated, delayed) = (new(), new());
        let value = Value::Bool(numbers.next().is_multiple_of(2));
        let init = flat.consts.push(Constant { ty: value.ty(), kind: ConstKind::Value(value), text: None });
        push(&mut flat, negated, Rhs::Apply { op: Op::Not, args: vec![delayed] });
        let late = numbers.next().is_multiple_of(2);
        for (lhs, next) in [
            (delayed, if late { input.var } else { negated }),
            (input.var, if late { negated } else { delayed }),
        ] {
            let equation = push(&mut flat, lhs, Rhs::Fby { init: Init::Const(init), next, window: None });
            flat.states.insert(format!("{lhs}").into(), State { equation, parameter: false });
        }
    }
    flat
}

/// What a run without values knows is so in every run, and an error that it meets is met by every run of as many cycles.
#[test]
fn a_blind_run_knows_only_what_is_always_so() {
    let (mut erring, mut known) = (0, 0);
    for seed in 0..2500 {
        let wild = seed % 4 != 0;
        let mut numbers = Numbers(seed * 2 + 1);
        let (flat, _) = random::program(&numbers.take(200), 14, wild);
        let flat = alternating(Flat::clone(&flat), &mut numbers);
        let report = clocks(&flat);
        let inputs = flat.inputs.iter().map(|i| i.var);
        let given: Vec<_> = inputs.filter(|v| report.clocks.of[*v] == Clocks::BASE).collect();
        let blind = BlindRun::new(flat.clone(), &given, 8);
        let error = blind.synchronisation_error();
        erring += usize::from(error.is_some());
        let what_runs = Arc::new(blind.flat().clone());
        let cycles = usize::try_from(blind.cycles()).expect("few");
        let program = || rml_ir::flat::print(&what_runs);
        for _ in 0..3 {
            let trace = trace(&flat, &report.clocks, &mut numbers, cycles);
            let options =
                OracleOptions { closed: numbers.next().is_multiple_of(2), ..OracleOptions::default() };
            let run = oracle::run(&what_runs, &trace, &options);
            let errs = !run.error_cycles().is_empty() || !run.failures.is_empty();
            assert!(errs || error.is_none(), "seed {seed}: rejected, but runs\n{}", program());
            for cycle in 0..cycles as u64 {
                for v in what_runs.vars.ids() {
                    let (always, now) =
                        (blind.status(cycle, v), &run.cycles[usize::try_from(cycle).expect("few")][v]);
                    known += usize::from(always.is_determined());
                    assert!(
                        always.is_below(now),
                        "seed {seed}: {v} in cycle {cycle}: {always:?}, {now:?}\n{}",
                        program()
                    );
                }
            }
        }
    }
    assert!(erring > 20 && known > 10_000, "{erring} erring, {known} known");
}
