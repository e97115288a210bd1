//! Inputs whose numbers are large where they meet parameters, or where they are compared with what the network gives.

use indexmap::IndexSet;
use rml_base::Diagnostic;
use rml_base::codes::analysis::LEARNING_RATE;
use rml_data::Windows;
use rml_driver::Program;
use rml_ir::flat::{Equation, Rhs, Var};
use rml_ir::op::Op;

use super::options::Direction;
use super::targets::moved;
use crate::runner::Metrics;

/// From which root of the mean square on the numbers of an input count as large. Those of images, from 0 to 255, do.
const LARGE: f64 = 50.0;

/// From which mean square root on the numbers of an input are named where a loss explodes.
const RAW: f64 = 3.0;

/// Which average of a loss is too large where the data has numbers around 1. With larger numbers, more is: the square
/// of one is a usual loss.
const EXPLODED: f64 = 1e6;

/// How many times the loss of the first batch that of the first epoch is where updates overshoot.
const OVERSHOT: f64 = 10.0;

/// Warns of the inputs that a layer takes as they are although their numbers are large: a gradient grows with them, and
/// what a layer gives as well.
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

/// Warns of a loss that is far beyond what the scale of the data explains. Inputs with large numbers are named, among
/// them those that are only compared with what the network gives.
pub(super) fn exploded(windows: &Windows, metrics: &Metrics, within: &str) -> Option<Diagnostic> {
    let is_loss = |(name, _): &(&String, &f64)| Direction::usual(name) == Some(Direction::Min);
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

/// Warns of a first epoch whose loss is far beyond that of its first batch, which no update has changed: updates
/// overshoot.
pub(super) fn overshot(windows: &Windows, first: &Metrics, metrics: &Metrics) -> Option<Diagnostic> {
    let is_loss = |(name, _): &(&String, &f64)| Direction::usual(name) == Some(Direction::Min);
    let grown = |(name, loss): (&String, &f64)| {
        let before = first.get(name).filter(|before| **before > 0.0)?;
        (*loss > OVERSHOT * before).then(|| (name.clone(), *loss, *before))
    };
    let (name, loss, before) = metrics.iter().filter(is_loss).find_map(grown)?;
    let what =
        format!("`{name}` is {before:.2} in the first batch, and {loss:.2} on average in the first epoch");
    Some(too_large(what, windows).note("updates overshoot: a network may not recover from that"))
}

/// A loss that is too large, with the inputs whose numbers are.
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
