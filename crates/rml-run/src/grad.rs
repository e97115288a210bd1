//! Gradients of whole traces: of the sum of an output, with respect to every parameter and every num input. They are
//! checked against finite differences.
//!
//! The node's adjoint runs over the closed trace with `bp` always true, and parameters are never updated: every read of
//! a parameter sees the same value, as if the whole trace were one window. The program's `diff_param` is not used.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::run::ZERO_GRADIENT;
use rml_base::codes::sim;
use rml_base::{Diagnostic, Diagnostics, Error, Sources, memory};
use rml_data::{Columns, Preparation};
use rml_driver::{Differentiable, Options, Program, Source, differentiable};
use rml_engine::{Block, BlockColumn, CycleRow, End, Feeding, Present, Status, Use};
use rml_ir::{Data, Precision, Shape, Type, Value};

use crate::checkpoint;
use crate::checkpoint::{Checkpoint, Parameters};
use crate::engines::Engine;
use crate::session::Session;
use crate::trace::{RunOptions, Table};

pub(crate) mod check;
mod show;

/// The output to differentiate, and the run.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node f(x: num []) -> (o)  k = param(2.0);  o = k * x * x;";
/// # let source = rml::Source::text("f.rml", text);
/// # let options = rml::Options::default();
/// # let inputs = rml::Columns::parse(b"x\n1\n3\n", rml::Format::Csv, "inputs.csv")?;
/// use rml::GradOptions;
///
/// let grad = GradOptions { loss: Some("o".to_owned()), ..GradOptions::default() };
/// let found = rml::grad(&source, &options, &inputs, &grad)?;
/// assert_eq!(found.params["k"].as_num(), Some(10.0));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct GradOptions {
    /// The output whose sum over all cycles and elements is differentiated; `None` = the node's only num output.
    pub loss: Option<String>,
    /// The parameters; `None` = their initial values.
    pub params: Option<Parameters>,
    /// The number of cycles; `None` = that of the inputs.
    pub cycles: Option<usize>,
    /// Whether NaN is accepted in the inputs.
    pub allow_nan: bool,
    /// The engine that runs the program.
    pub engine: Engine,
}

/// A sum and its gradient.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node f(x: num []) -> (o)  k = param(2.0);  o = k * x * x;";
/// # let source = rml::Source::text("f.rml", text);
/// # let options = rml::Options::default();
/// # let inputs = rml::Columns::parse(b"x\n1\n3\n", rml::Format::Csv, "inputs.csv")?;
/// let found = rml::grad(&source, &options, &inputs, &rml::GradOptions::default())?;
/// assert_eq!(found.loss.as_num(), Some(20.0));
/// assert_eq!(found.inputs["x"][1].as_ref().and_then(|dx| dx.as_num()), Some(12.0));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Gradients {
    /// The sum of the output over the cycles where it is present, and over its elements.
    pub loss: Value,
    /// The derivative by each parameter, by checkpoint key, summed over its uses and cycles, in the parameter's shape.
    pub params: IndexMap<String, Value>,
    /// The derivative by each num input, one per cycle, in the input's shape; `None` = the input is absent.
    pub inputs: IndexMap<String, Vec<Option<Value>>>,
    /// The output that was summed.
    pub output: String,
    /// The number of cycles.
    pub cycles: usize,
    /// Findings that did not stop the run.
    pub warnings: Diagnostics,
    /// The texts that the findings point into.
    pub sources: Arc<Sources>,
}

/// The gradient of the sum of an output of node [`Options::node`] over a closed trace. These are derivatives, not the
/// values that an optimiser gets: they have no learning rate, and the usual sign.
///
/// Parameters that the node itself trains (by calling adjoints) are constant: the gradient of a training step's loss is
/// the gradient of this loss.
///
/// # Errors
/// A program or inputs that do not fit; no such output, or an output without a gradient; an output that is undetermined
/// at the end of the trace; errors during the run.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// let source = rml::Source::text("line.rml", "
/// node line(x: num []) -> (o: num [])
///   k = param(2.0);
///   o = k * x * x;
/// ");
/// let inputs = rml::Columns::parse(br#"{"x": [1.0, null, 3.0]}"#, rml::Format::Json, "inputs")?;
/// let found = rml::grad(&source, &rml::Options::default(), &inputs, &rml::GradOptions::default())?;
/// assert_eq!(found.loss.as_num(), Some(20.0));
/// assert_eq!(found.params["k"].as_num(), Some(10.0));
/// assert_eq!(found.inputs["x"][2].as_ref().and_then(rml::Value::as_num), Some(12.0));
/// assert!(found.inputs["x"][1].is_none());
/// # Ok(()) }
/// ```
pub fn grad(
    source: &Source,
    options: &Options,
    inputs: &Columns,
    grad: &GradOptions,
) -> Result<Gradients, Error> {
    let start = Start::new(grad)?;
    let compiled = differentiable(source, &start.settings(options), grad.loss.as_deref())?;
    let given = Given::new(&compiled.backward, inputs, grad, &start)?;
    let mut found = gradients(&compiled, &given, &start)?;
    found.warnings.extend(start.changed(options, &compiled.backward));
    found.warnings.extend(found.without_gradient());
    Ok(found)
}

impl Gradients {
    /// The warning that all derivatives are 0.
    fn without_gradient(&self) -> Option<Diagnostic> {
        let inputs = self.inputs.values().flatten().flatten();
        let all = self.params.values().chain(inputs);
        let is_zero = all.clone().all(|value| numbers(value).iter().all(|x| *x == 0.0));
        if !is_zero || all.count() == 0 {
            return None;
        }
        let what = format!("all derivatives of `{}` are 0", self.output);
        Some(
            Diagnostic::warning(ZERO_GRADIENT, what)
                .note("comparisons, `argmax`, `floor`, `to_num` of an int or bool, and `stop_gradient` let no gradient pass")
                .help("differentiate an output that changes with the parameters, such as the loss: `--loss loss`"),
        )
    }
}

/// The parameters that a run starts with, and its engine.
struct Start {
    checkpoint: Option<Checkpoint>,
    engine: Engine,
}

impl Start {
    fn new(grad: &GradOptions) -> Result<Self, Error> {
        let checkpoint = grad.params.as_ref().map(Parameters::checkpoint).transpose()?;
        Ok(Self { checkpoint, engine: grad.engine.clone() })
    }

    /// The options, with the static parameters of the checkpoint's training.
    fn settings(&self, options: &Options) -> Options {
        let options = options.clone();
        self.checkpoint.as_ref().map_or(options.clone(), |checkpoint| checkpoint.settings(options))
    }

    /// Warnings about differences from the training of the checkpoint.
    fn changed(&self, options: &Options, program: &Program) -> Vec<Diagnostic> {
        let position = self.checkpoint.as_ref().and_then(|c| c.position.as_ref());
        checkpoint::changed(position, &options.set)
            .into_iter()
            .chain(self.checkpoint.as_ref().and_then(|checkpoint| checkpoint.unprepared(program)))
            .collect()
    }

    /// A session with the parameters of the checkpoint; all other states start from their initial values.
    fn session(&self, program: &Program) -> Result<Session, Error> {
        let wish = Use::new(Feeding::Windows { cycles: None });
        let mut session = Session::open(program, &self.engine, &wish)?;
        let Some(checkpoint) = &self.checkpoint else { return Ok(session) };
        for (key, value) in &checkpoint.parameters(program).map_err(|d| session.fail(d))?.states {
            session.set_state(key, value)?;
        }
        Ok(session)
    }
}

/// The inputs over all cycles.
struct Given {
    cycles: usize,
    inputs: Vec<Sequence>,
}

/// An input over all cycles.
struct Sequence {
    /// In which cycles it is present.
    present: Present,
    /// The values of the input in these cycles, stacked.
    values: Value,
}

impl Given {
    fn new(program: &Program, inputs: &Columns, grad: &GradOptions, start: &Start) -> Result<Self, Error> {
        let options = RunOptions { cycles: grad.cycles, allow_nan: grad.allow_nan, ..RunOptions::default() };
        // Values stay as they are; only names of classes become their numbers.
        let mut preparation = Preparation::default();
        if let Some(checkpoint) = &start.checkpoint {
            preparation.classes = checkpoint.preparation().classes;
        }
        let table = Table::new(program, inputs, &options, preparation);
        let table = table.map_err(|d| program.error(d))?;
        let each = program.outputs().len() * size_of::<Status>() + size_of::<CycleRow>();
        let given: u64 = program.inputs().iter().map(|i| i.ty.bytes(program.precision())).sum();
        let bytes =
            memory::bytes_of(table.cycles, each).saturating_add(given.saturating_mul(table.cycles as u64));
        memory::ask(bytes).map_err(|short| {
            let d = short.diagnostic(format!("a gradient over {} cycles", table.cycles));
            Error::from(d.help("run fewer cycles (`--cycles`)"))
        })?;
        let inputs = (0..program.inputs().len()).map(|i| {
            let (present, values) = table.column(i, 0..table.cycles);
            Sequence { present, values }
        });
        Ok(Self { cycles: table.cycles, inputs: inputs.collect() })
    }

    /// The inputs as one block with all cycles.
    fn block(&self) -> Block {
        let column = |s: &Sequence| BlockColumn::new(s.present.clone(), s.values.clone());
        Block::new(self.cycles, self.inputs.iter().map(column).collect())
    }
}

fn gradients(compiled: &Differentiable, given: &Given, start: &Start) -> Result<Gradients, Error> {
    let program = &compiled.backward;
    let rows = run(program, given, start, &[])?;
    let precision = program.precision();
    let num = |x: f64| Value::num(x, precision);
    let mut params = IndexMap::new();
    for (key, (ty, at)) in &compiled.params {
        let shape = &ty.shape;
        ask_for_gradient(ty, key, program)?;
        let total = at.map_or_else(|| vec![0.0; shape.len()], |at| total(&rows, at, shape));
        let total = Value::new(shape.clone(), Data::F64(total)).to_precision(precision);
        params.insert(key.to_string(), total);
    }
    let mut inputs = IndexMap::new();
    for (k, info) in program.inputs().iter().enumerate().filter(|(_, info)| info.ty.is_num()) {
        let mut zeros: Option<Value> = None;
        let cell = |(n, row): (usize, &CycleRow)| {
            given.inputs[k].present.at(n).then(|| match compiled.inputs[k].map(|at| &row.values[at]) {
                Some(Status::Value(v)) => v.clone(),
                // One value is shared by all cycles; it is as large as the input.
                _ => zeros.get_or_insert_with(|| Value::zeros(&info.ty, precision)).clone(),
            })
        };
        inputs.insert(info.name.to_string(), rows.iter().enumerate().map(cell).collect());
    }
    Ok(Gradients {
        loss: num(total(&rows, 0, &Shape::scalar())[0]),
        params,
        inputs,
        output: compiled.loss.clone(),
        cycles: given.cycles,
        warnings: program.warnings().clone(),
        sources: Arc::clone(program.sources()),
    })
}

/// Requests memory for a parameter's gradient twice: in double precision, and in that of the program.
fn ask_for_gradient(ty: &Type, key: &str, program: &Program) -> Result<(), Error> {
    memory::ask(ty.bytes(Precision::F64).saturating_mul(2)).map_err(|short| {
        let d = short.diagnostic(format!("the gradient of parameter `{key}`, {ty},"));
        program.error(d)
    })
}

/// All rows of outputs of a closed trace. `params` are set after the parameters of the checkpoint.
fn run(
    program: &Program,
    given: &Given,
    start: &Start,
    params: &[(&str, Value)],
) -> Result<Vec<CycleRow>, Error> {
    let mut session = start.session(program)?;
    for (key, value) in params {
        session.set_state(key, value)?;
    }
    session.feed_block(&given.block())?;
    session.end(End::Closed)?;
    let rows = session.drain_rows()?;
    let unknown = |row: &&CycleRow| row.values.iter().any(|s| !s.is_determined());
    if rows.len() == given.cycles && !rows.iter().any(|row| unknown(&row)) {
        return Ok(rows);
    }
    let why = session.undetermined_outputs().map(|u| u.report).unwrap_or_else(|| {
        let cycle = rows.iter().find(unknown).map_or(rows.len() as u64, |row| row.cycle);
        Diagnostic::error(sim::DEADLOCK, format!("cycle {cycle} is not determined"))
    });
    let why = why
        .note("a sum has a gradient only where everything that is summed is determined")
        .help("end the trace where its last value is known, or sample the output where it is");
    Err(session.fail(Diagnostic { severity: rml_base::Severity::Error, ..why }))
}

/// The sum of an output over the cycles where it is present, in this shape: if the shape is scalar, also over the
/// elements.
fn total(rows: &[CycleRow], at: usize, shape: &Shape) -> Vec<f64> {
    let mut sum = vec![0.0; shape.len()];
    for row in rows {
        let Status::Value(value) = &row.values[at] else { continue };
        for (k, x) in numbers(value).into_iter().enumerate() {
            sum[if shape.is_scalar() { 0 } else { k }] += x;
        }
    }
    sum
}

/// The elements of a num, row-major.
fn numbers(value: &Value) -> Vec<f64> {
    match value.to_data() {
        Data::F32(v) => v.into_iter().map(f64::from).collect(),
        Data::F64(v) => v,
        Data::Bool(_) | Data::Int(_) => Vec::new(),
    }
}
