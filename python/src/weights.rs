//! Checkpoint files, and parameters from and to the tensors of other libraries.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rml::{Checkpoint, DType, ExportOptions, FileTensor, Mapping, Stored, TensorFile, Value};

use crate::program::Program;
use crate::states::{parameters, preparation, prepared, states};
use crate::value::{Array, from_data};
use crate::{error, unlocked};

/// The states in a checkpoint file.
#[pyfunction]
pub(crate) fn read_checkpoint(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyAny>> {
    let read = unlocked(py, || Ok(Checkpoint::read(&path)?.by_prefix()?))?;
    let preparation = read.preparation();
    prepared(states(py, read.states)?, &preparation)
}

/// Writes states to a checkpoint file; arrays keep their precision.
#[pyfunction]
pub(crate) fn write_checkpoint(py: Python<'_>, path: PathBuf, given: &Bound<'_, PyDict>) -> PyResult<()> {
    let mut held = Vec::new();
    for (key, value) in given {
        let key: String = key.extract()?;
        let array = Array::read(&format!("state `{key}`"), &value, DType::Int)?;
        held.push((Arc::from(key), Value::new(rml::Shape::new(&array.dims), array.data)));
    }
    held.sort_by(|a: &(Arc<str>, Value), b| a.0.cmp(&b.0));
    let checkpoint = Checkpoint::of_states(held.into_iter().collect()).prepared(preparation(given)?);
    unlocked(py, || checkpoint.write(&path))
}

/// A mapping: the path of a file, or `(name, text)`.
#[derive(FromPyObject)]
pub(crate) enum Map {
    #[pyo3(transparent)]
    Text((String, String)),
    #[pyo3(transparent)]
    File(PathBuf),
}

impl Map {
    fn read(&self) -> Result<Mapping, rml::Error> {
        match self {
            Map::Text((name, text)) => Ok(Mapping::text(name.clone(), text.clone())),
            Map::File(path) => Mapping::read(path),
        }
    }
}

/// Tensors of another library: the path of a file, or a dict of arrays.
fn tensors(given: &Bound<'_, PyAny>) -> PyResult<TensorFile> {
    let py = given.py();
    let Ok(dict) = given.cast::<PyDict>() else {
        let path: PathBuf = given.extract()?;
        return unlocked(py, || TensorFile::read(&path));
    };
    let mut file = TensorFile::default();
    for (name, value) in dict {
        let name: String = name.extract()?;
        let Array { dims, data } = Array::read(&format!("tensor `{name}`"), &value, DType::Int)?;
        let stored = match data {
            rml::Data::Bool(_) => Stored::Bool,
            rml::Data::Int(_) => Stored::I64,
            rml::Data::F32(_) => Stored::F32,
            rml::Data::F64(_) => Stored::F64,
        };
        file.tensors.insert(name, FileTensor { stored, shape: rml::Shape::new(&dims), data });
    }
    Ok(file)
}

/// The parameters of a program from the tensors of another library.
#[pyfunction]
pub(crate) fn import_weights<'py>(
    py: Python<'py>,
    program: &Program,
    weights: &Bound<'py, PyAny>,
    mapping: Map,
) -> PyResult<Bound<'py, PyDict>> {
    let weights = tensors(weights)?;
    let imported =
        unlocked(py, || rml::import_params(&program.source, &program.options, &weights, &mapping.read()?))?;
    error::warn(py, &imported.warnings, &imported.sources)?;
    states(py, imported.checkpoint.states)
}

/// The tensors of another library from the parameters of a program.
#[pyfunction]
pub(crate) fn export_weights<'py>(
    py: Python<'py>,
    program: &Program,
    params: &Bound<'py, PyAny>,
    mapping: Map,
    like: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let params = parameters(params, program.program.precision(), |_| DType::Num)?;
    let export = ExportOptions { like: like.map(tensors).transpose()?, stored: None };
    let file = unlocked(py, || {
        let checkpoint = params.checkpoint()?;
        rml::export_params(&program.source, &program.options, &checkpoint, &mapping.read()?, &export)
    })?;
    let dict = PyDict::new(py);
    for (name, tensor) in file.tensors {
        dict.set_item(name, from_data(py, tensor.data, tensor.shape.dims())?)?;
    }
    Ok(dict)
}
