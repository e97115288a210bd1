//! A program without some of its inputs: the outputs that need them are gone, the others are as before.

use std::sync::Arc;

use rml_ir::flat::Drawn;
use rml_ir::pass;

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
    Program {
        inputs: inputs.collect(),
        outputs: outputs.collect(),
        sources: Arc::clone(&program.sources),
        warnings: program.warnings.clone(),
        flat: Arc::new(flat),
    }
}
