//! A7: slow states.

use std::collections::BTreeSet;

use rml_ir::Data;
use rml_ir::flat::{ConstId, ConstKind, Rhs, Var};
use rml_ir::op::{Binary, Op};

use super::super::{Position, SlowState};
use super::view::View;
use crate::conditions::Guard;

pub(super) fn check(view: &View<'_, '_>, slow: &SlowState, found: &mut Vec<String>) {
    let flat = view.program.flat;
    let eq = slow.equation;
    let is_state = flat.states.values().any(|s| s.equation == eq);
    let (true, Some(Rhs::Fby { next, window: None, .. })) =
        (is_state, flat.equations.get(eq).map(|e| &e.rhs))
    else {
        return found.push(format!("A7: {eq} holds no state"));
    };
    let state = flat.equations[eq].lhs;
    let Some(samplings) = view.samplings(state) else {
        return found.push(format!("A7: {eq} ticks where {} have no ticks", view.id));
    };
    if !slow.place.is_edge() && !view.is_once(state) {
        found.push(format!("A7: {eq} may change twice in {}", view.id));
    }
    for p in view.of(state).place.iter() {
        let sampled_out = samplings.iter().any(|l| !view.truths(l.cond, p).may(l.value));
        if !slow.place.contains(p) && !sampled_out && !is_old(view, state, *next, p, None) {
            found.push(format!("A7: {eq} may change at {p} in {}", view.id));
        }
    }
    for guard in &slow.guards {
        let without = Guard { cond: guard.cond, value: !guard.value };
        let is_sampled = samplings.iter().any(|l| view.program.is_same(*l, *guard));
        let mut at = slow.place.iter();
        if !is_sampled && !at.all(|p| is_old(view, state, *next, p, Some(without))) {
            found.push(format!("A7: {eq} may change without its guard {}", guard.cond));
        }
    }
}

/// The value that leaves a state unchanged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Goal {
    Old,
    /// Zero, which is added to the old value.
    Zero,
}

/// Whether a value is equal to a state, at a position and under the guard `given`. This is true if every branch of
/// `merge` and `if` that may be taken leads to the state, or to a zero that is added to it.
fn is_old(view: &View<'_, '_>, state: Var, value: Var, p: Position, given: Option<Guard>) -> bool {
    let mut seen = BTreeSet::new();
    let mut pending = vec![(value, Goal::Old)];
    while let Some((v, goal)) = pending.pop() {
        if !seen.insert((v, goal)) || (goal == Goal::Old && v == state) {
            continue;
        }
        match view.program.rhs(v) {
            Some(Rhs::Apply { op: Op::Copy | Op::StopGradient, args }) => pending.push((args[0], goal)),
            Some(Rhs::When { value, .. }) => pending.push((*value, goal)),
            Some(Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b }) => {
                let may = |value: bool| {
                    let excluded = Guard { cond: *cond, value: !value };
                    view.truths(*cond, p).may(value)
                        && !given.is_some_and(|g| view.program.is_same(g, excluded))
                };
                pending.extend(may(true).then_some((*a, goal)));
                pending.extend(may(false).then_some((*b, goal)));
            }
            Some(Rhs::Apply { op: Op::Binary(Binary::Add), args })
                if goal == Goal::Old && is_state(view, state, args[1]) =>
            {
                pending.extend([(args[0], Goal::Zero), (args[1], Goal::Old)]);
            }
            Some(Rhs::Apply { op: Op::Binary(Binary::Add | Binary::Sub), args }) if goal == Goal::Old => {
                pending.extend([(args[0], Goal::Old), (args[1], Goal::Zero)]);
            }
            Some(Rhs::Const(k)) if goal == Goal::Zero && is_zero(view, *k) => {}
            _ => return false,
        }
    }
    true
}

/// Whether a value is the state, or a copy or sample of it.
fn is_state(view: &View<'_, '_>, state: Var, mut v: Var) -> bool {
    let mut left = view.program.flat.equations.len();
    while v != state && left > 0 {
        left -= 1;
        v = match view.program.rhs(v) {
            Some(Rhs::Apply { op: Op::Copy | Op::StopGradient, args }) => args[0],
            Some(Rhs::When { value, .. }) => *value,
            _ => return false,
        };
    }
    v == state
}

fn is_zero(view: &View<'_, '_>, k: ConstId) -> bool {
    let ConstKind::Value(value) = &view.program.flat.consts[k].kind else { return false };
    match value.to_data() {
        Data::Bool(_) => false,
        Data::Int(all) => all.into_iter().all(|x| x == 0),
        Data::F32(all) => all.into_iter().all(|x| x == 0.0),
        Data::F64(all) => all.into_iter().all(|x| x == 0.0),
    }
}
