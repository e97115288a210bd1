//! The training loop. It is the same for every source of blocks.

use std::sync::Arc;
use std::time::Instant;

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};
use rml_driver::Program;
use rml_ir::Value;

use super::keeper::{Keeper, Names, Now};
use super::observer::{EpochSummary, Observer, Progress, Ran, TrainInfo, TrainReport};
use super::options::TrainOptions;
use super::records::Records;
use super::still::Still;
use super::updates::updates;
use crate::checkpoint::{Reached, TrainingPosition};
use crate::runner::{Averages, Metrics, metric_names};
use crate::session::Session;

/// A source of blocks to train on: windows of data, a node that makes its own data, or lines of a stream.
pub(super) trait Blocks {
    /// The session that is trained, or one that [`show`](Self::show) brings up to date.
    fn session(&self) -> &Session;

    /// Trains on the next block, and adds its outputs to the averages. Returns how much was trained.
    fn advance(
        &mut self,
        reached: &Reached,
        averages: &mut Averages,
        observer: &mut dyn Observer,
    ) -> Result<Ran, Error>;

    /// Whether training has reached its length.
    fn is_over(&self, reached: &Reached) -> bool;

    /// Completes the description of the training, for example by the number of windows in an epoch.
    fn describe(&self, _: &mut TrainInfo) {}

    /// Evaluates an epoch or report.
    fn evaluate(&mut self, _: &mut EpochSummary) -> Result<(), Error> {
        Ok(())
    }

    /// How many steps a block had.
    fn steps(&self, ran: &Ran) -> u64 {
        ran.windows
    }

    /// Whether averages must be finite after each block; otherwise only at the end of a report.
    fn is_checked_at_once(&self) -> bool {
        true
    }

    /// Returns whether states can be saved after this block. If so, a source that cannot always save keeps them
    /// together with `reached`.
    fn settle(&mut self, _reached: &dyn Fn() -> Reached) -> bool {
        true
    }

    /// The progress when states could be saved last, for a source that cannot always save.
    fn settled(&mut self) -> Option<&mut Reached> {
        None
    }

    /// The finding that the averages are not finite, with what the data says about it.
    fn diverged(&self, finding: Diagnostic) -> Diagnostic {
        finding
    }

    /// The finding that a loss among these averages is far larger than the data explain.
    fn exploded(&self, _: &Metrics, _within: &str) -> Option<Diagnostic> {
        None
    }

    /// The states to save.
    fn states(&mut self) -> Result<IndexMap<Arc<str>, Value>, Error> {
        self.session().states()
    }

    /// Shows the learned states to the observer.
    ///
    /// # Errors
    /// The states cannot be read.
    fn show(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        observer.learned(self.session());
        Ok(())
    }
}

/// A training in progress: its options, its progress, and its records.
pub(super) struct Course<'a> {
    options: &'a TrainOptions,
    position: TrainingPosition,
    averages: Averages,
    records: Records<'a>,
    report: TrainReport,
    /// How many windows an epoch or report has.
    of: usize,
    /// When the current epoch or report began.
    began: Instant,
    /// Checks whether parameters change, until it has reported an epoch that changes none.
    still: Option<Still>,
    /// Whether the warning about a loss far larger than the data was given.
    exploded: bool,
}

impl<'a> Course<'a> {
    /// Starts at a position. `names` has the metrics of the evaluation.
    pub(super) fn new(
        options: &'a TrainOptions,
        program: &Program,
        names: Names,
        mut position: TrainingPosition,
    ) -> Result<Self, Error> {
        let parameters = program.flat().states.iter().filter(|(_, state)| state.parameter && options.stats);
        let parameters = parameters.map(|(key, _)| key.to_string()).collect();
        let names = Names { train: metric_names(program), parameters, ..names };
        let mut averages = Averages::new(program);
        averages.restore(&position.reached.sums);
        let records = Records::new(options, &names, &mut position)?;
        let (report, began) = (TrainReport::default(), Instant::now());
        Ok(Self { options, position, averages, records, report, of: 0, began, still: None, exploded: false })
    }

    pub(super) fn position(&self) -> &TrainingPosition {
        &self.position
    }

    /// Trains until the training is over.
    pub(super) fn run(
        mut self,
        blocks: &mut dyn Blocks,
        observer: &mut dyn Observer,
    ) -> Result<TrainReport, Error> {
        self.begin(blocks, observer)?;
        while !self.is_over(blocks) {
            if self.options.is_interrupted() {
                return self.end(blocks, true, observer);
            }
            self.step(blocks, observer)?;
        }
        self.end(blocks, false, observer)
    }

    /// Tells the observer that the training begins.
    pub(super) fn begin(&mut self, blocks: &dyn Blocks, observer: &mut dyn Observer) -> Result<(), Error> {
        let session = blocks.session();
        self.records.begin(&mut || session.states())?;
        observer.begun(session);
        let program = session.program();
        let windows = self.position.reached.length.as_ref().map_or(0, |done| done.report);
        let mut info = TrainInfo {
            train_windows: usize::try_from(windows).unwrap_or(usize::MAX),
            test_windows: self.position.setup.test,
            validation_windows: 0,
            batch: self.position.setup.batch,
            epochs: None,
            epochs_done: self.position.reached.epoch,
            parameters: parameters(program),
            updates: updates(program),
            single_cycles: false,
            position: self.position.clone(),
        };
        blocks.describe(&mut info);
        if info.epochs.is_some_and(|epochs| epochs > 0) && updated(&info) {
            let reached = &self.position.reached;
            let is_first = reached.epoch == 0 && reached.done == 0;
            let states = is_first.then(|| session.states()).transpose()?;
            let batches = info.train_windows / self.position.setup.batch.max(1);
            self.still = Still::new(program, states.as_ref(), batches);
        }
        self.of = info.train_windows;
        observer.start(&info);
        self.began = Instant::now();
        Ok(())
    }

    /// Whether training is over.
    pub(super) fn is_over(&self, blocks: &dyn Blocks) -> bool {
        blocks.is_over(&self.position.reached) || self.records.is_over(&self.position)
    }

    /// Trains on one block, and ends the epoch or report if it is complete.
    pub(super) fn step(&mut self, blocks: &mut dyn Blocks, observer: &mut dyn Observer) -> Result<(), Error> {
        let ran = blocks.advance(&self.position.reached, &mut self.averages, observer);
        let ran = ran.map_err(|e| e.note(format!("in {}", self.within())))?;
        let reached = &mut self.position.reached;
        reached.done += usize::try_from(ran.windows).unwrap_or(usize::MAX);
        if let Some(length) = &mut reached.length {
            length.windows += ran.windows;
            length.cycles += ran.cycles;
        }
        let metrics = self.averages.metrics();
        if blocks.is_checked_at_once() {
            self.check(&metrics, &*blocks)?;
        }
        let can_save = blocks.settle(&|| self.reached());
        let (epoch, windows) = (self.position.reached.epoch + 1, self.position.reached.done);
        observer.batch(&Progress { epoch, windows, of: self.of, metrics: &metrics });
        let is_due = self.records.steps(blocks.steps(&ran));
        if can_save && windows >= self.of {
            self.check(&metrics, &*blocks)?;
            self.complete(blocks, observer)?;
        }
        if can_save && is_due {
            self.position.reached = self.savable(blocks);
            self.keep(blocks, Keeper::part)?;
        }
        Ok(())
    }

    /// The progress when states could be saved last.
    fn savable(&self, blocks: &mut dyn Blocks) -> Reached {
        blocks.settled().map_or_else(|| self.reached(), |settled| settled.clone())
    }

    /// Ends an epoch or report: evaluates, records and reports it.
    fn complete(&mut self, blocks: &mut dyn Blocks, observer: &mut dyn Observer) -> Result<(), Error> {
        let mut summary = self.summary();
        let began = Instant::now();
        blocks.evaluate(&mut summary)?;
        summary.evaluating = began.elapsed().as_secs_f64();
        summary.seconds = self.began.elapsed().as_secs_f64();
        self.averages = Averages::new(blocks.session().program());
        let reached = &mut self.position.reached;
        (reached.epoch, reached.done) = (summary.epoch, 0);
        reached.sums.clear();
        self.keep(blocks, |records, now| records.epoch(&mut summary, now))?;
        if let Some(settled) = blocks.settled() {
            settled.clone_from(&self.position.reached);
        }
        self.began = Instant::now();
        self.tell(summary, blocks, observer)?;
        self.doubt(blocks, observer)
    }

    /// Warns about faults of an epoch that has just been reported, once for each fault.
    fn doubt(&mut self, blocks: &mut dyn Blocks, observer: &mut dyn Observer) -> Result<(), Error> {
        let Some(EpochSummary { epoch, train, .. }) = self.report.epochs.last() else { return Ok(()) };
        let still = match &mut self.still {
            Some(still) => still.finding(*epoch, train, &mut || blocks.states())?,
            None => None,
        };
        let exploded = match self.exploded {
            false => blocks.exploded(train, &format!("epoch {epoch}")),
            true => None,
        };
        self.exploded |= exploded.is_some();
        if still.is_some() {
            self.still = None;
        }
        for finding in still.into_iter().chain(exploded) {
            observer.warning(&finding, blocks.session().program().sources());
        }
        Ok(())
    }

    /// Ends the training, also after an interruption.
    pub(super) fn end(
        mut self,
        blocks: &mut dyn Blocks,
        interrupted: bool,
        observer: &mut dyn Observer,
    ) -> Result<TrainReport, Error> {
        self.report.interrupted = interrupted;
        if self.position.reached.done > 0 && !interrupted {
            let mut summary = self.summary();
            self.keep(blocks, |records, now| records.rest(&mut summary, now))?;
            self.tell(summary, blocks, observer)?;
        }
        self.position.reached = self.savable(blocks);
        blocks.show(observer)?;
        self.keep(blocks, Keeper::end)?;
        Ok(self.report)
    }

    /// Calls the keepers with the current states.
    fn keep(
        &mut self,
        blocks: &mut dyn Blocks,
        keep: impl FnOnce(&mut Records<'a>, &mut Now<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Self { options, position, records, report, .. } = self;
        let states = &mut || blocks.states();
        let (engine, writes) = (&options.engine, options.writes());
        keep(records, &mut Now { position, report, states, engine, writes, failed: None })
    }

    fn tell(
        &mut self,
        summary: EpochSummary,
        blocks: &mut dyn Blocks,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        blocks.show(observer)?;
        observer.epoch(&summary);
        // Samples of many epochs would take much memory.
        if let Some(before) = self.report.epochs.last_mut() {
            before.samples = None;
        }
        self.report.epochs.push(summary);
        Ok(())
    }

    /// The results of the epoch or report so far.
    fn summary(&self) -> EpochSummary {
        let Reached { epoch, length, .. } = &self.position.reached;
        let ran = length.as_ref().map(|done| Ran { windows: done.windows, cycles: done.cycles });
        let seconds = self.began.elapsed().as_secs_f64();
        let summary = EpochSummary::new(epoch + 1, self.averages.metrics(), self.averages.gradients());
        EpochSummary { ran, seconds, ..summary }
    }

    /// The progress, for a checkpoint.
    fn reached(&self) -> Reached {
        let reached = self.position.reached.clone();
        let sums = if reached.done > 0 { self.averages.sums() } else { Vec::new() };
        Reached { sums, ..reached }
    }

    /// Names the current epoch or report, for messages.
    fn within(&self) -> String {
        let Reached { epoch, length, .. } = &self.position.reached;
        format!("{} {}", if length.is_some() { "report" } else { "epoch" }, epoch + 1)
    }

    /// Stops a training with averages that are not finite, before they can overwrite a good checkpoint.
    fn check(&self, metrics: &Metrics, blocks: &dyn Blocks) -> Result<(), Error> {
        let broken = metrics.iter().find(|(_, value)| !value.is_finite() && !self.options.allow_nan);
        let Some((name, value)) = broken else { return Ok(()) };
        let (within, windows) = (self.within(), self.position.reached.done);
        let what = format!("training diverged: the average of `{name}` is {value}");
        let note =
            format!("in {within}, after {windows} windows; nothing was saved since the last checkpoint");
        let d = diverged(blocks.session().program(), what, note);
        let d = blocks.diverged(d);
        Err(blocks.session().fail(d))
    }
}

/// The error of a training with numbers that are not finite.
pub(super) fn diverged(program: &Program, what: String, note: impl Into<String>) -> Diagnostic {
    let d = Diagnostic::error(codes::DIVERGED, what).note(note);
    let rates = program.learning_rates();
    let d = rates.iter().fold(d, |d, at| d.label(*at, "a learning rate"));
    d.help(match rates {
        [] => "lower the learning rate where the gradient enters, or look at the scale of the inputs",
        [_, ..] => "lower the learning rate, or look at the scale of the inputs",
    })
    .help("`--allow-nan` continues in spite of it")
}

/// Whether any parameter is updated.
fn updated(info: &TrainInfo) -> bool {
    info.updates.cycle + info.updates.window + info.updates.condition > 0
}

/// The number of trained elements.
fn parameters(program: &Program) -> usize {
    let flat = program.flat();
    let parameters = flat.states.values().filter(|s| s.parameter);
    parameters.map(|s| flat.vars[flat.equations[s.equation].lhs].ty.shape.len()).sum()
}
