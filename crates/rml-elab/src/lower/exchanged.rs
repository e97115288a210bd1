//! Calls in which an input and a static parameter are exchanged.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, IndexVec};
use rml_syntax::ast::Literal;

use crate::builtins::Builtin;
use crate::hir::{Call, ExprId, ExprKind, Item, Local, LocalKind, Node, Role, SourceId};
use crate::report::Report;
use crate::text;

/// Reports such calls of a node, and marks them as in error. The roles of the nodes that it calls are known.
pub(super) fn report(nodes: &mut IndexVec<SourceId, Node>, id: SourceId, report: &mut Report) {
    let node = &nodes[id];
    let calls = node.exprs.iter_enumerated().filter_map(|(expr, _)| Some((expr, node.as_call(expr)?)));
    let found: Vec<(ExprId, Diagnostic)> =
        calls.filter_map(|(expr, call)| Some((expr, exchanged(nodes, node, call)?))).collect();
    for (expr, diagnostic) in found {
        report.push(diagnostic);
        let kind = &mut nodes[id].exprs[expr].kind;
        *kind = ExprKind::Error(kind.children());
    }
}

fn exchanged(nodes: &IndexVec<SourceId, Node>, node: &Node, call: &Call) -> Option<Diagnostic> {
    let callee = &nodes[call.callee];
    if callee.roles.is_empty() {
        return None;
    }
    let pairs = || callee.formals.iter().copied().zip(call.args.iter().copied()).enumerate();
    let is_number =
        |arg: ExprId| matches!(node.exprs[arg].kind, ExprKind::Literal(Literal::Int(_) | Literal::Num(_)));
    let (to, (input, number)) =
        pairs().find(|(_, (formal, arg))| is_number(*arg) && is_tensor(callee, *formal))?;
    let is_static = |formal: Local| callee.roles[formal] == Role::Static;
    let (from, (parameter, stream)) =
        pairs().find(|(_, (formal, arg))| is_static(*formal) && is_stream(node, *arg))?;
    let mut texts: Vec<String> =
        call.args.iter().map(|arg| text::short(node, *arg).unwrap_or_else(|| "..".to_owned())).collect();
    texts.swap(from, to);
    let prefix = "diff_".repeat(usize::from(call.order));
    let (parameter_name, input_name) = (callee.name_of(parameter), callee.name_of(input));
    let message =
        format!("a stream is given for the static parameter `{parameter_name}` of `{}`", callee.name);
    Some(
        Diagnostic::error(codes::NOT_STATIC, message)
            .label(
                node.exprs[stream].span,
                format!("`{parameter_name}` must be known when the program is compiled"),
            )
            .label(node.exprs[number].span, format!("a number is given for the input `{input_name}`"))
            .label(callee.span, "its interface")
            .help(format!("exchange the two: `{prefix}{}({})`", callee.name, texts.join(", "))),
    )
}

/// Whether an expression is a stream by its form, or the name of one.
fn is_stream(node: &Node, expr: ExprId) -> bool {
    let is_form = |expr: ExprId| match node.exprs[expr].kind {
        ExprKind::Builtin { which, .. } => !matches!(which, Builtin::Shape | Builtin::Range),
        ExprKind::Call(_)
        | ExprKind::Fby { .. }
        | ExprKind::FbyBack { .. }
        | ExprKind::Post(_)
        | ExprKind::When { .. }
        | ExprKind::Merge { .. } => true,
        _ => false,
    };
    match node.exprs[expr].kind {
        ExprKind::Local(local) => match node.locals[local].kind {
            LocalKind::Formal => node.is_typed(local),
            LocalKind::Defined { equation } => is_form(node.equations[equation].rhs),
            LocalKind::Dim | LocalKind::Undefined => false,
        },
        _ => is_form(expr),
    }
}

/// Whether an input is declared with a dimension, so that no number fits it.
fn is_tensor(node: &Node, formal: Local) -> bool {
    let declared = node.locals[formal].types.iter();
    declared.flat_map(|ty| &ty.dims).any(|dim| matches!(dim, Item::Expr(_)))
}
