//! The targets: each makes inputs and checks a property of them.

use rml_testkit::Lcg;

use crate::{Corpus, FuzzInput};

mod adjoints;
mod arrow;
mod bytes;
mod calls;
mod cells;
mod checkpoints;
mod data;
mod engines;
mod format;
mod front;
mod gradients;
mod models;
mod naive;
mod operators;
mod passes;
mod plans;
mod programs;
mod streams;
mod structure;
mod verdicts;
mod weights;

/// A kind of inputs with a check.
#[derive(Debug)]
pub struct Target {
    /// The name of the target and of its folders.
    pub name: &'static str,
    /// A description for users.
    pub about: &'static str,
    /// The number of cases that a worker runs before it is the turn of other targets.
    pub chunk: u64,
    /// Makes a random input.
    pub generate: fn(&mut Lcg, &Corpus) -> FuzzInput,
    /// Checks an input; the error text states the failure. A panic is a failure too.
    pub check: fn(&FuzzInput) -> Result<(), String>,
    /// Smaller inputs to try. Lines, words and bytes are removed for all targets.
    pub smaller: fn(&FuzzInput) -> Vec<FuzzInput>,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    front::TARGET,
    format::TARGET,
    data::TARGET,
    arrow::TARGET,
    checkpoints::TARGET,
    weights::TARGET,
    models::TARGET,
    streams::TARGET,
    operators::TARGET,
    engines::TARGET,
    passes::TARGET,
    plans::TARGET,
    programs::TARGET,
    structure::TARGET,
    verdicts::TARGET,
    gradients::TARGET,
    adjoints::TARGET,
];

fn nothing_smaller(_: &FuzzInput) -> Vec<FuzzInput> {
    Vec::new()
}
