//! What trains a node step by step: the node as it is, or in shards. The windows are those of the data, or those that
//! the node makes itself.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::Error;
use rml_data::Windows;
use rml_ir::Value;

use super::carried::Restart;
use super::options::TrainOptions;
use super::shards::{See, Shards, Trace};
use crate::checkpoint::{Checkpoint, Policy, Setup};
use crate::fingerprint;
use crate::rollout::{Reach, Rollout, Stretch};
use crate::runner::{Averages, Family, Runner};
use crate::session::Session;

/// A node that is trained step by step.
pub(super) enum Steps<T> {
    /// In one trace, which may have stacked windows.
    Whole(Box<T>),
    /// In several traces.
    Shards(Box<Shards<T>>),
}

impl<'f> Steps<Runner<'f>> {
    /// In its initial state; all windows of the data have that many cycles, if they have the same number of them.
    pub(super) fn on_data(
        family: &'f mut Family,
        setup: &Setup,
        cycles: Option<usize>,
        options: &TrainOptions,
    ) -> Result<Self, Error> {
        if setup.shards > 1 {
            return Self::shards(Shards::on_data(family, setup, cycles, options)?);
        }
        Ok(Self::Whole(Box::new(Runner::new(family, setup.batch, cycles)?)))
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
}

impl Steps<Rollout> {
    /// In its initial state. The node makes its own data, in windows of at most `longest` cycles.
    pub(super) fn on_its_own(
        family: &mut Family,
        setup: &Setup,
        longest: usize,
        options: &TrainOptions,
    ) -> Result<Self, Error> {
        if setup.shards > 1 {
            return Self::shards(Shards::on_its_own(family, setup, longest, options)?);
        }
        Ok(Self::Whole(Box::new(Rollout::open(family.program(setup.shard())?, &options.engine, longest)?)))
    }

    /// Trains on windows within reach, or with shards on one window of each, and adds their outputs to the averages.
    /// `see` gets the number of each trace and its outputs. Returns how many windows and cycles there were.
    pub(super) fn run(
        &mut self,
        reach: Reach,
        averages: &mut Averages,
        see: See<'_>,
    ) -> Result<(u64, u64), Error> {
        match self {
            Self::Whole(rollout) => {
                let Stretch { windows, cycles, outputs } = rollout.advance(reach)?;
                averages.add(&outputs, 1).map_err(|d| rollout.session().fail(d))?;
                see(0, &outputs)?;
                Ok((windows, cycles))
            }
            Self::Shards(shards) => Ok((1, shards.step(averages, see)? as u64)),
        }
    }
}

impl<T: Trace> Steps<T> {
    fn shards(mut shards: Shards<T>) -> Result<Self, Error> {
        shards.show()?;
        Ok(Self::Shards(Box::new(shards)))
    }

    /// Checks that all ranks begin with the same states.
    pub(super) fn agree(&self, options: &TrainOptions) -> Result<(), Error> {
        let Some(ranks) = options.group() else { return Ok(()) };
        let states = fingerprint::states(&Checkpoint::of_states(self.states()?));
        ranks.agree(&serde_json::json!({ "states": states })).map_err(|d| self.session().fail(d))
    }

    /// A note about the steps so far, given once.
    pub(super) fn note(&self) -> Option<String> {
        match self {
            Self::Whole(_) => None,
            Self::Shards(shards) => shards.note(),
        }
    }

    /// Continues from a checkpoint.
    pub(super) fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), Error> {
        match self {
            Self::Whole(trace) => trace.session_mut().restore(checkpoint, Policy::Exact),
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
            Self::Whole(trace) => Restart::new(keys, &trace.session().snapshot()?),
            Self::Shards(shards) => Restart::new(keys, shards.first()),
        })
    }

    /// Restarts states.
    pub(super) fn restart(&mut self, restart: &Restart) -> Result<(), Error> {
        match self {
            _ if restart.is_empty() => Ok(()),
            Self::Whole(trace) => {
                let now = trace.session().snapshot()?;
                trace.session_mut().set_snapshot(&restart.of(&now))
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
            Self::Whole(trace) => trace.session(),
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

    /// The states for a checkpoint.
    pub(super) fn states(&self) -> Result<IndexMap<Arc<str>, Value>, Error> {
        match self {
            Self::Whole(trace) => trace.session().states(),
            Self::Shards(shards) => shards.states(),
        }
    }

    /// The states that an evaluation begins with.
    pub(super) fn to_evaluate(&self) -> Result<IndexMap<Arc<str>, Value>, Error> {
        match self {
            Self::Whole(trace) => trace.session().states(),
            Self::Shards(shards) => shards.of_first(),
        }
    }
}
