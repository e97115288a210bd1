//! Streams whose value is the same at every tick of a segment.

use rml_base::IndexVec;
use rml_ir::flat::{Rhs, Var};
use rml_ir::op::Op;

use crate::causality::frame::{Frame, POSITIONS, Position, is_first, is_last};
use crate::conditions::Conditions;

/// Which variables are constant over the segments; without segments, over all of time.
pub(super) fn constants(conditions: &Conditions<'_>, frame: Option<&Frame<'_, '_>>) -> IndexVec<Var, bool> {
    let flat = conditions.flat;
    let mut constant: IndexVec<Var, bool> = IndexVec::filled(false, flat.vars.len());
    let mut readers: Vec<Vec<Var>> = vec![Vec::new(); flat.vars.len()];
    for equation in flat.equations.iter() {
        equation.rhs.for_each_operand(|v| readers[v.0 as usize].push(equation.lhs));
    }
    let mut pending: Vec<Var> = flat.equations.iter().map(|e| e.lhs).collect();
    while let Some(var) = pending.pop() {
        if !constant[var] && is_constant(conditions, frame, &constant, var) {
            constant[var] = true;
            pending.extend(readers[var.0 as usize].iter().copied());
        }
    }
    constant
}

/// Whether the rules say so of a variable, given what they say of others.
pub(super) fn is_constant(
    conditions: &Conditions<'_>,
    frame: Option<&Frame<'_, '_>>,
    known: &IndexVec<Var, bool>,
    var: Var,
) -> bool {
    let Some(rhs) = conditions.rhs(var) else { return false };
    match rhs {
        Rhs::Const(_) | Rhs::Param { .. } => true,
        Rhs::Apply { args, .. } => args.iter().all(|v| known[*v]),
        Rhs::When { value, .. } if known[*value] => true,
        Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b }
            if known[*cond] && known[*a] && known[*b] =>
        {
            true
        }
        Rhs::When { .. } | Rhs::If { .. } | Rhs::Merge { .. } => {
            frame.is_some_and(|f| is_single(f, var) || is_held(f, var))
        }
        Rhs::Fby { .. } | Rhs::FbyBack { .. } | Rhs::Post { .. } => frame.is_some_and(|f| is_single(f, var)),
    }
}

/// Whether a variable has one tick a segment.
fn is_single(frame: &Frame<'_, '_>, var: Var) -> bool {
    let clock = frame.conditions.clocks.of[var];
    frame.ticks_once(clock) || [0, 2].iter().all(|p| !frame.may_tick(clock, *p))
}

/// Whether a variable is, at every tick but the first, what it was at the tick before.
fn is_held(frame: &Frame<'_, '_>, var: Var) -> bool {
    if frame.conditions.clocks.of[var] != frame.clock {
        return false;
    }
    POSITIONS.filter(|p| !is_first(*p)).all(|p| {
        let source = chosen(frame, var, p);
        let Some(Rhs::Fby { next, window, .. }) = frame.conditions.rhs(source) else { return false };
        let stays =
            frame.conditions.clocks.of[source] == frame.clock && window.is_none_or(|w| frame.bounds(w));
        stays
            && POSITIONS
                .filter(|q| !is_last(*q))
                .all(|q| *next == var || chosen(frame, *next, q) == var || passes(frame, *next, var, q))
    })
}

/// Whether one variable is a copy of another in a kind of instant.
fn passes(frame: &Frame<'_, '_>, from: Var, to: Var, p: Position) -> bool {
    let conditions = frame.conditions;
    conditions.clocks.same[from] == conditions.clocks.same[to]
        || chosen(frame, from, p) == chosen(frame, to, p)
}

/// The variable that another one is in a kind of instant: past samples, copies, and choices that are known there.
fn chosen(frame: &Frame<'_, '_>, mut var: Var, p: Position) -> Var {
    let conditions = frame.conditions;
    for _ in 0..64 {
        let truth = |cond: Var| conditions.truth(cond, frame.at(conditions.clocks.of[cond], p));
        var = match conditions.rhs(var) {
            Some(Rhs::Apply { op: Op::Copy | Op::StopGradient, args }) => args[0],
            Some(Rhs::When { value, .. }) => *value,
            Some(Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b }) => {
                match truth(*cond) {
                    Some(true) => *a,
                    Some(false) => *b,
                    None => return var,
                }
            }
            _ => return var,
        };
    }
    var
}
