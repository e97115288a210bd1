//! Expressions. There is one function per kind of level of [`crate::precedence`], loosest first; the infix operators
//! share one function.

use super::{Parse, Parser, Tree};
use crate::ast::{BinaryOp, Expr, ExprKind, Ident, IndexExpr, Literal, Suffix, UnaryOp};
use crate::precedence::{self, Level};
use crate::token::Kind;
use rml_base::codes::syntax as codes;
use rml_base::{Diagnostic, Span};

/// The function whose arguments may be slices.
const UNINDEX: &str = "unindex";

/// The entries of an index list, and the height of the highest one.
type Indices<'a> = (&'a [IndexExpr<'a>], usize);

impl<'a> Parser<'_, 'a> {
    /// Parses any expression.
    pub(super) fn expr(&mut self) -> Parse<Tree<'a>> {
        self.deeper(|p| if p.kind() == Kind::If { p.conditional() } else { p.delayed() })
    }

    /// Parses `if c then a else b`.
    fn conditional(&mut self) -> Parse<Tree<'a>> {
        let start = self.take();
        let cond = self.expr()?;
        let eq_help: &[&str] = if self.kind() == Kind::Eq { &["`==` compares"] } else { &[] };
        self.expect(Kind::Then, "after the condition of `if`", eq_help)?;
        let then = self.expr()?;
        self.expect(Kind::Else, "", &["an `if` always has both branches: `if c then a else b`"])?;
        let other = self.expr()?;
        let below = cond.height.max(then.height).max(other.height);
        let kind = ExprKind::If { cond: cond.expr, then: then.expr, other: other.expr };
        self.tree(kind, start.to(other.outer), below)
    }

    /// Parses `a`, `a fby b` or `a fby back b`.
    fn delayed(&mut self) -> Parse<Tree<'a>> {
        let init = self.infix(Level::Or)?;
        if self.eat(Kind::Fby).is_none() {
            return Ok(init);
        }
        let back = self.is_word(0, "back") && self.peek_at(1).kind.starts_expr() && !self.at_range(1);
        if back {
            self.next();
        }
        let next = self.expr()?;
        let (i, n) = (init.expr, next.expr);
        let kind =
            if back { ExprKind::FbyBack { init: i, next: n } } else { ExprKind::Fby { init: i, next: n } };
        self.tree(kind, init.outer.to(next.outer), init.height.max(next.height))
    }

    /// Parses infix operators that bind at least as tightly as `min`.
    pub(super) fn infix(&mut self, min: Level) -> Parse<Tree<'a>> {
        let mut left = self.sampled()?;
        while let Some(op) = binary_op(self.kind()) {
            let level = precedence::binary(op);
            if level < min {
                break;
            }
            self.next();
            let right = self.infix(level.tighter())?;
            let kind = ExprKind::Binary(op, left.expr, right.expr);
            left = self.tree(kind, left.outer.to(right.outer), left.height.max(right.height))?;
        }
        Ok(left)
    }

    /// Parses `x when c`, `f(x) every end`, `f(x) restart r`, `f(x) by g` or `f(x) along 0`.
    fn sampled(&mut self) -> Parse<Tree<'a>> {
        let mut left = self.unary()?;
        loop {
            if self.at_operator("along") {
                left = self.along(left)?;
                continue;
            }
            let [every, restart, by] = ["every", "restart", "by"].map(|word| self.at_operator(word));
            if !every && !restart && !by && self.kind() != Kind::When {
                return Ok(left);
            }
            self.next();
            let right = self.unary()?;
            let (l, r) = (left.expr, right.expr);
            let kind = match (every, restart, by) {
                (true, ..) => ExprKind::Every { call: l, end: r },
                (_, true, _) => ExprKind::Restart { call: l, cond: r },
                (.., true) => ExprKind::By { call: l, rule: r },
                _ => ExprKind::When { value: l, cond: r },
            };
            left = self.tree(kind, left.outer.to(right.outer), left.height.max(right.height))?;
        }
    }

    /// Parses the rest of `f(x) along 0` or `f(x, c) along back (0, _)`, with `along` next.
    fn along(&mut self, call: Tree<'a>) -> Parse<Tree<'a>> {
        self.next();
        let back = self.is_word(0, "back") && self.peek_at(1).kind.starts_unary() && !self.at_range(1);
        if back {
            self.next();
        }
        if self.kind() == Kind::Ident && self.peek_at(1).kind == Kind::Eq {
            self.named_axis();
        }
        let (axes, height, end) = if self.kind() == Kind::LParen {
            self.args("along")?
        } else {
            let axis = self.unary()?;
            (self.slice(&[*axis.expr]), axis.height, axis.outer)
        };
        let kind = ExprKind::Along { call: call.expr, back, axes };
        self.tree(kind, call.outer.to(end), call.height.max(height))
    }

    /// Whether the next word, such as `every` or `by`, is an operator here.
    pub(super) fn at_operator(&self, word: &str) -> bool {
        self.is_word(0, word) && self.peek_at(1).kind.starts_unary() && !self.at_range(1)
    }

    /// Parses `- x`, `not x` or `post x`.
    fn unary(&mut self) -> Parse<Tree<'a>> {
        let op = self.peek();
        if !matches!(op.kind, Kind::Minus | Kind::Not | Kind::Post) {
            return self.postfix();
        }
        self.next();
        let operand = self.deeper(Self::unary)?;
        let kind = match op.kind {
            Kind::Minus => ExprKind::Unary(UnaryOp::Neg, operand.expr),
            Kind::Not => ExprKind::Unary(UnaryOp::Not, operand.expr),
            _ => ExprKind::Post(operand.expr),
        };
        self.tree(kind, self.span(op).to(operand.outer), operand.height)
    }

    /// Parses `a`, `a[i]`, `a[i][j]` or `a.h`.
    pub(super) fn postfix(&mut self) -> Parse<Tree<'a>> {
        let atom = self.atom()?;
        self.indexed(atom)
    }

    /// Parses index lists and fields after `base`.
    pub(super) fn indexed(&mut self, mut base: Tree<'a>) -> Parse<Tree<'a>> {
        while let Some((suffix, height)) = self.suffix()? {
            base = self.suffixed(base, suffix, height, self.last_span())?;
        }
        Ok(base)
    }

    /// Parses `[..]` or `.h`; also returns the height of its highest expression.
    pub(super) fn suffix(&mut self) -> Parse<Option<(Suffix<'a>, usize)>> {
        if self.kind() == Kind::LBracket {
            let (indices, height) = self.index_list()?;
            return Ok(Some((Suffix::Index(indices), height)));
        }
        if self.at_field() {
            self.next();
            let field = self.name("the name of a field")?;
            return Ok(Some((Suffix::Field(field), 0)));
        }
        Ok(None)
    }

    /// The tree of `base` with a suffix that ends at `end`.
    pub(super) fn suffixed(
        &mut self,
        base: Tree<'a>,
        suffix: Suffix<'a>,
        height: usize,
        end: Span,
    ) -> Parse<Tree<'a>> {
        let kind = match suffix {
            Suffix::Index(indices) => ExprKind::Index { base: base.expr, indices },
            Suffix::Field(field) => ExprKind::Field { base: base.expr, field },
        };
        self.tree(kind, base.outer.to(end), base.height.max(height))
    }

    /// Parses `[index, ..]`.
    fn index_list(&mut self) -> Parse<Indices<'a>> {
        let open = self.take();
        let mut indices = Vec::new();
        let mut height = 0;
        if self.kind() == Kind::RBracket {
            return Err(self.unexpected("an index", &["write `a[0]` for an entry, `a[1:3]` for a part"]));
        }
        while self.kind() != Kind::RBracket {
            let (index, h) = self.index()?;
            indices.push(index);
            height = height.max(h);
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        self.close(Kind::RBracket, open, "`,` or `]` after the index")?;
        Ok((self.slice(&indices), height))
    }

    /// Parses `k`, `lo:hi`, `lo:hi:step` or `..`.
    fn index(&mut self) -> Parse<(IndexExpr<'a>, usize)> {
        let start = self.span(self.peek());
        if self.eat(Kind::DotDot).is_some() {
            return Ok((IndexExpr::Ellipsis(start), 0));
        }
        let mut parts: [Option<Tree<'a>>; 3] = [None; 3];
        let mut colons = 0;
        for part in &mut parts {
            if !matches!(self.kind(), Kind::Colon | Kind::Comma | Kind::RBracket | Kind::RParen) {
                *part = Some(self.expr()?);
            }
            if colons == 2 || self.eat(Kind::Colon).is_none() {
                break;
            }
            colons += 1;
        }
        let height = parts.iter().flatten().map(|t| t.height).max().unwrap_or(0);
        let [lo, hi, step] = parts.map(|p| p.map(|t| t.expr));
        match (colons, lo) {
            (0, Some(at)) => Ok((IndexExpr::At(at), height)),
            (0, None) => Err(self.unexpected("an index", &[])),
            _ => Ok((IndexExpr::Slice { lo, hi, step, span: start.to(self.last_span()) }, height)),
        }
    }

    fn atom(&mut self) -> Parse<Tree<'a>> {
        self.foreign_operand()?;
        let token = self.peek();
        let span = self.span(token);
        match token.kind {
            Kind::Int | Kind::Num => self.number(),
            Kind::True | Kind::False => {
                self.next();
                self.tree(ExprKind::Literal(Literal::Bool(token.kind == Kind::True)), span, 0)
            }
            Kind::Str => {
                self.next();
                let text = self.text_of(token).trim_matches('"');
                let text = self.names.get_or_intern(text);
                self.tree(ExprKind::Text(text), span, 0)
            }
            Kind::Merge => self.merge(),
            Kind::LParen => self.parenthesised(),
            Kind::LBracket => {
                let (dims, height, span) = self.dims()?;
                self.tree(ExprKind::Array(dims), span, height)
            }
            Kind::Ident if self.text_of(token) == "_" => Err(self.underscore("an expression")),
            Kind::Ident => {
                if self.at_match() {
                    return self.matched();
                }
                if let Some(callee) = self.callee() {
                    let (args, height, args_span) = self.args(self.text_of(token))?;
                    return self.tree(ExprKind::Call { callee, args }, span.to(args_span), height);
                }
                self.next();
                if self.kind() == Kind::Dot && !self.at_field() {
                    let help = match self.peek_at(1).kind {
                        Kind::Star => "all operators work element by element: write `x * y`",
                        Kind::Slash => "all operators work element by element: write `x / y`",
                        _ => {
                            "`s.h` is the field `h` of a record, and `cell.step(x)` calls node `step` of `import .. as cell;`, both without blanks"
                        }
                    };
                    return Err(self.unexpected("an operator or `;`", &[help]));
                }
                let name = self.symbol(token);
                self.tree(ExprKind::Var(name), span, 0)
            }
            _ => Err(self.not_an_operand()),
        }
    }

    /// The number of tokens in the name of a called node that is next, `step` or `cell.step`, if `(` follows. The name
    /// must not contain blanks, so that no comment can be inside it.
    pub(super) fn callee_length(&self) -> Option<usize> {
        let [first, dot, last, behind] = [0, 1, 2, 3].map(|ahead| self.peek_at(ahead));
        let adjacent = first.end == dot.start && dot.end == last.start;
        match (first.kind, dot.kind, last.kind, behind.kind) {
            (Kind::Ident, Kind::LParen, ..) if !self.at_cases(1) => Some(1),
            (Kind::Ident, Kind::Dot, Kind::Ident, Kind::LParen) if adjacent && !self.at_cases(3) => Some(3),
            _ => None,
        }
    }

    /// Parses the name of a called node, up to the parenthesis.
    fn callee(&mut self) -> Option<Ident> {
        let length = self.callee_length()?;
        let first = self.next();
        let ident = self.intern(first);
        if length == 1 {
            return Some(ident);
        }
        self.next();
        let last = self.next();
        let name = format!("{}.{}", self.text_of(first), self.text_of(last));
        Some(Ident { name: self.names.get_or_intern(name), span: ident.span.to(self.span(last)) })
    }

    fn not_an_operand(&mut self) -> super::Reported {
        let help: &[&str] = match self.kind() {
            Kind::If => &["put parentheses around `if .. then .. else ..` when it is an operand"],
            Kind::EqEq | Kind::Eq => &["`==` compares two expressions; `=` stands once in an equation"],
            Kind::Slash => &["comments are written `-- to the end of the line` or `(* .. *)`"],
            Kind::Star => &[
                "a comment `(* .. *)` that is closed must have been opened; `*` needs an operand on its left",
            ],
            Kind::Fby => &["`fby` needs an initial value on its left: `0 fby x`"],
            Kind::When => &["`when` needs a value on its left: `x when c`"],
            Kind::DotDot => {
                &["`name..` stands for several dimensions in a shape, `..` for several axes in an index"]
            }
            _ => &[],
        };
        self.unexpected("an expression", help)
    }

    pub(super) fn parenthesised(&mut self) -> Parse<Tree<'a>> {
        let of_merge = self.at.checked_sub(1).is_some_and(|i| self.tokens[i].kind == Kind::Merge);
        let open = self.take();
        let inner = self.expr()?;
        if self.kind() == Kind::Comma {
            let help = match of_merge {
                true => "`merge` is no call: its operands stand next to each other, `merge c a b`",
                false => {
                    "there are no tuples: a shape or an array has brackets, `[3, 4]`, and several values stand only between the parentheses of a call"
                }
            };
            return Err(self.unexpected("`)`", &[help]));
        }
        let close = self.close(Kind::RParen, open, "an operator or `)`")?;
        Ok(Tree { outer: open.to(close), ..inner })
    }

    /// Parses `(a, b)`. Returns the arguments, the height of the highest one, and the place.
    pub(super) fn args(&mut self, callee: &str) -> Parse<(&'a [Expr<'a>], usize, Span)> {
        let open = self.take();
        let mut args = Vec::new();
        let mut height = 0;
        while self.kind() != Kind::RParen {
            let tree = self.argument(callee)?;
            height = height.max(tree.height);
            args.push(*tree.expr);
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        let close = self.close(Kind::RParen, open, "`,` or `)` after the arguments")?;
        Ok((self.slice(&args), height, open.to(close)))
    }

    /// Parses an argument of a function; one of `unindex` may be an entry of an index list.
    pub(super) fn argument(&mut self, callee: &str) -> Parse<Tree<'a>> {
        let ends = matches!(self.peek_at(1).kind, Kind::Comma | Kind::RParen);
        if self.is_word(0, "_") && ends {
            let span = self.take();
            return self.tree(ExprKind::Hole, span, 0);
        }
        if callee != UNINDEX {
            return self.expr();
        }
        let (index, height) = self.index()?;
        match index {
            IndexExpr::At(expr) => Ok(Tree { expr, height, outer: expr.span }),
            IndexExpr::Slice { span, .. } | IndexExpr::Ellipsis(span) => {
                let index = &self.slice(&[index])[0];
                self.tree(ExprKind::Entry(index), span, height)
            }
        }
    }

    fn number(&mut self) -> Parse<Tree<'a>> {
        let token = self.next();
        let span = self.span(token);
        let text = self.text_of(token);
        // A literal that is invalid for another reason than its size has been reported by the lexer.
        let malformed = match token.kind {
            Kind::Int => text.bytes().any(|b| !b.is_ascii_digit()),
            _ => text.parse::<f64>().is_err(),
        };
        if malformed {
            return self.tree(ExprKind::Error, span, 0);
        }
        let literal = if token.kind == Kind::Int {
            text.parse().ok().map(Literal::Int)
        } else {
            text.parse().ok().filter(|v: &f64| v.is_finite()).map(Literal::Num)
        };
        let Some(literal) = literal else {
            let (name, limit) = match token.kind {
                Kind::Int => ("int", i64::MAX.to_string()),
                _ => ("num", format!("{:e}", f64::MAX)),
            };
            let diagnostic = Diagnostic::error(codes::NUMBER_OUT_OF_RANGE, format!("this literal is too large for `{name}`"))
                .label(span, format!("expected at most {limit}"))
                .help("an `int` has 64 bits with a sign; write a `num` with a dot or an exponent for larger numbers");
            return Err(self.report(diagnostic));
        };
        self.tree(ExprKind::Literal(literal), span, 0)
    }
}

fn binary_op(kind: Kind) -> Option<BinaryOp> {
    Some(match kind {
        Kind::Or => BinaryOp::Or,
        Kind::And => BinaryOp::And,
        Kind::EqEq => BinaryOp::Eq,
        Kind::Ne => BinaryOp::Ne,
        Kind::Lt => BinaryOp::Lt,
        Kind::Le => BinaryOp::Le,
        Kind::Gt => BinaryOp::Gt,
        Kind::Ge => BinaryOp::Ge,
        Kind::Plus => BinaryOp::Add,
        Kind::Minus => BinaryOp::Sub,
        Kind::Star => BinaryOp::Mul,
        Kind::Slash => BinaryOp::Div,
        _ => return None,
    })
}
