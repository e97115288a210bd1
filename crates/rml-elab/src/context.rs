//! Chooses where an error inside an instance is shown: in the user's own text first.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Label};
use rml_syntax::ast::{Literal, UnaryOp};

use crate::hir::{ExprId, ExprKind, Node};
use crate::instance::{InstanceId, Tree};

/// The maximum number of notes about the origin of copies.
const MAX_NOTES: usize = 3;

/// Adds the origin of an error in an expression of an instance: the call, and the indices of the equations of families
/// around it. An error in the library is shown at the user's call.
pub(crate) fn add(tree: &Tree<'_>, id: InstanceId, expr: Option<ExprId>, d: Diagnostic) -> Diagnostic {
    let mut d = instance(tree, id, d);
    let (mut at, mut expr, mut notes) = (id, expr, 0);
    loop {
        if let Some(note) = expr.and_then(|expr| member(tree.node(at), expr))
            && notes < MAX_NOTES
        {
            d = d.note(note);
            notes += 1;
        }
        let Some((parent, call, _)) = tree.instances[at].parent else { return d };
        (at, expr) = (parent, Some(call));
    }
}

/// The equation of a family that contains an expression of a copy, as text.
fn member(node: &Node, expr: ExprId) -> Option<&str> {
    let found = node.members.binary_search_by(|(from, end, _)| match (expr < *from, expr < *end) {
        (true, _) => std::cmp::Ordering::Greater,
        (false, true) => std::cmp::Ordering::Equal,
        (false, false) => std::cmp::Ordering::Less,
    });
    found.ok().map(|i| &*node.members[i].2)
}

/// Adds the call from which an instance comes.
fn instance(tree: &Tree<'_>, id: InstanceId, mut d: Diagnostic) -> Diagnostic {
    let library = |id: InstanceId| tree.program.scopes.is_library(tree.node(id).file);
    let call = |id: InstanceId| {
        let (parent, call, _) = tree.instances[id].parent?;
        Some((parent, tree.node(parent).exprs[call].span))
    };
    let Some((mut at, mut span)) = call(id) else { return d };
    let mut names = vec![tree.node(id).name.as_ref()];
    if library(id) {
        let mut called = id;
        while library(at) {
            let Some((parent, outer)) = call(at) else { return d };
            names.push(tree.node(at).name.as_ref());
            called = at;
            (at, span) = (parent, outer);
        }
        let name = names.last().copied().unwrap_or_default();
        if let Some(below) = below(tree, id, called, &d) {
            return below;
        }
        if matches!(d.code, codes::SHAPE_MISMATCH | codes::TYPE_MISMATCH | codes::STATIC_VALUE)
            && let Some(shapes) = documented(tree, called)
        {
            d = d.note(format!("`{name}` expects: {shapes}"));
        }
        d.labels.retain(|l| l.span != span);
        d.labels.insert(0, Label { span, message: format!("in this instance of `{name}`") });
        // If an argument is the cause, it comes first.
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
    if library(at) {
        // A user's node that the library calls was passed to the library as an argument.
        while library(at) {
            let Some((parent, outer)) = call(at) else { return d };
            (at, span) = (parent, outer);
        }
        return d.label(span, format!("`{}` is passed on here", tree.node(id).name));
    }
    if d.labels.iter().all(|l| l.span != span) {
        d = d.label(span, format!("in this instance of `{}`", tree.node(id).name));
    }
    d
}

/// The error that a number is less than the minimum given in the comment before a node of the library. It replaces the
/// errors that the number causes inside the node.
fn below(tree: &Tree<'_>, id: InstanceId, called: InstanceId, d: &Diagnostic) -> Option<Diagnostic> {
    let called = if tree.program.scopes.is_library(tree.node(called).file) { called } else { id };
    let (parent, expr, _) = tree.instances[called].parent?;
    let (caller, callee) = (tree.node(parent), tree.node(called));
    let number = |expr: ExprId| match caller.exprs[expr].kind {
        ExprKind::Literal(Literal::Int(n)) => Some(n),
        ExprKind::Unary(UnaryOp::Neg, a) => match caller.exprs[a].kind {
            ExprKind::Literal(Literal::Int(n)) => Some(-n),
            _ => None, // Not a written number.
        },
        _ => None, // Not a written number.
    };
    if !matches!(d.code, codes::SHAPE_MISMATCH | codes::STATIC_VALUE) {
        return None;
    }
    let shapes = documented(tree, called)?;
    let call = caller.as_call(expr)?;
    let (arg, name, least, found) = callee.formals.iter().zip(&call.args).find_map(|(formal, arg)| {
        let (name, found) = (callee.name_of(*formal), number(*arg)?);
        let entry = shapes
            .split(';')
            .find_map(|entry| entry.trim().strip_prefix(&format!("{name}: a static int")))?;
        let least: i64 = entry.rsplit_once("at least ")?.1.trim().parse().ok()?;
        (found < least).then_some((*arg, name, least, found))
    })?;
    let message = format!("`{name}` of `{}` is at least {least}, found {found}", callee.name);
    let d = Diagnostic::error(codes::STATIC_VALUE, message)
        .label(caller.exprs[arg].span, "this is too small")
        .note(format!("`{}` expects: {shapes}", callee.name));
    Some(match (callee.name.as_ref(), found) {
        ("delay", 0) => d.help("the value of this cycle is the stream itself, without `delay`"),
        ("delay", _) => d.help(format!(
            "a delay goes back: write `delay({}, ..)`; `post x` is the value of the next cycle",
            -found
        )),
        _ => d.help(format!("write a number of at least {least}")),
    })
}

/// The shapes in the comment before a node of the library.
fn documented(tree: &Tree<'_>, id: InstanceId) -> Option<String> {
    let node = tree.node(id);
    let text = tree.program.scopes.files.get(&node.file)?.library?;
    let before = text.get(..node.span.start as usize)?.trim_end().strip_suffix("*)")?;
    let comment = before.rsplit_once("(*")?.1;
    let shapes = comment.lines().find_map(|line| line.trim().strip_prefix("Shapes: "))?;
    Some(shapes.trim_end_matches('.').to_owned())
}
