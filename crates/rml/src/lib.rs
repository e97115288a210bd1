//! R(ML)² as a library: compile a program, run it cycle by cycle or over whole traces, train it, infer with it, and keep its
//! states in checkpoints. The command-line tool is a thin layer over this crate.
//!
//! - [`compile`] (a [`Source`] and [`Options`]) gives a [`Program`];
//! - a [`Session`] runs it cycle by cycle, [`run`] over a table of [`Columns`];
//! - [`grad`](fn@grad) differentiates it, [`gradcheck`] compares that with finite differences;
//! - [`doc`] says what is known of the library's nodes and a program's own;
//! - [`backend`] chooses what computes tensors;
//! - [`train`](fn@train) and [`infer`](fn@infer) run it over windows of data;
//! - [`memory`] limits how much of it values may take;
//! - [`import_params`] and [`export_params`] move parameters from and to other libraries.
//!
//! Every failure is an [`Error`]: diagnostics as data with the texts they point into. Nothing here prints.

pub mod backend;
mod checkpoint;
pub mod chronogram;
mod engines;
mod fingerprint;
mod grad;
mod infer;
mod params;
mod runner;
mod session;
mod settings;
mod trace;
mod train;

use rml_driver as compile;
use rml_driver as analyse;

pub use checkpoint::{Checkpoint, Position};
pub use engines::Engine;
pub use grad::{CheckOptions, Checked, GradCheck, GradOptions, Gradients, grad, gradcheck};
pub use infer::{Ending, InferOptions, InferReport, Split, Stream, infer};
pub use params::{Imported, export_params, import_params, params};
pub use rml_base::{
    Code, Diagnostic, Diagnostics, Error, FileId, Label, Severity, Sources, Span, codes, refusal, suggest,
    table, visible, visible_json, visible_name, visible_words,
};
pub use rml_data::{Column, Columns, Elements, Feed, Format, tensor};
pub use rml_driver::{
    Analysis, CheckReport, LIBRARY, Options, PRELUDE, Program, RunFacts, Source, Stage, analyse, analyse_all,
    analyse_any_batch, check, check_report, compile, differentiate, doc, dump, format,
};
pub use rml_engine::End;
pub use rml_files::{check_output, memory, write_output};
pub use rml_ir::typed::StaticValue;
pub use rml_ir::{DType, Data, InputInfo, OutputInfo, Precision, Shape, Tensor, Type, Value};
pub use rml_weights::{
    ExportOptions, FileTensor, LayoutInfo, Mapping, ParamInfo, ParamList, Stored, Summary, TensorFile,
    is_tensor_file, layouts,
};
pub use session::{Outputs, Session};
pub use settings::Settings;
pub use trace::{Cell, RunOptions, Trace, run};
pub use train::{
    EpochSummary, Evaluate, Metrics, Observer, Progress, TestSplit, TrainInfo, TrainOptions, TrainReport,
    train,
};
pub use {
    rml_analysis as analysis, rml_engine as engine, rml_ir as ir, rml_sim as sim, rml_syntax as syntax,
};

/// The pages of errors that only users of the library meet: their examples run as tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/errors/backend-failed.md")]
    mod backend_failed {}
    #[doc = include_str!("../../../docs/errors/backend-memory.md")]
    mod backend_memory {}
    #[doc = include_str!("../../../docs/errors/backend-refuses.md")]
    mod backend_refuses {}
    #[doc = include_str!("../../../docs/errors/engine-declines.md")]
    mod engine_declines {}
    #[doc = include_str!("../../../docs/errors/input-value.md")]
    mod input_value {}
    #[doc = include_str!("../../../docs/errors/look-ahead-limit.md")]
    mod look_ahead_limit {}
    #[doc = include_str!("../../../docs/errors/state-time.md")]
    mod state_time {}
    #[doc = include_str!("../../../docs/errors/state-value.md")]
    mod state_value {}
    #[doc = include_str!("../../../docs/errors/trace-ended.md")]
    mod trace_ended {}
}
