//! The reports of a training run.

use indexmap::IndexMap;
use rml_backend::Compiled;
use serde_json::{Map, Value, json};

use super::confusion::Confusion;
use super::episode::Episode;
use super::samples::EvaluatedSamples;
use super::updates::UpdateCounts;
use crate::checkpoint::{Best, TrainingPosition};
use crate::runner::{Metrics, json_metrics, json_number};
use crate::session::Session;

/// Observes a training, for example to display it. All methods have empty defaults.
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
    /// Called just before [`start`](Self::start) with the session in its initial state.
    fn begun(&mut self, session: &Session) {
        let _ = session;
    }
    /// Another batch of windows has been trained.
    fn batch(&mut self, progress: &Progress<'_>) {
        let _ = progress;
    }
    /// These episodes have ended, if [`TrainOptions::episodes`](crate::TrainOptions::episodes) asks for them. They come
    /// in the order of cycles and rows.
    fn episodes(&mut self, episodes: &[Episode]) {
        let _ = episodes;
    }
    /// An epoch or report is done, including its evaluation.
    fn epoch(&mut self, summary: &EpochSummary) {
        let _ = summary;
    }
    /// Called with the trained session, between two windows: at the end of an epoch or report, just before
    /// [`epoch`](Self::epoch) reports it, and at the end of the training. It is not called for a stream that ends
    /// within a window.
    fn learned(&mut self, session: &Session) {
        let _ = session;
    }
    /// A note about the data, before the training begins: a sentence without a full stop.
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

/// The description of a training that begins.
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
    /// Windows to train on in an epoch or report.
    pub train_windows: usize,
    /// Windows kept for testing, or run to evaluate a report.
    pub test_windows: usize,
    /// Windows kept to compare epochs by.
    pub validation_windows: usize,
    /// Windows stacked at a time.
    pub batch: usize,
    /// The total number of epochs; `None` for a node that makes its own data, which has reports instead.
    pub epochs: Option<u64>,
    /// Epochs or reports of earlier runs, if this run is resumed.
    pub epochs_done: u64,
    /// The number of trained elements.
    pub parameters: usize,
    /// How often the elements are updated.
    pub updates: UpdateCounts,
    /// Whether every window has one cycle.
    pub single_cycles: bool,
    /// The position at which it starts: its node, its seed, the sizes of its splits, and the hashes of its program and
    /// its data.
    pub position: TrainingPosition,
}

/// The progress of an epoch or report.
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
    /// Windows trained in it so far.
    pub windows: usize,
    /// All windows in it.
    pub of: usize,
    /// Averages since it began.
    pub metrics: &'a Metrics,
}

/// How much a node without inputs has been trained, including earlier runs.
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
    /// Windows in total.
    pub windows: u64,
    /// Cycles in total.
    pub cycles: u64,
}

/// The results of an epoch or report.
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
    /// For a report, how much has been trained by its end.
    pub ran: Option<Ran>,
    /// Averages over the training windows.
    pub train: Metrics,
    /// Averages of the evaluation; empty if no window is kept for it or there is no node for it.
    pub test: Metrics,
    /// Averages over the windows for validation, if there are any.
    pub validation: Metrics,
    /// The best epoch or report so far, if the training searches for it.
    pub best: Option<Best>,
    /// How long it took, including its evaluation, in seconds.
    pub seconds: f64,
    /// How long its evaluation took, in seconds.
    pub evaluating: f64,
    /// The confusion matrix of the evaluation, if it was requested.
    pub confusion: Option<Confusion>,
    /// Some of the evaluated windows, if they were requested; in a [`TrainReport`], those of the last epoch only.
    pub samples: Option<EvaluatedSamples>,
    /// The programs that the backend compiled or loaded for this epoch or report within its time.
    pub compiled: Compiled,
    /// Statistics of the parameters by checkpoint key, if they were requested.
    pub parameters: IndexMap<String, ParameterStats>,
    /// The norms of the gradients that updated parameters, by checkpoint key, if they were requested: the root of the
    /// mean of the squared norms over the updates. A parameter has no entry if no adjoint trains it, or nothing updated
    /// it.
    pub gradients: IndexMap<String, f64>,
}

/// The norms of all parameters together, and of their changes.
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
    /// The norm of the parameters themselves.
    pub parameters: f64,
    /// The norm of their changes since the previous epoch or report.
    pub update: f64,
    /// The norm of their gradients, if any parameter has a gradient.
    pub gradient: Option<f64>,
}

impl Norms {
    /// The names of its numbers in logs, and the numbers.
    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let gradient = self.gradient.map(|x| ("gradient", x));
        [("norm", self.parameters), ("update", self.update)].into_iter().chain(gradient)
    }
}

/// Statistics of a parameter at the end of an epoch or report.
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
    /// The norm of its change since the previous epoch or report.
    pub update: f64,
}

impl ParameterStats {
    /// The names of its numbers in logs, and the numbers.
    pub fn numbers(&self) -> [(&'static str, f64); 4] {
        [("mean", self.mean), ("std", self.deviation), ("norm", self.norm), ("update", self.update)]
    }
}

impl EpochSummary {
    /// The norms of all parameters together, if [`parameters`](Self::parameters) were requested.
    pub fn norms(&self) -> Option<Norms> {
        let root = |squares: &mut dyn Iterator<Item = f64>| squares.map(|x| x * x).sum::<f64>().sqrt();
        let of = |number: fn(&ParameterStats) -> f64| root(&mut self.parameters.values().map(number));
        (!self.parameters.is_empty()).then(|| Norms {
            parameters: of(|stats| stats.norm),
            update: of(|stats| stats.update),
            gradient: (!self.gradients.is_empty()).then(|| root(&mut self.gradients.values().copied())),
        })
    }

    /// The summary as a JSON object on one line.
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

    /// The summary of an epoch that was trained, but not evaluated yet.
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
            samples: None,
            compiled: Compiled::default(),
            parameters: IndexMap::new(),
            gradients,
        }
    }
}

/// The result of a training.
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
    /// Whether the condition `until` holds; `None` if there is no condition.
    pub is_met: Option<bool>,
    /// Whether it ended because the best epoch or report was too long ago.
    pub out_of_patience: bool,
    /// The best epoch or report, also from an earlier run, if the training searches for it.
    pub best: Option<Best>,
    /// Whether the parameters of the best epoch or report were written to their own file.
    pub kept_best: bool,
    /// Whether a checkpoint was written.
    pub saved: bool,
    /// The programs that the backend compiled or loaded in this run.
    pub compiled: Compiled,
}

impl TrainReport {
    /// The epoch or report whose parameters are the result: the best one if it is kept in its own file, or else the
    /// last. None if it was in an earlier run, or there is none.
    pub fn result(&self) -> Option<&EpochSummary> {
        match self.best.as_ref().filter(|_| self.kept_best) {
            Some(best) => self.epochs.iter().rev().find(|epoch| epoch.epoch == best.epoch),
            None => self.epochs.last(),
        }
    }
}
