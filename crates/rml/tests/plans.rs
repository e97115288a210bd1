//! Training and inference by plan: the results of the simulator up to the order of sums, its errors, and its
//! checkpoints.

mod support;

use std::path::Path;

use rml::{Checkpoint, Data, Elements, Engine, EpochSummary, InferOptions, Session, TrainOptions, Value};
use support::{CLASSIFIER, code, column, data, options, source, train};

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-4 * (1.0 + a.abs())
}

fn same_epochs(a: &[EpochSummary], b: &[EpochSummary]) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        for (metrics, others) in [(&a.train, &b.train), (&a.test, &b.test)] {
            assert!(
                metrics.iter().zip(others).all(|((k, x), (l, y))| k == l && close(*x, *y)),
                "{a:?}\n{b:?}"
            );
            assert_eq!(metrics.len(), others.len());
        }
    }
}

#[test]
fn training_by_plan_is_training_by_simulator() {
    let folder = tempfile::tempdir().unwrap();
    let of = |engine: Engine| {
        let options = TrainOptions { engine, ..options(&folder.path().join("saved"), 6) };
        train(CLASSIFIER, &data(37), &options)
    };
    let (plan, simulator) = (of(Engine::plan()), of(Engine::simulator()));
    assert!(plan.epochs[0].train["loss"] > plan.epochs.last().unwrap().train["loss"]);
    same_epochs(&plan.epochs, &simulator.epochs);
}

#[test]
fn each_engine_goes_on_from_a_checkpoint_of_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let data = data(37);
    let path = |name: &str| folder.path().join(name);
    let run = |engine: Engine, epochs: u64, resume: Option<&Path>, save: &Path| {
        let options = TrainOptions { engine, resume: resume.map(Path::to_owned), ..options(save, epochs) };
        train(CLASSIFIER, &data, &options)
    };
    for (first, second) in [(Engine::plan(), Engine::simulator()), (Engine::simulator(), Engine::plan())] {
        let whole = run(first.clone(), 4, None, &path("whole"));
        run(first, 2, None, &path("half"));
        let rest = run(second, 4, Some(&path("half")), &path("rest"));
        same_epochs(&whole.epochs[2..], &rest.epochs);
    }
    // A run by plan has the bits of an interrupted and resumed run.
    run(Engine::plan(), 4, None, &path("whole"));
    run(Engine::plan(), 2, None, &path("half"));
    run(Engine::plan(), 4, Some(&path("half")), &path("rest"));
    let bytes = |name: &str| std::fs::read(path(name)).unwrap();
    assert!(bytes("whole") == bytes("rest"), "the checkpoints differ");
    let infer = |engine: Engine| {
        let options = InferOptions { params: Some(path("whole").into()), engine, ..InferOptions::default() };
        rml::infer(&source(CLASSIFIER), &data, &options).unwrap()
    };
    let (plan, simulator) = (infer(Engine::plan()), infer(Engine::simulator()));
    assert!(plan.metrics.iter().zip(&simulator.metrics).all(|((k, x), (l, y))| k == l && close(*x, *y)));
    assert!(Checkpoint::read(&path("rest")).is_ok());
}

/// Counts the positive elements, and adds up a product that may not fit.
const COUNTING: &str = "
node main(x: int []) -> (n, p)
  n = (0 fby n) + 1;
  p = (1 fby p) * x;
";

#[test]
fn a_stream_by_plan_has_the_errors_of_the_simulator() {
    let program = rml::compile(&source(COUNTING), &rml::Options::default()).unwrap();
    let run = |engine: Engine| {
        let mut session = Session::on(&program, &engine).unwrap();
        let mut seen = Vec::new();
        for x in [3, i64::MAX, 2, 5] {
            match session.step([("x", Value::Int(x).into())]) {
                Ok(rows) => seen.extend(rows.iter().map(|r| format!("{:?}", r.values))),
                Err(error) => seen.push(error.to_string()),
            }
        }
        seen
    };
    let seen = run(Engine::plan());
    assert_eq!(seen, run(Engine::simulator()));
    assert!(seen.iter().any(|s| s.contains("does not fit")), "{seen:?}");
}

#[test]
fn what_has_no_plan_is_declined() {
    for text in [
        "node main(x: num [], c: bool []) -> (o when c) o = post (x when c);",
        "node main(x: num [], c: bool []) -> (o) d = not c; y = x when d; o = merge d y (0.0 when not d);",
    ] {
        let program = rml::compile(&source(text), &rml::Options::default()).unwrap();
        let opened = Session::on(&program, &Engine::plan());
        if text.contains("post") {
            assert_eq!(code(opened), "engine-declines");
        } else {
            assert!(opened.is_ok());
        }
    }
}

#[test]
fn data_of_another_precision_is_rounded() {
    let program =
        rml::compile(&source("node main(x: num [2]) -> (o) o = 2.0 * x;"), &rml::Options::default()).unwrap();
    let mut session = Session::on(&program, &Engine::plan()).unwrap();
    let x = Value::new(rml::Shape::new(&[2]), Data::F64(vec![0.1, 3.0]));
    let rows = session.step([("x", x.into())]).unwrap();
    assert_eq!(rows[0].nums("o"), Some(vec![f64::from(0.2_f32), 6.0]));
}

/// A window may overflow, and the trace may end inside one.
const PRODUCTS: &str = "
node product(x: int []) -> (p, mean: num []) p = x * (1 fby p); mean = 0.5 * (0.0 fby mean) + 1.0;
node main(x: int [], end: bool []) -> (p, mean: num [], last: int [] when end)
  p, mean = product(x) every end;
  last = p when end;
";

#[test]
fn a_trace_by_plan_is_that_of_the_simulator_wherever_it_fails_or_ends() {
    let program = rml::compile(&source(PRODUCTS), &rml::Options::default()).unwrap();
    let inputs = |large: usize| {
        let x: Vec<i64> = (0..12).map(|n| if n == large { i64::MAX } else { n as i64 + 1 }).collect();
        let mut inputs = rml::Columns::default();
        inputs.columns.insert("x".into(), column(&[12], Elements::Int(x)));
        let ends = (0..12).map(|n| [1, 4, 8].contains(&n)).collect();
        inputs.columns.insert("end".into(), column(&[12], Elements::Bool(ends)));
        inputs
    };
    let run = |engine: Engine, large: usize, cycles: usize| {
        let options = rml::RunOptions { engine, cycles: Some(cycles), ..rml::RunOptions::default() };
        let trace = rml::run(&program, &inputs(large), &options).unwrap();
        (trace.to_json(), trace.error.map(|e| e.to_string()))
    };
    for cycles in [0, 1, 2, 5, 9, 12] {
        for large in [99, 0, 3, 6, 11] {
            let (plan, simulator) =
                (run(Engine::plan(), large, cycles), run(Engine::simulator(), large, cycles));
            assert_eq!(plan, simulator, "{cycles} cycles, {large}");
            assert!(cycles < 12 || plan.1.is_some() == (large < 12));
        }
    }
}

/// A state that the program never changes has the value of the loaded checkpoint.
#[test]
fn a_state_that_nothing_changes_is_that_of_the_checkpoint() {
    let text = "node main(x: num []) -> (o: num []) mean = 1.0 fby mean; o = x - mean;";
    let program = rml::compile(&source(text), &rml::Options::default()).unwrap();
    for engine in [Engine::plan(), Engine::simulator()] {
        let mut session = Session::on(&program, &engine).unwrap();
        session.set_state("mean", &Value::F32(4.0)).unwrap();
        let rows = session.step([("x", Value::F32(6.0).into())]).unwrap();
        assert_eq!((rows[0].num("o"), session.states().unwrap()["mean"].as_num()), (Some(2.0), Some(4.0)));
    }
}

#[test]
fn gradients_by_plan_are_those_of_the_simulator_and_of_differences() {
    let text = "
import std.layers;
node main(x: num [2, 3], end: bool []) -> (loss: num [] when end)
  h = lstm(4, x) every end;
  loss = sum(dense(2, h when end));
";
    let (cycles, mut inputs) = (9, rml::Columns::default());
    let x = (0..cycles * 6).map(|i| (i as f64 * 0.7).sin()).collect();
    inputs.columns.insert("x".into(), column(&[cycles, 2, 3], Elements::F64(x)));
    let ends = (0..cycles).map(|n| n % 3 == 2).collect();
    inputs.columns.insert("end".into(), column(&[cycles], Elements::Bool(ends)));
    let options = rml::Options { precision: rml::Precision::F64, ..rml::Options::default() };
    let of = |engine: Engine| {
        let given = rml::GradOptions { engine, ..rml::GradOptions::default() };
        let check = rml::gradcheck(&source(text), &options, &inputs, &given, &rml::CheckOptions::default());
        let check = check.unwrap();
        assert!(check.ok(), "{check:?}");
        rml::grad(&source(text), &options, &inputs, &given).unwrap()
    };
    let (plan, simulator) = (of(Engine::plan()), of(Engine::simulator()));
    let numbers = |value: &Value| match value.to_data() {
        Data::F64(v) => v,
        other => panic!("{other:?}"),
    };
    let near = |a: &Value, b: &Value| {
        numbers(a).iter().zip(&numbers(b)).all(|(a, b)| (a - b).abs() <= 1e-10 * (1.0 + a.abs()))
    };
    assert_eq!(plan.params.len(), 5);
    assert!(plan.params.iter().all(|(key, value)| near(value, &simulator.params[key])));
    let cells = plan.inputs["x"].iter().zip(&simulator.inputs["x"]);
    assert!(
        cells.clone().count() == cycles && cells.flat_map(|(a, b)| a.iter().zip(b)).all(|(a, b)| near(a, b))
    );
}
