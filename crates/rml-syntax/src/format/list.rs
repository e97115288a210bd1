//! Layout of comma-separated lists: declarations, shapes, index lists, arguments.

use super::Formatter;
use super::doc::{Doc, group, nest, text};
use crate::ast::{DTypeName, Decl, Dim, IndexExpr, Range, TypeExpr};
use crate::precedence::Level;
use rml_base::Span;

impl Formatter<'_> {
    /// The items of a list, each with the comma after it and the comment after that comma.
    pub(super) fn items<T>(
        &mut self,
        items: &[T],
        span: impl Fn(&T) -> Span,
        mut doc: impl FnMut(&mut Self, &T) -> Doc,
    ) -> Vec<Doc> {
        let mut docs = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let mut parts = vec![doc(self, item)];
            if let Some(next) = items.get(i + 1) {
                parts.push(text(","));
                parts.extend(self.comments.behind_comma(span(next).start as usize));
            }
            docs.push(Doc::Concat(parts));
        }
        docs
    }

    pub(super) fn decl(&mut self, decl: &Decl<'_>) -> Doc {
        let mut parts = vec![self.verbatim(decl.name.span)];
        if let Some(member) = decl.member {
            let member = self.expr(member, Level::If);
            parts.extend([text("["), member, text("]")]);
        }
        if let Some(span) = decl.node {
            parts.extend([text(": "), self.leaf(span, "node")]);
        }
        if let Some(ty) = &decl.ty {
            parts.push(text(": "));
            parts.push(self.ty(ty));
        }
        if let Some(clock) = decl.clock {
            parts.push(text(if clock.positive { " when " } else { " when not " }));
            parts.push(self.verbatim(clock.cond.span));
        }
        Doc::Concat(parts)
    }

    /// ` for k < n`
    pub(super) fn range(&mut self, range: &Range<'_>) -> Doc {
        let mut parts = vec![Doc::Line, text("for ")];
        if let Some(first) = range.first {
            parts.extend([self.expr(first, Level::Sum), text(" <= ")]);
        }
        parts.extend([self.verbatim(range.index.span), text(" < "), self.expr(range.end, Level::Sum)]);
        group(vec![nest(4, Doc::Concat(parts))])
    }

    fn ty(&mut self, ty: &TypeExpr<'_>) -> Doc {
        let (name, scalar) = match ty.dtype {
            DTypeName::Bool => ("bool", " []"),
            DTypeName::Int => ("int", " []"),
            DTypeName::Num => ("num", " []"),
            DTypeName::Named(name) => (self.shown(name.span), ""),
        };
        if ty.dims.is_empty() {
            return self.leaf(ty.span, format!("{name}{scalar}"));
        }
        let start = ty.span.start as usize;
        let name = self.leaf(Span::new(ty.span.file, start, start + name.len()), name);
        let dims = self.dims(ty.dims);
        Doc::Concat(vec![name, text(" "), bracketed("[", dims, "]", true)])
    }

    fn dim(&mut self, dim: &Dim<'_>) -> Doc {
        match dim {
            Dim::Expr(e) => self.expr(e, Level::If),
            Dim::Splice(name) => {
                let range = name.span.range();
                let behind = self.text.get(range.end..).unwrap_or("");
                let blanks = behind.len() - behind.trim_start().len();
                let end =
                    if behind.trim_start().starts_with("..") { range.end + blanks + 2 } else { range.end };
                let span = Span::new(name.span.file, range.start, end);
                let shown = format!("{}..", self.shown(name.span));
                self.leaf(span, shown)
            }
        }
    }

    pub(super) fn dims(&mut self, dims: &[Dim<'_>]) -> Vec<Doc> {
        let span = |dim: &Dim<'_>| match dim {
            Dim::Expr(e) => e.span,
            Dim::Splice(name) => name.span,
        };
        self.items(dims, span, Self::dim)
    }

    pub(super) fn indices(&mut self, indices: &[IndexExpr<'_>]) -> Doc {
        let span = |index: &IndexExpr<'_>| match index {
            IndexExpr::At(e) | IndexExpr::Slice { lo: Some(e), .. } => e.span,
            IndexExpr::Slice { span, .. } | IndexExpr::Ellipsis(span) => *span,
        };
        let indices = self.items(indices, span, Self::index);
        bracketed("[", indices, "]", true)
    }

    pub(super) fn index(&mut self, index: &IndexExpr<'_>) -> Doc {
        match index {
            IndexExpr::At(e) => self.expr(e, Level::If),
            IndexExpr::Ellipsis(span) => self.leaf(*span, ".."),
            IndexExpr::Slice { lo, hi, step, span } => {
                let mut parts = Vec::new();
                if lo.is_none() {
                    parts = self.comments.before(span.start as usize);
                }
                parts.extend(lo.map(|e| self.expr(e, Level::If)));
                parts.push(text(":"));
                parts.extend(hi.map(|e| self.expr(e, Level::If)));
                if let Some(e) = step {
                    parts.push(text(":"));
                    parts.push(self.expr(e, Level::If));
                }
                if self.shown(*span).ends_with(':') {
                    parts.extend(hi.is_some().then(|| text(":")));
                    parts.extend(self.comments.behind(span.end as usize));
                }
                Doc::Concat(parts)
            }
        }
    }
}

/// [`Formatter::items`] between brackets, as in `(a, b)`. They are on one line, or on one line each, or (`fill`) every
/// line is filled.
pub(super) fn bracketed(open: &str, items: Vec<Doc>, close: &str, fill: bool) -> Doc {
    let mut parts = Vec::new();
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            parts.push(if fill { group(vec![Doc::Line]) } else { Doc::Line });
        } else if !fill {
            parts.push(Doc::Soft);
        }
        parts.push(item);
    }
    let inner = nest(2, Doc::Concat(parts));
    if fill {
        Doc::Concat(vec![text(open), inner, text(close)])
    } else {
        group(vec![text(open), inner, text(close)])
    }
}
