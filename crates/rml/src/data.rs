//! Columns of data by name, from npz, csv, JSON and JSON lines. Nothing here knows the program that reads them.
//!
//! A file is data from outside: sizes it declares are compared with what is there before anything is allocated, and
//! whatever is wrong with it is a diagnostic that names the place.

use std::path::Path;

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::memory::{self, Reservation};
use rml_base::{Code, Diagnostic};
use rml_ir::Shape;

use crate::contents;
use crate::error::Error;

pub(crate) mod bind;
mod column;
mod csv;
mod json;
mod npy;
mod npz;
mod records;
mod scan;
pub(crate) mod windows;

pub(crate) use column::Wrong;
pub(crate) use csv::write_row;
pub(crate) use json::{Cell, cells};

/// The elements of a column, as the file has them.
#[derive(Clone, PartialEq, Debug)]
pub enum Elements {
    /// Truth values.
    Bool(Vec<bool>),
    /// Integers of any width.
    Int(Vec<i64>),
    /// Numbers in single precision.
    F32(Vec<f32>),
    /// Numbers in double precision.
    F64(Vec<f64>),
}

impl Elements {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Elements::Bool(v) => v.len(),
            Elements::Int(v) => v.len(),
            Elements::F32(v) => v.len(),
            Elements::F64(v) => v.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What they are, for people.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Elements::Bool(_) => "truth values",
            Elements::Int(_) => "integers",
            Elements::F32(_) | Elements::F64(_) => "numbers",
        }
    }
}

/// A named array: its leading dimension counts rows (cycles or windows).
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// All dimensions, the leading one included.
    pub shape: Shape,
    /// Row-major, of the rows that are there.
    pub elements: Elements,
    /// The numbers of the rows that are there, ascending; `None` = all.
    pub present: Option<Vec<usize>>,
}

impl Column {
    /// How many rows.
    pub fn rows(&self) -> usize {
        self.shape.dims().first().copied().unwrap_or(0)
    }

    /// How many rows are there.
    pub fn present_rows(&self) -> usize {
        self.present.as_ref().map_or(self.rows(), Vec::len)
    }

    /// Where the elements of a row stand among those of the rows that are there; `None` = it is not there.
    pub fn place(&self, row: usize) -> Option<usize> {
        place(self.present.as_deref(), row)
    }

    /// Whether shape, rows and elements fit each other; in a column that was read they do.
    fn fits(&self) -> bool {
        let rows = |present: &Vec<usize>| {
            present.is_sorted_by(|a, b| a < b) && present.last().is_none_or(|row| *row < self.rows())
        };
        let cell = self.shape.dims().get(1..).and_then(|dims| Shape::new(dims).checked_len());
        let elements = cell.and_then(|cell| cell.checked_mul(self.present_rows()));
        self.present.as_ref().is_none_or(rows) && elements == Some(self.elements.len())
    }

    /// Whether no row is there; then a text format could not tell what the elements are.
    fn is_void(&self) -> bool {
        self.present_rows() == 0
    }
}

/// Where a row stands among those that are there.
fn place(present: Option<&[usize]>, row: usize) -> Option<usize> {
    match present {
        None => Some(row),
        Some(rows) => rows.binary_search(&row).ok(),
    }
}

/// The bytes that an element takes at most while a file is written: in JSON digits, sign, exponent and comma, in a text that is copied
/// where it grows; in an archive its own bytes, copied and packed.
fn written(format: Option<Format>) -> u64 {
    match format {
        Some(Format::Npz) => 3 * 8,
        _ => 3 * 24,
    }
}

/// A table has at most so many columns; what has more is something else.
const MAX_COLUMNS: usize = 1 << 16;

fn too_many_columns() -> Malformed {
    Malformed::too_large("the table has too many columns").note(format!("expected at most {MAX_COLUMNS}"))
}

/// A table of columns.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// Where it came from, for messages.
    pub origin: String,
    /// The columns by name, in the order of the file.
    pub columns: IndexMap<String, Column>,
    /// Arrays of the file that cannot be columns, and why (texts, for example). They do no harm unless a program asks for them.
    pub unusable: IndexMap<String, String>,
    /// The bytes that the elements took when they were read.
    pub(crate) memory: Reservation,
}

impl PartialEq for Columns {
    fn eq(&self, other: &Self) -> bool {
        self.origin == other.origin && self.columns == other.columns && self.unusable == other.unusable
    }
}

/// The formats of data files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// An archive of NumPy arrays.
    Npz,
    /// Comma-separated values under a header row.
    Csv,
    /// One JSON document.
    Json,
    /// One JSON object a line.
    JsonLines,
}

impl Format {
    /// The format that a file's extension names.
    pub fn of(path: &Path) -> Option<Format> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "npz" => Some(Format::Npz),
            "csv" => Some(Format::Csv),
            "json" => Some(Format::Json),
            "jsonl" | "ndjson" => Some(Format::JsonLines),
            _ => None,
        }
    }
}

impl Columns {
    /// Reads a file by its extension: `.npz`, `.csv`, `.json`, `.jsonl` or `.ndjson`.
    ///
    /// # Errors
    /// A file that cannot be read, or is malformed.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let Some(format) = Format::of(path) else {
            return Err(Diagnostic::error(
                codes::UNKNOWN_FORMAT,
                format!("{} is in no format that is known", path.display()),
            )
            .note("the extension says the format: .npz, .csv, .json, .jsonl or .ndjson")
            .into());
        };
        let file = contents::data(path)?;
        Self::parse(&file.bytes, format, &path.display().to_string())
    }

    /// Reads the bytes of a file; `origin` names it in messages.
    ///
    /// # Errors
    /// Bytes that are not in that format.
    pub fn parse(bytes: &[u8], format: Format, origin: &str) -> Result<Self, Error> {
        let mut columns = match format {
            Format::Npz => npz::read(bytes),
            Format::Csv => csv::read(bytes),
            Format::Json => json::read(bytes),
            Format::JsonLines => json::read_lines(bytes),
        }
        .map_err(|e| e.at(origin))?;
        columns.origin = origin.to_owned();
        Ok(columns)
    }

    /// Writes a file by its extension, `.npz` or `.json`.
    ///
    /// # Errors
    /// Another extension; columns that the format has no place for; a file that cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        Self::check_format(path)?;
        let elements = self.columns.values().map(|c| c.shape.len() as u64).fold(0, u64::saturating_add);
        memory::ask(elements.saturating_mul(written(Format::of(path))))
            .map_err(|short| short.diagnostic(format!("writing {}, {elements} elements,", path.display())))?;
        let bytes = match Format::of(path) {
            Some(Format::Npz) => self.to_npz()?,
            _ => (self.to_json() + "\n").into_bytes(),
        };
        crate::file::write_output(path, &bytes)
    }

    /// Whether [`Columns::write`] knows the extension of a file.
    ///
    /// # Errors
    /// Another extension.
    pub fn check_format(path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        if matches!(Format::of(path), Some(Format::Npz | Format::Json)) {
            return Ok(());
        }
        let what = format!("{} is in no format that can be written", path.display());
        let d = Diagnostic::error(codes::UNKNOWN_FORMAT, what);
        Err(d.note("the extension says the format: .npz or .json").into())
    }

    /// All columns as an npz archive.
    ///
    /// # Errors
    /// Columns with missing rows, which the format has no place for.
    pub fn to_npz(&self) -> Result<Vec<u8>, Error> {
        npz::write(self).map_err(|e| e.at(&self.origin).into())
    }

    /// All columns as a JSON object of arrays; a missing row is `null`.
    pub fn to_json(&self) -> String {
        json::write(self)
    }
}

/// The text of a file, without the byte order mark that may stand before it.
fn text(bytes: &[u8]) -> Result<&str, Malformed> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|e| {
        Malformed::new("the text is not UTF-8")
            .note(format!("the first wrong byte is number {}", e.valid_up_to()))
    })
}

/// The line and the column (in characters) of a place in a text, both from 1.
fn line_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// What is wrong with a file, before its name is known.
#[derive(Debug)]
pub(crate) struct Malformed {
    code: Code,
    what: String,
    notes: Vec<String>,
    help: Vec<String>,
}

impl Malformed {
    fn new(what: impl Into<String>) -> Self {
        Self { code: codes::MALFORMED_DATA, what: what.into(), notes: Vec::new(), help: Vec::new() }
    }

    fn too_large(what: impl Into<String>) -> Self {
        Self { code: codes::DATA_TOO_LARGE, ..Self::new(what) }
    }

    fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// A cell of a column that cannot be read.
    fn in_cell(name: &str, wrong: Wrong) -> Self {
        match wrong {
            Wrong::Text(why) => Self::new(format!("column `{name}`: {why}")),
            Wrong::Memory(short) => Self::short(short.diagnostic(format!("column `{name}`"))),
        }
    }

    /// The same, of a row by its number.
    fn in_row(name: &str, row: usize, wrong: Wrong) -> Self {
        match wrong {
            Wrong::Text(why) => Self::new(format!("column `{name}`, row {row}: {why}")),
            Wrong::Memory(_) => Self::in_cell(name, wrong),
        }
    }

    /// A finding of its own.
    fn short(d: Diagnostic) -> Self {
        Self { code: d.code, what: d.message, notes: d.notes, help: d.help }
    }

    /// The same, with its place in a text.
    fn in_text(mut self, text: &str, at: usize) -> Self {
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

#[cfg(test)]
mod tests;
