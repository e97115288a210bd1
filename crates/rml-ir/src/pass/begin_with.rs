//! Gives the states of a program other initial values.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::Span;

use crate::check::checked;
use crate::flat::{ConstKind, Constant, Equation, Flat, Init, Rhs, Var, VarData, verify};
use crate::types::{DType, Type};
use crate::value::Value;

/// Writes values down as the initial ones of states, by checkpoint key; keys that no state has are ignored.
///
/// Requires: `flat::verify`; each value has the type of its state. Ensures: `flat::verify`; the same states; in every
/// cycle, each variable is what it is in the program that has loaded these values.
pub fn begin_with(mut flat: Flat, values: &IndexMap<Arc<str>, Value>) -> Flat {
    let states: Vec<_> = flat.states.iter().map(|(key, state)| (Arc::clone(key), state.equation)).collect();
    for (key, id) in states {
        let Some(value) = values.get(&key) else { continue };
        let (ty, span) = (flat.vars[flat.equations[id].lhs].ty.clone(), flat.equations[id].span);
        let kind = ConstKind::Value(value.to_precision(flat.precision));
        let value = Constant { kind, ty, text: None };
        let rhs = match flat.equations[id].rhs.clone() {
            Rhs::Fby { init: Init::Const(_), next, window } => {
                Rhs::Fby { init: Init::Const(flat.consts.push(value)), next, window }
            }
            Rhs::Fby { init: Init::Stream(init), next, window } => {
                Rhs::Fby { init: Init::Stream(in_place_of(&mut flat, init, value, span)), next, window }
            }
            Rhs::Param { init } => Rhs::Param { init: in_place_of(&mut flat, init, value, span) },
            Rhs::Const(_) | Rhs::Apply { .. } | Rhs::If { .. } | Rhs::When { .. } => unreachable!("F6"),
            Rhs::Merge { .. } | Rhs::FbyBack { .. } | Rhs::Post { .. } => unreachable!("F6"),
        };
        flat.equations[id].rhs = rhs;
    }
    checked("begin_with", || verify(&flat));
    flat
}

/// A variable with that value in every cycle in which the given one is present: `if true then value else given`.
fn in_place_of(flat: &mut Flat, given: Var, value: Constant, span: Span) -> Var {
    let ty = value.ty.clone();
    let mut define = |ty: Type, rhs: Rhs| {
        let lhs = flat.vars.push(VarData { name: None, ty, span, asserts: None, cases: None });
        flat.equations.push(Equation { lhs, rhs, span });
        lhs
    };
    let (truth, value) = (flat.consts.push(Value::Bool(true).into()), flat.consts.push(value));
    let cond = define(Type::scalar(DType::Bool), Rhs::Const(truth));
    let then = define(ty.clone(), Rhs::Const(value));
    define(ty, Rhs::If { cond, then, other: given })
}
