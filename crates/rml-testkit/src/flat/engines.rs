//! Runs a program on the simulator in all its modes, and on the oracle.

use std::sync::Arc;

use rml_backend::{About, Backend, Buffer, Executable, Failure, Function};
use rml_backend_cpu::Cpu;
use rml_ir::flat::{Drawn, Flat, Rhs, Var};
use rml_ir::op::{EvalError, Op};
use rml_ir::{Type, Value};
use rml_sim::oracle::{self, OracleOptions};
use rml_sim::{Demand, InputCell, Options, Simulator, Status, Tensors};

use super::cells::{columns, sim_row, text};

/// The embedded backend, which is called even for scalars.
#[derive(Debug)]
struct Always;

impl Backend for Always {
    fn about(&self) -> About {
        Cpu.about()
    }

    fn is_host(&self) -> bool {
        true
    }

    fn takes(&self, _: &Type) -> bool {
        true
    }

    fn prepare(&self, function: &Function) -> Result<Box<dyn Executable>, Failure> {
        Cpu.prepare(function)
    }

    fn upload(&self, value: &Value) -> Result<Arc<dyn Buffer>, Failure> {
        Cpu.upload(value)
    }
}

/// Runs both engines with all options that must not change the result, checks that they agree, and returns the
/// simulation that recorded everything.
///
/// # Panics
/// Two results differ.
pub fn run(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>], closed: bool) -> Simulator {
    run_with(flat, inputs, closed, Demand::FreeClasses)
}

/// The same as [`run`], for an environment that asks for certain variables.
///
/// # Panics
/// Two results differ.
pub fn run_with(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>], closed: bool, demand: Demand) -> Simulator {
    let asked = match &demand {
        Demand::FreeClasses => None,
        Demand::Given(d) => Some(d.clone()),
    };
    let options = OracleOptions { closed, demand: asked, ..OracleOptions::default() };
    let trace = oracle::run(flat, inputs, &options);
    let reversed = OracleOptions { order: Some(flat.equations.ids().rev().collect()), ..options };
    let again = oracle::run(flat, inputs, &reversed);
    let going_on = |tensors: Tensors| {
        let options =
            Options { keep_going: true, record: true, demand: demand.clone(), tensors, ..Options::default() };
        let mut sim = Simulator::new(Arc::clone(flat), options);
        for cycle in inputs {
            sim.feed(cycle).expect("continuing regardless");
        }
        sim.finish(closed).expect("continuing regardless");
        sim
    };
    let calls = || Tensors::On(Arc::new(Always));
    let (sim, calling) = (going_on(Tensors::Reference), going_on(calls()));
    let program = || rml_ir::flat::print(flat);
    assert!(calling.stats().calls > 0 || sim.stats().activations == 0 || !has_operator_result(flat, &sim));
    // A function that lacks memory fails as a whole; the oracle reports a failure for one operator.
    let lacks_memory = trace.failures.iter().any(|f| matches!(f.error, EvalError::Memory { .. }));
    for v in flat.vars.ids() {
        let expected = text(&trace.row(v));
        assert_eq!(text(&again.row(v)), expected, "oracle, other order: {v} of\n{}", program());
        assert_eq!(text(&sim_row(&sim, v)), expected, "simulator: {v} of\n{}", program());
        if !lacks_memory {
            assert_eq!(text(&sim_row(&calling, v)), expected, "with functions: {v} of\n{}", program());
        }
    }
    check_stopping(flat, inputs, closed, demand.clone(), Tensors::Reference, &trace);
    check_stopping(flat, inputs, closed, demand.clone(), calls(), &trace);
    check_inner_values(flat, inputs, closed, demand);
    if trace.error_cycles().is_empty() {
        let failures: Vec<_> = trace.failures.iter().map(|f| (f.cycle as u64, f.equation)).collect();
        assert_eq!(sim.overflows(), failures);
        if !lacks_memory {
            assert_eq!(calling.overflows(), failures);
        }
    }
    sim
}

/// Whether some operator other than a copy has a value in some cycle.
fn has_operator_result(flat: &Flat, sim: &Simulator) -> bool {
    let operators = flat.equations.iter().filter(|eq| match &eq.rhs {
        Rhs::Apply { op, .. } => !matches!(op, Op::Copy | Op::StopGradient),
        _ => false,
    });
    operators.map(|eq| eq.lhs).any(|v| sim_row(sim, v).iter().any(|s| s.value().is_some()))
}

/// Checks that a run with functions whose inner values are hidden has the same outputs, end and states as a run without
/// functions.
fn check_inner_values(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>], closed: bool, demand: Demand) {
    let outcome = |tensors: Tensors| {
        let options = Options { demand: demand.clone(), tensors, ..Options::default() };
        let mut sim = Simulator::new(Arc::clone(flat), options);
        let fed = inputs.iter().try_for_each(|cycle| sim.feed(cycle));
        let end = fed.and_then(|()| sim.finish(closed)).map_err(|d| d.to_string());
        let rows: Vec<String> = std::iter::from_fn(|| sim.next_output()).map(|r| text(&r.values)).collect();
        let waits = sim.undetermined().map(|u| u.report.to_string());
        let states: Result<Vec<String>, String> = sim
            .states()
            .map(|all| all.into_iter().map(|(k, v)| format!("{k} {}", text(&[Status::Value(v)]))).collect())
            .map_err(|d| d.to_string());
        (rows, end, waits, states)
    };
    let (plain, calling) = (outcome(Tensors::Reference), outcome(Tensors::On(Arc::new(Always))));
    let program = || rml_ir::flat::print(flat);
    assert_eq!(calling.1.is_err(), plain.1.is_err(), "{:?} but {:?}\n{}", calling.1, plain.1, program());
    if plain.1.is_ok() {
        assert_eq!(calling, plain, "{}", program());
    }
}

/// Checks that a simulator that stops at errors and drops cycles agrees with the oracle as far as it runs.
fn check_stopping(
    flat: &Arc<Drawn>,
    inputs: &[Vec<InputCell>],
    closed: bool,
    demand: Demand,
    tensors: Tensors,
    trace: &oracle::FixedPoint,
) {
    let options = Options { record: true, demand, tensors, ..Options::default() };
    let mut sim = Simulator::new(Arc::clone(flat), options);
    let mut rows = Vec::new();
    let mut result = Ok(());
    for cycle in inputs {
        result = sim.feed(cycle);
        rows.extend(std::iter::from_fn(|| sim.next_output()));
        if result.is_err() {
            break;
        }
    }
    if result.is_ok() {
        result = sim.finish(closed);
        rows.extend(std::iter::from_fn(|| sim.next_output()));
    }
    let (errors, failures) = (trace.error_cycles(), &trace.failures);
    let fine = errors.is_empty() && failures.is_empty();
    assert_eq!(
        result.is_ok(),
        fine,
        "{result:?} against {errors:?} {failures:?}\n{}",
        rml_ir::flat::print(flat)
    );
    if let Some(failure) = sim.failure() {
        let at = usize::try_from(failure.cycle).unwrap();
        let known = errors.contains(&at) || failures.iter().any(|f| f.cycle == at);
        assert!(known, "{failure:?} against {errors:?} {failures:?}");
        assert!(!failure.report.labels.is_empty());
    }
    for (n, row) in (0..).zip(&rows) {
        assert_eq!(row.cycle, n as u64);
        let expected: Vec<Status> = flat.outputs.iter().map(|&v| trace.cycles[n][v].clone()).collect();
        let same = row.values.iter().zip(&expected).all(|(a, b)| a.same(b));
        assert!(
            same || !fine && errors.contains(&n),
            "cycle {n}: {} but {}",
            text(&row.values),
            text(&expected)
        );
    }
    if fine {
        assert_eq!(rows.len(), inputs.len());
    }
    for n in 0..sim.cycles() {
        for v in flat.vars.ids() {
            let (found, expected) =
                (sim.status(n, v).unwrap().unwrap(), &trace.cycles[usize::try_from(n).unwrap()][v]);
            let program = || rml_ir::flat::print(flat);
            assert!(
                found.is_below(expected),
                "{v} in {n}: {found:?} is not below {expected:?}\n{}",
                program()
            );
            assert!(!fine || found.same(expected), "{v} in {n}: {found:?} but {expected:?}");
        }
    }
}

/// Runs a program on columns of text and returns the rows of some variables.
///
/// # Panics
/// The engines differ.
pub fn rows(flat: &Arc<Drawn>, inputs: &[&str], closed: bool, vars: &[Var]) -> Vec<String> {
    let sim = run(flat, &columns(inputs), closed);
    vars.iter().map(|&v| text(&sim_row(&sim, v))).collect()
}
