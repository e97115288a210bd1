//! Collects findings; one that was made before (same code, same place) is dropped, so that a node's error is reported once
//! however often the node is instantiated.

use indexmap::IndexSet;
use rml_base::codes::elab as codes;
use rml_base::{Code, Diagnostic, Diagnostics, Span};

/// More findings than this are cut off.
const MAX_FINDINGS: usize = 200;

/// The findings so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    seen: IndexSet<(Code, Option<Span>, Option<String>)>,
    diagnostics: Vec<Diagnostic>,
    errors: usize,
}

impl Report {
    /// Adds a finding, unless it was made before.
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        if diagnostic.is_error() {
            self.errors += 1;
        }
        let span = diagnostic.span();
        let message = if span.is_none() { Some(diagnostic.message.clone()) } else { None };
        if self.seen.insert((diagnostic.code, span, message)) && self.diagnostics.len() < MAX_FINDINGS {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Adds findings.
    pub(crate) fn extend(&mut self, more: impl IntoIterator<Item = Diagnostic>) {
        more.into_iter().for_each(|d| self.push(d));
    }

    /// Whether there are so many findings that advice which takes time is left out.
    pub(crate) fn is_long(&self) -> bool {
        self.errors > MAX_FINDINGS / 4
    }

    /// How many errors were pushed so far, repeated ones included.
    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    /// All findings, by place. That a static value cannot be computed follows from a type error in its expression.
    pub(crate) fn finish(self) -> Diagnostics {
        let mistyped = self.diagnostics.iter().filter(|d| d.code == codes::TYPE_MISMATCH);
        let mistyped: Vec<Span> = mistyped.filter_map(Diagnostic::span).collect();
        let holds = |outer: Span, inner: &Span| {
            outer.file == inner.file && outer.start <= inner.start && inner.end <= outer.end
        };
        let follows = |d: &Diagnostic| {
            d.code == codes::STATIC_VALUE
                && d.span().is_some_and(|span| mistyped.iter().any(|inner| holds(span, inner)))
        };
        let mut found = Diagnostics(self.diagnostics.iter().filter(|d| !follows(d)).cloned().collect());
        found.sort();
        found
    }
}
