//! Random programs as text, from the front end to every engine.

use std::sync::Arc;

use rml::analysis::Verdict;
use rml::{Options, Precision, Source};
use rml_base::codes;
use rml_ir::flat::{Drawn, Flat};
use rml_sim::oracle::{self, FixedPoint, OracleOptions};
use rml_sim::{InputCell, Options as SimOptions, Simulator};
use rml_testkit::Lcg;
use rml_testkit::flat::{check_passes, run, text};
use rml_testkit::gradients::LossProgram;

use super::{Target, cells, nothing_smaller, operators};
use crate::{Corpus, FuzzInput};

pub(super) const TARGET: Target = Target {
    name: "programs",
    about: "random programs: compiled, folded or with all variables, in every engine, they compute the same",
    chunk: 60,
    generate,
    check,
    smaller: nothing_smaller,
};

/// The text of a random program that has gradients, with a seed for its inputs.
pub(super) fn generate(r: &mut Lcg, _: &Corpus) -> FuzzInput {
    let text = LossProgram::random(r).text();
    let seed = r.below(1_000_000).to_string();
    FuzzInput::with_settings("rml", "--", &[("seed", seed)], &text)
}

fn check(case: &FuzzInput) -> Result<(), String> {
    let (settings, _) = case.settings("--");
    let mut r = Lcg(settings.get("seed").and_then(|s| s.parse().ok()).unwrap_or(1));
    let source = Source::text("program", case.as_text());
    let options = Options { precision: Precision::F64, ..Options::default() };
    let Ok(program) = rml::compile(&source, &options) else { return Ok(()) };
    let whole = rml::compile(&source, &Options { all_vars: true, ..options.clone() });
    let whole = whole.map_err(|e| format!("compiles, but not with all variables: {e}"))?;
    let cycles = 1 + r.below(5);
    let inputs = cells::inputs(program.flat(), &mut r, cycles);
    run(program.flat(), &inputs, true);
    let small = fixed_point(program.flat(), &inputs);
    let large = fixed_point(whole.flat(), &rearranged(program.flat(), whole.flat(), &inputs));
    let fine = |t: &FixedPoint| t.failures.is_empty() && t.error_cycles().is_empty();
    let seed = r.below(1000) as u64;
    check_passes(whole.flat(), &rearranged(program.flat(), whole.flat(), &inputs), true, seed)
        .map_err(|found| found.replacen(": ", "\n", 1))?;
    if fine(&small) && fine(&large) {
        operators::definitions(whole.flat(), &large)?;
        let row = |flat: &Flat, trace: &FixedPoint, k: usize| text(&trace.row(flat.outputs[k]));
        for k in 0..program.outputs().len() {
            let (a, b) = (row(program.flat(), &small, k), row(whole.flat(), &large, k));
            if a != b {
                return Err(format!("output {k} is {a}, with all variables {b}"));
            }
        }
    }
    verdict(&source, &options, program.flat(), &inputs)
}

fn fixed_point(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>]) -> FixedPoint {
    oracle::run(flat, inputs, &OracleOptions { closed: true, ..OracleOptions::default() })
}

/// The inputs of one form of a program, in the order of another form.
fn rearranged(from: &Flat, to: &Flat, inputs: &[Vec<InputCell>]) -> Vec<Vec<InputCell>> {
    let name = |flat: &Flat, v| flat.vars[v].name.clone();
    let at: Vec<_> = to
        .inputs
        .iter()
        .map(|i| from.inputs.iter().position(|f| name(from, f.var) == name(to, i.var)))
        .collect();
    inputs
        .iter()
        .map(|row| at.iter().map(|at| at.map_or(InputCell::Absent, |at| row[at].clone())).collect())
        .collect()
}

/// Checks that a program that is proved to be synchronous has no synchronisation error in a run.
fn verdict(
    source: &Source,
    options: &Options,
    flat: &Arc<Drawn>,
    inputs: &[Vec<InputCell>],
) -> Result<(), String> {
    let analysis =
        rml::analyse(source, options).map_err(|e| format!("compiles, but is not analysed: {e}"))?;
    let Some(facts) = &analysis.run else { return Ok(()) };
    let mut sim = Simulator::new(Arc::clone(flat), SimOptions::default());
    let fed = inputs.iter().try_for_each(|row| sim.feed(row)).and_then(|()| sim.finish(true));
    let errs = fed.is_err_and(|d| d.code == codes::sim::SYNC_ERROR);
    match &facts.clocks.verdict {
        Verdict::Synchronous if errs => Err("proved to be synchronous, but errs".to_owned()),
        Verdict::Synchronous | Verdict::Dynamic(_) | Verdict::Rejected(_) => Ok(()),
    }
}
