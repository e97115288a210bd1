//! What is tried: how inputs are made, and what must hold for each.

use rml_testkit::Random;

use crate::{Case, Corpus};

mod adjoints;
mod bytes;
mod calls;
mod cells;
mod checkpoints;
mod data;
mod engines;
mod format;
mod front;
mod gradients;
mod naive;
mod operators;
mod passes;
mod plans;
mod programs;
mod streams;
mod structure;
mod verdicts;
mod weights;

/// Something that is tried on many inputs.
#[derive(Debug)]
pub struct Target {
    /// Its name, also that of its folders.
    pub name: &'static str,
    /// What it is about, for people.
    pub about: &'static str,
    /// How many cases a worker runs before other targets have their turn.
    pub chunk: u64,
    /// A random input.
    pub generate: fn(&mut Random, &Corpus) -> Case,
    /// Whether all is as it must be; what is not, otherwise. It may panic, too.
    pub check: fn(&Case) -> Result<(), String>,
    /// Smaller inputs that are worth a try; lines, words and bytes are left out in any case.
    pub smaller: fn(&Case) -> Vec<Case>,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    front::TARGET,
    format::TARGET,
    data::TARGET,
    checkpoints::TARGET,
    weights::TARGET,
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

fn nothing_smaller(_: &Case) -> Vec<Case> {
    Vec::new()
}
