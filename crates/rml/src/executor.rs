//! Running plans by an executor of your own.
//!
//! An [`Executor`] runs windows of a [`Plan`]. [`suite`] tests it, and [`Engine::plan_by`](crate::Engine::plan_by)
//! trains and infers with it. The page `docs/adding-an-executor.md` says what an executor promises.
//!
//! This one is complete. It knows neither programs nor gradients, and trains a network:
//!
//! ```
#![doc = include_str!("../examples/executor.rs")]
//! ```

pub use rml_backend::{Compiled, Failure, Held};
pub use rml_base::profile::Scope;
pub use rml_executor::{
    About, Accuracy, Executor, Fault, Footprint, Next, Prepared, Ragged, Reference, Refused, Running,
    TooLong, Wish, append, suite,
};
pub use rml_plan::Plan;
