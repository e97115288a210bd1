//! The traits that an executor implements.

use std::fmt;
use std::sync::Arc;

use rml_backend::{Compiled, Failure, Held};
use rml_base::Diagnostic;
use rml_base::memory::Shortage;
use rml_base::profile::Scope;
use rml_ir::Data;
use rml_plan::Plan;

use crate::memory::{Footprint, TooLong};

/// The description of an executor.
#[derive(Clone, PartialEq, Debug)]
pub struct About {
    /// The name: `reference`, `cpu`, `xla`.
    pub name: String,
    /// The open device.
    pub device: String,
    /// All devices that the executor finds.
    pub devices: Vec<String>,
    /// The accuracy of the executor's results, compared with the reference.
    pub accuracy: Accuracy,
    /// Whether the executor runs blocks of plans that [wait](Plan::waits).
    pub waits: bool,
    /// Whether a guess of the window length saves work: a search for the end, or calls.
    pub guesses: bool,
    /// Whether the executor compiles a program for each window length, which is slow.
    pub compiles: bool,
}

/// The accuracy of results, compared with the reference.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Accuracy {
    /// The same bits.
    Bits,
    /// Truth values and ints are equal. The error of a number is at most this factor times the largest number in the
    /// value, or times 1 if that is larger. Errors arise because sums are computed in another order, or functions are
    /// rounded differently.
    Near(f64),
}

/// The options for running a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrepareOptions {
    /// The number of threads that may share the work, at least one.
    pub threads: usize,
}

impl Default for PrepareOptions {
    fn default() -> Self {
        Self { threads: 1 }
    }
}

/// The answer of an executor that does not run a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The reason, in one sentence without a full stop.
    pub why: String,
}

impl Refused {
    /// A refusal for the given reason.
    pub fn new(why: impl Into<String>) -> Self {
        Self { why: why.into() }
    }
}

/// Reasons why a window has no result.
#[derive(Debug)]
pub enum Fault {
    /// An operator may have no result.
    Suspect,
    /// The executor failed.
    Failed(Failure),
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Fault::Failed(failure)
    }
}

/// Runs plans.
pub trait Executor: fmt::Debug + Send + Sync {
    /// The description of the executor.
    fn about(&self) -> About;

    /// Prepares a plan, which must satisfy the invariants of plans.
    ///
    /// # Errors
    /// The executor does not run the plan.
    fn prepare(&self, plan: &Arc<Plan>, wish: &PrepareOptions) -> Result<Arc<dyn Prepared>, Refused>;

    /// The programs compiled so far.
    fn compiled(&self) -> Compiled {
        Compiled::default()
    }
}

/// A prepared plan, with the data that its runs share.
pub trait Prepared: fmt::Debug + Send + Sync {
    /// The host memory that a window needs if it runs as a whole, and not in segments.
    fn footprint(&self) -> Footprint;

    /// Starts a run in the initial state, in which no register is set. If there is a profile, it measures the windows.
    ///
    /// # Errors
    /// The memory does not suffice for the shortest window.
    fn start(&self, profile: Option<&Scope>) -> Result<Box<dyn Running>, Shortage>;
}

/// The purpose of the inputs that are set next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// A [window](Running::window) of this number of ticks.
    Window(usize),
    /// A [search](Running::find) in this number of ticks, or several [windows](Running::windows) with this total.
    Search(usize),
}

/// A running plan, window after window.
///
/// The calls for a window are: [`ask`](Self::ask) for its memory, state its purpose with [`next`](Self::next), and set
/// the inputs with [`set_rows`](Self::set_rows). If the plan finds the end, [`find`](Self::find) it and then set the
/// inputs of only this window. Run the [`window`](Self::window), and read outputs with
/// [`add_output`](Self::add_output). Registers may be read and set between windows.
pub trait Running: fmt::Debug + Send {
    /// Sets the purpose of the inputs that are set after this call.
    fn next(&mut self, _next: Next) {}

    /// Sets an input for the next window of `ticks` ticks. The ticks at which the input is `present` get successive
    /// rows of `data`, starting with `row`; the other ticks read no row. Returns the number of the next row.
    fn set_rows(
        &mut self,
        input: usize,
        ticks: usize,
        present: &dyn Fn(usize) -> bool,
        data: &Data,
        row: usize,
    ) -> usize;

    /// Runs one window whose inputs were set. Returns the number of ticks that are done: all except those that are
    /// [ahead](Plan::ahead) and those that [wait](Plan::waits).
    ///
    /// # Errors
    /// An operator may have no result, or the executor fails. No register has then changed.
    fn window(&mut self, ticks: usize) -> Result<usize, Fault>;

    /// Runs `count` windows of `ticks` ticks each, without a search for their ends. The inputs were set for the ticks
    /// of all windows. Returns whether the windows were run. If so, [`add_output`](Self::add_output) reads tick `t` of
    /// window `k` as tick `k * ticks + t`; otherwise no register has changed.
    ///
    /// # Errors
    /// The same as for [`window`](Self::window). A window whose end is at another tick may also be suspect.
    fn windows(&mut self, _ticks: usize, _count: usize) -> Result<bool, Fault> {
        Ok(false)
    }

    /// Whether one call for many windows of this length takes less time than one call per window. This is so if a call
    /// takes longer than the window itself.
    fn is_small(&self, _ticks: usize) -> bool {
        false
    }

    /// Searches the first `ticks` ticks for the end of a window that the program finds. A search may continue an
    /// earlier search in fewer ticks.
    ///
    /// # Errors
    /// The same as for [`window`](Self::window).
    fn find(&mut self, ticks: usize) -> Result<Option<usize>, Fault>;

    /// Discards the state of the search for the end of a window.
    fn abandon(&mut self) {}

    /// Appends the elements of an output at tick `t` of the last window to `to`, which is empty or has elements of the
    /// same type. Returns whether the output is present at this tick.
    ///
    /// # Errors
    /// The elements cannot be copied from the device.
    fn add_output(&mut self, output: usize, t: usize, to: &mut Data) -> Result<bool, Diagnostic>;

    /// The value of a register; `None` if it is not set. During the search for the end of a window, this is the value
    /// before the window. A register that has a constant start value may return that value while it is not set.
    fn register(&self, register: usize) -> Option<Held>;

    /// Whether a register is set. A register that has a constant start value may count as not set while it has that
    /// value.
    ///
    /// # Errors
    /// The register cannot be copied from the device.
    fn is_set(&self, register: usize) -> Result<bool, Diagnostic>;

    /// Makes a register not set.
    fn unset_register(&mut self, register: usize);

    /// Sets a register to a value of its type, in any precision.
    ///
    /// # Errors
    /// The value cannot be copied from its device.
    fn set_register(&mut self, register: usize, value: &Held) -> Result<(), Diagnostic>;

    /// Asks for the host memory for windows of `ticks` ticks, and chooses how they run within the available memory.
    ///
    /// # Errors
    /// The windows do not fit into the memory in any way.
    fn ask(&mut self, ticks: usize) -> Result<(), TooLong>;
}
