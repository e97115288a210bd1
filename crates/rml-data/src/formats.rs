//! The formats of data files, and how to tell the format of a file.

use std::path::Path;

use rml_files::Compression;

use crate::dialect;
use crate::malformed::Malformed;

/// The first bytes of a file of Arrow, and of a stream.
pub(crate) const ARROW_FILE: &[u8] = b"ARROW1";
pub(crate) const ARROW_STREAM: [u8; 4] = [0xff; 4];

/// The formats of data files.
///
/// ```
/// # use rml_data as rml;
/// use std::path::Path;
/// use rml::Format;
///
/// assert_eq!(Format::of(Path::new("table.csv")), Some(Format::Csv));
/// assert_eq!(Format::of(Path::new("table.csv.gz")), Some(Format::Csv));
/// assert_eq!(Format::of(Path::new("notes.txt")), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// An archive of NumPy arrays.
    Npz,
    /// One NumPy array.
    Npy,
    /// A table in text: values separated by commas, tabs or other characters.
    Csv,
    /// One JSON document.
    Json,
    /// One JSON object per line.
    JsonLines,
    /// Arrow: the file format, which is also Feather, or a stream.
    Arrow,
    /// Parquet; only builds with the feature `parquet` read it.
    Parquet,
}

impl Format {
    /// The format that a file's extension names; for a compressed file, the extension before `.gz` or `.zst`.
    pub fn of(path: &Path) -> Option<Format> {
        let (_, path) = &Compression::of(path);
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            _ if dialect::is_table(path) => Some(Format::Csv),
            "npz" => Some(Format::Npz),
            "npy" => Some(Format::Npy),
            "json" => Some(Format::Json),
            "jsonl" | "ndjson" => Some(Format::JsonLines),
            "arrow" | "feather" | "ipc" | "arrows" => Some(Format::Arrow),
            "parquet" => Some(Format::Parquet),
            _ => None,
        }
    }

    /// The format of data without a name that begins with these bytes.
    ///
    /// # Errors
    /// JSON that may be one document or one of several lines.
    pub(crate) fn of_bytes(begin: &[u8]) -> Result<Format, Malformed> {
        let text = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(begin).trim_ascii_start();
        match text {
            [b'P', b'K', 3, 4, ..] => Ok(Format::Npz),
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Ok(Format::Npy),
            _ if begin.starts_with(ARROW_FILE) || begin.starts_with(&ARROW_STREAM) => Ok(Format::Arrow),
            [b'P', b'A', b'R', b'1', ..] => Ok(Format::Parquet),
            [b'[', ..] => Ok(Format::Json),
            [b'{', ..] => {
                let (line, rest) = match text.iter().position(|b| *b == b'\n') {
                    Some(end) => text.split_at(end),
                    None => (text, &[][..]),
                };
                let is_whole = serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
                match (is_whole, rest.trim_ascii_start().starts_with(b"{")) {
                    (true, true) => Ok(Format::JsonLines),
                    (false, false) if !rest.is_empty() => Ok(Format::Json),
                    _ => Err(Malformed::new(
                        "its first line may be a document of JSON, or one of several rows",
                    )
                    .help(
                        "say which: `--data-format json` for columns, `--data-format jsonl` for a row a line",
                    )),
                }
            }
            _ => Ok(Format::Csv),
        }
    }
}
