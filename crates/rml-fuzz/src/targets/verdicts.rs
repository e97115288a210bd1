//! Compares the results of the analysis of random flat programs with runs.

use rml_testkit::Lcg;
use rml_testkit::flat::random;
use rml_testkit::verdicts::{Judged, check_waits, judge, runs_well};

use super::{Target, engines};
use crate::{Corpus, FuzzInput};

pub(super) const TARGET: Target = Target {
    name: "verdicts",
    about: "clocks that are proved never err, those that are rejected do, every cell is known when it is said to be, no more memory is held than stated",
    chunk: 800,
    generate,
    check,
    smaller: engines::smaller,
};

const CYCLES: usize = 14;

fn generate(r: &mut Lcg, _: &Corpus) -> FuzzInput {
    let wild = r.chance(0.3);
    let size = if wild { 14 } else { 28 };
    let (flat, _) = random::program(&r.take(200), size, wild);
    let cycles = if wild { 0 } else { CYCLES };
    // Inputs are present in every cycle of their clocks. Waits are checked only for programs that respect their clocks;
    // wild programs get a trace without cycles.
    let inputs = super::cells::inputs(&flat, r, cycles);
    engines::case(&flat, &inputs, true)
}

fn check(case: &FuzzInput) -> Result<(), String> {
    let Some((flat, inputs, _)) = engines::read(case) else { return Ok(()) };
    if !inputs.is_empty() {
        check_waits(&flat, &inputs)?;
    }
    let mut r = Lcg(inputs.len() as u64);
    if judge(&flat, &mut r)? == Judged::Rejected(false) && runs_well(&flat, &mut r) {
        return Err(format!("rejected, but no run errs\n{}", rml_ir::flat::print(&flat)));
    }
    Ok(())
}
