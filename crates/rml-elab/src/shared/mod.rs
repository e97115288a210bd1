//! Shared instances: `share u = net;`. Each call of `u` is a separate instance until types are known; then
//! [`resolve`](resolve::resolve) makes their parameters inputs, which are defined once in the node that shares them.
//!
//! The callees need no special form, because this module works on typed nodes.

mod calls;
mod define;
mod names;
mod resolve;
mod windows;

use std::sync::Arc;

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span, suggest};

use crate::hir::{ExprId, Share};
use crate::instance::{InstanceId, Tree};
use crate::statics::Evaluated;
pub(crate) use names::{Part, of_node};
pub(crate) use resolve::{Tags, compact, resolve};

/// A parameter of a shared instance.
#[derive(Debug)]
pub(crate) struct Parameter {
    /// The path of the parameter in the instance: `dense_0.kernel`.
    pub(crate) path: String,
    /// The instance that contains the parameter.
    pub(crate) id: InstanceId,
    pub(crate) expr: ExprId,
}

/// The parameters of an instance that is shared in `id`, according to its first call.
fn parameters(tree: &Tree<'_>, id: InstanceId, share: Share) -> Vec<Parameter> {
    let mut found = Vec::new();
    if let Some(first) = first_call(tree, id, share) {
        collect(tree, first, "", &mut found);
    }
    found
}

/// The parameters of a shared instance that the source names: the one at that path, or all of them.
pub(crate) fn named(
    tree: &Tree<'_>,
    id: InstanceId,
    share: Share,
    path: &str,
    span: Span,
) -> Evaluated<Vec<Parameter>> {
    let mut all = parameters(tree, id, share);
    if all.iter().any(|parameter| path.is_empty() || parameter.path == path) {
        all.retain(|parameter| path.is_empty() || parameter.path == path);
        return Ok(all);
    }
    if first_call(tree, id, share).is_none() {
        return Err(uncalled(&tree.node(id).shares[share.number], span).into());
    }
    Err(no_parameter(&tree.node(id).shares[share.number], path, &all, span).into())
}

/// The first call of a shared instance, in `id` or in an instance inside it.
fn first_call(tree: &Tree<'_>, id: InstanceId, share: Share) -> Option<InstanceId> {
    let node = tree.node(id);
    let mut calls = tree.instances[id].calls.iter();
    calls.find_map(|(expr, child)| match node.as_call(*expr) {
        Some(call) if call.share == Some(share) => Some(*child),
        _ => first_call(tree, *child, share),
    })
}

/// Adds the parameters of an instance; those of instances shared in it come first.
fn collect(tree: &Tree<'_>, id: InstanceId, prefix: &str, found: &mut Vec<Parameter>) {
    let source = tree.instances[id].source;
    for number in 0..tree.node(id).shares.len() {
        let share = Share { owner: source, number };
        let Some(first) = first_call(tree, id, share) else { continue };
        let path = format!("{prefix}{}.", tree.node(id).shares[number].0);
        collect(tree, first, &path, found);
    }
    for (name, part) in names::of_instance(tree, id) {
        match part {
            Part::Parameter(expr) => found.push(Parameter { path: format!("{prefix}{name}"), id, expr }),
            Part::Call(expr) => {
                let shared = tree.node(id).as_call(expr).is_some_and(|call| call.share.is_some());
                let Some(&child) = tree.instances[id].calls.get(&expr).filter(|_| !shared) else { continue };
                collect(tree, child, &format!("{prefix}{name}."), found);
            }
        }
    }
}

/// The error that the parameters of a shared instance are read although nothing calls the instance. The report drops it
/// if the same error was added before.
fn uncalled((name, at): &(Arc<str>, Span), span: Span) -> Diagnostic {
    Diagnostic::error(codes::SHARED_INSTANCE, format!("nothing calls the shared instance `{name}`"))
        .label(*at, "its parameters have no use")
        .label(span, "they are read here")
        .note("the shapes of its parameters are those of its first call")
        .help(format!("call it: `{name}(..)`, or `diff_{name}(..)`"))
}

/// The error that a shared instance has no parameter at that path, or none at all.
fn no_parameter(share: &(Arc<str>, Span), path: &str, all: &[Parameter], span: Span) -> Diagnostic {
    let (name, at) = share;
    let paths: Vec<&str> = all.iter().map(|parameter| &*parameter.path).collect();
    let message = match path.is_empty() {
        true => format!("the shared instance `{name}` has no parameters"),
        false => format!("the shared instance `{name}` has no parameter `{path}`"),
    };
    let d = Diagnostic::error(codes::SHARED_INSTANCE, message)
        .label(span, "no such parameter")
        .label(*at, "shared here");
    let listed = paths.iter().take(6).map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    let d = match paths.len() {
        0 => return d.note("neither the node nor what it calls has a `param`"),
        n if n > 6 => d.note(format!("it has {listed}, and {} more", n - 6)),
        _ => d.note(format!("it has {listed}")),
    };
    match suggest(path, paths.into_iter()) {
        Some(near) => d.help(format!("there is `{name}.params.{near}`")),
        None => d.help(format!("`{name}.params` is the vector of all of them")),
    }
}
