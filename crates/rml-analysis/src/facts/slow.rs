//! Finds the states that change at most once a segment, and the guards that hold where they change.

use rml_ir::Data;
use rml_ir::flat::{ConstKind, Eq, Rhs, Var};
use rml_ir::op::{Binary, Op};

use super::scope::{Presence, Scope};
use super::values::Values;
use super::{Segments, SlowState};
use crate::conditions::Guard;
use rml_ir::{Position, Positions};

/// Adds the states of the program that are slow in these segments and not in the previous ones.
pub(super) fn slow(
    scope: &Scope<'_, '_>,
    values: &Values,
    presence: &Presence,
    id: Segments,
    found: &mut Vec<SlowState>,
) {
    if scope.is_trace {
        return;
    }
    for state in scope.conditions.flat.states.values() {
        if found.iter().all(|s| s.equation != state.equation) {
            found.extend(slow_state(scope, values, presence, id, state.equation));
        }
    }
}

fn slow_state(
    scope: &Scope<'_, '_>,
    values: &Values,
    presence: &Presence,
    id: Segments,
    equation: Eq,
) -> Option<SlowState> {
    let Rhs::Fby { next, .. } = scope.conditions.flat.equations[equation].rhs else { return None };
    let lhs = scope.conditions.flat.equations[equation].lhs;
    let clock = scope.clock(lhs);
    let mut guards: Vec<Guard> = scope.chain(clock);
    guards.reverse();
    if !scope.is_inside(lhs) {
        return None;
    }
    let updates = updates(scope, lhs, next);
    // The guards as written, because the condition in the canonical form may be known to hold in fewer places.
    let written: Vec<Guard> = guards.iter().chain(&updates).copied().collect();
    guards.extend(updates.iter().map(|l| scope.conditions.guard(l.cond, l.value)));
    let may = |p: &Position| written.iter().all(|l| values.truths[l.cond][p.index()].may(l.value));
    let place: Positions = presence.place[lhs].iter().filter(may).collect();
    let once = presence.once[clock] || place.is_edge();
    // Guards that the place implies are omitted.
    let is_certain =
        |l: &Guard| place.iter().all(|p| values.truths[l.cond][p.index()].known() == Some(l.value));
    guards.retain(|l| !is_certain(l));
    once.then_some(SlowState { equation, segments: id, place, guards })
}

/// The value that leaves a state unchanged.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq)]
enum Neutral {
    /// The state's value.
    Old,
    /// Zero, which is added to the state's value.
    Zero,
}

/// The guards of an update: if one of them does not hold, the next value of the state is the old one. For `merge c new
/// old`, and for `old + merge c change 0`, a guard is `c`; more guards may be found inside `new` and `change`.
fn updates(scope: &Scope<'_, '_>, state: Var, next: Var) -> Vec<Guard> {
    let conditions = scope.conditions;
    let mut guards = Vec::new();
    let (mut at, mut neutral) = (next, Neutral::Old);
    for _ in 0..conditions.flat.equations.len() {
        at = source(scope, at);
        let is_neutral = |v: Var| match neutral {
            Neutral::Old => source(scope, v) == state,
            Neutral::Zero => is_zero(scope, source(scope, v)),
        };
        match conditions.rhs(at) {
            Some(Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b }) => {
                let (value, new) = match (is_neutral(*a), is_neutral(*b)) {
                    (false, true) => (true, *a),
                    (true, false) => (false, *b),
                    _ => break,
                };
                guards.push(Guard { cond: *cond, value });
                at = new;
            }
            Some(Rhs::Apply { op: op @ Op::Binary(Binary::Add | Binary::Sub), args })
                if neutral == Neutral::Old =>
            {
                at = match (is_neutral(args[0]), is_neutral(args[1])) {
                    (true, _) => args[1],
                    (_, true) if *op == Op::Binary(Binary::Add) => args[0],
                    _ => break,
                };
                neutral = Neutral::Zero;
            }
            _ => break,
        }
    }
    guards
}

/// Whether a variable is a constant of zeros.
fn is_zero(scope: &Scope<'_, '_>, v: Var) -> bool {
    let flat = scope.conditions.flat;
    let Some(Rhs::Const(k)) = scope.conditions.rhs(v) else { return false };
    let ConstKind::Value(value) = &flat.consts[*k].kind else { return false };
    match value.to_data() {
        Data::Bool(_) => false,
        Data::Int(x) => x.iter().all(|x| *x == 0),
        Data::F32(x) => x.iter().all(|x| *x == 0.0),
        Data::F64(x) => x.iter().all(|x| *x == 0.0),
    }
}

/// The variable that is reached by following copies and samples back.
fn source(scope: &Scope<'_, '_>, mut v: Var) -> Var {
    for _ in 0..scope.conditions.flat.equations.len() {
        v = match scope.conditions.rhs(v) {
            Some(Rhs::When { value, .. }) => *value,
            Some(Rhs::Apply { op: Op::Copy | Op::StopGradient, args }) => args[0],
            _ => break,
        };
    }
    v
}
