//! Columns of data by name, from npz, csv, JSON and JSON lines. Nothing here knows the program that reads them.

use std::path::Path;

use indexmap::IndexMap;
use rml_ir::Shape;

use crate::error::Error;

/// The elements of a column, as the file has them.
#[derive(Clone, PartialEq, Debug)]
pub enum Elements {
    /// Truth values.
    Bool(Vec<bool>),
    /// Integers of any width.
    Int(Vec<i64>),
    /// Numbers in single precision.
    F32(Vec<f32>),
    /// Numbers in double precision.
    F64(Vec<f64>),
}

/// A named array: its leading dimension counts rows (cycles or windows).
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// All dimensions, the leading one included.
    pub shape: Shape,
    /// Row-major.
    pub elements: Elements,
    /// Which rows are there; `None` = all. The elements of a missing row are zeros.
    pub present: Option<Vec<bool>>,
}

/// A table of columns.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Columns {
    /// Where it came from, for messages.
    pub origin: String,
    /// The columns by name, in the order of the file.
    pub columns: IndexMap<String, Column>,
}

impl Columns {
    /// Reads a file by its extension: `.npz`, `.csv`, `.json` or `.jsonl`.
    ///
    /// # Errors
    /// A file that cannot be read, or is malformed.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let _ = path;
        unimplemented!()
    }
}
