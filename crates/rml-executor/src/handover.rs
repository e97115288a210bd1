//! One run on several executors: another executor may take over before a window.

use std::fmt;

use rml_backend::Held;
use rml_base::Diagnostic;
use rml_ir::Data;

use crate::contract::{Fault, Next, Running};
use crate::memory::TooLong;

/// Chooses the executor of the next window.
pub trait Choice: fmt::Debug + Send {
    /// Asks for the memory of a window of `ticks` ticks, as [`Running::ask`] does. `now` is the run of the last window,
    /// and may be replaced by another run with the same [registers](take_over).
    ///
    /// # Errors
    /// The same as for [`Running::ask`].
    fn ask(&mut self, now: &mut Box<dyn Running>, ticks: usize) -> Result<(), TooLong>;
}

/// A plan that runs on the executors that a [`Choice`] chooses.
#[derive(Debug)]
pub struct Handover<C> {
    now: Box<dyn Running>,
    choice: C,
}

impl<C: Choice> Handover<C> {
    /// A run that begins on `now`.
    pub fn new(now: Box<dyn Running>, choice: C) -> Self {
        Self { now, choice }
    }
}

/// Copies the registers of `now` to `next`, replaces `now` by `next`, and returns the previous run. Returns `None` and
/// keeps `now` if a register cannot be moved.
pub fn take_over(
    now: &mut Box<dyn Running>,
    mut next: Box<dyn Running>,
    registers: usize,
) -> Option<Box<dyn Running>> {
    // A run that was used before may still be in the search for an end.
    next.abandon();
    for register in 0..registers {
        match now.register(register) {
            Some(value) => next.set_register(register, &value).ok()?,
            None => next.unset_register(register),
        }
    }
    Some(std::mem::replace(now, next))
}

impl<C: Choice> Running for Handover<C> {
    fn next(&mut self, next: Next) {
        self.now.next(next);
    }

    fn set_rows(
        &mut self,
        input: usize,
        ticks: usize,
        present: &dyn Fn(usize) -> bool,
        data: &Data,
        row: usize,
    ) -> usize {
        self.now.set_rows(input, ticks, present, data, row)
    }

    fn window(&mut self, ticks: usize) -> Result<usize, Fault> {
        self.now.window(ticks)
    }

    fn windows(&mut self, ticks: usize, count: usize) -> Result<bool, Fault> {
        self.now.windows(ticks, count)
    }

    fn is_small(&self, ticks: usize) -> bool {
        self.now.is_small(ticks)
    }

    fn find(&mut self, ticks: usize) -> Result<Option<usize>, Fault> {
        self.now.find(ticks)
    }

    fn abandon(&mut self) {
        self.now.abandon();
    }

    fn add_output(&mut self, output: usize, t: usize, to: &mut Data) -> Result<bool, Diagnostic> {
        self.now.add_output(output, t, to)
    }

    fn register(&self, register: usize) -> Option<Held> {
        self.now.register(register)
    }

    fn is_set(&self, register: usize) -> Result<bool, Diagnostic> {
        self.now.is_set(register)
    }

    fn unset_register(&mut self, register: usize) {
        self.now.unset_register(register);
    }

    fn set_register(&mut self, register: usize, value: &Held) -> Result<(), Diagnostic> {
        self.now.set_register(register, value)
    }

    fn ask(&mut self, ticks: usize) -> Result<(), TooLong> {
        self.choice.ask(&mut self.now, ticks)
    }
}
