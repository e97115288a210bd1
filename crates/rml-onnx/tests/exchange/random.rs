//! Random programs as ONNX and as StableHLO, compared with their plans.

use crate::support::Cases;
use rml_ir::Value;
use rml_plan::reference::Cells;
use rml_schedule::{Fed, schedule};
use rml_sim::InputCell;
use rml_testkit::Lcg;
use rml_testkit::flat::random::program;
use rml_testkit::verdicts::respecting;

const CYCLES: usize = 14;

#[test]
fn random_programs_mean_the_same_elsewhere() {
    let mut cases = Cases::new();
    for seed in 0..400 {
        let mut r = Lcg(seed);
        let numbers = r.take(220);
        let (flat, _) = program(&numbers, 24, false);
        // Graphs suspect integers beyond 2^62 even if they do not overflow.
        let is_large = |value: &Value| value.as_int().is_some_and(|int| int.unsigned_abs() > 1 << 31);
        if flat.consts.iter().any(|constant| constant.value().is_some_and(is_large)) {
            continue;
        }
        let Ok(plan) = schedule(&flat, Fed::Windows) else { continue };
        let clocks = rml_analysis::clocks(&flat).clocks;
        let rows = respecting(&flat, &clocks, &mut r, CYCLES);
        let cell = |input: &InputCell| match input {
            InputCell::Given(value) => Some(value.to_precision(flat.precision)),
            _ => None::<Value>,
        };
        let columns: Vec<Cells> =
            (0..flat.inputs.len()).map(|i| rows.iter().map(|row| cell(&row[i])).collect()).collect();
        let most = if r.chance(0.5) { 1 } else { 5 };
        cases.add(&format!("seed {seed}"), &plan, &columns, CYCLES, most);
    }
    assert!(cases.len() > 90, "{} programs were compared", cases.len());
    cases.run();
}
