//! R(ML)² as a library: it compiles a program, runs it cycle by cycle or over whole traces, trains it, infers with it,
//! and stores its states in checkpoints. The command-line tool is a thin layer over this crate. The crate re-exports
//! the public interface of the other crates.
//!
//! | to | use |
//! |---|---|
//! | compile | [`compile`](fn@compile) a [`Source`] with [`Options`] to a [`Program`]; [`dump`](fn@dump), [`differentiate`], [`format`](fn@format) |
//! | analyse a program before it runs | [`check_report`], [`analyse`]; [`doc`] for its nodes and those of the library |
//! | show a program in an editor | [`survey`](fn@survey) for its names, [`inspect`](fn@inspect) for the facts about its variables |
//! | run on slices | a [`Stepper`], cycle by cycle or window by window, without allocation |
//! | run | a [`Session`] cycle by cycle, which takes a [`Feed`] for each input; [`run`] over a table of [`Columns`] to a [`Trace`] |
//! | train and infer | [`train`](fn@train) and [`infer`](fn@infer) over windows of data; [`sweep`](fn@sweep) for several seeds and settings; a [`TrainStream`] to learn from lines; a [`Stream`] to infer on lines; states in a [`Checkpoint`] |
//! | differentiate | [`grad`](fn@grad); [`gradcheck`] compares it with finite differences |
//! | read and write data | [`Columns`] in the [`Format`] of a file; [`write_output`] |
//! | exchange weights | [`import_params`] and [`export_params`] by a [`Mapping`] between parameters and a [`TensorFile`] |
//! | import a model | [`import_model`] makes a program, a checkpoint and a mapping from an ONNX model |
//! | export a program | [`export_c`] writes it as C99, [`export_model`] as an ONNX model or as StableHLO |
//! | draw | [`chronogram`]; [`Trace::to_vcd`]; [`learning_curves`], [`sweep_curves`]; the page of a training from its [`TrainRecord`] |
//! | choose how programs run | an [`Engine`]; [`backend`] for its tensor computations; [`executor`] for a user-defined executor |
//! | measure times | a [`Profile`] that [measures](Engine::measured_by) an engine, as a [`ProfileReport`] |
//! | train in several processes | [`Ranks`], which a [launcher](launch) starts |
//! | limit memory | [`memory`] |
//!
//! Every failure is an [`Error`]: it contains diagnostics as data, with the texts that they refer to. The library
//! prints nothing.

pub mod backend;
mod cache;
pub mod executor;
pub mod launch;

pub use cache::cache_folder;
pub use rml_base::profile::{Phase, Profile};
pub use rml_base::{
    Code, Diagnostic, Diagnostics, Error, FileId, Fix, Label, Severity, Sources, Span, codes, refusal,
    suggest, table, visible, visible_json, visible_name, visible_words,
};
pub use rml_data::{
    Arranged, ArrowAnswers, ArrowCell, ArrowField, ArrowRow, ArrowRows, ArrowType, Column, ColumnMapping,
    Columns, Dataset, Dialect, Elements, Feed, Fill, Format, OnDisk, Preparation, Recipe, Rest, Selection,
    Unusable, Windowing, data_files, tensor,
};
pub use rml_driver::{
    Adjoint, Analysis, CheckReport, Index, Inspection, Inspector, LIBRARY, Meaning, NamePlace, NodePlace,
    Options, PRELUDE, Program, RunFacts, Source, Stage, Survey, Unchecked, ValueNames, Variable,
    VariableKind, VariableName, adjoint, analyse, analyse_all, analyse_any_batch, check, check_report,
    compile, differentiate, doc, dump, format, inspect, is_keyword, keywords, survey,
};
pub use rml_engine::End;
pub use rml_files::contents::files_below;
pub use rml_files::{
    Written, check_distinct, check_output, create_folder, digest, memory, write_output, write_outputs,
};
pub use rml_ir::typed::StaticValue;
pub use rml_ir::{DType, Data, InputInfo, OutputInfo, Precision, Shape, Tensor, Type, Value};
pub use rml_run::{
    Best, BestBy, CExport, CMath, CProgram, Cell, CheckOptions, Checked, Checkpoint, Classes, Confusion,
    Criterion, Element, Ending, Engine, Episode, EpisodeOptions, EpochSummary, Evaluate, EvaluatedSamples,
    ExportedModel, Fixed, GradCheck, GradOptions, Gradients, Imported, ImportedModel, InferOptions,
    InferReport, InputPort, LOG_FILES, Length, Metrics, ModelExport, ModelFormat, ModelOptions, Norms,
    Observer, OutputPort, Outputs, ParameterStats, Parameters, PlanShape, ProfileReport, Progress, Prune,
    PruneRule, Ran, Ranks, RunOptions, RunOutcome, RunState, RunsPage, SWEEP_FILES, SaveEvery, Series,
    Session, Settings, ShownWindow, Split, Spread, StateOption, Stepper, Stream, StreamEnd, SweepObserver,
    SweepOptions, SweepRange, SweepReport, SweepRow, SweepSamples, SweepStage, SweepValues, TestSplit, Trace,
    TrainInfo, TrainOptions, TrainPage, TrainRecord, TrainReport, TrainStream, TrainingPosition, Until,
    UpdateCounts, Validate, chronogram, columns_for, export_c, export_model, export_params, grad, gradcheck,
    import_model, import_params, infer, infer_without_data, learning_curves, params, params_file, run,
    run_files, runs_page, sparkline, sweep, sweep_curves, train, window_notes,
};
pub use rml_weights::{
    ExportOptions, FileTensor, LayoutInfo, Mapping, ParamInfo, ParamList, Stored, Summary, TensorFile,
    is_tensor_file, layouts,
};
pub use {
    rml_analysis as analysis, rml_collective as collective, rml_engine as engine, rml_ir as ir,
    rml_plan as plan, rml_sim as sim,
};

/// Documentation pages whose examples run as tests: on the use from Rust, and on errors that occur only in the library.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/cookbook/rust.md")]
    mod cookbook {}
    #[doc = include_str!("../../../docs/adding-an-executor.md")]
    mod adding_an_executor {}
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
    #[doc = include_str!("../../../docs/errors/peer-lost.md")]
    mod peer_lost {}
    #[doc = include_str!("../../../docs/errors/ranks-differ.md")]
    mod ranks_differ {}
    #[doc = include_str!("../../../docs/errors/state-time.md")]
    mod state_time {}
    #[doc = include_str!("../../../docs/errors/state-value.md")]
    mod state_value {}
    #[doc = include_str!("../../../docs/errors/trace-ended.md")]
    mod trace_ended {}
}
