//! Runs texts through the front end and all later stages: each is accepted as a program, or refused with findings whose
//! spans are within the text.

use rml::{Options, Program, Source, Stage, StaticValue};
use rml_testkit::Lcg;
use rml_testkit::damage::damaged;
use rml_testkit::gradients::LossProgram as Made;

use super::{Target, cells, nothing_smaller};
use crate::{Corpus, FuzzInput};

pub(super) const TARGET: Target = Target {
    name: "front",
    about: "damaged programs through every stage, and those that are still programs through every engine",
    chunk: 60,
    generate,
    check,
    smaller: nothing_smaller,
};

/// The largest programs that are run, by the total number of elements of their variables.
const ELEMENTS: usize = 4_000;

/// The maximum number of nodes of a text whose analyses are read.
const NODES: usize = 4;

const STAGES: [Stage; 7] =
    [Stage::Parse, Stage::Elab, Stage::Normalize, Stage::Diff, Stage::Inline, Stage::Draw, Stage::Analyse];

fn generate(r: &mut Lcg, corpus: &Corpus) -> FuzzInput {
    FuzzInput::text("rml", text(r, corpus, TARGET.name))
}

/// The text of a program; most texts are damaged.
pub(super) fn text(r: &mut Lcg, corpus: &Corpus, target: &str) -> String {
    let donor = r.pick(&corpus.programs).clone();
    let kept = corpus.of(target);
    let text = match r.below(8) {
        0 => Made::random(r).text(),
        1 if !kept.is_empty() => r.pick(kept).as_text(),
        _ => r.pick(&corpus.programs).clone(),
    };
    if r.chance(0.05) { text } else { damaged(&text, &donor, r) }
}

fn check(case: &FuzzInput) -> Result<(), String> {
    let text = case.as_text();
    let source = Source::text("mutant", text.clone());
    let sizes = ["n", "d", "units", "classes", "batch"];
    let defaults = sizes.into_iter().map(|name| (name.to_owned(), StaticValue::Int(3))).collect();
    let options = Options { defaults, ..Options::default() };
    let report = rml::check_report(&source, &options);
    for d in report.findings.iter() {
        for label in &d.labels {
            let file = report.sources.text(label.span.file);
            if file.get(label.span.range()).is_none() {
                return Err(format!("{}: {:?} is no part of its text", d.code.name, label.span));
            }
        }
        if d.message.is_empty() {
            return Err(format!("{}: no message", d.code.name));
        }
    }
    for analysis in report.analyses.iter().take(NODES) {
        let _ = (analysis.types(true), analysis.run.as_ref().map(rml::RunFacts::facts));
    }
    let options = Options { node: report.analyses.last().map(|a| a.node().to_owned()), ..options };
    // Each of these steps begins with the text, so one step is enough; the choice depends on the length of the text.
    match STAGES.get(text.len() % (STAGES.len() + 1)) {
        Some(stage) => drop(rml::dump(&source, &options, *stage)),
        None => drop(options.node.as_ref().map(|node| rml::differentiate(&source, &options, node))),
    }
    match rml::compile(&source, &options) {
        Ok(program) => runs(&program),
        Err(_) => Ok(()),
    }
}

/// Runs a few cycles on every engine.
fn runs(program: &Program) -> Result<(), String> {
    let elements = program.flat().vars.iter().map(|v| v.ty.shape.len()).fold(0, usize::saturating_add);
    if elements > ELEMENTS {
        return Ok(());
    }
    let inputs = cells::inputs(program.flat(), &mut Lcg(elements as u64), 3);
    rml_testkit::flat::run(program.flat(), &inputs, true);
    Ok(())
}
