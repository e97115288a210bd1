//! A program without some of its inputs: the outputs that need them are gone, the others are as before.

use std::sync::Arc;

use rml_base::{EntityId, IndexVec};
use rml_ir::flat::{ConstKind, Constant, Equation, Flat, Rhs, Var, VarData};
use rml_ir::op::Op;
use rml_ir::{Type, Value, pass};

use crate::program::Program;

/// Drops the inputs that `keep` refuses, and the outputs that depend on them.
pub fn keep_inputs(program: &Program, keep: impl Fn(&str) -> bool) -> Program {
    let dropped: Vec<bool> = program.inputs.iter().map(|i| !keep(&i.name)).collect();
    if !dropped.contains(&true) {
        return program.clone();
    }
    let mut flat = Flat::clone(&program.flat);
    let gone: Vec<Var> = flat.inputs.iter().zip(&dropped).filter(|(_, d)| **d).map(|(i, _)| i.var).collect();
    let tainted = reach(&flat, &gone);
    let outputs: Vec<bool> = flat.outputs.iter().map(|v| !tainted[*v]).collect();
    let mut kept = dropped.iter().map(|d| !d);
    flat.inputs.retain(|_| kept.next().unwrap_or(true));
    let mut kept = outputs.iter().copied();
    flat.outputs.retain(|_| kept.next().unwrap_or(true));
    for var in gone {
        // Nothing that is kept reads it; zeros there keep the program well formed.
        let (ty, span) = (flat.vars[var].ty.clone(), flat.vars[var].span);
        let scalar = Type::scalar(ty.dtype);
        let kind = ConstKind::Value(Value::zeros(&scalar, flat.precision));
        let id = flat.consts.push(Constant { kind, ty: scalar.clone(), text: None });
        let zero = flat.vars.push(VarData { name: None, ty: scalar, span });
        flat.equations.push(Equation { lhs: zero, rhs: Rhs::Const(id), span });
        let op = Op::Broadcast { shape: ty.shape };
        flat.equations.push(Equation { lhs: var, rhs: Rhs::Apply { op, args: vec![zero] }, span });
    }
    let infos = program.inputs.iter().zip(&dropped).filter(|(_, d)| !**d).map(|(i, _)| i.clone());
    let output_infos = program.outputs.iter().zip(&outputs).filter(|(_, k)| **k).map(|(o, _)| o.clone());
    Program {
        inputs: infos.collect(),
        outputs: output_infos.collect(),
        sources: Arc::clone(&program.sources),
        warnings: program.warnings.clone(),
        flat: Arc::new(if flat.outputs.is_empty() { flat } else { pass::cone(flat) }),
    }
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
