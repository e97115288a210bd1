//! Running programs: sessions, traces, training, inference, gradients, and checkpoints of states.
//!
//! A [`Session`] runs a program cycle by cycle, and [`run`] runs it over a table, on an [`Engine`]. [`train`](train())
//! and [`infer`](infer()) run it over windows of data, [`grad`](grad()) differentiates it over a trace, [`chronogram`]
//! draws a run, and [`import_params`] and [`export_params`] exchange the parameters in a [`Checkpoint`] with other
//! libraries.

mod checkpoint;
pub mod chronogram;
mod engines;
mod export;
mod fingerprint;
mod grad;
mod import;
mod infer;
mod params;
mod profile;
mod rollout;
mod runner;
mod session;
mod settings;
mod stepper;
mod trace;
mod train;

pub use checkpoint::{Best, Checkpoint, Parameters, TrainingPosition, params_file};
pub use engines::{Engine, PlanShape};
pub use export::model::{ExportedModel, ModelExport, ModelFormat, export_model};
pub use export::{CExport, CMath, CProgram, Exported, Memory, export_c};
pub use grad::check::{CheckOptions, Checked, GradCheck, gradcheck};
pub use grad::{GradOptions, Gradients, grad};
pub use import::{Fixed, ImportedModel, ModelOptions, StateOption, import_model};
pub use infer::alone::infer_without_data;
pub use infer::stream::{Ending, Stream};
pub use infer::{InferOptions, InferReport, Split, infer};
pub use params::{Imported, export_params, import_params, params};
pub use profile::ProfileReport;
pub use rml_pictures::{Series, ShownWindow, sparkline};
pub use runner::{Metrics, columns_for};
pub use session::{Outputs, Session};
pub use settings::Settings;
pub use stepper::{Element, InputPort, OutputPort, Stepper};
pub use trace::{Cell, RunOptions, Trace, run, window_notes};
pub use train::compare::{RunsPage, run_files, runs_page};
pub use train::confusion::{Classes, Confusion};
pub use train::episode::Episode;
pub use train::episodes::EpisodeOptions;
pub use train::log::FILES as LOG_FILES;
pub use train::observer::{
    EpochSummary, Norms, Observer, ParameterStats, Progress, Ran, TrainInfo, TrainReport,
};
pub use train::options::{BestBy, Criterion, Evaluate, Length, SaveEvery, TestSplit, TrainOptions, Validate};
pub use train::plot::{learning_curves, sweep_curves};
pub use train::ranks::Ranks;
pub use train::record::{TrainPage, TrainRecord};
pub use train::samples::EvaluatedSamples;
pub use train::stream::{StreamEnd, TrainStream};
pub use train::sweep::grid::{SweepRange, SweepSamples, SweepValues};
pub use train::sweep::prune::{Prune, PruneRule, SweepStage};
pub use train::sweep::table::{Spread, SweepRow};
pub use train::sweep::{
    FILES as SWEEP_FILES, RunOutcome, RunState, SweepObserver, SweepOptions, SweepReport, sweep,
};
pub use train::train;
pub use train::until::Until;
pub use train::updates::UpdateCounts;
