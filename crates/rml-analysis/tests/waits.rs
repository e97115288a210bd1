//! The stated waits against the simulator, on random programs: every cell is known when stated, and a program is
//! rejected only if it deadlocks.

use std::sync::Arc;

use rml_ir::flat::{Drawn, Flat};
use rml_ir::{DType, Value};
use rml_sim::InputCell;
use rml_testkit::Lcg;
use rml_testkit::flat::random;
use rml_testkit::verdicts::{Waits, check_waits};

const CYCLES: usize = 14;

/// A trace in which every input is present in every cycle.
fn inputs(flat: &Flat, r: &mut Lcg) -> Vec<Vec<InputCell>> {
    let mut value = |dtype| match dtype {
        DType::Bool => Value::Bool(r.below(2) == 0),
        _ => Value::Int(r.below(9) as i64 - 2),
    };
    let mut cycle = |_| {
        flat.inputs
            .iter()
            .map(|i| InputCell::Given(value(flat.vars[i.var].ty.dtype)))
            .collect::<Vec<InputCell>>()
    };
    (0..CYCLES).map(&mut cycle).collect()
}

fn program(r: &mut Lcg) -> Arc<Drawn> {
    random::program(&r.take(200), 25, false).0
}

/// The verdicts are correct and useful: most programs that run are proved to run.
#[test]
fn every_cell_is_known_in_time_and_few_programs_that_run_are_dynamic() {
    let mut kinds = [0; 5];
    let (mut fine_but_dynamic, mut compared) = (0, 0);
    for seed in 0..2500 {
        let mut r = Lcg(seed);
        let flat = program(&mut r);
        match check_waits(&flat, &inputs(&flat, &mut r)) {
            Err(e) => panic!("seed {seed}: {e}"),
            Ok(None) => {}
            Ok(Some(Waits { kind, all_known, compared: memory })) => {
                kinds[kind] += 1;
                fine_but_dynamic += usize::from(kind == 3 && all_known);
                compared += usize::from(memory);
            }
        }
    }
    assert!(kinds.iter().all(|n| *n > 50) && compared > 50, "{kinds:?} {compared}");
    assert!(10 * fine_but_dynamic < kinds[0] + kinds[1], "{fine_but_dynamic} {kinds:?}");
}
