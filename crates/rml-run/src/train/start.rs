//! The start of a training, as far as it is the same for all sources of blocks: compiles the program, and checks the
//! options, the files and the checkpoint to resume from.

use std::path::PathBuf;
use std::sync::Arc;

use rml_base::codes::analysis::NO_UPDATE;
use rml_base::codes::run as codes;
use rml_base::profile::Phase;
use rml_base::{Diagnostic, Error};
use rml_data::{Kept, Preparation, Recipe};
use rml_driver::{Options, Program, Source, interface};
use rml_files::Written;
use rml_ir::Precision;

use super::observer::Observer;
use super::options::{Length, TrainOptions};
use super::ranks::Ranks;
use super::resume::{self, Terms};
use super::{episodes, log, updates};
use crate::checkpoint::{Checkpoint, Done, Origin, Policy, Reached, Setup, TrainingPosition};
use crate::fingerprint;
use crate::runner::{Family, asked_batch, batch_size, metric_names};
use crate::session::Session;

/// The default node to train.
const TRAIN: &str = "train";
/// The help for a checkpoint that lacks parameters of a new training.
const PART: &str = "to begin with a part of the file, and with initial values elsewhere: `--init FILE:THERE=HERE`, where `HERE` is a call whose parameters are in the file";
/// No windows kept.
pub(super) const NONE: Kept = Kept { count: 0, last: false };

/// Returns the maximal number of windows of the data that is read by a recipe.
pub(super) type CountWindows<'c> = &'c mut dyn FnMut(&Recipe) -> Result<usize, Diagnostic>;

/// The parts of a training that do not depend on the source of data.
pub(super) struct Common {
    pub(super) resumed: Option<Checkpoint>,
    /// The parameters that a new run begins with.
    init: Option<Checkpoint>,
    /// The parameters that it does not begin with, although others come from a file.
    new: Vec<Arc<str>>,
    pub(super) compile: Options,
    /// How many windows a step has.
    size: usize,
    /// How many shards a step has.
    pub(super) shards: usize,
    /// How many windows are stacked: the windows of a shard.
    pub(super) stacked: usize,
    /// The requested number of windows of a step, if there is one.
    pub(super) asked: Option<usize>,
    pub(super) family: Family,
    pub(super) program: Program,
    /// Whether windows are shuffled, if this is known.
    pub(super) shuffle: Option<bool>,
    pub(super) seed: u64,
    /// Whether a node other than `train` is trained although the program has a node `train`.
    other_trains: bool,
}

impl Common {
    /// Reads the checkpoint to continue from, and compiles. `windows` returns the maximal number of windows of the data
    /// that is read by a recipe; without data, the requested number of windows is stacked. With `gradients`, the norms
    /// of gradients are outputs.
    pub(super) fn new(
        source: &Source,
        windows: Option<CountWindows<'_>>,
        options: &TrainOptions,
        gradients: bool,
    ) -> Result<Self, Error> {
        if options.writes() {
            check_files(options, source)?;
        }
        let engine = &options.engine;
        let read = |path| engine.time(Phase::Checkpoint, || Checkpoint::read(path));
        let resumed = options.resume.as_ref().map(|path| read(path)).transpose()?;
        let before = resumed.as_ref().and_then(|c| c.position.as_ref());
        let Terms { node, mut set, precision, seed, shuffle, shards } = resume::terms(options, before)?;
        check_shards(shards, options.group().map(Ranks::size))?;
        let asked = asked_batch(options.batch, &mut set)?;
        let stacks = interface(source, &node)?.is_some_and(|i| i.has_batch);
        let other_trains = node != TRAIN && interface(source, TRAIN)?.is_some();
        let known = asked.or(before.map(|p| p.setup.batch).filter(|_| stacks));
        let batch = step_size(source, &node, known, shards)?;
        let compile = Options {
            node: Some(node),
            set,
            precision,
            seed,
            gradients,
            trained: true,
            ..Options::default()
        };
        let probes = match &options.episodes {
            Some(_) if options.length.is_none() => return Err(no_environment().into()),
            Some(episodes) => episodes::probes(source, &compile, episodes.of.as_deref())?,
            None => Vec::new(),
        };
        let compile = Options { probes, ..compile };
        let mut family = Family::new(source, compile.clone(), options.engine.clone())?;
        let recipe = before.map_or(&options.recipe, |position| &position.preparation.asked);
        let size = match windows {
            None => own_size(known.unwrap_or(shards), shards)?,
            Some(count) => batch.min(count(recipe)?).max(1),
        };
        let stacked = size.div_ceil(shards);
        let program = family.program(stacked)?.clone();
        family.refuse_rejected(stacked)?;
        if let Some(checkpoint) = resumed.as_ref().filter(|_| asked.is_none()) {
            // This precedes reading data, so that a checkpoint of another program is reported as such.
            checkpoint.select(&program, Policy::Exact).map_err(|d| program.error(d))?;
        }
        let (init, new) = match &options.init {
            Some(init) if resumed.is_none() => {
                let read = engine.time(Phase::Checkpoint, || init.checkpoint())?;
                let fresh = Session::new(&program).states()?;
                let begun = read.beginning_with(&program, &fresh);
                let (init, new) = begun.map_err(|d| program.error(d.help(PART)))?;
                (Some(init), new)
            }
            Some(_) | None => (None, Vec::new()),
        };
        Ok(Self {
            resumed,
            init,
            new,
            compile,
            size,
            shards,
            stacked,
            asked,
            family,
            program,
            shuffle,
            seed,
            other_trains,
        })
    }

    /// The states that the run begins with, if they are not the initial ones of the program.
    pub(super) fn begins_with(&self) -> Option<&Checkpoint> {
        self.resumed.as_ref().or(self.init.as_ref())
    }

    /// The setup of a run with this many windows of data, some of which are kept for testing and validation.
    pub(super) fn setup(&self, windows: usize, test: Kept, validation: Kept, ragged: bool) -> Setup {
        Setup {
            node: self.compile.node.clone().unwrap_or_default(),
            double: self.compile.precision == Precision::F64,
            seed: self.seed,
            batch: self.size,
            shards: self.shards,
            shuffle: self.shuffle.unwrap_or(true),
            windows,
            test: test.count,
            validation: validation.count,
            last_test: test.last,
            last_validation: validation.last,
            ragged,
            restarts: false,
            ranges: None,
        }
    }

    /// The same setup. In a new run without `--batch`, no batch is larger than an epoch.
    pub(super) fn capped(&self, setup: Setup) -> Setup {
        if self.asked.is_some() || self.resumed.is_some() {
            return setup;
        }
        let trained = setup.windows.saturating_sub(setup.test + setup.validation + setup.left_out());
        Setup { batch: setup.batch.min(trained.max(1)), ..setup }
    }

    /// The position at the start of a new run.
    pub(super) fn position(&self, setup: Setup, length: Option<Done>, data: String) -> TrainingPosition {
        let program = fingerprint::program(self.program.sources());
        let columns = self.program.inputs().iter().map(|i| i.name.to_string()).collect();
        TrainingPosition {
            setup,
            reached: Reached { length, ..Reached::default() },
            origin: Origin { program, data, columns },
            preparation: Preparation::default(),
            best: None,
            set: Some(self.compile.set.clone()),
        }
    }

    /// The position at which a run without data starts or resumes. Its evaluation runs `windows` windows and reports
    /// the metrics `test`.
    ///
    /// # Errors
    /// A condition about metrics that do not exist; options that contradict the run to resume.
    pub(super) fn position_without_data(
        &self,
        length: &Length,
        (windows, test): (usize, &[String]),
        options: &TrainOptions,
        observer: &mut dyn Observer,
    ) -> Result<TrainingPosition, Error> {
        if let Some(until) = &length.until {
            until.check(&metric_names(&self.program), test)?;
        }
        self.warn(observer);
        let begin = Done {
            windows: 0,
            cycles: 0,
            report: length.report.unwrap_or(Length::REPORT).max(1),
            until: length.until.as_ref().map(|until| (until.to_string(), 0)),
        };
        let setup = self.setup(0, Kept { count: windows, ..NONE }, NONE, false);
        let fresh = self.position(setup, Some(begin), String::new());
        match self.before() {
            None => Ok(fresh),
            Some((before, anew)) => resume::position_without_data(before, &fresh, options, &anew, observer),
        }
    }

    /// The recipe: as the options say; in a resumed run as before.
    pub(super) fn recipe(&self, options: &TrainOptions) -> Recipe {
        match self.before() {
            None => options.recipe.clone(),
            Some((before, _)) => before.preparation.recipe(),
        }
    }

    /// Passes the warnings about the program to the observer.
    pub(super) fn warn(&self, observer: &mut dyn Observer) {
        for finding in self.program.warnings().iter() {
            let mut finding = finding.clone();
            if finding.code == NO_UPDATE && self.other_trains {
                let node = self.compile.node.as_deref().unwrap_or_default();
                finding.notes.clear();
                finding.help =
                    vec![format!("`{node}` does not train: leave `--node {node}` out, `{TRAIN}` does")];
            }
            observer.warning(&finding, self.program.sources());
        }
        let notes = [updates::empty(&self.program), updates::never_updated(&self.program)];
        notes.iter().flatten().for_each(|note| observer.note(note));
        if let [first, others @ ..] = &self.new[..] {
            let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
            observer.note(&format!("new parameters have their initial values: `{first}`{more}"));
        }
    }

    /// The position to continue from, and the states that restart.
    pub(super) fn before(&self) -> Option<(&TrainingPosition, Vec<String>)> {
        let checkpoint = self.resumed.as_ref()?;
        Some((checkpoint.position.as_ref()?, checkpoint.lacks(&self.program)))
    }
}

/// Checks that a step has at least one shard, and one for each rank.
fn check_shards(shards: usize, ranks: Option<usize>) -> Result<(), Diagnostic> {
    match (shards, ranks) {
        (_, Some(ranks)) if shards < ranks => {
            let what = format!("{ranks} processes train together, and a step has {shards} shard");
            let plural = if shards == 1 { "" } else { "s" };
            Err(Diagnostic::error(codes::BAD_OPTION, what + plural)
                .note("each process computes at least one shard of each step")
                .help(format!("start at most {shards}, or divide a step into more shards (`--shards {ranks}`); a run to resume keeps its number of shards")))
        }
        (0, _) => Err(Diagnostic::error(codes::BAD_OPTION, "a step needs at least one shard")
            .note("the number of shards is 0")
            .help("leave `--shards` out, or say how many parts a batch has: `--shards 4`")),
        _ => Ok(()),
    }
}

/// The error that a training on data has no episodes.
fn no_environment() -> Diagnostic {
    Diagnostic::error(codes::BAD_OPTION, "episodes are those of environments, and this trains on data")
        .help("leave `--episodes` out")
}

/// Refuses shards, and other processes, in a training on a stream.
pub(super) fn refuse_shards(options: &TrainOptions) -> Result<(), Diagnostic> {
    let refused = |what: &str, flag: &str| {
        let d = format!("{what}, and this trains on lines of a stream");
        Err(Diagnostic::error(codes::BAD_OPTION, d).help(format!("leave `{flag}` out")))
    };
    match (options.shards, options.group()) {
        (_, Some(_)) => refused("processes divide data or environments among them", "--distributed"),
        (Some(2..), None) => refused("shards divide data or environments among them", "--shards"),
        (Some(_) | None, None) => Ok(()),
    }
}

/// The number of windows in a step of a node that makes its own data: each shard has as many of them.
fn own_size(size: usize, shards: usize) -> Result<usize, Diagnostic> {
    if size.is_multiple_of(shards) {
        return Ok(size);
    }
    Err(Diagnostic::error(
        codes::BAD_OPTION,
        format!("{size} windows cannot be divided among {shards} shards"),
    )
    .note("the node makes its own data, so each shard has as many windows as the others")
    .help(format!("let the batch be a multiple of the shards: `--batch {}`", size.next_multiple_of(shards))))
}

/// How many windows a step has: as asked for, else by default. A node that stacks no windows has one in each shard.
fn step_size(source: &Source, node: &str, asked: Option<usize>, shards: usize) -> Result<usize, Error> {
    let stacks = interface(source, node)?.is_some_and(|i| i.has_batch);
    match asked {
        Some(1..) | None if shards > 1 && !stacks && asked.is_none_or(|asked| asked <= shards) => {
            Ok(asked.unwrap_or(shards))
        }
        Some(_) | None => batch_size(source, node, asked),
    }
}

/// Checks before any work that the files can be written.
///
/// # Errors
/// A file that cannot be written, or that is given for two purposes.
fn check_files(options: &TrainOptions, source: &Source) -> Result<(), Error> {
    for path in [&options.save, &options.best].into_iter().flatten() {
        rml_files::check_output(path, &source.files())?;
    }
    fn file<'p>(option: &'p str, path: Option<&'p PathBuf>) -> Option<Written<'p>> {
        path.map(|path| Written::file(option, path))
    }
    let log = options.log.as_deref().map(|folder| Written::folder("log", folder, &log::FILES));
    let episodes = options.episodes.as_ref().and_then(|episodes| episodes.file.as_ref());
    if let Some(path) = episodes {
        rml_files::check_output(path, &source.files())?;
    }
    let [save, best] = [("save", options.save.as_ref()), ("best", options.best.as_ref())];
    let results = [file(save.0, save.1), file(best.0, best.1), file("episodes", episodes), log];
    rml_files::check_distinct(&results.into_iter().flatten().collect::<Vec<_>>())
}
