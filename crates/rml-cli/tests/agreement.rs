//! The examples on every backend: the same losses over the first windows, the same final accuracy, and checkpoints that
//! one backend writes and another reads.
//!
//! `RML_TEST_BACKENDS=cpu,xla,torch` names the backends; a backend that does not open is a failure. Without the
//! variable, only the embedded backend is tested, whose bits are those of the evaluation of each operator.

mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rml::backend;
use rml::{Columns, Engine, Observer, Progress, Source, TrainOptions, train};
use support::{Folder, Run};

/// How far losses may differ, relative to the larger one (at least 0.1), after a hundred updates with rounding.
const NEAR: f64 = 2e-3;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().expect("the examples")
}

fn names() -> Vec<String> {
    let asked = std::env::var("RML_TEST_BACKENDS").unwrap_or_else(|_| "cpu".to_owned());
    asked.split(',').map(str::to_owned).collect()
}

/// `rml` with the libraries of the backends that this test can open.
fn rml(folder: &Folder, args: &str) -> Run {
    match std::env::var("RML_BACKENDS") {
        Ok(place) => folder.rml_where(&[("RML_BACKENDS", &place)], args),
        Err(_) => folder.rml(args),
    }
}

/// How many windows are compared: a hundred, or ten if only the embedded backend is tested.
fn first() -> usize {
    if names() == ["cpu"] { 10 } else { 100 }
}

/// The engines on a backend: the simulator and plans.
fn opened(name: &str) -> [(&'static str, Engine); 2] {
    let opened = backend::open(name, &backend::Options::default()).unwrap_or_else(|e| panic!("{e}"));
    [("sim", Engine::simulator_on(Arc::clone(&opened))), ("plan", Engine::plan_on(opened))]
}

/// The loss of each of the first windows, or batches of windows.
struct Losses {
    losses: Vec<f64>,
    before: (usize, f64),
    stop: Arc<AtomicBool>,
}

impl Observer for Losses {
    fn batch(&mut self, progress: &Progress<'_>) {
        let average = progress.metrics.get("loss").copied().unwrap_or(f64::NAN);
        let (windows, total) = (progress.windows, average * progress.windows as f64);
        let (windows_before, total_before) = if windows > self.before.0 { self.before } else { (0, 0.0) };
        self.losses.push((total - total_before) / (windows - windows_before) as f64);
        self.before = (windows, total);
        if self.losses.len() == first() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

fn losses(program: &str, data: &str, engine: Engine) -> Vec<f64> {
    let examples = examples();
    let source = Source::file(examples.join(program));
    let columns = Columns::read(examples.join("data").join(data)).unwrap_or_else(|e| panic!("{e}"));
    let stop = Arc::new(AtomicBool::new(false));
    let options =
        TrainOptions { epochs: 1000, engine, interrupt: Some(Arc::clone(&stop)), ..Default::default() };
    let mut observer = Losses { losses: Vec::new(), before: (0, 0.0), stop };
    train(&source, &columns, &options, &mut observer).unwrap_or_else(|e| panic!("{e}"));
    observer.losses
}

fn far(a: f64, b: f64) -> bool {
    (a - b).abs() > NEAR * a.abs().max(b.abs()).max(0.1)
}

#[test]
fn training_agrees_over_the_first_windows() {
    let programs = [
        ("digits.rml", "digits.npz"),
        ("digits_gru.rml", "digits.npz"),
        ("forecast.rml", "forecast.npz"),
        ("bidirectional.rml", "same_ends.npz"),
        ("batchnorm.rml", "rings.npz"),
        ("experts.rml", "pieces.npz"),
        ("pipeline.rml", "rings.npz"),
        ("nested.rml", "sequences.npz"),
    ];
    for (program, data) in programs {
        let plain = losses(program, data, Engine::simulator());
        assert!(plain.len() >= first(), "{program}: {} windows", plain.len());
        for name in names() {
            for (how, engine) in opened(&name) {
                let found = losses(program, data, engine);
                if (name.as_str(), how) == ("cpu", "sim") {
                    assert_eq!(found, plain, "{program} on {name}");
                }
                assert_eq!(found.len(), plain.len(), "{program} on {name}, {how}");
                let apart = plain.iter().zip(&found).position(|(a, b)| far(*a, *b));
                if let Some(n) = apart {
                    panic!("{program} on {name}, {how}: window {n}: {} but {}", found[n], plain[n]);
                }
            }
        }
    }
}

#[test]
fn runs_agree_cycle_by_cycle() {
    let programs = [
        ("descent", "descent.csv", "train"),
        ("descent", "descent.csv", "train_pipe"),
        ("late_labels", "late.csv", "train"),
        ("characters", "characters.csv", "train"),
    ];
    let examples = examples();
    let examples = examples.display();
    for (program, data, node) in programs {
        let run = |flags: &str| {
            let rest = format!("--node {node} --format csv --cycles {} {flags}", first());
            let command = format!("run {examples}/{program}.rml --inputs {examples}/data/{data} {rest}");
            rml(&Folder::new(), &command).ok()
        };
        let plain = run("");
        for name in names() {
            let found = run(&format!("--backend {name}"));
            assert_eq!(found.lines().count(), plain.lines().count(), "{program} on {name}");
            for (a, b) in plain.split([',', '\n']).zip(found.split([',', '\n'])) {
                let same = match (a.parse::<f64>(), b.parse::<f64>()) {
                    (Ok(a), Ok(b)) => !far(a, b),
                    _ => a == b,
                };
                assert!(same, "{program}, {node} on {name}: {b} but {a}");
            }
        }
    }
}

/// The value of a metric at the end of a training.
fn metric(out: &str, name: &str) -> f64 {
    let value = out.lines().rev().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no `{name}` in {out}"))
}

#[test]
fn digits_end_with_the_same_accuracy() {
    let examples = examples();
    let examples = examples.display();
    let epochs = first() / 8;
    let accuracy = |flags: &str| {
        let command = format!(
            "train {examples}/digits.rml --data {examples}/data/digits.npz --epochs {epochs} {flags}"
        );
        metric(&rml(&Folder::new(), &command).ok(), "test accuracy")
    };
    let plain = accuracy("");
    for name in names() {
        let found = accuracy(&format!("--backend {name}"));
        assert!((found - plain).abs() <= 0.01, "{name}: {found} but {plain}");
    }
}

/// Trains one epoch on one backend and one on another; runs inference on all.
#[test]
fn checkpoints_go_from_one_backend_to_another() {
    let examples = examples();
    let examples = examples.display();
    let (program, data) = (format!("{examples}/digits.rml"), format!("{examples}/data/digits.npz"));
    let all = names();
    for (i, name) in all.iter().enumerate() {
        let other = &all[(i + 1) % all.len()];
        let folder = Folder::new();
        let train = |flags: &str| rml(&folder, &format!("train {program} --data {data} {flags}")).ok();
        train(&format!("--epochs 1 --save half.safetensors --backend {name}"));
        let resumed = train(&format!(
            "--epochs 2 --resume half.safetensors --save whole.safetensors --backend {other}"
        ));
        let whole = train("--epochs 2 --save plain.safetensors");
        let (a, b) = (metric(&resumed, "test loss"), metric(&whole, "test loss"));
        assert!(!far(a, b), "{name}, then {other}: {a} but {b}");
        for reader in &all {
            let infer = format!(
                "infer {program} --params whole.safetensors --data {data} --split test --backend {reader}"
            );
            let accuracy = metric(&rml(&folder, &infer).ok(), "test accuracy");
            assert!((accuracy - metric(&resumed, "test accuracy")).abs() <= 0.01, "{reader}: {accuracy}");
        }
    }
}
