//! Test code that several crates share.
//!
//! - [`flat`]: flat programs built by hand or at random, run through every engine and compared cell by cell.
//! - [`gradients`]: random programs whose gradients are compared with finite differences.
//! - [`joined`]: random recurrences whose products are over concatenations.
//! - [`plans`]: programs by plan, against the simulator.
//! - [`samples`]: plans of single operators, and inputs for programs.
//! - [`structured`]: random programs with structure, and the plain ones that they stand for.
//! - [`damage`]: damaged texts of programs.
//! - [`verdicts`]: what the analysis says about a program, against runs of it.
//! - [`conformance`]: vectors are programs with inputs and the cells that the semantics gives them; they are run
//!   through the event-driven simulator and through the fixpoint oracle. The binary `conformance DIR` does that for all
//!   vectors of a folder.
//!
//! Integration tests and benches of any crate may use this one. Unit tests of the crates that it depends on cannot:
//! there the types of this crate would be those of another build.

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod damage;
pub mod flat;
pub mod gradients;
pub mod joined;
pub mod plans;
mod random;
pub mod samples;
pub mod structured;
pub mod verdicts;

pub use random::Random;
