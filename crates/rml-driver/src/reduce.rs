//! A program with another interface: without some of its inputs, with inputs as they are in the data, or with the ends
//! of its windows among the outputs.

use std::sync::Arc;

use rml_ir::flat::Drawn;
use rml_ir::pass::InputSteps;
use rml_ir::{InputInfo, OutputInfo, pass};

use crate::program::Program;

/// Drops the inputs that `keep` refuses, and the outputs that depend on them.
pub fn keep_inputs(program: &Program, keep: impl Fn(&str) -> bool) -> Program {
    let dropped: Vec<bool> = program.inputs.iter().map(|i| !keep(&i.name)).collect();
    if !dropped.contains(&true) {
        return program.clone();
    }
    let (flat, kept) = pass::drop_inputs(Drawn::clone(&program.flat), &dropped);
    let inputs = program.inputs.iter().zip(&dropped).filter(|(_, d)| !**d).map(|(i, _)| i.clone());
    let outputs = program.outputs.iter().zip(&kept).filter(|(_, k)| **k).map(|(o, _)| o.clone());
    let place = |at: usize| kept[at].then(|| kept[..at].iter().filter(|k| **k).count());
    let gradients = program.gradients.iter().filter_map(|(key, at)| Some((Arc::clone(key), place(*at)?)));
    let probes = program.probes.iter().filter_map(|(name, at)| Some((Arc::clone(name), place(*at)?)));
    Program {
        gradients: gradients.collect(),
        probes: probes.collect(),
        learned: Arc::clone(&program.learned),
        bounded: Arc::clone(&program.bounded),
        rates: Arc::clone(&program.rates),
        calls: Arc::clone(&program.calls),
        inputs: inputs.collect(),
        outputs: outputs.collect(),
        sources: Arc::clone(&program.sources),
        warnings: program.warnings.clone(),
        flat: Arc::new(flat),
    }
}

/// The program that first does these steps with its inputs. They must fit ([`InputSteps::misfit`]).
pub fn prepare_inputs<'s>(program: &Program, steps: impl Fn(&InputInfo) -> InputSteps<'s>) -> Program {
    let steps: Vec<InputSteps<'s>> = program.inputs.iter().map(steps).collect();
    let flat = pass::prepare_inputs(Drawn::clone(&program.flat), &steps);
    Program { flat: Arc::new(flat), ..program.clone() }
}

/// The program with the ends of its outermost windows as additional outputs, and the indices of these outputs.
pub fn show_ends(program: &Program) -> (Program, Vec<usize>) {
    let (flat, places) = pass::show_ends(Drawn::clone(&program.flat));
    let more = flat.outputs[program.outputs.len()..].iter();
    let more = more.map(|v| OutputInfo {
        name: flat.vars[*v].name.clone().unwrap_or_else(|| v.to_string().into()),
        ty: flat.vars[*v].ty.clone(),
    });
    let outputs = program.outputs.iter().cloned().chain(more).collect();
    (Program { outputs, flat: Arc::new(flat), ..program.clone() }, places)
}
