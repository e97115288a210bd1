//! Makes a program that generalises every run of another one: values that differ from run to run become streams that
//! are present in the same cycles and never known.
//!
//! A stream that waits for its own future, `u = post u` or `u = x fby back u`, is never known before a trace ends. It
//! is tied to the clock of `u`, and of `x`, as what it stands for was.

use crate::flat::{Drawn, Eq, Equation, Flat, Init, Rhs, Var, VarData};
use crate::op::Op;
use crate::value::Value;

/// Forgets the values of random constants and of parameters. A parameter that is updated becomes an output, so that
/// what updates it stays needed.
///
/// Requires: `flat::verify`. Ensures: variables and equations keep their ids, new ones stand after them; on an open
/// trace everything that is known about a variable applies to every seed and all values of the parameters.
pub fn forget_values(mut flat: Flat) -> Drawn {
    let parameters: Vec<Eq> =
        flat.states.values().filter(|state| state.parameter).map(|state| state.equation).collect();
    flat.states.retain(|_, state| !state.parameter);
    for eq in parameters {
        forget_parameter(&mut flat, eq);
    }
    for eq in flat.equations.ids().collect::<Vec<_>>() {
        forget_draw(&mut flat, eq);
    }
    flat.random_keys.clear();
    for constant in flat.consts.iter_mut().filter(|constant| constant.value().is_none()) {
        // Nothing uses it any more.
        *constant = Value::Bool(false).into();
    }
    Drawn::made("forget_values", flat)
}

/// Forgets the values of all inputs. Those `given` are present in every cycle, those with a declared clock where it
/// says so; of the others nothing is known.
///
/// Ensures: there are no inputs, variables and equations keep their ids; on an open trace in which what is returned is
/// asked for beside what nothing drives in the given program, everything that is known about a variable applies to all
/// inputs.
pub fn forget_inputs(flat: Drawn, given: &[Var]) -> (Drawn, Vec<Var>) {
    let mut flat = flat.into_inner();
    let mut asked = Vec::new();
    for input in std::mem::take(&mut flat.inputs) {
        let data = flat.vars[input.var].clone();
        let span = data.span;
        let unknown = match input.clock {
            None => Rhs::Post { next: input.var, window: None },
            Some((cond, positive)) => {
                let cond = if positive { cond } else { negated(&mut flat, cond) };
                let value = endless(&mut flat, data);
                Rhs::When { value, cond }
            }
        };
        flat.equations.push(Equation { lhs: input.var, rhs: unknown, span });
        if input.clock.is_none() && given.contains(&input.var) {
            asked.push(input.var);
        }
    }
    (Drawn::made("forget_inputs", flat), asked)
}

/// Makes a parameter unknown, on the clock that ties its initial value, and its next one, to it.
fn forget_parameter(flat: &mut Flat, eq: Eq) {
    let Equation { lhs, rhs, span } = flat.equations[eq].clone();
    let with = match rhs {
        Rhs::Param { init } => init,
        Rhs::Fby { init: Init::Stream(init), next, .. } => {
            let both = flat.vars.push(VarData { name: None, ..flat.vars[lhs].clone() });
            let rhs = Rhs::FbyBack { init: Init::Stream(init), next, window: None };
            flat.equations.push(Equation { lhs: both, rhs, span });
            both
        }
        Rhs::Fby { next, .. } => next,
        // No other equation holds a state (F6).
        _ => return,
    };
    flat.equations[eq].rhs = Rhs::FbyBack { init: Init::Stream(with), next: lhs, window: None };
    if !flat.outputs.contains(&lhs) {
        flat.outputs.push(lhs);
    }
}

/// Makes a constant unknown that is random or computed.
fn forget_draw(flat: &mut Flat, eq: Eq) {
    let lhs = flat.equations[eq].lhs;
    if flat.equations[eq].rhs.constant().is_none_or(|k| flat.consts[k].value().is_some()) {
        return;
    }
    let unknown = match &flat.equations[eq].rhs {
        Rhs::Const(_) => lhs,
        _ => endless(flat, VarData { name: None, ..flat.vars[lhs].clone() }),
    };
    match &mut flat.equations[eq].rhs {
        Rhs::Fby { init, .. } | Rhs::FbyBack { init, .. } => *init = Init::Stream(unknown),
        rhs => *rhs = Rhs::Post { next: unknown, window: None },
    }
}

/// A new stream that is never known.
fn endless(flat: &mut Flat, data: VarData) -> Var {
    let span = data.span;
    let unknown = flat.vars.push(VarData { name: None, ..data });
    flat.equations.push(Equation { lhs: unknown, rhs: Rhs::Post { next: unknown, window: None }, span });
    unknown
}

/// A new variable that is the negation of a condition.
fn negated(flat: &mut Flat, cond: Var) -> Var {
    let data = VarData { name: None, ..flat.vars[cond].clone() };
    let span = data.span;
    let result = flat.vars.push(data);
    let rhs = Rhs::Apply { op: Op::Not, args: vec![cond] };
    flat.equations.push(Equation { lhs: result, rhs, span });
    result
}
