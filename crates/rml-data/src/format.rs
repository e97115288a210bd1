//! Files of columns: their formats, with the reader and the writer of each.

use std::path::Path;

use rml_base::codes::run as codes;
use rml_base::memory;
use rml_base::{Diagnostic, Error};
use rml_files::{Compression, Unpacked, contents, is_standard_input};

use crate::array;
use crate::columns::Columns;
use crate::formats::Format;
use crate::malformed::Malformed;
use crate::selection::Selection;
use crate::stacked::Piece;
use crate::{csv, dialect, json, npz};

/// The name of the data of a path in messages.
pub(crate) fn origin(path: &Path) -> String {
    if is_standard_input(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// The format of a file, given by the user or by its name; `None` if its first bytes decide.
///
/// # Errors
/// A name without a known extension.
pub(crate) fn format_of(path: &Path, selection: &Selection) -> Result<Option<Format>, Error> {
    let format = selection.format().or_else(|| Format::of(path));
    if format.is_some() || is_standard_input(path) {
        return Ok(format);
    }
    let what = format!("{} is in no format that is known", path.display());
    let d = Diagnostic::error(codes::UNKNOWN_FORMAT, what);
    Err(d.note(format!("the extension says the format: {EXTENSIONS}")).help(other_format(path)).into())
}

/// Whether a file can be read only from its beginning to its end, since it is compressed or standard input.
pub(crate) fn is_stream(path: &Path) -> bool {
    is_standard_input(path) || Compression::of(path).0 != Compression::Plain
}

/// Opens data that can be read only from its beginning to its end.
pub(crate) fn open(path: &Path, selection: &Selection) -> Result<(Unpacked, Format), Error> {
    let named = format_of(path, selection)?;
    let mut data = Unpacked::open(path)?;
    let format = match named {
        Some(format) => format,
        None => Format::of_bytes(&data.begin(dialect::SAMPLE)?).map_err(|e| e.at(&origin(path)))?,
    };
    Ok((data, format))
}

/// The extensions of the formats that are read, for messages.
pub(crate) const EXTENSIONS: &str = ".npz, .npy, .csv, .tsv, .json, .jsonl, .ndjson, .arrow, .feather or .parquet; compressed, .csv.gz, .csv.zst and so on";

/// Renames the columns of a piece of a file, after `before` rows, to the inputs that they feed; those of text tables
/// have these names already.
pub(crate) fn mapped(
    mut columns: Columns,
    format: Format,
    selection: &Selection,
    before: usize,
) -> Result<Columns, Malformed> {
    let are_seconds = match format {
        Format::Csv => return Ok(columns),
        Format::Json | Format::JsonLines | Format::Arrow | Format::Parquet => true,
        Format::Npz | Format::Npy => false,
    };
    if !selection.mapping().is_empty() {
        let gaps = |input: &str| (selection.fills(input), selection.filling(input));
        selection.mapping().apply(&mut columns, &Piece { gaps: &gaps, are_seconds, before })?;
    }
    Ok(columns)
}

/// Reads Arrow.
fn arrow(bytes: &[u8], selection: &Selection) -> Result<Columns, Malformed> {
    let mut columns = Columns::default();
    crate::arrow::read(std::io::Cursor::new(bytes), selection, usize::MAX, &mut |read, _| {
        columns = read;
        Ok(())
    })?;
    Ok(columns)
}

/// Reads a Parquet file.
#[cfg(feature = "parquet")]
fn parquet(bytes: &[u8], selection: &Selection) -> Result<Columns, Malformed> {
    rml_base::memory::ask(bytes.len() as u64)
        .map_err(|short| Malformed::short(short.diagnostic("a copy of its bytes")))?;
    let mut columns = Columns::default();
    let from = bytes::Bytes::copy_from_slice(bytes);
    crate::parquet::read(from, bytes.len() as u64, selection, usize::MAX, &mut |read, _| {
        columns = read;
        Ok(())
    })?;
    Ok(columns)
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &[u8], _: &Selection) -> Result<Columns, Malformed> {
    Err(no_parquet())
}

/// The error that this build does not read Parquet.
#[cfg(not(feature = "parquet"))]
pub(crate) fn no_parquet() -> Malformed {
    let d = Diagnostic::error(codes::UNKNOWN_FORMAT, "this build does not read Parquet");
    Malformed::short(d)
        .help("build with it: `cargo build --release --package rml-cli --features parquet`")
        .help("or convert the file: npz and JSON lines hold the same")
}

/// An upper bound on the memory for an element while a file is written. In JSON: digits, sign, exponent and comma, with
/// room for copying a string that grows. In an archive: its own bytes, copied and compressed.
fn written(format: Option<Format>) -> u64 {
    if format == Some(Format::Npz) { 3 * 8 } else { 3 * 24 }
}

/// Advice on how to convert a file of another format.
fn other_format(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    match path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase().as_str() {
        "zip" | "bz2" | "xz" => format!("unpack it first, to `{name}`"),
        "gz" | "zst" => {
            format!("if it is a table in text, `--data-format csv` reads it; or rename it to `{name}.csv.gz`")
        }
        "xls" | "xlsx" | "ods" => "save the sheet as CSV, with a line of names above the values".to_owned(),
        "pt" | "pth" | "pkl" | "pickle" | "mat" | "h5" | "hdf5" => {
            "save its arrays by name with NumPy: `np.savez(\"data.npz\", x=.., y=..)`".to_owned()
        }
        _ => format!("if it is a table in text, `--data-format csv` reads it; or rename it to `{name}.csv`"),
    }
}

/// The error that an extension is not that of a format for writing.
fn unwritable(path: &Path) -> Error {
    let what = format!("{} is in no format that can be written", path.display());
    let d = Diagnostic::error(codes::UNKNOWN_FORMAT, what);
    let other = path.with_extension("").with_extension("csv");
    let d = d.note("the extension says the format: .npz, .json or .csv");
    d.help(format!("write `{}`", other.display())).into()
}

impl Columns {
    /// Reads a file by its extension: `.npz`, `.npy`, `.csv`, `.tsv`, `.json`, `.jsonl`, `.ndjson`, `.arrow` or
    /// `.feather`, and `.parquet` with the feature of that name; `.gz` or `.zst` after it says that it is compressed.
    /// `-` is standard input.
    ///
    /// # Errors
    /// A file that cannot be read, or is malformed.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::read_one(path.as_ref(), &Selection::all())
    }

    /// The same, for the selected columns.
    pub(crate) fn read_one(path: &Path, selection: &Selection) -> Result<Self, Error> {
        let (file, format) = match format_of(path, selection)? {
            Some(format) if !is_stream(path) => (contents::data(path)?, format),
            _ => {
                let (data, format) = open(path, selection)?;
                (data.contents()?, format)
            }
        };
        Self::parse_selected(&file.bytes, format, &origin(path), selection)
    }

    /// Parses the bytes of a file; `origin` names it in messages.
    ///
    /// # Errors
    /// Bytes that are not in this format.
    pub fn parse(bytes: &[u8], format: Format, origin: &str) -> Result<Self, Error> {
        Self::parse_selected(bytes, format, origin, &Selection::all())
    }

    /// As [`Columns::parse`], for the selected columns.
    ///
    /// # Errors
    /// Bytes that are not in this format.
    pub fn parse_selected(
        bytes: &[u8],
        format: Format,
        origin: &str,
        selection: &Selection,
    ) -> Result<Self, Error> {
        let mut columns = match format {
            Format::Npz => npz::read(bytes, selection),
            Format::Npy => array::read(bytes, Path::new(origin), selection),
            Format::Csv => csv::read_whole(bytes, selection, dialect::usual(Path::new(origin))),
            Format::Json => json::read(bytes, selection),
            Format::JsonLines => json::read_lines(bytes, selection),
            Format::Arrow => arrow(bytes, selection),
            Format::Parquet => parquet(bytes, selection),
        }
        .and_then(|columns| mapped(columns, format, selection, 0))
        .map_err(|e| e.at(origin))?;
        columns.origin = origin.to_owned();
        Ok(columns)
    }

    /// Writes a file by its extension, `.npz`, `.json` or `.csv`. In JSON and CSV, an integer that has a name is
    /// written as its name; npz has numbers, and the names of the values of `y` in an array `y.names`.
    ///
    /// # Errors
    /// Another extension; columns that the format cannot represent; a file that cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        Self::check_format(path)?;
        let elements = self.columns.values().map(|c| c.shape.len() as u64).fold(0, u64::saturating_add);
        memory::ask(elements.saturating_mul(written(Format::of(path))))
            .map_err(|short| short.diagnostic(format!("writing {}, {elements} elements,", path.display())))?;
        let bytes = match Format::of(path) {
            Some(Format::Npz) => self.to_npz()?,
            Some(Format::Csv) => csv::write(self).map_err(|e| e.at(&self.origin))?.into_bytes(),
            Some(Format::Json) => (self.to_json() + "\n").into_bytes(),
            Some(Format::Npy | Format::JsonLines | Format::Arrow | Format::Parquet) | None => {
                return Err(unwritable(path));
            }
        };
        rml_files::write_output(path, &bytes)
    }

    /// Checks that [`Columns::write`] supports the extension of a file.
    ///
    /// # Errors
    /// Another extension.
    pub fn check_format(path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let is_plain = Compression::of(path).0 == Compression::Plain;
        let is_csv = || path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        if is_plain && (matches!(Format::of(path), Some(Format::Npz | Format::Json)) || is_csv()) {
            return Ok(());
        }
        Err(unwritable(path))
    }

    /// All columns as an npz archive. Sequences of different lengths are concatenated, and a column `lengths` has their
    /// lengths, so that they feed the same inputs when they are read.
    ///
    /// # Errors
    /// Columns with missing rows, which the format cannot represent.
    pub fn to_npz(&self) -> Result<Vec<u8>, Error> {
        npz::write(self).map_err(|e| e.at(&self.origin).into())
    }

    /// All columns as a JSON object of arrays; a missing row is `null`.
    pub fn to_json(&self) -> String {
        json::write(self)
    }
}
