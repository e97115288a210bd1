//! Whole traces: a program run over a table of inputs, with every cell kept.

use indexmap::IndexMap;
use rml_ir::Value;

use crate::compile::Program;
use crate::data::Columns;
use crate::error::Error;
use crate::session::End;

/// What one variable is in one cycle.
#[derive(Clone, Debug)]
pub enum Cell {
    /// Absent.
    Absent,
    /// Not determined at the end of the trace.
    Unknown,
    /// Present with that value.
    Value(Value),
}

/// How to run over a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunOptions {
    /// How many cycles; `None` = as many as the inputs have.
    pub cycles: Option<usize>,
    /// Whether the trace is known to end after the last cycle.
    pub end: End,
    /// Keep all variables of the program instead of its outputs (see [`Options::all_vars`](crate::Options)).
    pub all_vars: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { cycles: None, end: End::Closed, all_vars: false }
    }
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Trace {
    /// How many cycles.
    pub cycles: usize,
    /// The cells of each variable, one a cycle.
    pub values: IndexMap<String, Vec<Cell>>,
    /// Why the run stopped early, or what is wrong with its end; the cells computed so far are kept.
    pub error: Option<Error>,
}

impl Trace {
    /// `{"cycles": N, "values": {"var": [..]}}`; `null` = absent, `"?"` = not determined. Numbers that are not finite are the
    /// strings `"NaN"`, `"Infinity"` and `"-Infinity"`; tensors are nested arrays.
    pub fn to_json(&self) -> String {
        unimplemented!()
    }

    /// One row a cycle under a header row of names; an empty cell = absent, `?` = not determined.
    pub fn to_csv(&self) -> String {
        unimplemented!()
    }

    /// An aligned table for people, one row a variable.
    pub fn to_table(&self) -> String {
        unimplemented!()
    }
}

/// Runs a program over a table of inputs, one row a cycle.
///
/// # Errors
/// Inputs that do not fit the program. What goes wrong during the run is in [`Trace::error`].
pub fn run(program: &Program, inputs: &Columns, options: &RunOptions) -> Result<Trace, Error> {
    let _ = (program, inputs, options);
    unimplemented!()
}
