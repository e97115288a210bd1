//! Programs whose windows end on a sampled clock.

use std::collections::BTreeMap;

use rml_analysis::Clocks;
use rml_base::Span;
use rml_ir::Type;
use rml_ir::flat::{ConstKind, Constant, Drawn, Equation, Flat, Rhs, Var, VarData};
use rml_ir::{DType, Shape, Value};

/// Moves the ends of outermost windows to the base clock: an end is false wherever it was absent (WINDOW-4). None if
/// all of them are on the base clock.
///
/// Ensures: F1 to F8; variables, equations, windows and states keep their ids.
pub(crate) fn on_base(drawn: &Drawn, clocks: &Clocks) -> Option<Drawn> {
    let mut told = BTreeMap::new();
    for window in drawn.windows.iter().filter(|window| window.parent.is_none()) {
        let clock = clocks.of[window.end];
        if clock != Clocks::BASE && clocks.root(clock) == Clocks::BASE {
            told.insert(window.end, clocks.samplings(clock));
        }
    }
    if told.is_empty() {
        return None;
    }
    let mut flat = (**drawn).clone();
    let told: BTreeMap<Var, Var> =
        told.into_iter().map(|(end, samplings)| (end, tells(&mut flat, end, &samplings))).collect();
    for window in flat.windows.iter_mut().filter(|window| window.parent.is_none()) {
        window.end = told.get(&window.end).copied().unwrap_or(window.end);
    }
    Drawn::new(flat).ok()
}

/// A variable that is true where the end is present and true, and false elsewhere.
fn tells(flat: &mut Flat, end: Var, samplings: &[(Var, bool)]) -> Var {
    let span = flat.equations.iter().find(|equation| equation.lhs == end).map(|equation| equation.span);
    let span = span.unwrap_or(flat.vars[end].span);
    samplings.iter().rev().fold(end, |within, (cond, positive)| {
        let never = never(flat, span);
        let (on_true, on_false) = if *positive { (within, never) } else { (never, within) };
        define(flat, Rhs::Merge { cond: *cond, on_true, on_false }, span)
    })
}

/// A variable with the constant value false.
fn never(flat: &mut Flat, span: Span) -> Var {
    let ty = condition();
    let value = flat.consts.push(Constant { kind: ConstKind::Value(Value::Bool(false)), ty, text: None });
    define(flat, Rhs::Const(value), span)
}

fn define(flat: &mut Flat, rhs: Rhs, span: Span) -> Var {
    let lhs = flat.vars.push(VarData { name: None, ty: condition(), span, asserts: None, cases: None });
    flat.equations.push(Equation { lhs, rhs, span });
    lhs
}

fn condition() -> Type {
    Type { dtype: DType::Bool, shape: Shape::new(&[]) }
}
