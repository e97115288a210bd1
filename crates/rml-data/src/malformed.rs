//! Faults of a file or of a cell in it.

use std::fmt;

use rml_base::codes::run as codes;
use rml_base::memory::Shortage;
use rml_base::{Code, Diagnostic, visible_name};

/// A table has at most that many columns; what has more is something else.
pub(crate) const MAX_COLUMNS: usize = 1 << 16;

pub(crate) fn too_many_columns() -> Malformed {
    Malformed::too_large("the table has too many columns").note(format!("expected at most {MAX_COLUMNS}"))
}

/// Why a cell cannot be read.
#[derive(Clone, PartialEq, Debug)]
pub enum Wrong {
    /// Its elements are of no type that inputs have, in words.
    Text(String),
    /// Its shape is not that of other cells, in words.
    Shape(String),
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
        let why = Malformed::new("the text is not UTF-8");
        if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            return why.note("it is UTF-16").help("save it as UTF-8 (in Excel: `CSV UTF-8`)");
        }
        why.note(format!("the first wrong byte is number {}", e.valid_up_to()))
            .help("save it as UTF-8, or check that the extension names its format")
    })
}

/// The line and the column (in characters) of a place in a text, both from 1.
pub(crate) fn line_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// What is wrong with a file, before its name is known.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Malformed {
    pub(crate) code: Code,
    what: String,
    /// The line and the column in a text, both from 1.
    place: Option<(usize, usize)>,
    notes: Vec<String>,
    help: Vec<String>,
}

impl Malformed {
    fn of(code: Code, what: impl Into<String>) -> Self {
        Self { code, what: what.into(), place: None, notes: Vec::new(), help: Vec::new() }
    }

    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self::of(codes::MALFORMED_DATA, what)
    }

    pub(crate) fn too_large(what: impl Into<String>) -> Self {
        Self::of(codes::DATA_TOO_LARGE, what)
    }

    /// Elements that no input takes.
    pub(crate) fn of_type(what: impl Into<String>) -> Self {
        Self::of(codes::DATA_TYPE, what)
    }

    /// Rows that do not fit each other.
    pub(crate) fn of_shape(what: impl Into<String>) -> Self {
        Self::of(codes::DATA_SHAPE, what)
    }

    /// A file without a line that counts.
    pub(crate) fn empty() -> Self {
        Self::of(codes::EMPTY_DATA, "the file is empty")
            .note("expected a line of names, and a line for each row")
            .help("check that the program that wrote the file came to its end, or name another file")
    }

    /// A column that one file lacks.
    pub(crate) fn lacking(what: impl Into<String>) -> Self {
        Self::of(codes::MISSING_COLUMN, what)
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// Why a column of that name has no more cells: one of them cannot be read.
    ///
    /// # Errors
    /// Too little memory, which is no fault of the column.
    pub(crate) fn in_cell(name: &str, wrong: Wrong) -> Result<Self, Self> {
        match wrong {
            Wrong::Text(why) => Ok(Self::of_type(why)),
            Wrong::Shape(why) => Ok(Self::of_shape(why)),
            Wrong::Memory(short) => {
                Err(Self::short(short.diagnostic(format!("column `{}`", visible_name(name)))))
            }
        }
    }

    /// A finding of its own.
    pub(crate) fn short(d: Diagnostic) -> Self {
        Self { code: d.code, what: d.message, place: None, notes: d.notes, help: d.help }
    }

    /// The same, with its place in a text.
    pub(crate) fn in_text(self, text: &str, at: usize) -> Self {
        Self { place: Some(line_column(text, at)), ..self }
    }

    /// The same, in that line and column.
    pub(crate) fn in_line(self, line: usize, column: usize) -> Self {
        Self { place: Some((line, column)), ..self }
    }

    /// The same, in a row by its number.
    pub(crate) fn in_row(mut self, row: usize) -> Self {
        self.what = format!("row {row}: {}", self.what);
        self
    }

    /// The same, of an array of that name.
    pub(crate) fn in_array(mut self, name: &str) -> Self {
        self.what = format!("array `{}`: {}", visible_name(name), self.what);
        self
    }

    /// The same of a text that stands below that many other lines.
    pub(crate) fn below(mut self, lines: usize) -> Self {
        self.place = self.place.map(|(line, column)| (line + lines, column));
        self
    }

    /// What is wrong, and where.
    pub(crate) fn what(&self) -> String {
        match self.place {
            Some((line, column)) => format!("line {line}, column {column}: {}", self.what),
            None => self.what.clone(),
        }
    }

    pub(crate) fn at(self, origin: &str) -> Diagnostic {
        let mut d = Diagnostic::error(self.code, format!("{origin}: {}", self.what()));
        d.notes = self.notes;
        d.help = self.help;
        d
    }
}

/// A list lacks an element.
pub(crate) const GAP: &str = "some elements are absent here, others not: `null` in a list";

/// Why an entry of a file feeds no input. It is harmless unless a program asks for the entry. Displays as the reason,
/// with its place.
///
/// ```
/// # use rml_data as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// let table = rml::Columns::parse(b"x,day\n1.5,Monday\n", rml::Format::Csv, "table.csv")?;
/// assert!(table.unusable["day"].to_string().starts_with("line 2, column 5: "));
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Unusable {
    finding: Box<Malformed>,
    /// The file, where the data has several; empty if the reason says it.
    file: Option<String>,
}

impl From<Malformed> for Unusable {
    fn from(finding: Malformed) -> Self {
        Self { finding: Box::new(finding), file: None }
    }
}

/// Elements that no input takes, in words.
impl From<String> for Unusable {
    fn from(why: String) -> Self {
        Malformed::of_type(why).into()
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = self.file.as_deref().filter(|file| !file.is_empty()) {
            write!(f, "{file}, ")?;
        }
        f.write_str(&self.finding.what())
    }
}

impl Unusable {
    /// A reason that names its files itself.
    pub(crate) fn of_files(finding: Malformed) -> Self {
        Self { finding: Box::new(finding), file: Some(String::new()) }
    }

    /// Says in which file the entry is, unless it is known.
    pub(crate) fn name_file(&mut self, file: &str) {
        if !file.is_empty() {
            self.file.get_or_insert_with(|| file.to_owned());
        }
    }

    /// Its place is in a text that stands below that many other lines.
    pub(crate) fn count_above(&mut self, lines: usize) {
        if let Some((line, _)) = &mut self.finding.place {
            *line += lines;
        }
    }

    /// Whether its rows do not fit each other.
    pub(crate) fn is_misshapen(&self) -> bool {
        self.finding.code == codes::DATA_SHAPE
    }

    /// Whether the file has no such entry.
    pub(crate) fn is_absent(&self) -> bool {
        self.finding.code == codes::MISSING_COLUMN && self.file.as_deref() != Some("")
    }

    /// An input asks for the entry: `what` says so.
    pub fn refused(&self, what: String) -> Diagnostic {
        let mut d = Diagnostic::error(self.finding.code, what).note(self.to_string());
        d.notes.extend(self.finding.notes.iter().cloned());
        d.help.extend(self.finding.help.iter().cloned());
        d
    }
}
