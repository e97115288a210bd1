//! Running flat programs one cycle at a time, by the paper's normalization-free semantics.
//!
//! - [`Simulator`]: event-driven, in constant memory, for streams without end; [`SimulatorEngine`] opens one behind the contract of engines.
//! - [`BlindRun`]: a run that is given no values, to find out what holds for all inputs.
//! - [`oracle`]: the same semantics as a naive least fixed point over a whole trace. The two share the statuses and
//!   the clock classes, but no rule of any equation and no order of evaluation.
//! - [`kahn`]: the semantics of the paper's appendix, for comparison: sequences without absence.
//!
//! Nothing here knows the surface syntax, plans or files.

pub mod kahn;
pub mod oracle;

mod blind;
mod engine;
mod simulator;

pub use blind::BlindRun;
pub use engine::SimulatorEngine;
pub use rml_engine::{Input, Row, Status, Undetermined};
pub use simulator::{Demand, Failure, Options, Simulator, Stats, Tensors};
