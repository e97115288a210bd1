//! Random flat programs by plan, compared with the simulator.

use rml_ir::random::path_hash;
use rml_testkit::Lcg;
use rml_testkit::flat::random::program;
use rml_testkit::plans::compare;
use rml_testkit::verdicts::overflowing;

use super::{Target, engines};
use crate::{Corpus, FuzzInput};

pub(super) const TARGET: Target = Target {
    name: "plans",
    about: "random flat programs: plans are read back from their text, compute what the simulator does in every window, and fail where it does",
    chunk: 300,
    generate,
    check,
    smaller: engines::smaller,
};

const CYCLES: usize = 14;

fn generate(r: &mut Lcg, _: &Corpus) -> FuzzInput {
    let (flat, _) = program(&r.take(220), 24, false);
    let mut inputs = super::cells::inputs(&flat, r, CYCLES);
    if r.chance(0.3) {
        inputs = overflowing(inputs, r);
    }
    engines::case(&flat, &inputs, true)
}

fn check(case: &FuzzInput) -> Result<(), String> {
    let Some((flat, inputs, _)) = engines::read(case) else { return Ok(()) };
    let mut r = Lcg(path_hash(&case.as_text()));
    // The first difference comes first, and the program after it.
    compare(&flat, &inputs, &mut r).map(|_| ()).map_err(|found| found.replacen(": ", "\n", 1))
}
