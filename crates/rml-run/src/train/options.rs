//! How to train.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use indexmap::IndexMap;
use rml_ir::Precision;
use rml_ir::typed::StaticValue;

use crate::engines::Engine;

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
    /// How many cycles an epoch of a node without inputs has. It goes on to the end of its last window.
    pub cycles: Option<usize>,
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
            cycles: None,
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
