//! Static expressions as source text: what typed nodes keep of them for printing.

use rml_syntax::ast::{BinaryOp, Literal, UnaryOp};

use crate::hir::{ExprId, ExprKind, Index, Item, Node};

/// The text of an expression, in canonical spacing.
pub(crate) fn expr(node: &Node, id: ExprId) -> String {
    let mut out = String::new();
    write(node, id, 0, &mut out);
    out
}

/// The texts of the entries of an index list.
pub(crate) fn indices(node: &Node, indices: &[Index]) -> Vec<String> {
    indices.iter().map(|i| index(node, i)).collect()
}

fn index(node: &Node, index: &Index) -> String {
    match *index {
        Index::At(e) => expr(node, e),
        Index::Ellipsis(_) => "..".to_owned(),
        Index::Slice { lo, hi, step, .. } => {
            let part = |e: Option<ExprId>| e.map_or(String::new(), |e| expr(node, e));
            let step = step.map_or(String::new(), |e| format!(":{}", expr(node, e)));
            format!("{}:{}{step}", part(lo), part(hi))
        }
    }
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

/// Writes an expression that stands where operators looser than `outer` need parentheses.
fn write(node: &Node, id: ExprId, outer: u8, out: &mut String) {
    match &node.exprs[id].kind {
        ExprKind::Literal(Literal::Bool(b)) => out.push_str(&b.to_string()),
        ExprKind::Literal(Literal::Int(i)) => out.push_str(&i.to_string()),
        ExprKind::Literal(Literal::Num(x)) => out.push_str(&format!("{x:?}")),
        ExprKind::Text(text) => out.push_str(&format!("\"{text}\"")),
        ExprKind::Local(local) => out.push_str(node.name_of(*local)),
        ExprKind::Array(items) => {
            out.push('[');
            list(items, out, |item, out| match *item {
                Item::Expr(e) => write(node, e, 0, out),
                Item::Splice(local, _) => {
                    out.push_str(node.name_of(local));
                    out.push_str("..");
                }
            });
            out.push(']');
        }
        ExprKind::Index { base, indices: entries } => {
            write(node, *base, 9, out);
            out.push_str(&format!("[{}]", indices(node, entries).join(", ")));
        }
        ExprKind::Unary(op, a) => parenthesised(outer > 8, out, |out| {
            out.push_str(if *op == UnaryOp::Neg { "-" } else { "not " });
            write(node, *a, 8, out);
        }),
        ExprKind::Binary(op, a, b) => {
            let own = level(*op);
            parenthesised(outer > own, out, |out| {
                write(node, *a, own, out);
                out.push_str(&format!(" {} ", op.text()));
                write(node, *b, own + 1, out);
            });
        }
        ExprKind::If { cond, then, other } => parenthesised(outer > 0, out, |out| {
            out.push_str("if ");
            write(node, *cond, 0, out);
            out.push_str(" then ");
            write(node, *then, 0, out);
            out.push_str(" else ");
            write(node, *other, 0, out);
        }),
        ExprKind::Builtin { which, args, .. } => {
            out.push_str(which.name());
            out.push('(');
            list(args, out, |arg, out| write(node, *arg, 0, out));
            out.push(')');
        }
        // not static: nothing asks for its text
        _ => out.push('_'),
    }
}

fn list<T>(items: &[T], out: &mut String, mut f: impl FnMut(&T, &mut String)) {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        f(item, out);
    }
}

fn parenthesised(parentheses: bool, out: &mut String, f: impl FnOnce(&mut String)) {
    if parentheses {
        out.push('(');
    }
    f(out);
    if parentheses {
        out.push(')');
    }
}
