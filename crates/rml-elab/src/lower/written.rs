//! Expressions of the syntax tree as text, for advice.

use rml_syntax::ast::{BinaryOp, Dim, Expr, ExprKind, Literal, UnaryOp};

/// The longest text that is repeated in advice.
const SHORT: usize = 48;

/// The text of an expression, if it is short and of usual form.
pub(super) fn written(names: &lasso::Rodeo, expr: &Expr<'_>) -> Option<String> {
    text(names, expr, 0).filter(|text| text.chars().count() <= SHORT)
}

/// The text of an expression, or `..`.
pub(super) fn brief(names: &lasso::Rodeo, expr: &Expr<'_>) -> String {
    written(names, expr).unwrap_or_else(|| "..".to_owned())
}

/// The same; what binds more loosely than `outer` stands in parentheses.
fn text(names: &lasso::Rodeo, expr: &Expr<'_>, outer: u8) -> Option<String> {
    let list = |parts: Option<Vec<String>>| parts.map(|parts| parts.join(", "));
    Some(match expr.kind {
        ExprKind::Literal(Literal::Bool(b)) => b.to_string(),
        ExprKind::Literal(Literal::Int(i)) => i.to_string(),
        ExprKind::Literal(Literal::Num(x)) => format!("{x:?}"),
        ExprKind::Var(name) => names.resolve(&name).to_owned(),
        ExprKind::Call { callee, args } => {
            let args = list(args.iter().map(|arg| text(names, arg, 0)).collect())?;
            format!("{}({args})", names.resolve(&callee.name))
        }
        ExprKind::Array(dims) => {
            let dim = |dim: &Dim<'_>| match dim {
                Dim::Expr(e) => text(names, e, 0),
                Dim::Splice(name) => Some(format!("{}..", names.resolve(&name.name))),
            };
            format!("[{}]", list(dims.iter().map(dim).collect())?)
        }
        ExprKind::Unary(UnaryOp::Neg, a) => format!("-{}", text(names, a, 8)?),
        ExprKind::Unary(UnaryOp::Not, a) => format!("not {}", text(names, a, 8)?),
        ExprKind::Binary(op, a, b) => {
            let own = level(op);
            let inner = format!("{} {} {}", text(names, a, own)?, op.text(), text(names, b, own + 1)?);
            if outer > own { format!("({inner})") } else { inner }
        }
        _ => return None,
    })
}

fn level(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Or => 2,
        BinaryOp::And => 3,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => 4,
        BinaryOp::Add | BinaryOp::Sub => 5,
        BinaryOp::Mul | BinaryOp::Div => 6,
    }
}

/// The text of an expression as an operand, which needs no parentheses.
pub(super) fn operand(names: &lasso::Rodeo, expr: &Expr<'_>) -> Option<String> {
    text(names, expr, 9).filter(|text| text.chars().count() <= SHORT)
}
