//! A compiled program, and the embedded executor for windows that take more memory than there is.

use std::sync::Arc;

use rml_backend::Held;
use rml_base::Diagnostic;
use rml_executor::{Fault, Next, Prepared, Running, TooLong};
use rml_ir::Data;

/// A program that runs compiled as long as there is memory for whole windows, then on the embedded executor, which runs
/// windows in segments. The bits are the same.
#[derive(Debug)]
pub(crate) struct Switch {
    now: Box<dyn Running>,
    /// What takes over; none if it has.
    other: Option<Arc<dyn Prepared>>,
    registers: usize,
}

impl Switch {
    pub(crate) fn new(now: Box<dyn Running>, other: Arc<dyn Prepared>, registers: usize) -> Self {
        Self { now, other: Some(other), registers }
    }

    /// Has the other executor continue from here. False if it does not start.
    fn switch(&mut self, other: &dyn Prepared) -> bool {
        let Ok(mut next) = other.start(None) else { return false };
        for register in 0..self.registers {
            let moved = match self.now.register(register) {
                Some(value) => next.set_register(register, &value).is_ok(),
                None => {
                    next.unset_register(register);
                    true
                }
            };
            if !moved {
                return false;
            }
        }
        self.now = next;
        true
    }
}

impl Running for Switch {
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
        let Err(too_long) = self.now.ask(ticks) else { return Ok(()) };
        match self.other.take() {
            Some(other) if self.switch(&*other) => self.now.ask(ticks),
            other => {
                self.other = other;
                Err(too_long)
            }
        }
    }
}
