//! Layout of expressions, with few parentheses, as [`crate::precedence`] requires. If a chain does not fit on a line,
//! its operators begin lines. `(x when c) * y` and `(post x) when c` keep their parentheses although `when` and `post`
//! bind tighter; so do `fby` and `if` inside `if`, and `if` after `fby`: `if (true fby end) then x else (0 fby x)`.
//! Parentheses around the first value of a delay are kept if they show what is meant: `(x + 1.0) fby y`.

use super::Formatter;
use super::doc::{Doc, group, nest, text};
use super::list::bracketed;
use crate::ast::{Dim, Expr, ExprKind, Literal, Suffix, UnaryOp};
use crate::precedence::{self, Level};
use rml_base::Span;

impl<'t> Formatter<'t> {
    /// The source text at `span`.
    pub(super) fn shown(&self, span: Span) -> &'t str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// A leaf at `span` of the source, with the comments around it.
    pub(super) fn leaf(&mut self, span: Span, shown: impl Into<String>) -> Doc {
        let mut parts = self.comments.before(span.start as usize);
        parts.push(text(shown));
        parts.extend(self.comments.behind(span.end as usize));
        Doc::Concat(parts)
    }

    /// The source text at `span`, unchanged.
    pub(super) fn verbatim(&mut self, span: Span) -> Doc {
        let shown = self.shown(span);
        self.leaf(span, shown)
    }

    /// An expression in a context that requires at least `level`.
    pub(super) fn expr(&mut self, expr: &Expr<'_>, level: Level) -> Doc {
        if precedence::of(&expr.kind) >= level { self.bare(expr) } else { self.parenthesised(expr) }
    }

    fn parenthesised(&mut self, expr: &Expr<'_>) -> Doc {
        Doc::Concat(vec![text("("), nest(1, self.bare(expr)), text(")")])
    }

    /// An expression, without parentheses around it.
    fn bare(&mut self, expr: &Expr<'_>) -> Doc {
        match &expr.kind {
            ExprKind::Literal(_)
            | ExprKind::Text(_)
            | ExprKind::Var(_)
            | ExprKind::Hole
            | ExprKind::Automaton(_) // see `equation`
            | ExprKind::Error => self.verbatim(expr.span),
            ExprKind::Call { callee, args } => {
                let name = self.shown(callee.span);
                if args.is_empty() {
                    return self.leaf(expr.span, format!("{name}()"));
                }
                let head = self.verbatim(callee.span);
                let args = self.items(args, |a| a.span, |f, a| f.expr(a, Level::If));
                Doc::Concat(vec![head, bracketed("(", args, ")", false)])
            }
            ExprKind::Entry(index) => self.index(index),
            ExprKind::Array([]) => self.leaf(expr.span, "[]"),
            ExprKind::Array(dims) => {
                let fill = dims.iter().all(|d| matches!(d, Dim::Expr(e) if is_number(e)));
                let dims = self.dims(dims);
                bracketed("[", dims, "]", fill)
            }
            ExprKind::Index { base, indices } => {
                let base = self.base(base);
                Doc::Concat(vec![base, self.indices(indices)])
            }
            ExprKind::Field { base, field } => {
                let base = self.base(base);
                Doc::Concat(vec![base, text("."), self.verbatim(field.span)])
            }
            ExprKind::Match { value, cases } => {
                let value = self.expr(value, Level::Postfix);
                let cases = self.items(
                    cases,
                    |c| c.case.span.to(c.value.span),
                    |f, c| {
                        let case = f.verbatim(c.case.span);
                        Doc::Concat(vec![case, text(" -> "), nest(2, f.expr(&c.value, Level::If))])
                    },
                );
                Doc::Concat(vec![text("match "), value, text(" "), bracketed("(", cases, ")", false)])
            }
            ExprKind::Unary(UnaryOp::Neg, operand) => {
                let twice = matches!(operand.kind, ExprKind::Unary(UnaryOp::Neg, _));
                Doc::Concat(vec![text(if twice { "- " } else { "-" }), self.expr(operand, Level::Unary)])
            }
            ExprKind::Unary(UnaryOp::Not, operand) => self.prefixed("not ", operand),
            ExprKind::Post(operand) => self.prefixed("post ", operand),
            ExprKind::Binary(op, ..) => {
                let mut parts = Vec::new();
                self.chain(expr, precedence::binary(*op), &mut parts);
                chained(parts)
            }
            ExprKind::When { .. }
            | ExprKind::Every { .. }
            | ExprKind::Restart { .. }
            | ExprKind::By { .. }
            | ExprKind::Along { .. } => {
                let mut parts = Vec::new();
                self.chain(expr, Level::When, &mut parts);
                chained(parts)
            }
            ExprKind::If { .. } => group(self.conditional(expr)),
            ExprKind::Assert { name, cond } => {
                let name = self.verbatim(name.span);
                Doc::Concat(vec![text("assert "), name, text(" "), self.expr(cond, Level::If)])
            }
            ExprKind::Share(node) => self.expr(node, Level::If),
            ExprKind::Fby { .. } | ExprKind::FbyBack { .. } => {
                let mut parts = Vec::new();
                self.delayed(expr, &mut parts);
                chained(parts)
            }
            ExprKind::Merge { cond, on_true, on_false } => self.merge([*cond, *on_true, *on_false]),
            ExprKind::MergeOperands(operands) => {
                let operands = operands.iter().map(|o| self.operand(o, false)).collect();
                merge_of(operands)
            }
            ExprKind::Juxtaposed { name, args, suffixes, args_span } => {
                let mut parts = vec![self.verbatim(name.span)];
                parts.push(text(if name.span.end == args_span.start { "(" } else { " (" }));
                for arg in *args {
                    parts.push(nest(1, self.expr(arg, Level::If)));
                }
                parts.push(text(")"));
                for suffix in *suffixes {
                    parts.push(match suffix {
                        Suffix::Index(list) => self.indices(list),
                        Suffix::Field(field) => Doc::Concat(vec![text("."), self.verbatim(field.span)]),
                    });
                }
                Doc::Concat(parts)
            }
        }
    }

    fn prefixed(&mut self, prefix: &str, operand: &Expr<'_>) -> Doc {
        Doc::Concat(vec![text(prefix), self.expr(operand, Level::Unary)])
    }

    /// The operand that an index follows.
    fn base(&mut self, base: &Expr<'_>) -> Doc {
        if is_merge(base) { self.parenthesised(base) } else { self.expr(base, Level::Postfix) }
    }

    /// A chain of left-associative operators of one level.
    fn chain(&mut self, expr: &Expr<'_>, level: Level, parts: &mut Vec<Doc>) {
        let (left, op, right) = match &expr.kind {
            ExprKind::Binary(op, left, right) => (left, op.text(), std::slice::from_ref(*right)),
            ExprKind::When { value, cond } => (value, "when", std::slice::from_ref(*cond)),
            ExprKind::Every { call, end } => (call, "every", std::slice::from_ref(*end)),
            ExprKind::Restart { call, cond } => (call, "restart", std::slice::from_ref(*cond)),
            ExprKind::By { call, rule } => (call, "by", std::slice::from_ref(*rule)),
            ExprKind::Along { call, back: false, axes } => (call, "along", *axes),
            ExprKind::Along { call, back: true, axes } => (call, "along back", *axes),
            ExprKind::Literal(_)
            | ExprKind::Text(_)
            | ExprKind::Var(_)
            | ExprKind::Hole
            | ExprKind::Automaton(_)
            | ExprKind::Error
            | ExprKind::Call { .. }
            | ExprKind::Entry(_)
            | ExprKind::Array(_)
            | ExprKind::Index { .. }
            | ExprKind::Field { .. }
            | ExprKind::Match { .. }
            | ExprKind::Unary(..)
            | ExprKind::Post(_)
            | ExprKind::If { .. }
            | ExprKind::Assert { .. }
            | ExprKind::Share(_)
            | ExprKind::Fby { .. }
            | ExprKind::FbyBack { .. }
            | ExprKind::Merge { .. }
            | ExprKind::MergeOperands(_)
            | ExprKind::Juxtaposed { .. } => return,
        };
        if precedence::of(&left.kind) == level {
            self.chain(left, level, parts);
        } else {
            let left = if is_merge(left) && level != Level::When {
                self.parenthesised(left)
            } else {
                self.factor(left, level)
            };
            parts.push(left);
        }
        parts.push(Doc::Line);
        parts.push(text(format!("{op} ")));
        let right = match right {
            [right] if op.starts_with("along") && self.is_misread_axis(right) => self.parenthesised(right),
            [right] => self.factor(right, level),
            axes => {
                let axes = self.items(axes, |a| a.span, |f, a| f.expr(a, Level::If));
                bracketed("(", axes, ")", false)
            }
        };
        parts.push(right);
    }

    /// Whether an axis after `along` would be read differently without parentheses: `back` with a suffix as the word
    /// `back`, a parenthesis as the list of axes, and `_` as a name, since `_` is allowed only in that list.
    fn is_misread_axis(&self, axis: &Expr<'_>) -> bool {
        let is_part = matches!(axis.kind, ExprKind::Index { .. } | ExprKind::Field { .. });
        let begins_with_word = !matches!(axis.kind, ExprKind::Var(_)) && self.begins_with_back(axis);
        matches!(axis.kind, ExprKind::Hole) || begins_with_word || is_part && self.opens(axis)
    }

    /// An operand of an infix operator. `level` is the least level that needs no parentheses, before it is raised by
    /// The operand of an infix operator of level `level`, which must bind more tightly. Some operands with `when` or
    /// `post` get parentheses to help the reader.
    fn factor(&mut self, operand: &Expr<'_>, level: Level) -> Doc {
        let sampled = precedence::of(&operand.kind) == Level::When;
        let anticipated = matches!(operand.kind, ExprKind::Post(_));
        if sampled && level < Level::When || anticipated && level == Level::When {
            self.parenthesised(operand)
        } else {
            self.expr(operand, level.tighter())
        }
    }

    /// An expression that gets parentheses below `level` only to help the reader.
    fn clear(&mut self, expr: &Expr<'_>, level: Level) -> Doc {
        self.expr(expr, if self.deep { Level::If } else { level })
    }

    /// The parts of `if c then a else if d then b else e`, as one chain.
    fn conditional(&mut self, expr: &Expr<'_>) -> Vec<Doc> {
        let mut parts = Vec::new();
        let mut expr = expr;
        while let ExprKind::If { cond, then, other } = &expr.kind {
            parts.push(text("if "));
            parts.push(nest(2, self.clear(cond, Level::Or)));
            parts.push(Doc::Line);
            parts.push(text("then "));
            parts.push(nest(2, self.clear(then, Level::Or)));
            parts.push(Doc::Line);
            parts.push(text("else "));
            expr = other;
        }
        parts.push(nest(2, self.clear(expr, Level::Or)));
        parts
    }

    /// The parts of `a fby b fby back c`, as one chain.
    fn delayed(&mut self, expr: &Expr<'_>, parts: &mut Vec<Doc>) {
        let mut expr = expr;
        loop {
            let (init, next, op) = if let ExprKind::Fby { init, next } = &expr.kind {
                (init, next, "fby ")
            } else if let ExprKind::FbyBack { init, next } = &expr.kind {
                (init, next, "fby back ")
            } else {
                break;
            };
            let first =
                if is_marked(expr, init) { self.parenthesised(init) } else { self.expr(init, Level::Or) };
            parts.extend([first, Doc::Line, text(op)]);
            expr = next;
            // After `fby`, a name `back` with a suffix would be read as `fby back`.
            if op == "fby " && !matches!(next.kind, ExprKind::Var(_)) && self.begins_with_back(next) {
                let next = self.parenthesised(next);
                parts.push(next);
                return;
            }
        }
        let last = if is_merge(expr) { self.parenthesised(expr) } else { self.clear(expr, Level::Fby) };
        parts.push(last);
    }

    fn begins_with_back(&self, expr: &Expr<'_>) -> bool {
        let span = match &expr.kind {
            ExprKind::Var(_) => expr.span,
            ExprKind::Call { callee, .. } => callee.span,
            ExprKind::Binary(_, e, _)
            | ExprKind::When { value: e, .. }
            | ExprKind::Every { call: e, .. }
            | ExprKind::Restart { call: e, .. }
            | ExprKind::By { call: e, .. }
            | ExprKind::Along { call: e, .. }
            | ExprKind::Field { base: e, .. }
            | ExprKind::Fby { init: e, .. }
            | ExprKind::FbyBack { init: e, .. }
            | ExprKind::Index { base: e, .. } => return self.begins_with_back(e),
            _ => return false,
        };
        self.shown(span) == "back"
    }

    /// A `merge` with three operands.
    ///
    /// A name before a parenthesised operand can be read as a call. The number of operands excludes this reading,
    /// unless one of them is a call with one argument; then the name gets parentheses.
    fn merge(&mut self, operands: [&Expr<'_>; 3]) -> Doc {
        let calls = operands.iter().any(|o| is_unary_call(o));
        let mut docs = Vec::new();
        for (i, operand) in operands.iter().enumerate() {
            let name = matches!(operand.kind, ExprKind::Var(_));
            let exposed = name && operands.get(i + 1).is_some_and(|next| self.opens(next));
            let parenthesised = exposed && calls || i > 0 && self.misread(operand);
            docs.push(self.operand(operand, parenthesised));
        }
        merge_of(docs)
    }

    /// Whether an operand of `merge` after another operand could be read differently: `[a]` as an index, and a variable
    /// or node called `every` as the operator.
    fn misread(&self, operand: &Expr<'_>) -> bool {
        match &operand.kind {
            ExprKind::Array(_) => true,
            ExprKind::Index { base, .. } | ExprKind::Field { base, .. } => self.misread(base),
            ExprKind::Var(_) => is_operator(self.shown(operand.span)),
            ExprKind::Call { callee, .. } => is_operator(self.shown(callee.span)),
            _ => false,
        }
    }

    /// Whether an operand of `merge` is printed with a parenthesis first.
    fn opens(&self, operand: &Expr<'_>) -> bool {
        match &operand.kind {
            _ if self.misread(operand) || is_merge(operand) => true,
            ExprKind::Index { base, .. } | ExprKind::Field { base, .. } => self.opens(base),
            kind => precedence::of(kind) < Level::Postfix,
        }
    }

    fn operand(&mut self, operand: &Expr<'_>, parenthesised: bool) -> Doc {
        if parenthesised || is_merge(operand) {
            self.parenthesised(operand)
        } else {
            self.expr(operand, Level::Postfix)
        }
    }
}

/// Whether a name is an operator if operands come before and after it.
fn is_operator(name: &str) -> bool {
    matches!(name, "every" | "restart" | "by" | "along")
}

/// A first part and the parts after it, which are indented if the chain breaks.
fn chained(mut parts: Vec<Doc>) -> Doc {
    let rest = parts.split_off(1.min(parts.len()));
    parts.push(nest(2, Doc::Concat(rest)));
    group(parts)
}

fn merge_of(operands: Vec<Doc>) -> Doc {
    let mut parts = vec![text("merge ")];
    for (i, operand) in operands.into_iter().enumerate() {
        parts.extend((i > 0).then_some(Doc::Line));
        parts.push(operand);
    }
    chained(parts)
}

/// Whether the first value of a delay is in parentheses, as in `(x + 1.0) fby y`, to show that all of it is meant.
/// Without them, the warning `fby-operand` would ask for parentheses.
fn is_marked(delay: &Expr<'_>, init: &Expr<'_>) -> bool {
    let ExprKind::Binary(op, _, right) = &init.kind else { return false };
    let is_operation = precedence::binary(*op) != Level::Comparison;
    delay.span.start < init.span.start && is_operation && matches!(right.kind, ExprKind::Literal(_))
}

fn is_merge(expr: &Expr<'_>) -> bool {
    matches!(expr.kind, ExprKind::Merge { .. } | ExprKind::MergeOperands(_))
}

/// `f(x)`, `f(x)[i]`, `f(x).h`
fn is_unary_call(operand: &Expr<'_>) -> bool {
    match &operand.kind {
        ExprKind::Index { base, .. } | ExprKind::Field { base, .. } => is_unary_call(base),
        ExprKind::Call { args, .. } => args.len() == 1,
        _ => false,
    }
}

fn is_number(expr: &Expr<'_>) -> bool {
    match &expr.kind {
        ExprKind::Literal(Literal::Int(_) | Literal::Num(_)) => true,
        ExprKind::Unary(UnaryOp::Neg, operand) => is_number(operand),
        _ => false,
    }
}
