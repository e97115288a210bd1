//! V6: a sum over all ticks is a recurrence of the program that adds a term at each tick, and of which only the last
//! value is read.

use rml_ir::flat::{Rhs, Var};
use rml_ir::op::{Binary, Op};
use rml_ir::{Data, Positions, Value};
use rml_plan::{Atom, Guard, Term, Tick};

use crate::Checker;
use crate::view::View;

/// Checks that a sum gives a variable at the positions of its case.
pub(crate) fn check(
    checker: &Checker<'_>,
    v: Var,
    at: Positions,
    init: Option<Atom>,
    backward: bool,
    terms: &[Term],
) -> Result<(), String> {
    let edge = if backward { Positions::STARTS } else { Positions::ENDS };
    if !at.is_within(edge) {
        return Err("is a sum before it is complete".to_owned());
    }
    if !checker.frame.is_steady(v) {
        return Err("is a sum, but not present at all ticks".to_owned());
    }
    // Whether integers fit is told at the tick where they do not.
    if !checker.frame.flat.vars[v].ty.is_num() {
        return Err("is a sum, but no number".to_owned());
    }
    let Some(init @ Atom::Const(start)) = init else {
        return Err("is a sum without a constant to start from".to_owned());
    };
    // Zero may be left out of a sum that is never -0, as one that does not start from it.
    if terms.iter().any(|t| !t.when.is_empty()) && has_negative_zero(&checker.plan.consts[start]) {
        return Err("is a sum that starts from -0 and leaves terms out".to_owned());
    }
    for p in checker.frame.possible().iter() {
        let mut here = terms.iter().filter(|t| t.at.contains(p));
        let (Some(term), None) = (here.next(), here.next()) else {
            return Err(format!("has not one term at {p}"));
        };
        if !checker.frame.views(p, 0).all(|view| adds(checker, v, init, backward, term, view)) {
            return Err(format!("does not add that at {p}: {term:?}"));
        }
    }
    Ok(())
}

/// Whether a variable is the one of the tick that comes earlier in the sum, or its start, plus a term.
fn adds(checker: &Checker<'_>, v: Var, init: Atom, backward: bool, term: &Term, view: View) -> bool {
    let Some(Rhs::Apply { op: Op::Binary(Binary::Add), args }) = checker.frame.rhs(v) else { return false };
    let [a, b] = args[..] else { return false };
    let equal = &checker.equal;
    let starts = if backward { view.at.is_end() } else { view.at.is_start() };
    let accumulates = |sum: Var| {
        if starts {
            equal.is(init, sum, Tick::Now, view)
        } else {
            equal.is_variable(sum, v, if backward { Tick::After } else { Tick::Before }, view)
        }
    };
    let added = |of: Var| is_added(checker, term, &term.when, of, view);
    let has_type = |of: Var| checker.frame.flat.vars[of].ty == checker.frame.flat.vars[v].ty;
    [(a, b), (b, a)]
        .into_iter()
        .any(|(sum, of)| has_type(sum) && has_type(of) && accumulates(sum) && added(of))
}

/// Whether a variable is a term where guards hold, and zero elsewhere.
fn is_added(checker: &Checker<'_>, term: &Term, when: &[Guard], of: Var, view: View) -> bool {
    let equal = &checker.equal;
    match (when, &term.args[..]) {
        ([guard, rest @ ..], _) => {
            equal.is_zero_unless(*guard, of, view, |there| is_added(checker, term, rest, there, view))
        }
        ([], [atom]) if term.op == Op::Copy => equal.is(*atom, of, Tick::Now, view),
        ([], args) => equal.computes(&term.op, args, of, view) || equal.contracts(&term.op, args, of, view),
    }
}

fn has_negative_zero(value: &Value) -> bool {
    match value.to_data() {
        Data::F32(x) => x.iter().any(|x| *x == 0.0 && x.is_sign_negative()),
        Data::F64(x) => x.iter().any(|x| *x == 0.0 && x.is_sign_negative()),
        Data::Int(_) | Data::Bool(_) => false,
    }
}
