//! Messages about templates that cannot be copied.

use std::collections::BTreeMap;

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_syntax::ast::BinaryOp;

use super::Env;
use super::copy::Copy;
use super::early::Why;
use super::kinds::Value;
use super::value::NodeValue;
use crate::hir::{ExprId, Local, Node, Order, Role};
use crate::text;

/// The error that a node which takes nodes as arguments is to run.
pub(super) fn root(node: &Node) -> Diagnostic {
    let name = &node.name;
    Diagnostic::error(codes::NODE_ARGUMENT, format!("`{name}` takes a node, so it does not run by itself"))
        .label(node.span, "a node is passed by a call only")
        .help(format!("run a node that calls it: `node main(x: num []) -> (y)  y = {name}(..);`"))
}

/// The error that a recursion does not end.
pub(super) fn endless(node: &Node, env: &Env, first: Option<Span>) -> Diagnostic {
    let values = env.values.iter().filter_map(|(position, value)| {
        let name = node.name_of(*node.formals.get(*position)?);
        Some(format!("{name} = {}", value.as_ref().ok()?))
    });
    let values = values.collect::<Vec<_>>().join(", ");
    let d = Diagnostic::error(codes::INSTANCE_LIMIT, format!("the copies of `{}` do not end", node.name));
    let d = match first {
        Some(call) => d.label(call, "this call makes the first of them"),
        None => d,
    };
    let d = d.label(node.name_span, "this node contains copies of itself, or of nodes that contain it");
    let d = if values.is_empty() { d } else { d.note(format!("the last one has {values}")) };
    d.note(format!("expected at most {} copies inside each other", crate::instance::MAX_DEPTH))
        .help("let a parameter come closer to the case that ends it: `if n == 0 then x else f(n - 1, x)`; a condition such as `n <= 0` also ends a recursion whose steps pass by 0")
}

/// The error that a restarted callee has no delay.
pub(super) fn no_delay(name: &str, cond: Span, callee: Span) -> Diagnostic {
    Diagnostic::warning(
        codes::RESTART_WITHOUT_DELAY,
        format!("`restart` does nothing: `{name}` has no delay"),
    )
    .label(cond, "nothing depends on this condition")
    .label(callee, format!("neither `{name}` nor what it calls has a `fby`"))
    .help("leave `restart` out, or restart the call whose delays are meant")
}

/// The error that a node which is passed does not fit the call.
pub(super) fn arity(name: &str, value: &NodeValue, call: Span, message: String) -> Diagnostic {
    Diagnostic::error(codes::ARITY, message)
        .label(value.span, format!("passed as `{name}`"))
        .label(call, "called here")
}

/// The error that the results of an adjoint, some of which are records, are assigned to too many names.
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

/// The error that a node is passed where a value is expected.
pub(super) fn no_value(node: &NodeValue, name: &str, call: Span) -> Diagnostic {
    Diagnostic::error(codes::NODE_ARGUMENT, format!("`{name}` takes a value, not a node"))
        .label(node.span, "this is a node")
        .label(call, "passed on here")
}

/// The error that an argument given together with a node is not a static value.
pub(super) fn given(span: Span, at: Span) -> Diagnostic {
    let message = "what is given with a node must be known before shapes are";
    let d = Diagnostic::error(codes::NOT_STATIC, message).label(span, "given with the node");
    let d = if at == span { d } else { d.label(at, "this is a stream, or the shape of one") };
    d.note("expected literals, constants, static parameters and arithmetic on them")
        .help("leave a stream open with `_`, and pass it in the call")
}

/// The error that a static parameter of the root has no value.
pub(crate) fn not_set(node: &Node, formal: Local) -> Diagnostic {
    let name = node.name_of(formal);
    let message = format!("the static parameter `{name}` of `{}` has no value", node.name);
    Diagnostic::error(codes::STATIC_NOT_SET, message)
        .label(node.locals[formal].span, "its value must be known when the program is compiled")
        .help(format!("give it on the command line: `--set {name}=..`"))
}

/// The error that a gradient with held parameters is taken of an adjoint that updates them.
pub(super) fn trains(order: &Order, span: Span) -> Diagnostic {
    let prefix = order.prefix();
    Diagnostic::error(codes::HELD_TRAINING, "`grad_` holds the parameters of something that updates them")
        .label(span, format!("a `{prefix}..` is called here, which updates parameters"))
        .note("expected a node that updates no parameter, so that its gradient is that of what it computes")
        .help("take the gradient of the node itself: call `grad_` in place of `diff_`, or outside of the node that trains")
}

/// What an operator between records of that name is meant as, given the two operands for each field.
fn by_field(op: BinaryOp, record: &str, fields: impl Iterator<Item = [String; 2]>) -> Option<String> {
    let each: Vec<String> = fields.map(|[a, b]| format!("{a} {} {b}", op.text())).collect();
    let called = |function: &str, between: &str| {
        each.iter().map(|text| format!("{function}({text})")).collect::<Vec<_>>().join(between)
    };
    match op {
        BinaryOp::Eq => Some(called("all", " and ")),
        BinaryOp::Ne => Some(called("any", " or ")),
        BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => None,
        BinaryOp::Or | BinaryOp::And | BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div => {
            Some(format!("{record}({})", each.join(", ")))
        }
    }
}

impl Copy<'_, '_> {
    /// Reports a member that no equation defines, unless an equation that did not parse may define it.
    pub(super) fn missing(&mut self, family: Local, index: i64, span: Span, why: &str) {
        let name = self.template.name_of(family).clone();
        if self.program().scopes.is_excused(self.template.file, &name, false) {
            return;
        }
        let known: Vec<i64> =
            self.members.get(&family).into_iter().flat_map(BTreeMap::keys).copied().collect();
        let message = format!("no equation defines `{name}[{index}]`");
        let mut d =
            Diagnostic::error(codes::UNKNOWN_MEMBER, message).label(span, format!("the index is {index}"));
        if let Some((local, k)) = self.index {
            d = d.note(format!("this is in the equation where {} = {k}", self.template.name_of(local)));
        }
        d = d.label(self.template.locals[family].span, "the family");
        let d = match known[..] {
            [] => d,
            [one] => d.note(format!("its only member is `{name}[{one}]`")),
            [first, .., last] => d.note(format!("its members are `{name}[{first}]` to `{name}[{last}]`")),
        };
        let d = d.help(format!("define it, `{name}[{index}] = ..;`, or change the range after `for`"));
        self.say(if why.is_empty() { d } else { d.note(why) });
    }

    /// Reports an operator between records, or between a record and a value. Returns the expression that replaces it.
    pub(super) fn no_arithmetic(&mut self, span: Span, op: BinaryOp, operands: [ExprId; 2]) -> ExprId {
        let values = operands.map(|operand| self.value(operand));
        let parts: Vec<ExprId> = values.iter().flat_map(Value::leaves).collect();
        if parts.iter().any(|part| self.is_reported(*part)) {
            return self.in_error(parts, span);
        }
        let record = values.iter().position(|value| value.kind().is_some()).unwrap_or(0);
        let of = self.kind_text(values[record].kind());
        let message = format!("`{}` takes single values, found {of}", op.text());
        let d = Diagnostic::error(codes::RECORD_VALUE, message)
            .label(self.template.exprs[operands[record]].span, format!("this is {of}"));
        let texts = operands.map(|operand| text::operand(&self.template, operand));
        let name = texts[record].clone().unwrap_or_else(|| "s".to_owned());
        let written = match (&values, texts) {
            ([Value::Record(kind, fields), Value::Record(other, _)], [Some(a), Some(b)])
                if kind == other && !kind.gradient =>
            {
                let name = &self.program().nodes[kind.record].name;
                by_field(
                    op,
                    name,
                    fields.iter().map(|(field, _)| [format!("{a}.{field}"), format!("{b}.{field}")]),
                )
            }
            _ => None, // A record and a value.
        };
        let first = match &values[record] {
            Value::Record(_, fields) => fields.first().map_or("h".into(), |(name, _)| name.clone()),
            Value::One(_) => "h".into(),
        };
        self.say(d.help(match written {
            Some(text) => format!("write `{text}`"),
            None => format!("name a field: `{name}.{first}`"),
        }));
        self.in_error(parts, span)
    }

    /// The error that a stream is the index of a family.
    pub(super) fn stream_as_index(&self, family: Local, index: ExprId) -> Option<Diagnostic> {
        let (input, declared) = super::early::typed_input(&self.template, index)?;
        if self.unknown || self.is_broken() || !matches!(self.early(index), Err(Why::Stream(_))) {
            return None;
        }
        let (name, of) = (self.template.name_of(family), text::short(&self.template, index));
        let of = of.as_deref().unwrap_or("..");
        let message = format!("the index of `{name}` must be known before shapes are");
        Some(
            Diagnostic::error(codes::NOT_STATIC, message)
                .label(self.template.exprs[index].span, "decides which member is read")
                .label(declared, "this is a stream")
                .note("expected literals, constants, static parameters and arithmetic on them")
                .help(format!("a function picks the member by a stream: `gather({name}, {of})`"))
                .help(format!(
                    "an input with a type is a stream; write `{input}` without one to make it static"
                )),
        )
    }
}
