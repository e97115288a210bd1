//! The options of a training.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indexmap::IndexMap;
use rml_base::Diagnostic;
use rml_base::codes::run as codes;
use rml_data::{Amount, Dataset, Recipe, SplitRequest};
use rml_ir::Precision;
use rml_ir::typed::StaticValue;

use super::confusion::Classes;
use super::episodes::EpisodeOptions;
use super::ranks::Ranks;
use super::until::Until;
use crate::checkpoint::{Parameters, Reached, TrainingPosition};
use crate::engines::Engine;
use crate::infer::InferOptions;

/// How many windows are kept for testing, and which: drawn by the seed, or the last ones, as for a time series. For
/// data with [groups](rml_data::Windowing::group), a drawn share or count is one of groups, and the last windows are
/// those of each group.
///
/// The text form, as in options of the command: `0.2`, `297`, `last:0.2`, `last:297`.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// use rml::{TestSplit, TrainOptions};
///
/// let options = TrainOptions { test: Some(TestSplit::Count(1)), ..TrainOptions::default() };
/// let report = rml::train(&source, &data, &options, &mut ())?;
/// assert!(report.epochs[0].test.contains_key("loss"));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TestSplit {
    /// This share of all windows, rounded to the nearest count.
    Share(f64),
    /// This many windows.
    Count(usize),
    /// This share of the windows: the last ones in the order of the data.
    LastShare(f64),
    /// This many windows: the last ones in the order of the data.
    LastCount(usize),
}

impl TestSplit {
    /// The default share kept for testing: 0.165 (297 of 1797).
    pub const DEFAULT_SHARE: f64 = 0.165;
    /// The prefix of a share or count of the last windows.
    pub const LAST: &str = "last:";

    /// The request in the terms of `rml-data`.
    pub(super) fn wish(self) -> SplitRequest {
        let (amount, last) = match self {
            Self::Share(share) => (Amount::Share(share), false),
            Self::Count(count) => (Amount::Count(count), false),
            Self::LastShare(share) => (Amount::Share(share), true),
            Self::LastCount(count) => (Amount::Count(count), true),
        };
        SplitRequest { amount, last }
    }
}

impl FromStr for TestSplit {
    type Err = Diagnostic;

    /// # Errors
    /// A text that is neither a share below 1 (with a decimal point) nor a count, with or without the prefix `last:`.
    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let last = text.strip_prefix(Self::LAST);
        let number = last.unwrap_or(text);
        if let Ok(count) = number.parse() {
            return Ok(if last.is_some() { Self::LastCount(count) } else { Self::Count(count) });
        }
        match number.parse::<f64>() {
            Ok(share) if (0.0..1.0).contains(&share) => {
                Ok(if last.is_some() { Self::LastShare(share) } else { Self::Share(share) })
            }
            _ => {
                let what = "expected a share such as 0.2 (at least 0, below 1) or a count such as 297, of the last windows with last: before it";
                Err(Diagnostic::error(codes::BAD_OPTION, what).note(format!("found {text}")))
            }
        }
    }
}

impl Default for TestSplit {
    fn default() -> Self {
        Self::Share(Self::DEFAULT_SHARE)
    }
}

/// How often a training writes its checkpoint, besides at the end and on interruption.
///
/// ```
/// use rml::SaveEvery;
///
/// assert_eq!("5".parse(), Ok(SaveEvery::Epochs(5)));
/// assert_eq!("200steps".parse(), Ok(SaveEvery::Steps(200)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub enum SaveEvery {
    /// After this many epochs or reports; 0 = at the end only.
    Epochs(u64),
    /// After this many steps: updates by a batch, or without data by a window. In a training whose windows may be open,
    /// where the next window ends.
    Steps(u64),
}

impl Default for SaveEvery {
    fn default() -> Self {
        Self::Epochs(1)
    }
}

impl FromStr for SaveEvery {
    type Err = Diagnostic;

    /// # Errors
    /// A text other than a number, or a positive number followed by `steps`.
    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let steps = text.strip_suffix("steps");
        match (steps.unwrap_or(text).trim_end().parse(), steps) {
            (Ok(n), None) => Ok(Self::Epochs(n)),
            (Ok(n @ 1..), Some(_)) => Ok(Self::Steps(n)),
            (Ok(_) | Err(_), _) => {
                let what = "expected a number of epochs such as 5, or a number of steps such as 200steps";
                Err(Diagnostic::error(codes::BAD_OPTION, what).note(format!("found {text}")))
            }
        }
    }
}

/// The windows by which epochs are compared, apart from the test windows.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// use rml::{TestSplit, TrainOptions, Validate};
///
/// let validate = Some(Validate::Split(TestSplit::Share(0.25)));
/// let options = TrainOptions { validate, ..TrainOptions::default() };
/// let report = rml::train(&source, &data, &options, &mut ())?;
/// assert!(report.epochs[0].validation.contains_key("loss"));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub enum Validate {
    /// Windows of the data that are neither trained on nor tested.
    Split(TestSplit),
    /// All windows of other data.
    Data(Arc<dyn Dataset>),
}

/// The node that runs after each epoch, over the test windows, or after each report.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// use rml::{Evaluate, TrainOptions};
///
/// let options = TrainOptions { evaluate: Evaluate::Nothing, ..TrainOptions::default() };
/// let report = rml::train(&source, &data, &options, &mut ())?;
/// assert!(report.epochs[0].test.is_empty());
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Evaluate {
    /// The node `infer`, or without data the node `evaluate`, if the program has it.
    #[default]
    Usual,
    /// This node.
    Node(String),
    /// Nothing.
    Nothing,
}

/// The direction in which a metric is better.
///
/// ```
/// use rml::BestBy;
///
/// assert_eq!(BestBy::Max.to_string(), "max");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BestBy {
    /// A smaller number, as of a loss.
    Min,
    /// A greater number, as of an accuracy.
    Max,
}

impl BestBy {
    /// The better direction of a metric, if its name implies one.
    pub(crate) fn usual(metric: &str) -> Option<Self> {
        if metric.ends_with("loss") || metric.ends_with("error") {
            Some(Self::Min)
        } else if metric.ends_with("accuracy") {
            Some(Self::Max)
        } else {
            None
        }
    }
}

impl fmt::Display for BestBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Min { "min" } else { "max" })
    }
}

/// The metric by which epochs or reports are compared.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// use rml::{Criterion, BestBy, TrainOptions};
///
/// let criterion = Criterion { metric: "train.loss".to_owned(), direction: Some(BestBy::Min) };
/// let options = TrainOptions { criterion: Some(criterion), patience: Some(3), ..TrainOptions::default() };
/// let report = rml::train(&source, &data, &options, &mut ())?;
/// assert_eq!(report.best.map(|best| best.metric), Some("train.loss".to_owned()));
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Criterion {
    /// `validation.NAME`, `test.NAME` or `train.NAME`. `NAME` alone is the first of these that exists.
    pub metric: String,
    /// The better direction. `None`: the smallest value of a metric whose name ends in `loss` or `error`, the greatest
    /// of one that ends in `accuracy`, and an error for any other.
    pub direction: Option<BestBy>,
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.direction.or_else(|| BestBy::usual(&self.metric)) {
            Some(direction) => write!(f, "{}:{direction}", self.metric),
            None => f.write_str(&self.metric),
        }
    }
}

impl Default for Criterion {
    /// The smallest `loss`.
    fn default() -> Self {
        Self { metric: "loss".to_owned(), direction: Some(BestBy::Min) }
    }
}

/// The length of a training of a node without inputs, which makes its own data. Training ends when `windows`, `cycles`
/// or `until` says so, whichever comes first; if none is given, it continues until it is interrupted.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node square() -> (o)  k = param(1.0);  o = k * k;
/// #   node train() -> (loss)  loss = diff_square(true, -0.1);";
/// # let source = rml::Source::text("square.rml", text);
/// # let data = rml::Columns::new("none");
/// use rml::{Length, TrainOptions};
///
/// let length = Length { windows: Some(30), report: Some(10), ..Length::default() };
/// let options = TrainOptions { length: Some(length), ..TrainOptions::default() };
/// let report = rml::train(&source, &data, &options, &mut ())?;
/// assert_eq!(report.epochs.len(), 3);
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Length {
    /// How many windows to train in total (a resumed run counts those of earlier runs).
    pub windows: Option<u64>,
    /// How many cycles to train in total; the last window is finished.
    pub cycles: Option<u64>,
    /// The condition that ends the training.
    pub until: Option<Until>,
    /// How many windows are averaged in a report; by default [`Length::REPORT`].
    pub report: Option<u64>,
    /// The most cycles that a window may have.
    pub look_ahead: usize,
}

impl Length {
    /// The default number of windows that are averaged in a report.
    pub const REPORT: u64 = 100;

    /// Whether a run has reached this length.
    pub(super) fn is_over(&self, reached: &Reached) -> bool {
        let is_beyond = |done: u64, limit: Option<u64>| limit.is_some_and(|limit| done >= limit);
        let done = reached.length.as_ref();
        done.is_some_and(|done| is_beyond(done.windows, self.windows) || is_beyond(done.cycles, self.cycles))
    }
}

impl Default for Length {
    fn default() -> Self {
        Self { windows: None, cycles: None, until: None, report: None, look_ahead: InferOptions::LOOK_AHEAD }
    }
}

/// The options of a training. Options that are `None` are taken from the run to resume, if there is one.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// use rml::TrainOptions;
///
/// let options = TrainOptions { epochs: 20, seed: Some(3), ..TrainOptions::default() };
/// let report = rml::train(&source, &data, &options, &mut ())?;
/// assert!(report.epochs[19].train["loss"] < 0.001);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct TrainOptions {
    /// The node to run; by default `train`.
    pub node: Option<String>,
    /// The node that runs after each epoch or report.
    pub evaluate: Evaluate,
    /// Static parameters of the run node.
    pub set: IndexMap<String, StaticValue>,
    /// How many windows a step has; by default 32 if the node has a dimension `batch`, or else one per shard.
    pub batch: Option<usize>,
    /// How many shards a step is divided into; by default 1. Each shard is computed separately,
    /// and the parameters are updated once, by the mean of the gradients.
    pub shards: Option<usize>,
    /// How many epochs in total (a resumed run counts those of earlier runs).
    pub epochs: u64,
    /// The length of a training of a node without inputs, without data; it has reports instead of epochs.
    pub length: Option<Length>,
    /// The seed of initialisers, split and shuffling; by default 0.
    pub seed: Option<u64>,
    /// The windows kept for testing; by default [`TestSplit::DEFAULT_SHARE`]. Without data, how many windows the
    /// evaluation runs; by default 1.
    pub test: Option<TestSplit>,
    /// The windows that epochs are compared by. A resumed run that kept windows for this purpose keeps them.
    pub validate: Option<Validate>,
    /// Whether the windows are shuffled in each epoch. By default they are, unless they were [cut](rml_data::Windowing)
    /// from a long table and states continue from one to the next; a resumed run continues as before.
    pub shuffle: Option<bool>,
    /// Whether states that carry values of the data from one window to the next also continue from one epoch to the
    /// next. Otherwise they restart in each epoch; parameters, states of optimisers, counters and random streams always
    /// continue. A resumed run continues as before.
    pub keep_states: bool,
    /// How `num` is computed.
    pub precision: Precision,
    /// Whether NaN is accepted in the data.
    pub allow_nan: bool,
    /// How columns become inputs. A resumed run continues with its own recipe. The recipe also applies when files are
    /// [read](Recipe::selection).
    pub recipe: Recipe,
    /// The checkpoint to write: at the end, on interruption, and as often as `save_every` says.
    pub save: Option<PathBuf>,
    /// How often to save.
    pub save_every: SaveEvery,
    /// The checkpoint to write whenever an epoch or report is the best so far.
    pub best: Option<PathBuf>,
    /// After how many epochs or reports without a better one the training ends.
    pub patience: Option<u64>,
    /// The metric that decides the best epoch or report; by default the smallest `loss`. The training searches for the
    /// best one if this, `best` or `patience` is given.
    pub criterion: Option<Criterion>,
    /// The folder for a log of the metrics: JSON lines, a table, and events for TensorBoard.
    pub log: Option<PathBuf>,
    /// Whether each epoch or report has statistics of the parameters.
    pub stats: bool,
    /// The classes of the [confusion matrix](crate::EpochSummary::confusion) of the evaluation over windows of data.
    pub classes: Classes,
    /// How many windows the evaluation over windows of data [shows](crate::EpochSummary::samples).
    pub samples: usize,
    /// The checkpoint to continue from.
    pub resume: Option<PathBuf>,
    /// The parameters that a new run begins with: all parameters of the node, and no other states. A resumed run does
    /// not use them.
    pub init: Option<Parameters>,
    /// The episodes to observe and log, in a training without data.
    pub episodes: Option<EpisodeOptions>,
    /// The engine that runs the program.
    pub engine: Engine,
    /// Set from outside to stop after the current window.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// The processes that train together. Each of them calls [`train`](crate::train()) with the same program, data and
    /// options; rank 0 writes the files. The result is that of one process with the same number of
    /// [`shards`](Self::shards). By default, each rank has one shard.
    pub ranks: Option<Ranks>,
}

impl TrainOptions {
    /// Whether training should stop after the current window. Ranks stop together, after the step in which they agreed
    /// to.
    pub(super) fn is_interrupted(&self) -> bool {
        match self.group() {
            Some(ranks) => ranks.stops(),
            None => self.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::SeqCst)),
        }
    }

    /// The other processes that train, if there are any.
    pub(super) fn group(&self) -> Option<&Ranks> {
        self.ranks.as_ref().filter(|ranks| ranks.size() > 1)
    }

    /// Checks that all ranks start at the same position, and that they exchange states at the same moments.
    pub(super) fn agree(&self, position: &TrainingPosition) -> Result<(), Diagnostic> {
        match self.group() {
            Some(ranks) => ranks.agree(&self.agreed(position)),
            None => Ok(()),
        }
    }

    /// What ranks have to agree on: the position at which they start, and the options that decide when states are
    /// exchanged.
    fn agreed(&self, position: &TrainingPosition) -> serde_json::Value {
        let Self { epochs, patience, save_every, stats, length, episodes, .. } = self;
        let length =
            length.as_ref().map(|Length { windows, cycles, look_ahead, .. }| (windows, cycles, look_ahead));
        let mut all = serde_json::to_value(position).unwrap_or_default();
        for (name, value) in [
            ("epochs", serde_json::json!(epochs)),
            ("limits", serde_json::json!(length)),
            ("patience", serde_json::json!(patience)),
            ("metric", serde_json::json!(self.criterion.as_ref().map(ToString::to_string))),
            ("save", serde_json::json!(self.save.is_some())),
            ("save_every", serde_json::json!(save_every)),
            ("best file", serde_json::json!(self.best.is_some())),
            ("stats", serde_json::json!(stats)),
            ("episodes", serde_json::json!(episodes.is_some())),
        ] {
            debug_assert!(all.get(name).is_none(), "the position has an entry `{name}`");
            all[name] = value;
        }
        all
    }

    /// Whether this process writes files.
    pub(super) fn writes(&self) -> bool {
        self.group().is_none_or(Ranks::is_first)
    }
}

impl Default for TrainOptions {
    fn default() -> Self {
        Self {
            node: None,
            evaluate: Evaluate::Usual,
            set: IndexMap::new(),
            batch: None,
            shards: None,
            epochs: 10,
            length: None,
            seed: None,
            test: None,
            validate: None,
            shuffle: None,
            keep_states: false,
            precision: Precision::F32,
            allow_nan: false,
            recipe: Recipe::default(),
            save: None,
            save_every: SaveEvery::default(),
            best: None,
            patience: None,
            criterion: None,
            log: None,
            stats: false,
            classes: Classes::Nothing,
            samples: 0,
            resume: None,
            init: None,
            episodes: None,
            engine: Engine::default(),
            interrupt: None,
            ranks: None,
        }
    }
}
