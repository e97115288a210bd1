//! Random programs in C, compared with their plans.

mod support;

use support::Close;

use rml_ir::Value;
use rml_plan::Ends;
use rml_plan::reference::Cells;
use rml_schedule::{Fed, schedule};
use rml_sim::InputCell;
use rml_testkit::Lcg;
use rml_testkit::flat::random::program;
use rml_testkit::verdicts::{overflowing, respecting};

const CYCLES: usize = 14;

#[test]
fn random_programs_mean_the_same_in_c() {
    let (mut equal, mut steps) = (0, 0);
    for seed in 0..312 {
        let mut r = Lcg(seed);
        let numbers = r.take(220);
        let (flat, _) = program(&numbers, 24, false);
        let Ok(plan) = schedule(&flat, Fed::Windows) else { continue };
        if plan.waits {
            continue;
        }
        let clocks = rml_analysis::clocks(&flat).clocks;
        let rows = respecting(&flat, &clocks, &mut r, CYCLES);
        let rows = if seed % 3 == 0 { overflowing(rows, &mut r) } else { rows };
        let cell = |input: &InputCell| match input {
            InputCell::Given(value) => Some(value.to_precision(flat.precision)),
            _ => None::<Value>,
        };
        let columns: Vec<Cells> =
            (0..flat.inputs.len()).map(|i| rows.iter().map(|row| cell(&row[i])).collect()).collect();
        let one = plan.ends == Ends::Nothing && plan.ahead() == 0 && r.chance(0.5);
        let most = if one { 1 } else { CYCLES };
        match support::compare(&plan, &columns, (CYCLES, most), Close::Nearly) {
            Ok(cycles) => {
                equal += usize::from(cycles > 0);
                steps += usize::from(one);
            }
            Err(why) if why.contains("Missing") => {}
            Err(why) => panic!("seed {seed}: {why}\n{}", rml_plan::print(&plan)),
        }
    }
    assert!(equal > 90 && steps > 15, "{equal} programs were compared, {steps} of them step by step");
}
