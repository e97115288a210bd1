//! Random programs on the plan engine and in the simulator: with arbitrary blocks, interrupted in the middle of
//! windows, with missing inputs, and with snapshots that one engine passes to the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use rml_analysis::{Analyses, Verdict, WaitKind};
use rml_backend::Held;
use rml_engine::{Block, BlockColumn, End, Feeding, InputCell, Inputs, Present, ProgramEngine, Run, Use};
use rml_ir::flat::{Drawn, Init, Rhs, Var};
use rml_ir::pass::lower_drawn;
use rml_ir::{Data, Shape, Type, Value};
use rml_sim::SimulatorEngine;
use rml_testkit::Lcg;
use rml_testkit::flat::random::program;
use rml_testkit::flat::text;
use rml_testkit::verdicts::{overflowing, respecting};

use super::plan::PlanEngine;

const WINDOWS: Feeding = Feeding::Windows { cycles: None };
const STREAM: Feeding = Feeding::Stream { look_ahead: None };

/// Whether all outputs and states are known some cycles later, or at the end of windows, without an error.
fn may_have_plan(flat: &Drawn, known: &Analyses) -> bool {
    known.clocks.verdict == Verdict::Synchronous
        && !known.causality.findings.iter().any(rml_base::Diagnostic::is_error)
        && matches!(known.bounds.program.kind, WaitKind::Bounded | WaitKind::Windowed)
        && !flat.outputs.is_empty()
}

/// Rows of inputs as columns.
fn block(flat: &Drawn, rows: &[Vec<InputCell>]) -> Block {
    let column = |i: usize| {
        let given = |row: &Vec<InputCell>| match &row[i] {
            InputCell::Given(value) | InputCell::OnDemand(Some(value)) => Some(value.clone()),
            InputCell::Absent | InputCell::OnDemand(None) => None,
        };
        let cells: Vec<Option<Value>> = rows.iter().map(given).collect();
        let present: Present = cells.iter().map(Option::is_some).collect();
        let values: Vec<Value> = cells.into_iter().flatten().collect();
        let column = BlockColumn::new(present, stacked(&values, &flat.vars[flat.inputs[i].var].ty));
        let on_demand = rows.iter().any(|row| matches!(row[i], InputCell::OnDemand(_)));
        if on_demand { column.on_demand() } else { column }
    };
    Block::new(rows.len(), (0..flat.inputs.len()).map(column).collect())
}

fn stacked(values: &[Value], ty: &Type) -> Value {
    let shape = Shape::new(&[values.len()]);
    let data = match ty.dtype {
        rml_ir::DType::Bool => Data::Bool(values.iter().filter_map(Value::as_bool).collect()),
        _ => Data::Int(values.iter().filter_map(Value::as_int).collect()),
    };
    Value::new(shape, data)
}

/// The rows of outputs, and the error that the run ended with.
#[derive(PartialEq, Debug)]
pub(super) struct Told {
    pub(super) rows: Vec<String>,
    pub(super) error: Option<String>,
}

impl Told {
    /// Whether another run gives the same rows and error, where it may have undetermined cells instead of values.
    pub(super) fn contains(&self, other: &Told) -> bool {
        let same = |(a, b): (&String, &String)| {
            let cells = a.split(' ').zip(b.split(' '));
            cells.into_iter().all(|(a, b)| a == b || matches!(b, "?" | "bot"))
        };
        self.error == other.error
            && self.rows.len() == other.rows.len()
            && self.rows.iter().zip(&other.rows).all(same)
    }
}

fn fetched(run: &mut dyn Run, told: &mut Told) {
    let mut rows = Vec::new();
    while let Some(outputs) = run.next_outputs() {
        outputs.append_to(&mut rows).expect("on the host");
    }
    told.rows.extend(rows.iter().map(|row| format!("{} {}", row.cycle, text(&row.values))));
}

/// Feeds rows in random blocks; after each block the states are compared with those of the simulator.
pub(super) fn told(
    flat: &Arc<Drawn>,
    engine: &dyn ProgramEngine,
    wish: &Use,
    inputs: &[Vec<InputCell>],
    r: &mut Lcg,
) -> Option<Told> {
    let mut run = engine.open(flat, wish).ok()?;
    let mut sim = SimulatorEngine::new().open(flat, wish).expect("it runs everything");
    let mut told = Told { rows: Vec::new(), error: None };
    let (mut from, mut well, end) = (0, true, if r.chance(0.5) { End::Open } else { End::Closed });
    while from < inputs.len() && told.error.is_none() {
        let to = (from + 1 + r.below(6)).min(inputs.len());
        let part = block(flat, &inputs[from..to]);
        told.error = run.feed(Inputs::Block(&part)).err().map(|d| d.to_string());
        fetched(&mut *run, &mut told);
        well = well && sim.feed(Inputs::Block(&part)).is_ok();
        if told.error.is_none() && well {
            same_states(flat, &*run, &*sim);
            hand_over(flat, &mut run, engine, wish, r);
        }
        from = to;
    }
    if told.error.is_none() {
        told.error = run.finish(end).err().map(|d| d.to_string());
    }
    let rest = run.remaining().expect("on the host");
    told.rows.extend(rest.iter().map(|row| format!("{} {}", row.cycle, text(&row.values))));
    Some(told)
}

/// Checks that the states equal those of the simulator, and that both runs report open windows.
fn same_states(flat: &Drawn, run: &dyn Run, sim: &dyn Run) {
    let of = |run: &dyn Run| {
        let states = run.states().map_err(|d| d.to_string())?;
        let states = states.to_host().expect("on the host");
        let states = states.iter().map(|(key, value)| (key.to_string(), format!("{value:?}")));
        Ok::<BTreeMap<_, _>, String>(states.collect())
    };
    let (states, mut wanted) = (of(run), of(sim));
    if let (Ok(states), Ok(wanted)) = (&states, &mut wanted) {
        // A plan has no start value for a delay that is never active.
        wanted.retain(|key, _| states.contains_key(key));
    }
    if states.is_ok() && wanted.is_err() && has_starts_alone(flat, sim) {
        return;
    }
    // The simulator waits where the analysis determines the value of a state.
    if !wanted.as_ref().is_err_and(|why| why.contains("not determined")) {
        assert_eq!(states, wanted, "{}", rml_ir::flat::print(flat));
    }
}

/// Whether all delays in open windows have their start values: a plan that runs by calls may count these as unset.
fn has_starts_alone(flat: &Drawn, sim: &dyn Run) -> bool {
    let starts = |v: &Var, value: &Held| {
        let equation = flat.equations.iter().find(|equation| equation.lhs == *v);
        let start = equation.and_then(|equation| match equation.rhs {
            Rhs::Fby { init: Init::Const(k), .. } => Some(flat.value(k)),
            _ => None,
        });
        start.is_some_and(|start| start.same(&value.to_host().expect("on the host")))
    };
    sim.snapshot().is_ok_and(|snapshot| snapshot.delays.iter().all(|(v, value)| starts(v, value)))
}

/// Sometimes continues with another run, of this engine or of the simulator, in the middle of windows.
fn hand_over(flat: &Arc<Drawn>, run: &mut Box<dyn Run>, engine: &dyn ProgramEngine, wish: &Use, r: &mut Lcg) {
    if run.open_cycles() > 0 || !r.chance(0.3) {
        return;
    }
    let wish = Use { first: run.cycles(), ..wish.clone() };
    let simulator = SimulatorEngine::new();
    let mut next = if r.chance(0.5) { engine.open(flat, &wish) } else { simulator.open(flat, &wish) };
    if let (Ok(next), Ok(snapshot)) = (&mut next, run.snapshot()) {
        next.set_snapshot(&snapshot).expect("of the same program");
        std::mem::swap(run, next);
    }
}

/// The program after the passes that commands use: unread equations, which would fail only in the simulator, are
/// removed.
fn lowered(r: &mut Lcg) -> Arc<Drawn> {
    let (flat, _) = program(&r.take(220), 24, false);
    Arc::new(lower_drawn((*flat).clone()))
}

#[test]
fn random_programs_cut_anywhere_are_what_they_are_in_the_simulator() {
    let calls = PlanEngine::lowered(Arc::new(rml_backend_cpu::Cpu));
    let plain = PlanEngine::default();
    let (mut ran, mut failed, mut overflowed) = (0, 0, 0);
    for (feeding, engine) in [(WINDOWS, &plain), (STREAM, &plain), (WINDOWS, &calls)] {
        for seed in 0..1000 {
            let mut r = Lcg(seed);
            let flat = lowered(&mut r);
            let known = Analyses::of(&flat);
            if !may_have_plan(&flat, &known) {
                continue;
            }
            let mut inputs = respecting(&flat, &known.clocks.clocks, &mut r, 30);
            if r.chance(0.4) {
                inputs = overflowing(inputs, &mut r);
            }
            if r.chance(0.3) && !flat.inputs.is_empty() {
                let (t, i) = (r.below(inputs.len()), r.below(flat.inputs.len()));
                inputs[t][i] = InputCell::Absent;
            }
            let wish = Use::new(feeding);
            let told = |engine: &dyn ProgramEngine| told(&flat, engine, &wish, &inputs, &mut Lcg(seed + 1));
            let (Some(found), Some(wanted)) = (told(engine), told(&SimulatorEngine::new())) else { continue };
            (ran, failed) = (ran + 1, failed + usize::from(wanted.error.is_some()));
            overflowed += usize::from(wanted.error.iter().any(|why| why.contains("integer-overflow")));
            let text = rml_ir::flat::print(&flat);
            assert!(found.contains(&wanted), "seed {seed}, {feeding:?}: {found:?}\nbut {wanted:?}\n{text}");
        }
    }
    assert!(ran > 1400 && failed > 50, "{ran} runs, of which {failed} fail");
    assert!(overflowed > 25, "{overflowed} runs overflow");
}

#[test]
fn most_bounded_and_windowed_programs_are_run_by_plan() {
    for (feeding, percent) in [(WINDOWS, 95), (STREAM, 80)] {
        let (engine, mut all, mut ran) = (PlanEngine::default(), 0, 0);
        let mut declined = BTreeMap::<String, usize>::new();
        for seed in 0..2500 {
            let flat = lowered(&mut Lcg(seed));
            if !may_have_plan(&flat, &Analyses::of(&flat)) {
                continue;
            }
            all += 1;
            match engine.open(&flat, &Use::new(feeding)) {
                Ok(_) => ran += 1,
                Err(why) => *declined.entry(why.text).or_default() += 1,
            }
        }
        assert!(ran * 100 >= all * percent, "{feeding:?}: {ran} of {all}; {declined:?}");
    }
}
