//! Runs the windows of a plan, on the embedded backend or on any other one.

use std::fmt;

use rml_backend::Held;
use rml_backend_cpu::plan::{Machine as Embedded, Suspect, TooLong};
use rml_base::{Diagnostic, memory};
use rml_ir::op::Number;
use rml_ir::{Data, Precision};
use rml_lower::{Fault, Machine as Lowered};

use super::given::append;

/// A plan that runs, window after window.
pub(super) trait Machine: fmt::Debug + Send {
    /// Whether a guess how long windows are saves something: a search for the end, or calls.
    const GUESSES: bool;

    /// Settles what runs the window of that many ticks whose inputs are set next.
    fn choose(&mut self, _ticks: usize) {}

    /// The inputs that are set next are those of a search in that many ticks, or of windows that have as many together.
    fn search(&mut self, _ticks: usize) {}

    /// Sets an input at those of the `ticks` ticks of the next window at which it is `present`, to successive rows of
    /// `data`, from row `row` on. Returns the row after.
    fn set_rows(
        &mut self,
        input: usize,
        ticks: usize,
        present: &dyn Fn(usize) -> bool,
        data: &Data,
        row: usize,
    ) -> usize;

    /// Runs one window whose inputs were set. How many of its ticks are done. What goes wrong in it changes no
    /// register.
    fn window(&mut self, ticks: usize) -> Result<usize, Fault>;

    /// Runs that many windows of `ticks` ticks each, whose ends were not searched for. Whether that happened.
    fn windows(&mut self, ticks: usize, count: usize) -> Result<bool, Fault>;

    /// Whether many windows of that many ticks in one call take less time than one by one: the call of a small window
    /// takes longer than the window.
    fn is_small(&self, ticks: usize) -> bool;

    /// Searches for the end of a window that the program finds, in the first `ticks` ticks.
    fn find(&mut self, ticks: usize) -> Result<Option<usize>, Fault>;

    /// Forgets how far the end of a window was searched for.
    fn abandon(&mut self);

    /// Puts the elements of an output at a tick of the window that ran last after those of `to`. Whether it is present
    /// there.
    fn add_output(&mut self, output: usize, t: usize, to: &mut Data) -> Result<bool, Diagnostic>;

    /// A register, as it was before a window whose end is searched for; none if it is not set.
    fn register(&self, register: usize) -> Option<Held>;

    /// Whether a register is set. One that is read as a constant where it is not may count as unset while it has that
    /// value.
    fn is_set(&self, register: usize) -> Result<bool, Diagnostic>;

    /// Leaves a register unset.
    fn unset_register(&mut self, register: usize);

    /// Sets a register, to a value in that precision.
    fn set_register(&mut self, register: usize, value: &Held, precision: Precision)
    -> Result<(), Diagnostic>;

    /// Asks for the host's memory for windows of that many ticks, and settles how they run in what there is.
    fn ask(&mut self, ticks: usize) -> Result<(), TooLong>;
}

fn suspect(_: Suspect) -> Fault {
    Fault::Suspect
}

impl<N: Number> Machine for Embedded<N> {
    const GUESSES: bool = false;

    fn set_rows(
        &mut self,
        input: usize,
        ticks: usize,
        present: &dyn Fn(usize) -> bool,
        data: &Data,
        row: usize,
    ) -> usize {
        self.set_rows(input, ticks, present, data, row)
    }

    fn window(&mut self, ticks: usize) -> Result<usize, Fault> {
        self.window(ticks).map_err(suspect)
    }

    fn windows(&mut self, _: usize, _: usize) -> Result<bool, Fault> {
        Ok(false)
    }

    fn is_small(&self, _: usize) -> bool {
        false
    }

    fn find(&mut self, ticks: usize) -> Result<Option<usize>, Fault> {
        self.find(ticks).map_err(suspect)
    }

    fn abandon(&mut self) {
        self.abandon();
    }

    fn add_output(&mut self, output: usize, t: usize, to: &mut Data) -> Result<bool, Diagnostic> {
        Ok(Embedded::add_output(self, output, t, to))
    }

    fn register(&self, register: usize) -> Option<Held> {
        self.register(register).map(Held::Host)
    }

    fn is_set(&self, register: usize) -> Result<bool, Diagnostic> {
        Ok(Embedded::is_set(self, register))
    }

    fn unset_register(&mut self, register: usize) {
        self.unset_register(register);
    }

    fn set_register(
        &mut self,
        register: usize,
        value: &Held,
        precision: Precision,
    ) -> Result<(), Diagnostic> {
        self.set_register(register, &value.to_host()?.to_precision(precision));
        Ok(())
    }

    fn ask(&mut self, ticks: usize) -> Result<(), TooLong> {
        Embedded::ask(self, ticks)
    }
}

impl Machine for Lowered {
    const GUESSES: bool = true;

    fn set_rows(
        &mut self,
        input: usize,
        ticks: usize,
        present: &dyn Fn(usize) -> bool,
        data: &Data,
        row: usize,
    ) -> usize {
        self.set_rows(input, ticks, present, data, row)
    }

    fn window(&mut self, ticks: usize) -> Result<usize, Fault> {
        self.window(ticks)
    }

    fn windows(&mut self, ticks: usize, count: usize) -> Result<bool, Fault> {
        self.windows(ticks, count)
    }

    fn is_small(&self, ticks: usize) -> bool {
        self.is_small(ticks)
    }

    fn find(&mut self, ticks: usize) -> Result<Option<usize>, Fault> {
        self.find(ticks)
    }

    /// A search leaves nothing behind.
    fn abandon(&mut self) {}

    fn add_output(&mut self, output: usize, t: usize, to: &mut Data) -> Result<bool, Diagnostic> {
        let value = Lowered::output(self, output, t)?;
        if let Some(value) = &value {
            append(to, value.to_data());
        }
        Ok(value.is_some())
    }

    fn register(&self, register: usize) -> Option<Held> {
        self.register(register).cloned()
    }

    fn is_set(&self, register: usize) -> Result<bool, Diagnostic> {
        Ok(Lowered::is_set(self, register)?)
    }

    fn unset_register(&mut self, register: usize) {
        self.unset_register(register);
    }

    fn set_register(&mut self, register: usize, value: &Held, _: Precision) -> Result<(), Diagnostic> {
        Ok(Lowered::set_register(self, register, value)?)
    }

    fn ask(&mut self, ticks: usize) -> Result<(), TooLong> {
        let (fixed, per_tick) = self.footprint();
        let least = Err("only the embedded backend computes values again");
        memory::ask(fixed.saturating_add(per_tick.saturating_mul(ticks as u64)))
            .map_err(|short| TooLong { short, least })
    }
}
