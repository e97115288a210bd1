//! The clauses after the arguments of a call: `every end`, `restart r`, `by g`, `along 0`.

use rml_base::Diagnostic;
use rml_base::codes::elab as codes;
use rml_syntax::ast;

use super::node::Lower;
use crate::hir::{Clauses, ExprId, ExprKind, Structure};

impl Lower<'_, '_> {
    /// Adds a clause to the call `id`, which moves into a new expression. `add` returns false if the call already has
    /// such a clause. `misfit` makes the error: for an expression that is not a call of a node, or (`true`) for a call
    /// that already has the clause. `parts` are the expressions of the clause.
    pub(super) fn clause(
        &mut self,
        id: ExprId,
        parts: Vec<ExprId>,
        add: impl FnOnce(&mut Clauses) -> bool,
        misfit: impl FnOnce(&ExprKind, bool) -> Diagnostic,
    ) -> ExprKind {
        let mut kind = std::mem::replace(&mut self.exprs[id].kind, ExprKind::Error(Vec::new()));
        let clauses = match &mut kind {
            ExprKind::Call(call) if !self.scopes.records.contains(&call.callee) => Some(&mut call.clauses),
            ExprKind::Structure(Structure::Apply(apply)) => Some(&mut apply.clauses),
            _ => None, // Not a call of a node.
        };
        let twice = clauses.is_some();
        if clauses.is_some_and(add) {
            return kind;
        }
        if !matches!(kind, ExprKind::Error(_)) {
            self.report.push(misfit(&kind, twice));
        }
        ExprKind::Error(kind.children().into_iter().chain(parts).collect())
    }

    /// Lowers `f(x) every end`.
    pub(super) fn every(&mut self, call: &ast::Expr<'_>, end: &ast::Expr<'_>) -> ExprKind {
        let (id, end) = (self.expr(call), self.expr(end));
        let span = call.span;
        self.clause(
            id,
            vec![end],
            |clauses| set(&mut clauses.every, end),
            |kind, twice| {
                let message = "`every` runs the call of a node window by window";
                let d = Diagnostic::error(codes::NOT_A_CALL, message);
                let d = match twice {
                    true => d.label(span, "this call has an `every` already"),
                    false => d.label(span, "this is not a call of a node"),
                };
                // `f(a, x every end)` was probably meant as `f(a, x) every end`.
                match kind {
                    ExprKind::Local(_) => d.help("`every` stands after the call of a node: `f(x) every end` in place of `f(x every end)`"),
                    _ => d.help("put the computation into a node and call it: `f(x) every end`"),
                }
            },
        )
    }

    /// Lowers `f(x) restart r`.
    pub(super) fn restart(&mut self, call: &ast::Expr<'_>, cond: &ast::Expr<'_>) -> ExprKind {
        let (id, cond) = (self.expr(call), self.expr(cond));
        let span = call.span;
        self.clause(
            id,
            vec![cond],
            |clauses| set(&mut clauses.restart, cond),
            |_, twice| {
                let message = "`restart` restarts the delays in the call of a node";
                let d = Diagnostic::error(codes::NOT_A_CALL, message);
                match twice {
                    true => d
                        .label(span, "this call has a `restart` already")
                        .help("restart it where one of the two is true: `f(x) restart (a or b)`"),
                    false => d
                        .label(span, "this is not a call of a node")
                        .help("put the computation into a node and call it: `f(x) restart r`"),
                }
            },
        )
    }
}

/// Sets a value that is not set yet; returns false if it was set.
pub(super) fn set<T>(slot: &mut Option<T>, value: T) -> bool {
    let free = slot.is_none();
    if free {
        *slot = Some(value);
    }
    free
}
