//! What runs the batches of an epoch: the node as it is, or in shards.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::Error;
use rml_data::Windows;
use rml_ir::Value;

use super::carried::Restart;
use super::options::TrainOptions;
use super::shards::Shards;
use crate::checkpoint::{Checkpoint, Policy, Setup};
use crate::runner::{Averages, Family, Runner};
use crate::session::Session;

/// A node that is trained batch by batch.
pub(super) enum Steps<'f> {
    /// Each batch is stacked windows of one run.
    Whole(Box<Runner<'f>>),
    /// Each batch is divided.
    Shards(Box<Shards<'f>>),
}

impl<'f> Steps<'f> {
    /// In its initial state; all windows have that many cycles, if they have the same number of them.
    pub(super) fn new(
        family: &'f mut Family,
        setup: &Setup,
        cycles: Option<usize>,
        options: &TrainOptions,
    ) -> Result<Self, Error> {
        if setup.shards > 1 {
            let mut shards = Shards::new(family, setup, cycles, options)?;
            shards.show()?;
            return Ok(Self::Shards(Box::new(shards)));
        }
        Ok(Self::Whole(Box::new(Runner::new(family, setup.batch, cycles)?)))
    }

    /// Continues from a checkpoint.
    pub(super) fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), Error> {
        match self {
            Self::Whole(runner) => runner.restore(checkpoint, Policy::Exact),
            Self::Shards(shards) => {
                shards.restore(checkpoint)?;
                shards.show()
            }
        }
    }

    /// What restarts these states with the values that they have now.
    pub(super) fn restarting(&self, keys: IndexSet<Arc<str>>) -> Result<Restart, Error> {
        Ok(match self {
            Self::Whole(_) if keys.is_empty() => Restart::default(),
            Self::Whole(runner) => Restart::new(keys, &runner.session().snapshot()?),
            Self::Shards(shards) => Restart::new(keys, shards.first()),
        })
    }

    /// Restarts states.
    pub(super) fn restart(&mut self, restart: &Restart) -> Result<(), Error> {
        match self {
            _ if restart.is_empty() => Ok(()),
            Self::Whole(runner) => {
                let now = runner.session().snapshot()?;
                runner.continue_from(&restart.of(&now))
            }
            Self::Shards(shards) => {
                shards.restart(restart);
                shards.show()
            }
        }
    }

    /// The session that shows what is learned.
    pub(super) fn session(&self) -> &Session {
        match self {
            Self::Whole(runner) => runner.session(),
            Self::Shards(shards) => shards.session(),
        }
    }

    /// Brings that session up to date.
    pub(super) fn show(&mut self) -> Result<(), Error> {
        match self {
            Self::Whole(_) => Ok(()),
            Self::Shards(shards) => shards.show(),
        }
    }

    /// Trains on a batch, and adds its outputs to the averages. `is_last` says that an epoch ends with it.
    pub(super) fn run(
        &mut self,
        windows: &Windows,
        batch: &[usize],
        is_last: bool,
        averages: &mut Averages,
    ) -> Result<(), Error> {
        match self {
            Self::Whole(runner) => {
                let outputs = runner.run(windows, batch, is_last)?;
                averages.add(&outputs, batch.len()).map_err(|d| runner.session().fail(d))
            }
            Self::Shards(shards) => shards.step(windows, batch, is_last, averages),
        }
    }

    /// The states for a checkpoint.
    pub(super) fn states(&self) -> Result<IndexMap<Arc<str>, Value>, Error> {
        match self {
            Self::Whole(runner) => runner.session().states(),
            Self::Shards(shards) => shards.states(),
        }
    }

    /// The states that an evaluation begins with.
    pub(super) fn to_evaluate(&self) -> Result<IndexMap<Arc<str>, Value>, Error> {
        match self {
            Self::Whole(runner) => runner.session().states(),
            Self::Shards(shards) => shards.of_first(),
        }
    }
}
