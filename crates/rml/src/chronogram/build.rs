//! From a run to its chronogram.

use rml_base::{Diagnostics, EntityId};
use rml_ir::Value;
use rml_ir::flat::{Flat, Var};
use rml_sim::Status as SimStatus;

use super::{Cell, Chronogram, Row, Status, dependences};
use crate::compile::Program;
use crate::data::Columns;
use crate::error::Error;
use crate::trace::{self, RunOptions};

/// Which variables a chronogram shows. Inputs stand first, outputs last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rows {
    /// All named variables, those of inner instances by their paths.
    All,
    /// The named variables of the run node itself.
    #[default]
    Node,
    /// The outputs of the run node.
    Outputs,
}

/// A run with its chronogram.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The chronogram; cells of cycles that went wrong are unknown.
    pub chronogram: Chronogram,
    /// Why the run stopped early, or that cells wait for each other.
    pub error: Option<Error>,
    /// What is worth knowing about the run.
    pub warnings: Diagnostics,
}

/// Runs a program, compiled with [`Options::all_vars`](crate::Options), over a table of inputs as [`run`](crate::run) does, and
/// makes a chronogram of it.
///
/// # Errors
/// Inputs that do not fit the program. What goes wrong during the run is in [`Drawn::error`].
pub fn draw(program: &Program, inputs: &Columns, options: &RunOptions, rows: Rows) -> Result<Drawn, Error> {
    let options = RunOptions { all_vars: true, ..*options };
    let (session, trace) = trace::run_session(program, inputs, &options)?;
    let flat = program.flat();
    let status = |v: Var, n: usize| session.sim().status(n as u64, v).unwrap_or_default();
    let vars = shown(flat, rows);
    let row = |&v: &Var| Row {
        name: flat.vars[v].name.as_deref().unwrap_or_default().to_owned(),
        cells: (0..trace.cycles).map(|n| cell(&status(v, n))).collect(),
    };
    let chronogram = Chronogram {
        cycles: trace.cycles,
        rows: vars.iter().map(row).collect(),
        arrows: dependences(flat, &vars, trace.cycles, &|v, n| known(&status(v, n))),
    };
    Ok(Drawn { chronogram, error: trace.error, warnings: trace.warnings })
}

/// The variables to show, in order, each once.
fn shown(flat: &Flat, rows: Rows) -> Vec<Var> {
    let named = |v: &Var| flat.vars[*v].name.as_deref();
    let of_node = |v: &Var| rows == Rows::All || named(v).is_some_and(|n| !n.contains('.'));
    let is_input = |v: &Var| flat.inputs.iter().any(|i| i.var == *v);
    let is_output = |v: &Var| flat.outputs.contains(v);
    if rows == Rows::Outputs {
        return flat.outputs.clone();
    }
    let inputs = flat.inputs.iter().map(|i| i.var).filter(|v| !is_output(v));
    let locals =
        flat.vars.ids().filter(|v| named(v).is_some() && of_node(v) && !is_input(v) && !is_output(v));
    let mut seen = vec![false; flat.vars.len()];
    let all = inputs.chain(locals).chain(flat.outputs.iter().copied());
    all.filter(|v| !std::mem::replace(&mut seen[v.index()], true)).collect()
}

fn cell(status: &SimStatus) -> Cell {
    match status {
        SimStatus::Absent => Cell::Absent,
        SimStatus::Value(Value::Bool(b)) => Cell::Value(if *b { "T" } else { "F" }.to_owned()),
        SimStatus::Value(value) => Cell::Value(crate::text::brief(value)),
        SimStatus::Bottom | SimStatus::Unknown | SimStatus::Error => Cell::Unknown,
    }
}

fn known(status: &SimStatus) -> Status {
    match status {
        SimStatus::Absent => Status::Absent,
        SimStatus::Value(value) => Status::Value(value.as_bool()),
        SimStatus::Bottom | SimStatus::Unknown | SimStatus::Error => Status::Unknown,
    }
}
