//! Gradients that vanish through the cycles of a window are zeros below a border, never subnormal, and the same bits in
//! every engine.

use std::sync::Arc;

use rml::{Options, Precision, Source};
use rml_ir::{Data, Shape, Value, op};
use rml_sim::{InputCell, Simulator, Status};
use rml_testkit::Lcg;
use rml_testkit::plans::{Planned, compare};

const CYCLES: usize = 40;

/// Three leaks: one after the other in a tensor, so that each crosses the border at a cycle of its own.
const FORWARD: &str = "
node leak(x: num [3]) -> (s)
  s = x + RATE * (0.0 fby s);

node main(x: num [3], ds: num [3], end: bool []) -> (s, dx)
  s, _, dx = diff_leak(x, true, ds) every end;
";

fn num(x: [f64; 3], precision: Precision) -> Value {
    Value::new(Shape::new(&[3]), Data::F64(x.to_vec())).to_precision(precision)
}

/// One window whose gradient comes from its first or its last cycle.
fn rows(at: usize, precision: Precision) -> Vec<Vec<InputCell>> {
    let row = |t: usize| {
        let d = if t == at { [1.0, -3.0, 1e-9] } else { [0.0; 3] };
        let end = Value::Bool(t + 1 == CYCLES);
        [num([1.0, 0.5, -2.0], precision), num(d, precision), end].map(InputCell::Given).to_vec()
    };
    (0..CYCLES).map(row).collect()
}

/// The gradients of the input, cycle by cycle.
fn gradients(flat: &Arc<rml_ir::flat::Drawn>, rows: &[Vec<InputCell>]) -> Vec<Vec<f64>> {
    let mut sim = Simulator::new(Arc::clone(flat), rml_sim::Options { record: true, ..Default::default() });
    rows.iter().for_each(|row| sim.feed(row).expect("it runs"));
    sim.finish(true).expect("it ends");
    let cell =
        |t: usize| -> Status { sim.status(t as u64, flat.outputs[1]).expect("recorded").expect("known") };
    let numbers = |t: usize| match cell(t).value().expect("present").to_data() {
        Data::F32(v) => v.iter().map(|x| f64::from(*x)).collect(),
        Data::F64(v) => v.clone(),
        other => panic!("{other:?}"),
    };
    (0..CYCLES).map(numbers).collect()
}

#[test]
fn gradients_that_vanish_are_zeros_in_every_engine() {
    for (precision, rate) in [(Precision::F32, 1e-2), (Precision::F64, 1e-17)] {
        for back in [false, true] {
            let text = FORWARD.replace("RATE", &format!("{rate:e}"));
            let text = if back { text.replace("fby s", "fby back s") } else { text };
            let options = Options { node: Some("main".to_owned()), precision, ..Options::default() };
            let program = rml::compile(&Source::text("main", &text), &options);
            let flat = Arc::clone(program.unwrap_or_else(|e| panic!("{e}\n{text}")).flat());
            let at = if back { 0 } else { CYCLES - 1 };
            let rows = rows(at, precision);
            for seed in 0..4 {
                let found = compare(&flat, &rows, &mut Lcg(seed)).unwrap_or_else(|e| panic!("{e}\n{text}"));
                assert!(matches!(found, Planned::Equal), "{found:?}\n{text}");
            }
            let mut all = gradients(&flat, &rows);
            if !back {
                all.reverse();
            }
            for i in 0..3 {
                let row: Vec<f64> = all.iter().map(|d| d[i]).collect();
                let kept = row.iter().take_while(|d| **d != 0.0).count();
                // The last one that is kept is above the border; the next step would have fallen below.
                let least = op::negligible(precision);
                assert!(kept > 5 && kept < CYCLES, "{row:?}");
                assert!(row[..kept].iter().all(|d| d.abs() >= least), "{row:?}");
                assert!(row[kept - 1].abs() * rate < least, "{row:?}");
                assert!(row[kept..].iter().all(|d| d.to_bits() == 0), "{row:?}");
            }
        }
    }
}
