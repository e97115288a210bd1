//! Training: it learns, its bits depend only on program, data and seed, and an interruption writes a checkpoint.

mod support;

use rml::{Checkpoint, Elements, InferOptions, Session, Split, TestSplit, TrainOptions, Validate, Value};
use support::{CLASSIFIER, Interrupter, MOMENTUM, code, column, data, options, source, train};

fn with_momentum() -> String {
    MOMENTUM.to_owned() + CLASSIFIER
}

#[test]
fn the_loss_falls_and_metrics_have_names() {
    let dir = tempfile::tempdir().unwrap();
    let report = train(CLASSIFIER, &data(60), &options(&dir.path().join("c"), 12));
    assert!(report.saved && !report.interrupted);
    let (first, last) = (&report.epochs[0], &report.epochs[11]);
    assert_eq!(first.train.keys().collect::<Vec<_>>(), ["loss", "accuracy"]);
    assert_eq!(first.test.keys().collect::<Vec<_>>(), ["loss", "accuracy"]);
    assert!(
        last.train["loss"] < 0.8 * first.train["loss"],
        "{} to {}",
        first.train["loss"],
        last.train["loss"]
    );
}

#[test]
fn same_seed_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|n| dir.path().join(n));
    train(CLASSIFIER, &data(23), &options(&a, 2));
    train(CLASSIFIER, &data(23), &options(&b, 2));
    train(CLASSIFIER, &data(23), &TrainOptions { seed: Some(1), ..options(&c, 2) });
    assert_eq!(std::fs::read(&a).unwrap(), std::fs::read(&b).unwrap());
    assert_ne!(std::fs::read(&a).unwrap(), std::fs::read(&c).unwrap());
}

/// The run is interrupted in the middle of an epoch, after a short batch, and at the end of an epoch.
#[test]
fn a_resumed_run_is_the_unbroken_run() {
    let dir = tempfile::tempdir().unwrap();
    let text = with_momentum();
    let [whole, part] = ["whole", "part"].map(|n| dir.path().join(n));
    // 19 windows are trained in batches of 4: five batches per epoch, the last one of 3. With windows of one to three
    // cycles, there are six or seven.
    let mut ragged = data(23);
    let lengths = (0..23).map(|w| 1 + w * w % 3).collect();
    ragged.columns.insert("lengths".into(), column(&[23], Elements::Int(lengths)));
    for data in [data(23), ragged] {
        let unbroken = train(&text, &data, &options(&whole, 3));
        for after in [1, 4, 5, 6, 7, 10, 12] {
            let mut observer = Interrupter::new(after);
            let first = TrainOptions { interrupt: Some(observer.flag.clone()), ..options(&part, 3) };
            let report = rml::train(&source(&text), &data, &first, &mut observer).unwrap();
            assert!(report.interrupted && report.saved, "after {after}");
            let rest = TrainOptions { resume: Some(part.clone()), ..options(&part, 3) };
            let rest = train(&text, &data, &rest);
            assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&part).unwrap(), "after {after}");
            for (a, b) in unbroken.epochs.iter().rev().zip(rest.epochs.iter().rev()) {
                assert_eq!((a.epoch, &a.train, &a.test), (b.epoch, &b.train, &b.test), "after {after}");
            }
        }
    }
}

/// A file that is edited during the training has no effect on it: the short batch at the end of an epoch is compiled
/// from the text that was read at the beginning.
#[test]
fn a_file_that_is_edited_meanwhile_changes_nothing() {
    struct Editing<'p>(&'p std::path::Path);
    impl rml::Observer for Editing<'_> {
        fn batch(&mut self, _: &rml::Progress<'_>) {
            std::fs::write(self.0, "this is no program").unwrap();
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let [file, whole, edited] = ["p.rml", "whole", "edited"].map(|n| dir.path().join(n));
    for (save, observer) in [(&whole, &mut () as &mut dyn rml::Observer), (&edited, &mut Editing(&file))] {
        std::fs::write(&file, CLASSIFIER).unwrap();
        rml::train(&rml::Source::file(&file), &data(23), &options(save, 2), observer).unwrap();
    }
    assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&edited).unwrap());
}

#[test]
fn more_epochs_later_are_more_epochs_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let [whole, part] = ["whole", "part"].map(|n| dir.path().join(n));
    train(CLASSIFIER, &data(23), &options(&whole, 3));
    train(CLASSIFIER, &data(23), &options(&part, 1));
    // Batch size, seed and split are read from the checkpoint.
    let rest = TrainOptions {
        epochs: 3,
        save: Some(part.clone()),
        resume: Some(part.clone()),
        ..TrainOptions::default()
    };
    train(CLASSIFIER, &data(23), &rest);
    assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&part).unwrap());
}

#[test]
fn checkpoints_hold_optimiser_states_by_path() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    train(&with_momentum(), &data(10), &options(&path, 1));
    let checkpoint = Checkpoint::read(&path).unwrap();
    let keys: Vec<&str> = checkpoint.states.keys().map(|k| &**k).collect();
    for name in ["classify_0.lstm_0.lstm_cell_0.kernel", "classify_0.dense_0.bias"] {
        assert!(keys.contains(&name), "{name} in {keys:?}");
        assert!(
            keys.iter().filter(|k| k.starts_with(name)).count() > 1,
            "the optimiser's state of {name} in {keys:?}"
        );
    }
}

#[test]
fn infer_gives_what_training_reported() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    let report = train(&with_momentum(), &data(40), &options(&path, 2));
    let infer = |options: InferOptions| rml::infer(&source(&with_momentum()), &data(40), &options).unwrap();
    let again = infer(InferOptions { keep_outputs: true, ..InferOptions::new(&path) });
    assert_eq!((again.split, again.windows), (Split::Test, 7));
    assert_eq!(again.metrics, report.epochs[1].test);
    let all = infer(InferOptions {
        split: Split::All,
        batch: Some(1),
        keep_outputs: true,
        ..InferOptions::new(&path)
    });
    let (some, all) = (again.outputs.unwrap(), all.outputs.unwrap());
    let (Elements::Int(windows), Elements::F32(logits), Elements::F32(singly)) =
        (&some.columns["window"].elements, &some.columns["logits"].elements, &all.columns["logits"].elements)
    else {
        panic!("windows are integers, logits numbers")
    };
    assert_eq!(some.columns["logits"].shape.dims(), [7, 3]);
    for (row, window) in windows.iter().enumerate() {
        let w = usize::try_from(*window).unwrap();
        let bits = |v: &[f32]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&logits[3 * row..3 * row + 3]), bits(&singly[3 * w..3 * w + 3]), "stacked or alone");
    }
    assert!(!some.columns.contains_key("accuracy") && all.columns.contains_key("accuracy"));
}

#[test]
fn other_data_is_run_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    train(CLASSIFIER, &data(20), &options(&path, 1));
    let other = rml::infer(&source(CLASSIFIER), &data(9), &InferOptions::new(&path)).unwrap();
    assert_eq!((other.split, other.windows), (Split::All, 9));
    let test = InferOptions { split: Split::Test, ..InferOptions::new(&path) };
    assert_eq!(code(rml::infer(&source(CLASSIFIER), &data(9), &test)), "no-test-split");
}

/// The last windows are for the test, and the windows before them for validation; training uses none of them. Inference
/// and resumed runs agree on the split.
#[test]
fn the_last_windows_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let [whole, part, other] = ["whole", "part", "other"].map(|n| dir.path().join(n));
    let last = |path: &std::path::Path, epochs| TrainOptions {
        test: Some(TestSplit::LastCount(7)),
        validate: Some(Validate::Split(TestSplit::LastShare(0.1))),
        ..options(path, epochs)
    };
    let report = train(CLASSIFIER, &data(40), &last(&whole, 2));
    let ran = |split| {
        let options = InferOptions { split, keep_outputs: true, ..InferOptions::new(&whole) };
        let report = rml::infer(&source(CLASSIFIER), &data(40), &options).unwrap();
        let Elements::Int(windows) = &report.outputs.as_ref().unwrap().columns["window"].elements else {
            panic!("windows are integers")
        };
        (windows.clone(), report.metrics)
    };
    assert_eq!(ran(Split::Train).0, (0..29).collect::<Vec<_>>());
    assert_eq!(ran(Split::Validation), ((29..33).collect(), report.epochs[1].validation.clone()));
    assert_eq!(ran(Split::Auto), ((33..40).collect(), report.epochs[1].test.clone()));

    // Other values in the windows for validation and test change no bit of the training.
    let mut changed = data(40);
    for column in changed.columns.values_mut() {
        let size = column.elements.len() / 40;
        match &mut column.elements {
            Elements::F32(of) => of[29 * size..].iter_mut().for_each(|x| *x += 1.0),
            Elements::Int(of) => of[29 * size..].fill(0),
            _ => {}
        }
    }
    train(CLASSIFIER, &changed, &last(&other, 2));
    let states = |path| Checkpoint::read(path).unwrap().states;
    let learned = states(&other);
    assert!(states(&whole).iter().all(|(key, value)| value.same(&learned[key])));

    train(CLASSIFIER, &data(40), &last(&part, 1));
    let resume = TrainOptions { resume: Some(part.clone()), ..options(&part, 2) };
    for (test, values) in [
        (TestSplit::Count(7), "another choice of test windows\n  note: expected last:7, found 7"),
        (TestSplit::LastCount(6), "another number of test windows\n  note: expected last:7, found last:6"),
    ] {
        let options = TrainOptions { test: Some(test), ..resume.clone() };
        let error = rml::train(&source(CLASSIFIER), &data(40), &options, &mut ()).unwrap_err();
        assert!(error.to_string().contains(values), "{values} in {error}");
    }
    train(CLASSIFIER, &data(40), &TrainOptions { test: Some(TestSplit::LastCount(7)), ..resume });
    assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&part).unwrap());
    for bad in [TestSplit::LastCount(40), TestSplit::LastShare(1.0), TestSplit::LastShare(f64::NAN)] {
        let options = TrainOptions { test: Some(bad), ..options(&other, 1) };
        assert_eq!(code(rml::train(&source(CLASSIFIER), &data(40), &options, &mut ())), "bad-option");
    }
}

#[test]
fn a_run_cannot_go_on_under_other_conditions() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    train(CLASSIFIER, &data(20), &TrainOptions { seed: Some(3), ..options(&path, 1) });
    let resume = TrainOptions { resume: Some(path.clone()), save: None, ..options(&path, 2) };
    let attempt =
        |data: &rml::Columns, options: TrainOptions| rml::train(&source(CLASSIFIER), data, &options, &mut ());
    assert!(attempt(&data(20), TrainOptions { seed: Some(3), ..resume.clone() }).is_ok());
    let set = |n| [("batch".to_owned(), rml::StaticValue::Int(n))].into();
    assert!(attempt(&data(20), TrainOptions { batch: None, set: set(4), ..resume.clone() }).is_ok());
    for (options, values) in [
        (TrainOptions { seed: Some(4), ..resume.clone() }, "expected 3, found 4"),
        // A value that is the default of a new run is still compared if it is given here.
        (TrainOptions { seed: Some(0), ..resume.clone() }, "expected 3, found 0"),
        (TrainOptions { batch: Some(5), ..resume.clone() }, "expected 4, found 5"),
        (TrainOptions { batch: None, set: set(5), ..resume.clone() }, "expected 4, found 5"),
        (TrainOptions { test: Some(TestSplit::Count(1)), ..resume.clone() }, "expected 3, found 1"),
        (
            TrainOptions { shuffle: Some(false), ..resume.clone() },
            "expected shuffled, found that of the data",
        ),
        (TrainOptions { precision: rml::Precision::F64, ..resume.clone() }, "expected f32, found f64"),
        (TrainOptions { node: Some("infer".into()), ..resume.clone() }, "expected train, found infer"),
        (TrainOptions { epochs: 0, ..resume.clone() }, "expected more than 1 epochs, found 0"),
    ] {
        let error = attempt(&data(20), options).unwrap_err();
        assert_eq!(error.code().unwrap().name, "resume-mismatch");
        assert!(error.to_string().contains(values), "{values} in {error}");
    }
    let two = TrainOptions { seed: Some(1), shuffle: Some(false), ..resume.clone() };
    assert_eq!(attempt(&data(20), two).unwrap_err().diagnostics().iter().count(), 2, "all are told at once");
    assert_eq!(code(attempt(&data(21), resume.clone())), "resume-mismatch");
    let mut changed = data(20);
    changed.columns["y"].elements = Elements::Int(vec![0; 20]);
    let mut observer = Interrupter::new(0);
    rml::train(&source(CLASSIFIER), &changed, &resume, &mut observer).unwrap();
    rml::train(&source(&(CLASSIFIER.to_owned() + "-- changed")), &data(20), &resume, &mut observer).unwrap();
    assert_eq!(observer.warnings, ["data-changed", "program-changed"]);
}

#[test]
fn a_checkpoint_of_another_program_is_named_in_full() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    train(CLASSIFIER, &data(20), &options(&path, 1));
    let other = CLASSIFIER.replace("lstm(4, x)", "gru(4, x)").replace("dense(3, ", "dense(3, 2.0 * ");
    let e = rml::infer(&source(&other), &data(20), &InferOptions::new(&path)).unwrap_err();
    let text = e.to_string();
    assert_eq!(e.code().unwrap().name, "checkpoint-mismatch");
    for line in
        ["missing there: `classify_0.gru_0.kernel`: num [2, 12]", "missing there: `classify_0.gru_0.bias`"]
    {
        assert!(text.contains(line), "{line} in {text}");
    }
    let wider = CLASSIFIER.replace("lstm(4, x)", "lstm(5, x)");
    let resume = TrainOptions { resume: Some(path.clone()), ..options(&path, 2) };
    let text = rml::train(&source(&wider), &data(20), &resume, &mut ()).unwrap_err().to_string();
    let line = "of another type there: `classify_0.lstm_0.lstm_cell_0.kernel`: expected num [2, 20] (f32), found num [2, 16] (f32)";
    assert!(text.contains(line), "{text}");
}

/// The error is reported for any batch size and number of windows of the other run.
#[test]
fn a_checkpoint_of_another_program_is_called_that() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    train(CLASSIFIER, &data(20), &options(&path, 1));
    let line = "node model(x: num []) -> (o) o = param(0.0) * x;
                node train(x: num [], y: num []) -> (loss: num [])
                  o, _ = diff_model(x, true, do); loss = (o - y) * (o - y); do = -0.1 * (o - y);";
    let points = rml::Columns::parse(b"x,y\n1.0,2.0\n2.0,4.0\n3.0,6.0\n", rml::Format::Csv, "").unwrap();
    let resume = TrainOptions {
        resume: Some(path.clone()),
        batch: None,
        test: Some(TestSplit::Count(0)),
        ..options(&path, 2)
    };
    let e = rml::train(&source(line), &points, &resume, &mut ()).unwrap_err();
    assert_eq!(e.code().unwrap().name, "checkpoint-mismatch", "{e}");
    assert!(e.to_string().contains("missing there: `model_0"), "{e}");
}

#[test]
fn damaged_checkpoints_and_wrong_options_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    train(CLASSIFIER, &data(20), &options(&path, 1));
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(
        code(rml::infer(&source(CLASSIFIER), &data(20), &InferOptions::new(&path))),
        "malformed-checkpoint"
    );
    let none = dir.path().join("none");
    assert_eq!(
        code(rml::infer(&source(CLASSIFIER), &data(20), &InferOptions::new(&none))),
        "unreadable-file"
    );
    let attempt = |options: TrainOptions| code(rml::train(&source(CLASSIFIER), &data(20), &options, &mut ()));
    assert_eq!(attempt(options(&dir.path().join("no/such"), 1)), "unwritable-file");
    let base = TrainOptions::default;
    assert_eq!(attempt(TrainOptions { test: Some(TestSplit::Count(20)), ..base() }), "bad-option");
    assert_eq!(attempt(TrainOptions { test: Some(TestSplit::Share(1.5)), ..base() }), "bad-option");
    assert_eq!(attempt(TrainOptions { batch: Some(0), ..base() }), "bad-option");
}

const CARRIED: &str = "
node train(x: num [batch]) -> (total: num [])
  s = x + (0.0 fby s);
  total = sum(s);
";

#[test]
fn a_state_of_the_batch_needs_batches_of_one_size() {
    let mut columns = rml::Columns::default();
    columns.columns.insert("x".into(), column(&[5], Elements::F32(vec![1.0; 5])));
    let options = TrainOptions {
        test: Some(TestSplit::Count(0)),
        epochs: 1,
        batch: Some(2),
        ..TrainOptions::default()
    };
    let e = rml::train(&source(CARRIED), &columns, &options, &mut ()).unwrap_err();
    assert_eq!(e.code().unwrap().name, "batch-state");
    assert!(e.to_string().contains("in window 0 of the data"), "{e}");
    let divides = TrainOptions { batch: Some(5), epochs: 2, ..options };
    for (keep_states, total) in [(false, 5.0), (true, 10.0)] {
        let divides = TrainOptions { keep_states, ..divides.clone() };
        let report = rml::train(&source(CARRIED), &columns, &divides, &mut ()).unwrap();
        assert_eq!(
            report.epochs[1].train["total"], total,
            "the state continues from epoch to epoch if it is kept"
        );
    }
}

#[test]
fn nodes_that_cannot_stack_say_so() {
    let text = "node train(x: num []) -> (o: num []) o = x;";
    let mut columns = rml::Columns::default();
    columns.columns.insert("x".into(), column(&[4], Elements::F32(vec![1.0, 2.0, 3.0, 6.0])));
    let options = TrainOptions { test: Some(TestSplit::Count(0)), epochs: 1, ..TrainOptions::default() };
    let report = rml::train(&source(text), &columns, &options, &mut ()).unwrap();
    assert_eq!(report.epochs[0].train["o"], 3.0);
    let stacked = TrainOptions { batch: Some(2), ..options };
    assert_eq!(code(rml::train(&source(text), &columns, &stacked, &mut ())), "no-batch-dimension");
}

#[test]
fn look_ahead_beyond_a_window_is_explained() {
    let text = "node train(x: num []) -> (o: num []) o = post x;";
    let mut columns = rml::Columns::default();
    columns.columns.insert("x".into(), column(&[2, 3], Elements::F32(vec![1.0; 6])));
    let options = TrainOptions { test: Some(TestSplit::Count(0)), epochs: 1, ..TrainOptions::default() };
    let e = rml::train(&source(text), &columns, &options, &mut ()).unwrap_err();
    assert_eq!(e.code().unwrap().name, "window-incomplete");
    assert!(!e.diagnostics().0[0].labels.is_empty(), "{e}");
}

#[test]
fn a_session_trains_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    train(CLASSIFIER, &data(20), &options(&path, 1));
    let options = rml::Options { node: Some("train".into()), batch: Some(1), ..rml::Options::default() };
    let program = rml::compile(&source(CLASSIFIER), &options).unwrap();
    let mut session = Session::new(&program);
    session.load(&path).unwrap();
    let before = session.states().unwrap();
    for t in 0..3 {
        let y: Option<[i64; 1]> = (t == 2).then_some([1]);
        let out = session
            .step([("x", [[0.5_f32, -0.5]].into()), ("end", (t == 2).into()), ("y", y.into())])
            .unwrap();
        assert_eq!(out.len(), 1);
        assert_eq!(out[0].num("loss").is_some(), t == 2);
    }
    session.save(&path).unwrap();
    let after = Checkpoint::read(&path).unwrap().states;
    let changed = |(key, value): (&std::sync::Arc<str>, &Value)| !after[key].same(value);
    assert!(before.iter().any(changed));
    assert_eq!(before.len(), after.len());
}

#[test]
fn outputs_that_need_a_missing_column_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.safetensors");
    train(CLASSIFIER, &data(20), &options(&path, 1));
    let keep = InferOptions { keep_outputs: true, split: Split::All, ..InferOptions::new(&path) };
    let full = rml::infer(&source(CLASSIFIER), &data(20), &keep).unwrap();
    let mut unlabelled = data(20);
    unlabelled.columns.shift_remove("y");
    let report = rml::infer(&source(CLASSIFIER), &unlabelled, &keep).unwrap();
    assert!(report.metrics.is_empty());
    let (got, expected) = (report.outputs.unwrap(), full.outputs.unwrap());
    assert_eq!(got.columns["logits"], expected.columns["logits"]);
    let warning = report.warnings.iter().find(|d| d.code.name == "missing-column").expect("a warning");
    assert!(warning.to_string().contains("`loss`, `accuracy`"), "{warning}");
    unlabelled = data(20);
    unlabelled.columns.shift_remove("x");
    assert_eq!(code(rml::infer(&source(CLASSIFIER), &unlabelled, &keep)), "missing-column");
}

#[test]
fn training_that_diverges_stops_and_keeps_the_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.safetensors");
    train(CLASSIFIER, &data(20), &options(&path, 1));
    let before = std::fs::read(&path).unwrap();
    let wild = CLASSIFIER.replace("true, -0.5", "true, -1e38");
    assert_eq!(code(rml::train(&source(&wild), &data(20), &options(&path, 3), &mut ())), "diverged");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}
