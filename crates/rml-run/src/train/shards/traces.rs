//! What the traces of shards run: windows of data, or those that the node makes itself.

use rml_base::Error;
use rml_data::Windows;
use rml_engine::KnownOutputs;

use super::Shards;
use crate::checkpoint::Setup;
use crate::rollout::{Reach, Rollout};
use crate::runner::{Averages, Family, Runner};
use crate::session::Session;
use crate::train::options::TrainOptions;

/// What runs a node window by window, and continues from any snapshot.
pub(in crate::train) trait Trace {
    fn session(&self) -> &Session;

    fn session_mut(&mut self) -> &mut Session;
}

impl Trace for Runner<'_> {
    fn session(&self) -> &Session {
        self.session()
    }

    fn session_mut(&mut self) -> &mut Session {
        self.session_mut()
    }
}

impl Trace for Rollout {
    fn session(&self) -> &Session {
        self.session()
    }

    fn session_mut(&mut self) -> &mut Session {
        self.session_mut()
    }
}

/// Gets the number of a trace and its outputs.
pub(in crate::train) type See<'s> = &'s mut dyn FnMut(usize, &[KnownOutputs]) -> Result<(), Error>;

/// What a shard has run in a step: the outputs, and its share of the windows. None if it has no window.
pub(super) type Shared = Option<(Vec<KnownOutputs>, (usize, usize))>;

impl<'f> Shards<Runner<'f>> {
    /// In its initial state; all windows of the data have that many cycles, if they have the same number of them.
    pub(in crate::train) fn on_data(
        family: &'f mut Family,
        setup: &Setup,
        cycles: Option<usize>,
        options: &TrainOptions,
    ) -> Result<Self, Error> {
        let size = setup.shard();
        let parts = (family.program(size)?.clone(), family.sharded(size)?.clone());
        Self::new(parts, Runner::gradients(family, size, cycles)?, setup, options)
    }

    /// Runs a batch: every shard its part of it, and then the updates.
    pub(in crate::train) fn step(
        &mut self,
        data: &Windows,
        batch: &[usize],
        is_last: bool,
        averages: &mut Averages,
    ) -> Result<(), Error> {
        self.step_in(self.here.clone(), (data, batch, is_last), averages)
    }

    /// The same, with the shards that are computed here in that order.
    pub(super) fn step_in(
        &mut self,
        order: impl Iterator<Item = usize>,
        (data, batch, is_last): (&Windows, &[usize], bool),
        averages: &mut Averages,
    ) -> Result<(), Error> {
        let size = self.size;
        let mut run = |runner: &mut Runner<'f>, shard: usize| {
            let [from, to] = [shard, shard + 1].map(|end| batch.len().min(end * size));
            Ok(match &batch[from..to] {
                [] => None,
                own => Some((runner.run(data, own, is_last)?, (own.len(), batch.len()))),
            })
        };
        self.train(order, &mut run, averages)?;
        Ok(())
    }
}

impl Shards<Rollout> {
    /// In its initial state. The node makes its own data, in windows of at most `longest` cycles.
    pub(in crate::train) fn on_its_own(
        family: &mut Family,
        setup: &Setup,
        longest: usize,
        options: &TrainOptions,
    ) -> Result<Self, Error> {
        let size = setup.shard();
        let parts = (family.program(size)?.clone(), family.sharded(size)?.clone());
        let rollout = Rollout::open(&parts.1.gradients, &options.engine, longest)?;
        Self::new(parts, rollout, setup, options)
    }

    /// Runs a window of each shard, and then the updates. Returns the number of cycles of the longest of these windows.
    /// `see` gets the outputs of each shard that is computed here.
    pub(in crate::train) fn step(&mut self, averages: &mut Averages, see: See<'_>) -> Result<usize, Error> {
        self.step_in(self.here.clone(), averages, see)
    }

    /// The same, with the shards that are computed here in that order.
    pub(super) fn step_in(
        &mut self,
        order: impl Iterator<Item = usize>,
        averages: &mut Averages,
        see: See<'_>,
    ) -> Result<usize, Error> {
        let shards = self.shards;
        let mut run = |rollout: &mut Rollout, shard: usize| {
            let outputs = rollout.advance(Reach { windows: 1, cycles: u64::MAX })?.outputs;
            see(shard, &outputs)?;
            Ok(Some((outputs, (1, shards))))
        };
        self.train(order, &mut run, averages)
    }
}
