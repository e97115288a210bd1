//! Short names for texts and data, to notice that they changed. FNV-1a with 64 bits: not against forgery.

use rml_base::Sources;

use crate::data::{Columns, Elements};

/// A running hash.
#[derive(Clone, Copy)]
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn bytes(&mut self, bytes: impl IntoIterator<Item = u8>) {
        for b in bytes {
            self.0 = (self.0 ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// A text, kept apart from what follows.
    fn text(&mut self, text: &str) {
        self.bytes((text.len() as u64).to_le_bytes());
        self.bytes(text.bytes());
    }

    fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// Of a name.
pub(crate) fn bytes(bytes: &[u8]) -> String {
    let mut hash = Fnv::new();
    hash.bytes(bytes.iter().copied());
    hash.hex()
}

/// Of all texts of a program; their names do not count.
pub(crate) fn program(sources: &Sources) -> String {
    let mut hash = Fnv::new();
    for file in sources.ids() {
        hash.text(sources.text(file));
    }
    hash.hex()
}

/// Of those columns that have these names.
pub(crate) fn data<'a>(columns: &Columns, names: impl Iterator<Item = &'a str>) -> String {
    let mut hash = Fnv::new();
    for name in names {
        let Some(column) = columns.columns.get(name) else { continue };
        hash.text(name);
        hash.text(&column.shape.to_string());
        hash.text(column.elements.kind());
        match &column.elements {
            Elements::Bool(v) => hash.bytes(v.iter().map(|b| u8::from(*b))),
            Elements::Int(v) => hash.bytes(v.iter().flat_map(|x| x.to_le_bytes())),
            Elements::F32(v) => hash.bytes(v.iter().flat_map(|x| x.to_le_bytes())),
            Elements::F64(v) => hash.bytes(v.iter().flat_map(|x| x.to_le_bytes())),
        }
        if let Some(present) = &column.present {
            hash.bytes(present.iter().flat_map(|row| (*row as u64).to_le_bytes()));
        }
    }
    hash.hex()
}
