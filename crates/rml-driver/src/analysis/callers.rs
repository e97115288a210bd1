//! The line in the user's program that causes a finding inside the library.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::{Diagnostic, Label, Sources, Span};
use rml_ir::flat::{Flat, Rhs, around};
use rml_ir::op::Op;

use crate::library::is_library;

/// Where each instance is called, by its path.
pub(crate) type Calls = IndexMap<Arc<str>, Span>;

/// The calls of a program that has all variables, as it is when it is inlined: an instance is called where its inputs
/// are copied. One without inputs is missing.
pub(crate) fn calls(flat: &Flat) -> Calls {
    let mut calls = Calls::new();
    for copy in flat.equations.iter().filter(|e| matches!(e.rhs, Rhs::Apply { op: Op::Copy, .. })) {
        if let Some(instance) = flat.instance(copy.lhs).filter(|path| !path.is_empty())
            && !calls.contains_key(instance)
        {
            calls.insert(instance.into(), copy.span);
        }
    }
    calls
}

/// If the first label of a finding is in the library, puts a label in the user's own text first: the first one that the
/// finding has, or else a new one at the call in the user's text that reaches this place.
pub(crate) fn show(sources: &Sources, flat: &Flat, calls: &Calls, finding: &mut Diagnostic) {
    let Some(at) = finding.labels.first().map(|label| label.span) else { return };
    if !is_library(sources, at) {
        return;
    }
    if let Some(own) = finding.labels.iter().position(|label| !is_library(sources, label.span)) {
        return finding.labels[..=own].rotate_right(1);
    }
    let here = flat.equations.iter().filter(|e| e.span == at || flat.vars[e.lhs].span == at);
    let instances: Vec<&str> = here.filter_map(|e| flat.instance(e.lhs)).collect();
    // Several instances share their lines; the message names a variable of the one that is meant.
    let is_named = |path: &&&str| finding.message.contains(&format!("`{}.", primal(path)));
    let path = instances.iter().find(is_named).or(instances.first()).copied();
    if let Some(span) = path.and_then(|path| user_call(sources, calls, path)) {
        finding.labels.insert(0, Label { span, message: "called here".to_owned() });
    }
}

/// The innermost call in the user's own text on the way to an instance.
pub(crate) fn user_call(sources: &Sources, calls: &Calls, mut path: &str) -> Option<Span> {
    while !path.is_empty() {
        match calls.get(path) {
            Some(span) if !is_library(sources, *span) => return Some(*span),
            _ => path = around(path),
        }
    }
    None
}

/// The path of the instance of which that is an adjoint.
fn primal(path: &str) -> String {
    path.split('.').map(|part| part.trim_start_matches("diff_")).collect::<Vec<_>>().join(".")
}
