//! Finds programs with windows of several cycles that process each cycle on its own.

use rml_base::Diagnostic;
use rml_base::codes::run::REPEATED_VALUE;
use rml_data::Windows;
use rml_driver::Program;
use rml_ir::flat::{Rhs, State};

use super::reach::{Reach, is_of_optimiser};

/// Warns about a label of a whole window that is learned from single cycles: nothing in the program carries values
/// computed from the data from one cycle to another. Only an int or a bool counts as a label, since a num may be a
/// feature of the window.
pub(super) fn finding(program: &Program, windows: &Windows, longest: usize) -> Option<Diagnostic> {
    let flat = program.flat();
    let is_label = |name: &str| program.inputs().iter().any(|i| *i.name == *name && !i.ty.is_num());
    let name = windows.repeated().find(|name| longest > 1 && is_label(name))?;
    let inputs = Reach::new(flat).from(flat.inputs.iter().map(|i| i.var));
    let is_own = |key: &str, state: &State| !state.parameter && !is_of_optimiser(flat, key);
    let carries = |state: &State| match flat.equations[state.equation].rhs {
        Rhs::Fby { next, .. } => inputs.contains(&next),
        _ => false,
    };
    let looks_ahead = flat.equations.iter().any(|e| matches!(e.rhs, Rhs::Post { .. }));
    let mut states = flat.states.iter();
    let keeps = states.any(|(key, state)| is_own(key, state) && carries(state));
    if !flat.windows.is_empty() || looks_ahead || keeps {
        return None;
    }
    let input = program.inputs().iter().find(|input| *input.name == *name)?;
    let what = format!("`{name}` has one value a window, and is learned from each cycle of the window alone");
    let d = Diagnostic::warning(REPEATED_VALUE, what)
        .note(format!("the windows have up to {longest} cycles; nothing in node {} keeps a value from one cycle to the next", program.node()))
        .help(format!(
            "to learn from whole windows, call a node with states, such as `lstm(32, x) every end`, and declare `{name}: {} .. when end`",
            input.ty.dtype
        ));
    Some(d.help(
        "if a window is one value, give the input its dimension: a window of `x: num [28, 28]` has one cycle",
    ))
}
