//! The loop of a training run.

use std::sync::atomic::Ordering;
use std::time::Instant;

use rml_base::codes::run as codes;
use rml_base::profile::Phase;
use rml_base::{Diagnostic, Error};
use rml_data::{Columns, Windows, order, split};
use rml_driver::{Program, Source};

use super::observer::{EpochSummary, Observer, Progress, TrainInfo, TrainReport};
use super::options::TrainOptions;
use super::start;
use crate::checkpoint::{Checkpoint, Policy, Position};
use crate::infer::{From, evaluate};
use crate::runner::{Averages, Family, Metrics, Runner};
use crate::session::Session;

/// A training run that is ready to go.
pub(super) struct Training<'a> {
    options: &'a TrainOptions,
    family: Family,
    windows: Windows,
    test: Option<Test>,
    train_set: Vec<usize>,
    /// Where the run is.
    position: Position,
    /// The states to begin with.
    resumed: Option<Checkpoint>,
}

/// What is evaluated after each epoch.
pub(super) struct Test {
    pub(super) family: Family,
    pub(super) windows: Windows,
    /// The windows kept for testing.
    pub(super) set: Vec<usize>,
}

impl<'a> Training<'a> {
    /// Compiles, binds the data, and reads the checkpoint to go on from.
    pub(super) fn new(
        source: &Source,
        data: &Columns,
        options: &'a TrainOptions,
        observer: &mut dyn Observer,
    ) -> Result<Self, Error> {
        let start = start::start(source, data, options, observer)?;
        let (train_set, test_set) = split(start.windows.count, start.position.test, start.position.seed);
        let test = start.test.map(|(family, windows)| Test { family, windows, set: test_set });
        Ok(Self {
            options,
            family: start.family,
            windows: start.windows,
            test,
            train_set,
            position: start.position,
            resumed: start.resumed,
        })
    }

    /// Trains all epochs that are left.
    pub(super) fn run(&mut self, observer: &mut dyn Observer) -> Result<TrainReport, Error> {
        let Training { options, family, windows, test, train_set, position, resumed } = self;
        let size = position.batch;
        let mut averages = Averages::new(family.program(size)?);
        let mut runner = Runner::new(family, size, windows.cycles)?;
        if let Some(checkpoint) = resumed {
            runner.restore(checkpoint, Policy::Exact)?;
        }
        averages.restore(&position.sums);
        observer.start(&TrainInfo {
            train_windows: train_set.len(),
            test_windows: position.test,
            batch: size,
            epochs: Some(options.epochs),
            epochs_done: position.epoch,
            parameters: parameters(runner.session().program()),
        });
        let mut report = TrainReport { interrupted: false, epochs: Vec::new(), is_met: None, saved: false };
        while position.epoch < options.epochs {
            let begin = Instant::now();
            let order = order(train_set, position.shuffle, position.seed, position.epoch);
            while position.done < order.len() {
                if interrupted(options) {
                    report.interrupted = true;
                    position.sums = averages.sums();
                    report.saved = save(options, runner.session(), position)?;
                    return Ok(report);
                }
                let batch = &order[position.done..order.len().min(position.done + size)];
                let within = |e: Error| e.note(format!("in epoch {}", position.epoch + 1));
                let outputs = runner.run(windows, batch).map_err(within)?;
                averages.add(&outputs, batch.len()).map_err(|d| runner.session().fail(d))?;
                position.done += batch.len();
                let metrics = averages.metrics();
                let epoch = position.epoch + 1;
                if !options.allow_nan {
                    finite(&metrics, &format!("epoch {epoch}"), position.done)
                        .map_err(|d| Error::from(d).with_sources(runner.session().program().sources()))?;
                }
                observer.batch(&Progress {
                    epoch,
                    windows: position.done,
                    of: order.len(),
                    metrics: &metrics,
                });
            }
            position.epoch += 1;
            position.done = 0;
            position.sums.clear();
            let test =
                test.as_mut().map_or(Ok(Metrics::new()), |test| test.evaluate(&runner, position.batch))?;
            let train = averages.metrics();
            averages = Averages::new(runner.session().program());
            if options.save_every > 0 && position.epoch.is_multiple_of(options.save_every) {
                report.saved = save(options, runner.session(), position)?;
            }
            let seconds = begin.elapsed().as_secs_f64();
            let summary = EpochSummary { epoch: position.epoch, ran: None, train, test, seconds };
            observer.epoch(&summary);
            report.epochs.push(summary);
        }
        report.saved = save(options, runner.session(), position)?;
        Ok(report)
    }
}

impl Test {
    /// The averages over the test windows with the states that training has now.
    fn evaluate(&mut self, trained: &Runner<'_>, batch: usize) -> Result<Metrics, Error> {
        if self.set.is_empty() {
            return Ok(Metrics::new());
        }
        let checkpoint = Checkpoint::of_states(trained.session().states()?);
        let from = From { checkpoint: &checkpoint, fresh: false };
        evaluate(&mut self.family, &self.windows, &self.set, batch, from, &mut |_, _| Ok(()))
            .map_err(|e| e.note("while the test windows were evaluated"))
    }
}

/// Training that no longer gives numbers stops before it overwrites a checkpoint that did.
pub(super) fn finite(metrics: &Metrics, within: &str, windows: usize) -> Result<(), Diagnostic> {
    let Some((name, value)) = metrics.iter().find(|(_, value)| !value.is_finite()) else { return Ok(()) };
    Err(Diagnostic::error(codes::DIVERGED, format!("training diverged: the average of `{name}` is {value}"))
        .note(format!("in {within}, after {windows} windows; nothing was saved since the last checkpoint"))
        .help("lower the learning rate where the gradient enters, or look at the scale of the inputs")
        .help("`--allow-nan` goes on in spite of it"))
}

pub(super) fn interrupted(options: &TrainOptions) -> bool {
    options.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::SeqCst))
}

/// Writes the checkpoint, if one is asked for.
pub(super) fn save(options: &TrainOptions, session: &Session, position: &Position) -> Result<bool, Error> {
    let Some(path) = &options.save else { return Ok(false) };
    options.engine.time(Phase::Checkpoint, || {
        let states = session.states()?;
        Checkpoint::at(states, position.clone()).write(path)
    })?;
    tracing::debug!(epoch = position.epoch, done = position.done, "wrote a checkpoint");
    Ok(true)
}

/// How many numbers are trained.
pub(super) fn parameters(program: &Program) -> usize {
    let flat = program.flat();
    let parameters = flat.states.values().filter(|s| s.parameter);
    parameters.map(|s| flat.vars[flat.equations[s.equation].lhs].ty.shape.len()).sum()
}
