//! Expressions of the syntax tree as text, for the help of errors.
//!
//! [`crate::text`] writes lowered expressions. It cannot be used here, because the expression may have no lowered form,
//! such as a call of an unknown function, or it is lowered only after the help is written.

use rml_syntax::ast::{Dim, Expr, ExprKind, IndexExpr, Literal, UnaryOp};
use rml_syntax::precedence::{self, Level};

/// The longest text that is repeated in a help line.
const SHORT: usize = 48;

/// Returns the text of a part of an expression that is to be replaced.
type Other<'f> = &'f dyn Fn(&Expr<'_>) -> Option<String>;

/// The text of an expression, if it is short and of a common form.
pub(super) fn written(names: &lasso::Rodeo, expr: &Expr<'_>) -> Option<String> {
    within(names, expr, Level::If)
}

/// The text of an expression, or `..` if it has none.
pub(super) fn brief(names: &lasso::Rodeo, expr: &Expr<'_>) -> String {
    written(names, expr).unwrap_or_else(|| "..".to_owned())
}

/// The text of an expression as an operand, which must need no parentheses.
pub(super) fn operand(names: &lasso::Rodeo, expr: &Expr<'_>) -> Option<String> {
    within(names, expr, Level::Atom)
}

/// The text of an expression. `other` returns the replacements of some parts, which must have the level of an atom.
pub(super) fn rewritten(names: &lasso::Rodeo, expr: &Expr<'_>, other: Other<'_>) -> Option<String> {
    text(names, expr, (Level::If, other)).filter(|text| text.chars().count() <= SHORT)
}

fn within(names: &lasso::Rodeo, expr: &Expr<'_>, outer: Level) -> Option<String> {
    text(names, expr, (outer, &|_| None)).filter(|text| text.chars().count() <= SHORT)
}

/// The text of an expression in a context of level `outer`; if it binds more loosely, it gets parentheses.
fn text(names: &lasso::Rodeo, expr: &Expr<'_>, (outer, other): (Level, Other<'_>)) -> Option<String> {
    if let Some(written) = other(expr) {
        return Some(written);
    }
    let own = precedence::of(&expr.kind);
    let part = |expr: &Expr<'_>, level| text(names, expr, (level, other));
    let list = |parts: Option<Vec<String>>| parts.map(|parts| parts.join(", "));
    let inner = match expr.kind {
        ExprKind::Literal(Literal::Bool(b)) => b.to_string(),
        ExprKind::Literal(Literal::Int(i)) => i.to_string(),
        ExprKind::Literal(Literal::Num(x)) => format!("{x:?}"),
        ExprKind::Hole => "_".to_owned(),
        ExprKind::Var(name) => names.resolve(&name).to_owned(),
        ExprKind::Call { callee, args } => {
            let args = list(args.iter().map(|arg| part(arg, Level::If)).collect())?;
            format!("{}({args})", names.resolve(&callee.name))
        }
        ExprKind::Array(dims) => {
            let dim = |dim: &Dim<'_>| match dim {
                Dim::Expr(e) => part(e, Level::If),
                Dim::Splice(name) => Some(format!("{}..", names.resolve(&name.name))),
            };
            format!("[{}]", list(dims.iter().map(dim).collect())?)
        }
        ExprKind::Unary(UnaryOp::Neg, a) => format!("-{}", part(a, own.tighter())?),
        ExprKind::Unary(UnaryOp::Not, a) => format!("not {}", part(a, own)?),
        ExprKind::Binary(op, a, b) => {
            format!("{} {} {}", part(a, own)?, op.text(), part(b, own.tighter())?)
        }
        ExprKind::If { cond, then, other } => {
            let [cond, then, other] = [cond, then, other].map(|branch| part(branch, Level::Or));
            format!("if {} then {} else {}", cond?, then?, other?)
        }
        ExprKind::Fby { init, next } => format!("{} fby {}", part(init, Level::Or)?, part(next, Level::Fby)?),
        ExprKind::When { value, cond } => {
            format!("{} when {}", part(value, own)?, part(cond, own.tighter())?)
        }
        ExprKind::Field { base, field } => {
            format!("{}.{}", part(base, own)?, names.resolve(&field.name))
        }
        ExprKind::Index { base, indices } => {
            let bound = |e: Option<&Expr<'_>>| e.map_or(Some(String::new()), |e| part(e, Level::If));
            let index = |index: &IndexExpr<'_>| match *index {
                IndexExpr::At(e) => part(e, Level::If),
                IndexExpr::Slice { lo, hi, step: None, .. } => Some(format!("{}:{}", bound(lo)?, bound(hi)?)),
                IndexExpr::Slice { lo, hi, step, .. } => {
                    Some(format!("{}:{}:{}", bound(lo)?, bound(hi)?, bound(step)?))
                }
                IndexExpr::Ellipsis(_) => Some("..".to_owned()),
            };
            format!("{}[{}]", part(base, own)?, list(indices.iter().map(index).collect())?)
        }
        ExprKind::Text(_)
        | ExprKind::Entry(_)
        | ExprKind::FbyBack { .. }
        | ExprKind::Post(_)
        | ExprKind::Merge { .. }
        | ExprKind::MergeOperands(_)
        | ExprKind::Juxtaposed { .. }
        | ExprKind::Every { .. }
        | ExprKind::Restart { .. }
        | ExprKind::By { .. }
        | ExprKind::Along { .. }
        | ExprKind::Match { .. }
        | ExprKind::Assert { .. }
        | ExprKind::Share(_)
        | ExprKind::Automaton(_)
        | ExprKind::Error => return None,
    };
    Some(if own < outer { format!("({inner})") } else { inner })
}
