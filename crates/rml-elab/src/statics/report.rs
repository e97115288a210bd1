//! The errors of static expressions.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::typed::StaticValue;

use crate::hir::{Local, LocalKind, Node};

/// The maximum number of elements of a static array, including those of nested arrays.
pub(super) const MAX_ARRAY: usize = 1 << 20;
/// The maximum nesting depth of static arrays.
pub(super) const MAX_DEPTH: usize = 64;

pub(super) fn too_large(span: Span) -> Diagnostic {
    Diagnostic::error(codes::STATIC_VALUE, "this static array is too large")
        .label(span, "")
        .note(format!("expected at most {MAX_ARRAY} elements, nested at most {MAX_DEPTH} deep"))
}

/// The error that a static value has the wrong kind.
pub(crate) fn expected(what: &str, found: &StaticValue, span: Span) -> Diagnostic {
    Diagnostic::error(codes::STATIC_VALUE, format!("expected {what}"))
        .label(span, format!("this is {}", describe(found)))
        .note(format!("expected {what}, found {}", describe(found)))
}

pub(super) fn not_static(span: Span) -> Diagnostic {
    Diagnostic::error(codes::NOT_STATIC, "this must be known when the program is compiled")
        .label(span, "this is computed while the program runs")
        .help("use literals, static parameters, named dimensions, `shape(x)` and arithmetic on them")
}

pub(super) fn not_static_name(node: &Node, local: Local, span: Span) -> Diagnostic {
    let data = &node.locals[local];
    let message = format!("`{}` must be known when the program is compiled, but is a stream", data.name);
    let d = Diagnostic::error(codes::NOT_STATIC, message).label(span, "needed at compile time");
    let d = if data.span == span { d } else { d.label(data.span, "this is a stream") };
    match data.kind {
        LocalKind::Formal if node.is_typed(local) => d.help(format!(
            "an input with a type is a stream; write `{}` without one to make it static",
            data.name
        )),
        _ => d.help(format!("the shape of a stream is known at compile time: `shape({})`", data.name)),
    }
}

/// The description of a value in messages: "the int 3", "the array [1, 2]".
pub(super) fn describe(value: &StaticValue) -> String {
    match value {
        StaticValue::Bool(b) => format!("the bool {b}"),
        StaticValue::Int(i) => format!("the int {i}"),
        StaticValue::Num(x) => format!("the num {x:?}"),
        StaticValue::Array(items) if items.len() > 8 => format!("an array of {} elements", items.len()),
        StaticValue::Array(_) => format!("the array {value}"),
    }
}
