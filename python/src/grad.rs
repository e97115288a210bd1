//! Gradients of whole traces.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rml::{DType, GradOptions, InputInfo, Recipe, Type, Value};

use crate::columns::{Table, stacked};
use crate::options::Computing;
use crate::program::Program;
use crate::states::{parameters, states};
use crate::value::array;
use crate::{error, interruptible};

/// The output's name, its sum, and the derivatives by parameters and by inputs.
type Found<'py> = (String, Bound<'py, PyAny>, Bound<'py, PyDict>, Bound<'py, PyDict>);

/// The gradient of the sum of an output over a trace.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the keywords of Python's function")]
pub(crate) fn grad<'py>(
    py: Python<'py>,
    program: &Program,
    inputs: Table<'py>,
    loss: Option<String>,
    params: Option<&Bound<'py, PyAny>>,
    cycles: Option<usize>,
    allow_nan: bool,
    computing: Computing,
) -> PyResult<Found<'py>> {
    let precision = program.program.precision();
    let runner = computing.runner()?;
    let inputs = inputs.inputs(py, &Recipe::default(), &program.source, program.options.node.as_deref())?;
    let params = params.map(|p| parameters(p, precision, |_| DType::Num)).transpose()?;
    let (source, compile) = (program.source.clone(), program.options.clone());
    let found = interruptible(py, move |_| {
        let options = GradOptions { loss, params, cycles, allow_nan, engine: computing.open(runner)? };
        rml::grad(&source, &compile, &inputs, &options)
    })?;
    error::warn(py, &found.warnings, &found.sources)?;
    let by_params: Vec<(Arc<str>, Value)> =
        found.params.into_iter().map(|(key, value)| (Arc::from(key), value)).collect();
    let by_inputs = PyDict::new(py);
    for (name, cells) in found.inputs {
        let of = |i: &&InputInfo| *i.name == *name;
        let ty = program
            .program
            .inputs()
            .iter()
            .find(of)
            .map_or_else(|| Type::scalar(DType::Num), |i| i.ty.clone());
        by_inputs.set_item(&name, stacked(py, cells.into_iter(), &ty, precision)?)?;
    }
    Ok((found.output, array(py, found.loss)?, states(py, by_params)?, by_inputs))
}
