//! Delays whose operands are exchanged, as in `x fby 0.0`, and delays whose first value is more than was meant, as in
//! `x + 0.0 fby y`.

use rml_base::codes::elab::{CONSTANT_DELAY, FBY_OPERAND};
use rml_base::{Diagnostic, Span};
use rml_syntax::ast::{BinaryOp, Literal, UnaryOp};

use super::exchanged::is_signal;
use super::{Node, Report, Scopes};
use crate::builtins::Builtin;
use crate::hir::{ExprId, ExprKind};
use crate::text;

/// Warns about delays of a constant whose first value is a stream, and about delays whose first value is an operation
/// on a stream and a number. Only the program's own nodes are checked.
pub(super) fn report(node: &Node, scopes: &Scopes, report: &mut Report) {
    if scopes.is_library(node.file) {
        return;
    }
    for expr in node.exprs.iter() {
        let ExprKind::Fby { init, next } = expr.kind else { continue };
        // Parentheses around the first value show that it is intended; then the delay starts before its first value.
        if let ExprKind::Binary(op, left, right) = node.exprs[init].kind
            && expr.span.start == node.exprs[init].span.start
            && !is_comparison(op)
            && is_signal(node, left)
            && matches!(node.exprs[right].kind, ExprKind::Literal(_))
        {
            report.push(loose(node, expr.span, (op, left, right), next));
            continue;
        }
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

/// The warning about `x + 0.0 fby y`, where `x + (0.0 fby y)` may be meant.
fn loose(node: &Node, span: Span, (op, left, right): (BinaryOp, ExprId, ExprId), next: ExprId) -> Diagnostic {
    let op = op.text();
    let d = Diagnostic::warning(FBY_OPERAND, format!("`fby` binds less tightly than `{op}`"));
    let [left, right, next] = [left, right, next].map(|part| text::operand(node, part));
    let (Some(left), Some(right), Some(next)) = (left, right, next) else {
        return d
            .label(span, format!("the first value is the whole expression before `fby`, including the `{op}`"))
            .help("to delay one operand alone, put the `fby` into parentheses: `x + (0.0 fby y)`")
            .help("if the whole expression is the first value, define it by an equation, and write its name before `fby`");
    };
    let meant = format!("{left} {op} ({right} fby {next})");
    d.label(
        span,
        format!("this is `({left} {op} {right}) fby {next}`: `{left}` is read in the first cycle only"),
    )
    .fix(format!("to delay `{next}` alone, write `{meant}`"), span, meant)
    .help(format!("if `{left} {op} {right}` is the first value, write `({left} {op} {right}) fby {next}`"))
}

/// Whether an operator compares numbers; then only one of the two readings has valid types.
fn is_comparison(op: BinaryOp) -> bool {
    match op {
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => true,
        BinaryOp::Or | BinaryOp::And | BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div => false,
    }
}

/// Whether an expression is a number, or a tensor filled with one number.
fn is_number(node: &Node, expr: ExprId) -> bool {
    match &node.exprs[expr].kind {
        ExprKind::Literal(Literal::Int(_) | Literal::Num(_)) => true,
        ExprKind::Unary(UnaryOp::Neg, a) => is_number(node, *a),
        ExprKind::Builtin { which, .. } => matches!(which, Builtin::Zeros | Builtin::Ones),
        _ => false,
    }
}
