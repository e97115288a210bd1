//! The position of a training run: its setup, and its progress.

use rml_data::{Kept, Parts, Preparation, Ranges, split};
use serde::{Deserialize, Serialize};

use crate::settings::{self, Settings};

/// The position of a training run. Together with the states, it lets a resumed run continue as if it had not stopped.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// use rml::{Observer, TrainInfo};
///
/// struct Seed(u64);
/// impl Observer for Seed {
///     fn start(&mut self, info: &TrainInfo) {
///         self.0 = info.position.setup.seed;
///     }
/// }
/// let mut seed = Seed(0);
/// let options = rml::TrainOptions { seed: Some(7), ..Default::default() };
/// rml::train(&source, &data, &options, &mut seed)?;
/// assert_eq!(seed.0, 7);
/// # Ok(()) }
/// ```
// Files contain one flat object with the fields in this order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TrainingPosition {
    /// How it is trained.
    #[serde(flatten)]
    pub setup: Setup,
    /// How far it has progressed.
    #[serde(flatten)]
    pub reached: Reached,
    /// Identifies its program and its data.
    #[serde(flatten)]
    pub origin: Origin,
    /// How the data was prepared.
    #[serde(default, skip_serializing_if = "Preparation::is_empty")]
    pub preparation: Preparation,
    /// The best epoch or report, if the run searches for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<Best>,
    /// The static parameters that were set; `None` if they were not recorded.
    #[serde(default, with = "settings")]
    pub set: Option<Settings>,
}

/// How a node is trained. It stays the same during a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// The node that is trained.
    pub node: String,
    /// Whether numbers are in double precision.
    pub double: bool,
    /// The seed of initialisers, split and shuffling.
    pub seed: u64,
    /// Windows in a step: stacked at a time, or divided into shards.
    pub batch: usize,
    /// Shards of a step.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub shards: usize,
    /// Whether the windows are shuffled each epoch.
    pub shuffle: bool,
    /// Windows in the data.
    pub windows: usize,
    /// Windows kept for testing.
    pub test: usize,
    /// Windows kept to compare epochs by.
    #[serde(default, skip_serializing_if = "is_none")]
    pub validation: usize,
    /// Whether the windows for testing are the last ones instead of being drawn by the seed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub last_test: bool,
    /// The same for the windows to compare epochs by, among those that are not for testing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub last_validation: bool,
    /// Whether windows have different numbers of cycles.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ragged: bool,
    /// Whether states that carry values of the data from one window to the next restart at the start of each epoch.
    #[serde(default, skip_serializing_if = "is_false")]
    pub restarts: bool,
    /// The use of each window, if groups, or windows that share rows, were divided; otherwise the counts and the seed
    /// determine it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranges: Option<Ranges>,
}

/// How far a run has come.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Reached {
    /// Epochs done, or reports of a run without epochs.
    pub epoch: u64,
    /// Windows done in the epoch or report after that.
    pub done: usize,
    /// The total length of a run without epochs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Done>,
    /// Sums of the metrics over the windows of [`done`](Self::done): name, bits of the sum, weight.
    pub sums: Vec<(String, u64, u64)>,
}

/// The total length of a run without epochs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Done {
    /// Windows in total.
    pub windows: u64,
    /// Cycles in total.
    pub cycles: u64,
    /// How many windows are averaged in a report.
    pub report: u64,
    /// The condition that ends the training, and the number of latest consecutive reports in which it was true.
    pub until: Option<(String, u64)>,
}

/// Identifies the program and the data of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// Identifies the program's text.
    pub program: String,
    /// Identifies the data in these columns.
    pub data: String,
    /// The columns that were read.
    pub columns: Vec<String>,
}

/// The best epoch or report of a training so far.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// use rml::{Criterion, TrainOptions};
///
/// let options = TrainOptions { criterion: Some(Criterion::default()), ..TrainOptions::default() };
/// let report = rml::train(&source, &data, &options, &mut ())?;
/// let best = report.best.expect("there is a loss");
/// assert!(best.value() < 1.0);
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Best {
    /// The metric, with the windows that it is computed over: `validation.loss`.
    pub metric: String,
    /// `min` or `max`.
    pub direction: String,
    /// The best value of the metric, as bits.
    pub(crate) bits: u64,
    /// The epoch or report, from 1.
    pub epoch: u64,
}

impl Best {
    /// The best value of the metric.
    pub fn value(&self) -> f64 {
        f64::from_bits(self.bits)
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn one() -> usize {
    1
}

fn is_one(shards: &usize) -> bool {
    *shards == 1
}

fn is_none(windows: &usize) -> bool {
    *windows == 0
}

impl Setup {
    /// The windows kept for testing, and to compare epochs by.
    pub(crate) fn kept(&self) -> (Kept, Kept) {
        let Self { test, last_test, validation, last_validation, .. } = *self;
        (Kept { count: test, last: last_test }, Kept { count: validation, last: last_validation })
    }

    /// How many windows are stacked: the windows of one shard.
    pub(crate) fn shard(&self) -> usize {
        self.batch.div_ceil(self.shards)
    }

    /// How many windows are not used, since they share rows with windows for testing or validation.
    pub(crate) fn left_out(&self) -> usize {
        self.ranges.as_ref().map_or(0, |ranges| Ranges::count(&ranges.left_out))
    }

    /// The use of each window of the data.
    pub(crate) fn parts(&self) -> Parts {
        if let Some(ranges) = &self.ranges {
            return ranges.parts(self.windows);
        }
        let (test, validation) = self.kept();
        split(self.windows, test, validation, self.seed)
    }
}

impl TrainingPosition {
    /// Whether the numbers are possible for a run.
    pub(super) fn is_possible(&self) -> bool {
        let (Setup { batch, windows, test, validation, ragged, .. }, Reached { done, sums, .. }) =
            (&self.setup, &self.reached);
        let sums = |most: u64| sums.iter().all(|(_, _, n)| *n <= most);
        if self.setup.shards == 0 {
            return false;
        }
        if let Some(length) = &self.reached.length {
            return *batch > 0
                && (*done as u64) < length.report
                && *done as u64 <= length.windows
                && length.windows <= length.cycles
                && sums(length.cycles.saturating_mul(self.setup.shards as u64));
        }
        let counts = |ranges: &Ranges| {
            ranges.is_possible(*windows)
                && [Ranges::count(&ranges.test), Ranges::count(&ranges.validation)] == [*test, *validation]
        };
        if !self.setup.ranges.as_ref().is_none_or(counts) {
            return false;
        }
        let left = [*test, *validation, self.setup.left_out()];
        let train = left.iter().try_fold(*windows, |rest, n| rest.checked_sub(*n));
        // If windows have different lengths, batches have different sizes.
        let is_end = |train: usize| *ragged || done.is_multiple_of(*batch) || *done == train;
        let is_done = |train: usize| train > 0 && *done <= train && is_end(train);
        *batch > 0 && train.is_some_and(is_done) && sums((*windows as u64).saturating_mul(1 << 20))
    }
}
