//! The formatter: the canonical layout of a text. It keeps all comments and the meaning, and formatting its output
//! again changes nothing.
//!
//! A text is a list of entries (imports, node headers, equations, comments on their own lines), each laid out by
//! itself.

mod automaton;
mod comments;
mod doc;
mod expr;
mod list;

use crate::ast::{
    ColumnList, ColumnPart, Equation, ExprKind, File, Ident, Import, ImportKind, ImportPath, Item, Lhs, Node,
};
use crate::parser::{Parsed, parse};
use crate::precedence::Level;
use bumpalo::Bump;
use comments::Comments;
use doc::{Doc, group, nest, render, text};
use list::bracketed;
use rml_base::{Diagnostic, EntityId, FileId, Span};

/// Returns the canonical layout of `source`, or its syntax errors (in a text with the first [`FileId`]).
///
/// The result parses to the same tree, contains the same comments in the same order, and is its own canonical layout.
pub fn format(source: &str) -> Result<String, Vec<Diagnostic>> {
    let bump = Bump::new();
    let mut names = lasso::Rodeo::new();
    let Parsed { file, diagnostics } = parse(&bump, &mut names, FileId::from_index(0), source);
    if !diagnostics.is_empty() {
        return Err(diagnostics);
    }
    let comments = Comments::new(source, file.comments);
    let mut formatter =
        Formatter { text: source, comments, out: String::new(), end: 0, last: Last::Nothing, deep: false };
    formatter.file(&file);
    Ok(formatter.out)
}

/// Indentation of equations.
const BODY: usize = 2;

/// The kind of the entry printed last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Import,
    Const,
    /// A header, an equation, or a comment among equations.
    Node,
    /// A comment between items.
    Comment,
}

struct Formatter<'t> {
    text: &'t str,
    comments: Comments<'t>,
    out: String,
    /// The end of the entry printed last, in the source.
    end: usize,
    last: Last,
    /// Whether the equation may be nested so deeply that optional parentheses would exceed the nesting limit.
    deep: bool,
}

/// Equations with more `if` and `fby` than this get only the parentheses that they need.
const MAX_CLEAR: usize = 24;

impl Formatter<'_> {
    fn file(&mut self, file: &File<'_>) {
        for item in file.items {
            match item {
                Item::Import(import) => {
                    self.outer_comments(import.span.start as usize);
                    let doc = self.import(import);
                    let blank = matches!(self.last, Last::Const | Last::Node);
                    self.last = Last::Import;
                    self.entry(doc, 0, import.span, blank);
                }
                Item::Node(node) => {
                    self.outer_comments(node.span.start as usize);
                    self.node(node);
                }
                Item::Const(node) => {
                    self.outer_comments(node.span.start as usize);
                    self.constant(node);
                }
                Item::Enum(of) => {
                    self.outer_comments(of.node.span.start as usize);
                    let cases = self.items(of.cases, |c| c.name.span, |f, c| f.verbatim(c.name.span));
                    let cases = bracketed("", cases, "", true);
                    self.type_of("enum ", &of.node, cases);
                }
                Item::Columns(columns) => {
                    self.outer_comments(columns.span.start as usize);
                    self.columns(columns);
                }
                Item::Record(node) => {
                    self.outer_comments(node.span.start as usize);
                    let fields = self.items(node.inputs, |d| d.span, Self::decl);
                    self.type_of("record ", node, bracketed("(", fields, ")", false));
                }
            }
        }
        self.outer_comments(usize::MAX);
    }

    /// Prints `doc`, which is at `span` of the source, with the remaining comments inside it or after it on its line.
    fn entry(&mut self, doc: Doc, indent: usize, span: Span, blank: bool) {
        // The body begins after a header.
        let behind_indent = if self.last == Last::Node { BODY } else { 0 };
        let start = span.start as usize;
        if !self.out.is_empty() && (blank || self.comments.blank_between(self.end, start)) {
            self.out.push('\n');
        }
        let (behind, end) = self.comments.on_line(span.end as usize);
        let behind = nest(behind_indent.saturating_sub(indent), Doc::Concat(behind));
        render(&Doc::Concat(vec![doc, behind]), indent, &mut self.out);
        self.end = end;
    }

    /// Prints a comment as an entry.
    fn comment(&mut self, span: Span, indent: usize, blank: bool) {
        if let Some(comment) = self.comments.next() {
            self.entry(Doc::Comment(comment), indent, span, blank);
        }
    }

    /// Prints the comments between items that begin before byte `before`.
    fn outer_comments(&mut self, before: usize) {
        while let Some(span) = self.comments.peek_before(before) {
            let inner = self.last == Last::Node && self.comments.column(span.start as usize) != Some(0);
            if inner {
                self.comment(span, BODY, false);
            } else {
                let blank = self.last == Last::Node;
                self.last = Last::Comment;
                self.comment(span, 0, blank);
            }
        }
    }

    fn import(&mut self, import: &Import<'_>) -> Doc {
        let mut parts = vec![text("import ")];
        match import.path {
            ImportPath::Library(path) => {
                for (i, name) in path.iter().enumerate() {
                    parts.extend((i > 0).then(|| text(".")));
                    parts.push(self.verbatim(name.span));
                }
            }
            ImportPath::File { span, .. } => parts.push(self.verbatim(span)),
        }
        match import.kind {
            ImportKind::Whole => {}
            ImportKind::Names(names) => {
                let names = self.items(
                    names,
                    |n| n.span(),
                    |f, n| {
                        let mut parts = vec![f.verbatim(n.name.span)];
                        parts.extend(n.alias.map(|alias| f.named(alias)));
                        Doc::Concat(parts)
                    },
                );
                parts.extend([text(" "), bracketed("(", names, ")", false)]);
            }
            ImportKind::Qualified(name) => parts.push(self.named(name)),
        }
        parts.push(text(";"));
        Doc::Concat(parts)
    }

    /// ` as name`
    fn named(&mut self, name: Ident) -> Doc {
        Doc::Concat(vec![text(" as "), self.verbatim(name.span)])
    }

    /// `[private] const name = value;`
    fn constant(&mut self, node: &Node<'_>) {
        let keyword = if node.private.is_some() { "private const " } else { "const " };
        let mut parts = vec![text(keyword), self.verbatim(node.name.span), text(" = ")];
        for equation in node.equations {
            parts.push(nest(2, self.expr(equation.rhs, Level::If)));
        }
        parts.push(text(";"));
        let blank = matches!(self.last, Last::Import | Last::Node);
        self.last = Last::Const;
        self.entry(Doc::Concat(parts), 0, node.span, blank);
    }

    /// `[private] enum name = ..;`, `record name = ..;`
    fn type_of(&mut self, keyword: &str, node: &Node<'_>, of: Doc) {
        let private = if node.private.is_some() { "private " } else { "" };
        let mut parts = vec![text(private), text(keyword), self.verbatim(node.name.span), text(" = ")];
        parts.extend([nest(2, of), text(";")]);
        let blank = matches!(self.last, Last::Import | Last::Node);
        self.last = Last::Const;
        self.entry(Doc::Concat(parts), 0, node.span, blank);
    }

    /// `columns input = part, part;`
    fn columns(&mut self, columns: &ColumnList<'_>) {
        let mut parts = vec![text("columns "), self.verbatim(columns.input.span), text(" = ")];
        let listed = self.items(columns.parts, ColumnPart::span, |f, part| {
            Doc::Concat(match part {
                ColumnPart::One(name) => vec![f.verbatim(name.span)],
                ColumnPart::Range(first, last) => {
                    vec![f.verbatim(first.span), text(".."), f.verbatim(last.span)]
                }
                ColumnPart::Date(property, of) => {
                    vec![f.verbatim(property.span), text("("), f.verbatim(of.span), text(")")]
                }
            })
        });
        parts.extend([nest(2, bracketed("", listed, "", true)), text(";")]);
        let blank = matches!(self.last, Last::Import | Last::Node);
        self.last = Last::Const;
        self.entry(Doc::Concat(parts), 0, columns.span, blank);
    }

    fn node(&mut self, node: &Node<'_>) {
        let keyword = if node.private.is_some() { "private node " } else { "node " };
        let mut head = vec![text(keyword), self.verbatim(node.name.span)];
        let inputs = self.items(node.inputs, |d| d.span, Self::decl);
        head.push(bracketed("(", inputs, ")", false));
        let outputs = self.items(node.outputs, |d| d.span, Self::decl);
        let outputs = bracketed("(", outputs, ")", false);
        let arrow = nest(2 * BODY, Doc::Concat(vec![Doc::Line, text("-> "), outputs]));
        head.push(arrow);
        let blank = matches!(self.last, Last::Import | Last::Const | Last::Node);
        self.last = Last::Node;
        self.entry(group(head), 0, node.header_span, blank);
        node.equations.iter().for_each(|equation| self.equation(equation, BODY));
    }

    /// Prints the comments that begin before byte `before`, with the indentation `indent`.
    fn inner_comments(&mut self, before: usize, indent: usize) {
        while let Some(span) = self.comments.peek_before(before) {
            self.comment(span, indent, false);
        }
    }

    fn equation(&mut self, equation: &Equation<'_>, indent: usize) {
        self.inner_comments(equation.span.start as usize, indent);
        if let ExprKind::Automaton(states) = equation.rhs.kind {
            return self.automaton(equation, states, indent);
        }
        // The word `assert` is printed together with the condition.
        let asserts = matches!(equation.rhs.kind, ExprKind::Assert { .. });
        let mut parts = Vec::new();
        if matches!(equation.rhs.kind, ExprKind::Share(_)) {
            parts.push(text("share "));
        }
        if !asserts {
            let lhs = self.items(equation.lhs, lhs_span, |f, lhs| match lhs {
                Lhs::Var(decl) => f.decl(decl),
                Lhs::Discard(span) => f.verbatim(*span),
            });
            parts.extend([bracketed("", lhs, "", true), text(" = ")]);
        }
        self.set_depth(equation.span);
        let rhs = nest(2, self.expr(equation.rhs, Level::If));
        let range = equation.range.map(|range| self.range(&range));
        parts.push(rhs);
        parts.extend(range);
        parts.push(text(";"));
        self.entry(Doc::Concat(parts), indent, equation.span, false);
    }

    /// Notes whether the text at `span` may be nested deeply.
    fn set_depth(&mut self, span: Span) {
        let nested = self.shown(span).split(|c: char| !c.is_alphanumeric());
        self.deep = nested.filter(|word| matches!(*word, "if" | "fby")).count() > MAX_CLEAR;
    }
}

fn lhs_span(lhs: &Lhs<'_>) -> Span {
    match lhs {
        Lhs::Var(decl) => decl.span,
        Lhs::Discard(span) => *span,
    }
}
