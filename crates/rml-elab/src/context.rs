//! Where an error is shown that is inside an instance: in the user's own text first.

use rml_base::{Diagnostic, Label};

use crate::instance::{InstanceId, Tree};

/// Adds to an error in an instance of a node where that instance comes from. What is in the library is shown at the
/// user's call of it.
pub(crate) fn add(tree: &Tree<'_>, id: InstanceId, mut d: Diagnostic) -> Diagnostic {
    let library = |id: InstanceId| tree.program.scopes.is_library(tree.node(id).file);
    let call = |id: InstanceId| {
        let (parent, call, _) = tree.instances[id].parent?;
        Some((parent, tree.node(parent).exprs[call].span))
    };
    let Some((mut at, mut span)) = call(id) else { return d };
    let mut names = vec![tree.node(id).name.as_ref()];
    if library(id) {
        while library(at) {
            let Some((parent, outer)) = call(at) else { return d };
            names.push(tree.node(at).name.as_ref());
            (at, span) = (parent, outer);
        }
        let name = names.last().copied().unwrap_or_default();
        d.labels.retain(|l| l.span != span);
        d.labels.insert(0, Label { span, message: format!("in this instance of `{name}`") });
        // an argument that is to blame comes first
        let inside =
            |l: &Label| l.span.file == span.file && span.start < l.span.start && l.span.end < span.end;
        if let Some(argument) = d.labels.iter().position(inside) {
            d.labels.swap(0, argument);
        }
        if names.len() > 1 {
            names.reverse();
            d = d.note(format!("inside the library: {}", names.join(" > ")));
        }
        return d;
    }
    if d.labels.iter().all(|l| l.span != span) {
        d = d.label(span, format!("in this instance of `{}`", tree.node(id).name));
    }
    d
}
