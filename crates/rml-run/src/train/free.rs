//! Training a node that makes its own data: from window to window, and from report to report.

use rml_base::Error;
use rml_driver::Source;

use super::confusion;
use super::confusion::Classes;
use super::course::{Blocks, Course};
use super::episodes::Episodes;
use super::evaluation::Evaluation;
use super::keeper::Names;
use super::observer::{EpochSummary, Observer, Ran, TrainInfo, TrainReport};
use super::options::{Length, TrainOptions};
use super::start::{Common, refuse_shards};
use crate::checkpoint::{Done, Policy, Reached, TrainingPosition};
use crate::rollout::{Reach, Rollout};
use crate::runner::Averages;
use crate::session::Session;

/// A training without data, compiled and checked, that has not started.
pub(super) struct Free<'a> {
    blocks: Rollouts<'a>,
    course: Course<'a>,
}

impl<'a> Free<'a> {
    /// Compiles, and reads the checkpoint to continue from.
    pub(super) fn new(
        source: &Source,
        length: &'a Length,
        options: &'a TrainOptions,
        observer: &mut dyn Observer,
    ) -> Result<Self, Error> {
        refuse_shards(options, "a node that makes its own data")?;
        let common = Common::new(source, None, options, options.stats)?;
        let mut rollout = Rollout::open(&common.program, &options.engine, length.look_ahead)?;
        let mut evaluation = Evaluation::new(source, length, options, &common.compile)?;
        if let Classes::Named { .. } = options.classes {
            return Err(confusion::no_node().into());
        }
        let (windows, test) = evaluation.as_ref().map_or((0, Vec::new()), |e| (e.windows(), e.names()));
        let position = common.position_without_data(length, (windows, &test), options, observer)?;
        if let Some(checkpoint) = common.begins_with() {
            rollout.session_mut().restore(checkpoint, Policy::Exact)?;
        }
        if let Some(evaluation) = &mut evaluation {
            evaluation.warn(observer);
            if let Some(note) = evaluation.note().filter(|_| options.test.is_none()) {
                observer.note(&note);
            }
            // This comes before any work, so that an error about their parameters is reported at once.
            evaluation.begin(rollout.session())?;
        }
        let names = Names { test, ..Names::default() };
        let resumed =
            common.resumed.as_ref().map(|_| position.reached.length.as_ref().map_or(0, |done| done.cycles));
        let open =
            |options| Episodes::open(options, rollout.session().program(), &common.compile.probes, resumed);
        let episodes = options.episodes.as_ref().map(open).transpose()?;
        let course = Course::new(options, rollout.session().program(), names, position)?;
        Ok(Self { blocks: Rollouts { length, rollout, evaluation, episodes }, course })
    }

    /// The position at which it starts.
    pub(super) fn position(&self) -> &TrainingPosition {
        self.course.position()
    }

    /// Trains until the training is over.
    pub(super) fn run(mut self, observer: &mut dyn Observer) -> Result<TrainReport, Error> {
        self.course.run(&mut self.blocks, observer)
    }
}

/// Windows that the node makes itself.
struct Rollouts<'a> {
    length: &'a Length,
    rollout: Rollout,
    evaluation: Option<Evaluation>,
    episodes: Option<Episodes>,
}

impl Blocks for Rollouts<'_> {
    fn session(&self) -> &Session {
        self.rollout.session()
    }

    fn advance(
        &mut self,
        reached: &Reached,
        averages: &mut Averages,
        observer: &mut dyn Observer,
    ) -> Result<Ran, Error> {
        let Some(Done { windows, cycles, report, .. }) = &reached.length else {
            return Ok(Ran { windows: 0, cycles: 0 });
        };
        let left = |done: &u64, limit: Option<u64>| limit.map_or(u64::MAX, |limit| limit - done);
        let windows = (report - reached.done as u64).min(left(windows, self.length.windows));
        let reach = Reach { windows, cycles: left(cycles, self.length.cycles) };
        let stretch = self.rollout.advance(reach)?;
        averages.add(&stretch.outputs, 1).map_err(|d| self.session().fail(d))?;
        if let Some(episodes) = &mut self.episodes {
            episodes.see(&stretch.outputs, *cycles, observer)?;
        }
        Ok(Ran { windows: stretch.windows, cycles: stretch.cycles })
    }

    fn is_over(&self, reached: &Reached) -> bool {
        self.length.is_over(reached)
    }

    fn describe(&self, info: &mut TrainInfo) {
        info.single_cycles = self.session().program().flat().windows.is_empty();
    }

    fn evaluate(&mut self, summary: &mut EpochSummary) -> Result<(), Error> {
        if let Some(evaluation) = &mut self.evaluation {
            summary.test = evaluation.run(self.rollout.session())?;
        }
        Ok(())
    }
}
