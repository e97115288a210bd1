//! A5 and A6: the positions at which variables are present, and the constant variables.

use rml_ir::flat::{Rhs, Var};

use super::super::{Hold, Position, Truths};
use super::view::View;

pub(super) fn check(view: &View<'_, '_>, found: &mut Vec<String>) {
    for v in view.vars() {
        let place = view.of(v).place;
        for p in Position::ALL {
            if !place.contains(p) && !is_absent(view, v, p) {
                found.push(format!("A5: {} may be present", view.place(v, p)));
            }
        }
        if view.of(v).constant && !is_constant(view, v) {
            found.push(format!("A6: {v} is not proved to be constant in {}", view.id));
        }
    }
}

/// Whether no segment has a tick at a position, or a condition of the clock has the other value there.
fn is_absent(view: &View<'_, '_>, v: Var, p: Position) -> bool {
    if view.is_impossible(p) || (view.is_trace() && p != Position::Middle) {
        return true;
    }
    let never = |cond: Var| view.is_exact(cond) && view.truths(cond, p) == Truths::NONE;
    let sampled_out = |samplings: &[crate::conditions::Guard]| {
        samplings.iter().any(|l| !view.truths(l.cond, p).may(l.value))
    };
    view.data.cut.ends.iter().any(|l| never(l.cond)) || view.samplings(v).is_some_and(sampled_out)
}

fn is_constant(view: &View<'_, '_>, v: Var) -> bool {
    let of = view.of(v);
    let at = || of.place.iter().map(Position::index);
    let one_hold = |holds: &[Hold; 4]| {
        let mut all = at().map(|i| holds[i]);
        match all.next() {
            Some(first @ (Hold::Const(_) | Hold::At(_))) => all.all(|h| h == first),
            _ => false,
        }
    };
    let one_truth = || {
        view.program.is_condition(v)
            && !of.place.is_empty()
            && [false, true].iter().any(|b| at().all(|i| of.truths[i].is_within(Truths::of(*b))))
    };
    if view.is_once(v) || one_hold(&of.first) || one_hold(&of.last) || one_truth() {
        return true;
    }
    let constant = |x: &Var| view.of(*x).constant;
    match view.program.rhs(v) {
        Some(Rhs::Const(_) | Rhs::Param { .. }) => true,
        Some(Rhs::Apply { args, .. }) => args.iter().all(constant),
        Some(Rhs::When { value, .. }) => constant(value),
        Some(Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b }) => {
            let taken = |value: bool| of.place.iter().any(|p| view.truths(*cond, p).may(value));
            let branches = [(a, taken(true)), (b, taken(false))];
            let one_branch = branches.iter().any(|(_, taken)| !taken);
            branches.iter().all(|(x, taken)| !taken || constant(x)) && (one_branch || constant(cond))
        }
        _ => false,
    }
}
