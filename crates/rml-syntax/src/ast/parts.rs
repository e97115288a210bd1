//! The direct subexpressions of an expression.

use super::{Dim, Expr, ExprKind, IndexExpr, Suffix};

impl<'a> Expr<'a> {
    /// The direct subexpressions, in textual order; none for an automaton.
    pub fn parts(&self) -> Vec<&'a Expr<'a>> {
        match self.kind {
            ExprKind::Literal(_)
            | ExprKind::Text(_)
            | ExprKind::Var(_)
            | ExprKind::Automaton(_)
            | ExprKind::Hole
            | ExprKind::Error => Vec::new(),
            ExprKind::Call { args, .. } | ExprKind::MergeOperands(args) => args.iter().collect(),
            ExprKind::Array(dims) => {
                let part = |dim: &Dim<'a>| if let Dim::Expr(e) = *dim { Some(e) } else { None };
                dims.iter().filter_map(part).collect()
            }
            ExprKind::Index { base, indices } => {
                std::iter::once(base).chain(indices.iter().flat_map(IndexExpr::parts)).collect()
            }
            ExprKind::Entry(index) => index.parts(),
            ExprKind::Field { base, .. } => vec![base],
            ExprKind::Unary(_, a) | ExprKind::Post(a) | ExprKind::Share(a) => vec![a],
            ExprKind::Binary(_, a, b) => vec![a, b],
            ExprKind::If { cond, then, other } => vec![cond, then, other],
            ExprKind::Fby { init, next } | ExprKind::FbyBack { init, next } => vec![init, next],
            ExprKind::When { value, cond } => vec![value, cond],
            ExprKind::Merge { cond, on_true, on_false } => vec![cond, on_true, on_false],
            ExprKind::Every { call, end } => vec![call, end],
            ExprKind::Restart { call, cond } => vec![call, cond],
            ExprKind::By { call, rule } => vec![call, rule],
            ExprKind::Along { call, axes, .. } => std::iter::once(call).chain(axes).collect(),
            ExprKind::Match { value, cases } => {
                std::iter::once(value).chain(cases.iter().map(|case| &case.value)).collect()
            }
            ExprKind::Juxtaposed { args, suffixes, .. } => {
                let after = suffixes.iter().flat_map(|suffix| match suffix {
                    Suffix::Index(indices) => indices.iter().flat_map(IndexExpr::parts).collect(),
                    Suffix::Field(_) => Vec::new(),
                });
                args.iter().chain(after).collect()
            }
            ExprKind::Assert { cond, .. } => vec![cond],
        }
    }

    /// Whether `found` returns true for this expression or one of its subexpressions.
    pub fn any(&'a self, found: &mut dyn FnMut(&'a Expr<'a>) -> bool) -> bool {
        let mut todo = vec![self];
        while let Some(expr) = todo.pop() {
            if found(expr) {
                return true;
            }
            todo.extend(expr.parts());
        }
        false
    }
}

impl<'a> IndexExpr<'a> {
    /// The expressions in the entry or suffix.
    fn parts(&self) -> Vec<&'a Expr<'a>> {
        match *self {
            IndexExpr::At(e) => vec![e],
            IndexExpr::Slice { lo, hi, step, .. } => [lo, hi, step].into_iter().flatten().collect(),
            IndexExpr::Ellipsis(_) => Vec::new(),
        }
    }
}
