//! Training without data: nodes that contain their environment, and whose windows end when the node decides.

mod support;

use std::path::Path;

use rml::{
    Checkpoint, Columns, Engine, Evaluate, Length, Source, TestSplit, TrainOptions, TrainReport, Until,
};
use support::{Interrupter, code, source};

/// A walk to one side, in episodes that end at some distance. The program learns the distance that the steps cover.
const WALK: &str = "
node value(x: num [1]) -> (v: num [1])
  v = param(zeros([1])) * x + param(zeros([1]));

node rest(v: num [1]) -> (g: num [1])
  g = 0.25 + (zeros([1]) fby back g) + 0.0 * v;

node walk(far: num []) -> (at: num [], end: bool [])
  at = 0.0 fby (if end then 0.0 else at + random_uniform([]));
  end = at > far;

node train() -> (steps: num [] when end, gap: num [])
  at, end = walk(3.0);
  v, _ = diff_value([at], true, 0.01 * (g - v)) every end;
  g = rest(v) every end;
  gap = abs(g[0] - v[0]);
  n = 0.0 fby (if end then 0.0 else n + 1.0);
  steps = n when end;

node evaluate() -> (gap: num [], place: num [])
  place, end = walk(3.0);
  v = value([place]);
  g = rest(v) every end;
  gap = abs(g[0] - v[0]);
";

/// The options for training over `windows` windows.
fn options(engine: Engine, save: Option<&Path>, windows: u64) -> TrainOptions {
    TrainOptions {
        length: Some(Length { windows: Some(windows), report: Some(20), ..Length::default() }),
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
    let last = report.epochs.last().expect("a report");
    last.train.iter().chain(&last.test).map(|(name, value)| (name.clone(), *value)).collect()
}

/// Checks that metrics and states agree up to the order of sums.
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
    let by_plan = train(&walk, &options(Engine::plan(), Some(&plan), 100)).expect("it trains");
    let by_sim = train(&walk, &options(Engine::simulator(), Some(&sim), 100)).expect("it trains");
    assert_eq!(by_plan.epochs.len(), 5);
    for (by_plan, by_sim) in by_plan.epochs.iter().zip(&by_sim.epochs) {
        assert_eq!(by_plan.ran, by_sim.ran);
    }
    agree(&metrics(&by_plan), &metrics(&by_sim));
    assert!(metrics(&by_plan)[1].1 < 1.0, "the gap closes: {:?}", metrics(&by_plan));
    // Some windows run on one engine, and the rest on the other engine.
    train(&walk, &options(Engine::simulator(), Some(&resumed), 30)).expect("it trains");
    let rest = TrainOptions { resume: Some(resumed.clone()), ..options(Engine::plan(), Some(&resumed), 100) };
    let rest = train(&walk, &rest).expect("it continues");
    agree(&metrics(&rest), &metrics(&by_sim));
    let keys = |path: &Path| {
        Checkpoint::read(path).expect("a checkpoint").states.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(keys(&plan), keys(&sim));
}

/// The training runs exactly the given number of windows, or cycles up to the end of a window, for any window lengths:
/// in one run, from limit to limit, and after interruptions.
#[test]
fn any_stops_on_the_way_leave_the_bits() {
    let folder = tempfile::tempdir().expect("a folder");
    let walk = source(WALK);
    for (name, engine) in [("plan", Engine::plan()), ("sim", Engine::simulator())] {
        let path = |what: &str| folder.path().join(format!("{name}-{what}"));
        let done = |what: &str| {
            let position = Checkpoint::read(&path(what)).expect("a checkpoint").position.expect("a position");
            let reached = position.reached;
            let done = reached.length.expect("without data");
            (done.windows, done.cycles, reached.epoch, reached.done)
        };
        let whole =
            TrainOptions { evaluate: Evaluate::Usual, ..options(engine.clone(), Some(&path("whole")), 77) };
        let whole_report = train(&walk, &whole).expect("it trains");
        let (windows, cycles, epoch, rest) = done("whole");
        assert_eq!((windows, epoch, rest), (77, 3, 17));
        assert_eq!(
            whole_report.epochs.iter().map(|e| e.epoch).collect::<Vec<_>>(),
            [1, 2, 3, 4],
            "the last one is a part"
        );

        let parts = path("parts");
        let on = |length: Length, resume: bool| TrainOptions {
            length: Some(length),
            resume: resume.then(|| parts.clone()),
            evaluate: Evaluate::Usual,
            ..options(engine.clone(), Some(&parts), 0)
        };
        let some = |windows| Length { windows: Some(windows), report: Some(20), ..Length::default() };
        train(&walk, &on(some(1), false)).expect("it trains");
        assert_eq!(done("parts").0, 1);
        train(&walk, &on(some(2), true)).expect("it continues");
        let observer = &mut Interrupter::new(1);
        let stopped = TrainOptions { interrupt: Some(observer.flag.clone()), ..on(some(77), true) };
        let report = rml::train(&walk, &Columns::default(), &stopped, observer).expect("it stops");
        assert!(report.interrupted && report.saved);
        let until = Length { cycles: Some(cycles / 2), ..Length::default() };
        train(&walk, &on(until, true)).expect("it continues");
        let half = done("parts");
        assert!(
            half.1 >= cycles / 2 && half.1 < cycles / 2 + 40,
            "to the end of a window: {half:?} of {cycles}"
        );
        let last = train(&walk, &on(some(77), true)).expect("it continues");
        assert_eq!(metrics(&last), metrics(&whole_report));
        let bytes = |what| std::fs::read(path(what)).expect("a checkpoint");
        assert!(bytes("whole") == bytes("parts"), "{name}: the same bits");
        let beyond = train(&walk, &on(some(76), true));
        assert_eq!(code(beyond), "resume-mismatch");
        let other = Length { report: Some(21), ..some(80) };
        assert_eq!(code(train(&walk, &on(other, true))), "resume-mismatch");
        let data = TrainOptions { length: None, ..on(some(0), true) };
        assert_eq!(code(train(&walk, &data)), "resume-mismatch");
    }
}

/// The evaluation and the training have only the parameters in common: the evaluation has other draws, which are the
/// same after each report.
#[test]
fn an_evaluation_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let walk = source(WALK);
    for (name, engine) in [("plan", Engine::plan()), ("sim", Engine::simulator())] {
        let [with, without] = ["with", "without"].map(|what| folder.path().join(format!("{name}-{what}")));
        let test = Some(TestSplit::Count(7));
        let evaluated =
            TrainOptions { evaluate: Evaluate::Usual, test, ..options(engine.clone(), Some(&with), 60) };
        let report = train(&walk, &evaluated).expect("it trains");
        train(&walk, &options(engine.clone(), Some(&without), 60)).expect("it trains");
        let states = |path: &Path| Checkpoint::read(path).expect("a checkpoint").states;
        let (a, b) = (states(&with), states(&without));
        assert!(a.keys().eq(b.keys()) && a.iter().all(|(key, value)| value.same(&b[key])), "{name}");
        let places: Vec<f64> = report.epochs.iter().map(|e| e.test["place"]).collect();
        assert!(places.iter().all(|place| *place == places[0]), "the same draws each time: {places:?}");
        let gaps: Vec<f64> = report.epochs.iter().map(|e| e.test["gap"]).collect();
        assert!(gaps[2] < gaps[0], "other parameters each time: {gaps:?}");
        // The first windows of a new training, which use the first draws.
        let first = TrainOptions { node: Some("evaluate".into()), ..options(engine, None, 7) };
        let first = train(&walk, &first).expect("it runs");
        assert_ne!(first.epochs[0].train["place"], places[0], "other draws than those of the training");
    }
}

#[test]
fn training_goes_on_until_a_condition_holds() {
    let walk = source(WALK);
    let run = |condition: &str, evaluate: Evaluate| {
        let length = Length {
            until: Some(Until::parse(condition).expect("a condition")),
            windows: Some(400),
            report: Some(10),
            ..Length::default()
        };
        train(&walk, &TrainOptions { length: Some(length), evaluate, ..options(Engine::plan(), None, 0) })
    };
    let report = run("gap < 0.7 for 3", Evaluate::Nothing).expect("it trains");
    assert_eq!(report.is_met, Some(true));
    let gaps: Vec<f64> = report.epochs.iter().map(|e| e.train["gap"]).collect();
    let met: Vec<bool> = gaps.iter().map(|gap| *gap < 0.7).collect();
    assert!(
        met.ends_with(&[true; 3]) && !met[..met.len() - 1].windows(3).any(|w| w == [true; 3]),
        "{gaps:?}"
    );
    let report = run("gap < 0.7 and test.gap < 0.0", Evaluate::Usual).expect("it trains");
    assert_eq!((report.is_met, report.epochs.len()), (Some(false), 40));
    assert_eq!(code(run("gab < 0.7", Evaluate::Nothing)), "unknown-metric");
    assert_eq!(code(run("test.gap < 0.7", Evaluate::Nothing)), "unknown-metric");
}

/// A cycle is a window if the program has no windows: this training never waits.
#[test]
fn without_windows_each_cycle_is_one() {
    let text = "
        node line(x) -> (y) y = param(0.0) * x;
        node train() -> (loss)
          x = random_uniform([]);
          y, _ = diff_line(x, true, 0.5 * (3.0 * x - y));
          loss = (3.0 * x - y) * (3.0 * x - y);";
    for engine in [Engine::auto(), Engine::simulator()] {
        let report = train(&source(text), &options(engine, None, 321)).expect("it trains");
        let ran = report.epochs.last().expect("a report").ran.expect("without data");
        assert_eq!((ran.windows, ran.cycles), (321, 321));
        assert!(report.epochs[15].train["loss"] < 1e-3);
    }
}

#[test]
fn the_example_trains() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cartpole.rml");
    let run =
        |engine: Engine| metrics(&train(&Source::file(&file), &options(engine, None, 3)).expect("it trains"));
    agree(&run(Engine::plan()), &run(Engine::simulator()));
}

#[test]
fn what_cannot_be_trained_without_data_is_refused() {
    let refused = |text: &str, options: TrainOptions| code(train(&source(text), &options));
    let three = || options(Engine::simulator(), None, 3);
    let inputs = "node train(x: num []) -> (loss: num []) loss = x;";
    assert_eq!(refused(inputs, three()), "bad-option");
    let evaluated = "node train() -> (n) n = 0.0 fby n + 1.0; node evaluate(x: num []) -> (o) o = x;";
    assert_eq!(refused(evaluated, TrainOptions { evaluate: Evaluate::Usual, ..three() }), "bad-option");
    let other = "node k() -> (y) y = param(1.0); node deep() -> (y) y = k(); node train() -> (n) n = deep(); node evaluate() -> (n) n = k();";
    assert_eq!(refused(other, TrainOptions { evaluate: Evaluate::Usual, ..three() }), "checkpoint-mismatch");
    let share = TrainOptions { test: Some(TestSplit::Share(0.5)), ..three() };
    assert_eq!(refused("node train() -> (n) n = 0.0 fby n + 1.0;", share), "bad-option");
    // A loss that waits forever does not complete a window.
    let waits = "node train() -> (loss: num []) loss = post n; n = 0.0 fby n + 1.0;";
    assert_eq!(refused(waits, three()), "window-incomplete");
    let beyond = "
        node sums(x) -> (s) s = x + (0.0 fby back s);
        node train() -> (s) n = 0 fby n + 1; end = mod(n, 4) == 3; s = post (sums(to_num(n)) every end);";
    assert_eq!(refused(beyond, three()), "window-incomplete");
    // A window that never ends is refused too.
    let endless = "
        node sums(x) -> (s) s = x + (0.0 fby back s);
        node train() -> (s) n = 0 fby n + 1; end = n < 0; s = sums(to_num(n)) every end;";
    let length = Some(Length { look_ahead: 300, ..Length::default() });
    for engine in [Engine::auto(), Engine::simulator()] {
        let options = TrainOptions { length: length.clone(), engine, ..three() };
        assert_eq!(refused(endless, options), "endless-window");
    }
}
