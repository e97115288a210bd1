//! Checks the schema in the footer of a Parquet file before the reader parses it: the reader recurses for each level of
//! a schema, and allocates the number of fields that a group declares.
//!
//! A footer is in the compact protocol of Thrift. The reader does not compare the type of a field in the file with the
//! expected type, so with a wrong type it would find another schema than the one checked here. Such footers are
//! refused.

use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ParquetMetaDataReader;
use ::parquet::file::reader::ChunkReader;
use ::parquet::schema::types::SchemaDescPtr;
use rml_base::memory;

use crate::malformed::Malformed;

/// The deepest nesting of groups: lists of the highest rank need two groups per dimension.
const MAX_DEPTH: usize = 200;
/// The deepest nesting of structures that are skipped.
const MAX_SKIPPED: usize = 16;
/// The approximate number of bytes that the reader needs for each element of a schema, and for each name in the path of
/// a column.
const ELEMENT: u64 = 1024;
const NAME: u64 = 64;
/// The footer is followed by its length and four letters.
const END: usize = 8;

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

type Checked<T> = Result<T, String>;

/// The schema of a file.
pub(super) fn schema<R: ChunkReader>(from: &R) -> Result<SchemaDescPtr, Malformed> {
    let cut = || Malformed::new("it cannot be read as Parquet").note("the file has no footer");
    let before = usize::try_from(from.len()).ok().and_then(|n| n.checked_sub(END)).ok_or_else(cut)?;
    let end = super::guarded(|| from.get_bytes(before as u64, END))?;
    let Some((&[a, b, c, d], b"PAR1")) = end.split_first_chunk::<4>() else { return Err(cut()) };
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    let start = before.checked_sub(length).ok_or_else(cut)?;
    ask(length as u64)?;
    let footer = super::guarded(|| from.get_bytes(start as u64, length))?;
    ask(Bytes(&footer).schema().map_err(|why| super::damaged(ParquetError::General(why)))?)?;
    super::guarded(|| ParquetMetaDataReader::decode_schema(&footer))
}

fn ask(bytes: u64) -> Result<(), Malformed> {
    memory::ask(bytes).map_err(|short| Malformed::short(short.diagnostic("its schema")))
}

/// The unread bytes of a footer.
struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    /// Reads to the end of the schema. Returns the approximate number of bytes that the reader needs for it.
    fn schema(&mut self) -> Checked<u64> {
        let mut last = 0;
        loop {
            last = match self.field(last)?.ok_or("the footer has no schema")? {
                (1, I32) => self.integer().map(|_| 1)?,
                (2, LIST) => return self.tree(),
                (id, kind) => return Err(format!("field {id} of type {kind} stands before the schema")),
            };
        }
    }

    /// Reads the elements of a schema, each group before its fields.
    fn tree(&mut self) -> Checked<u64> {
        let header = self.byte()?;
        let count = if header >> 4 == 15 { self.number()? } else { (header >> 4).into() };
        if header & 15 != STRUCT {
            return Err("the schema is no list of structures".to_owned());
        }
        // For each open group, the number of fields still to come and the length of its name; and the sums of both.
        let mut open: Vec<(u64, u64)> = Vec::new();
        let (mut to_come, mut path, mut taken) = (0_u64, 0_u64, 0_u64);
        for left in (0..count).rev() {
            let (fields, name) = self.element()?;
            if let Some((last, _)) = open.last_mut() {
                *last -= 1;
                to_come -= 1;
            }
            to_come += fields;
            path += name;
            // The reader keeps the whole path of each column.
            taken = taken.saturating_add(ELEMENT + if fields == 0 { path } else { 0 });
            if to_come > left {
                return Err("a group of the schema has more fields than there are".to_owned());
            }
            open.push((fields, name));
            if open.len() > MAX_DEPTH {
                return Err(format!("the schema is more than {MAX_DEPTH} groups deep"));
            }
            while let Some((_, name)) = open.pop_if(|(fields, _)| *fields == 0) {
                path -= name;
            }
            if open.is_empty() && left > 0 {
                return Err("the schema has more than one root".to_owned());
            }
        }
        Ok(taken)
    }

    /// Reads an element of a schema. Returns its number of fields, and the approximate number of bytes of its name in a
    /// path.
    fn element(&mut self) -> Checked<(u64, u64)> {
        let (mut last, mut fields, mut name) = (0, 0, None);
        while let Some((id, kind)) = self.field(last)? {
            match (id, kind) {
                (5, I32) => {
                    fields = u64::try_from(self.integer()?)
                        .map_err(|_| "a group has a negative number of fields")?;
                }
                (1..=3 | 6..=9, I32) => drop(self.integer()?),
                (4, BINARY) => {
                    let length = self.number()?;
                    self.take(length)?;
                    name = Some(length + NAME);
                }
                (10, STRUCT) => self.logical()?,
                (1..=10, _) => return Err(format!("field {id} of an element of the schema has type {kind}")),
                _ => self.skip(kind, 0)?,
            }
            last = id;
        }
        Ok((fields, name.ok_or("an element of the schema has no name")?))
    }

    /// Reads a logical type: a structure of one field, the parameters.
    fn logical(&mut self) -> Checked<()> {
        let mut last = 0;
        while let Some((id, kind)) = self.field(last)? {
            if kind != STRUCT {
                return Err(format!("logical type {id} has type {kind}"));
            }
            // Decimals, times and timestamps, integers, variants, geometries, geographies.
            match id {
                5 => self.parameters(&[I32, I32])?,
                7 | 8 => self.parameters(&[TRUE, STRUCT])?,
                10 => self.parameters(&[BYTE, TRUE])?,
                16 => self.parameters(&[BYTE])?,
                17 => self.parameters(&[BINARY])?,
                18 => self.parameters(&[BINARY, I32])?,
                _ => self.skip(STRUCT, 0)?,
            }
            last = id;
        }
        Ok(())
    }

    /// Reads a structure whose first fields have these types; fields that are structures are empty or contain empty
    /// ones.
    fn parameters(&mut self, kinds: &[u8]) -> Checked<()> {
        let mut last = 0;
        while let Some((id, kind)) = self.field(last)? {
            let known = usize::try_from(id).ok().and_then(|id| kinds.get(id.wrapping_sub(1)));
            let kind = if kind == FALSE { TRUE } else { kind };
            match known {
                Some(known) if *known != kind => {
                    return Err(format!("parameter {id} of a logical type has type {kind}"));
                }
                Some(&STRUCT) => {
                    while let Some((_, unit)) = self.field(0)? {
                        if unit != STRUCT {
                            return Err(format!("a unit of time has type {unit}"));
                        }
                        self.skip(STRUCT, 0)?;
                    }
                }
                _ => self.skip(kind, 0)?,
            }
            last = id;
        }
        Ok(())
    }

    /// Reads a value that is not needed.
    fn skip(&mut self, kind: u8, depth: usize) -> Checked<()> {
        match kind {
            TRUE | FALSE => Ok(()),
            BYTE => self.take(1).map(drop),
            I16 | I32 | I64 => self.number().map(drop),
            DOUBLE => self.take(8).map(drop),
            BINARY => {
                let length = self.number()?;
                self.take(length).map(drop)
            }
            STRUCT if depth < MAX_SKIPPED => {
                while let Some((_, kind)) = self.field(0)? {
                    self.skip(kind, depth + 1)?;
                }
                Ok(())
            }
            _ => Err(format!("an element of the schema has a field of type {kind}")),
        }
    }

    /// The number and the type of the next field of a structure; none at its end.
    fn field(&mut self, last: i16) -> Checked<Option<(i16, u8)>> {
        let header = self.byte()?;
        let (step, kind) = (header >> 4, header & 15);
        if kind == 0 {
            return Ok(None);
        }
        let id = match step {
            0 => i16::try_from(self.integer()?).ok(),
            _ => last.checked_add(step.into()),
        };
        Ok(Some((id.ok_or("a field has too large a number")?, kind)))
    }

    /// A signed integer.
    fn integer(&mut self) -> Checked<i32> {
        let n = self.number()?;
        let magnitude = i64::try_from(n >> 1).unwrap_or(i64::MAX);
        let n = if n & 1 == 1 { !magnitude } else { magnitude };
        i32::try_from(n).map_err(|_| format!("the integer {n} is too large"))
    }

    /// An unsigned integer, seven bits per byte.
    fn number(&mut self) -> Checked<u64> {
        let mut n = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            n |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(n);
            }
        }
        Err("an integer is too large".to_owned())
    }

    fn byte(&mut self) -> Checked<u8> {
        self.take(1).and_then(|bytes| bytes.first().copied().ok_or_else(String::new))
    }

    fn take(&mut self, length: u64) -> Checked<&[u8]> {
        let taken = usize::try_from(length).ok().and_then(|n| self.0.split_at_checked(n));
        let (taken, left) = taken.ok_or("the footer ends within its schema")?;
        self.0 = left;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use rml_base::codes::run as codes;

    use super::*;
    use crate::{Columns, Format, OnDisk};

    const REPEATED: u8 = 4;

    /// A file without rows, with a schema of these elements, each given by its bytes between the repetition and the
    /// end.
    fn file(elements: &[Vec<u8>]) -> Vec<u8> {
        let mut footer = vec![0x10 | I32, 2, 0x10 | LIST, 0xf0 | STRUCT];
        footer.extend(number(elements.len() as u64));
        for element in elements {
            footer.extend([0x30 | I32, REPEATED]);
            footer.extend(element);
            footer.push(0);
        }
        footer.extend([0x10 | I64, 0, 0x10 | LIST, STRUCT, 0]);
        let length = u32::try_from(footer.len()).unwrap();
        [&b"PAR1"[..], &footer, &length.to_le_bytes(), b"PAR1"].concat()
    }

    fn number(n: u64) -> Vec<u8> {
        let low = u8::try_from(n & 127).unwrap();
        if n < 128 { vec![low] } else { [&[low | 128][..], &number(n >> 7)].concat() }
    }

    /// A group with this many fields; with none, it is a column of integers.
    fn group(name: &str, fields: u64) -> Vec<u8> {
        let name = [&[0x10 | BINARY][..], &number(name.len() as u64), name.as_bytes()].concat();
        if fields == 0 {
            // The type of its elements follows their name.
            return [&name[..], &[I32, 2, 2]].concat();
        }
        [&name[..], &[0x10 | I32], &number(fields * 2)].concat()
    }

    /// The error of a file, which must be the same in memory and on disk.
    fn wrong(bytes: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        std::fs::write(&path, bytes).unwrap();
        let memory = Columns::parse(bytes, Format::Parquet, &path.display().to_string()).unwrap_err();
        let disk = OnDisk::read_all(&[path]).unwrap_err();
        assert_eq!((disk.code(), disk.to_string()), (memory.code(), memory.to_string()));
        assert_eq!(memory.code(), Some(codes::MALFORMED_DATA));
        memory.to_string()
    }

    /// A chain of groups, the last of which is a column.
    fn chain(depth: usize) -> Vec<u8> {
        let mut elements = vec![group("g", 1); depth - 1];
        elements.push(group("x", 0));
        file(&elements)
    }

    #[test]
    fn deep_schemas_are_refused() {
        let deepest = Columns::parse(&chain(MAX_DEPTH), Format::Parquet, "p").unwrap();
        assert_eq!(deepest.unusable.keys().collect::<Vec<_>>(), ["g"]);
        for depth in [MAX_DEPTH + 1, 10_000, 1_000_000] {
            let e = wrong(&chain(depth));
            assert!(e.contains("the schema is more than 200 groups deep"), "{e}");
        }
    }

    #[test]
    fn groups_have_the_fields_that_they_declare() {
        let flat = file(&[group("s", 2), group("a", 0), group("b", 0)]);
        assert!(Columns::parse(&flat, Format::Parquet, "p").is_ok());
        for fields in [3, (1 << 31) - 1] {
            let e = wrong(&file(&[group("s", fields), group("a", 0), group("b", 0)]));
            assert!(e.contains("more fields than there are"), "{e}");
        }
        let e = wrong(&file(&[group("s", 1), group("a", 0), group("b", 0)]));
        assert!(e.contains("more than one root"), "{e}");
        let negative = [&group("s", 0)[..3], &[0x10 | I32, 1]].concat();
        assert!(wrong(&file(&[negative])).contains("a negative number of fields"));
    }

    /// The reader would read these types as the expected ones, and so find other elements.
    #[test]
    fn wrong_types_are_refused() {
        let as_bytes = [&group("s", 1)[..3], &[0x10 | BINARY, 2, 0x18, 0]].concat();
        assert!(wrong(&file(&[as_bytes])).contains("field 5 of an element of the schema has type 8"));
        let logical = |inside: &[u8]| [&group("s", 1)[..3], &[0x60 | STRUCT], inside].concat();
        let decimal = logical(&[0x50 | STRUCT, 0x10 | BINARY, 1, 0, 0, 0]);
        assert!(wrong(&file(&[decimal])).contains("parameter 1 of a logical type has type 8"));
        let time = logical(&[0x70 | STRUCT, 0x10 | TRUE, 0x10 | STRUCT, 0x10 | TRUE, 0, 0, 0]);
        assert!(wrong(&file(&[time])).contains("a unit of time has type 1"));
    }

    #[test]
    fn paths_of_columns_are_counted() {
        let name = "n".repeat(1 << 20);
        let mut elements = vec![group("s", 1), group(&name, 1000)];
        let taken = |elements: &[Vec<u8>]| {
            let file = file(elements);
            Bytes(&file[4..]).schema().unwrap()
        };
        elements.extend(vec![group("x", 0); 1000]);
        assert!(taken(&elements) > 1000 << 20);
        assert!(taken(&elements[1..]) > 1000 << 20);
    }
}
