//! The line of the user that a finding inside the library belongs to.

use rml_base::{Diagnostic, Label, Span};
use rml_ir::flat::{Equation, Flat, Rhs, Var};
use rml_ir::op::Op;

use crate::front::Front;

/// Puts the call in the user's own text first, where all places of a finding lie in the library.
pub(super) fn show(front: &Front, flat: &Flat, finding: &mut Diagnostic) {
    if finding.labels.is_empty() || !finding.labels.iter().all(|label| front.is_library(label.span)) {
        return;
    }
    let at = finding.labels[0].span;
    let here = flat.equations.iter().filter(|e| e.span == at);
    let instances: Vec<&str> = here.filter_map(|e| instance(flat, e.lhs)).collect();
    // Several instances share their lines; the message names a variable of the one that is meant.
    let is_named = |path: &&&str| finding.message.contains(&format!("`{}.", primal(path)));
    let Some(mut path) = instances.iter().find(is_named).or(instances.first()).copied() else { return };
    while !path.is_empty() {
        match call(flat, path) {
            Some(span) if !front.is_library(span) => {
                let message = "called here".to_owned();
                return finding.labels.insert(0, Label { span, message });
            }
            _ => path = parent(path),
        }
    }
}

/// The path of the instance that a variable belongs to; empty for the root.
fn instance(flat: &Flat, var: Var) -> Option<&str> {
    flat.vars[var].name.as_deref().map(parent)
}

fn parent(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// The path of the instance of which that is an adjoint.
fn primal(path: &str) -> String {
    path.split('.').map(|part| part.trim_start_matches("diff_")).collect::<Vec<_>>().join(".")
}

/// The call that makes an instance: where its inputs are given.
fn call(flat: &Flat, path: &str) -> Option<Span> {
    let is_copy = |e: &&Equation| matches!(e.rhs, Rhs::Apply { op: Op::Copy, .. });
    let mut copies = flat.equations.iter().filter(is_copy);
    copies.find(|e| instance(flat, e.lhs) == Some(path)).map(|e| e.span)
}
