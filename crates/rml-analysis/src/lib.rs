//! What is known about a flat program without running it: facts in side tables, keyed by its ids.

mod clocks;

pub use clocks::{CALLED, ClockData, ClockId, ClockReport, Clocks, Verdict, clocks, verify as verify_clocks};
