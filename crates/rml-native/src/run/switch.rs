//! A compiled program, which the embedded executor replaces when there is not enough memory for whole windows.

use std::sync::Arc;

use rml_executor::{Choice, Prepared, Running, TooLong, take_over};

/// Compiled code runs as long as there is enough memory for whole windows. After that, the embedded executor runs
/// windows in segments. The bits are the same.
#[derive(Debug)]
pub(crate) struct Switch {
    /// The embedded executor; none once it has taken over.
    other: Option<Arc<dyn Prepared>>,
    registers: usize,
}

impl Switch {
    pub(crate) fn new(other: Arc<dyn Prepared>, registers: usize) -> Self {
        Self { other: Some(other), registers }
    }
}

impl Choice for Switch {
    fn ask(&mut self, now: &mut Box<dyn Running>, ticks: usize) -> Result<(), TooLong> {
        let Err(too_long) = now.ask(ticks) else { return Ok(()) };
        let Some(other) = self.other.take() else { return Err(too_long) };
        if other.start(None).ok().and_then(|next| take_over(now, next, self.registers)).is_some() {
            return now.ask(ticks);
        }
        self.other = Some(other);
        Err(too_long)
    }
}
