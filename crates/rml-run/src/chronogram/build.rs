//! Makes the chronogram of a run.

use rml_base::{Diagnostic, Diagnostics, Error, memory};
use rml_data::Columns;
use rml_data::text::{self, Named};
use rml_driver::{Program, ValueNames};
use rml_engine::Status as SimStatus;
use rml_ir::Value;
use rml_ir::flat::Var;
use rml_pictures::{Cell, Chronogram, Page, Row, Rows, dependences};

use super::page;
use super::statuses::{Statuses, known};
use crate::trace::{self, RunOptions};

/// A run with its chronogram.
#[derive(Clone, Debug)]
pub struct DrawnRun {
    /// The chronogram; cells of cycles with errors are unknown.
    pub chronogram: Chronogram,
    /// Why the run stopped early, or that cells wait for each other.
    pub error: Option<Error>,
    /// Notes about the run.
    pub warnings: Diagnostics,
}

/// Runs a program, compiled with [`Options::all_vars`](rml_driver::Options), over a table of inputs as
/// [`run`](crate::run()) does, and makes a chronogram of it.
///
/// # Errors
/// Inputs that do not fit the program. Errors during the run are in [`DrawnRun::error`].
pub fn draw(
    program: &Program,
    inputs: &Columns,
    options: &RunOptions,
    rows: Rows,
) -> Result<DrawnRun, Error> {
    Ok(drawn(program, inputs, options, rows, |_, _, _| ())?.0)
}

/// As [`draw`], with the other parts of a page; with the time of each line, if the engine is
/// [measured](crate::Engine::measured_by).
///
/// # Errors
/// As [`draw`].
pub fn draw_page(
    program: &Program,
    inputs: &Columns,
    options: &RunOptions,
    rows: Rows,
) -> Result<(DrawnRun, Page), Error> {
    let (drawn, mut page) =
        drawn(program, inputs, options, rows, |seen, vars, cycles| page::page(program, seen, vars, cycles))?;
    page.costs = page::costs(program, &page, options.engine.profile());
    Ok((drawn, page))
}

fn drawn<T>(
    program: &Program,
    inputs: &Columns,
    options: &RunOptions,
    rows: Rows,
    look: impl FnOnce((&Statuses<'_>, &ValueNames), &[(Var, String)], usize) -> T,
) -> Result<(DrawnRun, T), Error> {
    let options = RunOptions { all_vars: true, ..options.clone() };
    let (session, trace) = trace::run_session(program, inputs, &options)?;
    let flat = program.flat();
    let (statuses, names) = (Statuses::of(&session), options.names(program)?);
    let shown = rml_pictures::shown(flat, rows);
    ask(bytes(shown.len(), trace.cycles), trace.cycles).map_err(|d| session.fail(d))?;
    let vars: Vec<Var> = shown.iter().map(|(v, _)| *v).collect();
    let chronogram = Chronogram {
        cycles: trace.cycles,
        arrows: dependences(flat, &vars, trace.cycles, &|v, n| known(&statuses.at(v, n))),
        rows: table((&statuses, &names), shown.clone(), trace.cycles),
        ..Chronogram::default()
    };
    let seen = look((&statuses, &names), &shown, trace.cycles);
    statuses.read()?;
    Ok((DrawnRun { chronogram, error: trace.error, warnings: trace.warnings }, seen))
}

/// An upper bound on the bytes of a cell, with its arrows, and the text or drawing made of them.
const CELL: u64 = 1024;

/// The bytes of a table with this many rows, and of everything made of it.
pub(super) fn bytes(rows: usize, cycles: usize) -> u64 {
    (rows as u64 + 1).saturating_mul(cycles as u64).saturating_mul(CELL)
}

/// Requests the memory for a chronogram.
pub(super) fn ask(bytes: u64, cycles: usize) -> Result<(), Diagnostic> {
    memory::ask(bytes).map_err(|short| {
        short
            .diagnostic(format!("a chronogram of {cycles} cycles"))
            .help("draw fewer cycles, or fewer rows (`--vars`)")
    })
}

/// The rows of variables after a run.
pub(super) fn table(
    (statuses, names): (&Statuses<'_>, &ValueNames),
    shown: Vec<(Var, String)>,
    cycles: usize,
) -> Vec<Row> {
    let cell = |v: Var, n: usize| cell(&statuses.at(v, n), names.of_var(v));
    let row = |(v, name): (Var, String)| Row { name, cells: (0..cycles).map(|n| cell(v, n)).collect() };
    shown.into_iter().map(row).collect()
}

pub(super) fn value_cell(value: &Value, names: Named<'_>) -> Cell {
    Cell::Value(match value {
        Value::Bool(b) => if *b { "T" } else { "F" }.to_owned(),
        value => text::brief(value, names),
    })
}

fn cell(status: &SimStatus, names: Named<'_>) -> Cell {
    match status {
        SimStatus::Absent => Cell::Absent,
        SimStatus::Value(value) => value_cell(value, names),
        SimStatus::Unknown | SimStatus::Error => Cell::Unknown,
        SimStatus::Bottom => Cell::Bottom,
    }
}
