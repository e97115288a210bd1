//! Merges similar scalar equations into one equation on vectors.
//!
//! A program of many small equations has a loop for each state, and an instruction for each scalar. Here the loops are
//! merged (`order`), similar tapes are found (`groups`), and the plan is rewritten with vectors (`emit`): a scalar that
//! others read becomes a view of a lane. Lanes are computed like scalars, so the bits are the same. Programs without
//! such equations are not changed.

use std::sync::Arc;

use rml_ir::check::checked;

use crate::Plan;

mod emit;
mod groups;
mod order;

/// The plan with vectors for scalars that are computed alike, if that is quicker.
///
/// Requires, ensures: P1 to P9.
pub fn pack(plan: Arc<Plan>) -> Arc<Plan> {
    if plan.ahead() > 0 || plan.waits {
        return plan;
    }
    let Some(order) = order::Order::of(&plan) else { return plan };
    match groups::Finder::new(&plan, &order).find() {
        Some(groups) => {
            let packed = emit::emit(&plan, order, &groups);
            checked("pack", || crate::verify(&packed));
            Arc::new(packed)
        }
        None => plan,
    }
}
