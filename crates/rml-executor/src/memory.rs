//! The memory of windows.

use rml_base::memory::Shortage;

/// The bytes of the values of a window: that many, and that many more for each tick.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Footprint {
    /// However long the window is: registers, constants, what there is once a window, and matrices laid out for
    /// products.
    pub fixed: u64,
    /// For each tick.
    pub per_tick: u64,
}

impl Footprint {
    /// The bytes of a window of that many ticks.
    pub fn at(self, ticks: usize) -> u64 {
        self.fixed.saturating_add(self.per_tick.saturating_mul(ticks as u64))
    }
}

/// A window takes more memory than there is, also in segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong {
    /// The memory that it needs as a whole.
    pub short: Shortage,
    /// The fewest bytes with which it runs, in segments; or why it does not run in segments.
    pub least: Result<u64, &'static str>,
}
