//! Variables with the same value at all ticks of a segment.

use rml_base::IndexVec;
use rml_ir::flat::{Rhs, Var};

use super::Hold;
use super::scope::{Presence, Scope};
use super::values::Values;
use rml_ir::{Position, Positions};

pub(super) fn constants(scope: &Scope<'_, '_>, values: &Values, presence: &Presence) -> IndexVec<Var, bool> {
    let flat = scope.conditions.flat;
    let mut constant: IndexVec<Var, bool> =
        flat.vars.ids().map(|v| is_constant_alone(scope, values, presence, v)).collect();
    let mut readers: IndexVec<Var, Vec<Var>> = IndexVec::filled(Vec::new(), flat.vars.len());
    for equation in flat.equations.iter() {
        equation.rhs.for_each_operand(|v| readers[v].push(equation.lhs));
    }
    let mut pending: Vec<Var> = flat.vars.ids().filter(|v| constant[*v]).collect();
    while let Some(known) = pending.pop() {
        for reader in &readers[known] {
            if !constant[*reader] && follows(scope, values, &presence.place, &constant, *reader) {
                constant[*reader] = true;
                pending.push(*reader);
            }
        }
    }
    constant
}

/// Whether a variable is constant even if its operands are not.
fn is_constant_alone(scope: &Scope<'_, '_>, values: &Values, presence: &Presence, v: Var) -> bool {
    let is_fixed = matches!(scope.conditions.rhs(v), Some(Rhs::Const(_) | Rhs::Param { .. }));
    let equal = |holds: &[Hold; 4]| {
        let mut of = presence.place[v].iter().map(|p| holds[p.index()]);
        let first = of.next();
        matches!(first, Some(Hold::Const(_) | Hold::At(_))) && of.all(|h| Some(h) == first)
    };
    let truths = || {
        let of = presence.place[v].iter().map(|p| values.truths[v][p.index()]);
        of.reduce(super::Truths::or).is_some_and(|t| t.known().is_some())
    };
    is_fixed || presence.once[scope.clock(v)] || equal(&values.first[v]) || equal(&values.last[v]) || truths()
}

/// Whether a variable is constant because of its operands.
fn follows(
    scope: &Scope<'_, '_>,
    values: &Values,
    place: &IndexVec<Var, Positions>,
    constant: &IndexVec<Var, bool>,
    v: Var,
) -> bool {
    match scope.conditions.rhs(v) {
        Some(Rhs::Apply { args, .. }) => args.iter().all(|a| constant[*a]),
        Some(Rhs::When { value, .. }) => constant[*value],
        Some(Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b }) => {
            let may = |value: bool| {
                let mut at = Position::ALL.into_iter().filter(|p| place[v].contains(*p));
                at.any(|p| values.truths[*cond][p.index()].may(value))
            };
            match (may(true), may(false)) {
                (true, true) => constant[*cond] && constant[*a] && constant[*b],
                (true, false) => constant[*a],
                (false, _) => constant[*b],
            }
        }
        _ => false,
    }
}
