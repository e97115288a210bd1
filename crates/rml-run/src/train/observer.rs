//! What a training run reports.

use indexmap::IndexMap;
use rml_backend::Compiled;
use serde_json::{Map, Value, json};

use super::confusion::Confusion;
use super::updates::Updates;
use crate::checkpoint::{Best, Position};
use crate::runner::{Metrics, json_metrics, json_number};
use crate::session::Session;

/// What happens during training, for whoever draws it. All methods have empty defaults.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// use rml::{EpochSummary, Observer, TrainOptions};
///
/// struct Losses(Vec<f64>);
/// impl Observer for Losses {
///     fn epoch(&mut self, summary: &EpochSummary) {
///         self.0.push(summary.train["loss"]);
///     }
/// }
/// let mut losses = Losses(Vec::new());
/// rml::train(&source, &data, &TrainOptions::default(), &mut losses)?;
/// assert_eq!(losses.0.len(), 10);
/// # Ok(()) }
/// ```
pub trait Observer {
    /// Training begins.
    fn start(&mut self, info: &TrainInfo) {
        let _ = info;
    }
    /// What the training begins with, just before [`start`](Self::start): the session that is trained.
    fn begun(&mut self, session: &Session) {
        let _ = session;
    }
    /// Another batch of windows is done.
    fn batch(&mut self, progress: &Progress<'_>) {
        let _ = progress;
    }
    /// An epoch or report is done, and what evaluates it has run.
    fn epoch(&mut self, summary: &EpochSummary) {
        let _ = summary;
    }
    /// What was learned by the end of an epoch or report, just before [`epoch`](Self::epoch) reports it, and at the
    /// end of the training: the session that is trained, between two windows. A stream that ends within a window does
    /// not report it.
    fn learned(&mut self, session: &Session) {
        let _ = session;
    }
    /// What is worth knowing about the data, before the training begins: a sentence without a point.
    fn note(&mut self, text: &str) {
        let _ = text;
    }
    /// A finding that does not stop the training, and the texts that it points into.
    fn warning(&mut self, diagnostic: &rml_base::Diagnostic, sources: &rml_base::Sources) {
        let _ = (diagnostic, sources);
    }
}

/// Observes nothing.
impl Observer for () {}

/// What is about to be trained.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// use rml::{Observer, TrainInfo, TrainOptions};
///
/// struct Count(usize);
/// impl Observer for Count {
///     fn start(&mut self, info: &TrainInfo) {
///         self.0 = info.parameters;
///     }
/// }
/// let mut count = Count(0);
/// rml::train(&source, &data, &TrainOptions::default(), &mut count)?;
/// assert_eq!(count.0, 1);
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct TrainInfo {
    /// Windows to train on in an epoch, or in a report.
    pub train_windows: usize,
    /// Windows kept for testing, or run to evaluate a report.
    pub test_windows: usize,
    /// Windows kept to compare epochs by.
    pub validation_windows: usize,
    /// Windows stacked at a time.
    pub batch: usize,
    /// Epochs in all; `None` for a node that makes its data itself, and reports in their place.
    pub epochs: Option<u64>,
    /// Epochs or reports done before (a resumed run).
    pub epochs_done: u64,
    /// How many numbers are trained.
    pub parameters: usize,
    /// How often these are updated.
    pub updates: Updates,
    /// Whether every window has one cycle.
    pub single_cycles: bool,
    /// Where it begins: its node, its seed, the sizes of its splits, and what identifies its program and its data.
    pub position: Position,
}

/// How far an epoch is.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// use rml::{Observer, Progress, TrainOptions};
///
/// struct Batches(usize);
/// impl Observer for Batches {
///     fn batch(&mut self, progress: &Progress<'_>) {
///         assert!(progress.windows <= progress.of);
///         self.0 += 1;
///     }
/// }
/// let mut batches = Batches(0);
/// rml::train(&source, &data, &TrainOptions::default(), &mut batches)?;
/// assert_eq!(batches.0, 30);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The epoch or report, from 1.
    pub epoch: u64,
    /// Windows done in it.
    pub windows: usize,
    /// Windows that it has.
    pub of: usize,
    /// Averages since it began.
    pub metrics: &'a Metrics,
}

/// How much a node without inputs was trained, runs before included.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node square() -> (o)  k = param(1.0);  o = k * k;
/// #   node train() -> (loss)  loss = diff_square(true, -0.1);";
/// # let source = rml::Source::text("square.rml", text);
/// # let data = rml::Columns::new("none");
/// # use rml::{Length, TrainOptions};
/// # let length = Length { windows: Some(30), report: Some(10), ..Length::default() };
/// # let options = TrainOptions { length: Some(length), ..TrainOptions::default() };
/// let report = rml::train(&source, &data, &options, &mut ())?;
/// assert_eq!(report.epochs[1].ran.as_ref().map(|ran| ran.windows), Some(20));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ran {
    /// Windows in all.
    pub windows: u64,
    /// Cycles in all.
    pub cycles: u64,
}

/// What an epoch or a report gave.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// let report = rml::train(&source, &data, &rml::TrainOptions::default(), &mut ())?;
/// let last = &report.epochs[9];
/// assert_eq!(last.epoch, 10);
/// assert!(last.train["loss"] < report.epochs[0].train["loss"]);
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct EpochSummary {
    /// The epoch or report, from 1.
    pub epoch: u64,
    /// Of a report, what was run up to its end.
    pub ran: Option<Ran>,
    /// Averages over the training windows.
    pub train: Metrics,
    /// Averages of the evaluation; empty where no window is kept for it or there is no node for it.
    pub test: Metrics,
    /// Averages over the windows for validation, if there are any.
    pub validation: Metrics,
    /// The best epoch or report so far, if it was asked for.
    pub best: Option<Best>,
    /// How long it took, evaluation included, in seconds.
    pub seconds: f64,
    /// How long its evaluation took, in seconds.
    pub evaluating: f64,
    /// How often the evaluation took one class for another, if that is asked for.
    pub confusion: Option<Confusion>,
    /// What the backend compiled for it, or loaded, within that time.
    pub compiled: Compiled,
    /// What the parameters are like, if that is asked for, by checkpoint key.
    pub parameters: IndexMap<String, ParameterStats>,
    /// The norms of the gradients that updated parameters, if that is asked for, by checkpoint key: the root of the
    /// mean of the squared norms over the updates. A parameter has none if no adjoint trains it, or if nothing updated
    /// it.
    pub gradients: IndexMap<String, f64>,
}

/// The norms of all parameters together, and of what changed them.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// # let options = rml::TrainOptions { stats: true, ..Default::default() };
/// # let report = rml::train(&source, &data, &options, &mut ())?;
/// let norms = report.epochs[0].norms().expect("they were asked for");
/// assert!(norms.parameters > 0.0 && norms.update > 0.0);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Norms {
    /// Of the parameters themselves.
    pub parameters: f64,
    /// Of what was added to them since the epoch or report before.
    pub update: f64,
    /// Of their gradients, if any parameter has one.
    pub gradient: Option<f64>,
}

impl Norms {
    /// The names of its numbers in logs, and the numbers.
    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let gradient = self.gradient.map(|x| ("gradient", x));
        [("norm", self.parameters), ("update", self.update)].into_iter().chain(gradient)
    }
}

/// What a parameter is like at the end of an epoch or report.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// let options = rml::TrainOptions { stats: true, ..Default::default() };
/// let report = rml::train(&source, &data, &options, &mut ())?;
/// let k = &report.epochs[0].parameters["line_0.k"];
/// assert_eq!((k.mean, k.deviation), (k.update, 0.0));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ParameterStats {
    /// The mean of its elements.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// The root of the sum of their squares.
    pub norm: f64,
    /// The same of what was added to it since the epoch or report before.
    pub update: f64,
}

impl ParameterStats {
    /// The names of its numbers in logs, and the numbers.
    pub fn numbers(&self) -> [(&'static str, f64); 4] {
        [("mean", self.mean), ("std", self.deviation), ("norm", self.norm), ("update", self.update)]
    }
}

impl EpochSummary {
    /// The norms of all parameters together, if [`parameters`](Self::parameters) are asked for.
    pub fn norms(&self) -> Option<Norms> {
        let root = |squares: &mut dyn Iterator<Item = f64>| squares.map(|x| x * x).sum::<f64>().sqrt();
        let of = |number: fn(&ParameterStats) -> f64| root(&mut self.parameters.values().map(number));
        (!self.parameters.is_empty()).then(|| Norms {
            parameters: of(|stats| stats.norm),
            update: of(|stats| stats.update),
            gradient: (!self.gradients.is_empty()).then(|| root(&mut self.gradients.values().copied())),
        })
    }

    /// A JSON object of it, in one line.
    pub fn json_line(&self) -> String {
        Value::Object(self.json()).to_string()
    }

    pub(super) fn json(&self) -> Map<String, Value> {
        let mut line = Map::new();
        match self.ran {
            None => line.insert("epoch".to_owned(), self.epoch.into()),
            Some(ran) => {
                line.insert("windows".to_owned(), ran.windows.into());
                line.insert("cycles".to_owned(), ran.cycles.into());
                line.insert("report".to_owned(), self.epoch.into())
            }
        };
        line.insert("seconds".to_owned(), json!(self.seconds));
        if !self.compiled.is_nothing() {
            let Compiled { programs, time, loaded, load_time, .. } = &self.compiled;
            let seconds = (*time + *load_time).as_secs_f64();
            line.insert(
                "compiled".to_owned(),
                json!({"programs": programs, "loaded": loaded, "seconds": seconds}),
            );
        }
        line.insert("train".to_owned(), json_metrics(&self.train).into());
        line.insert("test".to_owned(), json_metrics(&self.test).into());
        if !self.validation.is_empty() {
            line.insert("validation".to_owned(), json_metrics(&self.validation).into());
        }
        if !self.parameters.is_empty() {
            let entry = |(name, x): (&'static str, f64)| (name.to_owned(), json_number(x));
            let object = |key: &String, stats: &ParameterStats| -> Value {
                let gradient = self.gradients.get(key).map(|x| ("gradient", *x));
                Value::Object(stats.numbers().into_iter().chain(gradient).map(entry).collect())
            };
            let parameters = self.parameters.iter().map(|(key, stats)| (key.clone(), object(key, stats)));
            line.insert("parameters".to_owned(), Value::Object(parameters.collect()));
        }
        if let Some(norms) = self.norms() {
            let entry = |(name, x): (&'static str, f64)| (name.to_owned(), json_number(x));
            line.insert("norms".to_owned(), Value::Object(norms.numbers().map(entry).collect()));
        }
        if let Some(best) = &self.best {
            let value = json_number(best.value());
            let best = json!({"metric": best.metric, "value": value, "epoch": best.epoch});
            line.insert("best".to_owned(), best);
        }
        line
    }

    /// One that was trained, and not evaluated yet.
    pub(super) fn new(epoch: u64, train: Metrics, gradients: IndexMap<String, f64>) -> Self {
        Self {
            epoch,
            ran: None,
            train,
            test: Metrics::new(),
            validation: Metrics::new(),
            best: None,
            seconds: 0.0,
            evaluating: 0.0,
            confusion: None,
            compiled: Compiled::default(),
            parameters: IndexMap::new(),
            gradients,
        }
    }
}

/// How training ended.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// let report = rml::train(&source, &data, &rml::TrainOptions::default(), &mut ())?;
/// assert_eq!(report.epochs.len(), 10);
/// assert!(!report.interrupted && !report.saved);
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TrainReport {
    /// Whether it was interrupted (the checkpoint, if any, was written).
    pub interrupted: bool,
    /// The epochs or reports of this run.
    pub epochs: Vec<EpochSummary>,
    /// Whether the condition holds until which a node without inputs was to be trained; `None` if there was none.
    pub is_met: Option<bool>,
    /// Whether it ended because the best epoch or report was too long ago.
    pub out_of_patience: bool,
    /// The best epoch or report, that of a run before included, if it was asked for.
    pub best: Option<Best>,
    /// Whether the parameters of the best one were written to a file of their own.
    pub kept_best: bool,
    /// Whether a checkpoint was written.
    pub saved: bool,
    /// What the backend compiled in this run, or loaded.
    pub compiled: Compiled,
}

impl TrainReport {
    /// The epoch or report whose parameters are the result: the best one if those are kept in a file of their own, else
    /// the last. Nothing if that one was in a run before, or if there is none.
    pub fn result(&self) -> Option<&EpochSummary> {
        match self.best.as_ref().filter(|_| self.kept_best) {
            Some(best) => self.epochs.iter().rev().find(|epoch| epoch.epoch == best.epoch),
            None => self.epochs.last(),
        }
    }
}
