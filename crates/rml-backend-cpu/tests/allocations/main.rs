//! Windows that come again allocate nothing, on whatever thread. One test, since all threads of the process are
//! counted.

mod ffi;

use std::sync::Arc;

use rml_backend_cpu::plan::Machine;
use rml_ir::{DType, Data, Value};
use rml_plan::Plan;

/// A classifier in training: an LSTM of 4 units on 9 rows of 3 numbers.
const LSTM: &str = include_str!("../../src/plan/threads/lstm.plan");

fn set(machine: &mut Machine<f32>, plan: &Plan, ticks: usize) {
    for (i, (_, ty)) in plan.inputs.iter().enumerate() {
        for t in 0..ticks {
            let n = ty.shape.len();
            let value = match ty.dtype {
                DType::Num => Value::new(ty.shape.clone(), Data::F32(vec![0.25; n])),
                DType::Int => Value::new(ty.shape.clone(), Data::Int(vec![1; n])),
                DType::Bool => Value::Bool(t + 1 == ticks),
            };
            machine.set_input(i, ticks, t, &value);
        }
    }
}

#[test]
fn windows_that_come_again_allocate_nothing() {
    let plan = Arc::new(rml_plan::parse(LSTM).expect("a plan"));
    for threads in [1, 3] {
        let mut machine = Machine::<f32>::sharing_all(Arc::clone(&plan), threads).expect("memory");
        for round in 0..6 {
            for ticks in [5, 1, 3] {
                set(&mut machine, &plan, ticks);
                let before = ffi::count();
                assert_eq!(machine.window(ticks), Ok(ticks));
                let allocated = ffi::count() - before;
                assert!(round == 0 || allocated == 0, "{allocated} with {threads} threads, {ticks} ticks");
            }
        }
    }
}
