//! Imports, nodes, declarations, equations, and where to continue after an error.

use super::types::dtype;
use super::{Lost, Parse, Parser, Reported};
use crate::ast::{
    ClockExpr, Decl, Equation, Expr, ExprKind, Ident, Import, ImportKind, ImportName, ImportPath, Item, Lhs,
    Node,
};
use crate::token::Kind;
use rml_base::codes::syntax as codes;
use rml_base::{Diagnostic, Span};

impl<'a> Parser<'_, 'a> {
    /// Parses the whole text.
    pub(super) fn items(&mut self) -> Vec<Item<'a>> {
        let mut items = Vec::new();
        while self.kind() != Kind::Eof {
            if self.loose_text() {
                continue;
            }
            let start = self.at;
            let importing = self.is_word(0, "import");
            let mut lost = if importing { Lost::Import } else { Lost::Node };
            let item = if self.at_node() {
                self.node().map(Item::Node)
            } else if self.at_const() {
                self.constant().map(Item::Const)
            } else if self.at_type("enum") {
                self.enumeration().map(Item::Enum)
            } else if self.at_type("record") {
                self.record().map(Item::Record)
            } else if self.at_columns() {
                self.columns().map(Item::Columns)
            } else if importing {
                self.import().map(Item::Import)
            } else {
                lost = Lost::Other;
                Err(self.stray_item())
            };
            match item {
                Ok(item) => items.push(item),
                Err(Reported) => {
                    self.skip_to_item();
                    self.lost_import |= importing;
                    self.lose(start, lost);
                }
            }
        }
        items
    }

    fn stray_item(&mut self) -> Reported {
        let constant = self.stray_constant();
        let constant = format!("a constant of the whole file begins with `const`: `{constant}`");
        let help: &[&str] = if self.at_equation() {
            &["equations follow the header of a node: `node name(inputs) -> (outputs)`", &constant]
        } else {
            &[
                "a program is a list of `import ..;`, `const name = ..;`, `enum name = ..;`, `record name = ..;`, `columns input = ..;` and `node name(inputs) -> (outputs) equations`",
            ]
        };
        let reported = self.unexpected("`node`, `const` or `import`", help);
        let foreign_import = self.is_word(0, "from");
        self.next();
        while foreign_import && !self.on_new_line() && self.kind() != Kind::Eof {
            self.next();
        }
        reported
    }

    /// The equation that is next, written as a constant.
    fn stray_constant(&self) -> String {
        let named = self.peek_at(1).kind == Kind::Eq;
        let end = self.find_from(0, |token| token.kind == Kind::Semi).filter(|_| named);
        let written = end.map(|end| self.written(0, end)).filter(|text| !text.contains('\n'));
        format!("const {};", written.unwrap_or("rate = 0.1"))
    }

    /// Whether there is a line break before the next token.
    fn on_new_line(&self) -> bool {
        let last = usize::try_from(self.last_span().end).unwrap_or(0);
        self.text.get(last..self.peek().start).is_some_and(|between| between.contains('\n'))
    }

    fn at_import(&self) -> bool {
        self.is_word(0, "import") && matches!(self.peek_at(1).kind, Kind::Ident | Kind::Str)
    }

    fn at_node(&self) -> bool {
        self.kind() == Kind::Node || self.is_word(0, "private") && self.peek_at(1).kind == Kind::Node
    }

    pub(super) fn at_item_end(&self) -> bool {
        self.kind() == Kind::Eof
            || self.at_node()
            || self.at_const()
            || self.at_import()
            || self.at_type("enum")
            || self.at_type("record")
            || self.at_columns()
    }

    /// Whether an equation seems to begin here.
    pub(super) fn at_equation(&self) -> bool {
        let first = self.kind() == Kind::Ident;
        let defines = matches!(self.peek_at(1).kind, Kind::Eq | Kind::Comma | Kind::Colon);
        first && (defines || self.at_assert() || self.at_share() || self.at_automaton() || self.at_member())
    }

    pub(super) fn skip_to_item(&mut self) {
        while !self.at_item_end() {
            self.next();
        }
    }

    /// Skips up to the position after the next `;`, or before the next item.
    pub(super) fn skip_equation(&mut self) {
        while !self.at_item_end() {
            if self.next().kind == Kind::Semi {
                break;
            }
        }
    }

    /// Parses a name that is declared or used as one.
    pub(super) fn name(&mut self, what: &str) -> Parse<Ident> {
        let token = self.peek();
        if token.kind == Kind::If
            && let Some(reported) = self.conditional_equation()
        {
            return Err(reported);
        }
        if token.kind.is_keyword() {
            let text = self.text_of(token);
            let diagnostic = Diagnostic::error(
                codes::KEYWORD_AS_NAME,
                format!("`{text}` is a keyword and cannot be a name"),
            )
            .label(self.span(token), format!("expected {what}"))
            .help(match token.kind {
                Kind::If | Kind::Else => "a condition is an expression: `x = if c then a else b;`".to_owned(),
                _ => format!("choose another name, such as `{text}_`"),
            });
            return Err(self.report(diagnostic));
        }
        if token.kind != Kind::Ident {
            return Err(self.unexpected(what, &[]));
        }
        if self.text_of(token) == "_" {
            return Err(self.underscore(what));
        }
        self.next();
        Ok(self.intern(token))
    }

    fn import(&mut self) -> Parse<Import<'a>> {
        let start = self.take();
        let path = if let Some(token) = self.eat(Kind::Str) {
            let text = self.text.get(token.start + 1..token.end.saturating_sub(1)).unwrap_or("");
            ImportPath::File { path: self.bump.alloc_str(text), span: self.span(token) }
        } else if self.kind() == Kind::Ident || self.kind().is_keyword() {
            let mut path = vec![self.name("the name of a library module")?];
            while self.eat(Kind::Dot).is_some() {
                path.push(self.name("the name of a library module")?);
            }
            ImportPath::Library(self.slice(&path))
        } else {
            return Err(self.unexpected(
                "what to import",
                &["write `import std.layers;` for a library module, `import \"cells.rml\";` for a file"],
            ));
        };
        let kind = if self.kind() == Kind::LParen {
            self.import_names()?
        } else if self.is_word(0, "as") {
            self.next();
            ImportKind::Qualified(self.name("a name for what is imported")?)
        } else if let Some(reported) = self.joined_imports(start) {
            return Err(reported);
        } else {
            ImportKind::Whole
        };
        if self.eat(Kind::Semi).is_none() {
            if !self.at_item_end() {
                return Err(self.unexpected("`;` after the import", &[]));
            }
            self.missing_semicolon("this import");
        }
        Ok(Import { path, kind, span: start.to(self.last_span()) })
    }

    /// Parses `(name [as name], ..)`.
    fn import_names(&mut self) -> Parse<ImportKind<'a>> {
        let open = self.take();
        let mut names = Vec::new();
        while self.kind() != Kind::RParen {
            let name = self.name("the name of a node to import")?;
            let renamed = self.is_word(0, "as");
            if renamed {
                self.next();
            }
            let alias = renamed.then(|| self.name("another name for the node")).transpose()?;
            names.push(ImportName { name, alias });
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        self.close(Kind::RParen, open, "`,` or `)` after the imported names")?;
        Ok(ImportKind::Names(self.slice(&names)))
    }

    fn node(&mut self) -> Parse<Node<'a>> {
        let private = self.is_word(0, "private").then(|| self.take());
        let keyword = self.take();
        let start = private.unwrap_or(keyword);
        let (name, inputs, outputs) = match self.header() {
            Ok(header) => header,
            Err(Reported) => {
                // The equations are parsed anyway, to report their own errors.
                while !(self.at_item_end() || self.at_equation() && self.peek_at(1).kind != Kind::Colon) {
                    self.next();
                }
                self.outputs = &[];
                self.equations();
                return Err(Reported);
            }
        };
        let header_span = start.to(self.last_span());
        self.outputs = outputs;
        if self.kind() == Kind::Semi {
            self.unexpected("an equation or the next node", &["the header of a node does not end with `;`"]);
            self.next();
        }
        let equations = self.equations();
        let span = start.to(self.last_span());
        Ok(Node { private, name, inputs, outputs, equations: self.slice(&equations), header_span, span })
    }

    #[allow(clippy::type_complexity, reason = "the three parts of a header")]
    fn header(&mut self) -> Parse<(Ident, &'a [Decl<'a>], &'a [Decl<'a>])> {
        let name = self.name("the name of the node")?;
        let inputs = self.decls("the list of inputs")?;
        let colon = self.kind() == Kind::Colon;
        if self.eat(Kind::Arrow).is_none() {
            let at = self.diagnostics.len();
            self.unexpected(
                "`->` before the list of outputs",
                &["a node is written `node name(inputs) -> (outputs)`; without outputs: `-> ()`"],
            );
            // The colon after the list is another mistake; the outputs are missing in either case.
            if let Some(diagnostic) = self.diagnostics.get_mut(at).filter(|_| colon) {
                diagnostic.help = vec![COLON.to_owned()];
                return Err(Reported);
            }
            // Skips up to two tokens in the place of the arrow: `=> (`, `returns (`.
            for _ in 0..2 {
                if matches!(self.kind(), Kind::Ident | Kind::Eq | Kind::Gt | Kind::Minus | Kind::Colon) {
                    self.next();
                }
            }
        }
        let outputs = self.decls("the list of outputs")?;
        Ok((name, inputs, outputs))
    }

    /// Parses `(decl, ..)`.
    pub(super) fn decls(&mut self, what: &str) -> Parse<&'a [Decl<'a>]> {
        let open = self.expect(Kind::LParen, &format!("before {what}"), &[])?;
        let mut decls = Vec::new();
        while self.kind() != Kind::RParen {
            decls.push(self.decl(true)?);
            if self.eat(Kind::Comma).is_none() {
                if self.kind() == Kind::When {
                    return Err(self.unexpected(&format!("`,` or `)` after {what}"), &[ONE_CONDITION]));
                }
                if self.kind() != Kind::Ident || self.at_equation() && self.peek_at(1).kind == Kind::Eq {
                    break;
                }
                self.unexpected(&format!("`,` or `)` after {what}"), &[]);
            }
        }
        let closed = self.close(Kind::RParen, open, &format!("`,` or `)` after {what}"));
        // If a token follows that cannot be part of a list, the list has ended.
        if closed.is_ok() || self.kind() == Kind::Arrow || self.at_equation() || self.at_item_end() {
            return Ok(self.slice(&decls));
        }
        Err(Reported)
    }

    /// Parses `name [: type] [when [not] name]`.
    pub(super) fn decl(&mut self, interface: bool) -> Parse<Decl<'a>> {
        let name = self.name("a variable")?;
        let member = if interface { None } else { self.member()? };
        let typed = self.eat(Kind::Colon).is_some() || self.lacks_colon();
        let node = if typed && self.kind() == Kind::Node { Some(self.node_type(interface)) } else { None };
        let ty = if typed && node.is_none() { Some(self.ty()?) } else { None };
        let clock = if self.kind() == Kind::When { Some(self.clock(interface)?) } else { None };
        Ok(Decl { name, member, node, ty, clock, span: name.span.to(self.last_span()) })
    }

    /// Whether a type without its `:` is next; this is reported.
    fn lacks_colon(&mut self) -> bool {
        let token = self.peek();
        let is_type = dtype(self.text_of(token)).is_some() && self.peek_at(1).kind == Kind::LBracket;
        if is_type {
            self.unexpected("`:` before the type", &["a variable is declared `x: num [3]`"]);
        }
        is_type
    }

    fn clock(&mut self, interface: bool) -> Parse<ClockExpr> {
        if !interface {
            return Err(self.unexpected(
                "`=`",
                &["only inputs and outputs declare a clock; the clock of a local variable follows from its equation"],
            ));
        }
        let start = self.take();
        let positive = self.eat(Kind::Not).is_none();
        let cond = self.name("the condition: an input or output")?;
        Ok(ClockExpr { cond, positive, span: start.to(cond.span) })
    }

    /// Parses all equations of a node.
    fn equations(&mut self) -> Vec<Equation<'a>> {
        let mut equations = Vec::new();
        while !self.at_item_end() {
            if self.loose_text() || self.block_word() {
                continue;
            }
            let start = self.at;
            let equation = if self.at_return() { self.returned() } else { self.equation() };
            match equation {
                Ok(equation) => equations.push(equation),
                Err(Reported) => {
                    self.skip_equation();
                    self.lose(start, Lost::Equation);
                }
            }
        }
        equations
    }

    pub(super) fn equation(&mut self) -> Parse<Equation<'a>> {
        let start = self.span(self.peek());
        if !matches!(self.kind(), Kind::Ident) && !self.kind().is_keyword() {
            let help: &[&str] = match self.kind() {
                Kind::LParen => {
                    &["the left side of an equation has no parentheses: `low, high = limits(x);`"]
                }
                _ => &[],
            };
            return Err(self.unexpected("an equation or the next node", help));
        }
        if self.at_assert() {
            let (lhs, rhs, parsed) = self.assertion();
            return self.rest_of_equation(start, lhs, rhs, parsed);
        }
        if self.at_share() {
            return self.share(start);
        }
        if self.at_automaton() {
            return self.automaton(start);
        }
        if let Some(looped) = self.for_loop() {
            return looped;
        }
        if let Some(reported) = self.match_statement() {
            return Err(reported);
        }
        let mut lhs = Vec::new();
        loop {
            if self.is_word(0, "_") {
                lhs.push(Lhs::Discard(self.span(self.peek())));
                self.next();
            } else {
                lhs.push(Lhs::Var(self.decl(false)?));
            }
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        let lhs = self.slice(&lhs);
        if self.eat(Kind::Eq).is_none() {
            let help: &[&str] = match self.kind() {
                Kind::EqEq => &["an equation is written with `=`; `==` compares"],
                Kind::LParen => &["a call belongs on the right of an equation; `_ = f(x);` drops its result"],
                _ => &["an equation is written `name = expression;`"],
            };
            return Err(self.unexpected("`=`", help));
        }
        let (rhs, parsed) = self.right_side();
        self.rest_of_equation(start, lhs, rhs, parsed)
    }

    /// Parses the range of indices after a right side, and the `;`.
    pub(super) fn rest_of_equation(
        &mut self,
        start: Span,
        lhs: &'a [Lhs<'a>],
        mut rhs: &'a Expr<'a>,
        parsed: bool,
    ) -> Parse<Equation<'a>> {
        let range = if parsed { self.range()? } else { None };
        if parsed && self.eat(Kind::Semi).is_none() {
            let ends_here = self.at_item_end() || self.at_equation() || self.at_state_part();
            if ends_here && !self.is_foreign(self.at.wrapping_sub(1)) {
                self.missing_semicolon("this equation");
            } else {
                let is_named = self.at_end_of_let();
                self.unexpected("an operator or `;`", self.after_expr_help());
                if is_named {
                    self.next();
                } else {
                    self.skip_equation();
                    rhs =
                        self.bump.alloc(Expr { kind: ExprKind::Error, span: rhs.span.to(self.last_span()) });
                }
            }
        }
        Ok(Equation { lhs, rhs, range, span: start.to(self.last_span()) })
    }

    /// Parses the right side. After an error, skips the rest of the equation and returns false in the flag.
    pub(super) fn right_side(&mut self) -> (&'a Expr<'a>, bool) {
        let start = self.span(self.peek());
        self.depth = 0;
        match self.expr() {
            Ok(tree) => (tree.expr, true),
            Err(Reported) => {
                self.skip_equation();
                let span = start.to(self.last_span());
                (self.bump.alloc(Expr { kind: ExprKind::Error, span }), false)
            }
        }
    }

    /// Advice for a token that cannot follow an expression.
    fn after_expr_help(&self) -> &'static [&'static str] {
        match self.kind() {
            Kind::Eq => &["`==` compares; `=` is used only between the two sides of an equation"],
            Kind::RParen | Kind::RBracket => &["there is no bracket that this could close"],
            Kind::Comma => &["only the left side of an equation can have several results: `a, b = f(x);`"],
            Kind::Ident | Kind::Int | Kind::Num => {
                &["a call has parentheses, `f(x)`; two operands need an operator between them"]
            }
            Kind::Else => &["`else` belongs to `if c then a else b`; put parentheses around an inner `if`"],
            _ => &[],
        }
    }
}

/// The help for `node f(x):`.
const ONE_CONDITION: &str =
    "a clock is one condition, which may have a clock itself: `c: bool [] when d, x: num [] when c`";
const COLON: &str = "a node names its outputs, and has no colon: `node f(x) -> (y)`; its equations follow directly, `y = ..;`";
