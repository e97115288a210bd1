//! `if` (ADJ-5) and `merge` (ADJ-7). `when` needs no rule, because its operand gets the gradient of its result
//! unchanged (ADJ-6).

use rml_ir::normal::Var;

use crate::build::Builder;

/// `d when (cond when bp)`: the part of the gradient `d` that belongs to the branch `branch` of `if cond` or `merge
/// cond`.
pub(crate) fn of_if(b: &mut Builder, cond: Var, branch: bool, d: Var, bp: Var) -> Var {
    let guard = b.guard(cond);
    let sampled = b.sampled_guard(if branch { guard } else { guard.negated() }, bp);
    b.when(d, sampled)
}
