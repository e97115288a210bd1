//! Gradients against finite differences, in double precision.
//!
//! [`LossProgram`] is a random program with one output, `loss`; [`outcome`] compares its gradient, along random
//! directions in the space of all inputs and parameters, with central differences.

mod differences;
mod program;

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::Sources;
use rml_elab::{NoFiles, Options as ElabOptions, Root, elaborate};
use rml_ir::flat::Drawn;
use rml_ir::normal::Module;
use rml_ir::{Precision, Value, pass};
use rml_sim::{InputCell as Given, Options, Simulator, Status};

pub use differences::{Comparison, outcome, outcome_of, shrunk};
pub use program::LossProgram;

/// The precision of all comparisons in this module.
pub const P: Precision = Precision::F64;

/// The values of each input, one entry per cycle.
pub type InputRows = IndexMap<String, Vec<Option<Value>>>;

/// The same nodes as in the embedded prelude.
pub const PRELUDE: &str = "node diff_param(init, bp, do) -> (o)
  o = init fby o1;
  o1 = o + merge bp do 0.0;
";

/// The normal form of a program.
///
/// # Errors
/// The program has errors; the text contains them.
pub fn normal(text: &str, root: Root) -> Result<Module, String> {
    normal_with(text, root, PRELUDE)
}

/// The normal form of a program under another prelude.
///
/// # Errors
/// The program has errors; the text contains them.
pub fn normal_with(text: &str, root: Root, prelude: &'static str) -> Result<Module, String> {
    let mut sources = Sources::new();
    let main = sources.add("test", text);
    let options = ElabOptions { root, precision: P, prelude, ..ElabOptions::default() };
    match elaborate(&mut sources, main, &options, &mut NoFiles) {
        (Some(module), _) => Ok(pass::normalize(&module)),
        (None, found) => Err(found.to_string()),
    }
}

/// The statuses of all variables by name, in a closed trace.
///
/// # Panics
/// An input is missing, or the simulator reports an error.
pub fn run(flat: Drawn, inputs: &InputRows, cycles: usize) -> IndexMap<String, Vec<Status>> {
    let flat = Arc::new(flat);
    let mut sim = Simulator::new(flat.clone(), Options { record: true, ..Options::default() });
    let name = |v| flat.vars[v].name.as_deref().unwrap_or_default().to_owned();
    for n in 0..cycles {
        let row: Vec<Given> = flat
            .inputs
            .iter()
            .map(|i| match inputs.get(&name(i.var)).and_then(|row| row.get(n)) {
                Some(Some(v)) => Given::Given(v.clone()),
                Some(None) => Given::Absent,
                None => panic!("no input {}", name(i.var)),
            })
            .collect();
        sim.feed(&row).unwrap_or_else(|e| panic!("cycle {n}: {e}\n{}", rml_ir::flat::print(&flat)));
    }
    sim.finish(true).unwrap_or_else(|e| panic!("{e}\n{}", rml_ir::flat::print(&flat)));
    let mut table = IndexMap::new();
    for (v, data) in flat.vars.iter_enumerated() {
        let name = data.name.as_deref().map_or_else(|| v.to_string(), str::to_owned);
        let row = (0..cycles).map(|n| sim.status(n as u64, v).unwrap().unwrap_or(Status::Bottom)).collect();
        table.insert(name, row);
    }
    table
}
