//! The parser: turns tokens into a syntax tree, by recursive descent. It collects errors: after an error it continues
//! after the next `;`, and parts that did not parse become [`ExprKind::Error`].
//!
//! It makes no decision that depends on the meaning of a name; [`merge`] is the only place where this is visible.

mod automaton;
mod columns;
mod expr;
mod forms;
mod habits;
mod item;
mod merge;
mod operators;
mod report;
mod statements;
mod structure;
mod types;

use crate::ast::{Expr, ExprKind, File, Ident, Symbol};
use crate::lexer::{Lexed, lex};
use crate::token::{Kind, Token};
use bumpalo::Bump;
use rml_base::codes::syntax as codes;
use rml_base::{Diagnostic, FileId, MAX_TEXT, Span};

/// The maximum height of an expression tree. Passes that recurse over expressions rely on it.
pub const MAX_NESTING: usize = 256;

/// The maximum depth of recursion of the parser: brackets, prefix operators, `if` and `fby`. It is smaller than the
/// limit for trees, because each level takes the parser several calls.
pub const MAX_DEPTH: usize = 128;

/// The maximum nesting depth of automata. Passes that recurse over states rely on it.
const MAX_AUTOMATA: usize = 16;

/// The maximum number of transitions of a state, which are tried one after the other.
const MAX_TRANSITIONS: usize = 64;

/// Further errors are dropped.
const MAX_ERRORS: usize = 100;

/// The result of parsing a text.
#[derive(Debug)]
pub struct Parsed<'a> {
    /// The tree; it contains [`ExprKind::Error`] only where a diagnostic explains the error.
    pub file: File<'a>,
    /// All errors found, in textual order; empty if and only if the text is syntactically correct.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses `text`, which is source text `file` of the compilation. It never panics and never overflows the stack,
/// whatever the text is.
pub fn parse<'a>(bump: &'a Bump, names: &mut lasso::Rodeo, file: FileId, text: &str) -> Parsed<'a> {
    if text.len() > MAX_TEXT {
        let span = Span::new(file, 0, 0);
        let diagnostic = Diagnostic::error(codes::FILE_TOO_LARGE, "this source text is too large")
            .label(span, "")
            .note(format!("expected at most {MAX_TEXT} bytes, found {}", text.len()));
        let file = File { items: &[], comments: &[], lost: &[], lost_import: true, span };
        return Parsed { file, diagnostics: vec![diagnostic] };
    }
    let Lexed { tokens, comments, diagnostics } = lex(file, text);
    let (lost, lost_import) = (Vec::new(), false);
    let mut parser = Parser {
        bump,
        names,
        file,
        text,
        tokens,
        at: 0,
        depth: 0,
        automata: 0,
        joined: false,
        outputs: &[],
        lost,
        lost_import,
        diagnostics,
    };
    let items = parser.items();
    let Parser { lost, lost_import, mut diagnostics, .. } = parser;
    diagnostics.sort_by_key(|d| d.span().map_or(0, |s| s.start));
    if diagnostics.len() > MAX_ERRORS {
        let more = diagnostics.len() - MAX_ERRORS;
        diagnostics.truncate(MAX_ERRORS);
        let end = Span::new(file, text.len(), text.len());
        diagnostics.push(
            Diagnostic::error(codes::TOO_MANY_ERRORS, format!("{more} more errors are not shown"))
                .label(end, ""),
        );
    }
    let file = File {
        items: bump.alloc_slice_copy(&items),
        comments: bump.alloc_slice_copy(&comments),
        lost: bump.alloc_slice_copy(&lost),
        lost_import,
        span: Span::new(file, 0, text.len()),
    };
    Parsed { file, diagnostics }
}

/// A construct did not parse, and a diagnostic for it has been added.
struct Reported;

type Parse<T> = Result<T, Reported>;

/// The kind of text that is omitted after an error.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lost {
    Import,
    /// A node: a name before a parenthesis is its name.
    Node,
    /// Text between the nodes: a name before a parenthesis or a `=` may be defined by it.
    Other,
    /// An equation: the names before its `=` are defined by it.
    Equation,
}

/// A parsed expression that is not yet part of a larger one.
#[derive(Clone, Copy)]
struct Tree<'a> {
    expr: &'a Expr<'a>,
    /// The height of the tree; a leaf has height 1.
    height: usize,
    /// The place in the source, with the parentheses around it.
    outer: Span,
}

struct Parser<'s, 'a> {
    bump: &'a Bump,
    names: &'s mut lasso::Rodeo,
    file: FileId,
    text: &'s str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    /// The number of open automata.
    automata: usize,
    /// Whether an error has already said that equations here end with `;`.
    joined: bool,
    /// The outputs of the node whose equations are being parsed.
    outputs: &'a [crate::ast::Decl<'a>],
    /// The names in omitted text, and whether an import was omitted.
    lost: Vec<Symbol>,
    lost_import: bool,
    diagnostics: Vec<Diagnostic>,
}

impl<'s, 'a> Parser<'s, 'a> {
    /// The token `ahead` places further on; the end token after the end of the text.
    fn peek_at(&self, ahead: usize) -> Token {
        let end = Token { kind: Kind::Eof, start: self.text.len(), end: self.text.len() };
        self.tokens.get(self.at + ahead).copied().unwrap_or(end)
    }

    fn peek(&self) -> Token {
        self.peek_at(0)
    }

    fn kind(&self) -> Kind {
        self.peek().kind
    }

    /// Returns the next token and moves past it.
    fn next(&mut self) -> Token {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len());
        token
    }

    /// Moves past the next token and returns its span.
    fn take(&mut self) -> Span {
        let token = self.next();
        self.span(token)
    }

    /// Moves past the next token and returns it, if it is of that kind.
    fn eat(&mut self, kind: Kind) -> Option<Token> {
        (self.kind() == kind).then(|| self.next())
    }

    fn text_of(&self, token: Token) -> &'s str {
        self.text.get(token.start..token.end).unwrap_or("")
    }

    fn span(&self, token: Token) -> Span {
        Span::new(self.file, token.start, token.end)
    }

    /// The span of the token before the next one.
    fn last_span(&self) -> Span {
        match self.at.checked_sub(1).and_then(|i| self.tokens.get(i)) {
            Some(token) => self.span(*token),
            None => Span::new(self.file, 0, 0),
        }
    }

    /// Whether the token `ahead` places further on is the name `word` (which is special only in this place).
    fn is_word(&self, ahead: usize, word: &str) -> bool {
        let token = self.peek_at(ahead);
        token.kind == Kind::Ident && self.text_of(token) == word
    }

    fn intern(&mut self, token: Token) -> Ident {
        let text = self.text_of(token);
        Ident { name: self.names.get_or_intern(text), span: self.span(token) }
    }

    fn symbol(&mut self, token: Token) -> Symbol {
        self.intern(token).name
    }

    /// Notes the names that the omitted tokens, from position `from` up to here, may have defined.
    fn lose(&mut self, from: usize, what: Lost) {
        for i in from..self.at.min(self.tokens.len()) {
            let next = self.tokens.get(i + 1).map(|t| t.kind);
            match (self.tokens[i].kind, what) {
                (Kind::Eq, Lost::Equation) => return,
                (Kind::Ident, Lost::Node) if next != Some(Kind::LParen) => {}
                (Kind::Ident, Lost::Other) if !matches!(next, Some(Kind::LParen | Kind::Eq)) => {}
                (Kind::Ident, _) => {
                    let name = self.symbol(self.tokens[i]);
                    self.lost.push(name);
                }
                _ => {}
            }
        }
    }

    /// Makes a tree node whose highest child has height `below`.
    fn tree(&mut self, kind: ExprKind<'a>, span: Span, below: usize) -> Parse<Tree<'a>> {
        if below >= MAX_NESTING {
            return Err(self.nesting_limit(span));
        }
        let expr = self.bump.alloc(Expr { kind, span });
        Ok(Tree { expr, height: below + 1, outer: span })
    }

    /// Runs `inner` one level deeper.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_DEPTH {
            let span = self.span(self.peek());
            return Err(self.nesting_limit(span));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn slice<T: Copy>(&self, items: &[T]) -> &'a [T] {
        self.bump.alloc_slice_copy(items)
    }
}
