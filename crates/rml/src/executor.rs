//! Runs plans by a user-defined executor.
//!
//! An [`Executor`] runs windows of a [`Plan`]. [`suite`] tests it, and [`Engine::plan_by`](crate::Engine::plan_by)
//! trains and infers with it. The page `docs/adding-an-executor.md` states the rules for executors.
//!
//! This executor is complete. It depends neither on programs nor on gradients, and trains a network:
//!
//! ```
#![doc = include_str!("../examples/executor.rs")]
//! ```

pub use rml_backend::{Compiled, Failure, Held};
pub use rml_base::profile::Scope;
pub use rml_executor::{
    About, Accuracy, Executor, Fault, Footprint, Next, PrepareOptions, Prepared, Ragged, Reference, Refused,
    Running, TooLong, append, suite,
};
pub use rml_plan::Plan;
