//! Training a node that makes its own data: from window to window, and from report to report.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::{Diagnostic, Error};
use rml_driver::Source;
use rml_ir::Value;

use super::confusion;
use super::confusion::Classes;
use super::course::{Blocks, Course};
use super::episode::Episode;
use super::episodes::Episodes;
use super::evaluation::Evaluation;
use super::keeper::Names;
use super::observer::{EpochSummary, Observer, Ran, TrainInfo, TrainReport};
use super::options::{Length, TrainOptions};
use super::ranks::{Ranks, differ};
use super::start::Common;
use super::steps::Steps;
use crate::checkpoint::{Done, Reached, TrainingPosition};
use crate::rollout::{Reach, Rollout, refuse_inputs};
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
        let mut common = Common::new(source, None, options, options.stats)?;
        refuse_inputs(&common.program)?;
        let mut evaluation = Evaluation::new(source, length, options, (&common.compile, common.shards))?;
        if let Classes::Named { .. } = options.classes {
            return Err(confusion::no_node().into());
        }
        let (windows, test) = evaluation.as_ref().map_or((0, Vec::new()), |e| (e.windows(), e.names()));
        let position = common.position_without_data(length, (windows, &test), options, observer)?;
        options.agree(&position)?;
        let begins_with = common.begins_with().cloned();
        let mut steps = Steps::on_its_own(&mut common.family, &position.setup, length.look_ahead, options)?;
        if let Some(checkpoint) = &begins_with {
            steps.restore(checkpoint)?;
        }
        steps.agree(options)?;
        if let Some(evaluation) = &mut evaluation {
            evaluation.warn(observer);
            if let Some(note) = evaluation.note().filter(|_| options.test.is_none()) {
                observer.note(&note);
            }
            // This comes before any work, so that an error about their parameters is reported at once.
            evaluation.begin(steps.session())?;
        }
        let names = Names { test, ..Names::default() };
        let resumed =
            common.resumed.as_ref().map(|_| position.reached.length.as_ref().map_or(0, |done| done.cycles));
        let open =
            |asked| Episodes::open(asked, &common.program, &common.compile.probes, resumed, options.writes());
        let episodes = options.episodes.as_ref().map(open).transpose()?;
        let ranks = options.group();
        let course = Course::new(options, &common.program, names, position)?;
        Ok(Self { blocks: Rollouts { length, steps, evaluation, episodes, ranks }, course })
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
    steps: Steps<Rollout>,
    evaluation: Option<Evaluation>,
    episodes: Option<Episodes>,
    ranks: Option<&'a Ranks>,
}

impl Rollouts<'_> {
    /// How far the next step may run.
    fn reach(&self, Done { windows, cycles, report, .. }: &Done, done: usize) -> Reach {
        let left = |done: &u64, limit: Option<u64>| limit.map_or(u64::MAX, |limit| limit - done);
        let windows = (report - done as u64).min(left(windows, self.length.windows));
        Reach { windows, cycles: left(cycles, self.length.cycles) }
    }

    /// Reports and logs the episodes of all ranks.
    fn tell(&mut self, own: Vec<Episode>, observer: &mut dyn Observer) -> Result<(), Error> {
        let Some(episodes) = &mut self.episodes else { return Ok(()) };
        let found = match self.ranks {
            None => own,
            Some(ranks) => of_all(ranks, &own).map_err(|d| self.steps.session().fail(d))?,
        };
        episodes.tell(&found, observer)
    }
}

/// The episodes of all ranks, in the order of their shards.
fn of_all(ranks: &Ranks, own: &[Episode]) -> Result<Vec<Episode>, Diagnostic> {
    let bytes: Vec<u8> = own.iter().flat_map(Episode::bytes).collect();
    let mut found = Vec::new();
    for (rank, bytes) in ranks.gather(&bytes)?.iter().enumerate() {
        let (all, rest) = bytes.as_chunks();
        let all: Option<Vec<Episode>> = all.iter().map(Episode::of_bytes).collect();
        let all = all.filter(|_| rest.is_empty());
        found
            .extend(all.ok_or_else(|| differ(format!("rank {rank} sent something else than its episodes")))?);
    }
    Ok(found)
}

impl Blocks for Rollouts<'_> {
    fn session(&self) -> &Session {
        self.steps.session()
    }

    fn advance(
        &mut self,
        reached: &Reached,
        averages: &mut Averages,
        observer: &mut dyn Observer,
    ) -> Result<Ran, Error> {
        let Some(done) = &reached.length else { return Ok(Ran { windows: 0, cycles: 0 }) };
        let reach = self.reach(done, reached.done);
        let mut found = Vec::new();
        let mut see = |shard: usize, outputs: &[_]| {
            if let Some(episodes) = &self.episodes {
                found.extend(episodes.see(outputs, done.cycles, shard)?);
            }
            Ok(())
        };
        let (windows, cycles) = self.steps.run(reach, averages, &mut see)?;
        self.steps.note().iter().for_each(|note| observer.note(note));
        self.tell(found, observer)?;
        Ok(Ran { windows, cycles })
    }

    fn is_over(&self, reached: &Reached) -> bool {
        self.length.is_over(reached)
    }

    fn describe(&self, info: &mut TrainInfo) {
        info.single_cycles = self.session().program().flat().windows.is_empty();
    }

    fn evaluate(&mut self, summary: &mut EpochSummary) -> Result<(), Error> {
        if let Some(evaluation) = &mut self.evaluation {
            self.steps.show()?;
            summary.test = evaluation.run(self.steps.session())?;
        }
        Ok(())
    }

    fn states(&mut self) -> Result<IndexMap<Arc<str>, Value>, Error> {
        self.steps.states()
    }

    fn show(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        self.steps.show()?;
        observer.learned(self.steps.session());
        Ok(())
    }
}
