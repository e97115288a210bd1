//! Compares gradients of random programs with central differences, in double precision.

use rml_testkit::gradients::{Comparison, outcome_of};

use super::{Target, nothing_smaller, programs};
use crate::FuzzInput;

pub(super) const TARGET: Target = Target {
    name: "gradients",
    about: "gradients of random programs in all inputs and parameters agree with finite differences",
    chunk: 300,
    generate: programs::generate,
    check,
    smaller: nothing_smaller,
};

fn check(case: &FuzzInput) -> Result<(), String> {
    let (settings, text) = case.settings("--");
    let seed = settings.get("seed").and_then(|s| s.parse().ok()).unwrap_or(1);
    match outcome_of(&text, seed) {
        Comparison::Wrong(why) => Err(why),
        Comparison::Agrees | Comparison::NotProductive | Comparison::Kink => Ok(()),
    }
}
