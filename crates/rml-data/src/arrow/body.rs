//! The cells of a batch: buffers of bytes, interpreted by the schema.

use std::borrow::Cow;

use super::lz4;
use super::schema::{Clock, Field, Kind, Number, Texts};
use super::table::{Damaged, Read, Table, array, size};
use crate::builder::Scalar;
use crate::element::{Element, Sink, time};
use crate::malformed::Wrong;

/// A batch of rows whose columns are taken one after the other.
pub(super) struct Batch<'b> {
    pub(super) rows: usize,
    body: &'b [u8],
    compression: Option<Codec>,
    nodes: std::vec::IntoIter<[i64; 2]>,
    buffers: std::vec::IntoIter<[i64; 2]>,
    views: std::vec::IntoIter<[i64; 1]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Codec {
    Lz4,
    Zstd,
}

type Bytes<'b> = Cow<'b, [u8]>;

/// The cells of a column, or the elements of lists.
pub(super) struct Cells<'b> {
    length: usize,
    /// A bit for each cell that is set if the cell is present; none if all are.
    valid: Option<Bytes<'b>>,
    data: Data<'b>,
}

enum Data<'b> {
    Null,
    Bool(Bytes<'b>),
    Number(Number, Bytes<'b>),
    Text(Offsets<'b>, Bytes<'b>),
    Views(Bytes<'b>, Vec<Bytes<'b>>),
    Time(Clock, usize, Bytes<'b>),
    List(Offsets<'b>, Box<Cells<'b>>),
    Array(usize, Option<Vec<usize>>, Box<Cells<'b>>),
    Numbered(Number, Bytes<'b>, i64),
    /// A type that feeds no input.
    Other,
}

/// The ends of texts or lists, in 64 bits or 32.
struct Offsets<'b> {
    wide: bool,
    bytes: Bytes<'b>,
}

impl Offsets<'_> {
    fn at(&self, i: usize) -> Read<usize> {
        match self.wide {
            true => size(i64::from_le_bytes(array(&self.bytes, 8 * i)?)),
            false => size(i32::from_le_bytes(array(&self.bytes, 4 * i)?).into()),
        }
    }

    fn range(&self, i: usize) -> Read<std::ops::Range<usize>> {
        let (from, to) = (self.at(i)?, self.at(i + 1)?);
        if from <= to { Ok(from..to) } else { Err(Damaged) }
    }
}

impl<'b> Batch<'b> {
    pub(super) fn new(table: Table<'_>, body: &'b [u8]) -> Read<Self> {
        let compression = match table.table(3)? {
            None => None,
            Some(how) => match how.byte(0)? {
                0 => Some(Codec::Lz4),
                1 => Some(Codec::Zstd),
                _ => return Err(Damaged),
            },
        };
        let rows = size(table.i64(0)?)?;
        let (nodes, buffers) = (table.structs(1)?.into_iter(), table.structs(2)?.into_iter());
        let views = table.structs(4)?.into_iter();
        Ok(Self { rows, body, compression, nodes, buffers, views })
    }

    /// The bytes of the next buffer; they are unpacked only if `wanted`.
    fn buffer(&mut self, wanted: bool) -> Read<Bytes<'b>> {
        let [from, length] = self.buffers.next().ok_or(Damaged)?;
        let (from, length) = (size(from)?, size(length)?);
        let bytes = from.checked_add(length).and_then(|end| self.body.get(from..end)).ok_or(Damaged)?;
        let Some(codec) = self.compression.filter(|_| wanted && length > 0) else { return Ok(bytes.into()) };
        let length = i64::from_le_bytes(array(bytes, 0)?);
        let packed = &bytes[8..];
        if length == -1 {
            return Ok(packed.into());
        }
        let length = size(length)?;
        rml_base::memory::ask(length as u64).map_err(|_| Damaged)?;
        let unpacked = match codec {
            Codec::Lz4 => lz4::unpack(packed, length),
            Codec::Zstd => rml_files::unpack_zstd(packed, length),
        };
        unpacked.map(Cow::Owned).ok_or(Damaged)
    }

    /// The cells of the next column.
    pub(super) fn take(&mut self, field: &Field, wanted: bool) -> Read<Cells<'b>> {
        let [length, nulls] = self.nodes.next().ok_or(Damaged)?;
        let length = size(length)?;
        if let Kind::Null = field.kind {
            return Ok(Cells { length, valid: None, data: Data::Null });
        }
        if let Kind::Other(other) = &field.kind
            && field.dictionary.is_none()
        {
            for _ in 0..other.buffers {
                self.buffer(false)?;
            }
            self.skip_views(other.has_views)?;
            for part in &other.parts {
                self.take(part, false)?;
            }
            return Ok(Cells { length, valid: None, data: Data::Other });
        }
        let valid = self.buffer(wanted)?;
        let data = self.data(field, wanted)?;
        let valid = (nulls != 0).then_some(valid);
        let cells = Cells { length, valid, data };
        if wanted && !cells.has_room() { Err(Damaged) } else { Ok(cells) }
    }

    fn data(&mut self, field: &Field, wanted: bool) -> Read<Data<'b>> {
        if let Some((id, index)) = field.dictionary {
            return Ok(Data::Numbered(index, self.buffer(wanted)?, id));
        }
        Ok(match &field.kind {
            Kind::Bool => Data::Bool(self.buffer(wanted)?),
            Kind::Number(number) => Data::Number(*number, self.buffer(wanted)?),
            Kind::Time(clock @ Clock::Days) => Data::Time(*clock, 4, self.buffer(wanted)?),
            Kind::Time(clock @ Clock::Parts(_)) => Data::Time(*clock, 8, self.buffer(wanted)?),
            Kind::Text(Texts::Views) => {
                let views = self.buffer(wanted)?;
                let [count] = self.views.next().ok_or(Damaged)?;
                let texts = (0..size(count)?).map(|_| self.buffer(wanted));
                Data::Views(views, texts.collect::<Read<_>>()?)
            }
            Kind::Text(texts) => {
                let bytes = self.buffer(wanted)?;
                Data::Text(Offsets { wide: *texts == Texts::Wide, bytes }, self.buffer(wanted)?)
            }
            Kind::List(wide, item) => {
                let bytes = self.buffer(wanted)?;
                Data::List(Offsets { wide: *wide, bytes }, Box::new(self.take(item, wanted)?))
            }
            Kind::Array(n, item) => Data::Array(*n, field.shape.clone(), Box::new(self.take(item, wanted)?)),
            Kind::Null | Kind::Other(_) => Data::Null,
        })
    }

    fn skip_views(&mut self, has_views: bool) -> Read<()> {
        if has_views {
            let [count] = self.views.next().ok_or(Damaged)?;
            for _ in 0..size(count)? {
                self.buffer(false)?;
            }
        }
        Ok(())
    }
}

/// The values of dictionaries by id.
pub(super) type Dictionaries = std::collections::BTreeMap<i64, Vec<Owned>>;

/// A value of a dictionary.
pub(super) enum Owned {
    Value(Scalar),
    Text(String),
    Time(crate::dates::Date),
    Null,
}

impl From<Element<'_>> for Owned {
    fn from(element: Element<'_>) -> Self {
        match element {
            Element::Value(scalar) => Owned::Value(scalar),
            Element::Text(text) => Owned::Text(text.to_owned()),
            Element::Time(date) => Owned::Time(date),
            Element::Null => Owned::Null,
        }
    }
}

impl Owned {
    fn element(&self) -> Element<'_> {
        match self {
            Owned::Value(scalar) => Element::Value(*scalar),
            Owned::Text(text) => Element::Text(text),
            Owned::Time(date) => Element::Time(*date),
            Owned::Null => Element::Null,
        }
    }
}

impl From<Damaged> for Wrong {
    fn from(_: Damaged) -> Self {
        Wrong::Text("its bytes do not fit its type: the data is damaged".to_owned())
    }
}

impl<'b> Cells<'b> {
    /// Whether the buffers have room for all cells.
    fn has_room(&self) -> bool {
        let n = self.length;
        let fits = |bytes: &Bytes<'_>, each: usize| n.checked_mul(each).is_some_and(|all| all <= bytes.len());
        let ends = |offsets: &Offsets<'_>| n == 0 || fits(&offsets.bytes, if offsets.wide { 8 } else { 4 });
        let data = match &self.data {
            Data::Null | Data::Other => true,
            Data::Bool(bits) => n.div_ceil(8) <= bits.len(),
            Data::Number(number, bytes) | Data::Numbered(number, bytes, _) => fits(bytes, number.bytes()),
            Data::Time(_, each, bytes) => fits(bytes, *each),
            Data::Views(views, _) => fits(views, 16),
            Data::Text(offsets, _) | Data::List(offsets, _) => ends(offsets),
            Data::Array(each, _, item) => n.checked_mul(*each).is_some_and(|all| all <= item.length),
        };
        data && self.valid.as_ref().is_none_or(|bits| n.div_ceil(8) <= bits.len())
    }

    pub(super) fn is_null(&self, i: usize) -> bool {
        let is_set = |bits: &Bytes<'_>| bits.get(i / 8).is_some_and(|byte| byte >> (i % 8) & 1 == 1);
        matches!(self.data, Data::Null) || self.valid.as_ref().is_some_and(|bits| !is_set(bits))
    }

    /// How many cells there are.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Adds the elements of a cell. Returns its shape.
    pub(super) fn cell(
        &self,
        i: usize,
        known: &Dictionaries,
        sink: &mut Sink<'_>,
    ) -> Result<Vec<usize>, Wrong> {
        let (range, item, shape) = match &self.data {
            Data::List(_, _) | Data::Array(_, _, _) if self.is_null(i) => {
                sink.put(Element::Null)?;
                return Ok(Vec::new());
            }
            Data::List(offsets, item) => (offsets.range(i)?, item, None),
            Data::Array(n, shape, item) => (i * n..(i + 1) * n, item, shape.as_ref()),
            Data::Null
            | Data::Bool(_)
            | Data::Number(_, _)
            | Data::Text(_, _)
            | Data::Views(_, _)
            | Data::Time(_, _, _)
            | Data::Numbered(_, _, _)
            | Data::Other => {
                sink.put(self.element(i, known)?)?;
                return Ok(Vec::new());
            }
        };
        if range.end > item.length {
            return Err(Damaged.into());
        }
        let length = range.len();
        let inner = match item.numbers(&range, sink) {
            Some(done) => done.map(|()| Vec::new())?,
            None => item.each(range, known, sink)?,
        };
        Ok(match shape.filter(|shape| inner.is_empty() && shape.iter().product::<usize>() == length) {
            Some(shape) => shape.clone(),
            None => [&[length], &inner[..]].concat(),
        })
    }

    /// Adds cells one by one. Returns their shape.
    fn each(
        &self,
        range: std::ops::Range<usize>,
        known: &Dictionaries,
        sink: &mut Sink<'_>,
    ) -> Result<Vec<usize>, Wrong> {
        let mut cell: Option<Vec<usize>> = None;
        for i in range {
            let shape = self.cell(i, known, sink)?;
            if cell.as_ref().is_some_and(|cell| *cell != shape) {
                return Err(Wrong::Shape("the rows of a tensor have different shapes".to_owned()));
            }
            cell = Some(shape);
        }
        Ok(cell.unwrap_or_default())
    }

    /// Adds a range of numbers at once, if these are numbers and all are present.
    fn numbers(&self, range: &std::ops::Range<usize>, sink: &mut Sink<'_>) -> Option<Result<(), Wrong>> {
        let Data::Number(number, bytes) = &self.data else { return None };
        if self.valid.is_some() {
            return None;
        }
        let each = number.bytes();
        let bytes = bytes.get(range.start * each..range.end * each)?;
        match number {
            Number::Float(4) => {
                let (all, _) = bytes.as_chunks();
                Some(sink.numbers(all.iter().map(|b| f64::from(f32::from_le_bytes(*b)))))
            }
            Number::Float(8) => {
                let (all, _) = bytes.as_chunks();
                Some(sink.numbers(all.iter().map(|b| f64::from_le_bytes(*b))))
            }
            Number::Int(1, false) => Some(sink.integers(bytes.iter().map(|b| i64::from(*b)))),
            Number::Int(8, true) => {
                let (all, _) = bytes.as_chunks();
                Some(sink.integers(all.iter().map(|b| i64::from_le_bytes(*b))))
            }
            Number::Float(_) | Number::Int(_, _) => None,
        }
    }

    /// A cell that is not a list.
    pub(super) fn element<'e>(&'e self, i: usize, known: &'e Dictionaries) -> Result<Element<'e>, Wrong> {
        if self.is_null(i) {
            return Ok(Element::Null);
        }
        let slice = |bytes: &'e [u8], each: usize| bytes.get(i * each..(i + 1) * each).ok_or(Damaged);
        Ok(match &self.data {
            Data::Bool(bits) => {
                let byte = bits.get(i / 8).ok_or(Damaged)?;
                Element::Value(Scalar::Bool(byte >> (i % 8) & 1 == 1))
            }
            Data::Number(number, bytes) => Element::Value(number.read(slice(bytes, number.bytes())?)?),
            Data::Time(clock, each, bytes) => {
                let Scalar::Int(count) = Number::Int(*each, true).read(slice(bytes, *each)?)? else {
                    return Err(Damaged.into());
                };
                match clock {
                    Clock::Days => Element::Time((count.saturating_mul(86_400), 0.0)),
                    Clock::Parts(per_second) => time(count, *per_second),
                }
            }
            Data::Text(offsets, bytes) => text(bytes.get(offsets.range(i)?))?,
            Data::Views(views, texts) => view(slice(views, 16)?, texts)?,
            Data::Numbered(number, bytes, id) => {
                let Scalar::Int(at) = number.read(slice(bytes, number.bytes())?)? else {
                    return Err(Damaged.into());
                };
                let value = known.get(id).and_then(|values| values.get(usize::try_from(at).ok()?));
                value.ok_or(Damaged)?.element()
            }
            Data::Null | Data::List(_, _) | Data::Array(_, _, _) | Data::Other => return Err(Damaged.into()),
        })
    }
}

fn text(bytes: Option<&[u8]>) -> Result<Element<'_>, Wrong> {
    let bytes = bytes.ok_or(Damaged)?;
    std::str::from_utf8(bytes).map(Element::Text).map_err(|_| "the text is not UTF-8".into())
}

/// A text of up to 12 bytes is in the view itself; others are in one of the buffers.
fn view<'e>(view: &'e [u8], texts: &'e [Bytes<'_>]) -> Result<Element<'e>, Wrong> {
    let number = |at: usize| size(i32::from_le_bytes(array(view, at)?).into());
    let length = number(0)?;
    if length <= 12 {
        return text(view.get(4..4 + length));
    }
    let (buffer, from) = (texts.get(number(8)?).ok_or(Damaged)?, number(12)?);
    text(buffer.get(from..from + length))
}
