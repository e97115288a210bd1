//! What is kept of a training run: its checkpoints, the parameters of its best epoch or report, and its log.

use std::path::Path;

use rml_backend::Compiled;
use rml_base::codes::run as codes;
use rml_base::profile::Phase;
use rml_base::{Diagnostic, Error};
use rml_driver::Source;

use super::best::{Names, Search};
use super::log::Log;
use super::observer::{EpochSummary, TrainReport};
use super::options::TrainOptions;
use crate::checkpoint::{Checkpoint, Position};
use crate::session::Session;

/// Keeps what the options ask for.
pub(super) struct Records<'a> {
    options: &'a TrainOptions,
    search: Option<Search>,
    log: Option<Log>,
    /// What had been compiled when the training began, and after the last epoch or report.
    compiled: (Compiled, Compiled),
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
        Ok(Self { options, search, log, compiled: (compiled.clone(), compiled) })
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
        session: &Session,
        position: &mut Position,
        report: &mut TrainReport,
    ) -> Result<(), Error> {
        let TrainOptions { best, save_every, engine, .. } = self.options;
        let compiled = engine.compiled();
        summary.compiled = compiled.since(&self.compiled.1);
        self.compiled.1 = compiled;
        if let Some(search) = &mut self.search {
            let is_best = search.see(summary);
            position.best.clone_from(&search.best);
            summary.best.clone_from(&search.best);
            // Before the checkpoint: a run that ends between the two finds the best again.
            if let Some(path) = best.as_ref().filter(|_| is_best) {
                self.write(path, session, position)?;
            }
        }
        // And the log before it, for the same reason. If it fails, the checkpoint is the last that is done.
        let logged = self.log(summary);
        if logged.is_err() || (*save_every > 0 && position.epoch.is_multiple_of(*save_every)) {
            self.save(session, position, report)?;
        }
        logged.map_err(|e| {
            let e = e.note(format!("this is not in the log: {}", summary.json_line()));
            match &self.options.save {
                Some(file) => e.note(format!("what was learned is saved in {}", file.display())),
                None => e,
            }
        })
    }

    /// Logs an epoch or report, if there is a log.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(super) fn log(&mut self, summary: &EpochSummary) -> Result<(), Error> {
        self.log.as_mut().map_or(Ok(()), |log| log.add(summary))
    }

    /// At the end, be it an interruption.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(super) fn end(
        &self,
        session: &Session,
        position: &Position,
        report: &mut TrainReport,
    ) -> Result<(), Error> {
        report.out_of_patience = !report.interrupted && self.is_over(position);
        report.best.clone_from(&position.best);
        report.compiled = self.options.engine.compiled().since(&self.compiled.0);
        self.save(session, position, report)
    }

    /// Writes the checkpoint, if one is asked for.
    fn save(&self, session: &Session, position: &Position, report: &mut TrainReport) -> Result<(), Error> {
        let Some(path) = &self.options.save else { return Ok(()) };
        self.write(path, session, position)?;
        report.saved = true;
        Ok(())
    }

    fn write(&self, path: &Path, session: &Session, position: &Position) -> Result<(), Error> {
        self.options.engine.time(Phase::Checkpoint, || {
            let states = session.states()?;
            Checkpoint::at(states, position.clone()).write(path)
        })?;
        tracing::debug!(epoch = position.epoch, done = position.done, "wrote a checkpoint");
        Ok(())
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
    match (&options.save, &options.best) {
        (Some(save), Some(best)) if save == best || rml_files::is_same(save, best) => {
            let what = format!("{} is to hold both the latest and the best parameters", best.display());
            let d = Diagnostic::error(codes::BAD_OPTION, what);
            Err(d.help("write the best ones to another file (`--best FILE`)").into())
        }
        _ => Ok(()),
    }
}
