//! Collects findings. A repeated finding (same code, same place) is dropped, so an error in a node is reported once for
//! all its instances.

use indexmap::IndexSet;
use rml_base::{Code, Diagnostic, Diagnostics, Span};

/// Further findings are dropped.
const MAX_FINDINGS: usize = 200;

/// The findings so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    seen: IndexSet<(Code, Option<Span>, Option<String>)>,
    diagnostics: Vec<Diagnostic>,
    errors: usize,
}

impl Report {
    /// Adds a finding, unless it was added before.
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

    /// Whether there are too many findings for help that takes time to compute.
    pub(crate) fn is_long(&self) -> bool {
        self.errors > MAX_FINDINGS / 4
    }

    /// The number of errors pushed so far, including repeated ones.
    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    /// All findings, sorted by place.
    pub(crate) fn finish(self) -> Diagnostics {
        let mut found = Diagnostics(self.diagnostics);
        found.sort();
        found
    }
}
