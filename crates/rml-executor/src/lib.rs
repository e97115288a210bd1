//! The contract of executors, which run plans.
//!
//! An [`Executor`] makes a plan ready ([`Prepared`]), as often as it is opened it starts ([`Running`]), and then it is
//! fed window after window. What an executor can do is said by [data](About), not by its type.
//!
//! What holds of every executor:
//!
//! - **X1.** Outputs and registers of the ticks that are done are those of the [`Reference`]: bit by bit, or as near as
//!   the executor [declares](Accuracy).
//! - **X2.** It may suspect a window too often, where an operator may fail, and never too seldom.
//! - **X3.** A fault changes no register. Neither does a search for the end of a window.
//! - **X4.** It asks for memory before it takes it, and what it asks for is its [footprint](Prepared::footprint).
//! - **X5.** Bits depend neither on the number of threads, nor on segments, nor on how a stream is cut into blocks.
//! - **X6.** The same inputs may come again, after a window of which fewer ticks were done.
//!
//! The module [`mod@suite`] checks them for any executor.

mod contract;
mod elements;
mod handover;
mod memory;
mod ragged;
mod reference;
pub mod suite;

pub use contract::{About, Accuracy, Executor, Fault, Next, Prepared, Refused, Running, Wish};
pub use elements::append;
pub use handover::{Choice, Handover, take_over};
pub use memory::{Footprint, TooLong};
pub use ragged::Ragged;
pub use reference::Reference;
