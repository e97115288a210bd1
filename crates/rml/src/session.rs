//! A program that runs, cycle by cycle: inputs go in by name, outputs come out in cycle order as soon as they are known.

use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_ir::Value;

use crate::compile::Program;
use crate::error::Error;

/// How a trace ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The trace is finite and complete: `fby back` takes its initial value in the last cycle.
    Closed,
    /// The trace is a prefix of an endless one: what depends on the future stays unknown.
    Open,
}

/// What one input is in one cycle.
#[derive(Clone, Debug)]
pub enum Feed {
    /// Absent.
    Absent,
    /// Present with that value.
    Value(Value),
    /// Read if the program infers that the input is present; `None` = it may only turn out absent.
    OnDemand(Option<Value>),
}

/// The outputs of one cycle.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// The cycle, from 0.
    pub cycle: u64,
    /// Outputs by name, in order; `None` = absent.
    pub values: IndexMap<Arc<str>, Option<Value>>,
}

/// A running program.
#[derive(Debug)]
pub struct Session {
    program: Program,
}

impl Session {
    /// Starts `program` in its initial state.
    pub fn new(program: &Program) -> Self {
        Self { program: program.clone() }
    }

    /// The program that runs.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Feeds one cycle: a value for each input by name; an input that is not named is absent where its declared clock says so.
    /// Returns the outputs of the cycles that became known, in order.
    ///
    /// # Errors
    /// Unknown or missing inputs, values of a wrong type, and what goes wrong in the program's run.
    pub fn step<'a>(&mut self, inputs: impl IntoIterator<Item = (&'a str, Feed)>) -> Result<Vec<Outputs>, Error> {
        let _ = inputs.into_iter();
        unimplemented!()
    }

    /// Ends the trace and returns the outputs of the remaining cycles.
    ///
    /// # Errors
    /// What goes wrong in the program's run; outputs that no cycle determines, on a closed trace.
    pub fn finish(self, end: End) -> Result<Vec<Outputs>, Error> {
        let _ = end;
        unimplemented!()
    }

    /// All states by checkpoint key.
    ///
    /// # Errors
    /// Between windows only: some cycle is not complete yet.
    pub fn states(&self) -> Result<IndexMap<String, Value>, Error> {
        unimplemented!()
    }

    /// Writes all states to a checkpoint file.
    ///
    /// # Errors
    /// As [`Session::states`]; a file that cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let _ = path;
        unimplemented!()
    }

    /// Reads states from a checkpoint file.
    ///
    /// # Errors
    /// A file that is no checkpoint, or does not hold the states of this program.
    pub fn load(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        let _ = path;
        unimplemented!()
    }
}
