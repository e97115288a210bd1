//! Constants, families of variables, and the ranges of equations.

use super::{Parse, Parser, Reported};
use crate::ast::{BinaryOp, Decl, Equation, Expr, ExprKind, Ident, Lhs, Literal, Node, Range};
use crate::precedence::Level;
use crate::token::Kind;
use rml_base::codes::syntax as codes;
use rml_base::{Diagnostic, Span};

/// The maximum number of tokens between the brackets of a member. With more tokens, an equation is not recognised.
const MAX_MEMBER: usize = 64;

impl<'a> Parser<'_, 'a> {
    /// Whether `const name =` or `private const name =` is next.
    pub(super) fn at_const(&self) -> bool {
        let at = usize::from(self.is_word(0, "private"));
        let [name, eq] = [1, 2].map(|ahead| self.peek_at(at + ahead).kind);
        self.is_word(at, "const")
            && (name == Kind::Ident || name.is_keyword())
            && (matches!(eq, Kind::Eq | Kind::Colon) || self.is_typed(at + 1))
    }

    /// Whether the tokens from `ahead` on are of the form `int n =`, `float rate =`.
    fn is_typed(&self, ahead: usize) -> bool {
        let kinds = [0, 1, 2].map(|more| self.peek_at(ahead + more).kind);
        kinds == [Kind::Ident, Kind::Ident, Kind::Eq]
    }

    /// Parses `[private] const name = value;`.
    pub(super) fn constant(&mut self) -> Parse<Node<'a>> {
        let private = self.is_word(0, "private").then(|| self.take());
        let keyword = self.take();
        let start = private.unwrap_or(keyword);
        if self.kind().is_keyword() {
            let reported = self.name("the name of the constant").err().unwrap_or(Reported);
            self.next();
            return Err(reported);
        }
        let before = self.is_typed(0).then(|| self.take());
        let name = self.name("the name of the constant")?;
        if let Some(ty) = before {
            let blank = Span { end: name.span.start, ..ty };
            self.constant_type(name, ty, |d, help| d.fix(help, blank, ""));
        } else if self.kind() == Kind::Colon {
            self.typed_constant(name);
        }
        self.expect(Kind::Eq, "after the name of the constant", &[])?;
        let (rhs, parsed) = self.right_side();
        if parsed && self.eat(Kind::Semi).is_none() {
            if !(self.at_item_end() || self.at_equation()) {
                return Err(self.unexpected("an operator or `;`", &[]));
            }
            self.missing_semicolon("this constant");
        }
        let span = start.to(self.last_span());
        if self.at_equation() {
            self.equation_after_constant(span);
            self.skip_to_item();
        }
        Ok(self.constant_node(private, name, rhs, span))
    }

    /// Skips the type of a constant, and reports that a constant has none.
    fn typed_constant(&mut self, name: Ident) {
        let start = self.take();
        while !matches!(self.kind(), Kind::Eq | Kind::Semi | Kind::Eof) {
            self.next();
        }
        self.constant_type(name, start.to(self.last_span()), Diagnostic::help);
    }

    /// Reports that a constant has a type. `advise` adds the help.
    fn constant_type(&mut self, name: Ident, ty: Span, advise: impl Fn(Diagnostic, String) -> Diagnostic) {
        let text = self.names.resolve(&name.name);
        let end = self.find_from(0, |token| token.kind == Kind::Semi).filter(|_| self.kind() == Kind::Eq);
        let value = end.map(|end| self.written(1, end)).filter(|text| !text.contains('\n')).unwrap_or("..");
        let help = format!("write `const {text} = {value};`: the type is that of the value");
        let diagnostic =
            Diagnostic::error(codes::SYNTAX, "a constant has no type of its own").label(ty, "leave this out");
        let diagnostic = advise(diagnostic, help);
        self.report(diagnostic);
    }

    /// Reports an equation after a constant.
    fn equation_after_constant(&mut self, constant: Span) {
        let token = self.peek();
        let diagnostic = Diagnostic::error(codes::SYNTAX, "this equation is in no node")
            .label(self.span(token), "expected `node`, `const` or `import`")
            .label(constant, "the constant stands before it, and ends a node")
            .help("constants stand before or after nodes; in a node, leave `const` out: `n = 3;`");
        self.report(diagnostic);
    }

    /// The node without inputs that represents a constant.
    pub(super) fn constant_node(
        &self,
        private: Option<Span>,
        name: Ident,
        rhs: &'a Expr<'a>,
        span: Span,
    ) -> Node<'a> {
        let output = Decl { name, member: None, node: None, ty: None, clock: None, span: name.span };
        let equation = Equation { lhs: self.slice(&[Lhs::Var(output)]), rhs, range: None, span };
        Node {
            private,
            name,
            inputs: &[],
            outputs: self.slice(&[output]),
            equations: self.slice(&[equation]),
            header_span: span,
            span,
        }
    }

    /// Whether `assert` is next, before a condition or a possible name in quotes.
    pub(super) fn at_assert(&self) -> bool {
        let next = self.peek_at(1).kind;
        let is_name = matches!(next, Kind::Str | Kind::Ident | Kind::Not | Kind::True | Kind::False);
        self.is_word(0, "assert")
            && (is_name || next == Kind::LParen || matches!(next, Kind::Int | Kind::Num))
    }

    /// Parses `assert "name" c` into the two sides of an equation; the flag is false after an error.
    pub(super) fn assertion(&mut self) -> (&'a [Lhs<'a>], &'a Expr<'a>, bool) {
        let start = self.take();
        let lhs = self.slice(&[Lhs::Discard(start)]);
        let token = self.peek();
        let name = match self.eat(Kind::Str) {
            Some(_) => {
                let text = self.text_of(token).trim_matches('"');
                Ident { name: self.names.get_or_intern(text), span: self.span(token) }
            }
            None => {
                if self.assertion_name_last(start).is_some() {
                    self.eat(Kind::Semi);
                    return (lhs, self.bump.alloc(Expr { kind: ExprKind::Error, span: start }), false);
                }
                self.unexpected(
                    "the name of the property in quotes",
                    &["say what holds before the condition: `assert \"x is positive\" x > 0.0;`"],
                );
                Ident { name: self.names.get_or_intern(""), span: start }
            }
        };
        let (cond, parsed) = self.right_side();
        let span = start.to(cond.span);
        (lhs, self.bump.alloc(Expr { kind: ExprKind::Assert { name, cond }, span }), parsed)
    }

    /// Whether `share` is next, before the name of a shared instance.
    pub(super) fn at_share(&self) -> bool {
        self.is_word(0, "share") && self.peek_at(1).kind == Kind::Ident
    }

    /// Parses `share u = net;` or `share u = dense(8, _);`.
    pub(super) fn share(&mut self, start: Span) -> Parse<Equation<'a>> {
        self.take();
        let name = self.name("the name of the shared instance")?;
        let decl = Decl { name, member: None, node: None, ty: None, clock: None, span: name.span };
        if self.eat(Kind::Eq).is_none() {
            let help = "a shared instance is one of a node: `share u = net;`, `share u = dense(8, _);`";
            return Err(self.unexpected("`=`", &[help]));
        }
        let (node, parsed) = self.right_side();
        let rhs = match parsed {
            true => self.bump.alloc(Expr { kind: ExprKind::Share(node), span: node.span }),
            false => node,
        };
        if parsed && self.at_range(0) {
            let help = "a shared instance has no index; put the equations with an index into the node";
            return Err(self.unexpected("`;`", &[help]));
        }
        self.rest_of_equation(start, self.slice(&[Lhs::Var(decl)]), rhs, parsed)
    }

    /// Parses the word `node` in place of a type.
    pub(super) fn node_type(&mut self, interface: bool) -> Span {
        if !interface {
            let help = "a node is passed as an argument: `node twice(f: node, x) -> (o)`, `twice(g, x)`";
            self.unexpected("a type", &[help]);
        }
        self.take()
    }

    /// Whether an equation of a member, `h[..] =`, seems to begin here.
    pub(super) fn at_member(&self) -> bool {
        if self.kind() != Kind::Ident || self.peek_at(1).kind != Kind::LBracket {
            return false;
        }
        let mut depth = 0_usize;
        for ahead in 1..MAX_MEMBER {
            match self.peek_at(ahead).kind {
                Kind::LBracket | Kind::LParen => depth += 1,
                Kind::RBracket | Kind::RParen if depth <= 1 => {
                    // A comma or colon could also follow the shape of a type.
                    return self.peek_at(ahead + 1).kind == Kind::Eq;
                }
                Kind::RBracket | Kind::RParen => depth -= 1,
                Kind::Semi | Kind::Eof => return false,
                _ => {}
            }
        }
        false
    }

    /// Parses `[k + 1]` after a name on the left of an equation.
    pub(super) fn member(&mut self) -> Parse<Option<&'a Expr<'a>>> {
        if self.kind() != Kind::LBracket {
            return Ok(None);
        }
        let open = self.take();
        self.depth = 0;
        let index = self.expr()?;
        if matches!(self.kind(), Kind::Comma | Kind::Colon) {
            let help =
                "a family has one index, `h[k] = ..;`; for more, call a node that has a family of its own";
            return Err(self.unexpected("`]` after the index of the variable", &[help]));
        }
        self.close(Kind::RBracket, open, "an operator or `]`")?;
        Ok(Some(index.expr))
    }

    /// Whether the word `ahead` places further on begins the range of an equation.
    pub(super) fn at_range(&self, ahead: usize) -> bool {
        let next = self.peek_at(ahead + 1).kind;
        self.is_word(ahead, "for") && (next.starts_unary() || next.is_keyword())
    }

    /// Parses `for k < n` or `for 1 <= k < n`, if a range is next.
    pub(super) fn range(&mut self) -> Parse<Option<Range<'a>>> {
        if !self.at_range(0) {
            return Ok(None);
        }
        let start = self.take();
        self.depth = 0;
        let named = |p: &Self| p.peek_at(1).kind;
        let first = if self.kind() == Kind::Ident && matches!(named(self), Kind::Lt | Kind::Ident) {
            None
        } else {
            let first = self.infix(Level::Sum)?;
            if self.eat(Kind::Le).is_none() {
                return Err(self.no_range(start, false));
            }
            Some(first.expr)
        };
        if let Some(index) = first
            && let ExprKind::Var(name) = index.kind
            && !(self.kind() == Kind::Ident && matches!(named(self), Kind::Lt | Kind::Le))
        {
            return self.closed_range(start, None, Ident { name, span: index.span }).map(Some);
        }
        if first.is_some() && self.kind() != Kind::Ident {
            return Err(self.no_range(start, true));
        }
        let index = self.name("the index of the equation")?;
        if let Some(range) = self.range_of_call(start, index) {
            return range.map(Some);
        }
        if first.is_some() && self.eat(Kind::Le).is_some() {
            return self.closed_range(start, first, index).map(Some);
        }
        if self.eat(Kind::Lt).is_none() {
            return Err(self.no_range(start, first.is_some()));
        }
        let end = self.infix(Level::Sum)?.expr;
        if self.kind() == Kind::Comma {
            return Err(self.no_range(start, false));
        }
        Ok(Some(Range { index, first, end, span: start.to(self.last_span()) }))
    }

    /// Parses `for k <= n` or `for 1 <= k <= n`, with the bound next, and reports it.
    fn closed_range(&mut self, start: Span, first: Option<&'a Expr<'a>>, index: Ident) -> Parse<Range<'a>> {
        let sign = self.last_span();
        let bound = self.infix(Level::Sum)?;
        let text = self.text.get(bound.outer.range()).unwrap_or("n");
        let (kind, text) = match bound.expr.kind {
            ExprKind::Literal(Literal::Int(n)) => {
                let after = n.saturating_add(1);
                (ExprKind::Literal(Literal::Int(after)), after.to_string())
            }
            // Other bounds are written with `+ 1`.
            _ => {
                let one = Expr { kind: ExprKind::Literal(Literal::Int(1)), span: bound.outer };
                let one = self.bump.alloc(one);
                (ExprKind::Binary(BinaryOp::Add, bound.expr, one), format!("{text} + 1"))
            }
        };
        let end = self.bump.alloc(Expr { kind, span: bound.outer });
        let place = sign.to(bound.outer);
        let written = self.text.get(start.to(index.span).range()).unwrap_or("for k");
        let d = Diagnostic::error(codes::SYNTAX, "expected `<` before the bound of the index, found `<=`")
            .label(sign, "expected `<`")
            .note("the bound is not one of the indices")
            .fix(format!("write `{written} < {text}`"), place, format!("< {text}"));
        self.report(d);
        Ok(Range { index, first, end, span: start.to(bound.outer) })
    }

    /// Reports that the text after `for` is not a range.
    fn no_range(&mut self, start: Span, closed: bool) -> Reported {
        let found = self.found();
        let help = match self.kind() {
            _ if closed => "the bound is not one of the indices: write `for k < n + 1`",
            Kind::Comma => "an equation has one index; for more, call a node that has a family of its own",
            _ => "write `h[k] = .. for k < n;`, or `for 1 <= k < n` to begin at 1",
        };
        let message = format!("expected `k < n` after `for`, found {found}");
        let at = self.span(self.peek());
        self.report(
            Diagnostic::error(codes::SYNTAX, message)
                .label(at, "expected an index and its bound")
                .label(start, "the indices for which the equation stands")
                .help(help),
        )
    }
}
