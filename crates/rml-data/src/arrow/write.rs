//! Writes streams of Arrow: the answers of a program, one batch for each of them.

use rml_ir::{DType, Data, Precision, Type, Value};

/// The elements of a column of answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrowType {
    /// Truth values.
    Bool,
    /// Integers.
    Int,
    /// Numbers in single precision.
    F32,
    /// Numbers in double precision.
    F64,
    /// Texts.
    Text,
}

/// A column of answers.
#[derive(Clone, Debug)]
pub struct ArrowField {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub elements: ArrowType,
    /// The shape of a cell.
    pub dims: Vec<usize>,
}

impl ArrowField {
    /// A column for values of a type.
    pub fn of(name: &str, ty: &Type, precision: Precision) -> Self {
        let elements = match (ty.dtype, precision) {
            (DType::Bool, _) => ArrowType::Bool,
            (DType::Int, _) => ArrowType::Int,
            (DType::Num, Precision::F32) => ArrowType::F32,
            (DType::Num, Precision::F64) => ArrowType::F64,
        };
        Self { name: name.to_owned(), elements, dims: ty.shape.dims().to_vec() }
    }

    /// A column of single texts.
    pub fn text(name: &str) -> Self {
        Self { name: name.to_owned(), elements: ArrowType::Text, dims: Vec::new() }
    }
}

/// A cell of an answer.
#[derive(Clone, Debug)]
pub enum ArrowCell {
    /// There is no value.
    Absent,
    /// A value, which fits its column.
    Value(Value),
    /// A text for each element.
    Texts(Vec<String>),
}

/// The columns of answers, which are written as a stream.
#[derive(Clone, Debug)]
pub struct ArrowAnswers {
    fields: Vec<ArrowField>,
}

impl ArrowAnswers {
    /// Answers with these columns.
    pub fn new(fields: Vec<ArrowField>) -> Self {
        Self { fields }
    }

    /// The bytes at the beginning of the stream.
    pub fn begin(&self) -> Vec<u8> {
        let mut out = Out::default();
        // Schema: endianness, fields.
        let schema = out.message(1, 0, &[Slot::Scalar(2, 0), Slot::Place]);
        let list = out.list(schema[1], self.fields.len());
        for (place, field) in list.into_iter().zip(&self.fields) {
            out.field(place, &field.name, &field.dims, field.elements);
        }
        framed(out.bytes, &[])
    }

    /// The bytes of an answer, with a cell for each column.
    pub fn answer(&self, cells: &[ArrowCell]) -> Vec<u8> {
        let mut body = Body::default();
        for (field, cell) in self.fields.iter().zip(cells) {
            body.cell(field, cell);
        }
        let mut out = Out::default();
        // Batch: length, nodes, buffers.
        let batch = out.message(3, body.bytes.len(), &[Slot::Scalar(8, 1), Slot::Place, Slot::Place]);
        out.structs(batch[1], &body.nodes);
        out.structs(batch[2], &body.buffers);
        framed(out.bytes, &body.bytes)
    }

    /// The bytes at the end of the stream.
    pub fn end() -> [u8; 8] {
        [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]
    }
}

/// A message: its metadata, filled up to eight bytes, and its body.
fn framed(mut meta: Vec<u8>, body: &[u8]) -> Vec<u8> {
    meta.resize(meta.len().next_multiple_of(8), 0);
    let length = u32::try_from(meta.len()).unwrap_or(u32::MAX).to_le_bytes();
    [&[0xff; 4][..], &length, &meta, body].concat()
}

/// The body of a batch.
#[derive(Default)]
struct Body {
    bytes: Vec<u8>,
    /// For each column and each list in it: the number of cells, and of absent ones.
    nodes: Vec<[i64; 2]>,
    /// Where each buffer begins, and its length.
    buffers: Vec<[i64; 2]>,
}

impl Body {
    fn buffer(&mut self, bytes: &[u8]) {
        let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        self.buffers.push([number(self.bytes.len()), number(bytes.len())]);
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }

    fn cell(&mut self, field: &ArrowField, cell: &ArrowCell) {
        let is_absent = matches!(cell, ArrowCell::Absent);
        let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let mut count = 1;
        for (depth, dim) in field.dims.iter().map(Some).chain([None]).enumerate() {
            let nulls = if is_absent && depth == 0 { 1 } else { 0 };
            self.nodes.push([number(count), nulls]);
            self.buffer(if nulls == 1 { &[0] } else { &[] });
            count *= dim.copied().unwrap_or(1);
        }
        let texts = |texts: &[String]| {
            let ends = texts.iter().scan(0_usize, |end, text| {
                *end += text.len();
                Some(*end)
            });
            let ends = std::iter::once(0).chain(ends);
            (
                ends.flat_map(|end| i32::try_from(end).unwrap_or(i32::MAX).to_le_bytes())
                    .collect::<Vec<u8>>(),
                texts.concat(),
            )
        };
        match (cell, field.elements) {
            (ArrowCell::Texts(all), _) => {
                let (ends, text) = texts(all);
                self.buffer(&ends);
                self.buffer(text.as_bytes());
            }
            (ArrowCell::Absent, ArrowType::Text) => {
                let (ends, text) = texts(&vec![String::new(); count]);
                self.buffer(&ends);
                self.buffer(text.as_bytes());
            }
            (ArrowCell::Absent, ArrowType::Bool) => self.buffer(&vec![0; count.div_ceil(8)]),
            (ArrowCell::Absent, ArrowType::F32) => self.buffer(&vec![0; 4 * count]),
            (ArrowCell::Absent, ArrowType::F64 | ArrowType::Int) => self.buffer(&vec![0; 8 * count]),
            (ArrowCell::Value(value), _) => self.buffer(&elements(value)),
        }
    }
}

/// The elements of a value.
fn elements(value: &Value) -> Vec<u8> {
    match value.to_data() {
        Data::Bool(v) => {
            let byte = |bits: &[bool]| bits.iter().enumerate().map(|(i, bit)| u8::from(*bit) << i).sum();
            v.chunks(8).map(byte).collect()
        }
        Data::Int(v) => v.into_iter().flat_map(i64::to_le_bytes).collect(),
        Data::F32(v) => v.into_iter().flat_map(f32::to_le_bytes).collect(),
        Data::F64(v) => v.into_iter().flat_map(f64::to_le_bytes).collect(),
    }
}

/// A slot of a table that is written.
enum Slot {
    /// A number of this many bytes.
    Scalar(usize, u64),
    /// The place of a table, list or text that follows.
    Place,
    /// Nothing.
    Absent,
}

/// FlatBuffers that are written from the beginning to the end: each table before those that it refers to.
#[derive(Default)]
struct Out {
    bytes: Vec<u8>,
}

impl Out {
    fn align(&mut self, to: usize, before: usize) {
        let at = (self.bytes.len() + before).next_multiple_of(to) - before;
        self.bytes.resize(at, 0);
    }

    fn u32(&mut self, n: usize) {
        self.bytes.extend_from_slice(&u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes());
    }

    /// Lets a slot refer to what follows.
    fn refer(&mut self, place: usize) {
        let distance = u32::try_from(self.bytes.len() - place).unwrap_or(u32::MAX);
        self.bytes[place..place + 4].copy_from_slice(&distance.to_le_bytes());
    }

    /// A table, to which the slot at `from` refers. Returns the places of its slots.
    fn table(&mut self, from: Option<usize>, slots: &[Slot]) -> Vec<usize> {
        self.align(2, 0);
        let list = self.bytes.len();
        let table = (list + 4 + 2 * slots.len()).next_multiple_of(8);
        let (mut end, mut places) = (table + 4, Vec::new());
        for slot in slots {
            let size = match slot {
                Slot::Scalar(size, _) => *size,
                Slot::Place => 4,
                Slot::Absent => 0,
            };
            end = end.next_multiple_of(size.max(1));
            places.push(end);
            end += size;
        }
        let short = |n: usize| u16::try_from(n).unwrap_or(u16::MAX).to_le_bytes();
        self.bytes.extend(short(4 + 2 * slots.len()));
        self.bytes.extend(short(end - table));
        for (slot, place) in slots.iter().zip(&places) {
            self.bytes.extend(if matches!(slot, Slot::Absent) { [0; 2] } else { short(place - table) });
        }
        self.bytes.resize(table, 0);
        if let Some(from) = from {
            self.refer(from);
        }
        self.u32(table - list);
        self.bytes.resize(end, 0);
        for (slot, place) in slots.iter().zip(&places) {
            if let Slot::Scalar(size, n) = slot {
                self.bytes[*place..place + size].copy_from_slice(&n.to_le_bytes()[..*size]);
            }
        }
        places
    }

    /// A message around a table with these slots. Returns the places of these.
    fn message(&mut self, kind: u64, body: usize, slots: &[Slot]) -> Vec<usize> {
        self.bytes.extend([0; 4]);
        // Version 5, the kind of the header, the header, the length of the body.
        let own = [Slot::Scalar(2, 4), Slot::Scalar(1, kind), Slot::Place, Slot::Scalar(8, body as u64)];
        let places = self.table(Some(0), &own);
        self.table(Some(places[2]), slots)
    }

    /// A list of this many tables. Returns the places of the slots that refer to them.
    fn list(&mut self, from: usize, count: usize) -> Vec<usize> {
        self.align(4, 0);
        self.refer(from);
        self.u32(count);
        let begin = self.bytes.len();
        self.bytes.resize(begin + 4 * count, 0);
        (0..count).map(|i| begin + 4 * i).collect()
    }

    fn structs(&mut self, from: usize, all: &[[i64; 2]]) {
        self.align(8, 4);
        self.refer(from);
        self.u32(all.len());
        self.bytes.extend(all.iter().flatten().flat_map(|n| n.to_le_bytes()));
    }

    fn text(&mut self, from: usize, text: &str) {
        self.align(4, 0);
        self.refer(from);
        self.u32(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
    }

    /// A field with cells of these dimensions.
    fn field(&mut self, from: usize, name: &str, dims: &[usize], elements: ArrowType) {
        let (kind, slots) = match (dims, elements) {
            ([n, ..], _) => (16, vec![Slot::Scalar(4, *n as u64)]),
            ([], ArrowType::Bool) => (6, vec![]),
            ([], ArrowType::Int) => (2, vec![Slot::Scalar(4, 64), Slot::Scalar(1, 1)]),
            ([], ArrowType::F32) => (3, vec![Slot::Scalar(2, 1)]),
            ([], ArrowType::F64) => (3, vec![Slot::Scalar(2, 2)]),
            ([], ArrowType::Text) => (5, vec![]),
        };
        // Name, nullable, the kind of the type, the type, a dictionary, children.
        let own =
            [Slot::Place, Slot::Scalar(1, 1), Slot::Scalar(1, kind), Slot::Place, Slot::Absent, Slot::Place];
        let places = self.table(Some(from), &own);
        self.text(places[0], name);
        self.table(Some(places[3]), &slots);
        let children = self.list(places[5], dims.len().min(1));
        if let (&[child], [_, rest @ ..]) = (&children[..], dims) {
            self.field(child, "item", rest, elements);
        }
    }
}
