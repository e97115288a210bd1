//! Warns about losses of the library that compare a value with another one computed only from it.

use rml_base::Diagnostic;
use rml_base::codes::analysis::OWN_LABEL;
use rml_ir::normal::{Callee, Equation, Rhs, Var};

use super::Program;
use super::seeds::LOSS;
use super::view::{View, stream};

/// The names of two inputs of a loss: the compared value, and its target.
const PAIRS: [(&str, &str); 2] = [("logits", "label"), ("o", "gt")];
/// The maximum depth of the search for the origin of a label.
const DEPTH: usize = 32;

/// The findings in a node.
pub(super) fn findings(program: &Program<'_>, view: &View<'_>) -> Vec<Diagnostic> {
    let finding = |equation: &Equation| {
        let (compared, label) = pair(program, equation)?;
        let Rhs::Call { callee: Callee::Node(id) | Callee::Diff { node: id, .. }, .. } = &equation.rhs else {
            return None;
        };
        let callee = &program.module.nodes[*id];
        if origin(view, label, compared, DEPTH) != Some(true) {
            return None;
        }
        let what = format!("`{}` compares a value with what is computed from it", callee.name);
        let names = unread(view);
        let help = match &names[..] {
            [] => "pass what is right, an input of the data, in its place".to_owned(),
            names => {
                format!("pass what is right in its place: nothing reads the input {}", names.join(" and "))
            }
        };
        let found = Diagnostic::warning(OWN_LABEL, what)
            .label(equation.span, "whatever the value is, it is right")
            .help(help);
        Some(match view.place(label) {
            place if place != equation.span && label != compared => {
                found.label(place, "computed from the value")
            }
            _ => found,
        })
    };
    view.node.equations.iter().filter_map(finding).collect()
}

/// The value that a loss of the library compares, and its target.
pub(super) fn pair(program: &Program<'_>, equation: &Equation) -> Option<(Var, Var)> {
    let Rhs::Call { callee: Callee::Node(id) | Callee::Diff { node: id, .. }, args, .. } = &equation.rhs
    else {
        return None;
    };
    let callee = &program.module.nodes[*id];
    let is_loss = callee.outputs.iter().any(|o| callee.vars[*o].name.as_deref() == Some(LOSS));
    let places = PAIRS.iter().find_map(|(o, label)| stream(callee, o).zip(stream(callee, label)));
    let (compared, label) = places.filter(|_| is_loss && (program.library)(callee.span))?;
    Some((args[compared], args[label]))
}

/// Whether a value is computed from `from`, and apart from that only from constants; `None` if it depends on something
/// else.
fn origin(view: &View<'_>, v: Var, from: Var, depth: usize) -> Option<bool> {
    if v == from {
        return Some(true);
    }
    let depth = depth.checked_sub(1)?;
    let all = |operands: &[Var]| {
        let found: Option<Vec<bool>> = operands.iter().map(|v| origin(view, *v, from, depth)).collect();
        found.map(|found| found.contains(&true))
    };
    match view.definition(v)? {
        Rhs::Const(_) => Some(false),
        Rhs::Apply { args, .. } => all(args),
        Rhs::When { value, .. } => all(&[*value]),
        Rhs::If { then, other, .. } => all(&[*then, *other]),
        Rhs::Merge { .. }
        | Rhs::Fby { .. }
        | Rhs::FbyBack { .. }
        | Rhs::Post { .. }
        | Rhs::Call { .. }
        | Rhs::Param { .. }
        | Rhs::ParamUpdate { .. } => None,
    }
}

/// The inputs of the node that are never read, by name.
fn unread(view: &View<'_>) -> Vec<String> {
    let inputs = view.node.inputs().map(|input| input.var).filter(|v| !view.is_used(*v));
    inputs.filter_map(|v| Some(format!("`{}`", view.node.vars[v].name.as_deref()?))).collect()
}
