//! Compares the results of the analysis of a program with runs of it.

mod clocks;
mod waits;

pub use clocks::{Judged, judge, overflowing, respecting, runs_well};
pub use waits::{Waits, check_waits};
