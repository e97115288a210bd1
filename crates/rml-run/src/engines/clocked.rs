//! Programs with inputs on clocks of all kinds, by plan and by simulator, with data that agree with these clocks and
//! with data that do not.

use std::sync::Arc;

use rml_driver::{Options, Source, compile};
use rml_engine::{Feeding, InputCell, ProgramEngine, Use};
use rml_ir::flat::Drawn;
use rml_ir::{DType, Value};
use rml_sim::{SimulatorEngine, Status};
use rml_testkit::Lcg;

use super::plan::PlanEngine;
use super::random::told;

const WINDOWS: Feeding = Feeding::Windows { cycles: None };
const STREAM: Feeding = Feeding::Stream { look_ahead: None };

/// Programs, and whether they have a plan also for a stream.
const PROGRAMS: [(&str, bool); 9] = [
    // Conditions that are inputs on a clock.
    (
        "node main(x: int [], c: bool [], d: bool [] when c, y: int [] when d, z: int [] when not d) -> (l, m)
  l = y + (0 fby l); m = x + (merge c (merge d y z) 0) + (0 fby m);",
        true,
    ),
    // A condition that the program computes, in states and outputs.
    ("node main(n: int [], x: int [] when c) -> (o, k, c) c = n > 1; o = 0 fby x; k = n + (0 fby k);", true),
    ("node main(n: int [], x: int [] when not c) -> (c, o) c = n > k; k = 3 fby o; o = merge c (n when c) (x + (0 fby x));", true),
    // Conditions on a clock that the program computes.
    (
        "node main(n: int [], d: bool [] when c, y: int [] when d) -> (o, c) c = n > 1;
  o = merge c (merge d y 0) (0 fby o when not c);",
        true,
    ),
    // Inputs without a declared clock, which their use gives.
    ("node main(c: bool [], x, y: int []) -> (o) o = (merge c x y) + (0 fby o);", true),
    ("node main(n: int [], x: int [], y: int []) -> (o) o = (merge (n > 2) (x + (0 fby x)) y) + (0 fby o);", true),
    // Windows, whose ends are given or found.
    (
        "node back(x: int []) -> (s) s = x + (0 fby back s);
node main(n: int [], x: int [] when c, end: bool []) -> (s, k, c) c = n > 1; s = back(merge c x (n when not c)) every end;
  k = 0 fby (if end then s else k);",
        false,
    ),
    (
        "node back(x: int []) -> (s) s = x + (0 fby back s);
node main(n: int [], x: int [] when c) -> (s, k, c) c = n > 1; k = 0 fby (if end then 0 else k + (merge c x (n when not c))); end = k > 3;
  s = back(n) every end;",
        false,
    ),
    (
        "node back(x: int []) -> (s) s = x + (0 fby back s);
node main(n: int [], end: bool [], x: int [] when end, b: bool [] when end, z: int [] when b) -> (s, k)
  s = back(n) every end; k = (merge b z 0) + x + (0 fby k);",
        false,
    ),
];

/// Rows that agree with all clocks: inputs that the program does not ask for are absent.
fn agreeing(flat: &Arc<Drawn>, r: &mut Lcg, cycles: usize) -> Vec<Vec<InputCell>> {
    let offer = |r: &mut Lcg, ty: DType| match ty {
        DType::Bool => Value::Bool(r.chance(0.5)),
        _ => Value::Int(i64::try_from(r.below(6)).expect("small")),
    };
    let types: Vec<DType> = flat.inputs.iter().map(|input| flat.vars[input.var].ty.dtype).collect();
    let rows = (0..cycles).map(|_| types.iter().map(|ty| InputCell::OnDemand(Some(offer(r, *ty)))).collect());
    let rows: Vec<Vec<InputCell>> = rows.collect();
    let options = rml_sim::Options { record: true, ..rml_sim::Options::default() };
    let mut sim = rml_sim::Simulator::new(Arc::clone(flat), options);
    rows.iter().for_each(|row| sim.feed(row).expect("it runs"));
    sim.finish(true).expect("it ends");
    let cell = |t: usize, i: usize| match sim.status(t as u64, flat.inputs[i].var) {
        Ok(Some(Status::Value(value))) => InputCell::Given(value),
        _ => InputCell::Absent,
    };
    (0..cycles).map(|t| (0..types.len()).map(|i| cell(t, i)).collect()).collect()
}

#[test]
fn inputs_that_disagree_with_their_clocks_are_found_as_in_the_simulator() {
    let calls = PlanEngine::lowered(Arc::new(rml_backend_cpu::Cpu));
    let plain = PlanEngine::default();
    let (mut ran, mut failed) = (0, 0);
    for (text, streams) in PROGRAMS {
        let program = compile(&Source::text("main", text), &Options::default()).expect("it compiles");
        let flat = program.flat();
        for (feeding, engine) in [(WINDOWS, &plain), (STREAM, &plain), (WINDOWS, &calls)] {
            if feeding == STREAM && !streams {
                continue;
            }
            let wish = Use::new(feeding);
            assert!(engine.open(flat, &wish).is_ok(), "no plan: {text}");
            for seed in 0..60 {
                let mut r = Lcg(seed);
                let mut inputs = agreeing(flat, &mut r, 20);
                if r.chance(0.6) {
                    let (t, i) = (r.below(20), r.below(flat.inputs.len()));
                    inputs[t][i] = match &inputs[t][i] {
                        InputCell::Given(_) => InputCell::Absent,
                        _ if flat.vars[flat.inputs[i].var].ty.dtype == DType::Bool => {
                            InputCell::Given(Value::Bool(r.chance(0.5)))
                        }
                        _ => InputCell::Given(Value::Int(1)),
                    };
                }
                let told = |engine: &dyn ProgramEngine| {
                    told(flat, engine, &wish, &inputs, &mut Lcg(seed + 1)).expect("it opens")
                };
                let (found, wanted) = (told(engine), told(&SimulatorEngine::new()));
                (ran, failed) = (ran + 1, failed + usize::from(wanted.error.is_some()));
                assert!(
                    found.contains(&wanted),
                    "seed {seed}, {feeding:?}: {found:?}\nbut {wanted:?}\n{text}"
                );
            }
        }
    }
    assert!(ran > 1200 && failed > 400, "{ran} runs, of which {failed} fail");
}

/// Inputs may also be offered in cycles where the program does not ask for them; where it asks and they are missing,
/// that is an error.
#[test]
fn inputs_on_demand_run_by_plan() {
    for (text, _) in PROGRAMS {
        let program = compile(&Source::text("main", text), &Options::default()).expect("it compiles");
        let flat = program.flat();
        for seed in 0..40 {
            let mut r = Lcg(seed);
            let mut inputs = agreeing(flat, &mut r, 20);
            for (i, input) in flat.inputs.iter().enumerate() {
                let boolean = flat.vars[input.var].ty.dtype == DType::Bool;
                let sampled = inputs.iter().any(|row| matches!(row[i], InputCell::Absent));
                for row in inputs.iter_mut().filter(|_| sampled) {
                    let other = if boolean { Value::Bool(true) } else { Value::Int(7) };
                    row[i] = InputCell::OnDemand(match &row[i] {
                        InputCell::Given(value) => (!r.chance(0.01)).then(|| value.clone()),
                        _ => r.chance(0.7).then_some(other),
                    });
                }
            }
            let told = |engine: &dyn ProgramEngine| {
                told(flat, engine, &Use::new(WINDOWS), &inputs, &mut Lcg(seed + 1)).expect("it opens")
            };
            let (found, wanted) = (told(&PlanEngine::default()), told(&SimulatorEngine::new()));
            assert!(found.contains(&wanted), "seed {seed}: {found:?}\nbut {wanted:?}\n{text}");
        }
    }
}
