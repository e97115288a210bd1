//! Inference cycle by cycle: JSON lines in, JSON lines out.

use std::collections::VecDeque;
use std::sync::Arc;

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics, Error, Sources, memory};
use rml_data::{ArrowAnswers, ArrowRow, Feed, Preparation};
use rml_driver::{Program, enumerated_inputs, keep_inputs};
use rml_engine::{CycleRow, End, Feeding, Use};

use super::lines::{Foreign, Format, Line, fed, lacking, quoted, refuse_foreign};
use super::states::inherited;
use super::{InferOptions, family};
use crate::checkpoint;
use crate::checkpoint::prepared::check_preparation;
use crate::checkpoint::{Checkpoint, Policy};
use crate::engines::Engine;
use crate::runner::{asked_batch, batch_size};
use crate::session::Session;

/// A program that reads JSON objects, one per cycle, and answers each with a JSON object.
///
/// The first accepted line defines which inputs there are: it names each of them, with `null` if it is absent. Outputs
/// that need other inputs (such as a loss that needs the label) are left out. If the node can stack windows and no
/// batch size is given, there is one window, and values are read and written without the dimension `batch`.
///
/// A refused line has no effect: it is not a cycle, and the states do not change.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node sum(x: num []) -> (y)  y = x + (0.0 fby y);";
/// # let source = rml::Source::text("sum.rml", text);
/// # let program = rml::compile(&source, &rml::Options::default())?;
/// # let inputs = rml::Columns::parse(b"x\n1\n2\n4\n", rml::Format::Csv, "inputs.csv")?;
/// use rml::{End, InferOptions, Stream};
///
/// let options = InferOptions { node: "sum".to_owned(), ..InferOptions::default() };
/// let mut stream = Stream::new(&source, &options)?;
/// assert_eq!(stream.line(r#"{"x": 1.0}"#)?, [r#"{"cycle": 0, "y": 1.0}"#]);
/// assert!(stream.line(r#"{"x": "a"}"#).is_err());
/// assert_eq!(stream.line(r#"{"x": 2.0}"#)?, [r#"{"cycle": 1, "y": 3.0}"#]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Stream {
    program: Program,
    warnings: Diagnostics,
    checkpoint: Checkpoint,
    format: Format,
    engine: Engine,
    look_ahead: usize,
    foreign: Foreign,
    /// The columns of answers in Arrow.
    columns: Option<ArrowAnswers>,
    running: Option<Running>,
}

/// The result at the end of a stream's input.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let source = rml::Source::text("f.rml", "node f(x: num []) -> (o)  o = post x;");
/// # use rml::{End, InferOptions, Stream};
/// # let options = InferOptions { node: "f".to_owned(), ..InferOptions::default() };
/// let mut stream = Stream::new(&source, &options)?;
/// assert!(stream.line(r#"{"x": 1.0}"#)?.is_empty());
/// let ending = stream.finish(End::Closed);
/// assert_eq!(ending.lines, [r#"{"cycle": 0, "o": "?"}"#]);
/// assert!(!ending.warnings.is_empty());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Ending {
    /// The answers of all cycles that have none yet, without newlines. An undetermined output is `"?"`.
    pub lines: Vec<String>,
    /// The same for a stream of Arrow, as bytes.
    pub bytes: Vec<u8>,
    /// An error at the end of the trace, or that outputs wait for each other.
    pub error: Option<Error>,
    /// Why outputs stay undetermined.
    pub warnings: Diagnostics,
}

impl Stream {
    /// Compiles and loads.
    ///
    /// # Errors
    /// A program or checkpoint that does not fit; a program that [`check`](rml_driver::check) rejects, since it would
    /// stop or never answer at some point.
    pub fn new(source: &rml_driver::Source, options: &InferOptions) -> Result<Self, Error> {
        let checkpoint = options.checkpoint()?;
        let mut family = family(source, options, checkpoint.position.as_ref())?;
        let asked = asked_batch(options.batch, &mut options.set.clone())?;
        let size = if asked.is_some() { batch_size(source, &options.node, asked)? } else { 1 };
        let stacked = family.stacked(size)?.outputs.clone();
        let program = family.program(size)?.clone();
        options.check_parameters(&program)?;
        let checkpoint = checkpoint.fitted(&program)?;
        family.refuse_rejected(size)?;
        ask_for_answers(&program)?;
        let stacked = stacked.iter().map(ToString::to_string).collect();
        // Report now whether the states fit, not only when the first line comes.
        let mut warnings = program.warnings().clone();
        warnings.extend(checkpoint::changed(checkpoint.position.as_ref(), &options.set));
        let preparation = Arc::new(checkpoint.preparation().with_cases(enumerated_inputs(source)?));
        check_preparation(&program, &preparation).map_err(|d| program.error(d))?;
        let units = Arc::new(options.units(&program, &preparation)?);
        let names = Arc::new(program.names(&preparation.classes, &preparation.axes));
        let checkpoint = inherited(&mut family, size, &checkpoint, options.fresh)?;
        checkpoint.select(&program, Policy::Inference).map_err(|d| program.error(d))?;
        let (single, allow_nan) = (asked.is_none() && family.stacks, options.allow_nan);
        let format = Format { single, stacked, allow_nan, preparation, names, units };
        let (engine, look_ahead) = (options.engine.clone(), options.look_ahead);
        let foreign = Foreign::default();
        Ok(Self {
            program,
            warnings,
            checkpoint,
            format,
            engine,
            look_ahead,
            foreign,
            columns: None,
            running: None,
        })
    }

    /// Refuses lines with entries that are not inputs.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.foreign.strict = true;
        self
    }

    /// Another stream of the same program in its initial state, without compiling it again: for many clients, each with
    /// its own states.
    pub fn anew(&self) -> Self {
        Self {
            program: self.program.clone(),
            warnings: self.warnings.clone(),
            checkpoint: self.checkpoint.clone(),
            format: self.format.clone(),
            engine: self.engine.clone(),
            look_ahead: self.look_ahead,
            foreign: self.foreign.anew(),
            columns: None,
            running: None,
        }
    }

    /// The paths of the states, other than parameters, that start with their values from the end of training.
    pub fn continued(&self) -> Vec<String> {
        self.checkpoint.continued(&self.program)
    }

    /// Findings that did not stop the stream from starting.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// The texts that the findings point into.
    pub fn sources(&self) -> &Arc<Sources> {
        self.program.sources()
    }

    /// A warning about entries of the lines so far that are not inputs, unless it has been returned already. There is
    /// at most one for a stream.
    pub fn ignored(&mut self) -> Option<Diagnostic> {
        self.foreign.take()
    }

    /// Feeds one line, `{"x": [..], "end": false}`; a missing or `null` entry is absent. Entries that are not inputs
    /// are [ignored](Self::ignored) unless the stream is [strict](Self::strict). Returns the lines that became known,
    /// `{"cycle": 0, "o": 1.5}`, without newlines; an absent output is `null`. A blank line is ignored.
    ///
    /// # Errors
    /// A line that is not such an object, values that do not fit the inputs, an error during the run. Then the line is
    /// not a cycle, nothing has changed, and the next line can be fed, unless the stream [is stuck](Self::is_stuck).
    pub fn line(&mut self, line: &str) -> Result<Vec<String>, Error> {
        if line.trim().is_empty() {
            return Ok(Vec::new());
        }
        self.answers(line).map_err(|error| quoted(error, line, (&self.format, &self.program)))
    }

    fn answers(&mut self, line: &str) -> Result<Vec<String>, Error> {
        let line = self.format.read(line)?;
        self.foreign.look(&line, &self.program, &self.format.preparation)?;
        if let Some(running) = &mut self.running {
            return running.answer(&line, &self.program, &self.format);
        }
        let mut running = self.start(&line)?;
        let answers = running.answer(&line, &self.program, &self.format)?;
        self.running = Some(running);
        Ok(answers)
    }

    /// How the values of inputs are prepared, for reading rows of Arrow.
    pub fn preparation(&self) -> Arc<Preparation> {
        Arc::clone(&self.format.preparation)
    }

    /// Begins a stream of Arrow with these columns, which name all its inputs. Returns the first bytes of the answers,
    /// which are a stream of Arrow, too: the columns `cycle`, the outputs, and for refused rows `row` and `error`.
    ///
    /// # Errors
    /// Columns that are no inputs if the stream is [strict](Self::strict), or from which no output can be computed.
    pub fn begin<'n>(&mut self, columns: impl IntoIterator<Item = &'n str>) -> Result<Vec<u8>, Error> {
        let first: Line = columns.into_iter().map(|name| (name.to_owned(), Ok(None))).collect();
        self.foreign.look(&first, &self.program, &self.format.preparation)?;
        let running = self.start(&first)?;
        let columns = self.format.columns(running.session.program());
        let begin = columns.begin();
        (self.columns, self.running) = (Some(columns), Some(running));
        Ok(begin)
    }

    /// Feeds a row of Arrow, after [`begin`](Self::begin). Returns the bytes of the answers that became known.
    ///
    /// # Errors
    /// As of [`line`](Self::line).
    pub fn row(&mut self, row: &ArrowRow) -> Result<Vec<u8>, Error> {
        let (Some(columns), Some(running)) = (&self.columns, &mut self.running) else {
            return Ok(Vec::new());
        };
        let rows = running.step(row, &self.program, &self.format)?;
        let program = running.session.program();
        Ok(rows.iter().flat_map(|row| columns.answer(&self.format.cells(program, row))).collect())
    }

    /// The answer to a row of Arrow that was refused, by its number.
    pub fn refusal(&self, row: u64, why: &str) -> Vec<u8> {
        let (Some(columns), Some(running)) = (&self.columns, &self.running) else { return Vec::new() };
        columns.answer(&Format::refusal(running.session.program(), row, why))
    }

    /// Whether no further line will be accepted: too many cycles wait for later ones, memory for waiting cycles is
    /// exhausted, or a backend failed to repeat an earlier computation.
    pub fn is_stuck(&self) -> bool {
        self.running.as_ref().is_some_and(Running::is_stuck)
    }

    /// The program for the inputs that the first line names.
    fn start(&self, first: &Line) -> Result<Running, Error> {
        let foreign = refuse_foreign(first, &self.program);
        foreign.map_err(|d| Error::from(d).with_sources(self.program.sources()))?;
        let program = keep_inputs(&self.program, |name| first.contains_key(name));
        if program.outputs().is_empty() && !self.program.outputs().is_empty() {
            let missing: Vec<String> = self
                .program
                .inputs()
                .iter()
                .filter(|i| !first.contains_key(&*i.name))
                .map(|i| format!("`{}`", i.name))
                .collect();
            let d = Diagnostic::error(
                codes::MISSING_INPUT,
                format!("no output can be computed without {}", missing.join(", ")),
            )
            .help("name every input in the first line, with null where it is absent");
            return Err(program.error(fed(d, first, &self.format.preparation)));
        }
        let mut running = Running::open(&program, &self.engine, self.look_ahead)?;
        running.session.restore(&self.checkpoint, Policy::Inference)?;
        Ok(running)
    }

    /// Ends the input. A closed trace is known to be complete, so waiting values get their last value; an open trace
    /// was cut off, so they stay undetermined, which is not a finding.
    pub fn finish(mut self, end: End) -> Ending {
        let mut ending =
            Ending { lines: Vec::new(), bytes: Vec::new(), error: None, warnings: Diagnostics::new() };
        let Some(mut running) = self.running.take() else { return ending };
        let session = &mut running.session;
        let findings = session.end(end).and_then(|()| session.undetermined());
        let rows = session.remaining_rows();
        for row in rows.as_deref().unwrap_or_default() {
            match &self.columns {
                Some(columns) => {
                    ending.bytes.extend(columns.answer(&self.format.cells(session.program(), row)))
                }
                None => ending.lines.push(self.format.answer(session.program(), row)),
            }
        }
        match (findings, rows) {
            (Err(error), _) | (Ok(_), Err(error)) => ending.error = Some(error),
            (Ok(warnings), Ok(_)) if end == End::Closed => ending.warnings = warnings,
            (Ok(_), Ok(_)) => {}
        }
        ending
    }
}

/// Requests memory for the text of an answer, which is as large in every cycle.
pub(crate) fn ask_for_answers(program: &Program) -> Result<(), Error> {
    /// Digits, sign, exponent, comma; three times, since a growing string is copied.
    const ELEMENT: u64 = 3 * 24;
    let elements = program.outputs().iter().map(|o| o.ty.shape.len() as u64).fold(0, u64::saturating_add);
    memory::ask(elements.saturating_mul(ELEMENT)).map_err(|short| {
        let d = short.diagnostic(format!("an answer of {elements} elements"));
        program.error(d)
    })
}

/// A running program, with the inputs of its open cycles, so that a failed cycle can be taken back.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) session: Session,
    open: VecDeque<Vec<Feed>>,
    look_ahead: usize,
    /// Whether memory ran out while cycles waited for later ones.
    out_of_memory: bool,
}

impl Running {
    /// A program in its initial state, of which at most `look_ahead` cycles may wait for later ones.
    pub(crate) fn open(program: &Program, engine: &Engine, look_ahead: usize) -> Result<Self, Error> {
        let stream = Use::new(Feeding::Stream { look_ahead: Some(look_ahead) });
        let session = Session::open(program, engine, &stream)?;
        Ok(Self { session, open: VecDeque::new(), look_ahead, out_of_memory: false })
    }

    /// Runs one cycle; on an error, nothing has changed. Returns the answers that became known.
    fn answer(&mut self, line: &Line, whole: &Program, format: &Format) -> Result<Vec<String>, Error> {
        let rows = self.step(line, whole, format)?;
        Ok(rows.iter().map(|row| format.answer(self.session.program(), row)).collect())
    }

    /// Runs one cycle; on an error, nothing has changed. Returns the rows of outputs that became known.
    pub(crate) fn step(
        &mut self,
        line: &Line,
        whole: &Program,
        format: &Format,
    ) -> Result<Vec<CycleRow>, Error> {
        let row = format.row(line, whole, self.session.program()).map_err(|d| self.session.fail(d))?;
        if let Err(error) = self.session.feed_row(&row) {
            if self.session.has_failed() {
                self.without_open(|_| ());
            }
            self.out_of_memory = error.code() == Some(codes::MEMORY_LIMIT) && !self.open.is_empty();
            return Err(lacking(error, line, self.session.program()));
        }
        self.open.push_back(row);
        let open = usize::try_from(self.session.open_cycles()).unwrap_or(usize::MAX);
        self.open.drain(..self.open.len().saturating_sub(open));
        self.session.drain_rows()
    }

    /// Whether no further line will be accepted.
    pub(crate) fn is_stuck(&self) -> bool {
        let is_full = self.session.open_cycles() >= self.look_ahead as u64;
        self.out_of_memory || is_full || self.session.has_failed()
    }

    /// Reads the session in its state before the open cycles. If a backend fails again in the process, the session
    /// counts as failed.
    pub(crate) fn without_open<T>(&mut self, look: impl FnOnce(&Session) -> T) -> T {
        if self.open.is_empty() && !self.session.has_failed() {
            return look(&self.session);
        }
        self.session.take_back();
        let seen = look(&self.session);
        let _ = self.open.iter().try_for_each(|row| self.session.feed_row(row));
        seen
    }
}
