//! Inputs with large numbers that meet parameters, or that are compared with the results of a network.

use indexmap::IndexSet;
use rml_base::Diagnostic;
use rml_base::codes::analysis::LEARNING_RATE;
use rml_data::Windows;
use rml_driver::Program;
use rml_ir::flat::{Equation, Rhs, Var};
use rml_ir::op::Op;

use super::options::BestBy;
use super::targets::moved;
use crate::runner::Metrics;

/// The root mean square from which the numbers of an input count as large. Those of images, from 0 to 255, do.
const LARGE: f64 = 50.0;

/// The root mean square from which inputs are named if a loss explodes.
const RAW: f64 = 3.0;

/// The average loss that is too large for data with numbers around 1. For larger numbers the limit is higher, since a
/// usual loss grows with their square.
const EXPLODED: f64 = 1e6;

/// If the loss of the first epoch is this many times that of its first batch, updates overshoot.
const OVERSHOT: f64 = 10.0;

/// Warns about the inputs with large numbers that a layer reads unscaled: gradients and the results of the layer grow
/// with them.
pub(super) fn findings(program: &Program, windows: &Windows) -> Vec<Diagnostic> {
    let flat = program.flat();
    let parameters = flat.states.values().filter(|state| state.parameter);
    let parameters = moved(flat, parameters.map(|state| flat.equations[state.equation].lhs));
    let finding = |input: &rml_ir::flat::Input| {
        let name = flat.vars[input.var].name.as_deref().filter(|_| flat.vars[input.var].ty.is_num())?;
        let values = moved(flat, [input.var]);
        let at = flat.equations.iter().find(|e| is_product(e, &values, &parameters))?;
        let scale = windows.scale(name).filter(|scale| *scale >= LARGE)?;
        let size = scale.round();
        Some(
            Diagnostic::warning(
                LEARNING_RATE,
                format!("input `{name}` has numbers around {size}, which a layer takes as they are"),
            )
            .label(at.span, format!("`{name}` meets a parameter"))
            .note("gradients grow with them, so a learning rate that fits numbers around 1 is too large")
            .help(format!("bring them to the mean 0 and the deviation 1: `--standardise {name}`"))
            .help(format!("or scale them in the program, as in `{name} / {size}.0`")),
        )
    };
    flat.inputs.iter().filter_map(finding).collect()
}

/// Warns about a loss that is far larger than the scale of the data explains. The warning names inputs with large
/// numbers, also those that are only compared with the results of the network.
pub(super) fn exploded(windows: &Windows, metrics: &Metrics, within: &str) -> Option<Diagnostic> {
    let is_loss = |(name, _): &(&String, &f64)| BestBy::usual(name) == Some(BestBy::Min);
    let (name, loss) = metrics.iter().filter(is_loss).find(|(_, loss)| **loss > EXPLODED)?;
    let scales = windows.scales();
    let largest = scales.iter().fold(1.0, |most: f64, (_, scale)| most.max(*scale));
    if *loss <= EXPLODED * largest {
        return None;
    }
    let what =
        format!("the average of `{name}` in {within} is {loss:.1e}, far beyond the numbers of the data");
    Some(too_large(what, windows))
}

/// Warns that updates overshoot: the loss of the first epoch is far larger than that of its first batch, which ran
/// before any update.
pub(super) fn overshot(windows: &Windows, first: &Metrics, metrics: &Metrics) -> Option<Diagnostic> {
    let is_loss = |(name, _): &(&String, &f64)| BestBy::usual(name) == Some(BestBy::Min);
    let grown = |(name, loss): (&String, &f64)| {
        let before = first.get(name).filter(|before| **before > 0.0)?;
        (*loss > OVERSHOT * before).then(|| (name.clone(), *loss, *before))
    };
    let (name, loss, before) = metrics.iter().filter(is_loss).find_map(grown)?;
    let what =
        format!("`{name}` is {before:.2} in the first batch, and {loss:.2} on average in the first epoch");
    Some(too_large(what, windows).note("updates overshoot: a network may not recover from that"))
}

/// A warning about a loss that is too large, with the inputs whose numbers are large.
fn too_large(what: String, windows: &Windows) -> Diagnostic {
    let scales = windows.scales();
    let large: Vec<_> = scales.iter().filter(|(_, scale)| *scale > RAW).collect();
    let d = Diagnostic::warning(LEARNING_RATE, what);
    let d = large.iter().fold(d, |d, (input, scale)| {
        d.note(format!("input `{input}` has numbers around {}, as the data has them", scale.round()))
    });
    let flags: Vec<String> = large.iter().map(|(input, _)| format!("--standardise {input}")).collect();
    match flags.is_empty() {
        true => d.help("lower the learning rate where the gradient enters"),
        false => d
            .help(format!("bring them to the mean 0 and the deviation 1: `{}`", flags.join(" ")))
            .help("or lower the learning rate where the gradient enters"),
    }
}

/// Whether an equation is a product of one of these values with one of these parameters.
fn is_product(e: &Equation, values: &IndexSet<Var>, parameters: &IndexSet<Var>) -> bool {
    match &e.rhs {
        Rhs::Apply { op: Op::MatMul | Op::Conv(_), args } => {
            args.iter().any(|v| values.contains(v)) && args.iter().any(|v| parameters.contains(v))
        }
        _ => false,
    }
}
