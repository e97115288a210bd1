//! Delays whose operands are exchanged: `x fby 0.0`.

use rml_base::Diagnostic;
use rml_base::codes::elab::CONSTANT_DELAY;
use rml_syntax::ast::{Literal, UnaryOp};

use super::exchanged::is_signal;
use super::{Node, Report, Scopes};
use crate::builtins::Builtin;
use crate::hir::{ExprId, ExprKind};
use crate::text;

/// Warns of delays of a constant that begin with a stream, in the program's own nodes.
pub(super) fn report(node: &Node, scopes: &Scopes, report: &mut Report) {
    if scopes.is_library(node.file) {
        return;
    }
    for expr in node.exprs.iter() {
        let ExprKind::Fby { init, next } = expr.kind else { continue };
        if !is_signal(node, init) || !is_number(node, next) {
            continue;
        }
        let (Some(first), Some(then)) = (text::operand(node, init), text::operand(node, next)) else {
            continue;
        };
        report.push(
            Diagnostic::warning(CONSTANT_DELAY, format!("`{first}` is read in the first cycle only"))
                .label(expr.span, format!("from the second cycle on, this is {then}"))
                .fix(
                    format!(
                        "the value of the cycle before, and {then} in the first one, is `{then} fby {first}`"
                    ),
                    expr.span,
                    format!("{then} fby {first}"),
                ),
        );
    }
}

/// A number, or a tensor of one number.
fn is_number(node: &Node, expr: ExprId) -> bool {
    match &node.exprs[expr].kind {
        ExprKind::Literal(Literal::Int(_) | Literal::Num(_)) => true,
        ExprKind::Unary(UnaryOp::Neg, a) => is_number(node, *a),
        ExprKind::Builtin { which, .. } => matches!(which, Builtin::Zeros | Builtin::Ones),
        _ => false,
    }
}
