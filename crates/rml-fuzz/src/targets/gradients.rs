//! Gradients of random programs against central differences, in double precision.

use rml_testkit::Random;
use rml_testkit::gradients::{Outcome, Program, outcome_of};

use super::{Target, nothing_smaller};
use crate::{Case, Corpus};

pub(super) const TARGET: Target = Target {
    name: "gradients",
    about: "gradients of random programs in all inputs and parameters agree with finite differences",
    chunk: 300,
    generate,
    check,
    smaller: nothing_smaller,
};

fn generate(r: &mut Random, _: &Corpus) -> Case {
    let text = Program::random(r).text();
    let seed = r.below(1_000_000).to_string();
    Case::with_settings("rml", "--", &[("seed", seed)], &text)
}

fn check(case: &Case) -> Result<(), String> {
    let (settings, text) = case.settings("--");
    let seed = settings.get("seed").and_then(|s| s.parse().ok()).unwrap_or(1);
    match outcome_of(&text, seed) {
        Outcome::Wrong(why) => Err(why),
        Outcome::Agrees | Outcome::NotProductive | Outcome::Kink => Ok(()),
    }
}
