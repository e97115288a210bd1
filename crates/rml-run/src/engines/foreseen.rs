//! Programs whose windows end where data of the next cycle say so, run by plan and by simulator, with arbitrary blocks.

use rml_driver::{Options, Source, compile};
use rml_engine::{Feeding, ProgramEngine, Use};
use rml_plan::Ends;
use rml_sim::SimulatorEngine;
use rml_testkit::Lcg;
use rml_testkit::verdicts::respecting;

use super::plan::{PlanEngine, planned};
use super::random::told;

/// Programs, and whether inputs give the ends of their windows; otherwise the plan finds them.
const PROGRAMS: [(&str, bool); 8] = [
    (
        "node back(x: int []) -> (s) s = x + (0 fby back s);
node main(x: int [], r: bool []) -> (s) s = back(x) every (false fby back r);",
        true,
    ),
    // The end of the data ends a window, too.
    (
        "node back(x: int []) -> (s) s = x + (0 fby back s);
node last(r: bool []) -> (l) l = true fby back r;
node main(x: int [], r, end: bool []) -> (s, n) l = last(r) every end; s = back(x) every l; n = 0 fby (if l then n + s else n);",
        true,
    ),
    (
        "node back(x: int []) -> (s) s = x + (0 fby back s);
node next(r: bool []) -> (l) l = false fby back r;
node main(x: int [], r, end: bool []) -> (s, l) l = next(r) every end; s = back(x) every (l or end);",
        false,
    ),
    // The condition is computed from data.
    (
        "node back(x: int []) -> (s) s = x + (0 fby back s);
node main(x: int [], c: bool []) -> (s) s = back(x) every (not post (c or x > 3));",
        false,
    ),
    (
        "node back(x: int []) -> (s) s = x + (0 fby back s);
node next(r: bool []) -> (l) l = true fby back r;
node main(x: int [], end: bool []) -> (s, n) l = next(x * x > 9) every end; s = back(x) every l; n = 0 fby (if l then n + s else n);",
        false,
    ),
    // The condition is computed from the value of a delay.
    (
        "node back(x: int []) -> (s) s = x + (0 fby back s);
node main(x: int [], c: bool []) -> (s, n) n = 0 fby (if n > 3 or c then 0 else n + 1); s = back(x) every (false fby back (n == 0));",
        false,
    ),
    // A first value that is a stream, and windows within windows.
    (
        "node back(x: int []) -> (s) s = x + (x fby back s);
node both(x: int [], e: bool []) -> (s, t) s = back(x) every e; t = s + (0 fby back t);
node main(x: int [], e, r: bool []) -> (s, t) s, t = both(x, e) every (false fby back r);",
        true,
    ),
    (
        "node back(x: int []) -> (s) s = x + (0 fby back s);
node main(x: int [], r, q: bool []) -> (s, t) e = post r; s = back(x) every e; t = back(s) every e; u = post q;",
        true,
    ),
];

#[test]
fn ends_that_data_of_the_next_cycle_tell_are_those_of_the_simulator() {
    let plain = PlanEngine::default();
    let calls = PlanEngine::lowered(std::sync::Arc::new(rml_backend_cpu::Cpu));
    for (text, given) in PROGRAMS {
        let program = compile(&Source::text("main", text), &Options::default()).expect("it compiles");
        let flat = program.flat();
        let analyses = rml_analysis::Analyses::of(flat);
        let plan = planned(flat, &analyses, rml_schedule::Fed::Windows).expect(text);
        assert_eq!(matches!(plan.plan.ends, Ends::Given(_)), given, "{text}");
        assert!(plan.next.is_some() && !plan.plan.waits, "{text}");
        for (seed, engine) in (0..60).flat_map(|seed| [(seed, &plain), (seed, &calls)]) {
            let inputs = respecting(flat, &analyses.clocks.clocks, &mut Lcg(seed), 25);
            let wish = Use::new(Feeding::Windows { cycles: None });
            let told = |engine: &dyn ProgramEngine| {
                told(flat, engine, &wish, &inputs, &mut Lcg(seed + 1)).expect("it opens")
            };
            let (found, wanted) = (told(engine), told(&SimulatorEngine::new()));
            assert!(found.contains(&wanted), "seed {seed}: {found:?}\nbut {wanted:?}\n{text}");
        }
    }
}

/// Whole windows run by plan, and are not repeated in the simulator.
#[test]
fn the_last_window_of_the_data_runs_by_plan() {
    let (text, _) = PROGRAMS[1];
    let program = compile(&Source::text("main", text), &Options::default()).expect("it compiles");
    let engine = PlanEngine::default();
    let mut run = engine.open(program.flat(), &Use::new(Feeding::Windows { cycles: None })).expect("a plan");
    let row = |x: i64, r: bool, end: bool| {
        let values = [rml_ir::Value::Int(x), rml_ir::Value::Bool(r), rml_ir::Value::Bool(end)];
        values.map(rml_engine::InputCell::Given)
    };
    for (x, r, end) in [(1, true, false), (2, false, false), (4, true, false), (8, false, true)] {
        run.feed(rml_engine::Inputs::Cycle(&row(x, r, end))).expect("it runs");
    }
    let mut rows = Vec::new();
    while let Some(outputs) = run.next_outputs() {
        outputs.append_to(&mut rows).expect("on the host");
    }
    let sums: Vec<String> = rows.iter().map(|row| rml_testkit::flat::text(&row.values)).collect();
    assert_eq!(sums, ["3 0", "2 0", "12 2", "8 2"]);
    assert_eq!((run.open_cycles(), run.usage().activations), (0, 2));
}
