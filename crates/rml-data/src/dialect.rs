//! The format of a table in text: the separator of cells, the notation of numbers, the cells without a value.

mod find;
mod head;
mod missing;
mod parse;
mod sample;

use std::borrow::Cow;
use std::path::Path;

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};
use rml_files::Compression;
use serde::{Deserialize, Serialize};

pub(crate) use find::find;
use missing::Missing;
pub(crate) use sample::{SAMPLE, sample_of};

/// The format of tables in text files, as given by the user. Settings that are not given are detected in each file.
///
/// ```
/// # use rml_base::Error;
/// # fn main() -> Result<(), Error> {
/// use rml_data::{Columns, Dialect, Format, Selection};
///
/// let text = b"x;y\n1,250;2\n";
/// let read = |dialect: Dialect| {
///     Columns::parse_selected(text, Format::Csv, "table.csv", &Selection::all().written(dialect))
/// };
/// let decimal = read(Dialect { decimal: Some(','), ..Dialect::default() })?;
/// let thousands = read(Dialect { thousands: Some(','), ..Dialect::default() })?;
/// assert_eq!(decimal.columns["x"].elements, rml_data::Elements::F64(vec![1.25]));
/// assert_eq!(thousands.columns["x"].elements, rml_data::Elements::Int(vec![1250]));
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Dialect {
    /// The separator of cells; a space stands for one or more blanks.
    pub separator: Option<char>,
    /// The decimal mark.
    pub decimal: Option<char>,
    /// The separator of groups of three digits.
    pub thousands: Option<char>,
    /// Cells without a value, beside the empty cell and the usual ones such as `NA`. Numbers mean all cells of their
    /// value. With an empty text among them, the usual cells have values.
    pub missing: Option<Vec<String>>,
    /// Whether the first line names the columns. Columns without names are called `0`, `1`, ..
    pub header: Option<bool>,
    /// The characters with which a comment line begins.
    pub comment: Option<String>,
}

impl Dialect {
    /// The same settings, completed by those of another dialect.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            separator: self.separator.or(other.separator),
            decimal: self.decimal.or(other.decimal),
            thousands: self.thousands.or(other.thousands),
            missing: self.missing.or(other.missing),
            header: self.header.or(other.header),
            comment: self.comment.or(other.comment),
        }
    }

    /// Checks that its parts are consistent.
    ///
    /// # Errors
    /// One character has two meanings.
    pub fn check(&self) -> Result<(), Error> {
        let decimal = self.decimal.unwrap_or(if self.thousands == Some('.') { ',' } else { '.' });
        let twice = self.thousands.filter(|mark| *mark == decimal);
        let Some(mark) = twice else { return Ok(()) };
        let what = format!("`{mark}` cannot both precede the fraction and separate thousands");
        let other = if mark == ',' { '.' } else { ',' };
        Err(Diagnostic::error(codes::BAD_OPTION, what)
            .help(format!("if `{mark}` separates thousands: `--thousands {mark} --decimal {other}`"))
            .into())
    }
}

/// The default separator in a file with this name, if there is one.
pub(crate) fn usual(path: &Path) -> Option<char> {
    match extension(path)?.as_str() {
        "tsv" | "tab" => Some('\t'),
        "psv" => Some('|'),
        _ => None,
    }
}

/// Whether the name of a file is that of a table in text.
pub(crate) fn is_table(path: &Path) -> bool {
    extension(path).is_some_and(|extension| matches!(extension.as_str(), "csv" | "tsv" | "tab" | "psv"))
}

fn extension(path: &Path) -> Option<String> {
    Some(Compression::of(path).1.extension()?.to_str()?.to_ascii_lowercase())
}

/// The format of one file.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Known {
    pub(crate) separator: char,
    pub(crate) decimal: char,
    pub(crate) thousands: Option<char>,
    pub(crate) missing: Missing,
    pub(crate) comment: Option<String>,
    pub(crate) names: Names,
    /// Settings that were detected in the file and differ from the defaults of CSV.
    pub(crate) assumed: Vec<String>,
}

/// The source of the names of columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Names {
    /// The first record from this byte on.
    From(usize),
    /// There are no names; the table has this many columns.
    Numbered(usize),
}

impl Default for Known {
    fn default() -> Self {
        Self {
            separator: ',',
            decimal: '.',
            thousands: None,
            missing: Missing::default(),
            comment: None,
            names: Names::From(0),
            assumed: Vec::new(),
        }
    }
}

impl Known {
    /// Whether a cell has no value.
    pub(crate) fn is_missing(&self, cell: &str) -> bool {
        self.missing.has(cell, |text| self.plain(text))
    }

    /// Whether a line is a comment.
    pub(crate) fn is_comment(&self, line: &str) -> bool {
        let begin = self.comment.as_deref();
        begin.is_some_and(|begin| line.trim_start_matches([' ', '\t']).starts_with(begin))
    }

    /// A cell in the usual notation of numbers: without separators of thousands, and with a decimal point. None if a
    /// separator or a decimal mark is at a wrong place.
    pub(crate) fn plain<'t>(&self, cell: &'t str) -> Option<Cow<'t, str>> {
        plain(cell, self.decimal, self.thousands)
    }
}

/// As [`Known::plain`], for numbers with these marks.
pub(crate) fn plain(cell: &str, decimal: char, thousands: Option<char>) -> Option<Cow<'_, str>> {
    if decimal == '.' && thousands.is_none_or(|mark| !cell.contains(mark)) {
        return Some(Cow::Borrowed(cell));
    }
    let (whole, fraction) = match cell.split_once(decimal) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (cell, None),
    };
    let whole = match thousands.filter(|mark| whole.contains(*mark)) {
        Some(mark) => Cow::Owned(ungrouped(whole, mark)?),
        None => Cow::Borrowed(whole),
    };
    let has_mark = |part: &str| part.contains('.') || thousands.is_some_and(|mark| part.contains(mark));
    if has_mark(&whole) || fraction.is_some_and(has_mark) {
        return None;
    }
    Some(match fraction {
        Some(fraction) => Cow::Owned(format!("{whole}.{fraction}")),
        None => whole,
    })
}

/// Digits without separators of groups; none if a group other than the first does not have three digits.
fn ungrouped(whole: &str, mark: char) -> Option<String> {
    let digits = whole.trim_start_matches(['-', '+']);
    let mut groups = digits.split(mark);
    let are_digits = |group: &str| group.bytes().all(|b| b.is_ascii_digit());
    let first = groups.next().filter(|first| (1..=3).contains(&first.len()) && are_digits(first));
    first?;
    groups.all(|group| group.len() == 3 && are_digits(group)).then(|| whole.replace(mark, ""))
}

/// The separator that stands for one or more blanks.
pub(crate) const BLANKS: char = ' ';

/// Whether a character separates cells.
pub(crate) fn separates(separator: char, c: char) -> bool {
    c == separator || separator == BLANKS && c == '\t'
}

/// The name of a separator in messages and on the command line.
pub(crate) fn shown(separator: char) -> &'static str {
    match separator {
        ';' => "';'",
        '\t' => "tab",
        '|' => "'|'",
        BLANKS => "' '",
        _ => ",",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_one_way() {
        for (decimal, thousands, cell, expected) in [
            ('.', None, "1.5", Some("1.5")),
            ('.', Some(','), "1,234.5", Some("1234.5")),
            ('.', Some(','), "-1,234,567", Some("-1234567")),
            ('.', Some(','), "1,23", None),
            ('.', Some(','), "1.5,000", None),
            (',', None, "1,5", Some("1.5")),
            (',', None, "-1,5e-3", Some("-1.5e-3")),
            (',', None, "1.5", None),
            (',', None, "7", Some("7")),
            (',', Some('.'), "1.234,5", Some("1234.5")),
            (',', Some('.'), "1.5", None),
            (',', None, "1,2,3", Some("1.2,3")),
            ('.', Some(' '), "12 345", Some("12345")),
        ] {
            assert_eq!(
                plain(cell, decimal, thousands).as_deref(),
                expected,
                "{cell} {decimal} {thousands:?}"
            );
        }
    }
}
