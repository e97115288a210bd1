//! Sums over a group of parameters, in the program of updates: those of the parameters that are updated in a step
//! (PARAM-10).
//!
//! ```text
//! sum    = merge present_0 x0 0 + merge present_1 x1 0 + ..      (* in each step *)
//! total0 = sum when present_0;   total1 = sum when present_1;   ..
//! ```
//!
//! Parameters that are all on one clock are added without conditions.

use rml_base::{EntityId, Span};

use super::super::inline::{Clocks, Step};
use crate::flat::{ClockClasses, Equation, Flat, Rhs, Var, VarData};
use crate::normal::Eq;
use crate::op::{Binary, Op};
use crate::types::{DType, Type};
use crate::value::Value;

/// Adds the equations of all sums. `live` says which variables the program has, and is continued.
pub(super) fn add(flat: &mut Flat, live: &mut Vec<bool>, defs: &[Option<Eq>], sums: &[Vec<(Var, Var)>]) {
    let is_live = |v: Var| live[v.index()];
    let clocks = Clocks::of(flat, ClockClasses::among(flat, is_live), &is_live).with_inputs(flat);
    let ways: Vec<Vec<Vec<Step>>> =
        sums.iter().map(|parts| parts.iter().map(|(x, _)| clocks.way(*x)).collect()).collect();
    for (parts, mut ways) in sums.iter().zip(ways) {
        if ways.windows(2).all(|two| two[0] == two[1]) {
            ways.iter_mut().for_each(Vec::clear);
        }
        let mut sum = None;
        for ((x, _), way) in parts.iter().zip(&ways) {
            let padded = way.iter().rev().fold(*x, |x, step| pad(flat, x, *step));
            sum = Some(match sum {
                None => padded,
                Some(sum) => {
                    let op = Op::Binary(Binary::Add);
                    number(flat, Rhs::Apply { op, args: vec![sum, padded] }, flat.vars[*x].span)
                }
            });
        }
        for ((_, total), way) in parts.iter().zip(&ways) {
            let (Some(sum), Some(eq)) = (sum, defs[total.index()]) else { continue };
            let own = way.iter().fold(sum, |sum, step| sample(flat, sum, *step));
            flat.equations[eq].rhs = Rhs::Apply { op: Op::Copy, args: vec![own] };
            live[total.index()] = true;
        }
    }
    live.resize(flat.vars.len(), true);
}

/// A number that is present where a condition says so, completed with zeros.
fn pad(flat: &mut Flat, x: Var, (cond, positive): Step) -> Var {
    let span = flat.vars[x].span;
    let zero = flat.consts.push(Value::num(0.0, flat.precision).into());
    let zero = number(flat, Rhs::Const(zero), span);
    let (on_true, on_false) = if positive { (x, zero) } else { (zero, x) };
    number(flat, Rhs::Merge { cond, on_true, on_false }, span)
}

/// A number where a condition says so.
fn sample(flat: &mut Flat, value: Var, (cond, positive): Step) -> Var {
    let span = flat.vars[value].span;
    let cond = match positive {
        true => cond,
        false => define(flat, Type::condition(), Rhs::Apply { op: Op::Not, args: vec![cond] }, span),
    };
    number(flat, Rhs::When { value, cond }, span)
}

fn number(flat: &mut Flat, rhs: Rhs, span: Span) -> Var {
    define(flat, Type::scalar(DType::Num), rhs, span)
}

fn define(flat: &mut Flat, ty: Type, rhs: Rhs, span: Span) -> Var {
    let lhs = flat.vars.push(VarData { name: None, ty, span, asserts: None, cases: None });
    flat.equations.push(Equation { lhs, rhs, span });
    lhs
}
