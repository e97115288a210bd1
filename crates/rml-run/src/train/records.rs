//! What is kept of a training run: its checkpoints, the parameters of its best epoch or report, and its log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use rml_backend::Compiled;
use rml_base::Error;
use rml_base::profile::Phase;
use rml_driver::Source;
use rml_files::Written;
use rml_ir::{Data, Value};

use super::best::{Names, Search};
use super::log::{self, Log};
use super::observer::{EpochSummary, ParameterStats, TrainReport};
use super::options::TrainOptions;
use crate::checkpoint::{Checkpoint, Position};

/// What gives the states for a checkpoint.
pub(super) type States<'s> = &'s mut dyn FnMut() -> Result<IndexMap<Arc<str>, Value>, Error>;

/// Keeps what the options ask for.
#[derive(Debug)]
pub(super) struct Records<'a> {
    options: &'a TrainOptions,
    search: Option<Search>,
    log: Option<Log>,
    /// What had been compiled when the training began, and after the last epoch or report.
    compiled: (Compiled, Compiled),
    watched: Option<Watched>,
}

impl<'a> Records<'a> {
    /// Goes on with what is recorded in the position.
    ///
    /// # Errors
    /// A metric that training does not report.
    pub(super) fn new(
        options: &'a TrainOptions,
        names: &Names,
        position: &mut Position,
    ) -> Result<Self, Error> {
        // What the best one was is of no use without its parameters.
        let has_file = options.best.as_ref().is_none_or(|path| path.exists());
        let before = position.best.as_ref().filter(|_| has_file);
        let search = Search::new(options, names, before)?;
        position.best = search.as_ref().and_then(|search| search.best.clone());
        let open = |folder| Log::open(folder, names, position, options.resume.is_some());
        let log = options.log.as_ref().map(|folder| open(folder)).transpose()?;
        let compiled = options.engine.compiled();
        Ok(Self { options, search, log, compiled: (compiled.clone(), compiled), watched: None })
    }

    /// Notes the parameters as they are at the beginning, if their statistics are asked for.
    ///
    /// # Errors
    /// States that cannot be read.
    pub(super) fn watch(&mut self, names: &Names, states: States<'_>) -> Result<(), Error> {
        if !names.parameters.is_empty() {
            let before = names.parameters.iter().map(|key| (key.clone(), Vec::new())).collect();
            let mut watched = Watched { before };
            watched.see(&states()?);
            self.watched = Some(watched);
        }
        Ok(())
    }

    /// Whether the best epoch or report is too long ago.
    pub(super) fn is_over(&self, position: &Position) -> bool {
        self.search.as_ref().is_some_and(|search| search.is_over(position.epoch))
    }

    /// After an epoch or report: notes whether it is the best, and saves what is to be saved.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(super) fn add(
        &mut self,
        summary: &mut EpochSummary,
        states: States<'_>,
        position: &mut Position,
        report: &mut TrainReport,
    ) -> Result<(), Error> {
        let TrainOptions { best, save_every, engine, .. } = self.options;
        let compiled = engine.compiled();
        summary.compiled = compiled.since(&self.compiled.1);
        self.compiled.1 = compiled;
        self.look(summary, states)?;
        if let Some(search) = &mut self.search {
            let is_best = search.see(summary);
            position.best.clone_from(&search.best);
            summary.best.clone_from(&search.best);
            // Before the checkpoint: a run that ends between the two finds the best again.
            if let Some(path) = best.as_ref().filter(|_| is_best) {
                self.write(path, states, position)?;
            }
        }
        // And the log before it, for the same reason. If it fails, the checkpoint is the last that is done.
        let logged = self.log.as_mut().map_or(Ok(()), |log| log.add(summary));
        if logged.is_err() || (*save_every > 0 && position.epoch.is_multiple_of(*save_every)) {
            self.save(states, position, report)?;
        }
        logged.map_err(|e| {
            let e = e.note(format!("this is not in the log: {}", summary.json_line()));
            match &self.options.save {
                Some(file) => e.note(format!("what was learned is saved in {}", file.display())),
                None => e,
            }
        })
    }

    /// After a last report that is shorter than the others: logs it.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(super) fn add_rest(&mut self, summary: &mut EpochSummary, states: States<'_>) -> Result<(), Error> {
        self.look(summary, states)?;
        self.log.as_mut().map_or(Ok(()), |log| log.add(summary))
    }

    /// Says what the parameters are like, if that is asked for.
    fn look(&mut self, summary: &mut EpochSummary, states: States<'_>) -> Result<(), Error> {
        if let Some(watched) = &mut self.watched {
            summary.parameters = watched.see(&states()?);
        }
        Ok(())
    }

    /// At the end, be it an interruption.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(super) fn end(
        &self,
        states: States<'_>,
        position: &Position,
        report: &mut TrainReport,
    ) -> Result<(), Error> {
        report.out_of_patience = !report.interrupted && self.is_over(position);
        report.best.clone_from(&position.best);
        report.kept_best = report.best.is_some() && self.options.best.is_some();
        report.compiled = self.options.engine.compiled().since(&self.compiled.0);
        self.save(states, position, report)
    }

    /// Writes the checkpoint, if one is asked for.
    fn save(&self, states: States<'_>, position: &Position, report: &mut TrainReport) -> Result<(), Error> {
        let Some(path) = &self.options.save else { return Ok(()) };
        self.write(path, states, position)?;
        report.saved = true;
        Ok(())
    }

    fn write(&self, path: &Path, states: States<'_>, position: &Position) -> Result<(), Error> {
        self.options
            .engine
            .time(Phase::Checkpoint, || Checkpoint::at(states()?, position.clone()).write(path))?;
        tracing::debug!(epoch = position.epoch, done = position.done, "wrote a checkpoint");
        Ok(())
    }
}

/// Parameters as they were when they were last looked at.
#[derive(Debug)]
struct Watched {
    before: IndexMap<String, Vec<f64>>,
}

impl Watched {
    /// What the parameters are like now.
    fn see(&mut self, states: &IndexMap<Arc<str>, Value>) -> IndexMap<String, ParameterStats> {
        let mut all = IndexMap::new();
        for (key, before) in &mut self.before {
            let Some(now) = states.get(&**key).and_then(numbers) else { continue };
            all.insert(key.clone(), stats(before, &now));
            *before = now;
        }
        all
    }
}

/// The elements of a tensor of numbers.
fn numbers(value: &Value) -> Option<Vec<f64>> {
    match value.to_data() {
        Data::F32(v) => Some(v.into_iter().map(f64::from).collect()),
        Data::F64(v) => Some(v),
        Data::Bool(_) | Data::Int(_) => None,
    }
}

fn stats(before: &[f64], now: &[f64]) -> ParameterStats {
    let n = now.len().max(1) as f64;
    let squares = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>();
    let mean = now.iter().sum::<f64>() / n;
    ParameterStats {
        mean,
        deviation: (squares(&mut now.iter().map(|x| x - mean)) / n).sqrt(),
        norm: squares(&mut now.iter().copied()).sqrt(),
        update: squares(&mut now.iter().zip(before).map(|(now, before)| now - before)).sqrt(),
    }
}

/// Checks before any work that the files can be written.
///
/// # Errors
/// A file that cannot be, or one that has two purposes.
pub(super) fn check(options: &TrainOptions, source: &Source) -> Result<(), Error> {
    for path in [&options.save, &options.best].into_iter().flatten() {
        rml_files::check_output(path, &source.files())?;
    }
    fn file<'p>(option: &'p str, path: Option<&'p PathBuf>) -> Option<Written<'p>> {
        path.map(|path| Written::file(option, path))
    }
    let log = options.log.as_deref().map(|folder| Written::folder("log", folder, &log::FILES));
    let results = [file("save", options.save.as_ref()), file("best", options.best.as_ref()), log];
    rml_files::check_distinct(&results.into_iter().flatten().collect::<Vec<_>>())
}
