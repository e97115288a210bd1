//! The comments of a text, returned in order as the formatter passes them.

use super::doc::{Comment, Doc};
use rml_base::Span;

/// The comments that are not printed yet.
pub(super) struct Comments<'t> {
    text: &'t str,
    spans: &'t [Span],
    /// The end of the comment returned last.
    end: usize,
}

impl<'t> Comments<'t> {
    pub(super) fn new(text: &'t str, spans: &'t [Span]) -> Self {
        Self { text, spans, end: 0 }
    }

    /// The next comment, if it begins before byte `end`.
    pub(super) fn peek_before(&self, end: usize) -> Option<Span> {
        self.spans.first().copied().filter(|s| (s.start as usize) < end)
    }

    /// Returns the next comment and removes it.
    pub(super) fn next(&mut self) -> Option<Comment> {
        let (first, rest) = self.spans.split_first()?;
        self.spans = rest;
        self.end = first.end as usize;
        let text = self.text.get(first.range()).unwrap_or("");
        let text: Vec<&str> = text.split('\n').map(str::trim_end).collect();
        let behind = self.text.get(first.end as usize..).unwrap_or("").trim_start_matches(is_blank);
        let ends_line = behind.is_empty() || behind.starts_with('\n');
        let alone = self.column(first.start as usize).is_some() && ends_line;
        Some(Comment { text: text.join("\n"), alone })
    }

    /// The column of byte `at`, if only blanks are before it on its line.
    pub(super) fn column(&self, at: usize) -> Option<usize> {
        let before = self.text.get(..at).unwrap_or("");
        let start = before.trim_end_matches(is_blank);
        let blanks = before.get(start.len()..).unwrap_or("").chars().count();
        (start.is_empty() || start.ends_with('\n')).then_some(blanks)
    }

    /// Removes and returns all comments that begin before byte `at`.
    pub(super) fn before(&mut self, at: usize) -> Vec<Doc> {
        let mut docs = Vec::new();
        while self.peek_before(at).is_some() {
            docs.extend(self.next().map(Doc::Comment));
        }
        docs
    }

    /// The comments that belong to the item that ends at byte `at`, on the same line: block comments right after it,
    /// and a comment up to the end of the line also after closing marks.
    pub(super) fn behind(&mut self, at: usize) -> Vec<Doc> {
        let mut docs = Vec::new();
        let mut at = at;
        while let Some(span) = self.peek_before(usize::MAX) {
            let start = span.start as usize;
            let Some(between) = self.text.get(at..start) else { break };
            let to_line_end = self.text.get(start..).is_some_and(|t| t.starts_with("--"));
            let belongs = |c: char| c != '\n' && c.is_whitespace() || to_line_end && ")],".contains(c);
            if !between.chars().all(belongs) {
                break;
            }
            at = span.end as usize;
            docs.extend(self.next().map(Doc::Comment));
        }
        docs
    }

    /// The comment up to the end of the line between a comma and the next item, which begins at byte `end`. None if
    /// that comment has a line of its own, or if the item before the comma has such a comment.
    pub(super) fn behind_comma(&mut self, end: usize) -> Option<Doc> {
        let start = self.peek_before(end)?.start as usize;
        let since = self.text.get(self.end..start)?;
        let second = self.end > 0 && since.chars().all(|c| c.is_whitespace() || "()],".contains(c));
        let to_line_end = self.text.get(start..)?.starts_with("--");
        let takes = !second && to_line_end && self.column(start).is_none();
        takes.then(|| self.next().map(Doc::Comment))?
    }

    /// The comments that begin on the line of byte `at`, and the end of the last one.
    pub(super) fn on_line(&mut self, at: usize) -> (Vec<Doc>, usize) {
        let mut docs = Vec::new();
        let mut at = at;
        while let Some(span) = self.peek_before(usize::MAX) {
            let start = span.start as usize;
            let same_line = start < at
                || self.text.get(at..start).is_some_and(|t| t.trim().is_empty() && !t.contains('\n'));
            if !same_line {
                break;
            }
            at = at.max(span.end as usize);
            docs.extend(self.next().map(Doc::Comment));
        }
        (docs, at)
    }

    /// Whether there is a blank line between two bytes.
    pub(super) fn blank_between(&self, from: usize, to: usize) -> bool {
        self.text.get(from..to).is_some_and(|t| t.matches('\n').count() > 1)
    }
}

/// Whether a character is blank and does not end a line.
fn is_blank(c: char) -> bool {
    c != '\n' && (c.is_whitespace() || c == '\u{feff}')
}
