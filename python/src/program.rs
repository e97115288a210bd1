//! Programs.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rml::chronogram::{self, Rows};
use rml::ir::flat::Var;
use rml::{Cell, Checkpoint, Columns, DType, End, Options, Parameters, RunOptions, Source, Type};

use crate::columns::{Table, stacked};
use crate::options::{Computing, precision, settings, source};
use crate::session::Session;
use crate::states::parameters;
use crate::{error, interruptible, unlocked};

/// A program, with its source and options.
#[pyclass(frozen, module = "rml._native")]
pub(crate) struct Program {
    pub(crate) source: Source,
    pub(crate) options: Options,
    pub(crate) program: rml::Program,
}

/// An input or output: name, element type, dimensions, clock (the name of the condition and its value), whether it is
/// stacked, and the names of its values.
type Port = (String, &'static str, Vec<usize>, Option<(String, bool)>, bool, Vec<String>);

fn port(program: &rml::Program, v: Var, ty: &Type, clock: Option<(String, bool)>, batched: bool) -> Port {
    let data = &program.flat().vars[v];
    let cases = data.cases.iter().flat_map(|cases| cases.iter()).map(ToString::to_string).collect();
    let name = data.name.as_ref().map_or_else(|| v.to_string(), ToString::to_string);
    (name, dtype(ty.dtype), ty.shape.dims().to_vec(), clock, batched, cases)
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

/// The backends: name, whether this build can open it, and its devices or why it does not open.
#[pyfunction]
pub(crate) fn backends(py: Python<'_>) -> Vec<(String, bool, Devices)> {
    let list = py.detach(rml::backend::list);
    let devices = |about: Result<rml::backend::About, rml::Error>| match about {
        Ok(about) => (about.devices, None),
        Err(why) => (Vec::new(), Some(why.to_string())),
    };
    list.into_iter().map(|info| (info.name.to_owned(), info.built_in, devices(info.about))).collect()
}

/// Devices, or why there are none.
type Devices = (Vec<String>, Option<String>);

impl Program {
    /// The inputs and the states of a run. Files are read like the data of the training of the states.
    fn given(
        &self,
        py: Python<'_>,
        inputs: Table<'_>,
        params: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Columns, Option<Parameters>)> {
        let params = params.map(|p| parameters(p, self.program.precision(), |_| DType::Num)).transpose()?;
        let checkpoint = params.map(|params| unlocked(py, || params.checkpoint())).transpose()?;
        let recipe = checkpoint.as_ref().map(Checkpoint::preparation).unwrap_or_default().recipe();
        let inputs = inputs.inputs(py, &recipe, &self.source, self.options.node.as_deref())?;
        Ok((inputs, checkpoint.map(Into::into)))
    }
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
        let inputs = self.program.inputs().iter().zip(&self.program.flat().inputs);
        inputs.map(|(i, at)| port(&self.program, at.var, &i.ty, clock(i), i.batched)).collect()
    }

    #[getter]
    fn outputs(&self) -> Vec<Port> {
        let outputs = self.program.outputs().iter().zip(&self.program.flat().outputs);
        outputs.map(|(o, v)| port(&self.program, *v, &o.ty, None, false)).collect()
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

    /// The text that was compiled.
    fn text(&self) -> &str {
        let (sources, name) = (self.program.sources(), self.source.name());
        sources.ids().find(|file| sources.name(*file) == name).map_or("", |file| sources.text(file))
    }

    /// All verdicts as JSON, the verdicts in words, and the findings as text.
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

    /// Runs a whole trace, and returns the columns of the outputs.
    #[allow(clippy::too_many_arguments, reason = "the keywords of Python's method")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: Table<'py>,
        params: Option<&Bound<'py, PyAny>>,
        cycles: Option<usize>,
        closed: bool,
        allow_nan: bool,
        computing: Computing,
    ) -> PyResult<Bound<'py, PyDict>> {
        let runner = computing.runner()?;
        let (inputs, params) = self.given(py, inputs, params)?;
        let end = if closed { End::Closed } else { End::Open };
        let program = self.program.clone();
        let trace = interruptible(py, move |_| {
            let engine = computing.open(runner)?;
            let options = RunOptions { cycles, end, params, allow_nan, engine, ..RunOptions::default() };
            rml::run(&program, &inputs, &options)
        })?;
        if let Some(why) = &trace.error {
            return Err(error::raised(py, why));
        }
        error::warn(py, &trace.warnings, self.program.sources())?;
        let columns = PyDict::new(py);
        for (info, cells) in self.program.outputs().iter().zip(trace.values.into_values()) {
            let value = |cell: Cell| if let Cell::Value(value) = cell { Some(value) } else { None };
            let cells = cells.into_iter().map(value);
            columns.set_item(&*info.name, stacked(py, cells, &info.ty, self.program.precision())?)?;
        }
        Ok(columns)
    }

    /// Draws a whole trace as text and as SVG.
    fn trace(
        &self,
        py: Python<'_>,
        inputs: Table<'_>,
        params: Option<&Bound<'_, PyAny>>,
        cycles: Option<usize>,
        closed: bool,
        rows: &str,
    ) -> PyResult<(String, String)> {
        let rows = match rows {
            "all" => Rows::All,
            "node" => Rows::Node,
            "outputs" => Rows::Outputs,
            "expressions" => Rows::Expressions,
            other => {
                let what =
                    format!(r#"the rows are "all", "node", "outputs" or "expressions", not {other:?}"#);
                return Err(PyValueError::new_err(what));
            }
        };
        let (inputs, params) = self.given(py, inputs, params)?;
        let end = if closed { End::Closed } else { End::Open };
        let (drawn, text, svg) = unlocked(py, || {
            let program = rml::compile(&self.source, &Options { all_vars: true, ..self.options.clone() })?;
            let options = RunOptions { cycles, end, params, ..RunOptions::default() };
            let drawn = chronogram::draw(&program, &inputs, &options, rows)?;
            let (text, svg) = (drawn.chronogram.to_text(None), drawn.chronogram.to_svg());
            Ok((drawn, text, svg))
        })?;
        if let Some(why) = &drawn.error {
            return Err(error::raised(py, why));
        }
        error::warn(py, &drawn.warnings, self.program.sources())?;
        Ok((text, svg))
    }

    /// Starts the program; for another seed it is compiled again.
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
