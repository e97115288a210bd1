//! Static expressions as source text, kept in typed nodes for printing.

use rml_syntax::ast::{Literal, UnaryOp};
use rml_syntax::precedence::{self, Level};

use crate::hir::{ExprId, ExprKind, Index, Item, Node};

/// Writes the expressions of a node with canonical spacing.
pub(crate) struct Texts<'a> {
    pub(crate) node: &'a Node,
    /// Whether a literal without a point is a num; then it is written with a point.
    pub(crate) is_num: &'a dyn Fn(ExprId) -> bool,
}

/// The longest text that is repeated in a help line.
const SHORT: usize = 40;

/// The text of an expression, if [`Texts`] can write it and it is short enough for a help line.
pub(crate) fn short(node: &Node, expr: ExprId) -> Option<String> {
    is_written(node, expr)
        .then(|| Texts { node, is_num: &|_| false }.expr(expr))
        .filter(|text| text.chars().count() <= SHORT)
}

/// The same for an operand; parentheses are added if the expression contains an operator.
pub(crate) fn operand(node: &Node, expr: ExprId) -> Option<String> {
    let text = short(node, expr)?;
    let kind = &node.exprs[expr].kind;
    let loose = matches!(kind, ExprKind::Binary(..) | ExprKind::Unary(..) | ExprKind::If { .. });
    Some(if loose { format!("({text})") } else { text })
}

/// Whether [`Texts`] can write an expression and all its parts.
fn is_written(node: &Node, expr: ExprId) -> bool {
    let kind = &node.exprs[expr].kind;
    let own = matches!(
        kind,
        ExprKind::Literal(_)
            | ExprKind::Text(_)
            | ExprKind::Local(_)
            | ExprKind::Array(_)
            | ExprKind::Index { .. }
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Builtin { .. }
    );
    own && kind.children().into_iter().all(|part| is_written(node, part))
}

impl Texts<'_> {
    /// The text of an expression.
    pub(crate) fn expr(&self, id: ExprId) -> String {
        let mut out = String::new();
        self.write(id, Level::If, &mut out);
        out
    }

    /// The texts of the entries of an index list.
    pub(crate) fn indices(&self, indices: &[Index]) -> Vec<String> {
        indices.iter().map(|i| self.index(i)).collect()
    }

    fn index(&self, index: &Index) -> String {
        match *index {
            Index::At(e) => self.expr(e),
            Index::Ellipsis(_) => "..".to_owned(),
            Index::Slice { lo, hi, step, .. } => {
                let part = |e: Option<ExprId>| e.map_or(String::new(), |e| self.expr(e));
                let step = step.map_or(String::new(), |e| format!(":{}", self.expr(e)));
                format!("{}:{}{step}", part(lo), part(hi))
            }
        }
    }

    /// Writes an expression in a context where operators looser than `outer` need parentheses.
    fn write(&self, id: ExprId, outer: Level, out: &mut String) {
        let node = self.node;
        match &node.exprs[id].kind {
            ExprKind::Literal(Literal::Bool(b)) => out.push_str(&b.to_string()),
            ExprKind::Literal(Literal::Int(i)) if (self.is_num)(id) => out.push_str(&format!("{i}.0")),
            ExprKind::Literal(Literal::Int(i)) => out.push_str(&i.to_string()),
            ExprKind::Literal(Literal::Num(x)) => out.push_str(&format!("{x:?}")),
            ExprKind::Text(text) => out.push_str(&format!("\"{text}\"")),
            ExprKind::Local(local) => out.push_str(node.name_of(*local)),
            ExprKind::Array(items) => {
                out.push('[');
                list(items, out, |item, out| match *item {
                    Item::Expr(e) => self.write(e, Level::If, out),
                    Item::Splice(local, _) => {
                        out.push_str(node.name_of(local));
                        out.push_str("..");
                    }
                });
                out.push(']');
            }
            ExprKind::Entry(index) => out.push_str(&self.index(index)),
            ExprKind::Index { base, indices: entries } => {
                self.write(*base, Level::Postfix, out);
                out.push_str(&format!("[{}]", self.indices(entries).join(", ")));
            }
            ExprKind::Unary(op, a) => parenthesised(outer > Level::Unary, out, |out| {
                out.push_str(if *op == UnaryOp::Neg { "-" } else { "not " });
                self.write(*a, Level::Unary, out);
            }),
            ExprKind::Binary(op, a, b) => {
                let own = precedence::binary(*op);
                parenthesised(outer > own, out, |out| {
                    self.write(*a, own, out);
                    out.push_str(&format!(" {} ", op.text()));
                    self.write(*b, own.tighter(), out);
                });
            }
            ExprKind::If { cond, then, other } => parenthesised(outer > Level::If, out, |out| {
                out.push_str("if ");
                self.write(*cond, Level::If, out);
                out.push_str(" then ");
                self.write(*then, Level::If, out);
                out.push_str(" else ");
                self.write(*other, Level::If, out);
            }),
            ExprKind::Builtin { which, args, .. } => {
                out.push_str(which.name());
                out.push('(');
                list(args, out, |arg, out| self.write(*arg, Level::If, out));
                out.push(')');
            }
            // Not static, so the text is never used.
            _ => out.push('_'),
        }
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
