//! Keyword arguments of callers: settings, engines, backends.

use std::path::PathBuf;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyTuple};
use rml::backend::{self, Runner};
use rml::{
    ColumnMapping, Dialect, Engine, Error, Format, Precision, Recipe, Settings, Source, StaticValue,
    Windowing,
};

use crate::error;

/// The deepest nesting of an array; deeper arrays are refused.
const MAX_DEPTH: usize = 16;

/// A source: `(path, None)`, or `(name, text)`.
pub(crate) fn source(name: PathBuf, text: Option<String>) -> Source {
    match text {
        None => Source::file(name),
        Some(text) => Source::text(name.display().to_string(), text),
    }
}

/// Settings from a dict of booleans, integers, numbers and lists of them.
pub(crate) fn settings(set: &Bound<'_, PyDict>) -> PyResult<Settings> {
    let one = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let name: String = name.extract()?;
        let value = setting(&value, 0).map_err(|why| {
            PyErr::new::<PyTypeError, _>(format!("the setting `{name}`: {}", why.value(set.py())))
        })?;
        Ok((name, value))
    };
    set.iter().map(one).collect()
}

fn setting(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<StaticValue> {
    if depth > MAX_DEPTH {
        return Err(PyValueError::new_err("the list is nested too deep"));
    }
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(StaticValue::Bool(truth.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(StaticValue::Int(value.extract()?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(StaticValue::Num(value.extract()?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| setting(&item?, depth + 1));
        return Ok(StaticValue::Array(items.collect::<PyResult<_>>()?));
    }
    // A scalar or an array of NumPy converts itself to Python values.
    if let Ok(plain) = value.call_method0("tolist") {
        return setting(&plain, depth + 1);
    }
    let found = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("expected bool, int, float or a list of them, found {found}")))
}

/// The values of a static parameter in several runs, from a list, a range or an array of them.
pub(crate) fn values(name: &str, values: &Bound<'_, PyAny>) -> PyResult<Vec<StaticValue>> {
    let one = |value: PyResult<Bound<'_, PyAny>>| {
        setting(&value?, 0).map_err(|why| {
            PyErr::new::<PyTypeError, _>(format!("a value of `{name}`: {}", why.value(values.py())))
        })
    };
    values.try_iter()?.map(one).collect()
}

/// A setting as a value of Python.
pub(crate) fn plain<'py>(py: Python<'py>, value: &StaticValue) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        StaticValue::Bool(truth) => PyBool::new(py, *truth).to_owned().into_any(),
        StaticValue::Int(n) => n.into_pyobject(py)?.into_any(),
        StaticValue::Num(x) => x.into_pyobject(py)?.into_any(),
        StaticValue::Array(items) => {
            let items = items.iter().map(|item| plain(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
    })
}

/// `"f32"` or `"f64"`.
pub(crate) fn precision(name: &str) -> PyResult<Precision> {
    match name {
        "f32" => Ok(Precision::F32),
        "f64" => Ok(Precision::F64),
        _ => Err(PyValueError::new_err(format!("the precision is \"f32\" or \"f64\", not {name:?}"))),
    }
}

/// How columns become inputs, in the form in which the package prepares it.
#[derive(FromPyObject, Clone)]
pub(crate) struct Reading {
    mapping: Option<PathBuf>,
    columns: Vec<String>,
    separator: Option<char>,
    decimal: Option<char>,
    thousands: Option<char>,
    missing: Option<Vec<String>>,
    header: Option<bool>,
    comment: Option<String>,
    format: Option<String>,
    classes: Vec<String>,
    fill: Vec<String>,
    standardise: Vec<String>,
    window: Option<usize>,
    stride: Option<usize>,
    group: Option<String>,
    time: Option<String>,
    gap: Option<String>,
    end: Option<String>,
    rest: Option<String>,
}

impl Reading {
    /// The recipe with these settings.
    pub(crate) fn recipe(&self, py: Python<'_>) -> PyResult<Recipe> {
        self.read().map_err(|e| error::raised(py, &e))
    }

    fn read(&self) -> Result<Recipe, Error> {
        let dialect = Dialect {
            separator: self.separator,
            decimal: self.decimal,
            thousands: self.thousands,
            missing: self.missing.clone(),
            header: self.header,
            comment: self.comment.clone(),
        };
        let given = Recipe {
            columns: ColumnMapping::parse(&self.columns)?,
            dialect,
            classes: Recipe::parse_classes(&self.classes)?,
            fills: Recipe::parse_fills(&self.fill)?,
            standardised: self.standardise.clone(),
            cut: self.cut()?,
        };
        let recipe = match &self.mapping {
            Some(file) => given.or(Recipe::read(file)?),
            None => given,
        };
        recipe.dialect.check()?;
        Ok(recipe)
    }

    /// How the rows of a long table become windows.
    fn cut(&self) -> Result<Windowing, Error> {
        let cut = Windowing {
            window: self.window,
            stride: self.stride,
            group: self.group.clone(),
            time: self.time.clone(),
            gap: self.gap.as_deref().map(Windowing::parse_gap).transpose()?,
            end: self.end.clone(),
            rest: self.rest.as_deref().map(Windowing::parse_rest).transpose()?,
        };
        Ok(cut)
    }

    /// The format of all files, if it is given.
    pub(crate) fn format(&self) -> PyResult<Option<Format>> {
        let Some(name) = self.format.as_deref() else { return Ok(None) };
        let found = FORMATS.iter().find(|(known, _)| *known == name).map(|(_, format)| *format);
        found.map(Some).ok_or_else(|| {
            let known = FORMATS.map(|(name, _)| format!("{name:?}")).join(", ");
            PyValueError::new_err(format!("the format of data is one of {known}, not {name:?}"))
        })
    }
}

const FORMATS: [(&str, Format); 7] = [
    ("csv", Format::Csv),
    ("json", Format::Json),
    ("jsonl", Format::JsonLines),
    ("npz", Format::Npz),
    ("npy", Format::Npy),
    ("arrow", Format::Arrow),
    ("parquet", Format::Parquet),
];

/// The engine, the backend and their settings, as a caller names them.
#[derive(FromPyObject, Clone)]
pub(crate) struct Computing {
    engine: String,
    backend: String,
    device: String,
    threads: Option<usize>,
}

impl Computing {
    /// The kind of engine.
    pub(crate) fn runner(&self) -> PyResult<Runner> {
        match self.engine.as_str() {
            "auto" => Ok(Runner::Auto),
            "sim" => Ok(Runner::Simulator),
            "plan" => Ok(Runner::Plan),
            other => {
                let what = format!("the engine is \"auto\", \"sim\" or \"plan\", not {other:?}");
                Err(PyValueError::new_err(what))
            }
        }
    }

    /// The engine, the backend and its device, by name.
    pub(crate) fn names(&self) -> (&str, &str, &str) {
        (&self.engine, &self.backend, &self.device)
    }

    /// The same, with this number of threads unless another one is given.
    pub(crate) fn with_threads(self, threads: usize) -> Self {
        Self { threads: self.threads.or(Some(threads)), ..self }
    }

    /// The engine, on its backend.
    ///
    /// # Errors
    /// As [`backend::open`].
    pub(crate) fn open(&self, runner: Runner) -> Result<Engine, Error> {
        let programs = backend::programs(&self.backend);
        let options = backend::Options { device: self.device.clone(), threads: self.threads, programs };
        backend::engine(runner, &self.backend, &options)
    }
}
