//! The operands of `merge` whose grouping depends on names.

use crate::ast::{Expr, ExprKind, Ident, Suffix, Symbol};
use rml_base::Span;

/// One operand of a `merge` after grouping.
#[derive(Clone, Copy, Debug)]
pub enum MergeOperand<'a> {
    /// An expression, unchanged.
    Expr(&'a Expr<'a>),
    /// A juxtaposition read as a call, with its suffixes.
    Call {
        /// The callee.
        callee: Ident,
        /// The arguments.
        args: &'a [Expr<'a>],
        /// The suffixes after the call.
        suffixes: &'a [Suffix<'a>],
        /// The whole operand.
        span: Span,
    },
    /// The name of a juxtaposition read as two operands.
    Name(Ident),
    /// The parenthesised expression of a juxtaposition read as two operands.
    Parenthesised {
        /// The expression between the parentheses.
        inner: &'a Expr<'a>,
        /// The suffixes after the parenthesis.
        suffixes: &'a [Suffix<'a>],
    },
}

/// Groups the operands of [`ExprKind::MergeOperands`]. A juxtaposition is a call if and only if `is_callable` returns
/// true for its name, so that it names a node or function in scope (`docs/language/grammar.md`, the operands of
/// `merge`). A juxtaposition of several arguments is always a call. Returns the operands in order; the caller checks
/// that there are three.
pub fn group_merge<'a>(
    operands: &'a [Expr<'a>],
    mut is_callable: impl FnMut(Symbol) -> bool,
) -> Vec<MergeOperand<'a>> {
    let mut grouped = Vec::with_capacity(3);
    for operand in operands {
        match operand.kind {
            ExprKind::Juxtaposed { name, args, suffixes, .. } => {
                if args.len() == 1 && !is_callable(name.name) {
                    grouped.push(MergeOperand::Name(name));
                    grouped.push(MergeOperand::Parenthesised { inner: &args[0], suffixes });
                } else {
                    grouped.push(MergeOperand::Call { callee: name, args, suffixes, span: operand.span });
                }
            }
            _ => grouped.push(MergeOperand::Expr(operand)),
        }
    }
    grouped
}
