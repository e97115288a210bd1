//! Registers that slide, in compiled code beside the reference.

use std::sync::Arc;

use rml_backend::{Held, Options};
use rml_executor::{Executor, PrepareOptions, Reference, Running};
use rml_ir::{DType, Data, Shape, Value};
use rml_native::Native;
use rml_plan::Plan;

const MEMORIES: &str = include_str!("../../rml-backend-cpu/src/plan/slides/memories.plan");
const SAMPLED: &str = include_str!("../../rml-backend-cpu/src/plan/slides/sampled.plan");

/// A plan, and the same with memories that are quickly full.
fn plans(text: &str) -> [Arc<Plan>; 2] {
    let shorter = [("128", "5"), ("127", "4"), ("256", "7"), ("254", "5"), ("200", "6"), ("199", "5")];
    let short = shorter.iter().fold(text.to_owned(), |text, (n, m)| text.replace(n, m));
    let short = short.replace("[5, 0, 4]", "[4, 0, 3]").replace("1024", "28").replace("900:100", "20:5");
    [text.to_owned(), short.replace("num [100]", "num [5]")].map(|text| {
        let plan = rml_plan::parse(&text).unwrap_or_else(|why| panic!("{why}\n{text}"));
        assert_eq!(rml_plan::verify(&plan), Ok(()), "{text}");
        Arc::new(plan)
    })
}

/// The inputs of a window: numbers that look random, and truth values that hold at most ticks.
fn feed(runs: &mut [Box<dyn Running>], plan: &Plan, ticks: usize, count: &mut u64) {
    for (input, (_, ty)) in plan.inputs.iter().enumerate() {
        let n = ty.shape.len() * ticks;
        let mut next = || {
            *count = count.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*count >> 40) as f32 / 65536.0
        };
        let data = match ty.dtype {
            DType::Bool => Data::Bool((0..n).map(|_| next() < 150.0).collect()),
            DType::Int | DType::Num => Data::F32((0..n).map(|_| next()).collect()),
        };
        runs.iter_mut().for_each(|run| assert_eq!(run.set_rows(input, ticks, &|_| true, &data, 0), ticks));
    }
}

/// An output, as text with all digits.
fn output(run: &mut dyn Running, output: usize, t: usize) -> (bool, String) {
    let mut data = Data::Bool(Vec::new());
    (run.add_output(output, t, &mut data).expect("it is read"), format!("{data:?}"))
}

fn compare(plan: &Arc<Plan>, lengths: &[usize]) {
    let native = Native::open(&Options::default()).expect("a C compiler");
    let text = Native::text(plan).expect("it is compiled");
    let moved = plan.slides().iter().filter(|slide| !slide.when.is_empty()).count();
    assert_eq!(text.contains("*const moved_"), moved > 0, "{text}");
    let native: [&dyn Executor; 2] = [&native.clone(), &native.sharing_all(true)];
    let start = |executor: &dyn Executor, threads| {
        executor
            .prepare(plan, &PrepareOptions { threads })
            .expect("it runs")
            .start(None)
            .expect("there is memory")
    };
    let mut runs = vec![start(&Reference, 1), start(native[0], 1), start(native[1], 3)];
    let mut count = 7;
    for (window, ticks) in lengths.iter().copied().enumerate() {
        feed(&mut runs, plan, ticks, &mut count);
        for run in &mut runs {
            assert!(run.window(ticks).is_ok_and(|done| done == ticks), "window {window}");
        }
        let (wanted, others) = runs.split_first_mut().expect("a reference");
        for run in others {
            for t in 0..ticks {
                for i in 0..plan.outputs.len() {
                    let expected = output(&mut **wanted, i, t);
                    assert_eq!(output(&mut **run, i, t), expected, "output {i}, window {window}, tick {t}");
                }
            }
            for register in 0..plan.registers.len() {
                let value = |run: &dyn Running| {
                    let value = run.register(register).map(|held| held.to_host().unwrap().to_data());
                    format!("{value:?}")
                };
                let (found, wanted) = (value(&**run), value(&**wanted));
                assert_eq!(found, wanted, "register {register} after window {window}");
            }
        }
        if window % 9 == 4 {
            let shape = plan.registers.as_slice()[0].ty.shape.clone();
            let x = Value::new(Shape::new(shape.dims()), Data::F32(vec![window as f32; shape.len()]));
            for run in &mut runs {
                run.set_register(0, &Held::Host(x.clone())).expect("it is set");
                run.unset_register(1);
            }
        }
    }
}

#[test]
fn memories_have_the_bits_of_the_reference() {
    for plan in [plans(MEMORIES), plans(SAMPLED)].into_iter().flatten() {
        compare(&plan, &[1; 100]);
        compare(&plan, &[1, 5, 1, 1, 3, 3, 3, 3, 3, 64, 2, 200, 200, 3, 1, 1, 7, 130, 1, 130, 1]);
    }
}
