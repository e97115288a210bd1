//! The clock calculus against the simulator on random programs. A program that is proved never has a synchronisation
//! error on inputs that respect their clocks (CLOCK-8); a rejected one has an error on some such inputs; and most
//! programs that run without errors are proved.

use std::sync::Arc;

use rml_analysis::{Clocks, clocks};
use rml_ir::flat::{ConstKind, Constant, Equation, Flat, Init, Rhs, State, Var, VarData};
use rml_ir::op::Op;
use rml_ir::{DType, Value};
use rml_sim::BlindRun;
use rml_sim::oracle::{self, OracleOptions};
use rml_testkit::Lcg;
use rml_testkit::flat::random;
use rml_testkit::verdicts::{Judged, judge, respecting};

#[derive(Default, Debug)]
struct Counts {
    /// The counts of programs that are proved; rejected with an observed error; and rejected without one.
    proved: usize,
    rejected: usize,
    not_exhibited: usize,
    /// The counts of undecided programs with an observed error, and without one.
    dynamic_erring: usize,
    dynamic_fine: usize,
}

/// Analyses and runs random programs.
fn count(seeds: std::ops::Range<u64>, size: usize, wild: bool) -> Counts {
    let mut counts = Counts::default();
    for seed in seeds {
        let mut r = Lcg(seed * 2 + u64::from(wild));
        let (flat, _) = random::program(&r.take(200), size, wild);
        match judge(&flat, &mut r).unwrap_or_else(|e| panic!("seed {seed}: {e}")) {
            Judged::Proved => counts.proved += 1,
            Judged::Rejected(true) => counts.rejected += 1,
            Judged::Rejected(false) => counts.not_exhibited += 1,
            Judged::Dynamic(true) => counts.dynamic_erring += 1,
            Judged::Dynamic(false) => counts.dynamic_fine += 1,
        }
    }
    counts
}

impl Counts {
    /// The share of programs without an observed error that are proved.
    fn proved_share(&self) -> f64 {
        self.proved as f64 / (self.proved + self.dynamic_fine) as f64
    }
}

/// Programs that are generated to respect clocks, with declared inputs and windows, are proved.
#[test]
fn well_clocked_programs_are_proved() {
    let counts = count(0..700, 25, false);
    assert!(counts.proved_share() > 0.99 && counts.rejected + counts.dynamic_erring == 0, "{counts:?}");
}

/// Programs with arbitrary operands: most have an error. Rejected programs have an observed error, and programs that
/// run well are mostly proved.
#[test]
fn ill_clocked_programs_are_rejected() {
    let counts = count(0..1300, 12, true);
    let exhibited = counts.rejected as f64 / (counts.rejected + counts.not_exhibited) as f64;
    assert!(counts.rejected > 100 && exhibited > 0.95 && counts.proved_share() > 0.9, "{counts:?}");
}

/// The program with most of its bool inputs that occur in no declared clock replaced by alternating streams, which do
/// not depend on anything.
fn alternating(mut flat: Flat, r: &mut Lcg) -> Flat {
    let push = |flat: &mut Flat, lhs: Var, rhs: Rhs| {
        let span = flat.vars[lhs].span;
        flat.equations.push(Equation { lhs, rhs, span })
    };
    let inputs = std::mem::take(&mut flat.inputs);
    let declares: Vec<Var> = inputs.iter().filter_map(|i| Some([i.var, i.clock?.0])).flatten().collect();
    for input in inputs {
        let data = flat.vars[input.var].clone();
        if data.ty.dtype != DType::Bool || declares.contains(&input.var) || r.below(5) == 0 {
            flat.inputs.push(input);
            continue;
        }
        let mut new = || flat.vars.push(VarData { name: None, ..data.clone() });
        let (negated, delayed) = (new(), new());
        let value = Value::Bool(r.below(2) == 0);
        let init = flat.consts.push(Constant { ty: value.ty(), kind: ConstKind::Value(value), text: None });
        push(&mut flat, negated, Rhs::Apply { op: Op::Not, args: vec![delayed] });
        let late = r.below(2) == 0;
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

/// Everything that a run without values determines is true in every run, and its error occurs in every run with the
/// same number of cycles.
#[test]
fn a_blind_run_knows_only_what_is_always_so() {
    let (mut erring, mut known) = (0, 0);
    for seed in 0..2500 {
        let wild = seed % 4 != 0;
        let mut r = Lcg(seed * 2 + 1);
        let (flat, _) = random::program(&r.take(200), 14, wild);
        let flat = alternating(Flat::clone(&flat), &mut r);
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
            let trace = respecting(&flat, &report.clocks, &mut r, cycles);
            let options = OracleOptions { closed: (r.below(2) == 0), ..OracleOptions::default() };
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
