//! Programs as graphs of other tools: a step or a window of a plan as an ONNX model or a StableHLO module.

use std::sync::Arc;

use rml_backend::routine::{Port, PortRole, RoutineInput, SUSPECT, WindowModel};
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics, Error, Sources};
use rml_driver::{Options, Program, Source};
use rml_onnx::Refused;
use rml_plan::{Ends, Plan};
use rml_weights::Mapping;

use super::{Prepared, cycles, few, prepare, sentences};
use crate::checkpoint::Checkpoint;

/// The format in which a program is written.
///
/// ```
/// use rml::ModelFormat;
///
/// assert_eq!(ModelFormat::Onnx.ending(), "onnx");
/// assert_eq!(ModelFormat::StableHlo.ending(), "mlir");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModelFormat {
    /// An ONNX model of opset 18: the content of an `.onnx` file.
    Onnx,
    /// A StableHLO module: the text of an `.mlir` file.
    StableHlo,
}

impl ModelFormat {
    /// The extension of file names.
    pub fn ending(self) -> &'static str {
        match self {
            ModelFormat::Onnx => "onnx",
            ModelFormat::StableHlo => "mlir",
        }
    }
}

/// The options of an export as a graph.
///
/// ```
/// use rml::{ModelExport, ModelFormat};
///
/// let export = ModelExport { cycles: Some(8), ..ModelExport::new(ModelFormat::Onnx) };
/// assert!(export.mapping.is_none());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ModelExport<'m> {
    /// The format.
    pub format: ModelFormat,
    /// How many cycles a call runs; by default one step of a stream, with the cycles that it looks ahead.
    pub cycles: Option<usize>,
    /// Names for the inputs, outputs and states of the graph; by default those of the program.
    pub mapping: Option<&'m Mapping>,
}

impl ModelExport<'_> {
    /// An export with the default options.
    pub fn new(format: ModelFormat) -> Self {
        Self { format, cycles: None, mapping: None }
    }
}

/// A program as a graph, with its warnings.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let source = rml::Source::text("f.rml", "node f(x: num []) -> (o)  o = 2.0 * x;");
/// # let options = rml::Options::default();
/// let export = rml::ModelExport::new(rml::ModelFormat::Onnx);
/// let model = rml::export_model(&source, &options, None, &export)?;
/// assert_eq!((model.inputs, model.outputs), (vec!["x".to_owned()], vec!["o".to_owned()]));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct ExportedModel {
    /// The node.
    pub node: String,
    /// The content of the file.
    pub bytes: Vec<u8>,
    /// The names of the graph's inputs: the inputs, then the states.
    pub inputs: Vec<String>,
    /// The names of the graph's outputs: the outputs, then the next states, and whether an error is suspected.
    pub outputs: Vec<String>,
    /// Notes about inputs that the program prepares as the training of the checkpoint did: sentences without a full
    /// stop.
    pub notes: Vec<String>,
    /// Findings that did not stop the export.
    pub warnings: Diagnostics,
    /// The texts that the findings point into.
    pub sources: Arc<Sources>,
}

/// Exports node [`Options::node`] as a graph that other tools run. One call runs a window of exactly
/// [`cycles`](ModelExport::cycles) cycles, or a block if there are no windows. States start with the values of the
/// checkpoint, or else with those of the program; parameters that nothing changes are constants.
/// Inputs are prepared as in [`export_c`](crate::export_c).
///
/// # Errors
/// A program that does not compile, or has no plan of fixed memory; a checkpoint of another program; operations that
/// the format cannot express; a mapping that is malformed, or names what the graph does not have.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// let source = rml::Source::text("filter.rml", "node filter(x: num []) -> (y)  y = 0.9 * (0.0 fby y) + 0.1 * x;");
/// let mapping = rml::Mapping::text("map.toml", "[ports]\nx = \"input.1\"\n");
/// let export = rml::ModelExport { mapping: Some(&mapping), ..rml::ModelExport::new(rml::ModelFormat::Onnx) };
/// let model = rml::export_model(&source, &rml::Options::default(), None, &export)?;
/// assert_eq!((model.inputs[0].as_str(), model.outputs[0].as_str()), ("input.1", "y"));
/// # Ok(()) }
/// ```
pub fn export_model(
    source: &Source,
    options: &Options,
    checkpoint: Option<&Checkpoint>,
    export: &ModelExport<'_>,
) -> Result<ExportedModel, Error> {
    let ticks = export.cycles;
    let Prepared { program, plan, states, notes } = prepare(source, options, checkpoint, ticks)?;
    let fail = |d: Diagnostic| program.error(d);
    let ticks = cycles(&plan, ticks).map_err(fail)?;
    check(&program, &plan, ticks).map_err(fail)?;
    let mut model = rml_lower::model(&plan, ticks, &|key| states.of(key));
    if let Some(mapping) = export.mapping {
        let mut sources = Sources::clone(program.sources());
        let renamed = rename(&mut model, mapping, &mut sources);
        renamed.map_err(|findings| Error::new(findings, Arc::new(sources)))?;
    }
    let of = if ticks == 1 { "one cycle".to_owned() } else { format!("{ticks} cycles") };
    let note =
        format!("Node `{}`, {of} a call, made by rml. Change the program, not this file.", program.node());
    let note = note + &sentences(&notes);
    let bytes = match export.format {
        ModelFormat::Onnx => rml_onnx::export(&model, &note).map_err(|why| fail(refused(&program, &why)))?,
        ModelFormat::StableHlo => rml_stablehlo::export(&model, &note).into_bytes(),
    };
    let (warnings, sources) = (program.warnings().clone(), Arc::clone(program.sources()));
    let (inputs, outputs) = names(&model);
    let node = program.node().to_owned();
    Ok(ExportedModel { node, bytes, inputs, outputs, notes, warnings, sources })
}

/// Gives the ports of a graph the names of a mapping. The new value of a state has the name of the state, and its
/// ending.
fn rename(model: &mut WindowModel, mapping: &Mapping, sources: &mut Sources) -> Result<(), Diagnostics> {
    let is_next = |port: &&mut Port| matches!(port.role, PortRole::State | PortRole::IsSet);
    let inputs = model.inputs.iter_mut().filter_map(|given| match given {
        RoutineInput::Port(port) => Some(port),
        RoutineInput::Fixed(_) => None,
    });
    let (next, outputs): (Vec<_>, Vec<_>) = model.outputs.iter_mut().partition(is_next);
    let mut ports: Vec<&mut Port> = inputs.chain(outputs).collect();
    let own: Vec<String> = ports.iter().map(|port| port.name.clone()).collect();
    let names = mapping.ports(&own.iter().map(String::as_str).collect::<Vec<_>>(), sources)?;
    if model.routine.may_stop() && names.iter().any(|name| name == SUSPECT) {
        let what =
            format!("an input or output would be called `{SUSPECT}`, as the output that reports an error");
        return Err(Diagnostics::from(Diagnostic::error(codes::MALFORMED_MAPPING, what)));
    }
    for port in next {
        let state = port.name.strip_suffix(NEXT);
        if let Some(at) = state.and_then(|state| own.iter().position(|name| name == state)) {
            port.name = names[at].clone() + NEXT;
        }
    }
    ports.iter_mut().zip(names).for_each(|(port, name)| port.name = name);
    Ok(())
}

/// The ending of the name of the new value of a state.
const NEXT: &str = ".next";

/// The names of the inputs and outputs of a graph.
fn names(model: &WindowModel) -> (Vec<String>, Vec<String>) {
    let port = |given: &RoutineInput| match given {
        RoutineInput::Port(port) => Some(port.name.clone()),
        RoutineInput::Fixed(_) => None,
    };
    let suspect = model.routine.may_stop().then(|| SUSPECT.to_owned());
    let outputs = model.outputs.iter().map(|port| port.name.clone()).chain(suspect);
    (model.inputs.iter().filter_map(port).collect(), outputs.collect())
}

/// Refuses programs whose calls have no fixed length.
fn check(program: &Program, plan: &Plan, ticks: usize) -> Result<(), Diagnostic> {
    let refused = |why: &str, help: &str| {
        let what = format!("node {} cannot be exported: {why}", program.node());
        Diagnostic::error(codes::EXPORT_REFUSED, what)
            .note("the shapes of a graph are known before it runs")
            .help(help)
    };
    let fewest = plan.ahead() as usize + 1;
    match &plan.ends {
        _ if plan.outputs.iter().all(|output| output.ty.shape.is_empty()) => {
            Err(refused("no output has an element", "give it an output"))
        }
        _ if plan.waits => Err(refused(
            "it waits for conditions of later cycles",
            "give it windows (`every`), or a `post` that waits for a known number of cycles",
        )),
        Ends::Found { .. } => Err(refused(
            "it computes the ends of its windows itself",
            "let an input say where windows end, or export it with `--format c`",
        )),
        _ if ticks < fewest => Err(few(fewest)),
        Ends::Nothing | Ends::Given(_) => Ok(()),
    }
}

fn refused(program: &Program, why: &Refused) -> Diagnostic {
    match why {
        Refused::Operator { name, span, single } => {
            let (of, help) = match single {
                true => (" of double precision", "export it without `--f64`, or with `--format stablehlo`"),
                false => ("", "export it with `--format stablehlo` or `--format c`"),
            };
            let what =
                format!("node {} cannot be exported: ONNX Runtime has no `{name}`{of}", program.node());
            Diagnostic::error(codes::EXPORT_REFUSED, what).label(*span, "because of this").help(help)
        }
        Refused::Large(bytes) => {
            let what = format!("the model would have {}", rml_base::memory::size(*bytes));
            Diagnostic::error(codes::EXPORT_REFUSED, what)
                .note("an ONNX file has at most 2 GiB")
                .help("choose smaller windows with `--cycles`, or `--format stablehlo`")
        }
    }
}
