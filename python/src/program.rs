//! Programs.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rml::{DType, Options, Source, Type};

use crate::options::{Computing, precision, settings, source};
use crate::session::Session;
use crate::{error, unlocked};

/// A program, with what it was compiled from.
#[pyclass(frozen, module = "rml._native")]
pub(crate) struct Program {
    pub(crate) source: Source,
    pub(crate) options: Options,
    pub(crate) program: rml::Program,
}

/// What an input or output is: name, element type, dimensions, clock (a name and which value of it), whether it is stacked.
type Port = (String, &'static str, Vec<usize>, Option<(String, bool)>, bool);

fn port(name: &str, ty: &Type, clock: Option<(String, bool)>, batched: bool) -> Port {
    (name.to_owned(), dtype(ty.dtype), ty.shape.dims().to_vec(), clock, batched)
}

/// The language's word for an element type.
pub(crate) fn dtype(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "bool",
        DType::Int => "int",
        DType::Num => "num",
    }
}

/// Compiles a node of a source.
#[pyfunction]
#[pyo3(signature = (name, text, node, set, batch, precision, seed))]
#[allow(clippy::too_many_arguments, reason = "the keywords of Python's function")]
pub(crate) fn compile(
    py: Python<'_>,
    name: PathBuf,
    text: Option<String>,
    node: Option<String>,
    set: &Bound<'_, PyDict>,
    batch: Option<usize>,
    #[pyo3(from_py_with = named_precision)] precision: rml::Precision,
    seed: u64,
) -> PyResult<Program> {
    let source = source(name, text);
    let options = Options { node, set: settings(set)?, batch, precision, seed, ..Options::default() };
    let program = unlocked(py, || rml::compile(&source, &options))?;
    error::warn(py, program.warnings(), program.sources())?;
    Ok(Program { source, options, program })
}

pub(crate) fn named_precision(name: &Bound<'_, PyAny>) -> PyResult<rml::Precision> {
    precision(&name.extract::<String>()?)
}

#[pymethods]
impl Program {
    #[getter]
    fn node(&self) -> &str {
        self.program.node()
    }

    #[getter]
    fn inputs(&self) -> Vec<Port> {
        let clock = |i: &rml::InputInfo| i.clock.as_ref().map(|(name, flag)| (name.to_string(), *flag));
        self.program.inputs().iter().map(|i| port(&i.name, &i.ty, clock(i), i.batched)).collect()
    }

    #[getter]
    fn outputs(&self) -> Vec<Port> {
        self.program.outputs().iter().map(|o| port(&o.name, &o.ty, None, false)).collect()
    }

    /// The paths of the parameters, with their dimensions.
    #[getter]
    fn parameters(&self) -> Vec<(String, Vec<usize>)> {
        let flat = self.program.flat();
        let parameters = flat.states.iter().filter(|(_, state)| state.parameter);
        let shape = |state: &rml::ir::flat::State| {
            flat.vars[flat.equations[state.equation].lhs].ty.shape.dims().to_vec()
        };
        parameters.map(|(key, state)| (key.to_string(), shape(state))).collect()
    }

    /// The program's text.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        unlocked(py, || self.source.read())
    }

    /// JSON of all verdicts, the verdicts in words, and the findings drawn.
    fn check(&self, py: Python<'_>) -> PyResult<(String, String, String)> {
        let report = py.detach(|| rml::check_report(&self.source, &self.options));
        let json = rml_render::verdict::json(&report).to_string();
        let summary = rml_render::verdict::summary(&report, &self.source.name());
        Ok((json, summary, rml_render::human(&report.findings, &report.sources, false)))
    }

    /// The adjoint of a node as text.
    fn diff(&self, py: Python<'_>, node: &str) -> PyResult<String> {
        unlocked(py, || rml::differentiate(&self.source, &self.options, node))
    }

    /// Starts the program; with another seed it is compiled anew.
    fn session(&self, py: Python<'_>, seed: Option<u64>, computing: Computing) -> PyResult<Session> {
        let runner = computing.runner()?;
        let session = unlocked(py, || {
            let engine = computing.open(runner)?;
            match seed.filter(|seed| *seed != self.options.seed) {
                None => rml::Session::on(&self.program, &engine),
                Some(seed) => {
                    let options = Options { seed, ..self.options.clone() };
                    rml::Session::on(&rml::compile(&self.source, &options)?, &engine)
                }
            }
        })?;
        Ok(Session::new(session))
    }
}
