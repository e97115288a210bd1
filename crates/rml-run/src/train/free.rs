//! Training a node that makes its data itself: from window to window, and from report to report.

use std::sync::Arc;
use std::time::Instant;

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};
use rml_data::Kept;
use rml_driver::{Options, Program, Source, interface};
use rml_engine::{Snapshot, States};
use rml_ir::Value;
use rml_ir::flat::{Rhs, State};
use rml_ir::op::Op;

use super::best::Names;
use super::confusion;
use super::observer::{EpochSummary, Observer, Progress, Ran, TrainInfo, TrainReport};
use super::options::{Classes, Evaluate, Length, TestSplit, TrainOptions};
use super::records::Records;
use super::resume;
use super::start::{Common, NONE};
use super::training::{finite, interrupted, parameters, watched};
use super::updates::updates;
use crate::checkpoint::{Checkpoint, Done, Policy, Position};
use crate::rollout::{Reach, Rollout};
use crate::runner::{Averages, Family, Metrics, metric_names};
use crate::session::Session;

/// The node that evaluates where nothing is said.
const EVALUATE: &str = "evaluate";

/// A training without data that is ready to go.
pub(super) struct Free<'a> {
    options: &'a TrainOptions,
    length: &'a Length,
    rollout: Rollout,
    evaluation: Option<Evaluation>,
    averages: Averages,
    position: Position,
    done: Done,
    records: Records<'a>,
}

impl<'a> Free<'a> {
    /// Compiles, and reads the checkpoint to go on from.
    pub(super) fn new(
        source: &Source,
        length: &'a Length,
        options: &'a TrainOptions,
        observer: &mut dyn Observer,
    ) -> Result<Self, Error> {
        let common = Common::new(source, None, options, options.stats)?;
        let program = &common.program;
        let mut rollout = Rollout::open(program, &options.engine, length.look_ahead)?;
        let mut evaluation = Evaluation::new(source, length, options, &common.compile)?;
        let test = evaluation.as_ref().map(|e| metric_names(e.rollout.session().program()));
        let names = Names {
            train: metric_names(program),
            test: test.unwrap_or_default(),
            parameters: watched(options, program),
            ..Names::default()
        };
        if let Some(until) = &length.until {
            until.check(&names.train, &names.test)?;
        }
        if let Classes::Named { .. } = options.classes {
            return Err(confusion::no_node().into());
        }
        for finding in program.warnings().iter() {
            observer.warning(finding, program.sources());
        }
        let begin = Done {
            windows: 0,
            cycles: 0,
            report: length.report.unwrap_or(Length::REPORT).max(1),
            until: length.until.as_ref().map(|until| (until.to_string(), 0)),
        };
        let test = Kept { count: evaluation.as_ref().map_or(0, |e| e.windows), ..NONE };
        let fresh = Position { length: Some(begin.clone()), ..common.position(0, test, NONE, String::new()) };
        let mut position = match common.before() {
            None => fresh,
            Some((before, anew)) => resume::position_without_data(before, &fresh, options, &anew, observer)?,
        };
        if let Some(checkpoint) = &common.resumed {
            rollout.session_mut().restore(checkpoint, Policy::Exact)?;
        }
        if let Some(evaluation) = &mut evaluation {
            // Before any work, so that it is said at once if they do not fit each other.
            evaluation.begin(rollout.session())?;
        }
        let mut averages = Averages::new(rollout.session().program());
        averages.restore(&position.sums);
        let done = position.length.clone().unwrap_or(begin);
        let mut records = Records::new(options, &names, &mut position)?;
        records.watch(&names, &mut || rollout.session().states())?;
        Ok(Self { options, length, rollout, evaluation, averages, position, done, records })
    }

    /// Where it begins.
    pub(super) fn into_position(self) -> Position {
        self.position
    }

    /// Trains until it is over.
    pub(super) fn run(mut self, observer: &mut dyn Observer) -> Result<TrainReport, Error> {
        observer.begun(self.rollout.session());
        observer.start(&TrainInfo {
            train_windows: usize::try_from(self.done.report).unwrap_or(usize::MAX),
            test_windows: self.position.test,
            validation_windows: 0,
            batch: self.position.batch,
            epochs: None,
            epochs_done: self.position.epoch,
            parameters: parameters(self.rollout.session().program()),
            updates: updates(self.rollout.session().program()),
            single_cycles: self.rollout.session().program().flat().windows.is_empty(),
            position: self.position.clone(),
        });
        let mut report = TrainReport::default();
        let mut begin = Instant::now();
        while !self.is_over() {
            if interrupted(self.options) {
                report.interrupted = true;
                break;
            }
            self.advance(observer)?;
            if self.position.done as u64 == self.done.report {
                let mut summary = self.report(begin)?;
                self.note_position();
                let session = self.rollout.session();
                self.records.add(&mut summary, &mut || session.states(), &mut self.position, &mut report)?;
                begin = Instant::now();
                observer.learned(self.rollout.session());
                observer.epoch(&summary);
                report.epochs.push(summary);
            }
        }
        if self.position.done > 0 && !report.interrupted {
            let mut summary = self.summary(self.position.epoch + 1, begin);
            let session = self.rollout.session();
            self.records.add_rest(&mut summary, &mut || session.states())?;
            observer.learned(self.rollout.session());
            observer.epoch(&summary);
            report.epochs.push(summary);
        }
        report.is_met = self.is_met();
        self.note_position();
        observer.learned(self.rollout.session());
        let session = self.rollout.session();
        self.records.end(&mut || session.states(), &self.position, &mut report)?;
        Ok(report)
    }

    /// Whether the condition holds until which to train.
    fn is_met(&self) -> Option<bool> {
        let until = self.length.until.as_ref()?;
        Some(self.done.until.as_ref().is_some_and(|(_, reports)| *reports >= until.reports()))
    }

    fn is_over(&self) -> bool {
        let beyond = |done: u64, limit: Option<u64>| limit.is_some_and(|limit| done >= limit);
        beyond(self.done.windows, self.length.windows)
            || beyond(self.done.cycles, self.length.cycles)
            || self.is_met() == Some(true)
            || self.records.is_over(&self.position)
    }

    /// Runs some windows of the report.
    fn advance(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        let left = |done: u64, limit: Option<u64>| limit.map_or(u64::MAX, |limit| limit - done);
        let windows =
            (self.done.report - self.position.done as u64).min(left(self.done.windows, self.length.windows));
        let reach = Reach { windows, cycles: left(self.done.cycles, self.length.cycles) };
        let epoch = self.position.epoch + 1;
        let stretch = self.rollout.advance(reach).map_err(|e| e.note(format!("in report {epoch}")))?;
        self.averages.add(&stretch.outputs, 1).map_err(|d| self.rollout.session().fail(d))?;
        self.position.done += usize::try_from(stretch.windows).unwrap_or(usize::MAX);
        self.done.windows += stretch.windows;
        self.done.cycles += stretch.cycles;
        let metrics = self.averages.metrics();
        if !self.options.allow_nan {
            finite(&metrics, &format!("report {epoch}"), self.position.done)
                .map_err(|d| self.rollout.session().fail(d))?;
        }
        observer.batch(&Progress {
            epoch,
            windows: self.position.done,
            of: usize::try_from(self.done.report).unwrap_or(usize::MAX),
            metrics: &metrics,
        });
        Ok(())
    }

    /// Ends a report: evaluates, and looks whether the condition holds.
    fn report(&mut self, begin: Instant) -> Result<EpochSummary, Error> {
        let evaluate = |e: &mut Evaluation| e.run(self.rollout.session());
        let evaluation = Instant::now();
        let test = self.evaluation.as_mut().map_or(Ok(Metrics::new()), evaluate)?;
        let evaluating = evaluation.elapsed().as_secs_f64();
        self.position.epoch += 1;
        let summary = EpochSummary { test, evaluating, ..self.summary(self.position.epoch, begin) };
        if let (Some(until), Some((_, reports))) = (&self.length.until, &mut self.done.until) {
            *reports = if until.holds(&summary.train, &summary.test) { *reports + 1 } else { 0 };
        }
        self.position.done = 0;
        self.averages = Averages::new(self.rollout.session().program());
        Ok(summary)
    }

    fn summary(&self, epoch: u64, begin: Instant) -> EpochSummary {
        let ran = Ran { windows: self.done.windows, cycles: self.done.cycles };
        let seconds = begin.elapsed().as_secs_f64();
        let summary = EpochSummary::new(epoch, self.averages.metrics(), self.averages.gradients());
        EpochSummary { ran: Some(ran), seconds, ..summary }
    }

    /// Completes the position for a checkpoint.
    fn note_position(&mut self) {
        self.position.sums = if self.position.done > 0 { self.averages.sums() } else { Vec::new() };
        self.position.length = Some(self.done.clone());
    }
}

/// A node that is run after each report with the parameters of the training, all its other states anew.
struct Evaluation {
    rollout: Rollout,
    /// What it begins with.
    initial: Snapshot,
    windows: usize,
}

impl Evaluation {
    /// Draws of the evaluation are those of ticks that no training reaches.
    const FIRST_TICK: i64 = 1 << 40;

    fn new(
        source: &Source,
        length: &Length,
        options: &TrainOptions,
        compile: &Options,
    ) -> Result<Option<Self>, Error> {
        let windows = match options.test {
            None => 1,
            Some(TestSplit::Count(n)) => n,
            Some(split) => {
                let what = match split {
                    TestSplit::Share(share) => format!("a share of {share} of the windows"),
                    _ => "the last windows".to_owned(),
                };
                let what = format!("{what} cannot be kept for testing, since there is no data");
                let d = Diagnostic::error(codes::BAD_OPTION, what);
                return Err(d.help("say how many windows the evaluation runs (`--test COUNT`)").into());
            }
        };
        let node = match &options.evaluate {
            Evaluate::Nothing => return Ok(None),
            Evaluate::Usual if interface(source, EVALUATE)?.is_none() || windows == 0 => {
                return Ok(None);
            }
            Evaluate::Usual => EVALUATE,
            Evaluate::Node(_) if windows == 0 => {
                let what = "a node is to evaluate, and no window is left for it";
                return Err(Diagnostic::error(codes::BAD_OPTION, what)
                    .help("give it some (`--test COUNT`)")
                    .into());
            }
            Evaluate::Node(node) => node,
        };
        let evaluates = |e: Error| e.note(format!("node {node} is run after each report to evaluate"));
        let (set, defaults) = (Default::default(), compile.set.clone());
        let node_of = Some(node.to_owned());
        let compile =
            Options { node: node_of, set, defaults, gradients: false, trained: false, ..compile.clone() };
        let mut family = Family::new(source, compile, options.engine.clone())?;
        let program = family.program(1).map_err(evaluates)?.clone();
        family.refuse_rejected(1).map_err(evaluates)?;
        let mut rollout = Rollout::open(&program, &options.engine, length.look_ahead).map_err(evaluates)?;
        rollout.session_mut().set_states(&first_ticks(&program))?;
        let initial = rollout.session().snapshot()?;
        Ok(Some(Self { rollout, initial, windows }))
    }

    /// Begins anew with the parameters that training has now.
    ///
    /// # Errors
    /// Parameters that the training does not have.
    fn begin(&mut self, trained: &Session) -> Result<(), Error> {
        let session = self.rollout.session_mut();
        session.set_snapshot(&self.initial)?;
        let flat = trained.program().flat();
        let mut states = trained.states()?;
        states.retain(|key, _| flat.states.get(key).is_some_and(|state| state.parameter));
        session.restore(&Checkpoint::of_states(states), Policy::Inference).map_err(|e| {
            let (node, trained) = (session.program().node(), trained.program().node());
            e.note(format!("node {node} evaluates what node {trained} trains, by parameters of the same paths"))
                .note("so both nodes call the network in the same way: not one itself, and the other one in a node that it calls")
        })
    }

    /// The averages over its windows with the parameters that training has now.
    fn run(&mut self, trained: &Session) -> Result<Metrics, Error> {
        let within = |e: Error| e.note("while the training was evaluated");
        self.begin(trained)?;
        let session = self.rollout.session();
        let mut averages = Averages::new(session.program());
        let mut left = self.windows as u64;
        while left > 0 {
            let stretch = self.rollout.advance(Reach { windows: left, cycles: u64::MAX }).map_err(within)?;
            averages.add(&stretch.outputs, 1).map_err(|d| self.rollout.session().fail(d))?;
            left -= stretch.windows;
        }
        Ok(averages.metrics())
    }
}

/// The ticks of the random streams of a program, where the evaluation begins to draw.
fn first_ticks(program: &Program) -> States {
    let flat = program.flat();
    let ticks = flat.equations.iter().filter_map(|equation| match &equation.rhs {
        Rhs::Apply { op: Op::RandomUniform { .. } | Op::RandomNormal { .. }, args } => args.last(),
        _ => None,
    });
    let ticks: Vec<_> = ticks.collect();
    let is_tick = |state: &State| ticks.contains(&&flat.equations[state.equation].lhs);
    let states = flat.states.iter().filter(|(_, state)| is_tick(state));
    states.map(|(key, _)| (Arc::clone(key), Value::Int(Evaluation::FIRST_TICK))).collect()
}
