//! Training on a stream: lines come one by one, each is answered at once, and the node learns meanwhile.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error, Sources};
use rml_driver::{Program, Source};
use rml_engine::Row;
use rml_ir::{Data, Value};

use super::best::Names;
use super::observer::{EpochSummary, Observer, Progress, Ran, TrainInfo, TrainReport};
use super::options::{Length, TrainOptions};
use super::records::Records;
use super::resume;
use super::start::{Common, NONE};
use super::training::{finite, parameters as count, watched};
use super::updates::updates;
use crate::checkpoint::{Done, Policy, Position};
use crate::infer::lines::{Format, Line, object};
use crate::infer::stream::{Running, ask_for_answers};
use crate::runner::{Averages, metric_names};

/// A node that learns from JSON objects, one a cycle, and answers each as soon as its outputs are known.
///
/// Each line names all inputs, with `null` where one is absent. A line that is refused does not happen: there is no cycle for it, and the
/// states are those before it. [`TrainOptions::length`] says how many cycles there are and after how many of them it reports and saves. States
/// can be saved where no window is open, so a checkpoint is that of the last such cycle.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// use rml::{Length, TrainOptions, TrainStream};
///
/// let options = TrainOptions { length: Some(Length::default()), ..TrainOptions::default() };
/// let mut learning = TrainStream::new(&source, &options, &mut ())?;
/// let answers = learning.line(r#"{"x": 1.0, "y": 2.0}"#)?;
/// assert_eq!(answers, [r#"{"cycle": 0, "loss": 4.0}"#]);
/// learning.keep(&mut ())?;
/// learning.end(false, &mut ())?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct TrainStream<'a> {
    options: &'a TrainOptions,
    length: Length,
    program: Program,
    format: Format,
    running: Running,
    records: Records<'a>,
    /// Where the checkpoint stood that it goes on from.
    begin: Done,
    /// Where it is, without the cycles that still wait.
    at: At,
    /// What is saved of a program with windows: where none was open last.
    settled: Option<(At, IndexMap<Arc<str>, Value>)>,
    position: Position,
    /// Rows of cycles that still wait for later ones.
    rows: VecDeque<Row>,
    report: TrainReport,
    reported: Instant,
}

/// How far it is.
#[derive(Clone, Debug)]
struct At {
    /// Cycles of this stream, and of those before that it goes on from.
    cycles: u64,
    /// Cycles of them in this report.
    done: u64,
    averages: Averages,
}

/// What the end of a stream gave.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// # let options = rml::TrainOptions { length: Some(rml::Length::default()), ..Default::default() };
/// # let mut learning = rml::TrainStream::new(&source, &options, &mut ())?;
/// learning.line(r#"{"x": 1.0, "y": 2.0}"#)?;
/// learning.keep(&mut ())?;
/// let end = learning.end(false, &mut ())?;
/// assert_eq!(end.unsaved, 0);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct StreamEnd {
    /// The reports, and whether it was saved.
    pub report: TrainReport,
    /// How many cycles are behind the last one that could be saved: their window did not end.
    pub unsaved: u64,
}

impl<'a> TrainStream<'a> {
    /// How many cycles are averaged in a report when nothing is said.
    pub const REPORT: u64 = 1000;

    /// Compiles, and reads the checkpoint to go on from.
    ///
    /// # Errors
    /// A program, options or a checkpoint that do not fit each other; a program that [`check`](rml_driver::check) rejects, since sooner or
    /// later it would stop or never answer.
    pub fn new(
        source: &Source,
        options: &'a TrainOptions,
        observer: &mut dyn Observer,
    ) -> Result<Self, Error> {
        // Without norms of gradients: answers would wait for them.
        let mut common = Common::new(source, None, options, false)?;
        let program = common.program.clone();
        ask_for_answers(&program)?;
        let parameters = watched(options, &program);
        let names = Names { train: metric_names(&program), parameters, ..Names::default() };
        let length = options.length.clone().unwrap_or_default();
        if let Some(until) = &length.until {
            until.check(&names.train, &names.test)?;
        }
        for finding in program.warnings().iter() {
            observer.warning(finding, program.sources());
        }
        let mut position = position(&common, &length, options, observer)?;
        let mut running = Running::open(&program, &options.engine, length.look_ahead)?;
        if let Some(checkpoint) = &common.resumed {
            running.session.restore(checkpoint, Policy::Exact)?;
        }
        let mut averages = Averages::new(&program);
        averages.restore(&position.sums);
        let begin = position.length.clone().unwrap_or_else(|| beginning(&length));
        let at = At { cycles: begin.cycles, done: position.done as u64, averages };
        let has_windows = !program.flat().windows.is_empty();
        let settled = if has_windows { Some((at.clone(), running.session.states()?)) } else { None };
        let format = format(&mut common, options)?;
        let mut records = Records::new(options, &names, &mut position)?;
        records.watch(&names, &mut || running.session.states())?;
        observer.begun(&running.session);
        observer.start(&TrainInfo {
            train_windows: usize::try_from(begin.report).unwrap_or(usize::MAX),
            test_windows: 0,
            validation_windows: 0,
            batch: common.size,
            epochs: None,
            epochs_done: position.epoch,
            parameters: count(&program),
            updates: updates(&program),
            single_cycles: false,
            position: position.clone(),
        });
        let (rows, report, reported) = (VecDeque::new(), TrainReport::default(), Instant::now());
        Ok(Self {
            options,
            length,
            program,
            format,
            running,
            records,
            begin,
            at,
            settled,
            position,
            rows,
            report,
            reported,
        })
    }

    /// The texts that findings point into.
    pub fn sources(&self) -> &Arc<Sources> {
        self.program.sources()
    }

    /// Feeds one line, and returns the answers that became known, as [`Stream::line`](crate::Stream::line) does. A blank line is nothing.
    /// Call [`TrainStream::keep`] behind it.
    ///
    /// # Errors
    /// A line that is no object, lacks an input, or has values that do not fit; what goes wrong in the run. Then there is no cycle for
    /// this line, nothing has changed, and the next line can be fed, unless the stream [is stuck](Self::is_stuck).
    pub fn line(&mut self, line: &str) -> Result<Vec<String>, Error> {
        if line.trim().is_empty() {
            return Ok(Vec::new());
        }
        let line = object(line)?;
        self.complete(&line)?;
        let rows = self.running.step(&line, &self.program, &self.format)?;
        let answers = rows.iter().map(|row| self.format.answer(&self.program, row)).collect();
        self.rows.extend(rows);
        Ok(answers)
    }

    /// All inputs are named: what is forgotten would never be learned from.
    fn complete(&self, line: &Line) -> Result<(), Error> {
        let inputs = self.program.inputs().iter().filter(|input| !line.contains_key(&*input.name));
        let missing: Vec<String> = inputs.map(|input| format!("`{}`", input.name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let plural = if missing.len() == 1 { "" } else { "s" };
        let what = format!("the line has no value for input{plural} {}", missing.join(", "));
        let d = Diagnostic::error(codes::MISSING_INPUT, what);
        Err(d.help("name every input in every line, with null where it is absent").into())
    }

    /// Whether no line will be accepted any more.
    pub fn is_stuck(&self) -> bool {
        self.running.is_stuck()
    }

    /// Reports and saves, where that is due. Whether training is over.
    ///
    /// # Errors
    /// Numbers that are not finite any more; a file that cannot be written.
    pub fn keep(&mut self, observer: &mut dyn Observer) -> Result<bool, Error> {
        let session = &self.running.session;
        let complete = session.cycles() - session.open_cycles();
        let cycles = self.begin.cycles + complete;
        if cycles == self.at.cycles {
            return Ok(self.is_over());
        }
        self.at.done += cycles - self.at.cycles;
        self.at.cycles = cycles;
        let known = self.rows.iter().take_while(|row| row.cycle < complete).count();
        self.rows.drain(..known).for_each(|row| self.at.averages.add_row(&row));
        let mut can_save = true;
        if let Some(settled) = &mut self.settled {
            let states = if session.open_cycles() == 0 { session.states().ok() } else { None };
            can_save = states.is_some();
            if let Some(states) = states {
                *settled = (self.at.clone(), states);
            }
        }
        observer.batch(&Progress {
            epoch: self.position.epoch + 1,
            windows: usize::try_from(self.at.done).unwrap_or(usize::MAX),
            of: usize::try_from(self.begin.report).unwrap_or(usize::MAX),
            metrics: &self.at.averages.metrics(),
        });
        if can_save && self.at.done >= self.begin.report {
            self.report(observer)?;
        }
        Ok(self.is_over())
    }

    fn is_over(&self) -> bool {
        self.length.cycles.is_some_and(|cycles| self.at.cycles >= cycles)
            || self.is_met() == Some(true)
            || self.records.is_over(&self.position)
    }

    /// Whether the condition holds until which to train.
    fn is_met(&self) -> Option<bool> {
        let until = self.length.until.as_ref()?;
        let reports = self.position.length.as_ref().and_then(|done| done.until.as_ref()).map(|(_, n)| *n);
        Some(reports.is_some_and(|reports| reports >= until.reports()))
    }

    /// Ends a report.
    fn report(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        let metrics = self.at.averages.metrics();
        if !self.options.allow_nan {
            let within = format!("report {}", self.position.epoch + 1);
            finite(&metrics, &within, usize::try_from(self.at.done).unwrap_or(usize::MAX))?;
        }
        let mut summary = self.summary();
        self.position.epoch += 1;
        if let (Some(until), Some(done)) = (&self.length.until, &mut self.position.length)
            && let Some((_, reports)) = &mut done.until
        {
            *reports = if until.holds(&summary.train, &summary.test) { *reports + 1 } else { 0 };
        }
        self.at.done = 0;
        self.at.averages = Averages::new(&self.program);
        if let Some((at, _)) = &mut self.settled {
            *at = self.at.clone();
        }
        note(&mut self.position, &self.at);
        let Self { records, running, settled, position, report, options, program, .. } = self;
        let mut states = || saved(running, settled.as_ref(), program, options);
        records.add(&mut summary, &mut states, position, report)?;
        self.reported = Instant::now();
        running.without_open(|session| observer.learned(session));
        observer.epoch(&summary);
        self.report.epochs.push(summary);
        Ok(())
    }

    fn summary(&self) -> EpochSummary {
        let ran = Ran { windows: self.at.cycles, cycles: self.at.cycles };
        let seconds = self.reported.elapsed().as_secs_f64();
        let averages = &self.at.averages;
        let summary = EpochSummary::new(self.position.epoch + 1, averages.metrics(), averages.gradients());
        EpochSummary { ran: Some(ran), seconds, ..summary }
    }

    /// Ends the stream, and saves.
    ///
    /// # Errors
    /// A file that cannot be written; parameters that are not finite.
    pub fn end(mut self, interrupted: bool, observer: &mut dyn Observer) -> Result<StreamEnd, Error> {
        self.report.interrupted = interrupted;
        if self.at.done > 0 && !interrupted {
            let mut summary = self.summary();
            let Self { records, running, settled, program, options, .. } = &mut self;
            records.add_rest(&mut summary, &mut || saved(running, settled.as_ref(), program, options))?;
            observer.epoch(&summary);
            self.report.epochs.push(summary);
        }
        self.report.is_met = self.is_met();
        let fed = self.begin.cycles + self.running.session.cycles();
        let at = self.settled.as_ref().map_or(&self.at, |(at, _)| at).clone();
        note(&mut self.position, &at);
        let Self { records, running, settled, position, report, options, program, .. } = &mut self;
        if settled.is_none() || fed == at.cycles {
            running.without_open(|session| observer.learned(session));
        }
        let mut states = || saved(running, settled.as_ref(), program, options);
        records.end(&mut states, position, report)?;
        Ok(StreamEnd { report: self.report, unsaved: fed - at.cycles })
    }
}

/// Where a stream begins that goes on from nothing.
fn beginning(length: &Length) -> Done {
    Done {
        windows: 0,
        cycles: 0,
        report: length.report.unwrap_or(TrainStream::REPORT).max(1),
        until: length.until.as_ref().map(|until| (until.to_string(), 0)),
    }
}

/// Where it begins, or goes on.
fn position(
    common: &Common,
    length: &Length,
    options: &TrainOptions,
    observer: &mut dyn Observer,
) -> Result<Position, Error> {
    let fresh = Position { length: Some(beginning(length)), ..common.position(0, NONE, NONE, String::new()) };
    match common.before() {
        None => Ok(fresh),
        Some((before, anew)) => resume::position_without_data(before, &fresh, options, &anew, observer),
    }
}

/// How values stand in lines: without the dimension `batch`, unless a number of rows is asked for.
fn format(common: &mut Common, options: &TrainOptions) -> Result<Format, Error> {
    let stacked = common.family.stacked(common.size)?.outputs.iter().map(ToString::to_string).collect();
    let single = common.family.stacks && common.size == 1 && options.batch.is_none();
    Ok(Format { single, stacked, allow_nan: options.allow_nan })
}

/// Completes the position for a checkpoint.
fn note(position: &mut Position, at: &At) {
    position.done = usize::try_from(at.done).unwrap_or(usize::MAX);
    position.sums = if at.done > 0 { at.averages.sums() } else { Vec::new() };
    if let Some(done) = &mut position.length {
        (done.windows, done.cycles) = (at.cycles, at.cycles);
    }
}

/// The states to save. Parameters that are no numbers any more do not replace those that were.
fn saved(
    running: &mut Running,
    settled: Option<&(At, IndexMap<Arc<str>, Value>)>,
    program: &Program,
    options: &TrainOptions,
) -> Result<IndexMap<Arc<str>, Value>, Error> {
    let states = match settled {
        Some((_, states)) => states.clone(),
        None => running.without_open(|session| session.states())?,
    };
    let is_broken = |value: &Value| match value.to_data() {
        Data::F32(v) => v.iter().any(|x| !x.is_finite()),
        Data::F64(v) => v.iter().any(|x| !x.is_finite()),
        Data::Bool(_) | Data::Int(_) => false,
    };
    let is_parameter = |key: &str| program.flat().states.get(key).is_some_and(|state| state.parameter);
    let broken = states.iter().find(|(key, value)| is_parameter(key) && is_broken(value));
    match broken.filter(|_| !options.allow_nan) {
        None => Ok(states),
        Some((key, _)) => {
            let what = format!("training diverged: parameter `{key}` is not finite any more");
            Err(Diagnostic::error(codes::DIVERGED, what)
                .note("nothing was saved since the last checkpoint")
                .help("lower the learning rate where the gradient enters, or look at the scale of the inputs")
                .help("`--allow-nan` goes on in spite of it")
                .into())
        }
    }
}
