//! Random flat programs through every pass, compared with the fixed point of the original program.

use rml_ir::random::path_hash;
use rml_testkit::flat::check_passes;

use super::{Target, engines};
use crate::FuzzInput;

pub(super) const TARGET: Target = Target {
    name: "passes",
    about: "random flat programs: each pass alone, and those that commands use together, keep every cell",
    chunk: 300,
    generate: engines::generate,
    check,
    smaller: engines::smaller,
};

fn check(case: &FuzzInput) -> Result<(), String> {
    let Some((flat, inputs, closed)) = engines::read(case) else { return Ok(()) };
    let found = check_passes(&flat, &inputs, closed, path_hash(&case.as_text()));
    // The pass and the different cells come first, and the programs after them.
    found.map_err(|found| found.replacen(": ", "\n", 1))
}
