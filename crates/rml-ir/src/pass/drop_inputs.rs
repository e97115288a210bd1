//! Removes some inputs of a program, and the outputs that need them.

use rml_base::{EntityId, IndexVec};

use super::cone;
use crate::flat::{Drawn, Equation, Flat, Rhs, Var, VarData};
use crate::op::Op;
use crate::types::Type;
use crate::value::Value;

/// Drops the inputs of which `dropped` is true, and the outputs and assertions that depend on them. Says about each
/// output whether it is kept.
///
/// Ensures: for every trace, the outputs that are kept are what they were before; states that nothing needs any more
/// are gone, if an output is left.
pub fn drop_inputs(flat: Drawn, dropped: &[bool]) -> (Drawn, Vec<bool>) {
    let mut flat = flat.into_inner();
    let gone: Vec<Var> = flat.inputs.iter().zip(dropped).filter(|(_, d)| **d).map(|(i, _)| i.var).collect();
    let tainted = reach(&flat, &gone);
    let kept: Vec<bool> = flat.outputs.iter().map(|v| !tainted[*v]).collect();
    flat.inputs.retain(|input| !gone.contains(&input.var));
    flat.outputs.retain(|v| !tainted[*v]);
    for var in flat.vars.ids().filter(|v| tainted[*v]) {
        flat.vars[var].asserts = None;
    }
    for var in gone {
        // Nothing that is kept reads it; zeros there keep the program well formed.
        let (ty, span) = (flat.vars[var].ty.clone(), flat.vars[var].span);
        let scalar = Type::scalar(ty.dtype);
        let id = flat.consts.push(Value::zeros(&scalar, flat.precision).into());
        let zero = flat.vars.push(VarData { name: None, ty: scalar, span, asserts: None, cases: None });
        flat.equations.push(Equation { lhs: zero, rhs: Rhs::Const(id), span });
        let op = Op::Broadcast { shape: ty.shape };
        flat.equations.push(Equation { lhs: var, rhs: Rhs::Apply { op, args: vec![zero] }, span });
    }
    let flat = if flat.outputs.is_empty() { flat } else { cone(flat) };
    (Drawn::made("drop_inputs", flat), kept)
}

/// The variables whose values depend on those.
fn reach(flat: &Flat, from: &[Var]) -> IndexVec<Var, bool> {
    let mut reached = IndexVec::filled(false, flat.vars.len());
    for var in from {
        reached[*var] = true;
    }
    loop {
        let before = reached.iter().filter(|r| **r).count();
        for equation in &flat.equations {
            let mut reads = false;
            equation.rhs.for_each_operand(|v| reads |= reached[v]);
            let mut window = equation.rhs.window();
            while let Some(w) = window.filter(|w| w.index() < flat.windows.len()) {
                reads |= reached[flat.windows[w].end];
                window = flat.windows[w].parent;
            }
            if reads {
                reached[equation.lhs] = true;
            }
        }
        if reached.iter().filter(|r| **r).count() == before {
            return reached;
        }
    }
}
