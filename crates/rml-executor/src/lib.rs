//! The contract of executors, which run plans.
//!
//! An [`Executor`] prepares a plan ([`Prepared`]). Each start of this plan creates a run ([`Running`]), which is fed
//! window after window. [Data](About), not its type, describes what an executor supports.
//!
//! The rules for every executor:
//!
//! - **X1.** Outputs and registers of the ticks that are done are those of the [`Reference`]: bit by bit, or with the
//!   accuracy that the executor [declares](Accuracy).
//! - **X2.** An executor may suspect too many windows in which an operator may fail, and never too few.
//! - **X3.** A fault changes no register. A search for the end of a window changes no register either.
//! - **X4.** An executor asks for memory before it allocates it, and asks for exactly its
//!   [footprint](Prepared::footprint).
//! - **X5.** Bits do not depend on the number of threads, on segments, or on how a stream is cut into blocks.
//! - **X6.** After a window of which only some ticks were done, the inputs of the other ticks may be set again.
//!
//! The module [`mod@suite`] checks these rules for any executor.

mod contract;
mod elements;
mod handover;
mod memory;
mod ragged;
mod reference;
pub mod suite;

pub use contract::{About, Accuracy, Executor, Fault, Next, PrepareOptions, Prepared, Refused, Running};
pub use elements::append;
pub use handover::{Choice, Handover, take_over};
pub use memory::{Footprint, TooLong};
pub use ragged::Ragged;
pub use reference::Reference;
