//! Files of one NumPy array (`.npy`) as tables. The array is a column with the name of the file; if a node has only one
//! input, the array feeds this input whatever the name of the file. With a mapping, the array is also a table of
//! columns `0`, `1`, .. along its second dimension.

use std::io::{Cursor, Read};
use std::path::Path;

use rml_base::memory::bytes_of;
use rml_files::Compression;
use rml_ir::Shape;

use crate::columns::{Column, Columns, Elements};
use crate::malformed::{MAX_COLUMNS, Malformed, too_many_columns};
use crate::npz;
use crate::selection::Selection;

/// Reads a file with this name.
pub(crate) fn read(bytes: &[u8], path: &Path, selection: &Selection) -> Result<Columns, Malformed> {
    let mut columns = read_by(Cursor::new(bytes), bytes.len() as u64, path, selection, None)?;
    if selection.mapping().has_numbers() {
        divide(&mut columns)?;
    }
    Ok(columns)
}

/// The same for a file of this length, without the columns that have numbers as names. If the array can be read in
/// pieces, its elements are passed to `put`.
pub(crate) fn read_by(
    from: impl Read,
    length: u64,
    path: &Path,
    selection: &Selection,
    put: Option<npz::Put<'_>>,
) -> Result<Columns, Malformed> {
    let mut columns = Columns::default();
    let name = name(path, selection);
    let mut own = put.map(|(size, put)| (size, |elements: &Elements| put(&name, elements)));
    let own: Option<npz::Piece<'_>> = own.as_mut().map(|(size, own)| (*size, own as _));
    match npz::single(from, length, &mut columns.memory, own)? {
        Ok(column) => drop(columns.columns.insert(name, column)),
        Err(why) => drop(columns.unusable.insert(name, npz::no_numbers(why).into())),
    }
    Ok(columns)
}

/// The name of the column for the array of a file.
fn name(path: &Path, selection: &Selection) -> String {
    let stem = || Compression::of(path).1.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match selection.only() {
        Some(input) if selection.mapping().is_empty() => input.to_owned(),
        _ => stem(),
    }
}

/// Adds the columns along the second dimension of the array.
fn divide(columns: &mut Columns) -> Result<(), Malformed> {
    let Some(array) = columns.columns.values().next().cloned() else { return Ok(()) };
    let dims = array.shape.dims();
    let (rows, count, cell) = match dims {
        [rows] => (*rows, 1, &[][..]),
        [rows, count, cell @ ..] => (*rows, *count, cell),
        [] => return Ok(()),
    };
    if count > MAX_COLUMNS {
        return Err(too_many_columns());
    }
    let more = bytes_of(array.elements.len(), size_of::<f64>());
    columns
        .memory
        .grow(more)
        .map_err(|short| Malformed::short(short.diagnostic("the columns of the array")))?;
    let shape = Shape::new(&[&[rows], cell].concat());
    let part = shape.len() / rows.max(1);
    for i in 0..count {
        let elements = match &array.elements {
            Elements::Bool(v) => Elements::Bool(along(v, (rows, count, part), i)),
            Elements::Int(v) => Elements::Int(along(v, (rows, count, part), i)),
            Elements::F32(v) => Elements::F32(along(v, (rows, count, part), i)),
            Elements::F64(v) => Elements::F64(along(v, (rows, count, part), i)),
        };
        columns.columns.insert(i.to_string(), Column { shape: shape.clone(), elements, present: None });
    }
    Ok(())
}

/// The elements of column `i` in all rows.
fn along<T: Copy>(v: &[T], (rows, count, part): (usize, usize, usize), i: usize) -> Vec<T> {
    let at = |row: usize| (row * count + i) * part;
    (0..rows).flat_map(|row| v[at(row)..at(row) + part].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColumnMapping, Format, npy};

    fn array(dims: &[usize]) -> Vec<u8> {
        let n = i64::try_from(dims.iter().product::<usize>()).unwrap();
        npy::write(&Column {
            shape: Shape::new(dims),
            elements: Elements::Int((0..n).collect()),
            present: None,
        })
    }

    fn read(dims: &[usize], selection: &Selection) -> Columns {
        Columns::parse_selected(&array(dims), Format::Npy, "folder/t.npy.gz", selection).unwrap()
    }

    #[test]
    fn an_array_feeds_the_only_input_or_the_one_of_its_name() {
        assert!(read(&[2, 3], &Selection::all()).columns.keys().eq(["t"]));
        let only = Selection::of(["x", "k"]).feeding(["x"]);
        assert_eq!(read(&[2, 3], &only).columns["x"].shape.dims(), [2, 3]);
        assert!(read(&[2], &Selection::of(["x", "t"]).feeding(["x", "t"])).columns.keys().eq(["t"]));
    }

    #[test]
    fn columns_of_an_array_have_numbers() {
        let by = |columns: &[&str]| Selection::all().mapped(ColumnMapping::parse(columns).unwrap()).unwrap();
        let table = read(&[2, 3], &by(&["x=0..1", "y=2", "all=t"]));
        assert_eq!(table.columns["x"].elements, Elements::Int(vec![0, 1, 3, 4]));
        assert_eq!(table.columns["y"].elements, Elements::Int(vec![2, 5]));
        assert_eq!(table.columns["all"].shape.dims(), [2, 3]);
        assert_eq!(read(&[2, 3, 2], &by(&["y=1"])).columns["y"].elements, Elements::Int(vec![2, 3, 8, 9]));
        assert_eq!(read(&[2], &by(&["y=0"])).columns["y"].shape.dims(), [2]);
    }
}
