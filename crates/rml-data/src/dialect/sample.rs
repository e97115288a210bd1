//! The beginning of a file, divided into records and cells before its format is known.

use super::{BLANKS, plain, separates};

/// The most bytes of a file that are examined.
pub(crate) const SAMPLE: usize = 1 << 16;
/// The most records that are examined.
const RECORDS: usize = 500;

/// The beginning of a file, up to the end of a line, without the byte order mark.
pub(crate) fn sample_of(bytes: &[u8]) -> &str {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    let text = match std::str::from_utf8(sample) {
        Ok(text) => text,
        Err(e) => std::str::from_utf8(&sample[..e.valid_up_to()]).unwrap_or_default(),
    };
    match text.rfind(['\n', '\r']) {
        Some(end) if sample.len() < bytes.len() => &text[..=end],
        _ => text,
    }
}

/// A record of the sample: its text without the line end, and the position of its start.
#[derive(Clone, Copy)]
pub(super) struct Record<'t> {
    pub(super) at: usize,
    pub(super) text: &'t str,
}

impl<'t> Record<'t> {
    pub(super) fn is_hashed(&self) -> bool {
        self.text.trim_start().starts_with('#')
    }

    /// The cells without blanks around them, with their quotes.
    pub(super) fn raw(&self, separator: char) -> Vec<&'t str> {
        let (mut cells, mut begin, mut quoted) = (Vec::new(), 0, false);
        for (at, c) in self.text.char_indices() {
            quoted ^= c == '"';
            if separates(separator, c) && !quoted {
                cells.push(self.text[begin..at].trim());
                begin = at + c.len_utf8();
            }
        }
        cells.push(self.text[begin..].trim());
        if separator == BLANKS {
            cells.retain(|cell| !cell.is_empty());
        }
        cells
    }

    /// The cells without blanks and quotes around them.
    pub(super) fn cells(&self, separator: char) -> Vec<&'t str> {
        let unquoted = |cell: &'t str| {
            cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).unwrap_or(cell).trim()
        };
        self.raw(separator).into_iter().map(unquoted).collect()
    }
}

/// The records of a text that are neither blank nor comments; a line end within quotes does not end a record.
pub(super) fn records<'t>(text: &'t str, comment: Option<&str>) -> Vec<Record<'t>> {
    let (mut records, mut begin, mut end, mut quoted) = (Vec::new(), 0, 0, false);
    let is_comment = |line: &str| comment.is_some_and(|c| line.trim_start().starts_with(c));
    for line in text.split_inclusive(['\n', '\r']) {
        end += line.len();
        if !quoted && (is_comment(line) || line.trim().is_empty()) {
            begin = end;
            continue;
        }
        let is_whole = comment.is_none() && !quoted && line.trim_start().starts_with('#');
        quoted ^= !is_whole && line.bytes().filter(|b| *b == b'"').count() % 2 == 1;
        if !quoted {
            records.push(Record { at: begin, text: text[begin..end].trim_end_matches(['\n', '\r']) });
            begin = end;
        }
        if records.len() >= RECORDS {
            break;
        }
    }
    records
}

/// Whether a cell is a number in any notation.
pub(super) fn is_number(cell: &str) -> bool {
    let cell = cell.trim_matches('"');
    let ways = [('.', None), (',', None), ('.', Some(',')), (',', Some('.'))];
    let reads = |(decimal, thousands): &(char, Option<char>)| {
        plain(cell, *decimal, *thousands).is_some_and(|text| text.parse::<f64>().is_ok())
    };
    cell.bytes().any(|b| b.is_ascii_digit()) && ways.iter().any(reads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_ends_with_a_line() {
        let long = format!("\u{feff}{}", "é,1\n".repeat(SAMPLE));
        let sample = sample_of(long.as_bytes());
        assert!(sample.len() <= SAMPLE && sample.ends_with("1\n"));
        assert_eq!(sample_of(b"a\xff"), "a");
    }

    #[test]
    fn line_ends_in_quotes_end_no_record() {
        let texts = |text| records(text, None).iter().map(|r| r.text.to_owned()).collect::<Vec<_>>();
        assert_eq!(texts("a,\"b\nc\"\r\n\n# it's \"\n1,2"), ["a,\"b\nc\"", "# it's \"", "1,2"]);
        assert_eq!(records("% x\na\n", Some("%")).len(), 1);
        assert_eq!(records("a ; \"b;c\" ;d", None)[0].cells(';'), ["a", "b;c", "d"]);
        assert_eq!(records("  a \"b c\"\t d ", None)[0].cells(' '), ["a", "b c", "d"]);
    }
}
