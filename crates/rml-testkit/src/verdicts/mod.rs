//! What the analysis says about a program, against runs of it.

mod clocks;
mod waits;

pub use clocks::{Judged, judge, overflowing, respecting, runs_well};
pub use waits::{Waits, check_waits};
