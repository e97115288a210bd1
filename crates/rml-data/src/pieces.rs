//! Data files that are read in pieces; each piece is written to the temporary file before the next one is read.

use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;

use rml_base::Error;
use rml_base::memory::{self, Reservation, Shortage};
use rml_files::{Scratch, Unpacked, contents};

use crate::columns::{Columns, Elements};
use crate::dialect::{Known, SAMPLE, find, sample_of, usual};
use crate::format::mapped;
use crate::formats::Format;
use crate::malformed::Malformed;
use crate::selection::Selection;
use crate::stored::Stored;
use crate::{array, csv, format, json, npz};

/// How many bytes of a file are read at a time, unless a line or an element is longer.
pub(crate) const PIECE: usize = 1 << 20;

/// Reads a file by its extension, in pieces of about this many bytes.
pub(crate) fn read(
    scratch: &Scratch,
    path: &Path,
    selection: &Selection,
    piece: usize,
) -> Result<Stored, Error> {
    let origin = format::origin(path);
    let mut stored = match format::format_of(path, selection)? {
        Some(format) if !format::is_stream(path) => file(scratch, path, format, (selection, piece))?,
        _ => {
            let (data, format) = format::open(path, selection)?;
            stream(scratch, data, format, (path, selection, piece))?
        }
    };
    stored.table.origin = origin;
    Ok(stored)
}

/// Reads data that can be read only from its beginning to its end.
fn stream(
    scratch: &Scratch,
    data: Unpacked,
    format: Format,
    (path, selection, piece): (&Path, &Selection, usize),
) -> Result<Stored, Error> {
    let read = match format {
        Format::Arrow => records(scratch, data, selection, piece),
        Format::Csv => tables(scratch, data, selection, (piece, usual(path))),
        Format::JsonLines => objects(scratch, Lines::new(data, piece, None, selection)),
        Format::Json | Format::Npz | Format::Npy | Format::Parquet => {
            let file = data.contents()?;
            let columns = Columns::parse_selected(&file.bytes, format, &format::origin(path), selection)?;
            return Ok(Stored::of(scratch, columns)?);
        }
    };
    Ok(read.map_err(|e| e.at(&format::origin(path)))?)
}

/// Reads a file that is not compressed.
fn file(
    scratch: &Scratch,
    path: &Path,
    format: Format,
    (selection, piece): (&Selection, usize),
) -> Result<Stored, Error> {
    let origin = path.display().to_string();
    let has_mapping = !selection.mapping().is_empty();
    let read = match format {
        Format::Json | Format::Npz | Format::Npy if has_mapping || format == Format::Json => {
            return Ok(Stored::of(scratch, Columns::read_one(path, selection)?)?);
        }
        Format::Npz | Format::Npy | Format::Json => {
            let (file, length) = contents::pieces(path)?;
            arrays(scratch, (file, length), (path, format), selection, piece)
        }
        Format::Csv => tables(scratch, contents::pieces(path)?.0, selection, (piece, usual(path))),
        Format::JsonLines => objects(scratch, Lines::new(contents::pieces(path)?.0, piece, None, selection)),
        Format::Arrow => batches(scratch, path, selection, piece),
        Format::Parquet => groups(scratch, path, selection, piece),
    };
    Ok(read.map_err(|e| e.at(&origin))?)
}

/// Reads an npz archive, or a single array.
fn arrays(
    scratch: &Scratch,
    (file, length): (impl Read + Seek, u64),
    (path, format): (&Path, Format),
    selection: &Selection,
    piece: usize,
) -> Result<Stored, Malformed> {
    let mut stored = Stored::default();
    let mut put =
        |name: &str, elements: &Elements| stored.put(scratch, name, elements).map_err(Malformed::short);
    let (file, put): (_, npz::Put<'_>) = (BufReader::new(file), (piece, &mut put));
    let table = match format {
        Format::Npy => array::read_by(file, length, path, selection, Some(put))?,
        _ => npz::read_in_pieces(file, length, selection, put)?,
    };
    stored.keep(scratch, table).map_err(Malformed::short)?;
    Ok(stored)
}

/// Reads a file of Arrow.
fn batches(scratch: &Scratch, path: &Path, selection: &Selection, piece: usize) -> Result<Stored, Malformed> {
    let file = BufReader::new(contents::pieces(path).map_err(Malformed::short)?.0);
    let mut all = Growing { scratch, selection, format: Format::Arrow, all: Stored::default(), rows: 0 };
    crate::arrow::read(file, selection, piece / 8, &mut |columns, added| all.add(columns, added))?;
    Ok(all.all)
}

/// Reads Arrow from its beginning to its end. A file lists its parts at its end, so it is unpacked in memory.
fn records(
    scratch: &Scratch,
    mut data: Unpacked,
    selection: &Selection,
    piece: usize,
) -> Result<Stored, Malformed> {
    let mut all = Growing { scratch, selection, format: Format::Arrow, all: Stored::default(), rows: 0 };
    let mut put = |columns: Columns, added| all.add(columns, added);
    let begin = data.begin(4).map_err(Malformed::short)?;
    if begin.starts_with(&crate::formats::ARROW_STREAM) {
        crate::arrow::read_stream(data, selection, piece / 8, &mut put)?;
    } else {
        let file = data.contents().map_err(Malformed::short)?;
        crate::arrow::read(Cursor::new(&file.bytes[..]), selection, piece / 8, &mut put)?;
    }
    Ok(all.all)
}

/// Reads Parquet.
#[cfg(feature = "parquet")]
fn groups(scratch: &Scratch, path: &Path, selection: &Selection, piece: usize) -> Result<Stored, Malformed> {
    let (file, length) = contents::pieces(path).map_err(Malformed::short)?;
    let mut all = Growing { scratch, selection, format: Format::Parquet, all: Stored::default(), rows: 0 };
    crate::parquet::read(file, length, selection, piece / 8, &mut |columns, added| all.add(columns, added))?;
    Ok(all.all)
}

/// Columns that are stored piece by piece.
struct Growing<'s> {
    scratch: &'s Scratch,
    selection: &'s Selection,
    format: Format,
    all: Stored,
    rows: usize,
}

impl Growing<'_> {
    /// Adds rows.
    fn add(&mut self, columns: Columns, added: usize) -> Result<(), Malformed> {
        let columns = mapped(columns, self.format, self.selection, self.rows)?;
        let columns = Stored::of(self.scratch, columns).map_err(Malformed::short)?;
        if added > 0 || self.rows == 0 {
            self.all.append_piece(self.rows, columns, added)?;
        }
        self.rows += added;
        Ok(())
    }
}

#[cfg(not(feature = "parquet"))]
fn groups(_: &Scratch, _: &Path, _: &Selection, _: usize) -> Result<Stored, Malformed> {
    Err(crate::format::no_parquet())
}

/// Reads JSON lines.
fn objects(scratch: &Scratch, mut lines: Lines<'_, impl Read>) -> Result<Stored, Malformed> {
    let (mut all, mut rows) = (Stored::default(), 0);
    loop {
        let before = lines.count;
        // A byte order mark is allowed only at the beginning of a file: a blank line before later pieces rules it out.
        let mut piece = vec![b'\n'; before.min(1)];
        if !lines.append_to(&mut piece, lines.piece)? && rows > 0 {
            return Ok(all);
        }
        let above = before.saturating_sub(1);
        let (columns, added) = json::lines(&piece, lines.selection, rows).map_err(|e| e.below(above))?;
        let columns = mapped(below(columns, above), Format::JsonLines, lines.selection, rows)?;
        let columns = Stored::of(scratch, columns).map_err(Malformed::short)?;
        all.append_piece(rows, columns, added)?;
        rows += added;
        if added == 0 && lines.count == before {
            return Ok(all);
        }
    }
}

/// Reads a table in text. `usual` is the default separator for files with its name.
fn tables(
    scratch: &Scratch,
    mut file: impl Read,
    selection: &Selection,
    (piece, usual): (usize, Option<char>),
) -> Result<Stored, Malformed> {
    // The mark at the beginning, and a byte that tells whether there is more.
    let mut begin = Vec::new();
    let read = (&mut file).take(SAMPLE as u64 + 4).read_to_end(&mut begin);
    read.map_err(|e| Malformed::new("it cannot be read").note(rml_base::refusal(&e)))?;
    let known = find(sample_of(&begin), selection.dialect(), usual)?;
    let file = Cursor::new(begin).chain(file);
    let mut stored = table(scratch, Lines::new(file, piece, Some(&known), selection), &known)?;
    stored.table.unfound = known.missing.unfound();
    stored.table.assumed = known.assumed;
    Ok(stored)
}

/// Reads a table in text in this format.
fn table(scratch: &Scratch, mut lines: Lines<'_, impl Read>, known: &Known) -> Result<Stored, Malformed> {
    let mut header = Vec::new();
    let mut end = csv::header_end(&header, known);
    while end.is_none() && lines.append_to(&mut header, 1)? {
        end = csv::header_end(&header, known);
    }
    let header_lines = lines.count;
    // A line may end with only a carriage return, so rows may follow the header in the same read.
    let mut behind = header.split_off(end.unwrap_or(header.len()));
    if let Some(end) = header.last_mut().filter(|end| **end == b'\r') {
        // Together with a line feed at the start of a piece it would be a single line end.
        *end = b'\n';
    }
    let (mut all, mut rows) = (Stored::default(), 0);
    loop {
        let (before, mut piece) = (lines.count, header.clone());
        piece.append(&mut behind);
        let more = lines.append_to(&mut piece, lines.piece)?;
        if !more && rows > 0 {
            return Ok(all);
        }
        let above = before - header_lines;
        let (columns, added) = csv::read(&piece, lines.selection, known).map_err(|e| e.below(above))?;
        let columns = Stored::of(scratch, below(columns, above)).map_err(Malformed::short)?;
        all.append_piece(rows, columns, added)?;
        rows += added;
        if !more {
            return Ok(all);
        }
    }
}

/// The columns of a piece that follows `lines` other lines of its file.
fn below(mut columns: Columns, lines: usize) -> Columns {
    columns.unusable.values_mut().for_each(|why| why.count_above(lines));
    columns
}

/// The lines of a text.
struct Lines<'s, R> {
    reader: BufReader<R>,
    /// The format of the table, whose lines may continue within quotes.
    table: Option<&'s Known>,
    /// The number of lines read.
    count: usize,
    /// The size of a piece in bytes, if no line is longer.
    piece: usize,
    /// The columns to read.
    selection: &'s Selection,
}

impl<'s, R: Read> Lines<'s, R> {
    fn new(file: R, piece: usize, table: Option<&'s Known>, selection: &'s Selection) -> Self {
        Self { reader: BufReader::new(file), table, count: 0, piece, selection }
    }

    /// Reads whole lines, at least `enough` bytes of them if the text has as many. Returns whether there was a line.
    fn append_to(&mut self, piece: &mut Vec<u8>, enough: usize) -> Result<bool, Malformed> {
        use std::io::BufRead as _;
        let begin = piece.len();
        let mut reserved = Reservation::default();
        let mut is_open = false;
        loop {
            let (at, used, limit) = (piece.len(), memory::used(), memory::limit());
            let room = limit.saturating_sub(used);
            let read = (&mut self.reader).take(room.max(1)).read_until(b'\n', piece);
            let read = read.map_err(|e| Malformed::new("it cannot be read").note(rml_base::refusal(&e)))?;
            if read as u64 >= room && !piece.ends_with(b"\n") {
                let asked = (room).saturating_add(1);
                return Err(Malformed::short(Shortage { asked, used, limit }.diagnostic("a line of it")));
            }
            reserved.set((piece.len() - begin) as u64);
            if read == 0 {
                return Ok(piece.len() > begin);
            }
            self.count += 1;
            let line = &piece[at..];
            let is_comment = |table: &Known| !is_open && table.is_comment(&String::from_utf8_lossy(line));
            is_open ^= self.table.is_some_and(|table| {
                line.iter().filter(|b| **b == b'"').count() % 2 == 1 && !is_comment(table)
            });
            if !is_open && piece.len() - begin >= enough {
                return Ok(true);
            }
        }
    }
}
