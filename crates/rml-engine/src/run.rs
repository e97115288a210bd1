//! The traits: an engine opens a program for a use, or declines it; a run receives inputs and returns outputs.

use std::fmt;
use std::sync::Arc;

use rml_backend::Compiled;
use rml_base::profile::Scope;
use rml_base::{Diagnostic, codes};
use rml_ir::flat::{Drawn, Var};

use crate::block::{CycleRow, Inputs, KnownOutputs};
use crate::declined::Declined;
use crate::states::{Snapshot, States};
use crate::status::Status;

/// The way in which a trace ends (CELL-1, ENV-6).
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
    /// The trace is a prefix of an endless one: values that depend on the future stay unknown.
    Open,
}

/// The way in which the cycles of a trace are fed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feeding {
    /// One cycle at a time, or the cycles that have arrived.
    Stream {
        /// The maximum number of cycles that may be open at once; `None` = no limit.
        look_ahead: Option<usize>,
    },
    /// In blocks of one or several whole outermost windows, or of parts of them. The caller reads the outputs of a
    /// window after the window has ended. The trace continues from block to block.
    Windows {
        /// The number of cycles of a block, if it is known.
        cycles: Option<usize>,
    },
}

/// The use for which a program is opened.
#[derive(Clone, Debug)]
pub struct Use {
    /// The way in which the cycles are fed.
    pub feeding: Feeding,
    /// Whether the run keeps the statuses of all variables in all cycles, and so has [`Run::inspect`].
    pub record: bool,
    /// The number of the first cycle in outputs and diagnostics. It is not 0 if the run continues from the states of
    /// another run.
    pub first: u64,
    /// The profile that records the times.
    pub profile: Option<Scope>,
}

impl Use {
    /// A use that starts at cycle 0, without a record or a profile.
    pub fn new(feeding: Feeding) -> Self {
        Self { feeding, record: false, first: 0, profile: None }
    }
}

/// A way to run programs.
pub trait ProgramEngine: fmt::Debug + Send + Sync {
    /// The name in messages, such as `simulator`.
    fn name(&self) -> &str;

    /// Prepares a program, in its initial state. Work that depends only on the program is done here, once.
    ///
    /// # Errors
    /// The engine does not run this program for this use. The caller then asks another engine, or reports the reason.
    fn open(&self, program: &Arc<Drawn>, wish: &Use) -> Result<Box<dyn Run>, Declined>;

    /// The programs that the engine's backend has compiled so far.
    fn compiled(&self) -> Compiled {
        Compiled::default()
    }
}

/// A running program.
///
/// Every engine follows `docs/semantics`: it computes the same outputs in the same cycles and reports the same
/// diagnostics for errors. Numbers may differ within the tolerance that the engine's backend states.
pub trait Run: fmt::Debug + Send {
    /// Runs the next cycles as far as possible now. To feed a block is the same as to feed its cycles one after the
    /// other; if one of them fails, the cycles after it are not fed.
    ///
    /// # Errors
    /// The entries do not fit the inputs (ERROR-8); the program's run fails now or has failed before; more cycles are
    /// open than allowed; the memory is used up; or a device fails. The outputs of the cycles before the failure can
    /// still be read.
    fn feed(&mut self, inputs: Inputs<'_>) -> Result<(), Diagnostic>;

    /// Ends the trace.
    ///
    /// # Errors
    /// The program's run fails now or has failed before; or the trace has already ended ([`trace_ended`]).
    fn finish(&mut self, end: End) -> Result<(), Diagnostic>;

    /// The next known outputs, in the order of cycles (FIX-5). After the end, they include rows that are not
    /// determined.
    fn next_outputs(&mut self) -> Option<KnownOutputs>;

    /// The rows of all cycles whose outputs were not fetched, with the known part of each. To be called after the end
    /// or a failure.
    ///
    /// # Errors
    /// A value cannot be copied from its device.
    fn remaining(&mut self) -> Result<Vec<CycleRow>, Diagnostic>;

    /// The number of the next cycle.
    fn cycles(&self) -> u64;

    /// The number of open cycles: cycles that were fed and are not complete.
    fn open_cycles(&self) -> u64;

    /// The states that outlive windows. A state that was never set and has no initial value is not included.
    ///
    /// # Errors
    /// An output or a state is not known yet; a window is open; or the run has failed.
    fn states(&self) -> Result<States, Diagnostic>;

    /// Sets the given states and keeps the others. Numbers are rounded to the program's precision.
    ///
    /// # Errors
    /// A state does not exist; a value has another type; or cycles are open.
    fn set_states(&mut self, states: &States) -> Result<(), Diagnostic>;

    /// The states and the values of delays in open windows, for another engine that continues from here.
    ///
    /// # Errors
    /// The same as for [`states`](Self::states), but windows may be open.
    fn snapshot(&self) -> Result<Snapshot, Diagnostic>;

    /// Sets the states and the delays. Delays and states that are not in the snapshot restart without a value.
    ///
    /// # Errors
    /// The same as for [`set_states`](Self::set_states).
    fn set_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Diagnostic>;

    /// The outputs that are undetermined now, with an explanation; `None` if there are none or the run has failed.
    fn undetermined(&self) -> Option<Undetermined>;

    /// The reason why the oldest open cycle cannot be completed. The result is as for
    /// [`undetermined`](Self::undetermined); if all outputs are known, it is about other variables.
    fn waiting(&self) -> Option<Undetermined>;

    /// Whether an error has stopped the run.
    fn has_failed(&self) -> bool;

    /// Takes back every open cycle and the error that stopped the run, as if these cycles had never been fed. Outputs
    /// of these cycles that were already fetched are not returned again. Returns the first cycle that was taken back;
    /// the caller must feed this cycle next.
    fn take_back(&mut self) -> u64;

    /// The work of the run so far, and its memory.
    fn usage(&self) -> Usage;

    /// Access to the status of each variable, if the run keeps a record.
    fn inspect(&self) -> Option<&dyn Inspect> {
        None
    }
}

/// Access to every cell of a run that keeps a record.
pub trait Inspect {
    /// The status of a variable in a cycle; `None` = there was no such cycle.
    ///
    /// # Errors
    /// The value cannot be copied from its device.
    fn status(&self, cycle: u64, v: Var) -> Result<Option<Status>, Diagnostic>;
}

/// Cells that remain undetermined.
#[derive(Clone, Debug)]
pub struct Undetermined {
    /// The undetermined outputs by cycle, or the undetermined named variables if the program has no outputs.
    pub cells: Vec<(u64, Var)>,
    /// Whether the first of the cells waits for cycles after the last one, and not for itself or for a value that never
    /// comes.
    pub waits_for_future: bool,
    /// Whether the first of the cells waits for itself.
    pub cyclic: bool,
    /// Whether the first of the cells waits for a `post` in the last cycle.
    pub at_end: bool,
    /// The explanation.
    pub report: Diagnostic,
}

/// The work of a run, and its memory.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Usage {
    /// The number of units of work that were done: an equation tried, a function called, or a block run.
    pub activations: u64,
    /// The bytes of the values that the run keeps between calls.
    pub bytes: u64,
}

/// The error for input to a trace that has ended, or for a second end of the trace.
pub fn trace_ended() -> Diagnostic {
    Diagnostic::error(codes::sim::TRACE_ENDED, "the trace has ended already")
        .help("start a new simulation for another trace")
}
