//! `rml diff` and `rml dump`: programs as text.

use rml::{Checkpoint, Stage};

use crate::args::{self, Diff, Dump};
use crate::output::{Output, Stop};

/// Prints the adjoint of a node as source.
pub(crate) fn diff(args: &Diff, output: &mut Output) -> Result<(), Stop> {
    let (source, options) = super::program(&args.program)?;
    let text = rml::differentiate(&source, &options, &args.node)?;
    output.exact(&ended(text))
}

/// Prints the program after a stage.
pub(crate) fn dump(args: &Dump, output: &mut Output) -> Result<(), Stop> {
    refuse_unused(args)?;
    let (source, mut options) = super::program(&args.program)?;
    options.node.clone_from(&args.node);
    options.seed = args.seed.unwrap_or_default();
    let stage = stage(args.after);
    let text = match &args.params {
        Some(file) => {
            let checkpoint = Checkpoint::read(file)?;
            let program = checkpoint.compile(&source, &options)?;
            output.report(program.warnings(), program.sources());
            checkpoint.dump(&source, &options, stage)?
        }
        None => rml::dump(&source, &options, stage)?,
    };
    output.exact(&ended(text))
}

/// Refuses flags on which the stage does not depend.
fn refuse_unused(args: &Dump) -> Result<(), Stop> {
    let (params, seed) = (("params", args.params.is_some()), ("seed", args.seed.is_some()));
    match args.after {
        args::Stage::Parse => {
            let [set, batch, f64] = super::given(&args.program);
            let flags = [("node", args.node.is_some()), set, batch, f64, params, seed];
            super::refuse_unused("the syntax tree is that of the whole text", &flags)
        }
        args::Stage::Elab | args::Stage::Normalize | args::Stage::Diff => {
            super::refuse_unused("the initial values of states are known from `inline` on", &[params, seed])
        }
        args::Stage::Inline | args::Stage::Settle | args::Stage::Fold | args::Stage::Cone => {
            super::refuse_unused("random initial values are drawn after this stage", &[seed])
        }
        args::Stage::Draw
        | args::Stage::Analyse
        | args::Stage::Plan
        | args::Stage::Nests
        | args::Stage::Fused => Ok(()),
        args::Stage::Cut => {
            super::refuse_unused("both parts are shown without their initial values", &[params, seed])
        }
    }
}

/// The stage that a flag names.
fn stage(after: args::Stage) -> Stage {
    match after {
        args::Stage::Parse => Stage::Parse,
        args::Stage::Elab => Stage::Elab,
        args::Stage::Normalize => Stage::Normalize,
        args::Stage::Diff => Stage::Diff,
        args::Stage::Inline => Stage::Inline,
        args::Stage::Settle => Stage::Settle,
        args::Stage::Fold => Stage::Fold,
        args::Stage::Cone => Stage::Cone,
        args::Stage::Cut => Stage::Cut,
        args::Stage::Draw => Stage::Draw,
        args::Stage::Analyse => Stage::Analyse,
        args::Stage::Plan => Stage::Plan,
        args::Stage::Nests => Stage::Nests,
        args::Stage::Fused => Stage::Fused,
    }
}

/// The text with a newline at its end.
fn ended(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
