//! The loop of a training run.

use std::sync::atomic::Ordering;
use std::time::Instant;

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};
use rml_data::{Dataset, Parts, Windows, order};
use rml_driver::{Program, Source};

use super::best::Names;
use super::confusion;
use super::observer::{EpochSummary, Observer, Progress, TrainInfo, TrainReport};
use super::options::{Classes, TrainOptions};
use super::records::Records;
use super::start;
use super::test::Test;
use super::updates::updates;
use crate::checkpoint::{Checkpoint, Policy, Position};
use crate::runner::{Averages, Family, Metrics, Runner, metric_names};

/// A training run that is ready to go.
pub(super) struct Training<'a> {
    options: &'a TrainOptions,
    family: Family,
    windows: Windows,
    test: Option<Test>,
    train_set: Vec<usize>,
    /// Where the run is.
    position: Position,
    records: Records<'a>,
    names: Names,
    /// The states to begin with.
    resumed: Option<Checkpoint>,
}

impl<'a> Training<'a> {
    /// Compiles, binds the data, and reads the checkpoint to go on from.
    pub(super) fn new(
        source: &Source,
        data: &dyn Dataset,
        options: &'a TrainOptions,
        observer: &mut dyn Observer,
    ) -> Result<Self, Error> {
        let start::Start { mut family, windows, test, mut position, resumed } =
            start::start(source, data, options, observer)?;
        let Parts { train: train_set, test: test_set, validation } = position.parts();
        if let (None, Classes::Named { .. }) = (&test, &options.classes) {
            return Err(confusion::no_node().into());
        }
        let test = test.map(|nodes| Test::new(nodes, test_set, validation, &options.classes)).transpose()?;
        let train = metric_names(family.program(position.batch)?);
        let (test_names, validation) = test.as_ref().map(Test::names).unwrap_or_default();
        let parameters = watched(options, family.program(position.batch)?);
        let names = Names { train, test: test_names, validation, parameters };
        let records = Records::new(options, &names, &mut position)?;
        Ok(Self { options, family, windows, test, train_set, position, records, names, resumed })
    }

    /// Where it begins.
    pub(super) fn into_position(self) -> Position {
        self.position
    }

    /// Trains all epochs that are left.
    pub(super) fn run(mut self, observer: &mut dyn Observer) -> Result<TrainReport, Error> {
        let Training { options, family, windows, test, train_set, position, records, names, resumed } =
            &mut self;
        let size = position.batch;
        let mut averages = Averages::new(family.program(size)?);
        let mut runner = Runner::new(family, size, windows.same_length())?;
        if let Some(checkpoint) = resumed {
            runner.restore(checkpoint, Policy::Exact)?;
        }
        averages.restore(&position.sums);
        records.watch(names, &mut || runner.session().states())?;
        observer.begun(runner.session());
        observer.start(&TrainInfo {
            train_windows: train_set.len(),
            test_windows: position.test,
            validation_windows: test.as_ref().map_or(0, Test::validation_windows),
            batch: size,
            epochs: Some(options.epochs),
            epochs_done: position.epoch,
            parameters: parameters(runner.session().program()),
            updates: updates(runner.session().program()),
            single_cycles: windows.same_length() == Some(1),
            position: position.clone(),
        });
        let mut report = TrainReport::default();
        while position.epoch < options.epochs && !records.is_over(position) && !report.interrupted {
            let begin = Instant::now();
            let order = order(train_set, position.shuffle, position.seed, position.epoch);
            epoch(&mut runner, windows, &order, position, &mut averages, options, observer)?;
            if position.done < order.len() {
                report.interrupted = true;
                position.sums = averages.sums();
                break;
            }
            position.epoch += 1;
            position.done = 0;
            position.sums.clear();
            let mut summary = EpochSummary::new(position.epoch, averages.metrics(), averages.gradients());
            averages = Averages::new(runner.session().program());
            if let Some(test) = test {
                let begin = Instant::now();
                test.evaluate(&runner, size, &mut summary)?;
                summary.evaluating = begin.elapsed().as_secs_f64();
            }
            records.add(&mut summary, &mut || runner.session().states(), position, &mut report)?;
            summary.seconds = begin.elapsed().as_secs_f64();
            observer.learned(runner.session());
            observer.epoch(&summary);
            report.epochs.push(summary);
        }
        observer.learned(runner.session());
        records.end(&mut || runner.session().states(), position, &mut report)?;
        Ok(report)
    }
}

/// Trains what is left of an epoch, up to an interruption.
fn epoch(
    runner: &mut Runner<'_>,
    windows: &Windows,
    order: &[usize],
    position: &mut Position,
    averages: &mut Averages,
    options: &TrainOptions,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let epoch = position.epoch + 1;
    let mut end = 0;
    for batch in &windows.batches(order, position.batch) {
        end += batch.len();
        if end <= position.done {
            continue;
        }
        if interrupted(options) {
            break;
        }
        let outputs = runner.run(windows, batch).map_err(|e| e.note(format!("in epoch {epoch}")))?;
        averages.add(&outputs, batch.len()).map_err(|d| runner.session().fail(d))?;
        position.done = end;
        let metrics = averages.metrics();
        if !options.allow_nan {
            finite(&metrics, &format!("epoch {epoch}"), position.done)
                .map_err(|d| Error::from(d).with_sources(runner.session().program().sources()))?;
        }
        observer.batch(&Progress { epoch, windows: position.done, of: order.len(), metrics: &metrics });
    }
    Ok(())
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

/// The parameters whose statistics are asked for.
pub(super) fn watched(options: &TrainOptions, program: &Program) -> Vec<String> {
    let states = program.flat().states.iter().filter(|(_, state)| state.parameter && options.stats);
    states.map(|(key, _)| key.to_string()).collect()
}

/// How many numbers are trained.
pub(super) fn parameters(program: &Program) -> usize {
    let flat = program.flat();
    let parameters = flat.states.values().filter(|s| s.parameter);
    parameters.map(|s| flat.vars[flat.equations[s.equation].lhs].ty.shape.len()).sum()
}
