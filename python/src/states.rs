//! Parameters and other states by path: from dicts and checkpoint files, and as dicts.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rml::{Checkpoint, DType, Parameters, Precision, Value};

use crate::value::{Array, array};

/// A dict of arrays, or the path of a checkpoint. `dtype` says what a state of that path holds.
pub(crate) fn parameters(
    given: &Bound<'_, PyAny>,
    precision: Precision,
    dtype: impl Fn(&str) -> DType,
) -> PyResult<Parameters> {
    let Ok(dict) = given.cast::<PyDict>() else { return Ok(Parameters::File(given.extract()?)) };
    Ok(checkpoint(dict, precision, dtype)?.into())
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
