//! Keepers observe a training: they are called at the end of each epoch or report, and keep records.

use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::Error;
use rml_base::profile::Phase;
use rml_ir::Value;

use super::observer::{EpochSummary, TrainReport};
use crate::checkpoint::{Checkpoint, TrainingPosition};
use crate::engines::Engine;

/// Returns the states for a checkpoint.
pub(super) type States<'s> = &'s mut dyn FnMut() -> Result<IndexMap<Arc<str>, Value>, Error>;

/// The names of the metrics and parameters that a training reports.
#[derive(Default)]
pub(super) struct Names {
    pub(super) train: Vec<String>,
    pub(super) test: Vec<String>,
    pub(super) validation: Vec<String>,
    /// The parameters whose statistics are reported.
    pub(super) parameters: Vec<String>,
}

/// Observes a training and keeps a record of it. Keepers are called in order: later keepers see what an earlier one
/// adds to a summary or position.
pub(super) trait Keeper {
    /// Training begins with these states.
    fn begin(&mut self, _: States<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// This many steps were trained. Returns whether [`part`](Self::part) is due, as soon as states can be saved.
    fn steps(&mut self, _: u64) -> bool {
        false
    }

    /// It is due to keep a record in the middle of an epoch or report.
    fn part(&mut self, _: &mut Now<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// An epoch or report has ended. After an error, later keepers are not called.
    fn epoch(&mut self, _: &mut EpochSummary, _: &mut Now<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Training has ended in the middle of a report.
    fn rest(&mut self, _: &mut EpochSummary, _: &mut Now<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Training has ended, or was interrupted.
    fn end(&mut self, _: &mut Now<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Whether training should end.
    fn is_over(&self, _: &TrainingPosition) -> bool {
        false
    }
}

/// The state of a training when keepers are called.
pub(super) struct Now<'n> {
    pub(super) position: &'n mut TrainingPosition,
    pub(super) report: &'n mut TrainReport,
    pub(super) states: States<'n>,
    pub(super) engine: &'n Engine,
    /// Whether this process writes files.
    pub(super) writes: bool,
    /// An error that ends the training after all keepers were called.
    pub(super) failed: Option<Error>,
}

impl Now<'_> {
    /// Writes a checkpoint.
    pub(super) fn write(&mut self, path: &Path) -> Result<(), Error> {
        let Self { position, states, engine, .. } = self;
        // All ranks are asked for their states.
        let states = states()?;
        if !self.writes {
            return Ok(());
        }
        engine.time(Phase::Checkpoint, || Checkpoint::at(states, position.clone()).write(path))?;
        let reached = &position.reached;
        tracing::debug!(epoch = reached.epoch, done = reached.done, "wrote a checkpoint");
        Ok(())
    }
}
