//! Rows of cells according to RFC 4180, with any separator. A cell either contains no quotes, or begins and ends with a
//! quote and has quotes within it doubled. Blanks around a cell are ignored. Nothing is guessed: anything else is an
//! error with its place.

use std::borrow::Cow;

use crate::dialect::{BLANKS, Known, Names, separates};
use crate::malformed::{MAX_COLUMNS, Malformed, too_many_columns};

/// A cell, without its quotes and the blanks around it.
#[derive(Debug)]
pub(crate) struct Cell<'a> {
    pub(crate) text: Cow<'a, str>,
    /// Its position in the text.
    pub(crate) at: usize,
}

/// Reads a text row by row.
pub(crate) struct Records<'a> {
    text: &'a str,
    known: &'a Known,
    at: usize,
    /// The number of cells of the header, once it has been read.
    columns: usize,
    /// The same up to the last cell with a name. Rows may leave out the other cells.
    named: usize,
}

impl<'a> Records<'a> {
    pub(crate) fn new(text: &'a str, known: &'a Known) -> Self {
        Self { text, known, at: 0, columns: 0, named: 0 }
    }

    /// The names in the first line that is neither blank nor a comment, from the position of the header; empty if there
    /// is no such line. Columns without a header have numbers.
    pub(crate) fn header(&mut self) -> Result<Vec<Cell<'a>>, Malformed> {
        let from = match self.known.names {
            Names::Numbered(columns) => {
                (self.columns, self.named) = (columns, columns);
                let named = |i: usize| Cell { text: Cow::Owned(i.to_string()), at: 0 };
                return Ok((0..columns).map(named).collect());
            }
            Names::From(from) => from,
        };
        // The text may end before the header.
        self.at = if self.text.is_char_boundary(from) { from } else { self.text.len() };
        while !self.rest().is_empty() && (self.blank_line() || self.comment_line()) {}
        let mut cells = Vec::new();
        if !self.rest().is_empty() {
            self.record(&mut cells, MAX_COLUMNS)?;
        }
        self.columns = cells.len();
        self.named = cells.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |last| last + 1);
        if cells.len() > MAX_COLUMNS {
            return Err(too_many_columns());
        }
        Ok(cells)
    }

    /// Reads the next row into `cells`; returns `false` if there is none. The row has as many cells as the header, or
    /// fewer if the missing ones have no name.
    pub(crate) fn next(&mut self, cells: &mut Vec<Cell<'a>>) -> Result<bool, Malformed> {
        loop {
            if self.rest().is_empty() {
                return Ok(false);
            }
            let start = self.at;
            if self.comment_line() {
                continue;
            }
            if !self.blank_line() {
                break;
            }
            if self.named == 1 {
                return Err(Malformed::new("a blank line in a table of one column")
                    .note("it could be a row without a value, or nothing")
                    .help("write `\"\"` for a row without a value, or remove the line")
                    .in_text(self.text, start));
            }
        }
        let start = self.at;
        cells.clear();
        self.record(cells, self.columns)?;
        if (self.named..=self.columns).contains(&cells.len()) {
            return Ok(true);
        }
        Err(self.wrong(cells, start))
    }

    /// The error in a row that begins at `start` and has these cells.
    fn wrong(&self, cells: &[Cell<'_>], start: usize) -> Malformed {
        let is_comment = |text: &str| text.trim_start_matches([' ', '\t', '\n', '\r']).starts_with('#');
        let are_blank = self.known.separator == BLANKS;
        let wrong = if is_comment(&self.text[start..]) || is_comment(self.text) {
            let found = cells.len().min(self.columns + 1);
            Malformed::new(format!(
                "the row has {found} of {} cells, next to a line that begins with `#`",
                self.columns
            ))
            .help("lines that begin with `#` are comments with `--comment '#'`")
        } else if cells.len() > self.columns && are_blank {
            Malformed::new(format!("the row has more than {} cells", self.columns))
                .help("blanks separate cells here: a text with a blank in it stands in double quotes")
        } else if cells.len() > self.columns {
            Malformed::new(format!("the row has more than {} cells", self.columns)).help(
                "if the first cell of each row is its name, begin the header with a comma (in R: `write.csv`)",
            )
            .help("a number has a point and no comma: `1.5`, `1000`; in quotes, `--decimal ,` reads `\"1,5\"`")
        } else {
            let why = Malformed::new(format!("the row has {} of {} cells", cells.len(), self.named));
            if cells.iter().any(|cell| cell.text.contains([';', '\t'])) {
                why.help("write the same separator between all cells as in the header")
            } else if are_blank {
                why.help("write the cells that are missing; where blanks separate cells, one without a value is `NA`")
            } else {
                why.help(
                    "write the cells that are missing; one without a value is empty, but has its separator",
                )
            }
        };
        wrong.note("each row has a cell for every name in the header").in_text(self.text, start)
    }

    /// The rest of the text.
    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips a line of only blanks, if it is next.
    fn blank_line(&mut self) -> bool {
        let blanks = self.rest().len() - self.rest().trim_start_matches(self.blanks()).len();
        let end = &self.rest()[blanks..];
        let is_blank = end.is_empty() || end.starts_with(['\n', '\r']);
        if is_blank {
            self.at += blanks;
            self.line_end();
        }
        is_blank
    }

    /// The characters that count as blanks around cells.
    fn blanks(&self) -> &'static [char] {
        if self.known.separator == '\t' { &[' '] } else { &[' ', '\t'] }
    }

    /// Skips a comment, if it is next.
    fn comment_line(&mut self) -> bool {
        let is_comment = !self.rest().is_empty() && self.known.is_comment(self.rest());
        if is_comment {
            self.at += self.rest().find(['\n', '\r']).unwrap_or(self.rest().len());
            self.line_end();
        }
        is_comment
    }

    /// Skips the end of a line.
    fn line_end(&mut self) {
        let rest = self.rest();
        self.at += match rest.strip_prefix('\r') {
            Some(rest) => 1 + usize::from(rest.starts_with('\n')),
            None => usize::from(rest.starts_with('\n')),
        };
    }

    /// The cells up to the end of a line that is not within a cell; stops once there are more than `most`. Empty cells
    /// beyond `most` do not count.
    fn record(&mut self, cells: &mut Vec<Cell<'a>>, most: usize) -> Result<(), Malformed> {
        loop {
            let cell = self.cell()?;
            if cells.len() < most || !cell.text.is_empty() {
                cells.push(cell);
            }
            if cells.len() > most {
                return Ok(());
            }
            if !self.separated() {
                self.line_end();
                return Ok(());
            }
        }
    }

    /// Skips a separator of cells, if it is next.
    fn separated(&mut self) -> bool {
        let separator = self.known.separator;
        if separator == BLANKS {
            self.at += self.rest().len() - self.rest().trim_start_matches(self.blanks()).len();
            return !self.is_line_end();
        }
        let is_there = self.rest().starts_with(separator);
        self.at += if is_there { separator.len_utf8() } else { 0 };
        is_there
    }

    fn is_line_end(&self) -> bool {
        self.rest().is_empty() || self.rest().starts_with(['\n', '\r'])
    }

    /// A cell up to the separator or the end of the line after it.
    fn cell(&mut self) -> Result<Cell<'a>, Malformed> {
        self.at += self.rest().len() - self.rest().trim_start_matches(self.blanks()).len();
        let at = self.at;
        if self.rest().starts_with('"') {
            return Ok(Cell { text: self.quoted()?, at });
        }
        let is_end = |c: char| separates(self.known.separator, c) || matches!(c, '\n' | '\r');
        let len = self.rest().find(is_end).unwrap_or(self.rest().len());
        let text = &self.rest()[..len];
        if let Some(quote) = text.find('"') {
            return Err(Malformed::new("a quote within a cell that does not begin with one")
                .note("a cell with quotes is written `\"..\"`, and a quote within it `\"\"`")
                .in_text(self.text, at + quote));
        }
        self.at += len;
        Ok(Cell { text: Cow::Borrowed(text.trim()), at })
    }

    /// A cell in quotes, with the blanks after it.
    fn quoted(&mut self) -> Result<Cow<'a, str>, Malformed> {
        let start = self.at;
        self.at += 1;
        let mut text = Cow::Borrowed("");
        loop {
            let Some(len) = self.rest().find('"') else {
                return Err(Malformed::new("this cell begins with a quote and has no other at its end")
                    .in_text(self.text, start));
            };
            let part = &self.rest()[..len];
            self.at += len + 1;
            text = if text.is_empty() { Cow::Borrowed(part) } else { text + part };
            if !self.rest().starts_with('"') {
                break;
            }
            text += "\"";
            self.at += 1;
        }
        let end = self.at;
        self.at += self.rest().len() - self.rest().trim_start_matches(self.blanks()).len();
        let is_separated = match self.known.separator {
            BLANKS => self.at > end,
            separator => self.rest().starts_with(separator),
        };
        if is_separated || self.is_line_end() {
            return Ok(match text {
                Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
                Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
            });
        }
        let found = self.rest().chars().next().unwrap_or(' ');
        Err(Malformed::new(format!("`{found}` after the quote that ends the cell"))
            .note("a cell in quotes ends with them; a quote within it is written `\"\"`")
            .in_text(self.text, self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows, with cells separated by `|`; or the error.
    fn read(text: &str) -> Result<Vec<String>, String> {
        let known = Known::default();
        let mut records = Records::new(text, &known);
        let joined = |cells: &[Cell<'_>]| cells.iter().map(|c| &*c.text).collect::<Vec<_>>().join("|");
        let read = |records: &mut Records<'_>| -> Result<Vec<String>, Malformed> {
            let mut rows = vec![joined(&records.header()?)];
            let mut cells = Vec::new();
            while records.next(&mut cells)? {
                rows.push(joined(&cells));
            }
            Ok(rows)
        };
        read(&mut records).map_err(|e| e.what())
    }

    #[test]
    fn cells_with_and_without_quotes() {
        let rows = read(" a , \"b\"\t,\"c,\"\"d\"\"\n e\"\r\n,\"\",\n1, 2 ,3").unwrap();
        assert_eq!(rows, ["a|b|c,\"d\"\n e", "||", "1|2|3"]);
        assert_eq!(read("\n\na,b\r\n\r\n1,2\r3,4\n\n \n").unwrap(), ["a|b", "1|2", "3|4"]);
        assert_eq!(read("a\n\"\"\n1\n").unwrap(), ["a", "", "1"]);
        assert_eq!(read("\"\"\"\"\n").unwrap(), ["\""]);
    }

    #[test]
    fn blanks_separate_cells() {
        let known = Known { separator: BLANKS, ..Known::default() };
        let mut records = Records::new(" a  \"b c\"\td \n1 2   3\r\n\n 4 \"5\" 6", &known);
        let names: Vec<String> = records.header().unwrap().iter().map(|cell| cell.text.to_string()).collect();
        assert_eq!(names, ["a", "b c", "d"]);
        let (mut rows, mut cells) = (Vec::new(), Vec::new());
        while records.next(&mut cells).unwrap() {
            rows.push(cells.iter().map(|cell| &*cell.text).collect::<Vec<_>>().join("|"));
        }
        assert_eq!(rows, ["1|2|3", "4|5|6"]);
    }

    #[test]
    fn commas_at_the_end_of_lines_add_nothing() {
        assert_eq!(read("a,b,\n1,2,\n3,4\n5,6,,\n").unwrap(), ["a|b|", "1|2|", "3|4", "5|6|"]);
        assert_eq!(read("a,b\n1,2,,,\n").unwrap(), ["a|b", "1|2"]);
        assert_eq!(read("a,,b\n1,2\n").unwrap_err(), "line 2, column 1: the row has 2 of 3 cells");
    }

    #[test]
    fn nothing_is_guessed() {
        for (text, place) in [
            ("x\n\"1\"2\n", "line 2, column 4: `2` after"),
            ("x,y\n1,2\"3\"\n", "line 2, column 4: a quote within"),
            ("x\n\n1\n", "line 2, column 1: a blank line"),
            ("x\n1\n2\n\n", "line 4, column 1: a blank line"),
            ("x\n1\n  \n", "line 3, column 1: a blank line"),
            ("x\n1\n\"2\n3\n", "line 3, column 1: this cell begins"),
            ("x,y\n1,2\n3\n", "line 3, column 1: the row has 1 of 2 cells"),
            ("x\né,1\n", "line 2, column 1: the row has more than 1 cells"),
        ] {
            let what = read(text).unwrap_err();
            assert!(what.starts_with(place), "{text:?}: {what}");
        }
    }
}
