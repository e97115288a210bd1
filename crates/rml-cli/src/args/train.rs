//! Flags of `rml train` and `rml infer`.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, ValueEnum};

use super::{Computing, Cutting, Preparing, Profiling, Program, Table};
use crate::values::{self, Report};

/// `rml train`.
#[derive(Args, Clone, Debug)]
#[command(group(clap::ArgGroup::new("source").required(true).multiple(true).args(["data", "windows", "cycles", "until", "stream"])))]
#[command(group(clap::ArgGroup::new("own").multiple(true).args(["windows", "cycles", "until", "stream"]).conflicts_with_all(["data", "epochs", "no_shuffle"])))]
#[command(group(clap::ArgGroup::new("several").multiple(true).args(["seeds", "sweep"]).requires("runs")))]
#[command(group(clap::ArgGroup::new("kept").multiple(true).args(["save", "runs"])))]
pub(crate) struct Train {
    #[command(flatten)]
    pub(crate) program: Program,
    /// Columns by input name: arrays [N, T, ..] are N windows of T cycles, [N, ..] one value a window. Given several
    /// times, a folder of files, or a pattern such as 'part-*.csv.gz': the windows of all of them. - is standard input
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) data: Vec<PathBuf>,
    /// Keep the data in a temporary file instead of memory, and read windows when they are trained on: the same bits,
    /// for data larger than memory
    #[arg(long, requires = "data", conflicts_with_all = ["windows", "cycles", "until", "stream"])]
    pub(crate) on_disk: bool,
    /// Without data, for a node without inputs: how many windows to train in total; a resumed run counts those of the
    /// earlier runs
    #[arg(long, value_name = "N", value_parser = values::positive)]
    pub(crate) windows: Option<usize>,
    /// Without data: how many cycles to train in total; the last window is finished
    #[arg(long, value_name = "N", value_parser = values::positive)]
    pub(crate) cycles: Option<usize>,
    /// Without data: train until metrics of the reports meet a condition, e.g. 'length >= 475 for 5' (reports in a
    /// row); exit code 1 if that never happens
    #[arg(long, value_name = "CONDITION")]
    pub(crate) until: Option<String>,
    /// Read one JSON object a cycle from standard input, answer each as soon as it is determined, and learn meanwhile
    #[arg(long, conflicts_with_all = ["windows", "test", "evaluate", "several", "runs"])]
    pub(crate) stream: bool,
    /// With --stream: end at the first refused line
    #[arg(long, requires = "stream")]
    pub(crate) strict: bool,
    /// A name that ends with .html: write a page about this training to this file, however the training ends: curves,
    /// samples, confusion matrix, parameters, time, and the command to repeat it; with --runs, a page that compares the
    /// runs. A number, without data: how many windows are averaged in a report; by default 100, or the number in the
    /// checkpoint. With --stream: how many cycles; by default 1000. Give the flag twice for both
    #[arg(long, value_name = "FILE.html|N", value_parser = values::report)]
    pub(crate) report: Vec<values::Report>,
    /// With --report FILE.html: serve the page to a browser on this machine while the training runs, and print its
    /// address
    #[arg(long, requires = "report")]
    pub(crate) view: bool,
    /// With --report FILE.html: the confusion matrix of an integer input or output of the node that evaluates, and of
    /// an output with classes or scores for them, e.g. y:logits; by default of the only such input and scores
    #[arg(long, value_name = "LABEL:OUTPUT", value_parser = values::classes, requires = "report", conflicts_with = "own")]
    pub(crate) confusion: Option<rml::Classes>,
    /// Without data: the most cycles that a window may have, or that may wait for later cycles
    #[arg(long, value_name = "CYCLES", default_value_t = rml::InferOptions::LOOK_AHEAD, value_parser = values::positive, requires = "own")]
    pub(crate) look_ahead: usize,
    /// The node to train; by default train, or that of the checkpoint
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// The node to run after each epoch, over the test windows, or after each report; by default infer, or without data
    /// evaluate, if the program has it
    #[arg(long, value_name = "NAME")]
    pub(crate) evaluate: Option<String>,
    /// Compute each batch in N parts, one after the other, and update the parameters once, by the mean of their
    /// gradients: for batches that do not fit in memory at once. Without data: learn from N environments. By default 1,
    /// or the number in the checkpoint
    #[arg(long, value_name = "N", value_parser = values::positive, conflicts_with = "stream")]
    pub(crate) shards: Option<usize>,
    /// Train together with the other processes that a launcher (torchrun, srun, mpirun) started, each with its part of
    /// the shards. By default, each process has one shard. The result is that of one process with --shards. The first
    /// process prints and writes the files
    #[arg(long, conflicts_with_all = ["stream", "runs"])]
    pub(crate) distributed: bool,
    /// With --distributed: how long to wait for another process, such as 30s, 5m or 1h
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = values::duration, requires = "distributed")]
    pub(crate) exchange_timeout: std::time::Duration,
    /// How many epochs in total; a resumed run counts those of the earlier runs
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) epochs: u64,
    /// Seed of initialisers, split and shuffling; by default 0, or that of the checkpoint
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Windows kept for testing: a share such as 0.2, or a count such as 297, drawn by the seed; last:0.2 or last:297
    /// are the last ones in the order of the data, as for a time series. By default 0.165, or those of the checkpoint.
    /// Without data: how many windows evaluate runs; by default 1
    #[arg(long, value_name = "[last:]SHARE|COUNT", value_parser = values::split)]
    pub(crate) test: Option<rml::TestSplit>,
    /// Windows kept to compare epochs by, which are neither trained on nor tested: a share or a count as for --test
    /// (last: those before the test windows), or a file or folder as for --data; by default none, or those of the
    /// checkpoint
    #[arg(long, value_name = "[last:]SHARE|COUNT|FILE|DIR", value_parser = values::validation, conflicts_with = "own")]
    pub(crate) validate: Option<values::Validation>,
    /// Keep the windows in the order of the data in every epoch
    #[arg(long)]
    pub(crate) no_shuffle: bool,
    /// Shuffle the windows in every epoch: the default, unless they are windows of a long table and states continue
    /// from one to the next
    #[arg(long, conflicts_with_all = ["no_shuffle", "own"])]
    pub(crate) shuffle: bool,
    /// Let states that continue from window to window also continue from epoch to epoch. By default, those computed
    /// from the data restart in each epoch
    #[arg(long, alias = "keep-state", conflicts_with = "own")]
    pub(crate) keep_states: bool,
    /// Write a checkpoint to this file at the end, on interruption and after epochs or reports
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// How often to save, in epochs or reports; 0 = at the end only. 200steps: after 200 updates
    #[arg(long, value_name = "N|Nsteps", default_value = "1", value_parser = values::save_every, requires = "kept")]
    pub(crate) save_every: rml::SaveEvery,
    /// Write a checkpoint to this file whenever an epoch or report is the best so far
    #[arg(long, value_name = "FILE")]
    pub(crate) best: Option<PathBuf>,
    /// End the training after this many consecutive epochs or reports without a better one
    #[arg(long, value_name = "N", value_parser = values::positive)]
    pub(crate) patience: Option<usize>,
    /// The metric that decides which epoch or report is the best, e.g. accuracy:max; by default loss:min. Without min
    /// or max, a name that ends in loss or error means the smallest value, one that ends in accuracy the greatest. A
    /// name alone means the metric of the windows for validation, else of the test, else of the training;
    /// validation.NAME, test.NAME and train.NAME choose one
    #[arg(long, value_name = "NAME[:min|max]", value_parser = values::criterion)]
    pub(crate) metric: Option<rml::Criterion>,
    /// Log each epoch or report in that folder, as metrics.jsonl, metrics.csv and events for TensorBoard; a resumed run
    /// continues in it
    #[arg(long, value_name = "DIR")]
    pub(crate) log: Option<PathBuf>,
    /// Without data: write a line for each episode that ends, with its return, its length, its end, the cycle and the
    /// row, to this file: .jsonl or .csv; a resumed run continues it. With --runs: in the folder of each run
    #[arg(long, value_name = "FILE", requires = "own", conflicts_with = "stream")]
    pub(crate) episodes: Option<PathBuf>,
    /// With --episodes: the path of the instance that says where episodes end, e.g. episodes_0; by default the
    /// outermost one with the variables ended, length and total
    #[arg(long, value_name = "PATH", requires = "episodes")]
    pub(crate) episodes_of: Option<String>,
    /// Record for each epoch or report the mean, the deviation and the norm of each parameter, and the norms of its
    /// gradient and of its change; in the log and in JSON lines
    #[arg(long)]
    pub(crate) stats: bool,
    /// Draw the learning curves of this run to this file, however the run ends: a name that ends with .svg. With
    /// --runs: for each combination of values the mean of its runs, in a band of their standard deviation
    #[arg(long, value_name = "FILE.svg", value_parser = values::svg)]
    pub(crate) plot: Option<PathBuf>,
    /// Continue from this checkpoint
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
    /// Begin with the parameters of this checkpoint; all else is as in a new training. FILE:PREFIX as for --params
    #[arg(long, value_name = "FILE[:PREFIX]", conflicts_with = "resume")]
    pub(crate) init: Option<PathBuf>,
    /// Train once for each seed and each combination of values, several runs at once, each in a folder of its own in
    /// that one with its checkpoint and its log. The same command continues with what exists
    #[arg(long, value_name = "DIR", requires = "several", conflicts_with_all = ["save", "best", "log", "resume", "profile"])]
    pub(crate) runs: Option<PathBuf>,
    /// With --runs: the seeds, such as 0..5 (0, 1, 2, 3 and 4) or 1,7,23
    #[arg(long, value_name = "SEEDS", value_parser = values::seeds, conflicts_with = "seed")]
    pub(crate) seeds: Option<values::Seeds>,
    /// With --runs: values of a static parameter, such as rate=0.1,0.3; given several times, all combinations. With
    /// --samples also a range: rate=1e-4..1e-1:log (even logarithms), units=16..256 (whole numbers, both ends included)
    #[arg(long, value_name = "NAME=VALUES|LOW..HIGH[:log]", value_parser = values::sweep)]
    pub(crate) sweep: Vec<values::Sweep>,
    /// With --sweep: draw N combinations of values instead of training all combinations; SEED is 0 by default
    #[arg(long, value_name = "N[:SEED]", value_parser = values::samples, requires = "sweep")]
    pub(crate) samples: Option<rml::SweepSamples>,
    /// With --runs: end the worse combinations early, by their best validation loss so far, or by --metric. halving: of
    /// N combinations (by default 3) one continues, and is N times as long at the next comparison; median: those that
    /// are not worse than the median of all continue, and are twice as long
    #[arg(long, value_name = "halving[:N]|median", value_parser = values::prune, requires = "runs")]
    pub(crate) prune: Option<rml::PruneRule>,
    /// With --prune: compare runs for the first time after N epochs or reports
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::positive, requires = "prune")]
    pub(crate) prune_from: usize,
    /// With --runs: how many runs at once; by default one per core
    #[arg(long, value_name = "N", value_parser = values::positive, requires = "runs")]
    pub(crate) jobs: Option<usize>,
    /// Accept NaN in the data
    #[arg(long)]
    pub(crate) allow_nan: bool,
    #[command(flatten)]
    pub(crate) table: Table,
    #[command(flatten)]
    pub(crate) preparing: Preparing,
    #[command(flatten)]
    pub(crate) cutting: Cutting,
    #[command(flatten)]
    pub(crate) profiling: Profiling,
    #[command(flatten)]
    pub(crate) computing: Computing,
}

impl Train {
    /// The recipe that turns columns into inputs.
    pub(crate) fn recipe(&self) -> Result<rml::Recipe, crate::output::Stop> {
        let recipe = self.preparing.recipe(self.table.recipe()?)?;
        Ok(rml::Recipe { cut: self.cutting.cut(), ..rml::Recipe::default() }.or(recipe))
    }

    /// The flags about data, each with whether it is given, for `refuse_unused`.
    pub(crate) fn given(&self) -> Vec<(&'static str, bool)> {
        self.table.given().into_iter().chain(self.preparing.given()).chain(self.cutting.given()).collect()
    }

    /// The page to write, if there is one.
    pub(crate) fn page(&self) -> Option<&PathBuf> {
        self.report.iter().find_map(|report| match report {
            Report::Page(path) => Some(path),
            Report::Every(_) => None,
        })
    }

    /// How many windows or cycles are averaged in a report.
    pub(crate) fn every(&self) -> Option<usize> {
        self.report.iter().find_map(|report| match report {
            Report::Every(n) => Some(*n),
            Report::Page(_) => None,
        })
    }

    /// Checks that the flags required by each of the two meanings of `--report` are given.
    pub(super) fn check(&self) -> Result<(), (ErrorKind, String)> {
        let pages = self.report.iter().filter(|report| matches!(report, Report::Page(_))).count();
        let has_own = self.windows.is_some() || self.cycles.is_some() || self.until.is_some() || self.stream;
        let wrong = if pages > 1 || self.report.len() - pages > 1 {
            (ErrorKind::ArgumentConflict, "`--report` is given twice for the same")
        } else if self.confusion.is_some() && self.runs.is_some() {
            (ErrorKind::ArgumentConflict, "`--confusion` is for the page of one training, without `--runs`")
        } else if pages < self.report.len() && !has_own {
            let what = "`--report N` needs one of `--windows`, `--cycles`, `--until` and `--stream`; a page ends with .html";
            (ErrorKind::MissingRequiredArgument, what)
        } else if pages == 0 && self.view {
            (ErrorKind::MissingRequiredArgument, "`--view` needs `--report FILE.html`")
        } else if pages == 0 && self.confusion.is_some() {
            (ErrorKind::MissingRequiredArgument, "`--confusion` needs `--report FILE.html`")
        } else {
            return Ok(());
        };
        Err((wrong.0, wrong.1.to_owned()))
    }
}

/// `rml infer`.
#[derive(Args, Debug)]
#[command(group(clap::ArgGroup::new("source").required(true).args(["data", "stream", "windows", "cycles"])))]
pub(crate) struct Infer {
    #[command(flatten)]
    pub(crate) program: Program,
    /// The checkpoint with the parameters; a node without parameters needs none. FILE:classify_0 if they have this
    /// prefix in the file and not in the program, or the other way round; FILE:net_0=model_0 replaces a prefix
    #[arg(long, value_name = "FILE[:PREFIX]")]
    pub(crate) params: Option<PathBuf>,
    /// Columns by input name, as for training
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) data: Vec<PathBuf>,
    /// Keep the data in a temporary file instead of memory, and read windows when they are run
    #[arg(long, requires = "data", conflicts_with = "stream")]
    pub(crate) on_disk: bool,
    /// Without data, for a node without inputs: how many windows to run
    #[arg(long, value_name = "N", value_parser = values::positive)]
    pub(crate) windows: Option<usize>,
    /// Without data: how many cycles to run; the last window is finished
    #[arg(long, value_name = "N", value_parser = values::positive)]
    pub(crate) cycles: Option<usize>,
    /// Read one JSON object a cycle from standard input, answer each as soon as it is determined
    #[arg(long)]
    pub(crate) stream: bool,
    /// How many cycles of the stream may wait for later ones at once; without data, the most that a window may have
    #[arg(long, value_name = "CYCLES", default_value_t = rml::InferOptions::LOOK_AHEAD, value_parser = values::positive, conflicts_with = "data")]
    pub(crate) look_ahead: usize,
    /// End the stream at the first refused line, instead of answering it with an error
    #[arg(long, conflicts_with = "data")]
    pub(crate) strict: bool,
    /// The node to run
    #[arg(long, value_name = "NAME", default_value = "infer")]
    pub(crate) node: String,
    /// Which windows of the data; by default those kept for testing if the data is that of the training, else all
    #[arg(long, value_enum, value_name = "WHICH", conflicts_with = "stream")]
    pub(crate) split: Option<SplitArg>,
    /// Restore only parameters from the checkpoint; all other states start from their initial values
    #[arg(long, requires = "params")]
    pub(crate) fresh: bool,
    /// Write the outputs to this file: .csv, .json or .npz
    #[arg(long, value_name = "FILE", conflicts_with = "stream")]
    pub(crate) out: Option<PathBuf>,
    /// Give outputs and metrics in the units of the data, if they are on the scale of an input that the training
    /// standardised
    #[arg(long, requires = "params")]
    pub(crate) unscale: bool,
    /// Print how often each class is taken for another, of an integer input or output and of an output with classes or
    /// scores for them, e.g. y:logits; by default of the only such input and scores
    #[arg(long, value_name = "LABEL:OUTPUT", num_args = 0..=1, default_missing_value = "", value_parser = values::classes_or_usual, conflicts_with = "stream")]
    pub(crate) confusion: Option<rml::Classes>,
    /// Accept NaN in the data
    #[arg(long)]
    pub(crate) allow_nan: bool,
    #[command(flatten)]
    pub(crate) table: Table,
    #[command(flatten)]
    pub(crate) cutting: Cutting,
    #[command(flatten)]
    pub(crate) profiling: Profiling,
    #[command(flatten)]
    pub(crate) computing: Computing,
}

/// Which windows of the data to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum SplitArg {
    /// Those that training kept for testing
    Test,
    /// Those that were trained on
    Train,
    /// Those that training compared its epochs by
    Validation,
    /// All
    All,
}
