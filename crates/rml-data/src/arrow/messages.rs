//! The messages of Arrow: of a stream one after the other, of a file those that its end lists.

use std::io::{Read, Seek, SeekFrom};

use rml_base::memory::Reservation;

use super::OLD;
use super::schema::{self, Field};
use super::table::{self, Damaged, Table, array};
use crate::formats::{ARROW_FILE, ARROW_STREAM};
use crate::malformed::{MAX_COLUMNS, Malformed, too_many_columns};

/// How many bytes are read at once.
const STEP: usize = 1 << 20;

/// The metadata and the body of a message.
pub(super) struct Message {
    pub(super) meta: Vec<u8>,
    pub(super) body: Vec<u8>,
}

/// What messages come from.
pub(super) trait Messages {
    /// The next message; `None` at the end.
    fn next(&mut self) -> Result<Option<Message>, Malformed>;
}

/// Bytes that are read, within the memory that there is.
struct Bytes<R> {
    from: R,
    /// The memory of the current message.
    memory: Reservation,
}

impl<R: Read> Bytes<R> {
    fn new(from: R) -> Self {
        Self { from, memory: Reservation::default() }
    }

    /// Appends up to this many bytes; fewer at the end. Returns how many.
    fn more(&mut self, bytes: &mut Vec<u8>, count: usize) -> Result<usize, Malformed> {
        let read = (&mut self.from).take(count as u64).read_to_end(bytes);
        read.map_err(|e| Malformed::new("it cannot be read").note(rml_base::refusal(&e)))
    }

    /// Up to this many bytes; fewer at the end.
    fn some(&mut self, count: usize) -> Result<Vec<u8>, Malformed> {
        let mut bytes = Vec::new();
        self.more(&mut bytes, count)?;
        Ok(bytes)
    }

    /// A part of a message, of this many bytes. Memory is asked for as bytes are read,
    /// since a damaged length may be any.
    fn part(&mut self, count: usize) -> Result<Vec<u8>, Malformed> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            let step = STEP.min(count - bytes.len());
            self.memory
                .grow(step as u64)
                .map_err(|short| Malformed::short(short.diagnostic("a batch of rows")))?;
            if self.more(&mut bytes, step)? < step {
                return Err(Damaged.into());
            }
        }
        Ok(bytes)
    }

    /// The next four bytes; `None` at the end.
    fn word(&mut self) -> Result<Option<[u8; 4]>, Malformed> {
        let bytes = self.some(4)?;
        match bytes.first_chunk() {
            None if bytes.is_empty() => Ok(None),
            None => Err(Damaged.into()),
            Some(word) => Ok(Some(*word)),
        }
    }

    /// The metadata of the next message; `None` at the end.
    fn meta(&mut self) -> Result<Option<Vec<u8>>, Malformed> {
        self.memory = Reservation::default();
        let Some(mut word) = self.word()? else { return Ok(None) };
        if word == ARROW_STREAM {
            let Some(length) = self.word()? else { return Err(Damaged.into()) };
            word = length;
        }
        match usize::try_from(i32::from_le_bytes(word)).map_err(|_| Damaged)? {
            0 => Ok(None),
            length => self.part(length).map(Some),
        }
    }
}

impl<R: Read + Seek> Bytes<R> {
    fn go(&mut self, to: SeekFrom) -> Result<u64, Malformed> {
        self.from.seek(to).map_err(|e| Malformed::new("it cannot be read").note(rml_base::refusal(&e)))
    }
}

/// The messages of a stream, after that of its schema.
pub(super) struct Stream<R>(Bytes<R>);

impl<R: Read> Stream<R> {
    pub(super) fn new(from: R) -> Result<(Self, Vec<Field>), Malformed> {
        let mut stream = Self(Bytes::new(from));
        let Some(message) = stream.next()? else { return Err(Damaged.into()) };
        let root = Table::root(&message.meta)?;
        let schema = root.table(2)?.filter(|_| root.byte(1) == Ok(1)).ok_or(Damaged)?;
        Ok((stream, columns(schema)?))
    }
}

impl<R: Read> Messages for Stream<R> {
    fn next(&mut self) -> Result<Option<Message>, Malformed> {
        let Some(meta) = self.0.meta()? else { return Ok(None) };
        let body = table::size(Table::root(&meta)?.i64(3)?)?;
        let body = self.0.part(body)?;
        Ok(Some(Message { meta, body }))
    }
}

/// The messages of a file.
pub(super) struct File<R> {
    from: Bytes<R>,
    /// Where each message begins, how long its metadata is, and its body.
    blocks: std::vec::IntoIter<[i64; 3]>,
}

impl<R: Read + Seek> File<R> {
    pub(super) fn new(from: R) -> Result<(Self, Vec<Field>), Malformed> {
        let mut from = Bytes::new(from);
        let end = from.go(SeekFrom::End(0))?;
        let tail = end.checked_sub(10).ok_or(Damaged)?;
        from.go(SeekFrom::Start(tail))?;
        let bytes = from.part(10)?;
        if !bytes.ends_with(ARROW_FILE) {
            return Err(Damaged.into());
        }
        let length = table::size(i32::from_le_bytes(array(&bytes, 0)?).into())?;
        from.go(SeekFrom::Start(tail.checked_sub(length as u64).ok_or(Damaged)?))?;
        let bytes = from.part(length)?;
        let footer = Table::root(&bytes)?;
        let fields = columns(footer.table(1)?.ok_or(Damaged)?)?;
        let blocks = [footer.structs(2)?, footer.structs(3)?].concat().into_iter();
        Ok((Self { from, blocks }, fields))
    }
}

impl<R: Read + Seek> Messages for File<R> {
    fn next(&mut self) -> Result<Option<Message>, Malformed> {
        let Some([at, meta, body]) = self.blocks.next() else { return Ok(None) };
        // The length of the metadata has 32 bits; the others are not used.
        let (at, length) = (table::size(at)? as u64, table::size(meta & 0x7fff_ffff)? as u64);
        self.from.go(SeekFrom::Start(at))?;
        let meta = self.from.meta()?.ok_or(Damaged)?;
        self.from.go(SeekFrom::Start(at.checked_add(length).ok_or(Damaged)?))?;
        let body = self.from.part(table::size(body)?)?;
        Ok(Some(Message { meta, body }))
    }
}

fn columns(schema: Table<'_>) -> Result<Vec<Field>, Malformed> {
    let fields = schema::fields(schema)?;
    if fields.len() > MAX_COLUMNS { Err(too_many_columns()) } else { Ok(fields) }
}

/// Whether the data is a file, by its first bytes.
pub(super) fn is_file(from: &mut (impl Read + Seek)) -> Result<bool, Malformed> {
    let mut bytes = Bytes::new(from);
    let begin = bytes.some(ARROW_FILE.len())?;
    bytes.go(SeekFrom::Start(0))?;
    if begin.starts_with(OLD) {
        return Err(Malformed::new("it is a Feather file of version 1").help(
            "write it again in the present format: in pandas, `pd.read_feather(FILE).to_feather(FILE)`",
        ));
    }
    Ok(begin == ARROW_FILE)
}
