//! Whole traces: runs a program over a table of inputs, and keeps every cell.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use indexmap::IndexMap;
use rml_base::memory::{self, Reservation};
use rml_base::profile::Phase;
use rml_base::{Diagnostic, Diagnostics, Error, visible};
use rml_data::{Arranged, Columns, Feed, Preparation, Windowing, text, write_row};
use rml_driver::{Program, ValueNames};
use rml_engine::{End, Feeding, Status, Use};
use rml_ir::flat::Var;
use rml_ir::{Names, Shape, Value};

use crate::checkpoint::{Checkpoint, Parameters};
use crate::engines::Engine;
use crate::session::{Outputs, Session};

mod table;
mod vcd;

pub(crate) use table::Table;

/// The value of one variable in one cycle.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node f(x: num [], c: bool []) -> (o)  o = x when c;";
/// # let program = rml::compile(&rml::Source::text("f.rml", text), &rml::Options::default())?;
/// # let inputs = rml::Columns::parse(b"x,c\n1,true\n2,false\n", rml::Format::Csv, "inputs.csv")?;
/// use rml::{Cell, RunOptions};
///
/// let trace = rml::run(&program, &inputs, &RunOptions::default())?;
/// assert!(matches!(&trace.values["o"][..], [Cell::Value(_), Cell::Absent]));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub enum Cell {
    /// Absent.
    Absent,
    /// Not determined at the end of the trace.
    Unknown,
    /// Present with this value.
    Value(Value),
}

impl From<&Status> for Cell {
    fn from(status: &Status) -> Self {
        match status {
            Status::Absent => Cell::Absent,
            Status::Value(v) => Cell::Value(v.clone()),
            Status::Bottom | Status::Unknown | Status::Error => Cell::Unknown,
        }
    }
}

/// How to run over a table.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node sum(x: num []) -> (y)  y = x + (0.0 fby y);";
/// # let source = rml::Source::text("sum.rml", text);
/// # let program = rml::compile(&source, &rml::Options::default())?;
/// # let inputs = rml::Columns::parse(b"x\n1\n2\n4\n", rml::Format::Csv, "inputs.csv")?;
/// use rml::RunOptions;
///
/// let options = RunOptions { cycles: Some(2), ..RunOptions::default() };
/// assert_eq!(rml::run(&program, &inputs, &options)?.cycles, 2);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The number of cycles; `None` = that of the inputs.
    pub cycles: Option<usize>,
    /// Whether the trace is known to end after the last cycle.
    pub end: End,
    /// Keep all named variables of the program instead of its outputs (see [`Options::all_vars`](rml_driver::Options)).
    pub all_vars: bool,
    /// Whether NaN is accepted in the inputs.
    pub allow_nan: bool,
    /// How the rows of a long table become windows, whose cycles run one window after the other; it is completed by
    /// what the training of the states did. Without windows, each row is a cycle.
    pub cut: Windowing,
    /// The states that the run starts with: all parameters, and other states that fit; `None` = initial values. Inputs
    /// are prepared as in the training of these states.
    pub params: Option<Parameters>,
    /// The engine that runs the program.
    pub engine: Engine,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            cycles: None,
            end: End::Closed,
            all_vars: false,
            allow_nan: false,
            cut: Windowing::default(),
            params: None,
            engine: Engine::default(),
        }
    }
}

impl RunOptions {
    /// The names of the values of a program.
    pub(crate) fn names(&self, program: &Program) -> Result<ValueNames, Error> {
        let checkpoint = self.params.as_ref().map(Parameters::checkpoint).transpose()?;
        let checkpoint = checkpoint.map(|checkpoint| checkpoint.fitted(program)).transpose()?;
        let preparation = checkpoint.as_ref().map(Checkpoint::preparation).unwrap_or_default();
        Ok(program.names(&preparation.classes, &preparation.axes))
    }

    /// How inputs are prepared.
    fn preparation(&self) -> Result<Preparation, Error> {
        let checkpoint = self.params.as_ref().map(Parameters::checkpoint).transpose()?;
        Ok(checkpoint.as_ref().map(Checkpoint::preparation).unwrap_or_default())
    }
}

/// The result of a run.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node sum(x: num []) -> (y)  y = x + (0.0 fby y);";
/// # let source = rml::Source::text("sum.rml", text);
/// # let program = rml::compile(&source, &rml::Options::default())?;
/// # let inputs = rml::Columns::parse(b"x\n1\n2\n4\n", rml::Format::Csv, "inputs.csv")?;
/// let trace = rml::run(&program, &inputs, &rml::RunOptions::default())?;
/// assert_eq!(trace.to_csv(), "y\n1.0\n3.0\n7.0\n");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Trace {
    /// The number of cycles.
    pub cycles: usize,
    /// The cells of each variable, one per cycle: those of the outputs, or of all named variables, inputs first.
    pub values: IndexMap<String, Vec<Cell>>,
    /// The names of the values of some of these variables, numbered from 0: the cases of an enumeration, or the classes
    /// of data.
    pub names: IndexMap<String, Names>,
    /// Why the run stopped early, or that cells wait for each other; the cells computed so far are kept.
    pub error: Option<Error>,
    /// Warnings, such as cells that are undetermined at the end of the trace.
    pub warnings: Diagnostics,
    /// The memory reserved for the cells, without their values.
    #[allow(dead_code, reason = "held, not read")]
    reserved: Reservation,
}

impl Trace {
    /// The names of the values of a variable.
    fn names_of(&self, name: &str) -> text::Named<'_> {
        self.names.get(name).map(|names| &names[..])
    }

    /// `{"cycles": N, "values": {"var": [..]}}`; `null` = absent, `"?"` = not determined. Numbers that are not finite
    /// are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`, integers that have names are written by name, and
    /// tensors are nested arrays.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write_json(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        write!(out, "{{\"cycles\": {}, \"values\": {{", self.cycles)?;
        for (i, (name, cells)) in self.values.iter().enumerate() {
            out.write_str(if i > 0 { ",\n  " } else { "\n  " })?;
            write!(out, "{}: [", serde_json::Value::from(name.as_str()))?;
            for (j, cell) in cells.iter().enumerate() {
                out.write_str(if j > 0 { ", " } else { "" })?;
                match cell {
                    Cell::Absent => out.write_str("null")?,
                    Cell::Unknown => out.write_str("\"?\"")?,
                    Cell::Value(v) => text::write_json(out, v, self.names_of(name))?,
                }
            }
            out.write_str("]")?;
        }
        out.write_str("}}")
    }

    /// As [`write_json`](Self::write_json), as a string.
    pub fn to_json(&self) -> String {
        text::written(|out| self.write_json(out))
    }

    /// One row per cycle under a header row of names; an empty cell = absent, `?` = not determined. Each element of a
    /// tensor has its own column, named `x[0]`, `x[1]` or `m[0,0]`.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write_csv(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let value = |cell: &Cell| if let Cell::Value(v) = cell { Some(v.shape()) } else { None };
        let shapes: Vec<Shape> =
            self.values.values().map(|cells| cells.iter().find_map(value).unwrap_or_default()).collect();
        let names =
            self.values.keys().zip(&shapes).flat_map(|(name, shape)| text::element_names(name, shape));
        csv_record(out, names)?;
        for n in 0..self.cycles {
            let fields = self.values.iter().zip(&shapes).flat_map(|((name, cells), shape)| {
                csv_fields(cells.get(n).unwrap_or(&Cell::Absent), shape, self.names_of(name))
            });
            csv_record(out, fields)?;
        }
        Ok(())
    }

    /// As [`write_csv`](Self::write_csv), as a string.
    pub fn to_csv(&self) -> String {
        text::written(|out| self.write_csv(out))
    }

    /// An upper bound on the bytes that a table of the cells takes while it is made, for [`memory::ask`].
    pub fn table_bytes(&self) -> u64 {
        let cells = (self.values.len() as u64 + 1).saturating_mul(self.cycles as u64);
        cells.saturating_mul(CELL_TEXT)
    }

    /// An aligned table for people, one row per variable: `□` = absent, `?` = not determined, large tensors are
    /// shortened.
    pub fn to_table(&self) -> String {
        let mut rows = vec![vec!["cycle".to_owned()]];
        rows[0].extend((0..self.cycles).map(|n| n.to_string()));
        for (name, cells) in &self.values {
            let mut row = vec![name.clone()];
            row.extend(cells.iter().map(|cell| match cell {
                Cell::Absent => "□".to_owned(),
                Cell::Unknown => "?".to_owned(),
                Cell::Value(v) => text::brief(v, self.names_of(name)),
            }));
            rows.push(row);
        }
        rml_base::table(&rows, &[0])
    }
}

/// An upper bound on the bytes of a cell's text, with its share of the lines made of it.
const CELL_TEXT: u64 = 160;

fn csv_record(out: &mut dyn fmt::Write, fields: impl Iterator<Item = String>) -> fmt::Result {
    let mut row = String::new();
    write_row(&mut row, fields);
    out.write_str(&row)
}

/// The fields of a cell, one per element.
fn csv_fields(cell: &Cell, shape: &Shape, names: text::Named<'_>) -> Vec<String> {
    match cell {
        Cell::Absent => vec![String::new(); shape.len()],
        Cell::Unknown => vec!["?".to_owned(); shape.len()],
        Cell::Value(v) => {
            let data = v.to_data();
            // A name may come from an untrusted source.
            let shown = |text: String| match names {
                Some(_) => visible(&text).into_owned(),
                None => text,
            };
            (0..data.len()).map(|i| shown(text::element(&data, i, names))).collect()
        }
    }
}

/// Runs a program over a table of inputs, one row per cycle. A column without absent rows (as those of npz) is present
/// where the declared clock of its input says so, if this clock is also in the table.
///
/// # Errors
/// Inputs that do not fit the program. Errors during the run are in [`Trace::error`].
pub fn run(program: &Program, inputs: &Columns, options: &RunOptions) -> Result<Trace, Error> {
    run_session(program, inputs, options).map(|(_, trace)| trace)
}

/// Notes about the windows that the rows of a table become in a run: sentences without a full stop.
///
/// # Errors
/// A checkpoint that cannot be read; a table that cannot be cut.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node sum(x: num []) -> (y)  y = x + (0.0 fby y);";
/// # let source = rml::Source::text("sum.rml", text);
/// # let program = rml::compile(&source, &rml::Options::default())?;
/// # let inputs = rml::Columns::parse(b"x\n1\n2\n4\n", rml::Format::Csv, "inputs.csv")?;
/// let cut = rml::Windowing { window: Some(2), ..rml::Windowing::default() };
/// let options = rml::RunOptions { cut, ..rml::RunOptions::default() };
/// assert_eq!(rml::window_notes(&program, &inputs, &options)?[0], "1 series of 3 rows, windows of 2 rows");
/// # Ok(()) }
/// ```
pub fn window_notes(program: &Program, inputs: &Columns, options: &RunOptions) -> Result<Vec<String>, Error> {
    let (windowing, is_left) = table::windowing(inputs, program.inputs(), options, &options.preparation()?);
    if is_left {
        let note = "the table has a column `end`, so each row is a cycle; the training cut other windows";
        return Ok(vec![note.to_owned()]);
    }
    Ok(Arranged::new(inputs, &windowing)?.notes())
}

/// The number of cycles of a run over a table of inputs.
pub(crate) fn cycles(program: &Program, inputs: &Columns, options: &RunOptions) -> Result<usize, Error> {
    let table = Table::new(program, inputs, options, options.preparation()?);
    table.map(|t| t.cycles).map_err(|d| program.error(d))
}

/// The number of cycles of a run over a table of inputs, and for each input of the program its values in the cycles
/// where it is present.
pub(crate) fn sequences(
    program: &Program,
    inputs: &Columns,
    options: &RunOptions,
) -> Result<(usize, Vec<Vec<Value>>), Error> {
    let table = Table::new(program, inputs, options, options.preparation()?);
    let table = table.map_err(|d| program.error(d))?;
    let mut sequences = vec![Vec::new(); table.inputs.len()];
    // Without inputs there is nothing to read in any cycle.
    for n in 0..if sequences.is_empty() { 0 } else { table.cycles } {
        for (sequence, feed) in sequences.iter_mut().zip(table.row(n)) {
            if let Feed::Value(value) = feed {
                sequence.push(value);
            }
        }
    }
    Ok((table.cycles, sequences))
}

/// How many cycles are fed at once: several windows, but little memory compared with the trace.
const PIECE: usize = 4096;

/// As [`run`]; the session can still report the cells of all variables, if they were recorded.
pub(crate) fn run_session(
    program: &Program,
    inputs: &Columns,
    options: &RunOptions,
) -> Result<(Session, Trace), Error> {
    let engine = &options.engine;
    let read = || options.params.as_ref().map(Parameters::checkpoint).transpose();
    let checkpoint = engine.time(Phase::Checkpoint, read)?;
    let checkpoint = checkpoint.map(|checkpoint| checkpoint.fitted(program)).transpose()?;
    let preparation = checkpoint.as_ref().map(Checkpoint::preparation).unwrap_or_default();
    let names = program.names(&preparation.classes, &preparation.axes);
    let bind = || Table::new(program, inputs, options, preparation);
    let table = engine.time(Phase::Data, bind).map_err(|d| program.error(d))?;
    let cycles = table.cycles;
    let wish = Use { record: options.all_vars, ..Use::new(Feeding::Windows { cycles: None }) };
    let mut session = Session::open(program, &options.engine, &wish)?;
    if let Some(checkpoint) = checkpoint {
        session.begin_with(&checkpoint.into())?;
    }
    let reserved = reserve(program, cycles, options.all_vars).map_err(|d| session.fail(d))?;
    let mut values = Values::new(program, cycles);
    let mut piece = |from: usize| {
        let block = options.engine.time(Phase::Data, || table.block(from..cycles.min(from + PIECE)));
        let before = session.cycles();
        let fed = session.feed_block(&block).map_err(|error| table.with_gaps(error, from, before));
        if !options.all_vars {
            values.fetch(&mut session)?;
        }
        fed
    };
    let ran = (0..cycles).step_by(PIECE).try_for_each(&mut piece).and_then(|()| session.end(options.end));
    let values =
        if options.all_vars { all_vars(program, &session, cycles)? } else { values.rest(&mut session)? };
    let (warnings, error) = match ran.and_then(|()| session.undetermined()) {
        Ok(warnings) => (warnings, None),
        Err(error) => (Diagnostics::new(), Some(error)),
    };
    let of = |name: &String| Some((name.clone(), names.of(name)?.into()));
    let names = values.keys().filter_map(of).collect();
    Ok((session, Trace { cycles, values, names, error, warnings, reserved }))
}

impl Session {
    /// Runs the cycles of a table of inputs, as [`run`](crate::run()) does, but from the session's current state, and
    /// without an end of the trace. Returns the outputs of the cycles that became known, in order.
    ///
    /// # Errors
    /// Inputs that do not fit the program; errors during the run.
    ///
    /// ```
    /// # fn main() -> Result<(), rml::Error> {
    /// let source = rml::Source::text("sum.rml", "node sum(x: num []) -> (o) o = x + (0.0 fby o);");
    /// let mut session = rml::Session::new(&rml::compile(&source, &rml::Options::default())?);
    /// let inputs = rml::Columns::parse(br#"{"x": [1.0, 2.0]}"#, rml::Format::Json, "inputs")?;
    /// session.run(&inputs, false)?;
    /// assert_eq!(session.run(&inputs, false)?[1].num("o"), Some(6.0));
    /// # Ok(()) }
    /// ```
    pub fn run(&mut self, inputs: &Columns, allow_nan: bool) -> Result<Vec<Outputs>, Error> {
        self.run_until(inputs, allow_nan, &AtomicBool::new(false))
    }

    /// As [`run`](Self::run), but stops within some cycles after `interrupt` is set from outside. The number of fed
    /// cycles then tells the position.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_until(
        &mut self,
        inputs: &Columns,
        allow_nan: bool,
        interrupt: &AtomicBool,
    ) -> Result<Vec<Outputs>, Error> {
        let program = self.program().clone();
        let options = RunOptions { allow_nan, ..RunOptions::default() };
        let table = Table::new(&program, inputs, &options, Preparation::default());
        let table = table.map_err(|d| self.fail(d))?;
        let mut known = Vec::new();
        for from in (0..table.cycles).step_by(PIECE) {
            if interrupt.load(Ordering::SeqCst) {
                break;
            }
            let before = self.cycles();
            self.feed_block(&table.block(from..table.cycles.min(from + PIECE)))
                .map_err(|error| table.with_gaps(error, from, before))?;
            known.extend(self.drain()?);
        }
        Ok(known)
    }
}

/// Reserves the memory for the cells of a trace.
fn reserve(program: &Program, cycles: usize, all_vars: bool) -> Result<Reservation, Diagnostic> {
    let flat = program.flat();
    let named = || flat.vars.iter().filter(|v| v.name.is_some()).count();
    let shown = if all_vars { named() } else { program.outputs().len() };
    // The simulator's record needs memory beside the cells.
    let recorded = if all_vars { flat.vars.len() } else { 0 };
    let of = |count: usize, size: usize| memory::bytes_of(cycles, count.saturating_mul(size));
    let cells = of(shown, size_of::<Cell>());
    let record = of(recorded, size_of::<Status>());
    let what = || format!("a trace of {cycles} cycles");
    let mut reserved = Reservation::default();
    memory::ask(cells.saturating_add(record)).and_then(|()| reserved.grow(cells)).map_err(|short| {
        let d = short.diagnostic(what()).help("run fewer cycles (`--cycles`)");
        let shown = "each cycle has a cell for each variable that is shown";
        match flat.outputs.first() {
            Some(&v) => d.label(flat.vars[v].span, shown),
            None => d.note(shown),
        }
    })?;
    Ok(reserved)
}

/// The cells of the outputs, fetched as they become known.
struct Values {
    cells: IndexMap<String, Vec<Cell>>,
    cycles: usize,
}

impl Values {
    fn new(program: &Program, cycles: usize) -> Self {
        Self { cells: program.outputs().iter().map(|o| (o.name.to_string(), Vec::new())).collect(), cycles }
    }

    fn fetch(&mut self, session: &mut Session) -> Result<(), Error> {
        for row in session.drain_rows()? {
            for (cells, status) in self.cells.values_mut().zip(&row.values) {
                cells.push(status.into());
            }
        }
        Ok(())
    }

    /// All cells, including the outputs still to be fetched; the cells of cycles without outputs are not determined.
    fn rest(mut self, session: &mut Session) -> Result<IndexMap<String, Vec<Cell>>, Error> {
        self.fetch(session)?;
        self.cells.values_mut().for_each(|cells| cells.resize(self.cycles, Cell::Unknown));
        Ok(self.cells)
    }
}

fn all_vars(
    program: &Program,
    session: &Session,
    cycles: usize,
) -> Result<IndexMap<String, Vec<Cell>>, Error> {
    let flat = program.flat();
    let inputs = flat.inputs.iter().map(|i| i.var);
    let named: Vec<(Var, String)> = inputs
        .chain(flat.vars.ids())
        .filter_map(|v| flat.vars[v].name.as_ref().map(|name| (v, name.to_string())))
        .collect();
    let mut values = IndexMap::new();
    for (v, name) in named {
        if !values.contains_key(&name) {
            let cell = |n: u64| session.status(n, v).map(|status| Cell::from(&status));
            values.insert(name, (0..cycles as u64).map(cell).collect::<Result<_, _>>()?);
        }
    }
    Ok(values)
}
