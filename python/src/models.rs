//! Models of other tools as programs.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rml::{Fixed, ModelOptions, Precision, StateOption};

use crate::program::named_precision;
use crate::states::states;
use crate::{Named, unlocked};

/// A program, its mapping, its parameters, and the names in the model of inputs, outputs and states.
type Model<'py> = (String, String, Bound<'py, PyDict>, Named<String>, Named<String>, Named<String>);

/// Imports an ONNX model, and writes its files if a folder is given.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the keywords of Python's function")]
pub(crate) fn import_onnx<'py>(
    py: Python<'py>,
    path: PathBuf,
    node: String,
    dims: Named<usize>,
    set: Named<Vec<f64>>,
    pairs: Option<Named<String>>,
    #[pyo3(from_py_with = named_precision)] precision: Precision,
    out: Option<(PathBuf, Option<String>)>,
) -> PyResult<Model<'py>> {
    let chosen = match pairs {
        None => StateOption::Found,
        Some(pairs) if pairs.is_empty() => StateOption::None,
        Some(pairs) => StateOption::Given(pairs),
    };
    let fixed = set.into_iter().map(|(name, v)| (name, Fixed(v))).collect();
    let f64 = precision == Precision::F64;
    let options = ModelOptions { node, dims: dims.into_iter().collect(), fixed, states: chosen, f64 };
    let model = unlocked(py, || {
        let model = rml::import_model(&path, &options)?;
        if let Some((folder, name)) = &out {
            model.write(&path, folder, name.as_deref())?;
        }
        Ok(model)
    })?;
    let params = states(py, model.checkpoint.states)?;
    Ok((model.program, model.mapping, params, model.inputs, model.outputs, model.states))
}
