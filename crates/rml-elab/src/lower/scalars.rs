//! Parameters with one element whose initial value looks like a size.

use rml_base::Diagnostic;
use rml_base::codes::elab::SCALAR_PARAMETER;
use rml_syntax::ast::Literal;

use super::{Node, Report, Scopes};
use crate::builtins::Builtin;
use crate::hir::ExprKind;

/// Warns about `param(4)` in the program's own nodes: an integer other than 0 and 1 is rarely an initial value, but
/// often a size.
pub(super) fn report(node: &Node, scopes: &Scopes, report: &mut Report) {
    if scopes.is_library(node.file) {
        return;
    }
    for expr in node.exprs.iter() {
        let ExprKind::Builtin { which: Builtin::Param, args } = &expr.kind else { continue };
        let Some(init) = args.first().map(|init| &node.exprs[*init]) else { continue };
        let ExprKind::Literal(Literal::Int(size @ 2..)) = init.kind else { continue };
        report.push(
            Diagnostic::warning(
                SCALAR_PARAMETER,
                format!("the parameter has one element, which begins at {size}"),
            )
            .label(expr.span, "a parameter has the shape of its initial value, and this is a scalar")
            .fix(
                format!("for {size} elements, write `param(zeros([{size}]))`"),
                init.span,
                format!("zeros([{size}])"),
            )
            .fix(
                format!("for a scalar, write `param({size}.0)`"),
                init.span,
                format!("{size}.0"),
            ),
        );
    }
}
