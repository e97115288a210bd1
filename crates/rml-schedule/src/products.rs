//! Products of which a part need not wait for a loop.
//!
//! `matmul(concat(x, h), w)`, where only `h` comes from the loop, is the product of `h` with the rear rows of `w` that
//! continues from the product of `x` with the front ones ([`concat`]). The latter is computed over all ticks at once.
//! And where a loop reads some columns of a product alone, it computes these alone ([`slices`]); others that are read
//! elsewhere are computed over all ticks. Each element is the same chain of operations as before.

use rml_plan::{Ends, Plan};
use rml_validate::Witness;

mod concat;
mod edit;
mod slices;

use edit::Edit;

/// The plan with products split where a part of them leaves a loop, or is not read.
///
/// Requires, ensures: P1 to P8.
pub(crate) fn products(plan: Plan, witness: Witness) -> (Plan, Witness) {
    let (plan, witness) = split(plan, witness, concat::concatenations);
    split(plan, witness, slices::slices)
}

fn split(plan: Plan, witness: Witness, pass: impl Fn(&mut Edit, usize)) -> (Plan, Witness) {
    // What finds the end of a window runs tick by tick.
    let first = usize::from(matches!(plan.ends, Ends::Found { .. }));
    let regions = first..plan.regions.len();
    let mut edit = Edit::new(plan, witness);
    regions.for_each(|region| pass(&mut edit, region));
    edit.done()
}
