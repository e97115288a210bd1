//! Windows of plans on any backend.
//!
//! For windows of a known length, a plan becomes a [routine](rml_backend::Routine): what is computed at all ticks at once is part of a call, with time as a new
//! first axis; a loop goes through all ticks where these differ in operands alone, else those at its edges stand before and behind
//! it; a sum over time is one operator. [`Machine`] runs windows, one or many in a call: registers and constants stay on the device, and routines are kept by length.
//!
//! Guards that only data decide do not branch: a value is computed at all ticks of its positions, and what depends on the guard is chosen. So
//! where operators may have no result, operands that do not count are zeros.
//!
//! [`model()`] gives such a routine [with names](rml_backend::routine::Model) for what goes in and comes out, for formats that other tools read.
//!
//! Nothing here knows a library, or which backend it is.

mod again;
mod batch;
mod body;
mod emit;
mod executor;
mod graph;
mod lower;
mod machine;
mod merge;
mod model;
mod profile;
mod ready;
mod tapes;
mod turn;
mod window;

pub use executor::Lowered;
pub use machine::{KEPT, Machine};
pub use model::model;
pub use rml_executor::Fault;
