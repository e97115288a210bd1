//! Functions from stage to stage, in this order (differentiation has a crate of its own):
//!
//! ```text
//! typed --normalize--> normal --(differentiate)--> differentiated --inline--> flat
//! flat --settle--> flat --fold--> flat --cone--> flat --draw--> drawn
//! ```
//!
//! [`lower`] is `settle`, `fold` and `cone`: all engines and analyses use its result. Random constants are drawn last,
//! so that the analysed program, which is not drawn, has the same equations as the one that runs. A stage has a type of
//! its own where an invariant differs: [`Differentiated`](crate::normal::Differentiated) by N7,
//! [`Drawn`](crate::flat::Drawn) by F8. A lowered program is an ordinary flat program: no later function requires more.
//!
//! Each states what it requires and ensures, keeps the cells of the outputs (FIX-6), and ends by verifying its result
//! in debug builds.

mod begin_with;
mod cone;
mod constant;
mod cut;
mod determined;
mod draw;
mod drop_inputs;
mod fold;
mod forget;
mod inline;
mod lower;
mod normalize;
mod prepare_inputs;
mod settle;
mod show_ends;
mod show_norms;

pub use begin_with::begin_with;
pub use cone::cone;
pub use cut::{Cut, Exchanged, cut, verify as verify_cut};
pub use draw::{ask_for_draws, draw};
pub use drop_inputs::drop_inputs;
pub use fold::{fold, fold_initial_values};
pub use forget::{forget_inputs, forget_values};
pub use inline::{
    UpdateInstance, Updates, WithGradients, inline, inline_held, inline_open, inline_with_gradients,
};
pub use lower::{Keep, LowerStep, lower, lower_drawn, lower_with};
pub use normalize::normalize;
pub use prepare_inputs::{InputSteps, prepare_inputs};
pub use settle::settle;
pub use show_ends::show_ends;
pub use show_norms::show_norms;
