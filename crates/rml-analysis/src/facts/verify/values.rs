//! A8 and A9: the values of conditions, and equalities between values.

use std::fmt;

use rml_ir::flat::{ConstId, ConstKind, Init, Rhs, Var};
use rml_ir::op::{Compare, Op};

use super::super::{Hold, Position, Truths};
use super::view::{Delay, Neighbour, View};

/// The origin of a copied value.
#[derive(Clone, Copy)]
enum Origin {
    Constant(ConstId),
    /// The initial value of a state, if it is not loaded from a checkpoint.
    Initial(ConstId),
    /// A variable at a position of the same segment.
    Inside(Var, Position),
    /// A variable at a position of another segment.
    Outside(Var, Position),
    Unknown,
}

pub(super) fn check(view: &View<'_, '_>, found: &mut Vec<String>) {
    for v in view.vars() {
        for p in Position::ALL.into_iter().filter(|p| !view.is_impossible(*p)) {
            let origins = origins(view, v, p);
            if view.program.is_condition(v) {
                let possible = possible(view, v, p, origins.as_deref()).and(view.implied(v, p));
                if !possible.is_within(view.truths(v, p)) {
                    found.push(format!("A8: the condition {} may have another value", view.place(v, p)));
                }
            }
            let (of, i) = (view.of(v), p.index());
            for (hold, edge) in [(of.first[i], Edge::First), (of.last[i], Edge::Last)] {
                if !is_equal(view, v, p, (hold, edge), origins.as_deref()) {
                    found.push(format!(
                        "A9: {} is not proved to be {hold:?} at the {edge} tick",
                        view.place(v, p)
                    ));
                }
            }
        }
    }
}

/// The origins of the value of a variable at a position; `None` if the value is computed.
fn origins(view: &View<'_, '_>, v: Var, p: Position) -> Option<Vec<Origin>> {
    let rhs = view.program.rhs(v)?;
    if let Some(delay) = Delay::of(rhs) {
        return Some(of_delay(view, v, &delay, p));
    }
    let if_taken = |cond: Var, value: bool, from: Var| {
        view.truths(cond, p).may(value).then_some(Origin::Inside(from, p))
    };
    Some(match rhs {
        Rhs::Const(k) => vec![Origin::Constant(*k)],
        Rhs::Apply { op: Op::Copy | Op::StopGradient, args } => vec![Origin::Inside(args[0], p)],
        Rhs::When { value, cond } => if_taken(*cond, true, *value).into_iter().collect(),
        Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b } => {
            if_taken(*cond, true, *a).into_iter().chain(if_taken(*cond, false, *b)).collect()
        }
        _ => return None,
    })
}

fn of_delay(view: &View<'_, '_>, v: Var, delay: &Delay<'_>, p: Position) -> Vec<Origin> {
    let origin = |n: Neighbour| match (n, delay.init) {
        (Neighbour::Nobody, None) => None,
        (Neighbour::Nobody, Some(_)) if view.program.is_loaded(v) => Some(Origin::Unknown),
        (Neighbour::Nobody, Some(Init::Const(k))) if view.program.is_state(v) => Some(Origin::Initial(*k)),
        (Neighbour::Nobody, Some(Init::Const(k))) => Some(Origin::Constant(*k)),
        (Neighbour::Nobody, Some(Init::Stream(i))) => Some(Origin::Inside(*i, p)),
        (Neighbour::Inside(q), _) => Some(Origin::Inside(delay.next, q)),
        (Neighbour::Earlier(q), _) => Some(Origin::Outside(delay.next, q)),
        (Neighbour::Later | Neighbour::Anywhere, _) => Some(Origin::Unknown),
    };
    view.neighbours(v, delay, p).into_iter().filter_map(origin).collect()
}

/// The values that a condition may have according to its equation.
fn possible(view: &View<'_, '_>, v: Var, p: Position, origins: Option<&[Origin]>) -> Truths {
    if let Some(origins) = origins {
        let all = origins.iter().fold(Truths::NONE, |all, o| {
            all.or(match o {
                Origin::Constant(k) | Origin::Initial(k) => view.program.truth_of(*k),
                Origin::Inside(from, q) | Origin::Outside(from, q) => view.truths(*from, *q),
                Origin::Unknown => Truths::ANY,
            })
        });
        return all.and(of_sample(view, v));
    }
    match view.program.rhs(v) {
        Some(Rhs::Apply { op: Op::Not, args }) => view.truths(args[0], p).map(|a| !a),
        Some(Rhs::Apply { op, args }) if args.len() == 2 && view.program.is_condition(args[0]) => {
            let table = |f: fn(bool, bool) -> bool| view.truths(args[0], p).map2(view.truths(args[1], p), f);
            match op {
                Op::And => table(|a, b| a & b),
                Op::Or => table(|a, b| a | b),
                Op::Compare(Compare::Eq) => table(|a, b| a == b),
                Op::Compare(Compare::Ne) => table(|a, b| a != b),
                _ => Truths::ANY,
            }
        }
        _ => Truths::ANY,
    }
}

/// The truths of samples: `c when c` is true, and `not c when c` is false.
fn of_sample(view: &View<'_, '_>, v: Var) -> Truths {
    let Some(Rhs::When { value, cond }) = view.program.rhs(v) else { return Truths::ANY };
    let guard = |cond: Var, value: bool| crate::conditions::Guard { cond, value };
    let is = |truth: bool| view.program.is_same(guard(*value, truth), guard(*cond, true));
    match (is(true), is(false)) {
        (true, _) => Truths::of(true),
        (_, true) => Truths::of(false),
        _ => Truths::ANY,
    }
}

/// The tick to which a hold refers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    First,
    Last,
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Edge::First { "first" } else { "last" })
    }
}

impl Edge {
    fn is_at(self, p: Position) -> bool {
        if self == Edge::First { p.is_start() } else { p.is_end() }
    }
}

/// Whether a hold follows from the holds of the origins of the value.
fn is_equal(
    view: &View<'_, '_>,
    v: Var,
    p: Position,
    (hold, edge): (Hold, Edge),
    origins: Option<&[Origin]>,
) -> bool {
    match hold {
        Hold::Own => return true,
        Hold::At(_) if view.is_trace() => return false,
        Hold::At(source) if source == v && edge.is_at(p) => return true,
        _ => {}
    }
    let Some(origins) = origins else { return false };
    let of = |from: Var, q: Position| {
        let of = view.of(from);
        if edge == Edge::First { of.first[q.index()] } else { of.last[q.index()] }
    };
    origins.iter().all(|origin| match (origin, hold) {
        (Origin::Constant(k), Hold::Const(claimed)) => is_same_constant(view, *k, claimed),
        (Origin::Inside(from, q), Hold::At(source)) => {
            let is_there = *from == source && edge.is_at(*q);
            is_there || matches!(of(*from, *q), Hold::Nothing) || of(*from, *q) == hold
        }
        (Origin::Inside(from, q) | Origin::Outside(from, q), Hold::Const(claimed)) => match of(*from, *q) {
            Hold::Const(k) => is_same_constant(view, k, claimed),
            other => other == Hold::Nothing,
        },
        (Origin::Inside(from, q) | Origin::Outside(from, q), _) => of(*from, *q) == Hold::Nothing,
        _ => false,
    })
}

fn is_same_constant(view: &View<'_, '_>, a: ConstId, b: ConstId) -> bool {
    let consts = &view.program.flat.consts;
    let value = |k: ConstId| match &consts.get(k)?.kind {
        ConstKind::Value(value) => Some((&consts[k].ty, value)),
        ConstKind::Random(_) | ConstKind::Apply { .. } => None,
    };
    a == b || value(a).zip(value(b)).is_some_and(|((t, a), (u, b))| t == u && a.same_bits(b))
}
