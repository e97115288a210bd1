//! A training whose first epoch changes no parameter.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Fnv};
use rml_driver::Program;
use rml_ir::{Data, Value};

/// The parameters that have a gradient, as they were at the start.
pub(super) struct Still {
    keys: Vec<Arc<str>>,
    before: String,
}

impl Still {
    /// Watches the parameters that have a gradient, if there are any.
    pub(super) fn new(program: &Program, states: &IndexMap<Arc<str>, Value>) -> Option<Self> {
        let learned = |key: &&Arc<str>| program.learned().contains(&***key);
        let keys: Vec<Arc<str>> = program.flat().states.keys().filter(learned).cloned().collect();
        let before = hash(&keys, states);
        (!keys.is_empty()).then_some(Self { keys, before })
    }

    /// The finding after the first epoch, if they are the same then.
    pub(super) fn finding(&self, states: &IndexMap<Arc<str>, Value>) -> Option<Diagnostic> {
        if hash(&self.keys, states) != self.before {
            return None;
        }
        let zero = self.keys.iter().all(|key| states.get(key).is_some_and(is_zero));
        let d = Diagnostic::warning(codes::ZERO_GRADIENT, "no parameter has changed in the first epoch")
            .note("every gradient that reached a parameter was 0, or too small to change it");
        Some(if zero {
            d.note("all parameters are 0, and where they are multiplied by each other, as by two layers, their gradients are 0 as well")
                .help("begin with numbers that differ: `param(glorot_uniform([..]))` in place of `param(zeros([..]))`")
        } else {
            d.help("look at where the gradient gets lost: `rml trace` shows every value, and `--stats` the norms of gradients")
        })
    }
}

/// Whether all elements are 0.
fn is_zero(value: &Value) -> bool {
    match value.to_data() {
        Data::F32(v) => v.iter().all(|x| *x == 0.0),
        Data::F64(v) => v.iter().all(|x| *x == 0.0),
        Data::Bool(_) | Data::Int(_) => false,
    }
}

/// A hash of the elements of those states.
fn hash(keys: &[Arc<str>], states: &IndexMap<Arc<str>, Value>) -> String {
    let mut hash = Fnv::default();
    for value in keys.iter().filter_map(|key| states.get(key)) {
        match value.to_data() {
            Data::F32(v) => v.iter().for_each(|x| hash.bytes(x.to_le_bytes())),
            Data::F64(v) => v.iter().for_each(|x| hash.bytes(x.to_le_bytes())),
            Data::Bool(_) | Data::Int(_) => {}
        }
    }
    hash.hex()
}
