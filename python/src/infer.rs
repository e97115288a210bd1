//! Inference over data.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rml::{Checkpoint, Classes, Confusion, DType, InferOptions, Precision, Split};

use crate::columns::{How, Table, arrays};
use crate::options::{Computing, Reading, precision, settings, source};
use crate::states::parameters;
use crate::{Named, error, interruptible, unlocked};

/// The options of an inference, from the attributes of a Python object.
#[derive(FromPyObject)]
pub(crate) struct Asked<'py> {
    name: PathBuf,
    text: Option<String>,
    node: String,
    params: Option<Bound<'py, PyAny>>,
    set: Bound<'py, PyDict>,
    batch: Option<usize>,
    precision: Option<String>,
    split: String,
    outputs: bool,
    fresh: bool,
    unscale: bool,
    allow_nan: bool,
    on_disk: bool,
    /// The pair of the confusion matrix: the label and the prediction, or an empty list for the usual pair.
    confusion: Option<Vec<String>>,
    reading: Reading,
    computing: Computing,
}

/// A confusion matrix: the label and the prediction, the counts, the names of the classes, the number of others, and a
/// table.
pub(crate) type Matrix = (String, String, Vec<Vec<u64>>, Vec<String>, u64, String);

/// The windows that were run, their number, the metrics, the outputs, the names of values, the confusion matrix.
type Found<'py> =
    (&'static str, usize, Named<f64>, Option<Bound<'py, PyDict>>, Named<Vec<String>>, Option<Matrix>);

const SPLITS: [(&str, Split); 5] = [
    ("auto", Split::Auto),
    ("test", Split::Test),
    ("train", Split::Train),
    ("validation", Split::Validation),
    ("all", Split::All),
];

fn split(name: &str) -> PyResult<Split> {
    SPLITS.iter().find(|(known, _)| *known == name).map(|(_, split)| *split).ok_or_else(|| {
        let known = SPLITS.map(|(name, _)| format!("{name:?}")).join(", ");
        PyValueError::new_err(format!("the split is one of {known}, not {name:?}"))
    })
}

pub(crate) fn classes(asked: Option<Vec<String>>) -> PyResult<Classes> {
    match asked.as_deref() {
        None => Ok(Classes::Nothing),
        Some([]) => Ok(Classes::Usual),
        Some([label, found]) => Ok(Classes::Named { label: label.clone(), found: found.clone() }),
        Some(names) => {
            let found = names.join(", ");
            Err(PyValueError::new_err(format!("`confusion` is a label and what is found, not {found}")))
        }
    }
}

/// The parts of a confusion matrix.
pub(crate) fn matrix(confusion: Confusion) -> Matrix {
    let text = confusion.text();
    let Confusion { label, found, of: _, counts, names, others } = confusion;
    (label, found, counts, names, others, text)
}

/// Runs a node over data.
#[pyfunction]
pub(crate) fn infer<'py>(py: Python<'py>, data: Table<'py>, asked: Asked<'py>) -> PyResult<Found<'py>> {
    let source = source(asked.name, asked.text);
    let runner = asked.computing.runner()?;
    let precision = asked.precision.as_deref().map(precision).transpose()?;
    let params = |p: Bound<'py, PyAny>| parameters(&p, precision.unwrap_or(Precision::F32), |_| DType::Num);
    let checkpoint = asked.params.map(params).transpose()?;
    let checkpoint = checkpoint.map(|params| unlocked(py, || params.checkpoint())).transpose()?;
    let recorded = checkpoint.as_ref().map(Checkpoint::preparation).unwrap_or_default();
    let recipe = asked.reading.recipe(py)?;
    recipe.check_prepared_as(&recorded.asked).map_err(|d| error::raised(py, &d.into()))?;
    let (cut, recipe) = (recipe.cut.clone(), recipe.or_read_as(recorded.recipe()));
    let how = How { on_disk: asked.on_disk, format: asked.reading.format()?, recipe };
    let data = data.dataset(py, &how, &source, Some(&asked.node))?;
    let options = InferOptions {
        node: asked.node,
        params: checkpoint.map(Into::into),
        set: settings(&asked.set)?,
        batch: asked.batch,
        precision,
        split: split(&asked.split)?,
        allow_nan: asked.allow_nan,
        cut,
        keep_outputs: asked.outputs,
        unscale: asked.unscale,
        fresh: asked.fresh,
        classes: classes(asked.confusion)?,
        ..InferOptions::default()
    };
    let computing = asked.computing;
    let report = interruptible(py, move |interrupt| {
        let interrupt = Some(Arc::clone(interrupt));
        let options = InferOptions { engine: computing.open(runner)?, interrupt, ..options };
        rml::infer(&source, &*data, &options)
    })?;
    error::warn(py, &report.warnings, &report.sources)?;
    let name = SPLITS.iter().find(|(_, split)| *split == report.split).map_or("all", |(name, _)| name);
    let outputs = report.outputs.map(|outputs| arrays(py, outputs)).transpose()?;
    let texts = |names: &[Arc<str>]| -> Vec<String> { names.iter().map(ToString::to_string).collect() };
    let names = report.names.into_iter().map(|(port, names)| (port, texts(&names))).collect();
    let matrix = report.confusion.map(matrix);
    Ok((name, report.windows, report.metrics.into_iter().collect(), outputs, names, matrix))
}
