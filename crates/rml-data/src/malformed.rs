//! What is wrong with a file or a cell of it.

use rml_base::codes::run as codes;
use rml_base::memory::Shortage;
use rml_base::{Code, Diagnostic};

/// A table has at most so many columns; what has more is something else.
pub(crate) const MAX_COLUMNS: usize = 1 << 16;

pub(crate) fn too_many_columns() -> Malformed {
    Malformed::too_large("the table has too many columns").note(format!("expected at most {MAX_COLUMNS}"))
}

/// Why a cell cannot be read.
#[derive(Clone, PartialEq, Debug)]
pub enum Wrong {
    /// In words.
    Text(String),
    /// It does not fit into the memory.
    Memory(Shortage),
}

impl From<String> for Wrong {
    fn from(why: String) -> Self {
        Wrong::Text(why)
    }
}

impl From<&str> for Wrong {
    fn from(why: &str) -> Self {
        Wrong::Text(why.to_owned())
    }
}

impl From<Shortage> for Wrong {
    fn from(shortage: Shortage) -> Self {
        Wrong::Memory(shortage)
    }
}

/// The text of a file, without the byte order mark that may stand before it.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, Malformed> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|e| {
        Malformed::new("the text is not UTF-8")
            .note(format!("the first wrong byte is number {}", e.valid_up_to()))
    })
}

/// The line and the column (in characters) of a place in a text, both from 1.
pub(crate) fn line_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// What is wrong with a file, before its name is known.
#[derive(Debug)]
pub(crate) struct Malformed {
    pub(crate) code: Code,
    pub(crate) what: String,
    notes: Vec<String>,
    help: Vec<String>,
}

impl Malformed {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { code: codes::MALFORMED_DATA, what: what.into(), notes: Vec::new(), help: Vec::new() }
    }

    pub(crate) fn too_large(what: impl Into<String>) -> Self {
        Self { code: codes::DATA_TOO_LARGE, ..Self::new(what) }
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// A cell of a column that cannot be read.
    pub(crate) fn in_cell(name: &str, wrong: Wrong) -> Self {
        match wrong {
            Wrong::Text(why) => Self::new(format!("column `{name}`: {why}")),
            Wrong::Memory(short) => Self::short(short.diagnostic(format!("column `{name}`"))),
        }
    }

    /// The same, of a row by its number.
    pub(crate) fn in_row(name: &str, row: usize, wrong: Wrong) -> Self {
        match wrong {
            Wrong::Text(why) => Self::new(format!("column `{name}`, row {row}: {why}")),
            Wrong::Memory(_) => Self::in_cell(name, wrong),
        }
    }

    /// A finding of its own.
    pub(crate) fn short(d: Diagnostic) -> Self {
        Self { code: d.code, what: d.message, notes: d.notes, help: d.help }
    }

    /// The same, with its place in a text.
    pub(crate) fn in_text(mut self, text: &str, at: usize) -> Self {
        let (line, column) = line_column(text, at);
        self.what = format!("line {line}, column {column}: {}", self.what);
        self
    }

    pub(crate) fn at(self, origin: &str) -> Diagnostic {
        let mut d = Diagnostic::error(self.code, format!("{origin}: {}", self.what));
        d.notes = self.notes;
        d.help = self.help;
        d
    }
}
