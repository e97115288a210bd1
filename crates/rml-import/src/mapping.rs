//! The mapping file: which tensor of the model makes each parameter.

use std::fmt::Write as _;

use indexmap::IndexMap;
use rml_ir::{Data, Value};
use rml_weights::{FileTensor, Stored, TensorFile};

use crate::build::Built;
use crate::program::{Instance, Rhs};

/// The text of the mapping; `names` are those of the variables of each node.
pub(crate) fn text(built: &Built, names: &[Vec<String>], origin: &str) -> String {
    let mut text = format!("# The parameters of the program, made of the tensors of {origin}.\n");
    let root = names.last();
    let word = |var: &crate::program::Var| root.map_or("", |names| names[var.0].as_str()).to_owned();
    let states = built.states.iter().map(|state| (&state.input, &state.var));
    let ports = built.inputs.iter().chain(&built.outputs).map(|(name, var)| (name, var)).chain(states);
    let renamed: Vec<_> = ports.filter(|(name, var)| word(var) != **name).collect();
    if !renamed.is_empty() {
        text.push_str("\n[ports]\n");
    }
    for (name, var) in renamed {
        let _ = writeln!(text, "{:?} = {name:?}", word(var));
    }
    text.push_str("\n[params]\n");
    for Instance { node, path, sources } in built.program.instances(names) {
        for equation in &built.program.nodes[node].equations {
            if let (Rhs::Param { slot, .. }, [var]) = (&equation.rhs, equation.lhs.as_slice()) {
                let source = &built.program.sources[sources[*slot]].text;
                let _ = writeln!(text, "{:?} = {source}", format!("{path}{}", names[node][var.0]));
            }
        }
    }
    text
}

/// The tensors that the mapping reads; `names` are those of the variables of each node.
pub(crate) fn tensors(built: &Built, names: &[Vec<String>], origin: &str) -> TensorFile {
    let mut used = vec![false; built.weights.len()];
    for instance in built.program.instances(names) {
        for equation in &built.program.nodes[instance.node].equations {
            if let Rhs::Param { slot, .. } = equation.rhs {
                used[built.program.sources[instance.sources[slot]].weight] = true;
            }
        }
    }
    let tensors: IndexMap<String, FileTensor> = built
        .weights
        .iter()
        .zip(used)
        .filter_map(|(weight, used)| used.then_some(weight))
        .map(|w| {
            let data = w.value.to_data();
            let tensor =
                FileTensor { stored: stored(w.elem.stored(), &w.value), shape: w.value.shape(), data };
            (w.name.clone(), tensor)
        })
        .collect();
    TensorFile::of(origin, tensors)
}

/// How elements are stored that are held in another precision than the model's.
fn stored(of: Stored, value: &Value) -> Stored {
    match (value.to_data(), of) {
        (Data::F32(_), Stored::F64) => Stored::F32,
        (Data::F64(_), _) => Stored::F64,
        (Data::F32(_), Stored::F16 | Stored::Bf16 | Stored::F32) => of,
        (Data::F32(_), _) => Stored::F32,
        (Data::Bool(_), _) => Stored::Bool,
        (Data::Int(_), Stored::Bool | Stored::F16 | Stored::Bf16 | Stored::F32 | Stored::F64) => Stored::I64,
        (Data::Int(_), of) => of,
    }
}
