//! Parameters and other states by path: from dicts and checkpoint files, and as dicts.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rml::{Checkpoint, DType, Parameters, Precision, Preparation, Value};

use crate::error;
use crate::value::{Array, array};

/// A dict of arrays, or the path of a checkpoint. `dtype` returns the element type of the state with a path.
pub(crate) fn parameters(
    given: &Bound<'_, PyAny>,
    precision: Precision,
    dtype: impl Fn(&str) -> DType,
) -> PyResult<Parameters> {
    let Ok(dict) = given.cast::<PyDict>() else { return Ok(Parameters::File(given.extract()?)) };
    Ok(checkpoint(dict, precision, dtype)?.prepared(preparation(given)?).into())
}

fn checkpoint(
    states: &Bound<'_, PyDict>,
    precision: Precision,
    dtype: impl Fn(&str) -> DType,
) -> PyResult<Checkpoint> {
    let one = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let key: String = key.extract()?;
        let array = Array::read(&format!("state `{key}`"), &value, dtype(&key))?;
        Ok((Arc::from(key), array.value(precision)))
    };
    let mut states = states.iter().map(one).collect::<PyResult<Vec<(Arc<str>, Value)>>>()?;
    states.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(Checkpoint::of_states(states.into_iter().collect()))
}

/// The preparation of the training data that the states record.
pub(crate) fn preparation(states: &Bound<'_, PyAny>) -> PyResult<Preparation> {
    match states.getattr_opt("preparation")? {
        Some(text) if text.is_truthy()? => {
            Preparation::of_text(&text.extract::<String>()?).map_err(|e| error::raised(states.py(), &e))
        }
        _ => Ok(Preparation::default()),
    }
}

/// States as a dict of arrays that also records the preparation of their training data.
pub(crate) fn prepared<'py>(
    states: Bound<'py, PyDict>,
    preparation: &Preparation,
) -> PyResult<Bound<'py, PyAny>> {
    let class = states.py().import("rml._data")?.getattr("States")?;
    let text = if preparation.is_empty() { String::new() } else { preparation.to_text() };
    class.call1((states, text))
}

/// States as a dict of arrays.
pub(crate) fn states<'py>(
    py: Python<'py>,
    states: impl IntoIterator<Item = (Arc<str>, Value)>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in states {
        dict.set_item(&*key, array(py, value)?)?;
    }
    Ok(dict)
}
