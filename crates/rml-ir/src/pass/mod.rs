//! Functions from stage to stage, in this order (differentiation, normal → normal, has a crate of its own):
//!
//! ```text
//! typed --normalize--> normal --(differentiate)--> normal --inline--> flat
//! flat --initialise--> flat --settle--> flat --fold--> flat --cone--> flat
//! ```
//!
//! [`fold_undrawn`] takes the place of `initialise` and `fold` where a program is only analysed.
//!
//! Each states what it requires and ensures, keeps the cells of the outputs (FIX-6), and ends by verifying its result in debug builds.

mod cone;
mod constant;
mod determined;
mod fold;
mod forget;
mod initialise;
mod inline;
mod normalize;
mod presence;
mod settle;

pub use cone::cone;
pub use fold::{fold, fold_undrawn};
pub use forget::{forget_inputs, forget_values};
pub use initialise::initialise;
pub use inline::{Held, inline, inline_held, inline_open};
pub use normalize::normalize;
pub use settle::settle;

/// In debug builds: panics with the violations if a pass broke the form it makes. That is a bug in the pass,
/// whatever the program.
fn checked(pass: &str, verify: impl FnOnce() -> Result<(), Vec<String>>) {
    if cfg!(debug_assertions)
        && let Err(found) = verify()
    {
        panic!("the pass `{pass}` broke its result:\n{}", found.join("\n"));
    }
}
