//! Training on a stream: lines come one by one, each is answered at once, and the node learns at the same time.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error, Sources};
use rml_data::{ArrowAnswers, ArrowRow, Preparation};
use rml_driver::{ClassAxes, Program, Source, enumerated_inputs};
use rml_engine::CycleRow;
use rml_ir::{Data, Value};

use super::course::{Blocks, Course, diverged};
use super::keeper::Names;
use super::observer::{Observer, Ran, TrainReport};
use super::options::{Length, TrainOptions};
use super::start::{Common, refuse_shards};
use crate::checkpoint::{Policy, Reached};
use crate::infer::lines::{Foreign, Format, Line, foreign, quoted};
use crate::infer::stream::{Running, ask_for_answers};
use crate::runner::Averages;
use crate::session::Session;

/// A node that learns from JSON objects, one per cycle, and answers each as soon as its outputs are known.
///
/// Each line names all inputs, with `null` if one is absent. A refused line has no effect: it is not a cycle, and the
/// states do not change. [`TrainOptions::length`] says how many cycles there are and after how many of them it reports
/// and saves. States can be saved only while no window is open, so a checkpoint belongs to the last such cycle.
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
pub struct TrainStream<'a> {
    lines: Lines,
    course: Course<'a>,
}

impl fmt::Debug for TrainStream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrainStream").field("lines", &self.lines).finish_non_exhaustive()
    }
}

/// The result at the end of a stream.
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
    /// The report of the training.
    pub report: TrainReport,
    /// How many cycles came after the last one that could be saved, because their window did not end.
    pub unsaved: u64,
}

impl<'a> TrainStream<'a> {
    /// The default number of cycles that are averaged in a report.
    pub const REPORT: u64 = 1000;

    /// Compiles, and reads the checkpoint to continue from.
    ///
    /// # Errors
    /// A program, options or a checkpoint that do not fit together; a program that [`check`](rml_driver::check)
    /// rejects, since it would stop or never answer at some point.
    pub fn new(
        source: &Source,
        options: &'a TrainOptions,
        observer: &mut dyn Observer,
    ) -> Result<Self, Error> {
        refuse_shards(options)?;
        // The norms of gradients are not computed, since answers would wait for them.
        let mut common = Common::new(source, None, options, false)?;
        ask_for_answers(&common.program)?;
        let mut length = options.length.clone().unwrap_or_default();
        length.report.get_or_insert(Self::REPORT);
        let position = common.position_without_data(&length, (0, &[]), options, observer)?;
        let mut running = Running::open(&common.program, &options.engine, length.look_ahead)?;
        if let Some(checkpoint) = common.begins_with() {
            running.session.restore(checkpoint, Policy::Exact)?;
        }
        let has_windows = !common.program.flat().windows.is_empty();
        let states = has_windows.then(|| running.session.states()).transpose()?;
        let settled = |states| Settled { reached: position.reached.clone(), states, cycles: 0 };
        let settled = states.map(settled);
        let format = format(&mut common, options, enumerated_inputs(source)?)?;
        let course = Course::new(options, &common.program, Names::default(), position)?;
        let (program, rows) = (common.program, VecDeque::new());
        let foreign = Foreign::default();
        let columns = None;
        let lines = Lines { program, format, foreign, columns, running, length, rows, seen: 0, settled };
        let mut stream = Self { lines, course };
        stream.course.begin(&stream.lines, observer)?;
        Ok(stream)
    }

    /// Refuses lines with entries that are not inputs.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.lines.foreign.strict = true;
        self
    }

    /// A warning about entries that are not inputs, as of [`Stream::ignored`](crate::Stream::ignored).
    pub fn ignored(&mut self) -> Option<Diagnostic> {
        self.lines.foreign.take()
    }

    /// The texts that findings point into.
    pub fn sources(&self) -> &Arc<Sources> {
        self.lines.program.sources()
    }

    /// Feeds one line, and returns the answers that became known, as [`Stream::line`](crate::Stream::line) does. A
    /// blank line is ignored. Call [`TrainStream::keep`] afterwards.
    ///
    /// # Errors
    /// A line that is not an object, lacks an input, or has values that do not fit; an error during the run. Then the
    /// line is not a cycle, nothing has changed, and the next line can be fed, unless the stream [is
    /// stuck](Self::is_stuck).
    pub fn line(&mut self, line: &str) -> Result<Vec<String>, Error> {
        if line.trim().is_empty() {
            return Ok(Vec::new());
        }
        let fed =
            self.lines.format.read(line).map_err(Error::from).and_then(|line| {
                self.lines.feed(&line, |lines, row| lines.format.answer(&lines.program, row))
            });
        fed.map_err(|error| quoted(error, line, (&self.lines.format, &self.lines.program)))
    }

    /// How the values of inputs are prepared, for reading rows of Arrow.
    pub fn preparation(&self) -> Arc<Preparation> {
        Arc::clone(&self.lines.format.preparation)
    }

    /// Begins a stream of Arrow with these columns, as [`Stream::begin`](crate::Stream::begin) does.
    ///
    /// # Errors
    /// Columns that are no inputs, if the stream is [strict](Self::strict).
    pub fn begin<'n>(&mut self, columns: impl IntoIterator<Item = &'n str>) -> Result<Vec<u8>, Error> {
        let first: Line = columns.into_iter().map(|name| (name.to_owned(), Ok(None))).collect();
        self.lines.foreign.look(&first, &self.lines.program, &self.lines.format.preparation)?;
        let columns = self.lines.format.columns(&self.lines.program);
        let begin = columns.begin();
        self.lines.columns = Some(columns);
        Ok(begin)
    }

    /// Feeds a row of Arrow, as [`Stream::row`](crate::Stream::row) does. Call [`TrainStream::keep`] afterwards.
    ///
    /// # Errors
    /// As of [`line`](Self::line).
    pub fn row(&mut self, row: &ArrowRow) -> Result<Vec<u8>, Error> {
        let answers = self.lines.feed(row, |lines, row| {
            let cells = lines.format.cells(&lines.program, row);
            lines.columns.as_ref().map(|columns| columns.answer(&cells)).unwrap_or_default()
        });
        Ok(answers?.concat())
    }

    /// The answer to a row of Arrow that was refused, by its number.
    pub fn refusal(&self, row: u64, why: &str) -> Vec<u8> {
        let cells = Format::refusal(&self.lines.program, row, why);
        self.lines.columns.as_ref().map(|columns| columns.answer(&cells)).unwrap_or_default()
    }

    /// Whether no further line will be accepted.
    pub fn is_stuck(&self) -> bool {
        self.lines.running.is_stuck()
    }

    /// Reports and saves, if it is time. Returns whether training is over.
    ///
    /// # Errors
    /// Numbers that are not finite; a file that cannot be written.
    pub fn keep(&mut self, observer: &mut dyn Observer) -> Result<bool, Error> {
        if self.lines.complete() > self.lines.seen {
            self.course.step(&mut self.lines, observer)?;
        }
        Ok(self.course.is_over(&self.lines))
    }

    /// Ends the stream, and saves.
    ///
    /// # Errors
    /// A file that cannot be written; parameters that are not finite.
    pub fn end(mut self, interrupted: bool, observer: &mut dyn Observer) -> Result<StreamEnd, Error> {
        let unsaved = self.lines.unsaved();
        let report = self.course.end(&mut self.lines, interrupted, observer)?;
        Ok(StreamEnd { report, unsaved })
    }
}

/// The lines of a stream. A block consists of the cycles that no longer wait for later ones.
#[derive(Debug)]
struct Lines {
    program: Program,
    format: Format,
    foreign: Foreign,
    /// The columns of answers in Arrow.
    columns: Option<ArrowAnswers>,
    running: Running,
    length: Length,
    /// Rows of cycles that still wait for later ones.
    rows: VecDeque<CycleRow>,
    /// How many cycles were in blocks so far.
    seen: u64,
    /// For a program with windows: the last point at which no window was open.
    settled: Option<Settled>,
}

impl Lines {
    /// Feeds one line, and returns the answers that became known.
    fn feed<T>(&mut self, line: &Line, write: impl Fn(&Self, &CycleRow) -> T) -> Result<Vec<T>, Error> {
        // A forgotten input would never be learned from.
        let inputs = self.program.inputs().iter().filter(|input| !line.contains_key(&*input.name));
        let missing: Vec<String> = inputs.map(|input| format!("`{}`", input.name)).collect();
        if !missing.is_empty() {
            let plural = if missing.len() == 1 { "" } else { "s" };
            let what = format!("the line has no value for input{plural} {}", missing.join(", "));
            let d = Diagnostic::error(codes::MISSING_INPUT, what);
            let d = match foreign(line, &self.program).as_slice() {
                [] => d.help("name every input in every line, with null where it is absent"),
                [other] if missing.len() == 1 => {
                    d.help(format!("`{other}` is no input: rename it to {}", missing.join(", ")))
                }
                others => {
                    let others: Vec<String> = others.iter().map(|other| format!("`{other}`")).collect();
                    d.note(format!("no inputs: {}", others.join(", ")))
                        .help("name every input in every line, with null where it is absent")
                }
            };
            return Err(d.into());
        }
        self.foreign.look(line, &self.program, &self.format.preparation)?;
        let rows = self.running.step(line, &self.program, &self.format)?;
        let answers = rows.iter().map(|row| write(self, row)).collect();
        self.rows.extend(rows);
        Ok(answers)
    }

    /// How many cycles no longer wait for later ones.
    fn complete(&self) -> u64 {
        self.session().cycles() - self.session().open_cycles()
    }

    /// How many cycles were fed after the last point that can be saved.
    fn unsaved(&self) -> u64 {
        self.session().cycles() - self.settled.as_ref().map_or(self.seen, |settled| settled.cycles)
    }
}

/// A point at which no window was open.
#[derive(Debug)]
struct Settled {
    reached: Reached,
    states: IndexMap<Arc<str>, Value>,
    /// How many cycles were fed to the session by then.
    cycles: u64,
}

impl Blocks for Lines {
    fn session(&self) -> &Session {
        &self.running.session
    }

    fn advance(&mut self, _: &Reached, averages: &mut Averages, _: &mut dyn Observer) -> Result<Ran, Error> {
        let complete = self.complete();
        let known = self.rows.iter().take_while(|row| row.cycle < complete).count();
        self.rows.drain(..known).for_each(|row| averages.add_row(&row));
        let cycles = complete - std::mem::replace(&mut self.seen, complete);
        Ok(Ran { windows: cycles, cycles })
    }

    fn is_over(&self, reached: &Reached) -> bool {
        self.length.is_over(reached)
    }

    fn is_checked_at_once(&self) -> bool {
        false
    }

    fn settle(&mut self, reached: &dyn Fn() -> Reached) -> bool {
        let Some(settled) = &mut self.settled else { return true };
        let session = &self.running.session;
        let states = if session.open_cycles() == 0 { session.states().ok() } else { None };
        let Some(states) = states else { return false };
        *settled = Settled { reached: reached(), states, cycles: session.cycles() };
        true
    }

    fn settled(&mut self) -> Option<&mut Reached> {
        self.settled.as_mut().map(|settled| &mut settled.reached)
    }

    /// Fails if parameters are not finite, so that they do not overwrite a good checkpoint.
    fn states(&mut self) -> Result<IndexMap<Arc<str>, Value>, Error> {
        let states = match &self.settled {
            Some(settled) => settled.states.clone(),
            None => self.running.without_open(|session| session.states())?,
        };
        let is_broken = |value: &Value| match value.to_data() {
            Data::F32(v) => v.iter().any(|x| !x.is_finite()),
            Data::F64(v) => v.iter().any(|x| !x.is_finite()),
            Data::Bool(_) | Data::Int(_) => false,
        };
        let is_parameter = |key: &str| self.program.flat().states.get(key).is_some_and(|s| s.parameter);
        let broken = states.iter().find(|(key, value)| is_parameter(key) && is_broken(value));
        match broken.filter(|_| !self.format.allow_nan) {
            None => Ok(states),
            Some((key, _)) => {
                let what = format!("training diverged: parameter `{key}` is not finite any more");
                let note = "nothing was saved since the last checkpoint";
                Err(self.program.error(diverged(&self.program, what, note)))
            }
        }
    }

    fn show(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        if self.settled.is_none() || self.unsaved() == 0 {
            self.running.without_open(|session| observer.learned(session));
        }
        Ok(())
    }
}

/// The form of values in lines: without the dimension `batch`, unless a number of rows is requested.
fn format(
    common: &mut Common,
    options: &TrainOptions,
    cases: BTreeMap<String, Vec<String>>,
) -> Result<Format, Error> {
    let stacked = common.family.stacked(common.stacked)?.outputs.iter().map(ToString::to_string).collect();
    let single = common.family.stacks && common.stacked == 1 && options.batch.is_none();
    let names = Arc::new(common.program.names(&cases, &ClassAxes::new()));
    let preparation = Arc::new(Preparation::default().with_cases(cases));
    let (allow_nan, units) = (options.allow_nan, Arc::default());
    Ok(Format { single, stacked, allow_nan, preparation, names, units })
}
