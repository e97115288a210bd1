//! Hashes of texts and data, to notice changes.

use rml_base::{Diagnostic, Fnv, Sources};
use rml_data::{Dataset, Elements};
use rml_ir::Data;

use crate::checkpoint::Checkpoint;

/// The hash of all texts of a program; their names do not count.
pub(crate) fn program(sources: &Sources) -> String {
    let mut hash = Fnv::default();
    for file in sources.ids() {
        hash.text(sources.text(file));
    }
    hash.hex()
}

/// The hash of the states of a checkpoint.
pub(crate) fn states(checkpoint: &Checkpoint) -> String {
    let mut hash = Fnv::default();
    for (key, value) in &checkpoint.states {
        hash.text(key);
        hash.text(&value.ty().to_string());
        match value.to_data() {
            Data::Bool(v) => hash.bytes(v.iter().map(|b| u8::from(*b))),
            Data::Int(v) => hash.bytes(v.iter().flat_map(|x| x.to_le_bytes())),
            Data::F32(v) => hash.bytes(v.iter().flat_map(|x| x.to_le_bytes())),
            Data::F64(v) => hash.bytes(v.iter().flat_map(|x| x.to_le_bytes())),
        }
    }
    hash.hex()
}

/// The hash of the columns with these names.
///
/// # Errors
/// Data on disk that cannot be read.
pub(crate) fn data<'a>(
    data: &dyn Dataset,
    names: impl Iterator<Item = &'a str>,
) -> Result<String, Diagnostic> {
    let columns = data.table();
    let mut hash = Fnv::default();
    for name in names {
        let Some(column) = columns.columns.get(name) else { continue };
        hash.text(name);
        hash.text(&column.shape.to_string());
        hash.text(column.elements.kind());
        data.for_each(name, &mut |elements| match elements {
            Elements::Bool(v) => hash.bytes(v.iter().map(|b| u8::from(*b))),
            Elements::Int(v) => hash.bytes(v.iter().flat_map(|x| x.to_le_bytes())),
            Elements::F32(v) => hash.bytes(v.iter().flat_map(|x| x.to_le_bytes())),
            Elements::F64(v) => hash.bytes(v.iter().flat_map(|x| x.to_le_bytes())),
        })?;
        columns.names(name).into_iter().flatten().for_each(|name| hash.text(name));
        if let Some(lengths) = columns.lengths(name) {
            hash.bytes(lengths.iter().flat_map(|n| (*n as u64).to_le_bytes()));
        }
        if let Some(present) = &column.present {
            hash.bytes(present.iter().flat_map(|row| (*row as u64).to_le_bytes()));
        }
    }
    Ok(hash.hex())
}
