//! The traits: an engine opens a program for a use, or declines; a run is fed and answers.

use std::fmt;
use std::sync::Arc;

use rml_backend::Compiled;
use rml_base::profile::Scope;
use rml_base::{Diagnostic, codes};
use rml_ir::flat::{Drawn, Var};

use crate::block::{Inputs, Outputs, Row};
use crate::declined::Declined;
use crate::states::{Snapshot, States};
use crate::status::Status;

/// How a trace ends (CELL-1, ENV-6).
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node last(x: num []) -> (o)  o = 0.0 fby back x;";
/// # let program = rml::compile(&rml::Source::text("last.rml", text), &rml::Options::default())?;
/// use rml::{End, Session};
///
/// let mut session = Session::new(&program);
/// assert!(session.step([("x", 1.0_f32.into())])?.is_empty());
/// let last = session.finish(End::Closed)?;
/// assert_eq!(last[0].num("o"), Some(0.0));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The trace is finite and complete: `fby back` takes its initial value in the last cycle.
    Closed,
    /// The trace is a prefix of an endless one: what depends on the future stays unknown.
    Open,
}

/// How the cycles of a trace are fed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feeding {
    /// One at a time, or as they come.
    Stream {
        /// The most cycles that may be open at once; `None` = no limit.
        look_ahead: Option<usize>,
    },
    /// In blocks of whole outermost windows, one or several, or of parts of them. The outputs of a window are asked for
    /// when it has ended. The trace continues from block to block.
    Windows {
        /// How many cycles a block has, where that is known.
        cycles: Option<usize>,
    },
}

/// The use for which a program is opened.
#[derive(Clone, Debug)]
pub struct Use {
    /// How its cycles are fed.
    pub feeding: Feeding,
    /// Whether the statuses of all variables in all cycles are kept, so that the run has [`Run::inspect`].
    pub record: bool,
    /// The number that outputs and diagnostics give the first cycle. It is not 0 if the run continues from the states
    /// of another one.
    pub first: u64,
    /// The profile that receives the times.
    pub profile: Option<Scope>,
}

impl Use {
    /// A run from cycle 0 on, without a record or a profile.
    pub fn new(feeding: Feeding) -> Self {
        Self { feeding, record: false, first: 0, profile: None }
    }
}

/// A way to run programs.
pub trait Engine: fmt::Debug + Send + Sync {
    /// Its name in messages, such as `simulator`.
    fn name(&self) -> &str;

    /// Prepares a program, in its initial state. Whatever depends on the program alone is done here, once.
    ///
    /// # Errors
    /// If it does not run this program for this use. Then the caller asks another engine, or reports why.
    fn open(&self, program: &Arc<Drawn>, wish: &Use) -> Result<Box<dyn Run>, Declined>;

    /// The programs that its backend has compiled so far.
    fn compiled(&self) -> Compiled {
        Compiled::default()
    }
}

/// A program that runs.
///
/// Every engine has the meaning of `docs/semantics`: the same outputs in the same cycles, and the same diagnostics for
/// what goes wrong. Numbers may differ within the tolerance that the engine's backend states.
pub trait Run: fmt::Debug + Send {
    /// Runs the next cycles as far as they can be run now. To feed a block means the same as to feed its cycles one
    /// after the other; if one of them fails, the cycles after it were not fed.
    ///
    /// # Errors
    /// If the entries do not fit the inputs (ERROR-8); what goes wrong in the program's run, also if it did before; if
    /// more cycles are open than may be; if memory runs out, or a device fails. The outputs of the cycles below can
    /// still be read.
    fn feed(&mut self, inputs: Inputs<'_>) -> Result<(), Diagnostic>;

    /// Ends the trace.
    ///
    /// # Errors
    /// What goes wrong in the program's run, also if it did before; if the trace has ended already ([`trace_ended`]).
    fn finish(&mut self, end: End) -> Result<(), Diagnostic>;

    /// The outputs that became known next, in the order of cycles (FIX-5). After the end, rows that are not determined
    /// are among them.
    fn next_outputs(&mut self) -> Option<Outputs>;

    /// After the end or a failure: the rows of all cycles whose outputs were not fetched, whatever is known about them.
    ///
    /// # Errors
    /// If a value cannot be copied from its device.
    fn remaining(&mut self) -> Result<Vec<Row>, Diagnostic>;

    /// The number of the next cycle.
    fn cycles(&self) -> u64;

    /// How many cycles are open: fed, and not complete yet.
    fn open_cycles(&self) -> u64;

    /// The states that outlive windows. A state is left out if it was never set and has no initial value.
    ///
    /// # Errors
    /// If an output or a state is not known yet, or a window is open; if the run failed.
    fn states(&self) -> Result<States, Diagnostic>;

    /// Sets those states; others stay. Numbers are rounded to the program's precision.
    ///
    /// # Errors
    /// If there is no such state, if a value has another type, or if cycles are open.
    fn set_states(&mut self, states: &States) -> Result<(), Diagnostic>;

    /// The states, and what delays in open windows remember, for another engine that continues from here.
    ///
    /// # Errors
    /// As [`states`](Self::states), but windows may be open.
    fn snapshot(&self) -> Result<Snapshot, Diagnostic>;

    /// Sets everything that is remembered. Delays and states that are not in the snapshot restart: they had no value.
    ///
    /// # Errors
    /// As [`set_states`](Self::set_states).
    fn set_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Diagnostic>;

    /// The outputs that are undetermined now, with an explanation; `None` if there are none, or if the run failed.
    fn undetermined(&self) -> Option<Undetermined>;

    /// Why the oldest open cycle cannot be completed: as [`undetermined`](Self::undetermined), but where all outputs
    /// are known, what else is not.
    fn waiting(&self) -> Option<Undetermined>;

    /// Whether something stopped the run.
    fn has_failed(&self) -> bool;

    /// Takes back every open cycle, and with them what stopped the run, as if these cycles had never been fed. Only
    /// outputs of theirs that were already fetched do not come again. Returns the first cycle that was taken back,
    /// which has to be fed next.
    fn take_back(&mut self) -> u64;

    /// The work of the run so far, and its memory.
    fn usage(&self) -> Usage;

    /// Access to what is known about each variable, if the run keeps a record.
    fn inspect(&self) -> Option<&dyn Inspect> {
        None
    }
}

/// Access to every cell of a run that keeps a record.
pub trait Inspect {
    /// What is known about a variable in a cycle; `None` = there was no such cycle.
    ///
    /// # Errors
    /// If the value cannot be copied from its device.
    fn status(&self, cycle: u64, v: Var) -> Result<Option<Status>, Diagnostic>;
}

/// Cells that stay undetermined.
#[derive(Clone, Debug)]
pub struct Undetermined {
    /// The undetermined outputs by cycle; for a program without outputs its named variables.
    pub cells: Vec<(u64, Var)>,
    /// Whether the first of them waits for cycles after the last one (and not for itself or for what never comes).
    pub waits_for_future: bool,
    /// Whether the first of them waits for itself.
    pub cyclic: bool,
    /// Whether the first of them waits for a `post` in the last cycle.
    pub at_end: bool,
    /// The explanation.
    pub report: Diagnostic,
}

/// The work of a run, and its memory.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Usage {
    /// How often a unit of work was done: an equation tried, a function called, a block run.
    pub activations: u64,
    /// The bytes of the values that it holds between calls.
    pub bytes: u64,
}

/// The error of feeding or ending a trace that has ended.
pub fn trace_ended() -> Diagnostic {
    Diagnostic::error(codes::sim::TRACE_ENDED, "the trace has ended already")
        .help("start a new simulation for another trace")
}
