use std::sync::Arc;

use rml_ir::{Data, Value};

use super::super::Machine;

/// An LSTM in training.
const LSTM: &str = include_str!("../lstm.plan");

/// The outputs of some windows, and the registers after them.
fn run(text: &str, ticks: usize, threads: usize, cuts: [Option<(usize, bool)>; 3]) -> Vec<String> {
    let plan = Arc::new(rml_plan::parse(text).expect("a plan"));
    let mut machine = Machine::<f32>::sharing_all(Arc::clone(&plan), threads).expect("there is memory");
    let mut seen = Vec::new();
    for (window, cut) in cuts.into_iter().enumerate() {
        machine.force(ticks, cut);
        for (i, (_, ty)) in plan.inputs.iter().enumerate() {
            for t in 0..ticks {
                let n = ty.shape.len();
                let x = |j: usize| ((window * 7 + t * 13 + j * 5) % 11) as f32 / 8.0 - 0.6;
                let data = match ty.dtype {
                    rml_ir::DType::Bool => Data::Bool(vec![t + 1 == ticks; n]),
                    _ => Data::F32((0..n).map(x).collect()),
                };
                machine.set_input(i, ticks, t, &Value::new(ty.shape.clone(), data));
            }
        }
        machine.window(ticks).expect("it runs");
        for (o, _) in plan.outputs.iter().enumerate() {
            seen.extend((0..ticks).map(|t| format!("{t} {:?}", machine.output(o, t))));
        }
    }
    seen.extend((0..plan.registers.len()).map(|r| format!("{:?}", machine.register(r))));
    seen
}

#[test]
fn segments_have_the_bits_of_the_whole() {
    for ticks in [2, 3, 64, 65, 130, 200] {
        let whole = run(LSTM, ticks, 1, [None; 3]);
        for size in [64, 128, 192] {
            let (stored, again) = (Some((size, true)), Some((size, false)));
            // A machine goes from one way to another as memory comes and goes.
            for cuts in [[stored; 3], [again; 3], [stored, again, stored], [again, stored, None]] {
                for threads in 1..4 {
                    let parts = run(LSTM, ticks, threads, cuts);
                    assert_eq!(parts, whole, "{ticks} ticks, {cuts:?}, {threads} threads");
                }
            }
        }
    }
}
