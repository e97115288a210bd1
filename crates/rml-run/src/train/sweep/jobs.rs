//! Trains the runs of a sweep, several at once, and ends the worse ones early if the sweep is pruned.

use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use rml_base::codes::run as codes;
use rml_base::{Error, Sources};
use rml_data::Dataset;
use rml_driver::Source;

use super::prune::{self, Compared, SweepStage};
use super::{Job, RunOutcome, RunState, SweepObserver, SweepOptions, run};

/// The stack size of a thread that compiles: that of a process's main thread.
const STACK: usize = 8 << 20;
/// How often a process checks whether the runs of other processes have ended.
const LOOK: Duration = Duration::from_millis(200);

/// Trains all runs.
pub(super) struct All<'a> {
    pub(super) source: &'a Source,
    pub(super) data: &'a dyn Dataset,
    pub(super) observer: &'a mut dyn SweepObserver,
    /// How many runs have ended.
    pub(super) ended: usize,
    /// Whether the observer knows that other processes train the remaining runs.
    pub(super) waits: bool,
}

impl All<'_> {
    /// Trains runs to lengths at which they are compared, and ends the worse ones. The others have their outcome at the
    /// full length, if they have been trained to it.
    ///
    /// # Errors
    /// Files that cannot be read or written.
    pub(super) fn pruned(
        &mut self,
        options: &SweepOptions,
        jobs: &mut [Job],
    ) -> Result<Vec<SweepStage>, Error> {
        let Some(prune) = &options.prune else { return Ok(Vec::new()) };
        let (mut stages, mut out) = (Vec::new(), Vec::new());
        for (length, part) in prune::stages(options) {
            self.read(&part, jobs)?;
            self.train(&part, jobs, false);
            if options.train.is_interrupted() {
                return Ok(stages);
            }
            let mut groups: Vec<Vec<Option<f64>>> = Vec::new();
            let compared = |group: &&mut [Job]| !group[0].is_out;
            for group in jobs.chunk_by_mut(|a, b| a.run.settings == b.run.settings).filter(compared) {
                let score = |job: &Job| prune::score(&options.folder, options, &job.run, length);
                groups.push(group.iter().map(score).collect::<Result<_, _>>()?);
            }
            let found = Compared::new(prune, &groups, &out);
            if let Some(tie) = found.tie(options, length) {
                self.observer.warning(&tie, &Sources::new());
            }
            out.extend(found.out());
            let kept = found.kept.iter().filter(|kept| **kept).count();
            let stage = SweepStage { length, kept, of: groups.len() };
            let alive = jobs.chunk_by_mut(|a, b| a.run.settings == b.run.settings).filter(compared);
            let worse = alive.zip(&found.kept).filter(|(_, kept)| !**kept);
            for job in worse.flat_map(|(group, _)| group) {
                self.end(&part, job)?;
            }
            self.observer.compared(stage);
            stages.push(stage);
        }
        self.read(options, jobs)?;
        Ok(stages)
    }

    /// Reads the outcomes of runs that were trained to a length.
    fn read(&self, options: &SweepOptions, jobs: &mut [Job]) -> Result<(), Error> {
        for job in jobs.iter_mut().filter(|job| !job.is_out) {
            job.run.state = RunState::Interrupted;
            run::read(&options.folder.join(&job.run.name), options, &mut job.run, false)?;
        }
        Ok(())
    }

    /// Ends a run early, unless it failed.
    fn end(&mut self, options: &SweepOptions, job: &mut Job) -> Result<(), Error> {
        job.is_out = true;
        if job.run.is_trained() {
            job.run.state = RunState::Pruned;
            run::write(&options.folder.join(&job.run.name), &job.run, options)?;
            self.tell(job);
        }
        Ok(())
    }

    /// Reports a run that has ended.
    fn tell(&mut self, job: &mut Job) {
        if !std::mem::replace(&mut job.is_told, true) {
            self.ended += 1;
            self.observer.ended(&job.run, self.ended);
        }
    }

    /// Trains all runs that do not have this length. If it is not the last one, only failures are reported.
    pub(super) fn train(&mut self, options: &SweepOptions, jobs: &mut [Job], is_last: bool) {
        let left = |job: &&mut Job| !job.is_out && !job.run.is_trained();
        self.at_a_time(options, jobs.iter_mut().filter(left).collect(), options.jobs, is_last);
        // A run that does not fit beside others is trained alone.
        if options.jobs > 1 {
            let short = jobs.iter_mut().filter(|job| !job.is_out && is_short_of_memory(&job.run)).collect();
            self.at_a_time(options, short, 1, is_last);
        }
    }

    fn at_a_time(&mut self, options: &SweepOptions, jobs: Vec<&mut Job>, at_a_time: usize, is_last: bool) {
        let (source, data) = (self.source, self.data);
        let train = |job: &mut Job| run::train(source, data, options, job);
        let mut left = jobs;
        loop {
            left = at_once(left, at_a_time, &train, |job| {
                let comes_again = at_a_time > 1 && is_short_of_memory(&job.run);
                let is_over = is_last || matches!(job.run.state, RunState::Failed(_));
                if is_over && !comes_again && !matches!(job.run.state, RunState::Interrupted) {
                    self.tell(job);
                }
            });
            if left.is_empty() || options.train.is_interrupted() {
                break;
            }
            if !std::mem::replace(&mut self.waits, true) {
                self.observer.waiting(left.len());
            }
            thread::sleep(LOOK);
        }
    }
}

fn is_short_of_memory(run: &RunOutcome) -> bool {
    matches!(&run.state, RunState::Failed(error) if error.code() == Some(codes::MEMORY_LIMIT))
}

/// Trains the runs that no other process trains, `at_a_time` of them at once, and reports each when it has ended.
/// Returns the other runs.
fn at_once<'r>(
    jobs: Vec<&'r mut Job>,
    at_a_time: usize,
    train: &(impl Fn(&mut Job) -> bool + Sync),
    mut done: impl FnMut(&mut Job),
) -> Vec<&'r mut Job> {
    let at_a_time = at_a_time.clamp(1, jobs.len().max(1));
    let queue = Mutex::new(jobs.into_iter());
    let work = |sends: mpsc::Sender<(&'r mut Job, bool)>| {
        let next = || queue.lock().ok().and_then(|mut jobs| jobs.next());
        while let Some(job) = next() {
            let has_ended = train(job);
            if sends.send((job, has_ended)).is_err() {
                return;
            }
        }
    };
    let mut left = Vec::new();
    let (sends, receives) = mpsc::channel();
    thread::scope(|scope| {
        let start = |sends| thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || work(sends));
        let started = (0..at_a_time).take_while(|_| start(sends.clone()).is_ok()).count();
        if started == 0 {
            work(sends);
        } else {
            drop(sends);
        }
        for (job, has_ended) in receives {
            if has_ended {
                done(job);
            } else {
                left.push(job);
            }
        }
    });
    left
}
