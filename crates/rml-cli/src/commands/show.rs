//! `rml diff` and `rml dump`: programs as text.

use rml::Stage;

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
    match args.after {
        args::Stage::Parse => {
            let [set, batch, f64] = super::given(&args.program);
            let flags = [("node", args.node.is_some()), set, batch, f64, ("seed", args.seed.is_some())];
            super::refuse_unused("the syntax tree is that of the whole text", &flags)?;
        }
        args::Stage::Draw
        | args::Stage::Analyse
        | args::Stage::Plan
        | args::Stage::Nests
        | args::Stage::Fused => {}
        args::Stage::Elab
        | args::Stage::Normalize
        | args::Stage::Diff
        | args::Stage::Inline
        | args::Stage::Settle
        | args::Stage::Fold
        | args::Stage::Cone
        | args::Stage::Cut => {
            let why = "random initial values are drawn after this stage";
            super::refuse_unused(why, &[("seed", args.seed.is_some())])?;
        }
    }
    let (source, mut options) = super::program(&args.program)?;
    options.node.clone_from(&args.node);
    options.seed = args.seed.unwrap_or_default();
    let stage = match args.after {
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
    };
    output.exact(&ended(rml::dump(&source, &options, stage)?))
}

/// The text with a newline at its end.
fn ended(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
