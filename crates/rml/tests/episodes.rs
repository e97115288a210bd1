//! Training without data: nodes whose environment is a node, and whose windows end where they say.

mod support;

use std::path::Path;

use rml::{Checkpoint, Columns, Engine, Evaluate, Source, TrainOptions, TrainReport};
use support::{code, source};

/// A walk to one side, in episodes that end where it has come far enough. What is learned is how far the steps bring it.
const WALK: &str = "
node value(x: num [1]) -> (v: num [1])
  v = param(zeros([1])) * x + param(zeros([1]));

node rest(v: num [1]) -> (g: num [1])
  g = 0.25 + (zeros([1]) fby back g) + 0.0 * v;

node train() -> (steps: num [], gap: num [])
  at = 0.0 fby (if end then 0.0 else at + random_uniform([]));
  end = at > 3.0;
  v, _ = diff_value([at], true, 0.01 * (g - v)) every end;
  g = rest(v) every end;
  gap = abs(g[0] - v[0]);
  n = 0.0 fby (if end then 0.0 else n + 1.0);
  steps = n;
";

fn options(engine: Engine, save: Option<&Path>, epochs: u64) -> TrainOptions {
    TrainOptions {
        cycles: Some(100),
        epochs,
        evaluate: Evaluate::Nothing,
        save: save.map(Path::to_owned),
        engine,
        ..TrainOptions::default()
    }
}

fn train(source: &Source, options: &TrainOptions) -> Result<TrainReport, rml::Error> {
    rml::train(source, &Columns::default(), options, &mut ())
}

fn metrics(report: &TrainReport) -> Vec<(String, f64)> {
    let last = report.epochs.last().expect("an epoch");
    last.train.iter().map(|(name, value)| (name.clone(), *value)).collect()
}

/// Metrics and states agree but for the order in which sums are taken.
fn agree(a: &[(String, f64)], b: &[(String, f64)]) {
    assert_eq!(a.len(), b.len());
    for ((name, a), (other, b)) in a.iter().zip(b) {
        assert!(name == other && (a - b).abs() <= 1e-4 * (1.0 + a.abs()), "{name}: {a} and {b}");
    }
}

#[test]
fn episodes_are_trained_by_plan_as_by_the_simulator() {
    let folder = tempfile::tempdir().expect("a folder");
    let [plan, sim, resumed] = ["plan", "sim", "resumed"].map(|name| folder.path().join(name));
    let walk = source(WALK);
    let by_plan = train(&walk, &options(Engine::plan(), Some(&plan), 4)).expect("it trains");
    let by_sim = train(&walk, &options(Engine::simulator(), Some(&sim), 4)).expect("it trains");
    agree(&metrics(&by_plan), &metrics(&by_sim));
    assert!(metrics(&by_plan)[1].1 < 1.0, "the gap closes: {:?}", metrics(&by_plan));
    // An epoch of one engine, and those that are left of the other.
    train(&walk, &options(Engine::simulator(), Some(&resumed), 1)).expect("it trains");
    let rest = TrainOptions { resume: Some(resumed.clone()), ..options(Engine::plan(), Some(&resumed), 4) };
    let rest = train(&walk, &rest).expect("it goes on");
    agree(&metrics(&rest), &metrics(&by_sim));
    let keys = |path: &Path| {
        Checkpoint::read(path).expect("a checkpoint").states.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(keys(&plan), keys(&sim));
}

#[test]
fn the_example_trains() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cartpole.rml");
    let run = |engine: Engine| {
        let options = TrainOptions { cycles: Some(70), ..options(engine, None, 1) };
        metrics(&train(&Source::file(&file), &options).expect("it trains"))
    };
    agree(&run(Engine::plan()), &run(Engine::simulator()));
}

#[test]
fn a_number_of_cycles_is_for_nodes_without_inputs() {
    let text = "node train(x: num []) -> (loss: num []) loss = x;";
    let error = train(&source(text), &options(Engine::simulator(), None, 1));
    assert_eq!(code(error), "bad-option");
    // What waits for ever is no window.
    let text = "node train() -> (loss: num []) loss = post n; n = 0.0 fby n + 1.0;";
    let error = train(&source(text), &options(Engine::simulator(), None, 1));
    assert_eq!(code(error), "window-incomplete");
}
