//! Faults of a file or of a cell in it.

use std::fmt;

use rml_base::codes::run as codes;
use rml_base::memory::Shortage;
use rml_base::{Code, Diagnostic, visible_name};

/// The most columns of a table; a file with more is probably not a table.
pub(crate) const MAX_COLUMNS: usize = 1 << 16;

pub(crate) fn too_many_columns() -> Malformed {
    Malformed::too_large("the table has too many columns").note(format!("expected at most {MAX_COLUMNS}"))
}

/// Why a cell cannot be read.
#[derive(Clone, PartialEq, Debug)]
pub enum Wrong {
    /// The elements of the cell have no type that inputs can have; the text describes it.
    Text(String),
    /// The shape of the cell differs from that of other cells; the text describes it.
    Shape(String),
    /// There is not enough memory for it.
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

/// The text of a file, without a byte order mark at its start.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, Malformed> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|e| {
        let why = Malformed::new("the text is not UTF-8");
        if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            return why.note("it is UTF-16").help("save it as UTF-8 (in Excel: `CSV UTF-8`)");
        }
        let (before, rest) = bytes.split_at(e.valid_up_to());
        if bytes.contains(&0) {
            return why
                .note(format!("the first wrong byte is number {}", before.len()))
                .help("save it as UTF-8, or check that the extension names its format");
        }
        let before = std::str::from_utf8(before).unwrap_or_default();
        let (line, column) = line_column(before, before.len());
        let byte = rest.first().copied().unwrap_or_default();
        // The first 32 bytes after ASCII are not the same characters in both.
        let note = match byte {
            0xa0.. => format!("the byte there, {byte:#x}, is `{}` in Windows-1252", char::from(byte)),
            _ => format!("the byte there is {byte:#x}"),
        };
        why.in_line(line, column)
            .note(note)
            .help("save it as UTF-8: in Excel, `CSV UTF-8`; in a shell, `iconv -f cp1252 -t UTF-8 OLD > NEW`")
    })
}

/// The line and the column (in characters) of a place in a text, both from 1.
pub(crate) fn line_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// A fault of a file whose name is not known yet.
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

    /// A fault: elements that no input can use.
    pub(crate) fn of_type(what: impl Into<String>) -> Self {
        Self::of(codes::DATA_TYPE, what)
    }

    /// A fault: rows that do not fit together.
    pub(crate) fn of_shape(what: impl Into<String>) -> Self {
        Self::of(codes::DATA_SHAPE, what)
    }

    /// A fault: a file that is empty except for blank lines and comments.
    pub(crate) fn empty() -> Self {
        Self::of(codes::EMPTY_DATA, "the file is empty")
            .note("expected a line of names, and a line for each row")
            .help("check that the program that wrote the file came to its end, or name another file")
    }

    /// A fault: a column that one file lacks.
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

    /// Why a column ends at a cell that cannot be read.
    ///
    /// # Errors
    /// Too little memory, which is not a fault of the column.
    pub(crate) fn in_cell(name: &str, wrong: Wrong) -> Result<Self, Self> {
        match wrong {
            Wrong::Text(why) => Ok(Self::of_type(why)),
            Wrong::Shape(why) => Ok(Self::of_shape(why)),
            Wrong::Memory(short) => {
                Err(Self::short(short.diagnostic(format!("column `{}`", visible_name(name)))))
            }
        }
    }

    /// A fault made of a diagnostic.
    pub(crate) fn short(d: Diagnostic) -> Self {
        Self { code: d.code, what: d.message, place: None, notes: d.notes, help: d.help }
    }

    /// The same, with its place in a text.
    pub(crate) fn in_text(self, text: &str, at: usize) -> Self {
        Self { place: Some(line_column(text, at)), ..self }
    }

    /// The same, at this line and column.
    pub(crate) fn in_line(self, line: usize, column: usize) -> Self {
        Self { place: Some((line, column)), ..self }
    }

    /// The same, in the row with this number.
    pub(crate) fn in_row(mut self, row: usize) -> Self {
        self.what = format!("row {row}: {}", self.what);
        self
    }

    /// The same, in the array with this name.
    pub(crate) fn in_array(mut self, name: &str) -> Self {
        self.what = format!("array `{}`: {}", visible_name(name), self.what);
        self
    }

    /// The same, with the line of a text that begins after `lines` other lines.
    pub(crate) fn below(mut self, lines: usize) -> Self {
        self.place = self.place.map(|(line, column)| (line + lines, column));
        self
    }

    /// The fault with its place.
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

/// The finding that a list lacks an element.
pub(crate) const GAP: &str = "some elements are absent here, others not: `null` in a list";

/// Why an entry of a file cannot feed an input. This is harmless unless a program asks for the entry. Displays as the
/// reason, with its place.
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
    /// The file, if the data has several; empty if the reason names it.
    file: Option<String>,
}

impl From<Malformed> for Unusable {
    fn from(finding: Malformed) -> Self {
        Self { finding: Box::new(finding), file: None }
    }
}

/// Elements that no input can use, as this text describes.
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

    /// Adds the file of the entry, unless it is known.
    pub(crate) fn name_file(&mut self, file: &str) {
        if !file.is_empty() {
            self.file.get_or_insert_with(|| file.to_owned());
        }
    }

    /// Moves its place down by the number of lines before its text.
    pub(crate) fn count_above(&mut self, lines: usize) {
        if let Some((line, _)) = &mut self.finding.place {
            *line += lines;
        }
    }

    /// Whether its rows do not fit together.
    pub(crate) fn is_misshapen(&self) -> bool {
        self.finding.code == codes::DATA_SHAPE
    }

    /// Whether the file has no such entry.
    pub(crate) fn is_absent(&self) -> bool {
        self.finding.code == codes::MISSING_COLUMN && self.file.as_deref() != Some("")
    }

    /// The error if an input asks for the entry, as `what` describes.
    pub fn refused(&self, what: String) -> Diagnostic {
        let mut d = Diagnostic::error(self.finding.code, what).note(self.to_string());
        d.notes.extend(self.finding.notes.iter().cloned());
        d.help.extend(self.finding.help.iter().cloned());
        d
    }
}
