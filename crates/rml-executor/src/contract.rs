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

/// What an executor is.
#[derive(Clone, PartialEq, Debug)]
pub struct About {
    /// Its name: `reference`, `cpu`, `xla`.
    pub name: String,
    /// The device that is open.
    pub device: String,
    /// All devices that it finds.
    pub devices: Vec<String>,
    /// How near its results are to those of the reference.
    pub accuracy: Accuracy,
    /// Whether it runs blocks of plans that [wait](Plan::waits).
    pub waits: bool,
    /// Whether a guess how long windows are saves something: a search for the end, or calls.
    pub guesses: bool,
    /// Whether it makes a program for each length of a window, which takes long.
    pub compiles: bool,
}

/// How near results are to those of the reference.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Accuracy {
    /// The same bits.
    Bits,
    /// Truth values and ints are equal. Numbers are off by that part at most of the largest number that there is in a
    /// value, or of 1 if that is larger: sums are taken in another order, or functions are rounded otherwise.
    Near(f64),
}

/// How a plan is to be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wish {
    /// How many threads may share the work, at least one.
    pub threads: usize,
}

impl Default for Wish {
    fn default() -> Self {
        Self { threads: 1 }
    }
}

/// An executor does not run a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// Why, in one sentence without a full stop.
    pub why: String,
}

impl Refused {
    /// For that reason.
    pub fn new(why: impl Into<String>) -> Self {
        Self { why: why.into() }
    }
}

/// Why a window has no result.
#[derive(Debug)]
pub enum Fault {
    /// An operator may have none.
    Suspect,
    /// What runs it failed.
    Failed(Failure),
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Fault::Failed(failure)
    }
}

/// Runs plans.
pub trait Executor: fmt::Debug + Send + Sync {
    /// What it is.
    fn about(&self) -> About;

    /// Makes a plan ready, which satisfies the invariants of plans.
    ///
    /// # Errors
    /// If it does not run the plan.
    fn prepare(&self, plan: &Arc<Plan>, wish: &Wish) -> Result<Arc<dyn Prepared>, Refused>;

    /// What it has compiled so far.
    fn compiled(&self) -> Compiled {
        Compiled::default()
    }
}

/// A plan that is ready. What runs of it share is here.
pub trait Prepared: fmt::Debug + Send + Sync {
    /// How much host memory a window needs if it runs as a whole, and not in segments.
    fn footprint(&self) -> Footprint;

    /// Starts it in its initial state: no register is set. Its windows are timed by the profile, if there is one.
    ///
    /// # Errors
    /// There is no memory for the shortest window.
    fn start(&self, profile: Option<&Scope>) -> Result<Box<dyn Running>, Shortage>;
}

/// What the inputs that are set next are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// A [window](Running::window) of that many ticks.
    Window(usize),
    /// A [search](Running::find) in that many ticks, or [windows](Running::windows) that have as many together.
    Search(usize),
}

/// A plan that runs, window after window.
///
/// A window goes like this: [`ask`](Self::ask) for its memory, say what is [`next`](Self::next), set the inputs by
/// [`set_rows`](Self::set_rows), [`find`](Self::find) the end if the plan finds it, and then set the inputs of the
/// window alone; run the [`window`](Self::window), and read outputs by [`add_output`](Self::add_output). Between
/// windows, registers may be read and set.
pub trait Running: fmt::Debug + Send {
    /// Says what the inputs are for that are set after it.
    fn next(&mut self, _next: Next) {}

    /// Sets an input at those of the `ticks` ticks of the next window at which it is `present`, to successive rows of
    /// `data`, from row `row` on. Returns the row after. Where it is not present, nothing is read.
    fn set_rows(
        &mut self,
        input: usize,
        ticks: usize,
        present: &dyn Fn(usize) -> bool,
        data: &Data,
        row: usize,
    ) -> usize;

    /// Runs one window whose inputs were set. How many of its ticks are done: all, but for those that are
    /// [ahead](Plan::ahead), and those that [wait](Plan::waits).
    ///
    /// # Errors
    /// If an operator may have no result, or the executor fails. Then no register has changed.
    fn window(&mut self, ticks: usize) -> Result<usize, Fault>;

    /// Runs that many windows of `ticks` ticks each, whose ends were not searched for. Whether that happened.
    ///
    /// # Errors
    /// As [`window`](Self::window). A window that ends elsewhere may be suspect, too.
    fn windows(&mut self, _ticks: usize, _count: usize) -> Result<bool, Fault> {
        Ok(false)
    }

    /// Whether many windows of that many ticks in one call take less time than one by one: the call of a small window
    /// takes longer than the window.
    fn is_small(&self, _ticks: usize) -> bool {
        false
    }

    /// Searches for the end of a window that the program finds, in the first `ticks` ticks. A search may continue one
    /// in fewer ticks.
    ///
    /// # Errors
    /// As [`window`](Self::window).
    fn find(&mut self, ticks: usize) -> Result<Option<usize>, Fault>;

    /// Forgets how far the end of a window was searched for.
    fn abandon(&mut self) {}

    /// Puts the elements of an output at a tick of the window that ran last after those of `to`, which has elements of
    /// its type or none. Whether it is present there.
    ///
    /// # Errors
    /// If they cannot be copied from the device.
    fn add_output(&mut self, output: usize, t: usize, to: &mut Data) -> Result<bool, Diagnostic>;

    /// A register, as it was before a window whose end is searched for; none if it is not set. One that is read as a
    /// constant where it is not set may have that value.
    fn register(&self, register: usize) -> Option<Held>;

    /// Whether a register is set. One that is read as a constant where it is not may count as unset while it has that
    /// value.
    ///
    /// # Errors
    /// If it cannot be copied from the device.
    fn is_set(&self, register: usize) -> Result<bool, Diagnostic>;

    /// Leaves a register unset.
    fn unset_register(&mut self, register: usize);

    /// Sets a register to a value of its type, in any precision.
    ///
    /// # Errors
    /// If it cannot be copied from its device.
    fn set_register(&mut self, register: usize, value: &Held) -> Result<(), Diagnostic>;

    /// Asks for the host's memory for windows of that many ticks, and settles how they run in what there is.
    ///
    /// # Errors
    /// They fit in no way.
    fn ask(&mut self, ticks: usize) -> Result<(), TooLong>;
}
