//! Takes the branches that constant conditions choose.
//!
//! A derived node takes `bp`; called with `true` or `false`, its conditions are constant, and its samplings, merges and
//! completions with zeros are idle.

use rml_base::EntityId;

use super::cone::{Classes, Live};
use super::constant;
use crate::flat::{ConstKind, Constant, Eq, Flat, Rhs, Var, verify_initialised};
use crate::op::Op;
use crate::value::Value;

/// Replaces `x when c`, `merge c x y`, `if c then x else y`, `c and x`, `c or x` by what a constant `c` makes of them, and
/// conditions that are constant by their value.
///
/// An equation also says which variables are present together. None is replaced that a kept variable owes its clock to: a
/// stream that an input or a sampling drives is driven after as before.
///
/// Requires: `flat::verify_initialised`. Ensures: the same, and the same outputs in the same cycles, or earlier, where all
/// that they waited for was a constant condition; the outputs and states stay.
pub fn settle(mut flat: Flat) -> Flat {
    let _span = tracing::debug_span!("settle", equations = flat.equations.len()).entered();
    let mut changes = changes(&mut flat);
    if changes.is_empty() {
        return flat;
    }
    let before = Classes::new(&flat, |_| true);
    loop {
        swap(&mut flat, &mut changes);
        let lost = lost(&flat, &before, &changes);
        if lost.is_empty() {
            break;
        }
        swap(&mut flat, &mut changes);
        let mut k = 0;
        changes.retain(|_| {
            k += 1;
            !lost.contains(&(k - 1))
        });
    }
    super::checked("settle", || verify_initialised(&flat));
    flat
}

/// The equations that have a simpler form, with that form.
fn changes(flat: &mut Flat) -> Vec<(Eq, Rhs)> {
    let known = constant::conditions(flat);
    let is_state: Vec<bool> = {
        let mut found = vec![false; flat.equations.len()];
        flat.states.values().for_each(|state| found[state.equation.index()] = true);
        found
    };
    let mut truths = [None, None];
    let mut changes = Vec::new();
    for eq in flat.equations.ids() {
        let equation = &flat.equations[eq];
        let is_fixed = is_state[eq.index()] || flat.outputs.contains(&equation.lhs);
        let new = match (known[equation.lhs.index()], &equation.rhs) {
            (_, Rhs::Const(_)) => None,
            (Some(value), _) if !is_fixed => {
                let slot = &mut truths[usize::from(value)];
                let k = *slot.get_or_insert_with(|| {
                    let value = Value::Bool(value);
                    flat.consts.push(Constant { ty: value.ty(), kind: ConstKind::Value(value), text: None })
                });
                Some(Rhs::Const(k))
            }
            (_, rhs) => chosen(rhs, |v| known[v.index()]).map(copy),
        };
        changes.extend(new.map(|rhs| (eq, rhs)));
    }
    changes
}

fn copy(of: Var) -> Rhs {
    Rhs::Apply { op: Op::Copy, args: vec![of] }
}

/// The operand that the result is, given the conditions that are known.
fn chosen(rhs: &Rhs, known: impl Fn(Var) -> Option<bool>) -> Option<Var> {
    match rhs {
        Rhs::When { value, cond } => (known(*cond)?).then_some(*value),
        Rhs::Merge { cond, on_true, on_false } => Some(if known(*cond)? { *on_true } else { *on_false }),
        Rhs::If { cond, then, other } => Some(if known(*cond)? { *then } else { *other }),
        Rhs::Apply { op: op @ (Op::And | Op::Or), args } => match args.as_slice() {
            [x, y] if known(*x) == Some(*op == Op::And) => Some(*y),
            [x, y] if known(*y) == Some(*op == Op::And) => Some(*x),
            _ => None,
        },
        _ => None,
    }
}

/// Exchanges the right sides of the equations with the others.
fn swap(flat: &mut Flat, changes: &mut [(Eq, Rhs)]) {
    for (eq, rhs) in changes {
        std::mem::swap(&mut flat.equations[*eq].rhs, rhs);
    }
}

/// The changes that take away what drove a variable that is needed. `changes` holds the former right sides.
fn lost(flat: &Flat, before: &Classes, changes: &[(Eq, Rhs)]) -> Vec<usize> {
    let live = Live::without_drivers(flat);
    let after = Classes::new(flat, |_| true);
    let mut orphans = vec![false; flat.vars.len()];
    for v in flat.vars.ids().filter(|v| live[v.index()]) {
        if before.is_driven(v) && !after.is_driven(v) {
            orphans[after.class(v)] = true;
        }
    }
    let is_orphan = |v: Var| orphans[after.class(v)];
    let takes = |(eq, rhs): &(Eq, Rhs)| {
        let mut found = is_orphan(flat.equations[*eq].lhs);
        rhs.for_each_operand(|v| found |= is_orphan(v));
        found
    };
    changes.iter().enumerate().filter(|(_, change)| takes(change)).map(|(k, _)| k).collect()
}
