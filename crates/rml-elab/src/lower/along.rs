//! `f(x) along 0`: the call of a node over the entries of an axis.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_syntax::ast;

use super::clauses::set;
use super::node::Lower;
use crate::hir::{Along, ExprId, ExprKind, Structure};

impl Lower<'_, '_> {
    /// Lowers `f(x) along 0` or `f(x, c) along back (0, _)`.
    pub(super) fn along(&mut self, call: &ast::Expr<'_>, back: bool, axes: &[ast::Expr<'_>]) -> ExprKind {
        let id = self.expr(call);
        let written: Vec<Option<ExprId>> = axes
            .iter()
            .map(|axis| if let ast::ExprKind::Hole = axis.kind { None } else { Some(self.expr(axis)) })
            .collect();
        let place = axes
            .first()
            .map_or(call.span, |first| axes.last().map_or(first.span, |last| first.span.to(last.span)));
        let args = match &self.exprs[id].kind {
            ExprKind::Call(call) => Some(call.args.len()),
            ExprKind::Structure(Structure::Apply(apply)) => Some(apply.args.len()),
            _ => None, // Not a call of a node.
        };
        let parts: Vec<ExprId> = written.iter().flatten().copied().collect();
        if let Some(d) = args.and_then(|args| misfit(&written, args, call.span, place)) {
            self.report.push(d);
            return ExprKind::Error(self.exprs[id].kind.children().into_iter().chain(parts).collect());
        }
        let (along, span) = (Along { axes: written, back }, call.span);
        self.clause(
            id,
            parts,
            |clauses| set(&mut clauses.along, along),
            |kind, twice| {
                let message = "`along` runs the call of a node over the entries of an axis";
                let d = Diagnostic::error(codes::NOT_A_CALL, message);
                match twice {
                    true => d
                        .label(span, "this call runs along an axis already")
                        .help("put it into a node, and run that along the other axis"),
                    false => no_node(d, kind, span),
                }
            },
        )
    }
}

/// The error that the operand of `along` is not a call of a node.
fn no_node(d: Diagnostic, kind: &ExprKind, span: Span) -> Diagnostic {
    if let ExprKind::Builtin { which, .. } = kind {
        return d
            .label(span, "this is a call of a function")
            .help(format!("`{}` has no state: call it on all entries at once", which.name()));
    }
    d.label(span, "this is not a call of a node")
        .help("put the computation into a node and call it: `f(x) along 0`")
}

/// The error that the axes do not match the arguments.
fn misfit(axes: &[Option<ExprId>], args: usize, call: Span, place: Span) -> Option<Diagnostic> {
    let error = |message: String| Diagnostic::error(codes::ALONG_AXIS, message).label(place, "these axes");
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    if axes.len() != 1 && axes.len() != args {
        let d = error(format!(
            "{} for {}",
            count(axes.len(), "axis").replace("axiss", "axes"),
            count(args, "argument")
        ));
        let d = d.label(call, format!("{} here", crate::lower::arguments(args)));
        let example = match args {
            0 | 1 => "`along 0`".to_owned(),
            n => format!("`along (0{})`", ", _".repeat(n - 1)),
        };
        return Some(d.help(format!(
            "write one axis for all arguments, `along 0`, or one for each with `_` for those that all entries take as they are: {example}"
        )));
    }
    if axes.iter().all(Option::is_none) || args == 0 {
        let d = error("no argument has an axis, so the number of entries is unknown".to_owned());
        return Some(d.help("give an axis to an argument that is a stream: `along 0`, `along (0, _)`"));
    }
    None
}
