//! The states that restart in each epoch, and those that continue (ENV-8): compared with cycles that are fed one by one
//! to the reference engine.

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rml::{
    Checkpoint, Columns, Elements, End, Engine, Evaluate, Session, TestSplit, TrainOptions, TrainReport,
    Value,
};
use support::{Interrupter, code, column, source, train};

/// A program with states of all kinds. Values of the data are in `before`, in `first`, whose initial value is a stream,
/// in `seen`, in `mode`, which the data chooses, and in `label`. The others continue: a parameter, moments, a counter,
/// the ticks of noise, the average of a parameter, and a counter of ends.
const PROGRAM: &str = "
import std.optimisers;
node diff_param(init, bp, do) -> (o)
  o = adam(0.05, 0.9, 0.999, 0.00000001, init, bp, do);

node net(x: num []) -> (o: num [], k)
  k = param(0.5);
  before = 0.0 fby x;
  first = x fby first;
  o = k * (x + 0.5 * stop_gradient(before) + 0.1 * stop_gradient(first)) + 0.01 * random_normal([]);

node train(x: num [], y: num [], c: int [], end: bool [])
    -> (loss: num [], seen: num [], mode: int [], label: int [], steps: int [], slow: num [], ends: int [])
  o, k, _ = diff_net(x, true, 0.1 * (y - o), 0.0);
  loss = (o - y) * (o - y);
  seen = 0.0 fby (0.9 * seen + x);
  mode = 0 fby (if x > 1.0 then 1 else if x < -1.0 then 2 else mode);
  label = 7 fby c;
  steps = 0 fby (steps + 1);
  slow = 0.0 fby (0.9 * slow + 0.1 * k);
  ends = 0 fby (ends + to_int(end));
";

/// The states that restart.
const CARRIED: [&str; 5] = ["net_0.before", "net_0.first", "label", "mode", "seen"];

fn rows() -> (Vec<f32>, Vec<f32>, Vec<i64>) {
    let x: Vec<f32> = (0..7).map(|i| ((i * 37 % 11) as f32 - 5.0) / 2.5).collect();
    let y = x.iter().map(|x| 1.5 * x - 0.25).collect();
    (x, y, (0..7).map(|i| i * i).collect())
}

fn data() -> Columns {
    let (x, y, c) = rows();
    let mut columns = Columns::default();
    columns.columns.insert("x".into(), column(&[7], Elements::F32(x)));
    columns.columns.insert("y".into(), column(&[7], Elements::F32(y)));
    columns.columns.insert("c".into(), column(&[7], Elements::Int(c)));
    columns
}

fn options(save: &Path, epochs: u64) -> TrainOptions {
    TrainOptions {
        epochs,
        evaluate: Evaluate::Nothing,
        test: Some(TestSplit::Count(0)),
        shuffle: Some(false),
        save: Some(save.to_path_buf()),
        ..TrainOptions::default()
    }
}

/// The states after some epochs over all rows in their order; `restarts` says which states restart in each epoch.
fn reference(epochs: u64, restarts: &dyn Fn(&str) -> bool) -> BTreeMap<Arc<str>, Value> {
    let options = rml::Options { node: Some("train".into()), ..rml::Options::default() };
    let program = rml::compile(&source(PROGRAM), &options).unwrap();
    let (x, y, c) = rows();
    let mut states: BTreeMap<Arc<str>, Value> = BTreeMap::new();
    for _ in 0..epochs {
        let mut session = Session::on(&program, &Engine::simulator()).unwrap();
        let kept = states.iter().filter(|(key, _)| !restarts(key));
        session.set_all(kept.map(|(key, value)| (&**key, value))).unwrap();
        for i in 0..7 {
            session
                .step([("x", x[i].into()), ("y", y[i].into()), ("c", c[i].into()), ("end", true.into())])
                .unwrap();
        }
        states = session.states().unwrap().into_iter().collect();
        session.finish(End::Open).unwrap();
    }
    states
}

fn same(what: &str, found: &Path, expected: &BTreeMap<Arc<str>, Value>) {
    let found = Checkpoint::read(found).unwrap().states;
    assert_eq!(found.len(), expected.len(), "{what}");
    for (key, value) in &found {
        assert!(value.same(&expected[key]), "{what}: {key} is {value:?}, expected {:?}", expected[key]);
    }
}

#[test]
fn states_of_the_data_restart_and_others_continue() {
    let dir = tempfile::tempdir().unwrap();
    let save = dir.path().join("c");
    let restarts = |key: &str| CARRIED.contains(&key);
    let all = reference(1, &|_| false);
    assert!(CARRIED.iter().all(|key| all.contains_key(*key)), "{:?}", all.keys());
    for (name, engine) in [("sim", Engine::simulator()), ("plan", Engine::auto())] {
        for epochs in 1..4 {
            let options = TrainOptions { engine: engine.clone(), ..options(&save, epochs) };
            train(PROGRAM, &data(), &options);
            same(&format!("{name}, {epochs} epochs"), &save, &reference(epochs, &restarts));
            train(PROGRAM, &data(), &TrainOptions { keep_states: true, ..options });
            same(&format!("{name}, {epochs} epochs, kept"), &save, &reference(epochs, &|_| false));
        }
    }
}

/// An interruption after each batch, also between two epochs.
#[test]
fn a_training_that_continues_has_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    for (shards, keep_states) in [(1, false), (1, true), (2, false), (3, true)] {
        let [whole, part] = ["whole", "part"].map(|n| dir.path().join(format!("{n}{shards}{keep_states}")));
        let asked = |save: &Path| TrainOptions { shards: Some(shards), shuffle: None, ..options(save, 3) };
        train(PROGRAM, &data(), &TrainOptions { keep_states, ..asked(&whole) });
        let mut resume = None;
        loop {
            let mut observer = Interrupter::new(1);
            let interrupt: Option<Arc<AtomicBool>> = Some(Arc::clone(&observer.flag));
            let keep_states = keep_states && resume.is_none();
            let options = TrainOptions { resume, keep_states, interrupt, ..asked(&part) };
            let report: TrainReport = rml::train(&source(PROGRAM), &data(), &options, &mut observer).unwrap();
            if !report.interrupted {
                break;
            }
            resume = Some(part.clone());
        }
        assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&part).unwrap(), "{shards} {keep_states}");
    }
}

#[test]
fn a_resumed_run_treats_states_as_before() {
    let dir = tempfile::tempdir().unwrap();
    let save = dir.path().join("c");
    train(PROGRAM, &data(), &options(&save, 1));
    let position = Checkpoint::read(&save).unwrap().position.unwrap();
    assert!(position.setup.restarts);
    let other = TrainOptions { resume: Some(save.clone()), keep_states: true, ..options(&save, 2) };
    assert_eq!(code(rml::train(&source(PROGRAM), &data(), &other, &mut ())), "resume-mismatch");
    // A program without such states records nothing about them.
    train(support::CLASSIFIER, &support::data(23), &support::options(&save, 1));
    let position = Checkpoint::read(&save).unwrap().position.unwrap();
    assert!(!position.setup.restarts);
}
