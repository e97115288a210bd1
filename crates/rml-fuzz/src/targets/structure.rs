//! Programs with structure, compared with equivalent plain programs in the same file: both compile, and compute the
//! same values, gradients and parameters.

use std::sync::Arc;

use rml::{Options, Precision, Source};
use rml_ir::flat::Drawn;
use rml_sim::{InputCell, Options as SimOptions, Simulator, Status};
use rml_testkit::{Lcg, structured};

use super::{Target, cells, nothing_smaller};
use crate::{Corpus, FuzzInput};

pub(super) const TARGET: Target = Target {
    name: "structure",
    about: "programs with families, nodes as arguments, cases, records, restarts and assertions mean what is written out beside them",
    chunk: 60,
    generate,
    check,
    smaller: nothing_smaller,
};

/// The separator between the two programs of a case.
const BETWEEN: &str = "\n-- the same without structure\n";

fn generate(r: &mut Lcg, _: &Corpus) -> FuzzInput {
    let (structured, plain) = structured::programs(r);
    let seed = r.below(1_000_000).to_string();
    FuzzInput::with_settings("rml", "--", &[("seed", seed)], &(structured + BETWEEN + &plain))
}

fn check(case: &FuzzInput) -> Result<(), String> {
    let (settings, text) = case.settings("--");
    let Some((structured, plain)) = text.split_once(BETWEEN) else { return Ok(()) };
    let seed = settings.get("seed").and_then(|s| s.parse().ok()).unwrap_or(1);
    let options =
        Options { precision: Precision::F64, node: Some("caller".to_owned()), ..Options::default() };
    let compiled = |text: &str| rml::compile(&Source::text("program", text), &options);
    let Ok(written) = compiled(plain) else { return Ok(()) };
    let made = compiled(structured).map_err(|e| format!("refused with structure: {e}"))?;
    let mut r = Lcg(seed);
    let cycles = 1 + r.below(6);
    let inputs = cells::inputs(written.flat(), &mut r, cycles);
    match (outputs(written.flat(), &inputs), outputs(made.flat(), &inputs)) {
        (None, _) => Ok(()),
        (Some(_), None) => Err("with structure, it does not run".to_owned()),
        (Some(a), Some(b)) if a.len() == b.len() && a.iter().zip(&b).all(near) => Ok(()),
        (Some(a), Some(b)) => Err(format!("with structure, it computes {b:?}, not {a:?}")),
    }
}

/// The numbers of a run; `None` if it fails.
fn outputs(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>]) -> Option<Vec<Option<f64>>> {
    let mut sim = Simulator::new(Arc::clone(flat), SimOptions::default());
    inputs.iter().try_for_each(|row| sim.feed(row)).and_then(|()| sim.finish(true)).ok()?;
    let rows = std::iter::from_fn(|| sim.next_output());
    let number = |status: &Status| match status {
        Status::Value(value) => value.as_num(),
        Status::Absent | Status::Bottom | Status::Unknown | Status::Error => None,
    };
    Some(rows.flat_map(|row| row.values.iter().map(number).collect::<Vec<_>>()).collect())
}

fn near((a, b): (&Option<f64>, &Option<f64>)) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-9 * (1.0 + a.abs()),
        _ => a == b,
    }
}
