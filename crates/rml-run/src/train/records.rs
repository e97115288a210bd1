//! The records of a training. Each kind of record is a [`Keeper`]: statistics of parameters, the best epoch, the log,
//! the checkpoint.

use std::path::Path;

use rml_backend::Compiled;
use rml_base::Error;

use super::best::Search;
use super::keeper::{Keeper, Names, Now, States};
use super::log::Log;
use super::observer::EpochSummary;
use super::options::{SaveEvery, TrainOptions};
use super::stats::Watched;
use super::until::Goal;
use crate::checkpoint::TrainingPosition;
use crate::engines::Engine;

/// The keepers that the options ask for.
pub(super) struct Records<'a>(Vec<Box<dyn Keeper + 'a>>);

impl<'a> Records<'a> {
    /// Continues from the records in the position. A new kind of record is one line in this function.
    pub(super) fn new(
        options: &'a TrainOptions,
        names: &Names,
        position: &mut TrainingPosition,
    ) -> Result<Self, Error> {
        fn boxed<'a>(keeper: impl Keeper + 'a) -> Box<dyn Keeper + 'a> {
            Box::new(keeper)
        }
        let goal = options.length.as_ref().and_then(|length| length.until.as_ref()).map(Goal);
        let search = Search::new(options, names, position)?;
        let log = options.log.as_ref().filter(|_| options.writes());
        let log = log.map(|folder| Log::open(folder, names, position, options));
        // The log precedes the checkpoint: a run that stops between the two logs the epoch again.
        let keepers = [
            goal.map(boxed),
            Some(boxed(Compiling::new(&options.engine))),
            Watched::new(&names.parameters).map(boxed),
            search.map(boxed),
            log.transpose()?.map(boxed),
            options.save.as_deref().map(|file| boxed(Saving { file, every: options.save_every, steps: 0 })),
        ];
        Ok(Self(keepers.into_iter().flatten().collect()))
    }
}

impl Keeper for Records<'_> {
    fn begin(&mut self, states: States<'_>) -> Result<(), Error> {
        self.0.iter_mut().try_for_each(|keeper| keeper.begin(states))
    }

    fn epoch(&mut self, summary: &mut EpochSummary, now: &mut Now<'_>) -> Result<(), Error> {
        self.0.iter_mut().try_for_each(|keeper| keeper.epoch(summary, now))?;
        now.failed.take().map_or(Ok(()), Err)
    }

    fn steps(&mut self, steps: u64) -> bool {
        let mut is_due = false;
        for keeper in &mut self.0 {
            is_due |= keeper.steps(steps);
        }
        is_due
    }

    fn part(&mut self, now: &mut Now<'_>) -> Result<(), Error> {
        self.0.iter_mut().try_for_each(|keeper| keeper.part(now))
    }

    fn rest(&mut self, summary: &mut EpochSummary, now: &mut Now<'_>) -> Result<(), Error> {
        self.0.iter_mut().try_for_each(|keeper| keeper.rest(summary, now))
    }

    fn end(&mut self, now: &mut Now<'_>) -> Result<(), Error> {
        self.0.iter_mut().try_for_each(|keeper| keeper.end(now))
    }

    fn is_over(&self, position: &TrainingPosition) -> bool {
        self.0.iter().any(|keeper| keeper.is_over(position))
    }
}

/// Reports what the backend compiled.
struct Compiling {
    /// The programs compiled before the training began, and by the end of the last epoch or report.
    before: (Compiled, Compiled),
}

impl Compiling {
    fn new(engine: &Engine) -> Self {
        let compiled = engine.compiled();
        Self { before: (compiled.clone(), compiled) }
    }
}

impl Keeper for Compiling {
    fn epoch(&mut self, summary: &mut EpochSummary, now: &mut Now<'_>) -> Result<(), Error> {
        let compiled = now.engine.compiled();
        summary.compiled = compiled.since(&self.before.1);
        self.before.1 = compiled;
        Ok(())
    }

    fn end(&mut self, now: &mut Now<'_>) -> Result<(), Error> {
        now.report.compiled = now.engine.compiled().since(&self.before.0);
        Ok(())
    }
}

/// Writes the checkpoint.
struct Saving<'a> {
    file: &'a Path,
    every: SaveEvery,
    /// How many steps were trained since it was written in the middle of an epoch.
    steps: u64,
}

impl Keeper for Saving<'_> {
    fn epoch(&mut self, _: &mut EpochSummary, now: &mut Now<'_>) -> Result<(), Error> {
        let is_due = match self.every {
            SaveEvery::Epochs(every) => every > 0 && now.position.reached.epoch.is_multiple_of(every),
            SaveEvery::Steps(_) => false,
        };
        if is_due || now.failed.is_some() {
            self.end(now)?;
        }
        let saved = |e: Error| e.note(format!("what was learned is saved in {}", self.file.display()));
        now.failed = now.failed.take().map(saved);
        Ok(())
    }

    fn steps(&mut self, steps: u64) -> bool {
        let SaveEvery::Steps(every) = self.every else { return false };
        self.steps += steps;
        self.steps >= every
    }

    fn part(&mut self, now: &mut Now<'_>) -> Result<(), Error> {
        self.steps = 0;
        self.end(now)
    }

    fn end(&mut self, now: &mut Now<'_>) -> Result<(), Error> {
        now.write(self.file)?;
        now.report.saved = true;
        Ok(())
    }
}
