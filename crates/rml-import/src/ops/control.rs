//! Choices.

use super::Table;
use super::statics::truth;
use crate::build::{Builder, Call, Val};
use crate::program::Rhs;
use crate::refuse::{Res, refuse};

pub(super) const TABLE: Table = &[("If", choice)];

/// A choice: the branch that is taken, if that is known; else both branches, of which the program takes one's results.
fn choice(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let cond = call.arg(0)?;
    let (then, other) = (call.graph("then_branch")?, call.graph("else_branch")?);
    if let Some(taken) = truth(cond) {
        return b.inner(if taken { then } else { other }, &[]);
    }
    let (then, other) = (b.inner(then, &[])?, b.inner(other, &[])?);
    let cond = b.reshape(cond, &[])?;
    let cond = b.var(&cond)?;
    let mut results = Vec::new();
    for (t, o) in then.iter().zip(&other) {
        if t.ty() != o.ty() {
            return refuse(format!("one branch gives {}, and the other one {}", t.ty(), o.ty()));
        }
        let (then, other) = (b.var(t)?, b.var(o)?);
        results.push(b.defined(t.elem, t.ty(), Rhs::If { cond, then, other })?);
    }
    Ok(results)
}
