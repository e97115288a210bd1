//! Inference: a node run with the parameters of a checkpoint, over data or cycle by cycle over JSON lines.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use answers::{Answers, learns};
use choose::choose;
use indexmap::IndexMap;
use kept::Kept;
use rml_base::codes::run as codes;
use rml_base::profile::Phase;
use rml_base::{Diagnostic, Diagnostics, Error, Sources, visible_name};
use rml_data::{Arranged, Columns, Dataset, Preparation, Windowing, Windows, missing};
use rml_driver::{
    BATCH, Interface, Options, Program, Source, ValueNames, enumerated_inputs, interface, keep_inputs,
};
use rml_engine::KnownOutputs;
use rml_ir::typed::StaticValue;
use rml_ir::{Names, Precision};
use states::inherited;
use units::Units;

use crate::checkpoint;
use crate::checkpoint::prepared::check_preparation;
use crate::checkpoint::{Checkpoint, Parameters, Policy, TrainingPosition};
use crate::engines::Engine;
use crate::runner::{Averages, Family, Metrics, Runner, asked_batch, batch_size, json_metrics, metric_names};
use crate::train::confusion::{self, Classes, Confusion, Counts, Pair};
use crate::train::targets;

pub(crate) mod alone;
mod answers;
mod choose;
mod kept;
pub(crate) mod lines;
mod states;
pub(crate) mod stream;
pub(crate) mod units;

/// The windows of the data to run.
///
/// ```
/// assert_eq!(rml::InferOptions::default().split, rml::Split::Auto);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Split {
    /// The test windows if the data is what the checkpoint was trained on, else all.
    #[default]
    Auto,
    /// The windows that training kept for testing.
    Test,
    /// The windows that were trained on.
    Train,
    /// The windows that training compared its epochs by.
    Validation,
    /// All windows.
    All,
}

/// How to infer.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node sum(x: num []) -> (y)  y = x + (0.0 fby y);";
/// # let source = rml::Source::text("sum.rml", text);
/// # let program = rml::compile(&source, &rml::Options::default())?;
/// # let inputs = rml::Columns::parse(b"x\n1\n2\n4\n", rml::Format::Csv, "inputs.csv")?;
/// use rml::InferOptions;
///
/// let options = InferOptions { node: "sum".to_owned(), ..InferOptions::default() };
/// let report = rml::infer(&source, &inputs, &options)?;
/// assert_eq!(report.windows, 3);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct InferOptions {
    /// The node to run.
    pub node: String,
    /// The parameters; `None` for a node that has none.
    pub params: Option<Parameters>,
    /// Static parameters of the run node.
    pub set: IndexMap<String, StaticValue>,
    /// How many windows are stacked; `None` = as in training.
    pub batch: Option<usize>,
    /// How `num` is computed; `None` = as in training.
    pub precision: Option<Precision>,
    /// The windows to run.
    pub split: Split,
    /// Whether NaN is accepted in the data.
    pub allow_nan: bool,
    /// How the rows of a long table become windows, if this differs from the training.
    pub cut: Windowing,
    /// Whether the outputs are kept.
    pub keep_outputs: bool,
    /// Whether outputs are brought to the units of the data, if the training standardised the inputs that they are
    /// compared with.
    pub unscale: bool,
    /// The classes to compare in the [confusion matrix](InferReport::confusion). [`Classes::Usual`] is an error if
    /// there is not exactly one such pair.
    pub classes: Classes,
    /// Whether states other than parameters restart; otherwise they continue from where training stopped.
    pub fresh: bool,
    /// The engine that runs the program.
    pub engine: Engine,
    /// How many cycles of a [`Stream`](crate::Stream) may wait for later ones at once; a further line ends the stream.
    /// With data, cycles wait at most until the end of their window.
    pub look_ahead: usize,
    /// Set from outside to stop inference over data after the current batch of windows.
    pub interrupt: Option<Arc<AtomicBool>>,
}

impl Default for InferOptions {
    /// Node `infer`, without parameters.
    fn default() -> Self {
        Self {
            node: "infer".into(),
            params: None,
            set: IndexMap::new(),
            batch: None,
            precision: None,
            split: Split::Auto,
            allow_nan: false,
            cut: Windowing::default(),
            keep_outputs: false,
            unscale: false,
            classes: Classes::Nothing,
            fresh: false,
            engine: Engine::default(),
            look_ahead: Self::LOOK_AHEAD,
            interrupt: None,
        }
    }
}

impl InferOptions {
    /// The default for how many cycles of a [`Stream`](crate::Stream) may wait for later ones.
    pub const LOOK_AHEAD: usize = 100_000;

    /// Node `infer` with the parameters of `params`, otherwise the defaults.
    pub fn new(params: impl Into<PathBuf>) -> Self {
        Self { params: Some(Parameters::File(params.into())), ..Self::default() }
    }

    /// The checkpoint; without one there are no states.
    fn checkpoint(&self) -> Result<Checkpoint, Error> {
        self.params.as_ref().map_or_else(
            || Ok(Checkpoint::of_states(IndexMap::new())),
            |params| self.engine.time(Phase::Checkpoint, || params.checkpoint()),
        )
    }

    /// The units of outputs, if they are brought to those of the data.
    fn units(&self, program: &Program, preparation: &Preparation) -> Result<Units, Error> {
        match self.unscale {
            true => Units::of(program, preparation).map_err(|d| program.error(d)),
            false => Ok(Units::default()),
        }
    }

    /// Fails if a program has parameters but none are given.
    fn check_parameters(&self, program: &Program) -> Result<(), Error> {
        let states = program.flat().states.iter();
        let mut parameters = states.filter(|(_, s)| s.parameter && self.params.is_none()).peekable();
        if parameters.peek().is_none() {
            return Ok(());
        }
        let what = format!("node {} has parameters, and no checkpoint gives them", program.node());
        let d = Diagnostic::error(codes::NO_PARAMETERS, what);
        let d = parameters.fold(d, |d, (key, state)| {
            let ty = &program.flat().vars[program.flat().equations[state.equation].lhs].ty;
            d.note(format!("`{key}`: {ty}"))
        });
        let d = d.help(
            "name a checkpoint (`--params FILE`): `rml train --save` and `rml params import` write one",
        );
        Err(program.error(d))
    }
}

/// The result of inference.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node sum(x: num []) -> (y)  y = x + (0.0 fby y);";
/// # let source = rml::Source::text("sum.rml", text);
/// # let program = rml::compile(&source, &rml::Options::default())?;
/// # let inputs = rml::Columns::parse(b"x\n1\n2\n4\n", rml::Format::Csv, "inputs.csv")?;
/// # use rml::InferOptions;
/// # let options = InferOptions { node: "sum".to_owned(), keep_outputs: true, ..InferOptions::default() };
/// let report = rml::infer(&source, &inputs, &options)?;
/// assert!((report.metrics["y"] - 11.0 / 3.0).abs() < 1e-6);
/// assert!(report.outputs.is_some_and(|outputs| outputs.columns.contains_key("y")));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct InferReport {
    /// The windows that were run (never [`Split::Auto`]).
    pub split: Split,
    /// The number of windows: fewer than all if inference was interrupted.
    pub windows: usize,
    /// Notes about the windows: sentences without a full stop.
    pub notes: Vec<String>,
    /// Averages of the scalar outputs.
    pub metrics: Metrics,
    /// The outputs that have no average: they are only among [`outputs`](Self::outputs).
    pub others: Vec<String>,
    /// The outputs, one row per window (`[windows, ..]`, or `[windows, cycles, ..]` if there are several values per
    /// window), if they are kept. For windows that were cut from a table, `row` has the numbers of their rows.
    pub outputs: Option<Columns>,
    /// The names of the values of inputs and outputs, numbered from 0: the cases of enumerations, and the classes of
    /// data.
    pub names: IndexMap<String, Names>,
    /// The confusion matrix, if it was requested.
    pub confusion: Option<Confusion>,
    /// Findings that did not stop inference.
    pub warnings: Diagnostics,
    /// The paths of states, other than parameters, that started with their values from the end of training.
    pub continued: Vec<String>,
    /// The texts that the findings point into.
    pub sources: Arc<Sources>,
}

impl InferReport {
    /// A JSON object with the number of windows and the metrics.
    pub fn json_line(&self) -> String {
        let mut line = json_metrics(&self.metrics);
        line.insert("windows".to_owned(), self.windows.into());
        if let Some(confusion) = &self.confusion {
            line.insert("confusion".to_owned(), confusion.json());
        }
        serde_json::Value::Object(line).to_string()
    }
}

/// Runs a node over data with the parameters of a checkpoint. Other states that outlive their windows, such as moving
/// averages, also continue from the checkpoint if both programs have them under the same path (unless
/// [`InferOptions::fresh`]). Outputs that need a column which the data lacks (such as a loss that needs the label) are
/// left out with a warning; if all outputs do, this is an error.
///
/// # Errors
/// A program, data or checkpoint that does not fit; a run that fails.
pub fn infer(source: &Source, data: &dyn Dataset, options: &InferOptions) -> Result<InferReport, Error> {
    let checkpoint = options.checkpoint()?;
    let position = checkpoint.position.as_ref();
    let mut preparation = checkpoint.preparation().with_cases(enumerated_inputs(source)?);
    let trained = std::mem::take(&mut preparation.asked.cut);
    let lacking;
    (preparation.asked.cut, lacking) = options.cut.clone().as_trained(trained.clone(), data);
    let is_cut_as_trained = preparation.asked.cut == trained;
    let arrange = || Arranged::new(data, &preparation.asked.cut);
    let lacking = lacking.map(|name| {
        let name = visible_name(&name);
        format!("the data has no column `{name}`, by which the training grouped rows: each file is one group")
    });
    let arranged = options.engine.time(Phase::Data, arrange);
    let arranged = arranged.map_err(|d| lacking.clone().into_iter().fold(d, Diagnostic::note))?;
    let (data, mut notes): (&dyn Dataset, _) = (&arranged, arranged.notes());
    notes.extend(lacking);
    let mut family = family(source, options, position)?;
    let size = family.size(batch(source, options, position)?, data.most_windows());
    let units = options.units(family.program(size)?, &preparation)?;
    let left_out = leave_out(&mut family, size, data)?;
    let program = family.program(size)?.clone();
    options.check_parameters(&program)?;
    let checkpoint = checkpoint.fitted(&program)?;
    let position = checkpoint.position.as_ref();
    preparation.axes = checkpoint.preparation().axes;
    check_preparation(&program, &preparation).map_err(|d| program.error(d))?;
    let pair = pair(&program, &options.classes)?;
    let how = (program.precision(), options.allow_nan);
    let bind = || Windows::bind_by(data, program.inputs(), how, &preparation.recipe());
    let mut windows = options
        .engine
        .time(Phase::Data, bind)
        .map_err(|d| without_label(program.error(d), source, &program, data))?;
    family.refuse_undeclared(size, &windows)?;
    windows.prepare(&preparation);
    notes.extend(match options.unscale {
        true => units.notes(),
        false => targets::targets(&program, &preparation),
    });
    let sources = Arc::clone(program.sources());
    let mut warnings = program.warnings().clone();
    warnings.extend(left_out);
    warnings.extend(checkpoint::changed(position, &options.set));
    let windows_now = (windows.count, is_cut_as_trained);
    let (chosen, set) = choose(data, options.split, windows_now, &checkpoint, &mut warnings)?;
    let mut kept = if options.keep_outputs { Some(Kept::new(&mut family, size, &windows)?) } else { None };
    let interrupt = options.interrupt.as_deref();
    let from = From { checkpoint: &checkpoint, fresh: options.fresh, interrupt };
    let continued =
        inherited(&mut family, size, &checkpoint, options.fresh)?.continued(family.program(size)?);
    let is_other = |name: &String| !metric_names(&program).contains(name);
    let others = program.outputs().iter().map(|o| o.name.to_string()).filter(is_other).collect();
    let names = value_names(&program, &preparation, &windows);
    notes.extend(learns(&program));
    let mut classes = Answers::new(&program, &names);
    let mut counted = pair.as_ref().map(|pair| pair.counts(name(chosen)));
    let mut ran = 0;
    let mut metrics = evaluate(&mut family, &windows, &set, size, from, &mut |outputs, set| {
        ran += set.len();
        classes.add(outputs)?;
        counted.as_mut().map_or(Ok(()), |counts| counts.add(outputs, &windows, set))?;
        kept.as_mut().map_or(Ok(()), |kept| kept.add(outputs, set))
    })?;
    // The mean of the numbers of classes says nothing.
    metrics.retain(|output, _| names.of(output).is_none());
    notes.extend(classes.notes());
    let outputs = kept.map(|kept| {
        let mut columns = kept.columns(&windows, &names);
        columns.columns.iter_mut().for_each(|(name, column)| units.column(name, column));
        columns
    });
    let confusion = counted.map(Counts::end);
    Ok(InferReport {
        split: chosen,
        windows: ran,
        notes,
        metrics: units.metrics(metrics),
        others,
        outputs,
        names: ports(&program, &names),
        confusion,
        warnings,
        continued,
        sources,
    })
}

/// The names of the values of a program, with the classes of its data.
fn value_names(program: &Program, preparation: &Preparation, windows: &Windows) -> ValueNames {
    let mut classes = preparation.classes.clone();
    classes.extend(windows.classes().map(|(input, names)| (input.to_owned(), names.to_vec())));
    program.names(&classes, &preparation.axes)
}

/// The inputs and outputs whose values have names, and these names.
pub(crate) fn ports(program: &Program, names: &ValueNames) -> IndexMap<String, Names> {
    let inputs = program.inputs().iter().map(|input| &input.name);
    let ports = inputs.chain(program.outputs().iter().map(|output| &output.name));
    ports.filter_map(|port| Some((port.to_string(), names.of(port)?.into()))).collect()
}

/// The pair to compare, if the options ask for one.
fn pair(program: &Program, classes: &Classes) -> Result<Option<Pair>, Error> {
    match confusion::find(program, classes)? {
        None if *classes == Classes::Usual => Err(confusion::no_usual(program)),
        pair => Ok(pair),
    }
}

/// The name of a set of windows.
fn name(split: Split) -> &'static str {
    match split {
        Split::Test => "test",
        Split::Train => "train",
        Split::Validation => "validation",
        Split::All | Split::Auto => "all",
    }
}

/// Restricts the family to the outputs that can be computed from the columns of the data.
fn leave_out(family: &mut Family, size: usize, data: &dyn Dataset) -> Result<Option<Diagnostic>, Error> {
    let full = family.program(size)?.clone();
    let missing = missing(full.inputs(), data.table());
    if missing.is_empty() {
        return Ok(None);
    }
    let kept = keep_inputs(&full, |name| !missing.iter().any(|m| m == name));
    if kept.outputs().is_empty() {
        return Ok(None);
    }
    let is_kept = |name: &str| kept.outputs().iter().any(|o| *o.name == *name);
    let gone = full.outputs().iter().filter(|o| !is_kept(&o.name)).map(|o| format!("`{}`", o.name));
    let gone = gone.collect::<Vec<_>>().join(", ");
    if gone.is_empty() {
        family.do_without(missing);
        return Ok(None);
    }
    let names = missing.iter().map(|m| format!("`{m}`")).collect::<Vec<_>>().join(", ");
    let unusable = &data.table().unusable;
    let mut d =
        Diagnostic::warning(codes::MISSING_COLUMN, format!("the data has no column for input {names}"))
            .note(format!("left out, since they need it: {gone}"));
    for (name, why) in missing.iter().filter_map(|m| Some((m, unusable.get(m)?))) {
        d = d.note(format!("column `{name}`: {why}"));
        d.help.extend(why.refused(String::new()).help);
    }
    if d.help.is_empty() {
        d = d.help("add the column to get them");
    }
    family.do_without(missing);
    Ok(Some(d))
}

/// If the data lacks inputs: an error that points to another node of the program that has the parameters, but does not
/// need these inputs.
fn without_label(error: Error, source: &Source, program: &Program, data: &dyn Dataset) -> Error {
    let missing = missing(program.inputs(), data.table());
    let network =
        network(source, program).filter(|(net, _)| !net.inputs().iter().any(|i| missing.contains(i)));
    let Some((network, name)) = network.filter(|_| error.code() == Some(codes::MISSING_COLUMN)) else {
        return error;
    };
    let known = |input: &String| program.inputs().iter().any(|i| *i.name == **input);
    if missing.is_empty() || !network.inputs().iter().all(known) {
        return error;
    }
    let quoted = |names: &[String]| names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    let outputs: Vec<String> = program.outputs().iter().map(|o| o.name.to_string()).collect();
    let are = if missing.len() == 1 { "is" } else { "are" };
    error
        .note(format!("{} {are} needed for {}, and not for `{name}`", quoted(&missing), quoted(&outputs)))
        .help(format!(
            "without it, add a node that has what `{name}` gives, and name that one, `--node predict`: `{}`",
            network.caller("predict")
        ))
}

/// The node of the source that has all parameters of a program, if there is one, and its name.
pub(crate) fn network(source: &Source, program: &Program) -> Option<(Interface, String)> {
    let parameters = program.flat().states.iter().filter(|(_, state)| state.parameter);
    let mut instances = parameters.map(|(key, _)| key.split_once('.').map(|(instance, _)| instance));
    let first = instances.next()??;
    if !instances.all(|instance| instance == Some(first)) {
        return None;
    }
    let name = first.rsplit_once('_').map_or(first, |(name, _)| name);
    Some((interface(source, name).ok()??, name.to_owned()))
}

/// The node, compiled with the settings of the checkpoint.
fn family(
    source: &Source,
    options: &InferOptions,
    position: Option<&TrainingPosition>,
) -> Result<Family, Error> {
    let trained = position.map(|p| if p.setup.double { Precision::F64 } else { Precision::F32 });
    let precision = options.precision.or(trained).unwrap_or_default();
    let mut set = options.set.clone();
    set.shift_remove(BATCH);
    let node = Some(options.node.clone());
    let defaults = position.and_then(|p| p.set.clone()).unwrap_or_default();
    let compile = Options { node, set, defaults, precision, ..Options::default() };
    Family::new(source, compile, options.engine.clone())
}

/// How many windows are stacked: as requested, or else as in training.
fn batch(
    source: &Source,
    options: &InferOptions,
    position: Option<&TrainingPosition>,
) -> Result<usize, Error> {
    match (asked_batch(options.batch, &mut options.set.clone())?, position) {
        (None, Some(p)) => Ok(p.setup.batch.max(1)),
        (asked, _) => batch_size(source, &options.node, asked),
    }
}

/// The source of the states for inference.
#[derive(Clone, Copy)]
pub(crate) struct From<'c> {
    pub(crate) checkpoint: &'c Checkpoint,
    /// Whether only parameters are restored.
    pub(crate) fresh: bool,
    /// Set from outside to stop after the current batch of windows.
    pub(crate) interrupt: Option<&'c AtomicBool>,
}

/// A callback for the outputs of each batch of windows, and the numbers of these windows.
pub(crate) type Each<'e> = &'e mut dyn FnMut(&[KnownOutputs], &[usize]) -> Result<(), Diagnostic>;

/// Runs windows with the states of a checkpoint, and averages the scalar outputs. `each` gets the outputs of each batch
/// of windows and the numbers of these windows.
pub(crate) fn evaluate(
    family: &mut Family,
    data: &Windows,
    set: &[usize],
    size: usize,
    from: From<'_>,
    each: Each<'_>,
) -> Result<Metrics, Error> {
    let size = if family.stacks { size.min(set.len()).max(1) } else { 1 };
    let states = inherited(family, size, from.checkpoint, from.fresh)?;
    let mut averages = Averages::new(family.program(size)?);
    let mut runner = Runner::new(family, size, data.same_length())?;
    runner.restore(&states, Policy::Inference)?;
    let batches = data.batches(set, size);
    for (n, windows) in (1..).zip(batches.iter()) {
        if from.interrupt.is_some_and(|interrupt| interrupt.load(Ordering::SeqCst)) {
            break;
        }
        let outputs = runner.run(data, windows, n == batches.len())?;
        let added = averages.add(&outputs, windows.len()).and_then(|()| each(&outputs, windows));
        added.map_err(|d| runner.session().fail(d))?;
    }
    Ok(averages.metrics())
}
