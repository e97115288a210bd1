//! Messages about templates that cannot be copied.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};

use super::Env;
use super::value::NodeValue;
use crate::hir::{Local, Node, Order, Role};

/// A node that takes nodes is to run.
pub(super) fn root(node: &Node) -> Diagnostic {
    let name = &node.name;
    Diagnostic::error(codes::NODE_ARGUMENT, format!("`{name}` takes a node, so it does not run by itself"))
        .label(node.span, "a node is passed by a call only")
        .help(format!("run a node that calls it: `node main(x: num []) -> (y)  y = {name}(..);`"))
}

/// A recursion does not end.
pub(super) fn endless(node: &Node, env: &Env) -> Diagnostic {
    let values = env.values.iter().filter_map(|(position, value)| {
        let name = node.name_of(*node.formals.get(*position)?);
        Some(format!("{name} = {}", value.as_ref().ok()?))
    });
    let values = values.collect::<Vec<_>>().join(", ");
    let d = Diagnostic::error(codes::INSTANCE_LIMIT, format!("the copies of `{}` do not end", node.name))
        .label(node.name_span, "this node contains copies of itself, or of nodes that contain it");
    let d = if values.is_empty() { d } else { d.note(format!("the last one has {values}")) };
    d.note(format!("expected at most {} copies inside each other", crate::instance::MAX_DEPTH))
        .help("let a parameter come closer to the case that ends it: `if n == 0 then x else f(n - 1, x)`")
}

/// What restarts has no delay.
pub(super) fn no_delay(name: &str, cond: Span, callee: Span) -> Diagnostic {
    Diagnostic::warning(
        codes::RESTART_WITHOUT_DELAY,
        format!("`restart` does nothing: `{name}` has no delay"),
    )
    .label(cond, "nothing depends on this condition")
    .label(callee, format!("neither `{name}` nor what it calls has a `fby`"))
    .help("leave `restart` out, or restart the call whose delays are meant")
}

/// A node that is passed does not fit the call.
pub(super) fn arity(name: &str, value: &NodeValue, call: Span, message: String) -> Diagnostic {
    Diagnostic::error(codes::ARITY, message)
        .label(value.span, format!("passed as `{name}`"))
        .label(call, "called here")
}

/// A call of an adjoint whose results are records goes to too many names.
pub(super) fn results(node: &Node, order: Order, given: usize, wanted: usize, call: Span) -> Diagnostic {
    let name = format!("{}{}", order.prefix(), node.name);
    let outputs = node.outputs.iter().map(|output| node.name_of(*output).to_string());
    let inputs =
        node.formals.iter().filter(|formal| !matches!(node.roles[**formal], Role::Static | Role::Both));
    let gradients = inputs.map(|input| format!("d{}", node.name_of(*input)));
    let names: Vec<String> = outputs.chain(gradients).collect();
    let d = Diagnostic::error(codes::ARITY, format!("this call does not fit the interface of `{name}`"))
        .label(call, format!("its results go to {given} names, expected {wanted}"))
        .label(node.span, "the node that is differentiated")
        .note("the gradient of a record is one record: its fields are the gradients of the fields");
    match names.len() == wanted {
        true => d.help(format!("write `{} = {name}(..)`", names.join(", "))),
        false => d.help("give each output and each gradient one name"),
    }
}

/// A value is passed where a node is called, or the other way round.
pub(super) fn no_value(node: &NodeValue, name: &str, call: Span) -> Diagnostic {
    Diagnostic::error(codes::NODE_ARGUMENT, format!("`{name}` takes a value, not a node"))
        .label(node.span, "this is a node")
        .label(call, "passed on here")
}

/// An argument that is given with a node is no static value.
pub(super) fn given(span: Span, at: Span) -> Diagnostic {
    let message = "what is given with a node must be known before shapes are";
    let d = Diagnostic::error(codes::NOT_STATIC, message).label(span, "given with the node");
    let d = if at == span { d } else { d.label(at, "this is a stream, or the shape of one") };
    d.note("expected literals, constants, static parameters and arithmetic on them")
        .help("leave a stream open with `_`, and pass it in the call")
}

/// A static parameter of the root has no value.
pub(crate) fn not_set(node: &Node, formal: Local) -> Diagnostic {
    let name = node.name_of(formal);
    let message = format!("the static parameter `{name}` of `{}` has no value", node.name);
    Diagnostic::error(codes::STATIC_NOT_SET, message)
        .label(node.locals[formal].span, "its value must be known when the program is compiled")
        .help(format!("give it on the command line: `--set {name}=..`"))
}

/// A gradient with held parameters is taken of an adjoint that updates them.
pub(super) fn trains(order: &Order, span: Span) -> Diagnostic {
    let prefix = order.prefix();
    Diagnostic::error(codes::HELD_TRAINING, "`grad_` holds the parameters of something that updates them")
        .label(span, format!("a `{prefix}..` is called here, which updates parameters"))
        .note("expected a node that updates no parameter, so that its gradient is that of what it computes")
        .help("take the gradient of the node itself: call `grad_` in place of `diff_`, or outside of the node that trains")
}
