//! The initial value of a parameter is one value: it may be computed, but from constants only (PARAM-8).
//!
//! A stream would be read only in its first cycle if the parameter is trained, and in every cycle if it is not, and its
//! operands would get no gradient.

use indexmap::IndexSet;
use rml_base::codes::autodiff::INITIAL_VALUE;
use rml_base::{Diagnostic, Diagnostics, EntityId, Span};

use super::super::fold::is_identity;
use super::states::definitions;
use crate::flat::{Flat, Init, Rhs, Var};
use crate::op::Op;

/// A parameter's initial value.
pub(super) struct Start {
    /// The value.
    pub(super) init: Var,
    /// The parameter.
    pub(super) span: Span,
}

/// What is known about the values of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fact {
    /// Nothing says anything else yet.
    Any,
    /// They are all that of this variable, or this constant.
    One(usize),
    /// They may differ.
    Varies,
}

impl Fact {
    /// What holds of a stream that takes its values from two.
    fn or(self, other: Fact) -> Fact {
        match (self, other) {
            (Fact::Any, fact) | (fact, Fact::Any) => fact,
            (a, b) if a == b => a,
            _ => Fact::Varies,
        }
    }
}

/// Reports the initial values that change from cycle to cycle. Those inputs in `open` count as constants.
pub(super) fn check(flat: &Flat, starts: &[Start], open: &dyn Fn(&str) -> bool) -> Diagnostics {
    let mut found = Diagnostics::new();
    if starts.is_empty() {
        return found;
    }
    let facts = facts(flat, open);
    let mut seen = IndexSet::new();
    for start in starts {
        if facts[start.init.index()] == Fact::Varies && seen.insert(start.span) {
            found.push(changing(flat, &facts, start));
        }
    }
    found
}

fn facts(flat: &Flat, open: &dyn Fn(&str) -> bool) -> Vec<Fact> {
    let mut facts = vec![Fact::Any; flat.vars.len()];
    for input in &flat.inputs {
        let is_open = flat.vars[input.var].name.as_deref().is_some_and(open);
        facts[input.var.index()] = if is_open { Fact::One(input.var.index()) } else { Fact::Varies };
    }
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); flat.vars.len()];
    for (i, equation) in flat.equations.iter().enumerate() {
        equation.rhs.for_each_operand(|v| readers[v.index()].push(i));
    }
    let mut pending: Vec<usize> = (0..flat.equations.len()).rev().collect();
    while let Some(i) = pending.pop() {
        let equation = &flat.equations.as_slice()[i];
        let at = equation.lhs.index();
        // A fact only ever gets weaker, so that this ends.
        let new = facts[at].or(fact(flat, &facts, equation.lhs, &equation.rhs));
        if new != facts[at] {
            facts[at] = new;
            pending.extend(&readers[at]);
        }
    }
    facts
}

fn fact(flat: &Flat, facts: &[Fact], lhs: Var, rhs: &Rhs) -> Fact {
    let of = |v: Var| facts[v.index()];
    let init = |init: &Init| match init {
        Init::Const(k) => Fact::One(flat.vars.len() + k.index()),
        Init::Stream(v) => of(*v),
    };
    match rhs {
        Rhs::Const(k) => Fact::One(flat.vars.len() + k.index()),
        Rhs::Apply { op, args } if is_identity(flat, lhs, op, args) => {
            args.first().map_or(Fact::Any, |v| of(*v))
        }
        Rhs::Apply { .. } | Rhs::If { .. } => {
            let mut computed = Fact::One(lhs.index());
            rhs.for_each_operand(|v| match of(v) {
                Fact::Varies => computed = Fact::Varies,
                Fact::Any if computed != Fact::Varies => computed = Fact::Any,
                Fact::Any | Fact::One(_) => {}
            });
            computed
        }
        Rhs::When { value, .. } => of(*value),
        Rhs::Merge { on_true, on_false, .. } => of(*on_true).or(of(*on_false)),
        Rhs::Fby { init: i, next, .. } | Rhs::FbyBack { init: i, next, .. } => init(i).or(of(*next)),
        Rhs::Post { next, .. } => of(*next),
        // Training changes it.
        Rhs::Param { .. } => Fact::Varies,
    }
}

fn changing(flat: &Flat, facts: &[Fact], start: &Start) -> Diagnostic {
    let defs = definitions(flat);
    let mut at = start.init;
    let mut seen = IndexSet::new();
    // The first operand that changes, as far as there is one.
    while let Some(eq) = defs[at.index()].filter(|_| seen.insert(at)) {
        let rhs = &flat.equations[eq].rhs;
        let mut next = None;
        rhs.for_each_operand(|v| next = next.or((facts[v.index()] == Fact::Varies).then_some(v)));
        match (rhs, next) {
            (Rhs::Param { .. }, _) | (_, None) => break,
            (rhs, _) if drawn(rhs).is_some() => break,
            (_, Some(v)) => at = v,
        }
    }
    let (what, span) = match defs[at.index()] {
        None => ("this is an input".to_owned(), flat.vars[at].span),
        Some(eq) => {
            let equation = &flat.equations[eq];
            let what = match &equation.rhs {
                Rhs::Param { .. } => "this is itself a parameter, which training changes",
                rhs if drawn(rhs).is_some() => "this is drawn again in each cycle",
                _ => "this changes from cycle to cycle",
            };
            (what.to_owned(), equation.span)
        }
    };
    let d = Diagnostic::error(INITIAL_VALUE, "the initial value of a parameter is a stream")
        .label(start.span, "this parameter has one initial value")
        .label(span, what)
        .note("expected a constant, or a value computed from constants; found a value that changes from cycle to cycle");
    match defs[at.index()] {
        None => {
            let name = flat.vars[at].name.as_deref().unwrap_or("x");
            d.help(format!("an input without a type can be a constant: `--set {name}=0.5`, or a constant argument where the node is called"))
        }
        Some(eq) => d.help(drawn(&flat.equations[eq].rhs).unwrap_or(
            "use the stream itself, without `param`; a state that begins with a stream is `x fby next`",
        )),
    }
}

/// If the right-hand side draws in each cycle: what draws once.
fn drawn(rhs: &Rhs) -> Option<&'static str> {
    match rhs {
        Rhs::Apply { op: Op::RandomUniform { .. }, .. } => Some("`uniform(shape, 0.0, 1.0)` is drawn once"),
        Rhs::Apply { op: Op::RandomNormal { .. }, .. } => Some("`normal(shape, 0.0, 1.0)` is drawn once"),
        _ => None,
    }
}
