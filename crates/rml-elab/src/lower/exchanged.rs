//! Calls whose arguments are not in the order of the callee's inputs, such as `reshape(x, [2, 2])` and `lstm(x, 64)`.
//!
//! If an argument cannot be in its position, the call is in error; if the same arguments fit in another order, the
//! message shows that call.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, IndexVec, Span};
use rml_syntax::ast::{Literal, UnaryOp};

use crate::builtins::{Builtin, Conv};
use crate::hir::{Call, ExprId, ExprKind, Item, Local, LocalKind, Node, Role, SourceId};
use crate::report::Report;
use crate::text;

/// Calls with more arguments are not checked, because all orders of the arguments are tried.
pub(crate) const MAX_ARGUMENTS: usize = 6;

/// The kind of an argument, judged by its form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Int,
    Num,
    Array,
    Stream,
    Unknown,
}

/// The kind of argument that a position accepts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A static array.
    Shape,
    /// A static int or an array of ints.
    Size,
    /// A static num.
    Num,
    /// A static value of any kind.
    Static,
    /// A stream with a dimension.
    Tensor,
    /// A stream that cannot be a list of numbers.
    Signal,
    Any,
}

impl Place {
    fn takes(self, form: Form) -> bool {
        match self {
            Place::Shape => matches!(form, Form::Array | Form::Unknown),
            Place::Size => !matches!(form, Form::Num | Form::Stream),
            Place::Num => !matches!(form, Form::Array | Form::Stream),
            Place::Static => form != Form::Stream,
            Place::Tensor => !matches!(form, Form::Int | Form::Num),
            Place::Signal => matches!(form, Form::Stream | Form::Unknown),
            Place::Any => true,
        }
    }
}

/// The positions of a callee, with their names.
struct Interface<'a> {
    name: String,
    places: Vec<(Place, String)>,
    /// The declaration of the callee, if it is a node.
    span: Option<Span>,
    args: &'a [ExprId],
    usage: Option<String>,
    /// The layer of the library that makes the parameters for the callee.
    layer: Option<&'static str>,
}

/// Reports calls in a node whose arguments are in another order, and marks them as errors. The roles of the called
/// nodes must be known.
pub(super) fn report(nodes: &mut IndexVec<SourceId, Node>, id: SourceId, report: &mut Report) {
    let node = &nodes[id];
    let interfaces = node.exprs.iter_enumerated().filter_map(|(expr, data)| match &data.kind {
        ExprKind::Call(call) => Some((expr, of_node(nodes, call)?)),
        ExprKind::Builtin { which, args } => Some((expr, of_builtin(*which, args)?)),
        _ => None,
    });
    let found: Vec<(ExprId, Diagnostic)> =
        interfaces.filter_map(|(expr, interface)| Some((expr, exchanged(node, &interface)?))).collect();
    for (expr, diagnostic) in found {
        report.push(diagnostic);
        let kind = &mut nodes[id].exprs[expr].kind;
        *kind = ExprKind::Error(kind.children());
    }
}

fn of_node<'a>(nodes: &IndexVec<SourceId, Node>, call: &'a Call) -> Option<Interface<'a>> {
    let callee = &nodes[call.callee];
    if callee.roles.is_empty() {
        return None;
    }
    let place = |formal: Local| match callee.roles[formal] {
        Role::Static => Place::Static,
        _ if is_tensor(callee, formal) => Place::Tensor,
        _ => Place::Any,
    };
    let places = callee.formals.iter().map(|l| (place(*l), callee.name_of(*l).to_string())).collect();
    let name = format!("{}{}", call.order.prefix(), callee.name);
    Some(Interface { name, places, span: Some(callee.span), args: &call.args, usage: None, layer: None })
}

fn of_builtin(which: Builtin, args: &[ExprId]) -> Option<Interface<'_>> {
    let usage = which.arity().2;
    // The last form is the longest: "(x), (x, axis) or (x, axis, reverse)".
    let longest = usage.rsplit_once('(')?.1.strip_suffix(')')?;
    let names: Vec<&str> = longest.split(", ").collect();
    let places = (0..args.len()).map(|i| {
        let name = names.get(i).filter(|name| **name != "..").or(names.last()).copied().unwrap_or_default();
        let place = match name {
            _ if matches!(which, Builtin::Conv(Conv::Forward, _)) && !which.is_static(i) => Place::Signal,
            _ if !which.is_static(i) || which == Builtin::Einsum => Place::Any,
            "shape" => Place::Shape,
            "keep" | "descending" | "reverse" | "padding" | "entry" | ".." => Place::Static,
            _ if which.is_num(i) => Place::Num,
            _ => Place::Size,
        };
        (place, name.to_owned())
    });
    let (name, places) = (which.name().to_owned(), places.collect());
    let layer = match which {
        Builtin::Conv(Conv::Forward, 1) => Some("causal_conv1d(filters, width, x)"),
        Builtin::Conv(Conv::Forward, _) => Some("convolution(filters, size, stride, padding, x)"),
        _ => None,
    };
    Some(Interface { usage: Some(format!("{name}{usage}")), name, places, span: None, args, layer })
}

fn exchanged(node: &Node, callee: &Interface<'_>) -> Option<Diagnostic> {
    let args = callee.args;
    let forms: Vec<Form> = args.iter().map(|arg| form(node, *arg)).collect();
    let fits = |order: &[usize]| callee.places.iter().zip(order).all(|((p, _), i)| p.takes(forms[*i]));
    let written: Vec<usize> = (0..args.len()).collect();
    if args.len() > MAX_ARGUMENTS || fits(&written) {
        return None;
    }
    let order = first_order(args.len(), &fits);
    let text = |i: usize| text::short(node, args[i]).unwrap_or_else(|| "..".to_owned());
    let listed = |texts: Vec<String>| format!("{}({})", callee.name, texts.join(", "));
    let help = match (&order, callee.layer) {
        (Some(order), _) => {
            let what = if args.len() == 2 { "exchange the two" } else { "the order is" };
            format!("{what}: `{}`", listed(order.iter().map(|i| text(*i)).collect()))
        }
        (None, Some(layer)) => return sizes_first(node, callee, layer),
        (None, None) => {
            let texts: Vec<String> = written.iter().map(|i| text(*i)).collect();
            completed(node, callee, &forms, texts)
                .map(|(why, texts)| format!("{why}: `{}`", listed(texts)))?
        }
    };
    let mut misplaced =
        callee.places.iter().zip(args).zip(&forms).filter(|(((p, _), _), form)| !p.takes(**form));
    let (((place, formal), arg), form) = misplaced.next()?;
    let (code, message, label) = match form {
        Form::Stream => (
            codes::NOT_STATIC,
            format!("a stream is given for the static parameter `{formal}` of `{}`", callee.name),
            format!("`{formal}` must be known when the program is compiled"),
        ),
        _ => (
            codes::STATIC_VALUE,
            format!("{} is given for `{formal}` of `{}`", form.text(), callee.name),
            format!("`{formal}` is {}", place.text()),
        ),
    };
    let mut d = Diagnostic::error(code, message).label(node.exprs[*arg].span, label);
    for (((_, formal), arg), form) in misplaced {
        let label = format!("{} is given for the input `{formal}`", form.text());
        d = d.label(node.exprs[*arg].span, label);
    }
    if let Some(span) = callee.span {
        d = d.label(span, "its interface");
    }
    if let Some(usage) = &callee.usage {
        d = d.note(format!("expected {usage}"));
    }
    Some(d.help(help))
}

/// The corrected arguments of a call that is wrong in every order, and what changes: an axis is added before the
/// streams, or a stream is replaced by its shape.
fn completed(
    node: &Node,
    callee: &Interface<'_>,
    forms: &[Form],
    mut texts: Vec<String>,
) -> Option<(&'static str, Vec<String>)> {
    let all_streams = forms.iter().all(|form| *form == Form::Stream);
    if callee.places.first().is_some_and(|(_, formal)| formal == "axis") && all_streams {
        texts.insert(0, "0".to_owned());
        return Some(("the axis stands first", texts));
    }
    for (i, ((place, _), form)) in callee.places.iter().zip(forms).enumerate() {
        let is_name = matches!(node.exprs[callee.args[i]].kind, ExprKind::Local(_));
        match place {
            Place::Shape if *form == Form::Stream && is_name => texts[i] = format!("shape({})", texts[i]),
            place if !place.takes(*form) => return None,
            Place::Shape
            | Place::Size
            | Place::Num
            | Place::Static
            | Place::Tensor
            | Place::Signal
            | Place::Any => {}
        }
    }
    Some(("for the shape of a stream, write", texts))
}

/// The error that a function is called like a layer, with its sizes first: `conv2d(8, [3, 3], x)`.
fn sizes_first(node: &Node, callee: &Interface<'_>, layer: &str) -> Option<Diagnostic> {
    let (first, (_, formal)) = (*callee.args.first()?, callee.places.first()?);
    (form(node, first) == Form::Int).then(|| {
        let what = format!("a number is given for the input `{formal}` of `{}`", callee.name);
        let d = Diagnostic::error(codes::STATIC_VALUE, what)
            .label(node.exprs[first].span, format!("`{formal}` is {}", Place::Signal.text()));
        let d = callee.usage.iter().fold(d, |d, usage| d.note(format!("expected {usage}")));
        d.help(format!("the layer that has the kernel as a parameter is `{layer}`, of `import std.layers;`"))
    })
}

/// The first order of `count` arguments that fits; orders that keep more arguments in place are tried first.
pub(crate) fn first_order(count: usize, fits: &dyn Fn(&[usize]) -> bool) -> Option<Vec<usize>> {
    fn extend(order: &mut Vec<usize>, count: usize, fits: &dyn Fn(&[usize]) -> bool) -> bool {
        if order.len() == count {
            return fits(order);
        }
        for i in 0..count {
            if !order.contains(&i) {
                order.push(i);
                if fits(order) && extend(order, count, fits) {
                    return true;
                }
                order.pop();
            }
        }
        false
    }
    let mut order = Vec::with_capacity(count);
    extend(&mut order, count, fits).then_some(order)
}

impl Form {
    fn text(self) -> &'static str {
        match self {
            Form::Int | Form::Num => "a number",
            Form::Array => "an array",
            Form::Stream => "a stream",
            Form::Unknown => "a value",
        }
    }
}

impl Place {
    fn text(self) -> &'static str {
        match self {
            Place::Shape => "an array of ints",
            Place::Size => "an int, or an array of ints",
            Place::Num => "a number",
            Place::Static | Place::Any => "known when the program is compiled",
            Place::Tensor | Place::Signal => "a stream with dimensions",
        }
    }
}

/// Whether an expression is a stream, judged by its form or by the form of its name's equation.
pub(super) fn is_signal(node: &Node, expr: ExprId) -> bool {
    form(node, expr) == Form::Stream
}

/// The kind of an expression, judged by its form or by the form of its name's equation.
fn form(node: &Node, expr: ExprId) -> Form {
    match &node.exprs[expr].kind {
        ExprKind::Literal(Literal::Int(_)) => Form::Int,
        ExprKind::Literal(Literal::Num(_)) => Form::Num,
        ExprKind::Unary(UnaryOp::Neg, a) if !is_stream(node, *a) => form(node, *a),
        _ if is_stream(node, expr) => Form::Stream,
        ExprKind::Array(_) => Form::Array,
        _ => Form::Unknown,
    }
}

/// The maximum number of names that are followed to judge an expression.
const FOLLOWED: usize = 64;

/// Whether an expression is a stream, judged by its form and those of the equations of names in it.
fn is_stream(node: &Node, expr: ExprId) -> bool {
    let (mut todo, mut read) = (vec![expr], Vec::new());
    while let Some(expr) = todo.pop() {
        match &node.exprs[expr].kind {
            ExprKind::Local(local) => match node.locals[*local].kind {
                LocalKind::Formal if node.is_typed(*local) => return true,
                LocalKind::Defined { equation } if read.len() < FOLLOWED && !read.contains(local) => {
                    read.push(*local);
                    todo.push(node.equations[equation].rhs);
                }
                LocalKind::Defined { .. }
                | LocalKind::Formal
                | LocalKind::Node
                | LocalKind::Family
                | LocalKind::Index
                | LocalKind::Constant(_)
                | LocalKind::Dim
                | LocalKind::Undefined => {}
            },
            ExprKind::Builtin { which: Builtin::Shape | Builtin::Range, .. }
            | ExprKind::Literal(_)
            | ExprKind::Text(_)
            | ExprKind::Params(..)
            | ExprKind::Structure(_)
            | ExprKind::Error(_) => {}
            ExprKind::Builtin { which, .. } if !which.computes_ints() => return true,
            ExprKind::Call(_)
            | ExprKind::Fby { .. }
            | ExprKind::FbyBack { .. }
            | ExprKind::Post(_)
            | ExprKind::When { .. }
            | ExprKind::Merge { .. } => return true,
            kind @ (ExprKind::Builtin { .. }
            | ExprKind::Array(_)
            | ExprKind::Entry(_)
            | ExprKind::Index { .. }
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::If { .. }) => todo.extend(kind.children()),
        }
    }
    false
}

/// Whether an input is declared with a dimension, so that a number does not fit it.
fn is_tensor(node: &Node, formal: Local) -> bool {
    let declared = node.locals[formal].types.iter();
    declared.flat_map(|ty| &ty.dims).any(|dim| matches!(dim, Item::Expr(_)))
}
