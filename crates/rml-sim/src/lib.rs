//! Runs flat programs one cycle at a time, by the paper's normalization-free semantics.
//!
//! - [`Simulator`] is event-driven and needs constant memory, so it runs streams without end. [`SimulatorEngine`] opens
//!   one as an engine.
//! - [`BlindRun`] is a run without input values; its results hold in every run.
//! - [`oracle`] computes the same semantics as a naive least fixed point over a whole trace. It shares statuses and
//!   clock classes with the simulator, but no rules of equations and no order of evaluation.
//! - [`kahn`] is the semantics of the paper's appendix, for comparison: streams are sequences without absence.
//!
//! This crate does not depend on the surface syntax, plans or files.

pub mod kahn;
pub mod oracle;

mod blind;
mod engine;
mod simulator;

pub use blind::BlindRun;
pub use engine::SimulatorEngine;
pub use rml_engine::{CycleRow, InputCell, Status, Undetermined};
pub use simulator::{Demand, Options, SimulationFailure, Simulator, Stats, Tensors};
