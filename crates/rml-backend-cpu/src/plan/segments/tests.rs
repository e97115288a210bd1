use std::sync::Arc;

use rml_ir::{Data, Value};

use super::super::Machine;

/// An LSTM in training.
const LSTM: &str = include_str!("../lstm.plan");

/// The outputs of some windows, and the registers behind them.
fn run(text: &str, ticks: usize, threads: usize, cut: Option<(usize, bool)>) -> Vec<String> {
    let plan = Arc::new(rml_plan::parse(text).expect("a plan"));
    let mut machine = Machine::<f32>::sharing_all(Arc::clone(&plan), threads).expect("there is memory");
    let mut seen = Vec::new();
    for window in 0..3 {
        if let Some((size, is_stored)) = cut {
            machine.force(ticks, size, is_stored);
        }
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
        let whole = run(LSTM, ticks, 1, None);
        for (size, is_stored) in [64, 128, 192].into_iter().flat_map(|size| [(size, false), (size, true)]) {
            for threads in 1..4 {
                let parts = run(LSTM, ticks, threads, Some((size, is_stored)));
                assert_eq!(
                    parts, whole,
                    "{ticks} ticks in segments of {size}, stored: {is_stored}, {threads} threads"
                );
            }
        }
    }
}
