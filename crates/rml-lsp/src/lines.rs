//! Positions in a text as lines and columns, in the units of the protocol.

use std::ops::Range;

use lsp_types::{Position, PositionEncodingKind, Range as LineRange};

/// The unit of columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Encoding {
    /// Bytes.
    Utf8,
    /// Units of UTF-16, which every editor supports.
    Utf16,
}

impl Encoding {
    /// The best of the encodings that an editor offers.
    pub(crate) fn of(offered: Option<&[PositionEncodingKind]>) -> Self {
        let utf8 = offered.is_some_and(|all| all.contains(&PositionEncodingKind::UTF8));
        if utf8 { Self::Utf8 } else { Self::Utf16 }
    }

    pub(crate) fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
        }
    }

    fn width(self, c: char) -> usize {
        match self {
            Self::Utf8 => c.len_utf8(),
            Self::Utf16 => c.len_utf16(),
        }
    }
}

/// A text and the starts of its lines.
pub(crate) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
    encoding: Encoding,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str, encoding: Encoding) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts, encoding }
    }

    /// The position of a byte; a byte within a character has the position of the character.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let before = self.text[self.starts[line]..].char_indices();
        let before = before.take_while(|(at, c)| self.starts[line] + at + c.len_utf8() <= offset);
        let column = before.map(|(_, c)| self.encoding.width(c)).sum();
        Position::new(number(line), number(column))
    }

    /// The byte at a position; a position after the end of a line or of the text is moved to this end.
    pub(crate) fn offset(&self, at: Position) -> usize {
        let Some(&start) = self.starts.get(at.line as usize) else { return self.text.len() };
        let mut left = at.character as usize;
        let mut offset = start;
        for c in self.text[start..].chars() {
            let width = self.encoding.width(c);
            if c == '\n' || left < width || (c == '\r' && self.text[offset + 1..].starts_with('\n')) {
                break;
            }
            left -= width;
            offset += c.len_utf8();
        }
        offset
    }

    pub(crate) fn range(&self, bytes: Range<usize>) -> LineRange {
        LineRange::new(self.position(bytes.start), self.position(bytes.end))
    }

    pub(crate) fn bytes(&self, range: LineRange) -> Range<usize> {
        let start = self.offset(range.start);
        start..self.offset(range.end).max(start)
    }
}

pub(crate) fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_go_there_and_back() {
        let text = "a é\r\n𝄞x = 1;\n\nend";
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            let lines = Lines::new(text, encoding);
            for (offset, c) in text.char_indices().filter(|(_, c)| *c != '\r' && *c != '\n') {
                assert_eq!(lines.offset(lines.position(offset)), offset, "{c}");
            }
            let x = text.find('x').expect("there");
            let column = if encoding == Encoding::Utf8 { 4 } else { 2 };
            assert_eq!(lines.position(x), Position::new(1, column));
            assert_eq!(lines.offset(Position::new(0, 99)), text.find('\r').expect("there"));
            assert_eq!(lines.offset(Position::new(9, 0)), text.len());
        }
    }
}
