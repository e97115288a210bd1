//! Whole columns: one array per input or output, one row per cycle or window.

use std::path::PathBuf;

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rml::{
    Column, Columns, DType, Data, Dataset, Elements, Format, OnDisk, Precision, Recipe, Shape, Source, Type,
    Value,
};

use crate::unlocked;
use crate::value::{Array, from_data};

/// A table in the form in which the package prepares it.
#[derive(FromPyObject)]
pub(crate) enum Table<'py> {
    /// Files and folders of data.
    #[pyo3(transparent)]
    Files(Vec<PathBuf>),
    /// Columns by name.
    #[pyo3(transparent)]
    Columns(Vec<Given<'py>>),
}

/// A column: its name, its present rows stacked, the total number of rows, and the numbers of the present rows (`None`
/// = all). If the rows are numbers of texts, also these texts.
type Given<'py> = (String, Bound<'py, PyUntypedArray>, usize, Option<Vec<usize>>, Option<Vec<String>>);

/// How to read files.
pub(crate) struct How {
    pub(crate) on_disk: bool,
    pub(crate) format: Option<Format>,
    pub(crate) recipe: Recipe,
}

impl Table<'_> {
    /// The data for training and inference: the columns of the table, or from files the columns that a node of the
    /// source may need.
    pub(crate) fn dataset(
        self,
        py: Python<'_>,
        how: &How,
        source: &Source,
        node: Option<&str>,
    ) -> PyResult<Box<dyn Dataset>> {
        let select = || how.recipe.selection(rml::columns_for(source, node)?.in_format(how.format));
        let selection = unlocked(py, select)?;
        match self {
            Table::Files(files) if !files.is_empty() => unlocked(py, || {
                Ok(if how.on_disk {
                    Box::new(OnDisk::read_selected(&files, &selection)?) as Box<dyn Dataset>
                } else {
                    Box::new(Columns::read_selected(&files, &selection)?)
                })
            }),
            table => Ok(Box::new(table.columns(py)?.knowing(&selection))),
        }
    }

    /// The inputs of a run: the columns of the table, or from files those that a node of the source may need, read by a
    /// recipe.
    pub(crate) fn inputs(
        self,
        py: Python<'_>,
        recipe: &Recipe,
        source: &Source,
        node: Option<&str>,
    ) -> PyResult<Columns> {
        let selection = unlocked(py, || recipe.selection(rml::columns_for(source, node)?))?;
        match self {
            Table::Files(files) if !files.is_empty() => {
                unlocked(py, || Columns::read_selected(&files, &selection))
            }
            table => Ok(table.columns(py)?.knowing(&selection)),
        }
    }

    /// The columns; files are read now.
    pub(crate) fn columns(self, py: Python<'_>) -> PyResult<Columns> {
        match self {
            Table::Files(files) if !files.is_empty() => unlocked(py, || Columns::read_all(&files)),
            Table::Files(_) => Ok(Columns::new("the table")),
            Table::Columns(given) => {
                let mut columns = Columns::new("the table");
                for (name, rows, count, present, names) in given {
                    let Some(data) = Array::elements_of(&rows) else {
                        let dtype = rows.getattr("dtype")?;
                        columns.unusable.insert(name, format!("its elements are of type {dtype}").into());
                        continue;
                    };
                    let array = Array { dims: rows.shape().to_vec(), data };
                    let dims: Vec<usize> = [count].iter().chain(array.dims.iter().skip(1)).copied().collect();
                    let column = Column { shape: Shape::new(&dims), elements: array.elements(), present };
                    match names {
                        Some(names) => columns.insert_texts(name, column, names),
                        None => drop(columns.columns.insert(name, column)),
                    }
                }
                Ok(columns)
            }
        }
    }
}

/// An array of stacked values; a masked array if rows are absent.
pub(crate) fn stacked<'py>(
    py: Python<'py>,
    cells: impl Iterator<Item = Option<Value>>,
    ty: &Type,
    precision: Precision,
) -> PyResult<Bound<'py, PyAny>> {
    let (mut rows, mut present) = (0, Vec::new());
    let mut data = match (ty.dtype, precision) {
        (DType::Bool, _) => Data::Bool(Vec::new()),
        (DType::Int, _) => Data::Int(Vec::new()),
        (DType::Num, Precision::F32) => Data::F32(Vec::new()),
        (DType::Num, Precision::F64) => Data::F64(Vec::new()),
    };
    for cell in cells {
        if let Some(value) = cell {
            append(&mut data, value);
            present.push(rows);
        }
        rows += 1;
    }
    let dims: Vec<usize> = [present.len()].iter().chain(ty.shape.dims()).copied().collect();
    with_absent(from_data(py, data, &dims)?, rows, (present.len() < rows).then_some(present))
}

/// Appends the elements of a value of the same type.
fn append(data: &mut Data, value: Value) {
    match (data, value) {
        (Data::Bool(all), Value::Bool(x)) => all.push(x),
        (Data::Int(all), Value::Int(x)) => all.push(x),
        (Data::F32(all), Value::F32(x)) => all.push(x),
        (Data::F64(all), Value::F64(x)) => all.push(x),
        (data, Value::Tensor(tensor)) => match (data, tensor.data()) {
            (Data::Bool(all), Data::Bool(v)) => all.extend_from_slice(v),
            (Data::Int(all), Data::Int(v)) => all.extend_from_slice(v),
            (Data::F32(all), Data::F32(v)) => all.extend_from_slice(v),
            (Data::F64(all), Data::F64(v)) => all.extend_from_slice(v),
            _ => {}
        },
        _ => {}
    }
}

/// The array, with masked rows if some are absent.
fn with_absent<'py>(
    array: Bound<'py, PyAny>,
    rows: usize,
    present: Option<Vec<usize>>,
) -> PyResult<Bound<'py, PyAny>> {
    match present {
        None => Ok(array),
        Some(present) => {
            let masked = array.py().import("rml._data")?.getattr("_masked")?;
            masked.call1((array, rows, present))
        }
    }
}

/// A table as a dict of arrays.
pub(crate) fn arrays(py: Python<'_>, columns: Columns) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (name, column) in columns.columns {
        let (rows, mut dims) = (column.rows(), column.shape.dims().to_vec());
        if let Some(first) = dims.first_mut() {
            *first = column.present_rows();
        }
        let data = match column.elements {
            Elements::Bool(v) => Data::Bool(v),
            Elements::Int(v) => Data::Int(v),
            Elements::F32(v) => Data::F32(v),
            Elements::F64(v) => Data::F64(v),
        };
        dict.set_item(name, with_absent(from_data(py, data, &dims)?, rows, column.present)?)?;
    }
    Ok(dict)
}
