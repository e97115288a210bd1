//! Training: a node run over windows of data, epoch after epoch, its states kept in checkpoints.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use indexmap::IndexMap;
use rml_base::Error;
use rml_data::Columns;
use rml_ir::Precision;
use rml_ir::typed::StaticValue;
use training::Training;

use crate::compile::Source;
use crate::engines::Engine;

mod resume;
mod start;
mod training;

/// How many windows are kept for testing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TestSplit {
    /// That share of all windows, rounded to the nearest count.
    Share(f64),
    /// That many windows.
    Count(usize),
}

impl TestSplit {
    /// The share kept for testing when nothing is said: 0.165 (297 of 1797).
    pub const DEFAULT_SHARE: f64 = 0.165;
}

impl Default for TestSplit {
    fn default() -> Self {
        Self::Share(Self::DEFAULT_SHARE)
    }
}

/// What is run over the test windows after each epoch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Evaluate {
    /// The node `infer`, if the program has it.
    #[default]
    Infer,
    /// That node.
    Node(String),
    /// Nothing.
    Nothing,
}

/// How to train. What is `None` is that of the run to resume, if there is one.
#[derive(Clone, Debug)]
pub struct TrainOptions {
    /// The node to run; by default `train`.
    pub node: Option<String>,
    /// What is run over the test windows after each epoch.
    pub evaluate: Evaluate,
    /// Static parameters of the run node.
    pub set: IndexMap<String, StaticValue>,
    /// How many windows are stacked; by default 32 where the node has a dimension `batch`, else 1.
    pub batch: Option<usize>,
    /// How many epochs in all (a resumed run counts those done before).
    pub epochs: u64,
    /// The seed of initialisers, split and shuffling; by default 0.
    pub seed: Option<u64>,
    /// What is kept for testing; by default [`TestSplit::DEFAULT_SHARE`].
    pub test: Option<TestSplit>,
    /// Whether the windows are put in a new random order each epoch. A run to resume that did not goes on so.
    pub shuffle: bool,
    /// How `num` is computed.
    pub precision: Precision,
    /// Whether NaN in the data is let through.
    pub allow_nan: bool,
    /// The checkpoint to write: at the end, on interruption, and every `save_every` epochs.
    pub save: Option<PathBuf>,
    /// How often to save, in epochs; 0 = at the end only.
    pub save_every: u64,
    /// The checkpoint to go on from.
    pub resume: Option<PathBuf>,
    /// What runs the program.
    pub engine: Engine,
    /// Set from outside to stop after the current window.
    pub interrupt: Option<Arc<AtomicBool>>,
}

impl Default for TrainOptions {
    fn default() -> Self {
        Self {
            node: None,
            evaluate: Evaluate::Infer,
            set: IndexMap::new(),
            batch: None,
            epochs: 10,
            seed: None,
            test: None,
            shuffle: true,
            precision: Precision::F32,
            allow_nan: false,
            save: None,
            save_every: 1,
            resume: None,
            engine: Engine::default(),
            interrupt: None,
        }
    }
}

/// Scalar outputs by name, averaged over rows.
pub type Metrics = IndexMap<String, f64>;

/// What happens during training, for whoever draws it. All methods have empty defaults.
pub trait Observer {
    /// Training begins.
    fn start(&mut self, info: &TrainInfo) {
        let _ = info;
    }
    /// Another batch of windows is done.
    fn batch(&mut self, progress: &Progress<'_>) {
        let _ = progress;
    }
    /// An epoch is done, its test windows evaluated.
    fn epoch(&mut self, summary: &EpochSummary) {
        let _ = summary;
    }
    /// A finding that does not stop the training, and the texts that it points into.
    fn warning(&mut self, diagnostic: &rml_base::Diagnostic, sources: &rml_base::Sources) {
        let _ = (diagnostic, sources);
    }
}

/// Observes nothing.
impl Observer for () {}

/// What is about to be trained.
#[derive(Clone, PartialEq, Debug)]
pub struct TrainInfo {
    /// Windows to train on.
    pub train_windows: usize,
    /// Windows kept for testing.
    pub test_windows: usize,
    /// Windows stacked at a time.
    pub batch: usize,
    /// Epochs in all.
    pub epochs: u64,
    /// Epochs done before (a resumed run).
    pub epochs_done: u64,
    /// How many numbers are trained.
    pub parameters: usize,
}

/// How far an epoch is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The epoch, from 1.
    pub epoch: u64,
    /// Windows done in this epoch.
    pub windows: usize,
    /// Windows in an epoch.
    pub of: usize,
    /// Averages since the epoch began.
    pub metrics: &'a Metrics,
}

/// What an epoch gave.
#[derive(Clone, PartialEq, Debug)]
pub struct EpochSummary {
    /// The epoch, from 1.
    pub epoch: u64,
    /// Averages over the training windows.
    pub train: Metrics,
    /// Averages over the test windows; empty where there are none or there is no node to evaluate.
    pub test: Metrics,
    /// How long it took, evaluation included, in seconds.
    pub seconds: f64,
}

/// How training ended.
#[derive(Clone, PartialEq, Debug)]
pub struct TrainReport {
    /// Whether it was interrupted (the checkpoint, if any, was written).
    pub interrupted: bool,
    /// The epochs of this run.
    pub epochs: Vec<EpochSummary>,
    /// Whether a checkpoint was written.
    pub saved: bool,
}

/// Trains a node of a source on data, epoch after epoch. The trace is one: states go on from window to window and from epoch to
/// epoch. The same program, data and seed give the same bits; so does a run that was interrupted and resumed.
///
/// # Errors
/// A program or data that does not fit, a run that fails, a checkpoint that cannot be read or written.
pub fn train(
    source: &Source,
    data: &Columns,
    options: &TrainOptions,
    observer: &mut dyn Observer,
) -> Result<TrainReport, Error> {
    Training::new(source, data, options, observer)?.run(observer)
}
