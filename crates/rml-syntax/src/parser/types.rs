//! Types, enumerations and records, `match`, and fields.

use super::{Parse, Parser, Reported, Tree};
use crate::ast::{DTypeName, Dim, Enum, Expr, ExprKind, Ident, Literal, MatchCase, Node, TypeExpr};
use crate::token::Kind;
use rml_base::codes::syntax as codes;
use rml_base::{Diagnostic, Span};

/// The maximum number of tokens before the cases of a `match`. With more tokens, the `match` is not recognised.
const MAX_VALUE: usize = 64;

impl<'a> Parser<'_, 'a> {
    /// Whether the definition of an enumeration or record begins here: `enum name =`.
    pub(super) fn at_type(&self, word: &str) -> bool {
        let at = usize::from(self.is_word(0, "private"));
        let [name, eq] = [1, 2].map(|ahead| self.peek_at(at + ahead).kind);
        self.is_word(at, word) && (name == Kind::Ident || name.is_keyword()) && eq == Kind::Eq
    }

    /// Parses the head of `[private] enum name =`. Returns its beginning, the word `private`, and the name.
    fn type_head(&mut self, what: &str) -> Parse<(Span, Option<Span>, Ident)> {
        let private = self.is_word(0, "private").then(|| self.take());
        let keyword = self.take();
        if self.kind().is_keyword() {
            let reported = self.name(what).err().unwrap_or(Reported);
            self.next();
            return Err(reported);
        }
        let name = self.name(what)?;
        self.next();
        Ok((private.unwrap_or(keyword), private, name))
    }

    /// Parses the `;` after an enumeration or record.
    fn type_end(&mut self, what: &str, expected: &str, help: &[&str]) -> Parse<()> {
        if self.eat(Kind::Semi).is_some() {
            return Ok(());
        }
        if !self.at_item_end() {
            return Err(self.unexpected(expected, help));
        }
        self.missing_semicolon(what);
        Ok(())
    }

    /// Parses `[private] enum name = Case, Case;`.
    pub(super) fn enumeration(&mut self) -> Parse<Enum<'a>> {
        let (start, private, name) = self.type_head("the name of the enumeration")?;
        let mut names = Vec::new();
        loop {
            names.push(self.name("the name of a case")?);
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        let help = "an enumeration lists the names of its cases: `enum phase = Idle, Heat;`";
        self.type_end("this enumeration", "`,` or `;` after the name of a case", &[help])?;
        let span = start.to(self.last_span());
        let cases: Vec<Node<'a>> =
            (0..).zip(&names).map(|(value, name)| self.case(private, *name, value)).collect();
        let node = Node { private, name, inputs: &[], outputs: &[], equations: &[], header_span: span, span };
        Ok(Enum { node, cases: self.slice(&cases) })
    }

    /// The constant that represents a case.
    fn case(&self, private: Option<Span>, name: Ident, value: i64) -> Node<'a> {
        let rhs = self.bump.alloc(Expr { kind: ExprKind::Literal(Literal::Int(value)), span: name.span });
        self.constant_node(private, name, rhs, name.span)
    }

    /// Parses `[private] record name = (field: type, ..);`.
    pub(super) fn record(&mut self) -> Parse<Node<'a>> {
        let (start, private, name) = self.type_head("the name of the record")?;
        let fields = self.decls("the list of fields")?;
        for field in fields {
            let d = match (field.ty, field.clock) {
                (None, _) => {
                    let message = "expected a type after the field, found none";
                    let name = self.text.get(field.name.span.range()).unwrap_or("x").to_owned();
                    Diagnostic::error(codes::SYNTAX, message)
                        .label(field.span, "expected `: type` after this")
                        .help(format!("each field of a record has a type: `{name}: num []`"))
                }
                (Some(_), Some(clock)) => {
                    Diagnostic::error(codes::SYNTAX, "expected `,` or `)` after the type, found a clock")
                        .label(clock.span, "a field has no clock of its own")
                        .help("each variable of a field has the clock of what it is made of")
                }
                (Some(_), None) => continue,
            };
            self.report(d);
        }
        let help = "a record lists its fields: `record state = (h: num [n], c: num [n]);`";
        self.type_end("this record", "`;` after the list of fields", &[help])?;
        let span = start.to(self.last_span());
        Ok(Node { private, name, inputs: fields, outputs: fields, equations: &[], header_span: span, span })
    }

    /// Whether `.name` is next, directly after the token to which it belongs.
    pub(super) fn at_field(&self) -> bool {
        let [dot, name] = [0, 1].map(|ahead| self.peek_at(ahead));
        let last = usize::try_from(self.last_span().end).unwrap_or(0);
        let named = name.kind == Kind::Ident || name.kind.is_keyword();
        dot.kind == Kind::Dot && named && last == dot.start && dot.end == name.start
    }

    /// Parses a name that may be qualified by an import: `phase`, `nn.state`.
    pub(super) fn qualified(&mut self, what: &str) -> Parse<Ident> {
        let first = self.name(what)?;
        if !self.at_field() {
            return Ok(first);
        }
        self.next();
        let last = self.name(what)?;
        let span = first.span.to(last.span);
        let text = self.text.get(span.range()).unwrap_or("");
        Ok(Ident { name: self.names.get_or_intern(text), span })
    }

    /// Whether the cases of a `match` begin `ahead` places further on: `(Idle ->`.
    pub(super) fn at_cases(&self, ahead: usize) -> bool {
        let kinds = [0, 1, 2, 3, 4].map(|i| self.peek_at(ahead + i).kind);
        matches!(
            kinds,
            [Kind::LParen, Kind::Ident | Kind::Int | Kind::Num | Kind::True | Kind::False, Kind::Arrow, ..]
                | [Kind::LParen, Kind::Ident, Kind::Dot, Kind::Ident, Kind::Arrow]
        )
    }

    /// Whether the name `match` begins a choice here. Then a name or something in parentheses follows it, and after
    /// that the cases. After a name, text that was probably meant as cases is accepted too.
    pub(super) fn at_match(&self) -> bool {
        let parenthesised = self.peek_at(1).kind == Kind::LParen;
        if !self.is_word(0, "match") || !parenthesised && self.peek_at(1).kind != Kind::Ident {
            return false;
        }
        let mut depth = usize::from(parenthesised);
        for ahead in 2..MAX_VALUE {
            let [here, first, second] = [0, 1, 2].map(|i| self.peek_at(ahead + i).kind);
            let meant =
                matches!(second, Kind::Arrow | Kind::Ident | Kind::Colon | Kind::Eq) && !parenthesised;
            match here {
                Kind::LParen if depth == 0 && (self.at_cases(ahead) || first == Kind::Ident && meant) => {
                    return true;
                }
                Kind::LParen | Kind::LBracket => depth += 1,
                Kind::RParen | Kind::RBracket if depth > 0 => depth -= 1,
                Kind::Semi | Kind::Eof => return false,
                Kind::Dot => {}
                Kind::Ident if depth > 0 || self.peek_at(ahead - 1).kind == Kind::Dot => {}
                _ if depth > 0 => {}
                _ => return false,
            }
        }
        false
    }

    /// Parses `match p (Idle -> a, Heat -> b)`.
    pub(super) fn matched(&mut self) -> Parse<Tree<'a>> {
        let start = self.take();
        let value = self.postfix()?;
        let help = "the cases stand in parentheses: `match p (Idle -> a, Heat -> b)`";
        let open = self.expect(Kind::LParen, "before the cases of `match`", &[help])?;
        let (mut cases, mut height) = (Vec::new(), value.height);
        while self.kind() != Kind::RParen {
            if self.is_word(0, "_") {
                let help = "name each case: so a case that is added later is not forgotten here";
                return Err(self.unexpected("the name of a case", &[help]));
            }
            if matches!(self.kind(), Kind::Int | Kind::Num | Kind::True | Kind::False) {
                let help = "`match` chooses by the case of an enumeration; numbers are compared: `if a == 0 then x else if a == 1 then y else z`";
                return Err(self.unexpected("the name of a case", &[help]));
            }
            let case = self.qualified("the name of a case")?;
            if self.eat(Kind::Arrow).is_none() {
                return Err(self.unexpected("`->` after the name of the case", &[help]));
            }
            let tree = self.expr()?;
            height = height.max(tree.height);
            cases.push(MatchCase { case, value: *tree.expr });
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        let close = self.close(Kind::RParen, open, "`,` or `)` after the case")?;
        let kind = ExprKind::Match { value: value.expr, cases: self.slice(&cases) };
        self.tree(kind, start.to(close), height)
    }

    /// Parses `num [dims]`.
    pub(super) fn ty(&mut self) -> Parse<TypeExpr<'a>> {
        let token = self.peek();
        let name = self.text_of(token);
        let mut foreign = false;
        let dtype = if let Some(dtype) = dtype(name) {
            dtype
        } else if token.kind == Kind::Ident && name != "_" && foreign_dtype(name).is_none() {
            return self.named_type();
        } else {
            let meant = foreign_dtype(name).filter(|_| token.kind == Kind::Ident);
            let help: &[&str] = match meant {
                Some(DTypeName::Bool) => {
                    &["truth values are `bool [..]`, with a shape; `bool []` is a scalar"]
                }
                Some(DTypeName::Int) => &["integers are `int [..]`, with a shape; `int []` is a scalar"],
                Some(DTypeName::Num | DTypeName::Named(_)) => {
                    &["floating point numbers are `num [..]`, with a shape; `num []` is a scalar"]
                }
                None => {
                    &["types are `bool [..]`, `int [..]` and `num [..]` with a shape; `num []` is a scalar"]
                }
            };
            let reported = self.unexpected("a type", help);
            foreign = true;
            meant.ok_or(reported)?
        };
        self.next();
        let start = self.span(token);
        if self.kind() != Kind::LBracket && foreign {
            return Ok(TypeExpr { dtype, dims: &[], span: start });
        }
        if self.kind() != Kind::LBracket {
            let help = match self.kind() {
                Kind::LParen => {
                    format!("a shape stands in brackets: `{name} [4]`; that of a scalar is `{name} []`")
                }
                _ => format!("a scalar is written with an empty shape: `{name} []`"),
            };
            self.unexpected("`[` before the shape", &[&help]);
            return Ok(TypeExpr { dtype, dims: &[], span: start });
        }
        if self.peek_at(1).kind == Kind::Minus {
            self.next();
            return Err(self.unexpected("a dimension", &[NAMED_DIMENSION]));
        }
        let (dims, _, span) = self.dims()?;
        Ok(TypeExpr { dtype, dims, span: start.to(span) })
    }

    /// Parses `phase`, `phase [4]` or `nn.state`: the name of an enumeration or record.
    fn named_type(&mut self) -> Parse<TypeExpr<'a>> {
        let name = self.qualified("the name of a type")?;
        let dtype = DTypeName::Named(name);
        if self.kind() != Kind::LBracket {
            return Ok(TypeExpr { dtype, dims: &[], span: name.span });
        }
        let (dims, _, span) = self.dims()?;
        Ok(TypeExpr { dtype, dims, span: name.span.to(span) })
    }

    /// Parses `[dim, ..]`. Returns the dimensions, the height of the highest one, and the place.
    pub(super) fn dims(&mut self) -> Parse<(&'a [Dim<'a>], usize, Span)> {
        let open = self.take();
        let mut dims = Vec::new();
        let mut height = 0;
        while self.kind() != Kind::RBracket {
            if self.kind() == Kind::Ident && self.peek_at(1).kind == Kind::DotDot {
                dims.push(Dim::Splice(self.name("the name of some dimensions")?));
                self.next();
            } else {
                if matches!(self.kind(), Kind::Colon) {
                    return Err(self.unexpected("a dimension", &[NAMED_DIMENSION]));
                }
                let tree = self.expr()?;
                height = height.max(tree.height);
                dims.push(Dim::Expr(tree.expr));
            }
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        let end = self.close(Kind::RBracket, open, "`,` or `]` after the last entry")?;
        Ok((self.slice(&dims), height, open.to(end)))
    }
}

/// The help for a dimension of any size.
const NAMED_DIMENSION: &str = "a dimension of any size has a name: `num [batch, 4]`";

/// The element type with that name.
pub(super) fn dtype(name: &str) -> Option<DTypeName> {
    match name {
        "bool" => Some(DTypeName::Bool),
        "int" => Some(DTypeName::Int),
        "num" => Some(DTypeName::Num),
        _ => None,
    }
}

/// The element type that is meant by a name of another language.
fn foreign_dtype(name: &str) -> Option<DTypeName> {
    match name {
        "boolean" | "Bool" => Some(DTypeName::Bool),
        "integer" | "long" | "i32" | "i64" | "int32" | "int64" => Some(DTypeName::Int),
        "float" | "double" | "real" | "number" | "f32" | "f64" | "float16" | "float32" | "float64"
        | "Tensor" | "tensor" | "array" | "ndarray" => Some(DTypeName::Num),
        _ => None,
    }
}
