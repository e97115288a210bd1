//! Trainings with shards: what they report, what they save, and how they continue.

mod support;

use rml::{Checkpoint, Columns, Criterion, Evaluate, TestSplit, TrainOptions, Value};
use support::{CLASSIFIER, Interrupter, code, data, options, source, train};

/// The classifier with random numbers, and a state that continues from window to window.
fn rich() -> String {
    let with = CLASSIFIER
        .replace("lstm(4, x) every end", "lstm(4, x)")
        .replace("diff_classify(x, end, true, dlogits)", "diff_classify(x, end, true, dlogits) every end")
        .replace("logits = classify(x, end)", "logits = classify(x, end) every end")
        .replace("logits = dense(3, h when end)", "logits = dense(3, dropout(0.2, h when end, true))")
        .replace(
            "accuracy: num [] when end)\n  logits, _ = diff",
            "accuracy: num [] when end, seen: num [])\n  logits, _ = diff",
        )
        .replace("-0.5);\n", "-0.5);\n  seen = 0.0 fby 0.9 * seen + mean(x);\n");
    assert_ne!(with, CLASSIFIER);
    format!(
        "import std.optimisers;\n{with}\nnode diff_param(init, bp, do) -> (o)\n  o = adam(0.05, 0.9, 0.999, 0.00000001, init, bp, clip_global(1.0, bp, do));\n"
    )
}

fn sharded(save: &std::path::Path, epochs: u64, shards: usize) -> TrainOptions {
    TrainOptions {
        batch: Some(10),
        shards: Some(shards),
        evaluate: Evaluate::Nothing,
        stats: true,
        ..options(save, epochs)
    }
}

#[test]
fn a_training_with_one_shard_is_one_without() {
    let dir = tempfile::tempdir().unwrap();
    let [one, none] = ["one", "none"].map(|n| dir.path().join(n));
    train(CLASSIFIER, &data(23), &TrainOptions { shards: Some(1), ..options(&one, 2) });
    train(CLASSIFIER, &data(23), &options(&none, 2));
    assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&none).unwrap());
}

/// An interruption after each batch of the first epochs, and the rest at once: the bits of a training in one go.
#[test]
fn a_training_that_continues_has_the_same_bits() {
    let (dir, text, data) = (tempfile::tempdir().unwrap(), rich(), data(47));
    for shards in [2, 3, 12] {
        let [whole, part] = ["whole", "part"].map(|n| dir.path().join(format!("{n}{shards}")));
        train(&text, &data, &sharded(&whole, 3, shards));
        for after in 0..7 {
            let mut observer = Interrupter::new(1);
            let resume = (after > 0).then(|| part.clone());
            // The number of shards is that of the checkpoint.
            let shards = resume.is_none().then_some(shards);
            let interrupt = Some(std::sync::Arc::clone(&observer.flag));
            let options = TrainOptions { resume, shards, interrupt, ..sharded(&part, 3, 1) };
            rml::train(&source(&text), &data, &options, &mut observer).unwrap();
        }
        let rest = TrainOptions { resume: Some(part.clone()), shards: None, ..sharded(&part, 3, 1) };
        train(&text, &data, &rest);
        assert!(std::fs::read(&whole).unwrap() == std::fs::read(&part).unwrap(), "{shards} shards");
    }
}

/// Keeps all versions of a checkpoint that it sees in the middle of a training.
struct Versions {
    file: std::path::PathBuf,
    seen: Vec<Vec<u8>>,
}

impl rml::Observer for Versions {
    fn batch(&mut self, _: &rml::Progress<'_>) {
        let Ok(bytes) = std::fs::read(&self.file) else { return };
        if self.seen.last() != Some(&bytes) {
            self.seen.push(bytes);
        }
    }
}

/// A checkpoint that is written in the middle of an epoch or report continues with the bits of a training in one go,
/// with windows of data and with those that the node makes itself.
#[test]
fn checkpoints_after_some_steps_continue() {
    let (dir, text, data) = (tempfile::tempdir().unwrap(), rich(), data(47));
    let length = rml::Length { windows: Some(7), report: Some(4), ..rml::Length::default() };
    let own = std::fs::read_to_string("../../examples/cartpole.rml").unwrap();
    for (shards, length) in [(1, None), (3, None), (1, Some(length.clone())), (2, Some(length))] {
        let text = if length.is_some() { &own } else { &text };
        let of = if length.is_some() { "own" } else { "data" };
        let [whole, part] = ["whole", "part"].map(|n| dir.path().join(format!("{n} {of} {shards}")));
        let batch = length.is_none().then_some(10);
        let asked = TrainOptions { batch, length, ..sharded(&whole, 2, shards) };
        train(text, &data, &TrainOptions { save_every: rml::SaveEvery::Epochs(0), ..asked.clone() });
        let end = std::fs::read(&whole).unwrap();
        let mut versions = Versions { file: part.clone(), seen: Vec::new() };
        let asked = TrainOptions { save: Some(part.clone()), save_every: rml::SaveEvery::Steps(3), ..asked };
        rml::train(&source(text), &data, &asked, &mut versions).unwrap();
        assert!(std::fs::read(&part).unwrap() == end, "{shards} shards: saving changes nothing");
        assert!(!versions.seen.is_empty(), "{shards} shards: nothing was saved on the way");
        for version in versions.seen {
            std::fs::write(&part, version).unwrap();
            train(text, &data, &TrainOptions { resume: Some(part.clone()), ..asked.clone() });
            assert!(std::fs::read(&part).unwrap() == end, "{shards} shards");
        }
    }
}

#[test]
fn shards_have_states_of_their_own() {
    let (dir, text) = (tempfile::tempdir().unwrap(), rich());
    let file = dir.path().join("c");
    train(&text, &data(47), &sharded(&file, 1, 4));
    let bytes = std::fs::read(&file).unwrap();
    let head = String::from_utf8_lossy(&bytes);
    for shard in 1..4 {
        assert!(head.contains(&format!("\"shards.{shard}.seen\"")), "{head}");
    }
    // All commands read the states of the first one.
    let checkpoint = Checkpoint::read(&file).unwrap();
    assert!(checkpoint.states.keys().all(|key| !key.starts_with("shards.")));
    assert!(checkpoint.states.contains_key("seen"));
    rml::infer(&source(&text), &data(47), &rml::InferOptions::new(&file)).unwrap();
    let position = checkpoint.position.unwrap();
    assert_eq!((position.setup.batch, position.setup.shards), (10, 4));
}

/// DRAW-5: shards draw different numbers, the first one those of a training without shards.
#[test]
fn shards_draw_different_numbers() {
    let text = "node train(x: num [], end: bool []) -> (u: num [] when end)  u = random_uniform([]) when end;
node f(x: num []) -> (o)  k = param(0.0);  o = k * x;";
    let dir = tempfile::tempdir().unwrap();
    let mut data = Columns::default();
    let x = rml::Elements::F32(vec![0.0; 8]);
    data.columns.insert("x".into(), support::column(&[8], x));
    let mean = |shards: usize, windows: usize| {
        let batch = Some(shards);
        let options = TrainOptions {
            batch,
            shards: Some(shards),
            test: Some(TestSplit::Count(8 - windows)),
            ..options(&dir.path().join("c"), 1)
        };
        train(text, &data, &options).epochs[0].train["u"]
    };
    let (first, both) = (mean(1, 1), mean(2, 2));
    let second = 2.0 * both - first;
    assert!((0.0..1.0).contains(&second) && (second - first).abs() > 1e-3, "{first} and {second}");
}

/// Averages over all windows, whatever their number in a shard; the best epoch is found by them.
#[test]
fn metrics_are_those_of_all_windows() {
    let dir = tempfile::tempdir().unwrap();
    let of = |shards: usize| {
        let criterion = Criterion { metric: "train.loss".to_owned(), direction: None };
        let options = TrainOptions {
            batch: Some(10),
            shards: Some(shards),
            criterion: Some(criterion),
            best: Some(dir.path().join(format!("best{shards}"))),
            patience: Some(2),
            stats: true,
            ..options(&dir.path().join(format!("c{shards}")), 4)
        };
        train(CLASSIFIER, &data(47), &options)
    };
    let whole = of(1);
    for shards in [2, 3, 8] {
        let parts = of(shards);
        assert_eq!(parts.epochs.len(), whole.epochs.len());
        for (a, b) in whole.epochs.iter().zip(&parts.epochs) {
            for (a, b) in [(&a.train, &b.train), (&a.test, &b.test)] {
                assert!(a.keys().eq(b.keys()));
                a.iter()
                    .for_each(|(name, x)| assert!((x - b[name]).abs() < 1e-4, "{name}: {x}, {}", b[name]));
            }
            assert!(!a.gradients.is_empty());
            for (key, x) in &a.gradients {
                let y = b.gradients[key];
                assert!((x - y).abs() <= 1e-4 * x, "{key}: {x} and {y}");
            }
        }
        let [a, b] = [&whole, &parts].map(|report| report.best.clone().expect("there is a loss"));
        assert_eq!((a.epoch, &a.metric), (b.epoch, &b.metric));
    }
}

#[test]
fn another_number_of_shards_does_not_continue() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("c");
    train(CLASSIFIER, &data(23), &sharded(&file, 1, 2));
    let other = TrainOptions { resume: Some(file.clone()), ..sharded(&file, 2, 4) };
    assert_eq!(code(rml::train(&source(CLASSIFIER), &data(23), &other, &mut ())), "resume-mismatch");
    let none = TrainOptions { shards: Some(0), ..options(&file, 1) };
    assert_eq!(code(rml::train(&source(CLASSIFIER), &data(23), &none, &mut ())), "bad-option");
    let free = "node square() -> (o)  k = param(1.0);  o = k * k;  node train() -> (loss)  loss = diff_square(true, -0.1);";
    let length = Some(rml::Length { windows: Some(3), ..rml::Length::default() });
    let free_options = TrainOptions { length, shards: Some(2), batch: Some(1), ..options(&file, 1) };
    // Each shard has an environment, so one environment is not enough for two.
    assert_eq!(code(rml::train(&source(free), &Columns::default(), &free_options, &mut ())), "bad-option");
}

/// Windows of different lengths, more shards than windows, and a node that stacks none.
#[test]
fn few_windows_and_windows_of_several_lengths() {
    let dir = tempfile::tempdir().unwrap();
    let text = "import std.layers;
node net(x: num [1]) -> (o: num [1])  o = dense(1, gru(2, x));
node train(x: num [1], y: num [1], end: bool []) -> (loss)
  o, _ = diff_net(x, true, 0.1 * (y - o)) every end;  loss = sum((y - o) * (y - o));";
    let lists = r#"{"x": [[[1.0], [2.0]], [[3.0]], [[1.0], [0.5], [2.0]], [[0.1], [0.2]], [[0.7]]],
 "y": [[[1.0], [2.0]], [[3.0]], [[1.0], [0.5], [2.0]], [[0.1], [0.2]], [[0.7]]]}"#;
    let data = Columns::parse(lists.as_bytes(), rml::Format::Json, "lists").unwrap();
    let states = |shards: usize| -> Vec<(std::sync::Arc<str>, Value)> {
        let file = dir.path().join(format!("c{shards}"));
        let options = TrainOptions {
            batch: None,
            shards: Some(shards),
            test: Some(TestSplit::Count(0)),
            ..options(&file, 3)
        };
        let report = train(text, &data, &options);
        assert_eq!(report.epochs.len(), 3);
        Checkpoint::read(&file).unwrap().states.into_iter().collect()
    };
    // A batch has windows of one length: at most two here, so all shards after the second have none.
    let (two, eight) = (states(2), states(8));
    for ((key, a), (_, b)) in two.iter().zip(&eight) {
        assert!(a.same_bits(b), "{key}: {a:?} and {b:?}");
    }
}
