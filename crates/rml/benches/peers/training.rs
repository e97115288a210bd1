//! Training jobs, whose step is a batch.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rml::{
    Column, Columns, Elements, EpochSummary, Evaluate, Length, Metrics, Observer, Progress, Shape, Source,
    StaticValue, TestSplit, TrainOptions,
};

use crate::share::Share;
use crate::turns::{Turns, WARM};
use crate::{Setting, done};

/// Measures the batches of a training run.
struct Clock {
    turns: Turns,
    stop: Arc<AtomicBool>,
    last: Option<Instant>,
    /// The number of steps before the first turn.
    warm: usize,
    seen: usize,
    loss: Option<f64>,
    /// The name of the loss.
    metric: &'static str,
    /// Whether a step is an epoch instead of a batch.
    whole: bool,
}

impl Clock {
    /// Counts a completed step with its metrics.
    fn tick(&mut self, metrics: &Metrics) {
        let now = Instant::now();
        self.seen += 1;
        let more = if self.seen < self.warm {
            true
        } else if self.seen == self.warm {
            self.loss = metrics.iter().find(|(name, _)| *name == self.metric).map(|(_, v)| *v);
            self.turns.ready(self.loss)
        } else if let Some(last) = self.last {
            self.turns.step(now - last)
        } else {
            self.turns.untimed();
            true
        };
        if !more {
            self.stop.store(true, Ordering::SeqCst);
        }
        self.last = Some(Instant::now());
    }
}

impl Observer for Clock {
    fn batch(&mut self, progress: &Progress<'_>) {
        if !self.whole {
            self.tick(progress.metrics);
        }
    }

    fn epoch(&mut self, summary: &EpochSummary) {
        if self.whole {
            self.tick(&summary.train);
        } else {
            self.last = None;
        }
    }
}

/// A program to train.
pub(crate) struct Training {
    pub(crate) source: Source,
    pub(crate) data: Columns,
    pub(crate) batch: Option<usize>,
    pub(crate) set: Vec<(String, StaticValue)>,
    /// For a node that generates its own data, the number of windows per step.
    pub(crate) report: Option<u64>,
    pub(crate) warm: usize,
    pub(crate) metric: &'static str,
}

impl Training {
    fn options(&self, setting: &Setting) -> TrainOptions {
        TrainOptions {
            batch: self.batch,
            length: self.report.map(|report| Length { report: Some(report), ..Length::default() }),
            set: self.set.iter().cloned().collect(),
            engine: setting.engine(),
            shuffle: Some(false),
            ..TrainOptions::default()
        }
    }

    pub(crate) fn run(&self, turns: Turns, setting: &Setting) {
        let stop = Arc::new(AtomicBool::new(false));
        let mut clock = Clock {
            turns,
            stop: Arc::clone(&stop),
            last: None,
            warm: self.warm,
            seen: 0,
            loss: None,
            metric: self.metric,
            whole: self.report.is_some(),
        };
        let nothing = self.report.is_none();
        let options = TrainOptions {
            epochs: u64::MAX,
            evaluate: Evaluate::Nothing,
            test: nothing.then_some(TestSplit::Count(0)),
            interrupt: Some(stop),
            ..self.options(setting)
        };
        done(rml::train(&self.source, &self.data, &options, &mut clock));
    }

    /// Writes the initial parameters to a checkpoint.
    pub(crate) fn save(&self, setting: &Setting, path: &Path) {
        let options = TrainOptions {
            epochs: 0,
            evaluate: Evaluate::Nothing,
            test: Some(TestSplit::Count(0)),
            save: Some(path.to_owned()),
            ..self.options(setting)
        };
        done(rml::train(&self.source, &self.data, &options, &mut ()));
    }
}

/// Static parameters by name.
fn ints(set: &[(&str, usize)]) -> Vec<(String, StaticValue)> {
    set.iter().map(|(name, n)| ((*name).to_owned(), StaticValue::Int(*n as i64))).collect()
}

/// Numbers between -1 and 1.
pub(crate) fn numbers(n: usize) -> Vec<f32> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

pub(crate) fn column(shape: &[usize], elements: Elements) -> Column {
    Column { shape: Shape::new(shape), elements, present: None }
}

/// The cells by name, and their training programs.
const CELLS: [(&str, &str); 6] = [
    ("lstm", include_str!("train.rml")),
    ("gru", include_str!("train.rml")),
    ("peephole", concat!(include_str!("train.rml"), include_str!("peephole.rml"))),
    ("ring", concat!(include_str!("train.rml"), include_str!("ring.rml"))),
    ("hmm", concat!(include_str!("train.rml"), include_str!("hmm.rml"))),
    ("bi_lstm", include_str!("tag.rml")),
];

/// A step of gradient descent for a network of `h` units of the given cell, which classifies `b` sequences of `t`
/// vectors of `d` numbers into ten classes. All batches are equal, so other tools need only one. Returns `false` if the
/// cell does not exist.
pub(crate) fn cell(
    name: &str,
    [b, t, d, h]: [usize; 4],
    turns: Turns,
    setting: &Setting,
    share: Option<&Share>,
) -> bool {
    let Some((_, text)) = CELLS.iter().find(|(n, _)| *n == name) else { return false };
    // The same numbers as in `peers.py`.
    let warm = if b * t * h > 2_000_000 { 2 } else { 8 };
    let labels = if name == "bi_lstm" { b * t } else { b };
    let (x, y) = (numbers(b * t * d), (0..labels).map(|i| (i % 10) as i64).collect::<Vec<_>>());
    let mut data = Columns::default();
    data.columns.insert("x".into(), column(&[warm * b, t, d], Elements::F32(x.repeat(warm))));
    let shape = if name == "bi_lstm" { vec![warm * b, t] } else { vec![warm * b] };
    data.columns.insert("y".into(), column(&shape, Elements::Int(y.repeat(warm))));
    let source = Source::text("bench.rml", text.replace("CELL", name));
    let set = ints(&[("units", h), ("d", d)]);
    let training = Training { source, data, batch: Some(b), set, report: None, warm, metric: "loss" };
    if let Some(share) = share {
        training.save(setting, &share.path("safetensors"));
        share.numbers("x", &x);
        share.numbers("y", &y.iter().map(|y| *y as f32).collect::<Vec<_>>());
    }
    training.run(turns, setting);
    true
}

/// A step of gradient descent for a network with two convolutions, on `b` images.
pub(crate) fn conv(b: usize, turns: Turns, setting: &Setting) {
    const STEPS: usize = 8;
    const SIDE: usize = 28;
    let n = STEPS * b;
    let mut data = Columns::default();
    let pixels = Elements::F32(numbers(n * SIDE * SIDE));
    data.columns.insert("x".into(), column(&[n, 1, SIDE, SIDE], pixels));
    data.columns
        .insert("y".into(), column(&[n, 1], Elements::Int((0..n).map(|i| (i % 10) as i64).collect())));
    let source = Source::text("bench.rml", include_str!("conv.rml"));
    Training { source, data, batch: Some(b), set: Vec::new(), report: None, warm: STEPS, metric: "loss" }
        .run(turns, setting);
}

/// A step of gradient descent for an LSTM of `h` units, in windows of `b` rows of `s` sequences of `t` vectors.
pub(crate) fn nested([b, s, t, h]: [usize; 4], turns: Turns, setting: &Setting) {
    const WINDOWS: usize = 8;
    const D: usize = 32;
    let cycles = WINDOWS * s * t;
    let mut data = Columns::default();
    let mut add = |name: &str, row: &[usize], elements| {
        let shape = [&[WINDOWS, s * t], row].concat();
        data.columns.insert(name.into(), column(&shape, elements));
    };
    add("x", &[b, D], Elements::F32(numbers(cycles * b * D)));
    add("seq_end", &[], Elements::Bool((0..cycles).map(|i| (i + 1) % t == 0).collect()));
    add("y", &[b], Elements::Int((0..cycles * b).map(|i| (i % 10) as i64).collect()));
    let source = Source::text("bench.rml", include_str!("nested.rml"));
    let set = ints(&[("units", h), ("d", D), ("rows", b)]);
    Training { source, data, batch: None, set, report: None, warm: WINDOWS, metric: "loss" }
        .run(turns, setting);
}

/// The text of a recurrence of `n` numbers with separate equations for each number, and of its training.
pub(crate) fn chain(n: usize) -> String {
    let mut text = format!("node chain(u: num []) -> (s{}: num [])\n", n - 1);
    for i in 0..n {
        let previous = if i == 0 { "u".to_owned() } else { format!("p{}", i - 1) };
        let _ = write!(
            text,
            "  a{i} = param(0.5);\n  b{i} = param(0.5);\n  p{i} = 0.0 fby s{i};
  s{i} = tanh(a{i} * p{i} + b{i} * {previous}) + 0.1 * u;\n"
        );
    }
    text + "
node net(u: num [], end: bool []) -> (o: num [])
  o = chain(u) every end;

node train(u: num [], end: bool [], y: num []) -> (loss: num [])
  o, _ = diff_net(u, end, true, -0.00001 * error);
  error = o - y;
  loss = error * error;
"
}

/// The gradient through a recurrence of `n` numbers over `t` cycles.
pub(crate) fn scalars(n: usize, t: usize, turns: Turns, setting: &Setting, share: Option<&Share>) {
    const WINDOWS: usize = 8;
    let mut data = Columns::default();
    let values = numbers(2 * t);
    for (name, values) in ["u", "y"].into_iter().zip(values.chunks(t)) {
        data.columns.insert(name.into(), column(&[WINDOWS, t], Elements::F32(values.repeat(WINDOWS))));
        if let Some(share) = share {
            share.numbers(name, values);
        }
    }
    let source = Source::text("bench.rml", chain(n));
    let training =
        Training { source, data, batch: None, set: Vec::new(), report: None, warm: WINDOWS, metric: "loss" };
    training.run(turns, setting);
}

/// An actor-critic that balances the poles of 16 carts; one step is a hundred updates.
pub(crate) fn cartpole(turns: Turns, setting: &Setting) {
    let source = Source::text("cartpole.rml", include_str!("../../../../examples/cartpole.rml"));
    let (data, report) = (Columns::default(), Some(100));
    let training =
        Training { source, data, batch: None, set: Vec::new(), report, warm: 2 * WARM, metric: "length" };
    training.run(turns, setting);
}

/// Trains on handwritten digits until 0.95 of the test images are classified correctly, and prints the number of
/// epochs.
pub(crate) fn digits(seed: usize, setting: &Setting) {
    struct Goal(Arc<AtomicBool>);
    impl Observer for Goal {
        fn epoch(&mut self, summary: &EpochSummary) {
            let accuracy = summary.test.iter().find(|(name, _)| *name == "accuracy").map(|(_, v)| *v);
            if accuracy.is_some_and(|a| a >= 0.95) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let stop = Arc::new(AtomicBool::new(false));
    let options = TrainOptions {
        epochs: 60,
        seed: Some(seed as u64),
        engine: setting.engine(),
        interrupt: Some(Arc::clone(&stop)),
        ..TrainOptions::default()
    };
    let source = Source::text("digits.rml", include_str!("../../../../examples/digits.rml"));
    let data = done(Columns::read(root.join("data/digits.npz")));
    let report = done(rml::train(&source, &data, &options, &mut Goal(stop)));
    println!("{{\"epochs\": {}, \"reached\": {}}}", report.epochs.len(), report.interrupted);
}
