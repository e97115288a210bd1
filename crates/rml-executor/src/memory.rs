//! The memory of windows.

use rml_base::memory::Shortage;

/// The bytes of the values of a window: a fixed number, and a number for each tick.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Footprint {
    /// The bytes that do not depend on the length of the window: registers, constants, values computed once per window,
    /// and matrices in the layout for products.
    pub fixed: u64,
    /// The bytes for each tick.
    pub per_tick: u64,
}

impl Footprint {
    /// The bytes of a window of `ticks` ticks.
    pub fn at(self, ticks: usize) -> u64 {
        self.fixed.saturating_add(self.per_tick.saturating_mul(ticks as u64))
    }
}

/// The error that a window needs more memory than is available, even in segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong {
    /// The memory that the window needs as a whole.
    pub short: Shortage,
    /// The minimum number of bytes for the window in segments, or the reason why it does not run in segments.
    pub least: Result<u64, &'static str>,
}
