//! Inference and resumed training read states that outlive their windows, and static parameters, from a checkpoint.

mod support;

use std::path::Path;

use rml::{Columns, Elements, InferOptions, Source, StaticValue, Stream, TestSplit, TrainOptions};
use support::{code, column, source};

/// A moving average that only training updates, a sum that training and inference update, and one sum for each stacked
/// window.
const CENTRED: &str = "
node centred(x: num [batch], training: bool []) -> (y: num [batch], seen, each: num [batch])
  mean = 0.0 fby (if training then 0.9 * mean + 0.1 * sum(x) else mean);
  seen = 1.0 + (0.0 fby seen);
  each = x + (0.0 fby each);
  y = param(1.0) * x - mean;

node train(x: num [batch]) -> (loss, seen, each: num [batch])
  y, seen, each, _ = diff_centred(x, true, true, y * 0.0, 0.0, y * 0.0);
  loss = sum(y * y);

node infer(x: num [batch]) -> (y: num [batch], seen, each: num [batch])
  y, seen, each = centred(x, false);
";

fn values(values: &[f32]) -> Columns {
    let mut columns = Columns::default();
    columns.columns.insert("x".into(), column(&[values.len()], Elements::F32(values.to_vec())));
    columns
}

fn options(save: &Path) -> TrainOptions {
    TrainOptions {
        epochs: 1,
        batch: Some(1),
        shuffle: Some(false),
        test: Some(TestSplit::Count(0)),
        save: Some(save.to_path_buf()),
        ..TrainOptions::default()
    }
}

fn train(source: &Source, data: &Columns, options: &TrainOptions) {
    rml::train(source, data, options, &mut ()).unwrap_or_else(|e| panic!("{e}"));
}

/// An output over all windows.
fn output(options: InferOptions, data: &Columns, name: &str) -> Vec<f32> {
    let options = InferOptions { keep_outputs: true, ..options };
    let report = rml::infer(&source(CENTRED), data, &options).unwrap_or_else(|e| panic!("{e}"));
    match &report.outputs.unwrap().columns[name].elements {
        Elements::F32(v) => v.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn inference_goes_on_from_states_that_outlive_windows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    let x = [1.0_f32, -2.0, 4.0, 0.5];
    train(&source(CENTRED), &values(&x), &options(&path));
    let mean = x.iter().fold(0.0_f32, |mean, x| 0.9 * mean + 0.1 * x);

    let infer = InferOptions { batch: Some(1), ..InferOptions::new(&path) };
    let two = values(&[3.0, 5.0]);
    assert_eq!(output(infer.clone(), &two, "y"), [3.0 - mean, 5.0 - mean]);
    assert_eq!(output(infer.clone(), &two, "seen"), [5.0, 6.0], "four cycles of training before");
    assert_eq!(output(infer.clone(), &two, "each"), [3.0, 8.0], "a state of stacked windows restarts");
    let together = InferOptions { batch: Some(2), ..infer.clone() };
    assert_eq!(output(together, &two, "y"), [3.0 - mean, 5.0 - mean]);
    let fresh = InferOptions { fresh: true, ..infer.clone() };
    assert_eq!(output(fresh.clone(), &two, "seen"), [1.0, 2.0]);
    assert_eq!(output(fresh, &two, "y"), [3.0, 5.0]);
}

#[test]
fn a_stream_goes_on_from_the_same_states() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    train(&source(CENTRED), &values(&[10.0]), &options(&path));
    for (fresh, seen) in [(false, "2.0"), (true, "1.0")] {
        let options = InferOptions { fresh, ..InferOptions::new(&path) };
        let mut stream = Stream::new(&source(CENTRED), &options).unwrap();
        let line = stream.line("{\"x\": 3.0}").unwrap().join("\n");
        let y = if fresh { "3.0" } else { "2.0" };
        assert_eq!(line, format!("{{\"cycle\": 0, \"y\": {y}, \"seen\": {seen}, \"each\": 3.0}}"));
    }
}

#[test]
fn a_state_of_another_type_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    train(&source(CENTRED), &values(&[10.0]), &options(&path));
    let other = CENTRED.replace("seen = 1.0 + (0.0 fby seen);", "seen = 1 + (0 fby seen);");
    let refused = rml::infer(&source(&other), &values(&[1.0]), &InferOptions::new(&path));
    assert_eq!(code(refused), "checkpoint-mismatch");
    assert_eq!(code(Stream::new(&source(&other), &InferOptions::new(&path))), "checkpoint-mismatch");
    let fresh = InferOptions { fresh: true, ..InferOptions::new(&path) };
    assert!(rml::infer(&source(&other), &values(&[1.0]), &fresh).is_ok());
}

/// The static parameter scales the learned value.
const SCALED: &str = "
node line(gain, x: num []) -> (o)
  k = param(1.0);
  o = gain * k * x;

node train(gain, rate, x: num []) -> (loss)
  o, _, _ = diff_line(gain, x, true, rate * (1.0 - o));
  loss = (1.0 - o) * (1.0 - o);

node infer(gain, x: num []) -> (o)
  o = line(gain, x);
";

#[test]
fn static_parameters_are_recorded_and_used_again() {
    let dir = tempfile::tempdir().unwrap();
    let [whole, part] = ["whole", "part"].map(|n| dir.path().join(n));
    let data = values(&[1.0, -2.0, 0.5]);
    let set = |gain: f64| -> rml::Settings {
        [("gain".to_owned(), StaticValue::Num(gain)), ("rate".to_owned(), StaticValue::Num(0.1))].into()
    };
    let with = |path: &Path, epochs| TrainOptions { set: set(0.3), epochs, ..options(path) };
    train(&source(SCALED), &data, &with(&whole, 3));
    train(&source(SCALED), &data, &with(&part, 1));

    let rest = TrainOptions { epochs: 3, resume: Some(part.clone()), ..options(&part) };
    let other = TrainOptions { set: set(0.5), ..rest.clone() };
    let refused = rml::train(&source(SCALED), &data, &other, &mut ());
    assert_eq!(code(refused), "resume-mismatch");
    train(&source(SCALED), &data, &rest);
    assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&part).unwrap(), "settings left out are taken");

    let infer = |options: InferOptions| rml::infer(&source(SCALED), &data, &options).unwrap();
    let same = infer(InferOptions::new(&part));
    assert!(same.warnings.is_empty() && same.metrics["o"] != 0.0);
    let explicit = infer(InferOptions {
        set: [("gain".to_owned(), StaticValue::Num(0.3))].into(),
        ..InferOptions::new(&part)
    });
    assert_eq!((&same.metrics, explicit.warnings.is_empty()), (&explicit.metrics, true));
    let other = infer(InferOptions {
        set: [("gain".to_owned(), StaticValue::Num(0.6))].into(),
        ..InferOptions::new(&part)
    });
    let codes: Vec<_> = other.warnings.iter().map(|d| d.code.name).collect();
    assert_eq!(codes, ["setting-changed"]);
    assert!((other.metrics["o"] - 2.0 * same.metrics["o"]).abs() < 1e-6);
}
