//! `rml grad` and `rml gradcheck`: gradients of whole traces.

use rml::{CheckOptions, Checkpoint, GradOptions, Windowing};

use super::execute::{inputs, over};
use crate::args::{CheckFormat, Computing, Differentiation, Grad, GradFormat, Gradcheck};
use crate::output::{Output, Stop};

/// Prints the gradient of the sum of an output.
pub(crate) fn grad(args: &Grad, output: &mut Output) -> Result<(), Stop> {
    let (source, compile) = over(&args.of.over)?;
    let checkpoint = args.of.over.params.as_deref().map(Checkpoint::read).transpose()?;
    let (inputs, _) = inputs(&args.of.over, Windowing::default(), &source, checkpoint.as_ref(), output)?;
    let options = options(&args.of, checkpoint, &args.computing)?;
    let found = rml::grad(&source, &compile, &inputs, &options)?;
    output.report(&found.warnings, &found.sources);
    match args.format {
        GradFormat::Json => output.in_pieces(true, |out| {
            found.write_json(out)?;
            out.write_str("\n")
        }),
        GradFormat::Table => output.print(&found.to_table()),
    }
}

/// Compares the gradient of the sum of an output with finite differences.
pub(crate) fn gradcheck(args: &Gradcheck, output: &mut Output) -> Result<(), Stop> {
    let (source, compile) = over(&args.of.over)?;
    let checkpoint = args.of.over.params.as_deref().map(Checkpoint::read).transpose()?;
    let (inputs, _) = inputs(&args.of.over, Windowing::default(), &source, checkpoint.as_ref(), output)?;
    let options = options(&args.of, checkpoint, &args.computing)?;
    let check = CheckOptions { eps: args.eps, tolerance: args.tolerance, samples: args.samples };
    let found = rml::gradcheck(&source, &compile, &inputs, &options, &check)?;
    output.report(&found.warnings, &found.sources);
    match args.format {
        CheckFormat::Json => output.print_json(&found.to_json()),
        CheckFormat::Table => output.print(&found.to_table()),
    }?;
    if found.ok() { Ok(()) } else { Err(Stop::Reported) }
}

fn options(
    args: &Differentiation,
    checkpoint: Option<Checkpoint>,
    computing: &Computing,
) -> Result<GradOptions, Stop> {
    Ok(GradOptions {
        loss: args.loss.clone(),
        params: checkpoint.map(Into::into),
        cycles: args.over.cycles,
        allow_nan: args.over.allow_nan,
        engine: super::engine(computing)?,
    })
}
