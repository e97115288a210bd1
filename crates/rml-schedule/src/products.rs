//! Products with a part that does not depend on a loop.
//!
//! `matmul(concat(x, h), w)`, where only `h` depends on the loop, is the product of `x` with the first rows of `w`, to
//! which the product of `h` with the remaining rows is added ([`concat`]). The former is computed over all ticks at
//! once. If a loop reads only some columns of a product, it computes only these ([`slices`]); columns that are read
//! elsewhere are computed over all ticks. Each element has the same sequence of operations as before.

use rml_plan::{Ends, Plan};
use rml_validate::Witness;

mod concat;
mod edit;
mod slices;

use edit::Edit;

/// Splits products of which one part does not depend on the loop, or is not read.
///
/// Requires, ensures: P1 to P8.
pub(crate) fn products(plan: Plan, witness: Witness) -> (Plan, Witness) {
    let (plan, witness) = split(plan, witness, concat::concatenations);
    split(plan, witness, slices::slices)
}

fn split(plan: Plan, witness: Witness, pass: impl Fn(&mut Edit, usize)) -> (Plan, Witness) {
    // The region that finds the end of a window has to run tick by tick.
    let first = usize::from(matches!(plan.ends, Ends::Found { .. }));
    let regions = first..plan.regions.len();
    let mut edit = Edit::new(plan, witness);
    regions.for_each(|region| pass(&mut edit, region));
    edit.done()
}
