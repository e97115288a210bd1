//! Test code that several crates share.
//!
//! - [`flat`]: flat programs built by hand or at random, run through every engine and compared cell by cell.
//! - [`gradients`]: random programs whose gradients are compared with finite differences.
//! - [`joined`]: random recurrences whose products are over concatenations.
//! - [`plans`]: programs by plan, compared with the simulator.
//! - [`samples`]: plans of single operators, and inputs for programs.
//! - [`structured`]: random programs with structure, and equivalent plain programs.
//! - [`damage`]: damaged texts of programs.
//! - [`verdicts`]: the results of the analysis of a program, compared with runs of it.
//! - [`conformance`]: vectors are programs with inputs and with the cells that the semantics defines; they are run by
//!   the event-driven simulator and by the fixpoint oracle. The binary `conformance DIR` does this for all vectors of a
//!   folder.
//!
//! Integration tests and benches of any crate may use this crate. Unit tests of the crates that it depends on cannot
//! use it: the types of this crate would come from another build there.

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

pub use random::Lcg;
