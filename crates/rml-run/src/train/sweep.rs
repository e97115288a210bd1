//! Several trainings of one program: one for each seed and each combination of settings, several at once, each in its
//! own folder.
//!
//! The folder records which runs are done: a finished run has its outcome there and does not run again, and an
//! interrupted run continues from its checkpoint. Each run gives the same bits as alone, whatever runs beside it.
//!
//! Several processes, on one or more machines, can train the runs of one folder. A process that trains a run holds a
//! lock in the run's folder. The system releases the lock when the process ends in any way, so that another process can
//! continue the run.

use std::path::{Path, PathBuf};

use rml_base::{Diagnostic, Error, Sources};
use rml_data::Dataset;
use rml_driver::Source;
use rml_files::{FileStamp, create_folder, hold, write_output};

use super::episodes::EpisodeOptions;
use super::options::TrainOptions;
use crate::settings::Settings;
use grid::{SweepSamples, SweepValues};
use jobs::All;
use prune::{Prune, SweepStage};
use table::SweepRow;

mod common;
pub(crate) mod grid;
mod interval;
mod jobs;
pub(crate) mod prune;
pub(super) mod run;
pub(crate) mod table;

/// The lock file: in the folder of all runs it is held while a process compares options, in the folder of a run while a
/// process trains it.
const LOCK: &str = ".lock";
/// The table in the folder, and the one with a line for each run.
const TABLE: &str = "table.csv";
const RUNS: &str = "runs.csv";
/// The files of a sweep, in its folder ([`SweepOptions::folder`]) beside the folders of its runs.
pub const FILES: [&str; 4] = [LOCK, TABLE, RUNS, common::COMMON];

/// The options of several trainings.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// # let folder = tempfile::tempdir().expect("a folder");
/// use rml::SweepOptions;
///
/// let options = SweepOptions {
///     train: rml::TrainOptions { epochs: 2, ..Default::default() },
///     folder: folder.path().join("runs"),
///     seeds: vec![0, 1, 2],
///     ..SweepOptions::default()
/// };
/// let report = rml::sweep(&source, &data, &options, &mut ())?;
/// assert_eq!(report.runs.len(), 3);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct SweepOptions {
    /// The options that all runs share. Each run has its own files, so `save`, `log`, `best` and `resume` are ignored,
    /// and the file of `episodes` is in the folder of the run.
    /// With a `criterion` or `patience`, each run keeps its best parameters, and the table has the best epochs instead
    /// of the last ones.
    pub train: TrainOptions,
    /// The folder for the runs and the table. Existing runs in it are continued.
    pub folder: PathBuf,
    /// The seeds; if there are none, the seed of `train`.
    pub seeds: Vec<u64>,
    /// The values of static parameters: all combinations are trained, unless there are `samples`.
    pub settings: Vec<(String, SweepValues)>,
    /// How many combinations are drawn; ranges need it.
    pub samples: Option<SweepSamples>,
    /// Which combinations end early. Runs are compared by the criterion of `train`.
    pub prune: Option<Prune>,
    /// How many runs train at once, at least 1.
    pub jobs: usize,
}

impl Default for SweepOptions {
    /// One run with the default options, in the current folder.
    fn default() -> Self {
        Self {
            train: TrainOptions::default(),
            folder: PathBuf::new(),
            seeds: Vec::new(),
            settings: Vec::new(),
            samples: None,
            prune: None,
            jobs: 1,
        }
    }
}

/// Observes several trainings, for example to display them.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// # let folder = tempfile::tempdir().expect("a folder");
/// use rml::{RunOutcome, SweepObserver, SweepOptions, TrainOptions};
///
/// struct Ended(usize);
/// impl SweepObserver for Ended {
///     fn ended(&mut self, run: &RunOutcome, ended: usize) {
///         assert!(run.is_trained());
///         self.0 = ended;
///     }
/// }
/// # let train = TrainOptions { epochs: 2, ..Default::default() };
/// # let folder = folder.path().join("runs");
/// # let options = SweepOptions { train, folder, seeds: vec![0, 1], ..SweepOptions::default() };
/// let mut ended = Ended(0);
/// rml::sweep(&source, &data, &options, &mut ended)?;
/// assert_eq!(ended.0, 2);
/// # Ok(()) }
/// ```
pub trait SweepObserver {
    /// The runs begin; `ended` of them have ended before.
    fn start(&mut self, runs: usize, ended: usize) {
        let _ = (runs, ended);
    }
    /// Other processes train the remaining runs, and this process waits for them.
    fn waiting(&mut self, runs: usize) {
        let _ = runs;
    }
    /// A run has ended now, in this or another process; `ended` runs have ended so far.
    fn ended(&mut self, run: &RunOutcome, ended: usize) {
        let _ = (run, ended);
    }
    /// The combinations were compared, and the worse ones end.
    fn compared(&mut self, stage: SweepStage) {
        let _ = stage;
    }
    /// A finding that does not stop the runs, and the texts that it points into.
    fn warning(&mut self, diagnostic: &Diagnostic, sources: &Sources) {
        let _ = (diagnostic, sources);
    }
}

/// Observes nothing.
impl SweepObserver for () {}

/// How a run ended.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// # let folder = tempfile::tempdir().expect("a folder");
/// # use rml::SweepOptions;
/// #
/// # let options = SweepOptions {
/// #     train: rml::TrainOptions { epochs: 2, ..Default::default() },
/// #     folder: folder.path().join("runs"),
/// #     seeds: vec![0, 1, 2],
/// #     ..SweepOptions::default()
/// # };
/// # let report = rml::sweep(&source, &data, &options, &mut ())?;
/// assert!(matches!(report.runs[0].state, rml::RunState::Finished));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub enum RunState {
    /// It was trained to its end.
    Finished,
    /// It was trained to its end, but its condition `until` was not met.
    Missed,
    /// It failed. It continues from its last checkpoint when the command is repeated.
    Failed(Error),
    /// It was ended early, since others were better.
    Pruned,
    /// It was interrupted, or has not begun.
    Interrupted,
}

/// One of several runs.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// # let folder = tempfile::tempdir().expect("a folder");
/// # use rml::SweepOptions;
/// #
/// # let options = SweepOptions {
/// #     train: rml::TrainOptions { epochs: 2, ..Default::default() },
/// #     folder: folder.path().join("runs"),
/// #     seeds: vec![0, 1, 2],
/// #     ..SweepOptions::default()
/// # };
/// # let report = rml::sweep(&source, &data, &options, &mut ())?;
/// let run = &report.runs[2];
/// assert_eq!((run.seed, run.epoch), (Some(2), Some(2)));
/// assert!(run.is_trained());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// The name of its folder: `rate=0.1,seed=3`.
    pub name: String,
    /// The values of static parameters that the sweep sets for this run.
    pub settings: Settings,
    /// The seed of the run; `None` if all runs have the same.
    pub seed: Option<u64>,
    /// How it ended.
    pub state: RunState,
    /// The epoch or report of the metrics: the best one if it was requested, or else the last one.
    pub epoch: Option<u64>,
    /// The metrics of the run: `loss`, `validation.loss`, `test.loss`.
    pub metrics: Vec<(String, f64)>,
    /// How long all its epochs or reports took, in seconds.
    pub seconds: f64,
}

impl RunOutcome {
    /// Whether it was trained to its end.
    pub fn is_trained(&self) -> bool {
        matches!(self.state, RunState::Finished | RunState::Missed)
    }
}

/// The results of several runs.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// # let folder = tempfile::tempdir().expect("a folder");
/// # use rml::SweepOptions;
/// #
/// # let options = SweepOptions {
/// #     train: rml::TrainOptions { epochs: 2, ..Default::default() },
/// #     folder: folder.path().join("runs"),
/// #     seeds: vec![0, 1, 2],
/// #     ..SweepOptions::default()
/// # };
/// # let report = rml::sweep(&source, &data, &options, &mut ())?;
/// assert!(!report.interrupted);
/// assert!(report.table.iter().any(|row| row.metric.ends_with("loss")));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct SweepReport {
    /// The runs: combination by combination, and seed by seed within each.
    pub runs: Vec<RunOutcome>,
    /// The mean and spread of each metric for each combination, over the runs that were trained.
    pub table: Vec<SweepRow>,
    /// The comparisons after which the worse combinations ended.
    pub stages: Vec<SweepStage>,
    /// Whether it was interrupted.
    pub interrupted: bool,
}

/// Trains once for each seed and each combination of settings. Each run has a folder with its checkpoint
/// (`checkpoint.safetensors`), its log ([`TrainOptions::log`]) and, once it has ended, its outcome (`outcome.json`).
/// Beside these folders are `table.csv` and `runs.csv`.
///
/// A run that fails does not stop the others; [`RunState::Failed`] has the error.
///
/// Processes with the same folder share its runs, and each of them reports all runs at the end. If a process dies,
/// another one continues its run. The file system must support locks.
///
/// # Errors
/// A program, data or options with which no run can begin; a setting for a name that the program does not have; a
/// folder with runs of other data, another program or other options; files that cannot be written.
pub fn sweep(
    source: &Source,
    data: &dyn Dataset,
    options: &SweepOptions,
    observer: &mut dyn SweepObserver,
) -> Result<SweepReport, Error> {
    let options = &prune::checked(options)?;
    let grid = grid::grid(options)?;
    let common = common::probe(source, data, options, &grid, observer)?;
    create_folder(&options.folder)?;
    let held = hold(&options.folder, LOCK)?;
    common::check(&options.folder, &common)?;
    drop(held);
    let mut jobs = Vec::new();
    for mut run in grid {
        let folder = options.folder.join(&run.name);
        // Later changes come from another process.
        let before = run::mark(&folder);
        run::read(&folder, options, &mut run, false)?;
        let is_told = run.is_trained() || run::is_pruned(&folder);
        jobs.push(Job { run, before, is_told, is_out: false });
    }
    let ended = jobs.iter().filter(|job| job.is_told).count();
    observer.start(jobs.len(), ended);
    let mut all = All { source, data, observer, ended, waits: false };
    let stages = all.pruned(options, &mut jobs)?;
    if !options.train.is_interrupted() {
        all.train(options, &mut jobs, true);
    }
    let runs: Vec<RunOutcome> = jobs.into_iter().map(|job| job.run).collect();
    let interrupted = options.train.is_interrupted();
    let table = table::rows(&runs);
    write_output(&options.folder.join(TABLE), table::csv(&table).as_bytes())?;
    write_output(&options.folder.join(RUNS), table::runs_csv(&runs).as_bytes())?;
    Ok(SweepReport { runs, table, stages, interrupted })
}

/// The options of one run, without files.
fn options_of(options: &SweepOptions, run: &RunOutcome) -> TrainOptions {
    let mut set = options.train.set.clone();
    set.extend(run.settings.clone());
    let seed = run.seed.or(options.train.seed);
    let episodes = options.train.episodes.clone().map(|episodes| EpisodeOptions { file: None, ..episodes });
    TrainOptions {
        set,
        seed,
        episodes,
        save: None,
        best: None,
        log: None,
        resume: None,
        ..options.train.clone()
    }
}

/// Whether each run searches for its best epoch.
fn seeks_best(options: &SweepOptions) -> bool {
    options.train.criterion.is_some() || options.train.patience.is_some()
}

fn best_file(folder: &Path) -> PathBuf {
    folder.join("best.safetensors")
}

/// A run, and the outcome in its folder when the command began.
#[derive(Debug)]
struct Job {
    run: RunOutcome,
    before: Option<FileStamp>,
    /// Whether its end was reported, or it had ended before.
    is_told: bool,
    /// Whether it ended early.
    is_out: bool,
}
