//! Archives of NumPy arrays (`.npz`).

use std::io::{Cursor, Read, Seek, SeekFrom, Write};

use indexmap::IndexMap;
use rml_base::memory::{self, Reservation};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use rml_ir::Shape;

use crate::columns::{Column, Columns, Elements, LENGTHS};
use crate::malformed::Malformed;
use crate::npy::{self, Header};
use crate::selection::{self, Selection};

/// All arrays of an archive together may unpack to this size, whatever the size of the archive.
const ALWAYS_ALLOWED: u64 = 1 << 30;
/// A larger archive may unpack to this many times its size. Real data seldom does; archives made to fill the memory do.
const EXPANSION: u64 = 64;
/// The extension of an entry that is an array.
const EXTENSION: &str = ".npy";
/// The record at the end of an archive starts within this many bytes before its end.
const MAX_END: u64 = 1 << 17;
/// The most arrays of an archive; a data set never has more.
const MAX_ARRAYS: usize = 4096;

/// The size of a piece of an array in bytes, and a callback for its elements and the name of the array.
pub(crate) type Put<'p> = (usize, &'p mut dyn FnMut(&str, &Elements) -> Result<(), Malformed>);

/// Reads the selected numeric arrays.
pub(crate) fn read(bytes: &[u8], selection: &Selection) -> Result<Columns, Malformed> {
    read_limited(bytes, selection, limit(bytes.len() as u64))
}

/// The same for an archive of this length. The elements of arrays that can be read in pieces are passed to `put`, and
/// are not in the columns.
pub(crate) fn read_in_pieces(
    mut from: impl Read + Seek,
    length: u64,
    selection: &Selection,
    put: Put<'_>,
) -> Result<Columns, Malformed> {
    let unreadable = |e: std::io::Error| Malformed::new("it cannot be read").note(e.to_string());
    let mut end = Vec::new();
    from.seek(SeekFrom::Start(length.saturating_sub(MAX_END))).map_err(unreadable)?;
    (&mut from).take(MAX_END).read_to_end(&mut end).map_err(unreadable)?;
    arrays(from, &end, selection, limit(length), Some(put))
}

/// The size to which an archive of this length may unpack.
fn limit(length: u64) -> u64 {
    ALWAYS_ALLOWED.max(length.saturating_mul(EXPANSION))
}

fn read_limited(bytes: &[u8], selection: &Selection, limit: u64) -> Result<Columns, Malformed> {
    arrays(Cursor::new(bytes), bytes, selection, limit, None)
}

/// Reads an archive; `end` contains its last bytes.
fn arrays(
    from: impl Read + Seek,
    end: &[u8],
    selection: &Selection,
    limit: u64,
    mut put: Option<Put<'_>>,
) -> Result<Columns, Malformed> {
    let mut zip = ZipArchive::new(from).map_err(|e| {
        let help = "an npz file is written by NumPy's `savez`; check that the extension names the format";
        Malformed::new("not an npz archive").note(e.to_string()).help(help)
    })?;
    if zip.len() > MAX_ARRAYS {
        return Err(Malformed::too_large(format!("the archive has {} entries", zip.len()))
            .note(format!("expected at most {MAX_ARRAYS}")));
    }
    if counted(end).is_some_and(|n| n != zip.len()) {
        return Err(Malformed::new("two entries of the archive have the same name"));
    }
    let mut columns = Columns::default();
    let mut left = limit;
    for i in 0..zip.len() {
        let damaged =
            |e: ZipError| Malformed::new(format!("entry {i} of the archive is damaged")).note(e.to_string());
        let mut entry = zip.by_index(i).map_err(damaged)?;
        let Some(name) = entry.name().map_err(damaged)?.strip_suffix(EXTENSION).map(str::to_owned) else {
            continue;
        };
        if !selection.has(&name) {
            columns.unusable.insert(name, selection::left_out().into());
            continue;
        }
        let size = entry.size();
        let named = put.as_mut().filter(|_| name != LENGTHS);
        let mut own = named.map(|(size, put)| (*size, |elements: &Elements| put(&name, elements)));
        let own: Option<Piece<'_>> = own.as_mut().map(|(size, own)| (*size, own as _));
        let read = array(&mut entry, size, &mut left, &mut columns.memory, own);
        match read.map_err(|e| e.in_array(&name))? {
            Ok(column) => {
                columns.columns.insert(name, column);
            }
            Err(why) => {
                columns.unusable.insert(name, no_numbers(why).into());
            }
        }
    }
    Ok(columns)
}

/// The fault of an array whose elements no input can use.
pub(crate) fn no_numbers(why: String) -> Malformed {
    Malformed::of_type(why).help("store numbers (in NumPy: dtype float64 or int64) or truth values")
}

/// The number of entries in the directory of an archive, by its end record; `None` if the record's count is saturated
/// or missing. The reader keeps one entry of each name.
fn counted(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).rposition(|w| w == b"PK\x05\x06")?;
    let count = u16::from_le_bytes([*bytes.get(end + 10)?, *bytes.get(end + 11)?]);
    (count < u16::MAX).then_some(count.into())
}

/// The same for a single array.
pub(crate) type Piece<'p> = (usize, &'p mut dyn FnMut(&Elements) -> Result<(), Malformed>);

/// Reads the array of a file of this length. If it can be read in pieces, its elements are passed to `put`, and are not
/// in the column.
pub(crate) fn single(
    mut from: impl Read,
    length: u64,
    memory: &mut Reservation,
    put: Option<Piece<'_>>,
) -> Result<Result<Column, String>, Malformed> {
    array(&mut from, length, &mut u64::MAX.clone(), memory, put)
}

/// Reads one array of `size` bytes, of which at most `left` may be unpacked. `Ok(Err(_))` = why it cannot be a column.
/// If `put` is given and the elements can be read in pieces, they are passed to it.
fn array(
    entry: &mut dyn Read,
    size: u64,
    left: &mut u64,
    memory: &mut Reservation,
    put: Option<Piece<'_>>,
) -> Result<Result<Column, String>, Malformed> {
    let mut head = take(entry, 12)?;
    let length = npy::header_len(&head)?;
    head.extend(take(entry, (length - 12.min(length)) as u64)?);
    let header = npy::header(&head)?;
    let declared = match header.data_bytes() {
        Ok(declared) => declared,
        Err(why) => return Ok(Err(why)),
    };
    let shape = || header.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let already = (head.len() - header.data) as u64;
    match declared {
        Some(n) if Some(size) == n.checked_add(header.data as u64) => {}
        _ => {
            return Err(Malformed::new(format!("its shape [{}] does not fit its {size} bytes", shape()))
                .note(match declared {
                    Some(n) => {
                        format!("expected {n} bytes of elements after a header of {} bytes", header.data)
                    }
                    None => "the number of elements overflows".to_owned(),
                }));
        }
    }
    let declared = declared.unwrap_or(0);
    if declared > *left {
        return Err(Malformed::too_large(format!("it unpacks to {declared} bytes"))
            .note(format!("{left} bytes are left of what this archive may unpack to"))
            .help("store it uncompressed, or split it over several files"));
    }
    *left -= declared;
    if header.shape.first().is_some_and(|n| *n > 0) && declared == 0 {
        return Ok(Err(format!("it has shape [{}] and no element", shape())));
    }
    if let (Some(put), Some(width)) = (put, header.in_pieces()) {
        let begun = head.split_off(header.data);
        return in_pieces(entry, &header, (declared, width), begun, put);
    }
    let taken = memory.grow(header.bytes()).and_then(|()| memory::ask(declared));
    taken.map_err(|short| Malformed::short(short.diagnostic("its elements")))?;
    let mut data = head.split_off(header.data);
    data.extend(take(entry, declared.saturating_sub(already))?);
    if data.len() as u64 != declared {
        return Err(Malformed::new(format!("{} of {declared} bytes of elements are present", data.len())));
    }
    // the archive compares its checksum only when the end of an entry is read
    if !take(entry, 1)?.is_empty() {
        return Err(Malformed::new(format!("there is more than its {declared} bytes of elements")));
    }
    Ok(header.column(&data))
}

/// Reads the elements of an array in pieces. The header declares `declared` bytes of elements, `width` bytes each;
/// `piece` contains those that have been read already.
fn in_pieces(
    entry: &mut dyn Read,
    header: &Header,
    (declared, width): (u64, usize),
    mut piece: Vec<u8>,
    (piece_bytes, put): Piece<'_>,
) -> Result<Result<Column, String>, Malformed> {
    let whole = ((piece_bytes / width).max(1) * width) as u64;
    // Elements that cannot be a column are read, too, since their bytes may be damaged.
    let mut none = header.piece(&[], 0);
    let (mut done, mut first) = (0, 0);
    while done < declared {
        let wanted = whole.min(declared - done);
        piece.extend(take(entry, wanted.saturating_sub(piece.len() as u64))?);
        if piece.len() as u64 != wanted {
            let there = done + piece.len() as u64;
            return Err(Malformed::new(format!("{there} of {declared} bytes of elements are present")));
        }
        if none.is_ok() {
            match header.piece(&piece, first) {
                Ok(elements) => {
                    put(&elements)?;
                    first += elements.len();
                }
                Err(why) => none = Err(why),
            }
        }
        done += wanted;
        piece.clear();
    }
    // the archive compares its checksum only when the end of an entry is read
    if !piece.is_empty() || !take(entry, 1)?.is_empty() {
        return Err(Malformed::new(format!("there is more than its {declared} bytes of elements")));
    }
    Ok(none.map(|none| Column { shape: Shape::new(&header.shape), elements: none, present: None }))
}

/// Reads at most `n` bytes; memory grows with the bytes that arrive, not with the declared size.
fn take(entry: &mut dyn Read, n: u64) -> Result<Vec<u8>, Malformed> {
    let mut out = Vec::new();
    entry
        .take(n)
        .read_to_end(&mut out)
        .map_err(|e| Malformed::new("its bytes cannot be unpacked").note(e.to_string()))?;
    Ok(out)
}

/// The column `lengths` for concatenated sequences of different lengths, if there are any.
fn shared_lengths(columns: &Columns) -> Result<Option<Column>, Malformed> {
    let Some((name, lengths)) = columns.lengths.first() else { return Ok(None) };
    let what = match columns.lengths.iter().find(|(_, others)| *others != lengths) {
        _ if columns.columns.contains_key(LENGTHS) => {
            format!("the rows of column `{name}` are sequences, and another column is called `{LENGTHS}`")
        }
        Some((other, _)) => {
            format!("the rows of columns `{name}` and `{other}` are sequences of other lengths")
        }
        None => {
            let all = lengths.iter().map(|n| i64::try_from(*n).unwrap_or(i64::MAX)).collect();
            let shape = Shape::new(&[lengths.len()]);
            return Ok(Some(Column { shape, elements: Elements::Int(all), present: None }));
        }
    };
    Err(Malformed::new(what)
        .note(format!("in npz, one column `{LENGTHS}` says how long the sequences of all others are"))
        .help("write JSON instead"))
}

/// All columns as an archive. Sequences of different lengths are concatenated, and a column `lengths` has their
/// lengths. The names of the values of a column `y` are in `y.names`, unless a column has this name.
pub(crate) fn write(columns: &Columns) -> Result<Vec<u8>, Malformed> {
    if let Some((name, _)) = columns.columns.iter().find(|(_, c)| c.present.is_some()) {
        return Err(Malformed::new(format!(
            "column `{name}` is absent in some rows, which npz cannot store"
        ))
        .help("write JSON instead"));
    }
    let lengths = shared_lengths(columns)?;
    if let Some(name) = columns.columns.keys().find(|name| name.contains('\0')) {
        let what = format!("column {name:?} has a name that npz cannot store");
        return Err(Malformed::new(what).note("a name in an archive ends before the character NUL"));
    }
    let mut arrays: IndexMap<_, _> =
        columns.columns.iter().map(|(n, c)| (n.clone(), npy::write(c))).collect();
    arrays.extend(lengths.map(|lengths| (LENGTHS.to_owned(), npy::write(&lengths))));
    for (name, texts) in columns.columns.keys().filter_map(|name| Some((name, columns.names(name)?))) {
        arrays.entry(format!("{name}.names")).or_insert_with(|| npy::write_texts(texts));
    }
    pack(arrays).map_err(|e| Malformed::new("the archive cannot be packed").note(e.to_string()))
}

fn pack(arrays: IndexMap<String, Vec<u8>>) -> std::io::Result<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        zip.start_file(format!("{name}{EXTENSION}"), SimpleFileOptions::default())?;
        zip.write_all(&bytes)?;
    }
    Ok(zip.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Elements;
    use rml_ir::Shape;

    fn sample() -> Columns {
        let mut columns = Columns::default();
        let x = Column { shape: Shape::new(&[2, 3]), elements: Elements::F32(vec![0.5; 6]), present: None };
        let y = Column { shape: Shape::new(&[2]), elements: Elements::Int(vec![1, -7]), present: None };
        columns.columns.insert("x".into(), x);
        columns.columns.insert("y".into(), y);
        columns
    }

    #[test]
    fn what_is_written_reads_back() {
        assert_eq!(read(&write(&sample()).unwrap(), &Selection::all()).unwrap(), sample());
    }

    #[test]
    fn sequences_have_a_column_of_lengths() {
        let parse = |text: &str| crate::json::read(text.as_bytes(), &Selection::all()).unwrap();
        let columns = parse(
            r#"{"x": [[1, 2], [3], [4, 5, 6]], "y": [7, 8, 9], "z": [[[1], [2]], [[3]], [[4], [5], [6]]]}"#,
        );
        let back = read(&write(&columns).unwrap(), &Selection::all()).unwrap();
        assert_eq!(back.columns[LENGTHS].elements, Elements::Int(vec![2, 1, 3]));
        assert_eq!((back.columns["x"].shape.dims(), back.columns["z"].shape.dims()), (&[6][..], &[6, 1][..]));
        assert_eq!(back.columns["x"].elements, columns.columns["x"].elements);
        assert_eq!((back.most_rows(), columns.most_rows()), (3, 3));
        for (text, why) in [
            (r#"{"x": [[1, 2], [3]], "y": [[1], [2, 3]]}"#, "`x` and `y` are sequences of other lengths"),
            (r#"{"x": [[1, 2], [3]], "lengths": [1, 2]}"#, "another column is called `lengths`"),
        ] {
            assert!(write(&parse(text)).unwrap_err().what().contains(why), "{text}");
        }
    }

    #[test]
    fn names_that_would_be_cut_are_refused() {
        let mut columns = sample();
        let x = columns.columns["x"].clone();
        columns.columns.insert("x\0y".into(), x);
        assert!(write(&columns).is_err());
    }

    #[test]
    fn unpacking_is_bounded() {
        let bytes = write(&sample()).unwrap();
        assert!(read_limited(&bytes, &Selection::all(), 40).is_ok());
        let e = read_limited(&bytes, &Selection::all(), 39).unwrap_err();
        assert_eq!(e.code, rml_base::codes::run::DATA_TOO_LARGE);
    }

    #[test]
    fn a_name_stands_once() {
        let mut bytes = write(&sample()).unwrap();
        while let Some(at) = bytes.windows(5).position(|w| w == b"y.npy") {
            bytes[at] = b'x';
        }
        assert!(read(&bytes, &Selection::all()).unwrap_err().what().contains("the same name"));
    }

    /// Damaged archives cause errors or have their original content; they never cause a panic or other values.
    #[test]
    fn damage_is_found() {
        let sample = sample();
        let check = |bytes: &[u8]| {
            let columns = read(bytes, &Selection::all()).unwrap_or_default().columns;
            for (name, column) in columns {
                assert!(sample.columns.get(&name).is_none_or(|c| *c == column), "{name}: {column:?}");
            }
        };
        let good = write(&sample).unwrap();
        for end in 0..good.len() {
            check(&good[..end]);
        }
        for at in 0..good.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xff, good[at] ^ 1, good[at] ^ 0x20] {
                let mut bad = good.clone();
                bad[at] = byte;
                check(&bad);
            }
        }
    }
}
