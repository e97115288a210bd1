//! Training and inference by plan: what the simulator gives, up to the order of sums; its errors; its checkpoints.

mod support;

use std::path::Path;

use rml::{Checkpoint, Data, Engine, EpochSummary, InferOptions, Session, TrainOptions, Value};
use support::{CLASSIFIER, code, data, options, source, train};

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
    // The bits of a run by plan are those of one that was interrupted.
    run(Engine::plan(), 4, None, &path("whole"));
    run(Engine::plan(), 2, None, &path("half"));
    run(Engine::plan(), 4, Some(&path("half")), &path("rest"));
    let bytes = |name: &str| std::fs::read(path(name)).unwrap();
    assert!(bytes("whole") == bytes("rest"), "the checkpoints differ");
    let infer = |engine: Engine| {
        let options = InferOptions { params: Some(path("whole")), engine, ..InferOptions::default() };
        rml::infer(&source(CLASSIFIER), &data, &options).unwrap()
    };
    let (plan, simulator) = (infer(Engine::plan()), infer(Engine::simulator()));
    assert!(plan.metrics.iter().zip(&simulator.metrics).all(|((k, x), (l, y))| k == l && close(*x, *y)));
    assert!(Checkpoint::read(&path("rest")).is_ok());
}

/// Counts the elements that were positive, and adds up a product that may not fit.
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
        "node main(x: num []) -> (o) o = post x;",
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
