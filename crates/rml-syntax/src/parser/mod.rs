//! The parser: tokens to syntax tree, by recursive descent. It collects errors: after one it continues after the next
//! `;`, and what did not parse becomes [`ExprKind::Error`].
//!
//! It decides nothing that needs to know what a name means; see [`merge`] for the one place where that is visible.

mod automaton;
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

/// The greatest height of an expression tree. Passes that recurse over expressions rely on it.
pub const MAX_NESTING: usize = 256;

/// The greatest depth of what makes the parser recurse: brackets, prefix operators, `if` and `fby`. Smaller, because
/// the parser takes several calls for each.
pub const MAX_DEPTH: usize = 128;

/// The most automata that stand inside each other. Passes that recurse over states rely on it.
const MAX_AUTOMATA: usize = 16;

/// The most transitions of a state, which are tried one after the other.
const MAX_TRANSITIONS: usize = 64;

/// More errors than this are cut off.
const MAX_ERRORS: usize = 100;

/// What the parser makes of a text.
#[derive(Debug)]
pub struct Parsed<'a> {
    /// The tree; it holds [`ExprKind::Error`] only where a diagnostic says why.
    pub file: File<'a>,
    /// All errors found, in textual order; empty iff the text is in the language.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses `text`, which is source text `file` of the compilation. Never panics and never overflows the stack, whatever
/// the text.
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

/// A construct did not parse, and a diagnostic says so already.
struct Reported;

type Parse<T> = Result<T, Reported>;

/// What is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lost {
    Import,
    /// A node: its name stands before a parenthesis.
    Node,
    /// Something between the nodes: it may define what stands before a parenthesis or a `=`.
    Other,
    /// An equation: it defines what stands before its `=`.
    Equation,
}

/// An expression on its way up.
#[derive(Clone, Copy)]
struct Tree<'a> {
    expr: &'a Expr<'a>,
    /// Height of the tree; a leaf has 1.
    height: usize,
    /// Where, with the parentheses around it.
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
    /// How many automata are open.
    automata: usize,
    /// Whether an error says already that equations here end with `;`.
    joined: bool,
    /// The outputs of the node whose equations are read.
    outputs: &'a [crate::ast::Decl<'a>],
    /// Names in what is left out, and whether that was an import.
    lost: Vec<Symbol>,
    lost_import: bool,
    diagnostics: Vec<Diagnostic>,
}

impl<'s, 'a> Parser<'s, 'a> {
    /// The token `ahead` places further on; the end of the text from there on.
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

    /// Takes the next token.
    fn next(&mut self) -> Token {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len());
        token
    }

    /// Takes the next token and returns its span.
    fn take(&mut self) -> Span {
        let token = self.next();
        self.span(token)
    }

    /// Takes the next token if it is of that kind.
    fn eat(&mut self, kind: Kind) -> Option<Token> {
        (self.kind() == kind).then(|| self.next())
    }

    fn text_of(&self, token: Token) -> &'s str {
        self.text.get(token.start..token.end).unwrap_or("")
    }

    fn span(&self, token: Token) -> Span {
        Span::new(self.file, token.start, token.end)
    }

    /// The span of the token taken last.
    fn last_span(&self) -> Span {
        match self.at.checked_sub(1).and_then(|i| self.tokens.get(i)) {
            Some(token) => self.span(*token),
            None => Span::new(self.file, 0, 0),
        }
    }

    /// Whether the token `ahead` places further on is the name `word` (special in this place only).
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

    /// Notes what the tokens from number `from` up to here, which are left out, may have defined.
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

    /// A node of the tree above children of height `below`.
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
