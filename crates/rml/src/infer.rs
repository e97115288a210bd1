//! Inference: a node run with the parameters of a checkpoint, over data or cycle by cycle over JSON lines.

use std::path::PathBuf;

use indexmap::IndexMap;
use rml_ir::Precision;
use rml_ir::typed::StaticValue;

use crate::compile::Source;
use crate::data::Columns;
use crate::error::Error;
use crate::train::Metrics;

/// Which windows of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Split {
    /// The test windows if the data is what the checkpoint was trained on, else all.
    #[default]
    Auto,
    /// The windows that training kept for testing.
    Test,
    /// The windows that were trained on.
    Train,
    /// All windows.
    All,
}

/// How to infer.
#[derive(Clone, Debug)]
pub struct InferOptions {
    /// The node to run.
    pub node: String,
    /// The checkpoint with the parameters.
    pub params: PathBuf,
    /// Static parameters of the run node.
    pub set: IndexMap<String, StaticValue>,
    /// How many windows are stacked; `None` = as in training.
    pub batch: Option<usize>,
    /// How `num` is computed; `None` = as in training.
    pub precision: Option<Precision>,
    /// Which windows.
    pub split: Split,
    /// Whether NaN in the data is let through.
    pub allow_nan: bool,
    /// Whether the outputs are kept.
    pub keep_outputs: bool,
}

impl InferOptions {
    /// Node `infer` with the parameters of `params`, all else by default.
    pub fn new(params: impl Into<PathBuf>) -> Self {
        Self {
            node: "infer".into(),
            params: params.into(),
            set: IndexMap::new(),
            batch: None,
            precision: None,
            split: Split::Auto,
            allow_nan: false,
            keep_outputs: false,
        }
    }
}

/// What inference gave.
#[derive(Clone, PartialEq, Debug)]
pub struct InferReport {
    /// Which windows were run (never [`Split::Auto`]).
    pub split: Split,
    /// How many.
    pub windows: usize,
    /// Averages of the scalar outputs.
    pub metrics: Metrics,
    /// The outputs, one row a window (`[windows, ..]`, or `[windows, cycles, ..]` where there are several a window), if kept.
    pub outputs: Option<Columns>,
    /// Findings that did not stop it.
    pub warnings: rml_base::Diagnostics,
}

/// Runs over data.
///
/// # Errors
/// A program, data or checkpoint that does not fit; a run that fails.
pub fn infer(source: &Source, data: &Columns, options: &InferOptions) -> Result<InferReport, Error> {
    let _ = (source, data, options);
    unimplemented!()
}

/// A program that reads JSON objects, one a cycle, and answers with JSON objects, one a cycle.
#[derive(Debug)]
pub struct Stream {
    _private: (),
}

impl Stream {
    /// Compiles and loads.
    ///
    /// # Errors
    /// A program or checkpoint that does not fit.
    pub fn new(source: &Source, options: &InferOptions) -> Result<Self, Error> {
        let _ = (source, options);
        unimplemented!()
    }

    /// Feeds one line, `{"x": [..], "end": false}`; a missing or `null` entry is absent. Returns the lines that became known,
    /// `{"cycle": 0, "o": 1.5}`, without line ends. A blank line is nothing.
    ///
    /// # Errors
    /// A line that is not such an object; what goes wrong in the run.
    pub fn line(&mut self, line: &str) -> Result<Vec<String>, Error> {
        let _ = line;
        unimplemented!()
    }

    /// The end of the input: what was still waiting for the end of the trace.
    ///
    /// # Errors
    /// What goes wrong in the run.
    pub fn finish(self) -> Result<Vec<String>, Error> {
        unimplemented!()
    }
}
