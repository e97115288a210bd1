//! Source texts and positions in them.

use crate::ids::{EntityId, IndexVec};

crate::entity_id!(
    /// One source text.
    ///
    /// ```
    /// # use rml_base as rml;
    /// let mut sources = rml::Sources::new();
    /// let file = sources.add("f.rml", "node f(x) -> (o)  o = x;");
    /// assert_eq!(sources.ids().collect::<Vec<_>>(), [file]);
    /// ```
    FileId,
    "file"
);

/// The maximum length of a source text in bytes. It is above that of real programs; positions in a text are 32-bit
/// numbers.
pub const MAX_TEXT: usize = 64 << 20;

/// A range of bytes `start..end` of one source text.
///
/// ```
/// # use rml_base as rml;
/// use rml::{Sources, Span};
///
/// let mut sources = Sources::new();
/// let file = sources.add("f.rml", "node f(x) -> (o)\n  o = x;\n");
/// let name = Span::new(file, 5, 6);
/// assert_eq!(sources.snippet(name), "f");
/// assert_eq!(sources.snippet(name.to(Span::new(file, 7, 8))), "f(x");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Span {
    /// The source text.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// The position after the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end` of `file`.
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self { file, start: clamp(start), end: clamp(end) }
    }

    /// The smallest span that contains both; `self` if they are in different texts.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The bytes as a range.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// All source texts of one compilation, by id.
///
/// ```
/// # use rml_base as rml;
/// let mut sources = rml::Sources::new();
/// let file = sources.add("f.rml", "node f(x) -> (o)\n  o = x;\n");
/// assert_eq!(sources.name(file), "f.rml");
/// assert_eq!(sources.line_column(file, 19), (2, 3));
/// ```
#[derive(Clone, Default, Debug)]
pub struct Sources {
    files: IndexVec<FileId, (String, String)>,
}

impl Sources {
    /// An empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `text`, with the name to show in diagnostics.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        self.files.push((name.into(), text.into()))
    }

    /// The name of a source text.
    pub fn name(&self, file: FileId) -> &str {
        self.files.get(file).map_or("<unknown>", |f| &f.0)
    }

    /// The content of a source text.
    pub fn text(&self, file: FileId) -> &str {
        self.files.get(file).map_or("", |f| &f.1)
    }

    /// The text at `span`; empty if the span is outside the text.
    pub fn snippet(&self, span: Span) -> &str {
        self.text(span.file).get(span.range()).unwrap_or("")
    }

    /// Line and column (from 1, in characters) of byte `offset`.
    pub fn line_column(&self, file: FileId, offset: u32) -> (usize, usize) {
        let text = self.text(file);
        let mut at = (offset as usize).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &text[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
        (line, column)
    }

    /// The ids of all texts.
    pub fn ids(&self) -> impl Iterator<Item = FileId> {
        (0..self.files.len()).map(FileId::from_index)
    }
}
