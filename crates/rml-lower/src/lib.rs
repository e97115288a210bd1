//! Windows of plans on any backend.
//!
//! For windows of a known length, a plan becomes a [routine](rml_backend::Routine). Tapes that can be computed at all
//! ticks at once are part of a call, with time as a new first axis. A loop runs the others tick by tick. Where the
//! first and last ticks do more than read other operands, they are calls before and after the loop. A sum over time is
//! one operator. [`Machine`] runs windows, one or many in a call: registers and constants stay on the device, and
//! routines are kept by length.
//!
//! A guard that depends on data is no branch: a value is computed at all ticks of its positions, and the guard selects
//! among the results. Where an operator may have no result, it gets zeros at the ticks that are not selected.
//!
//! [`model()`] gives such a routine [with names](rml_backend::routine::WindowModel) for what goes in and comes out, for
//! formats that other tools read.
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
pub use rml_executor::{Fault, Running};
