//! What a training run tells of itself.

use crate::runner::Metrics;

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
