//! Runs a node over windows of data. The node is compiled once for each number of stacked windows; its states are kept
//! when this number changes (for the last, smaller batch). The windows follow each other in one open trace (ENV-7), and
//! none may wait for the next (CAUSE-6).

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::analysis::UPDATE_CAUSALITY;
use rml_base::codes::run as codes;
use rml_base::profile::Phase;
use rml_base::{Diagnostic, Diagnostics, Error, Severity, Sources};
use rml_data::{Batches, ColumnMapping, Selection, Windows};
use rml_driver::{
    Analysis, BATCH, DeclaredColumn, Options, Program, Sharded, Source, Stacked, Unit, declared_columns,
    enumerated_inputs, input_names, integer_inputs, interface, keep_inputs, list_inputs,
};
use rml_engine::{Feeding, KnownOutputs, Use};
use rml_ir::flat::{By, ClockClasses, Flat};
use rml_ir::typed::StaticValue;
use rml_ir::{DType, OutputInfo};

use crate::checkpoint::{Checkpoint, Policy};
use crate::engines::Engine;
use crate::session::Session;

mod averages;
mod columns;
mod waits;

pub(crate) use averages::Averages;
use columns::with_columns;
pub(crate) use columns::with_gaps;
use waits::{about_windows, among, uncut, update_waits};
pub(crate) use waits::{incomplete, waiting};

/// The default number of stacked windows.
pub(crate) const DEFAULT_BATCH: usize = 32;

/// A node, compiled for each number of stacked windows that it is run with.
#[derive(Debug)]
pub(crate) struct Family {
    source: Source,
    options: Options,
    /// Whether windows can be stacked.
    pub(crate) stacks: bool,
    units: IndexMap<usize, Unit>,
    programs: IndexMap<usize, Program>,
    /// The programs in two parts, by the number of stacked windows.
    sharded: IndexMap<usize, Sharded>,
    /// The errors that `rml check` finds in the node, by the number of stacked windows.
    checked: IndexMap<usize, Checked>,
    /// Inputs to leave out.
    without: Vec<String>,
    /// The engine that runs the programs.
    engine: Engine,
    /// Which outputs and states depend on the number of stacked windows; computed on first use.
    stacked: Option<Stacked>,
}

/// The errors that `rml check` finds in a node.
#[derive(Debug)]
struct Checked {
    sources: Arc<Sources>,
    rejected: Vec<Diagnostic>,
    /// Inputs without a declared clock that are used only in some cycles, and the findings about them.
    undeclared: Vec<(Option<Arc<str>>, Diagnostic)>,
    /// The finding that the update of a parameter may wait for later cycles.
    late: Option<Diagnostic>,
}

impl Checked {
    fn new(analysis: &Analysis) -> Self {
        let flat = &analysis.flat;
        let input = |d: &Diagnostic| {
            let is_shown = |span| d.labels.iter().any(|label| label.span == span);
            let input = flat.inputs.iter().find(|i| is_shown(flat.vars[i.var].span));
            input.and_then(|i| flat.vars[i.var].name.clone())
        };
        Self {
            sources: Arc::clone(&analysis.sources),
            rejected: analysis.findings().filter(|d| d.is_error()).cloned().collect(),
            undeclared: analysis.undeclared.iter().map(|d| (input(d), d.clone())).collect(),
            late: analysis.findings().find(|d| d.code == UPDATE_CAUSALITY).cloned(),
        }
    }

    fn refuse(&self, errors: Vec<Diagnostic>) -> Result<(), Error> {
        if errors.is_empty() {
            return Ok(());
        }
        Err(Error::new(Diagnostics(errors), Arc::clone(&self.sources)))
    }
}

/// How many windows to stack, if `batch` or `set` says so; the entry is removed from `set`.
pub(crate) fn asked_batch(
    batch: Option<usize>,
    set: &mut IndexMap<String, StaticValue>,
) -> Result<Option<usize>, Diagnostic> {
    match (batch, set.shift_remove(BATCH)) {
        (Some(n), _) => Ok(Some(n)),
        (None, Some(StaticValue::Int(n))) => Ok(Some(usize::try_from(n).unwrap_or(0))),
        (None, Some(other)) => {
            let what = format!("`{BATCH}` is {other}, which is not a number of windows");
            Err(Diagnostic::error(codes::BAD_OPTION, what))
        }
        (None, None) => Ok(None),
    }
}

/// The columns of data that a node of a source may need, or another node that runs beside it. Data that is
/// [read](rml_data::Columns::read_selected) with this selection has no unused column in memory.
///
/// # Errors
/// A source that cannot be read.
pub fn columns_for(source: &Source, node: Option<&str>) -> Result<Selection, Error> {
    let names = input_names(source, node)?;
    let declared = declared(source, names.as_ref())?;
    let Some(names) = names else { return Selection::all().mapped(declared) };
    let interface = interface(source, node.unwrap_or("train"))?;
    let values = interface.iter().flat_map(|interface| interface.values());
    let selection = Selection::of(names).feeding(values).with_integers(integer_inputs(source)?);
    selection.with_lists(list_inputs(source)?).with_cases(enumerated_inputs(source)?).mapped(declared)
}

/// The columns that a program names for its inputs. Compilation reports lists for other names, and second lists.
///
/// # Errors
/// A source that cannot be read; something that is no property of dates, or of no input.
fn declared(source: &Source, inputs: Option<&BTreeSet<String>>) -> Result<ColumnMapping, Error> {
    let lists = declared_columns(source, |column| match column {
        DeclaredColumn::One(_) | DeclaredColumn::Range(_, _) => Ok(()),
        DeclaredColumn::Date(property, span, of) => ColumnMapping::check_property(property, of, inputs)
            .map_err(|d| d.label(*span, "expected a property of dates, or `present(y)`")),
    })?;
    // The names of columns that a program writes contain no quotes.
    let shown = |column: &DeclaredColumn| match column {
        DeclaredColumn::One(name) => format!("\"{name}\""),
        DeclaredColumn::Range(first, last) => format!("\"{first}\"..\"{last}\""),
        DeclaredColumn::Date(property, _, of) => format!("{property}(\"{of}\")"),
    };
    let mut texts: IndexMap<&str, String> = IndexMap::new();
    for list in lists.iter().filter(|list| inputs.is_none_or(|inputs| inputs.contains(&list.input))) {
        let columns: Vec<String> = list.columns.iter().map(shown).collect();
        texts.entry(&list.input).or_insert_with(|| format!("{}={}", list.input, columns.join(",")));
    }
    ColumnMapping::parse(&texts.values().collect::<Vec<_>>())
}

/// How many windows to stack: as requested, or else the default if the node can stack windows.
pub(crate) fn batch_size(source: &Source, node: &str, asked: Option<usize>) -> Result<usize, Error> {
    let stacks = interface(source, node)?.is_some_and(|i| i.has_batch);
    match asked {
        Some(0) => Err(Diagnostic::error(codes::BAD_OPTION, "at least one window must be stacked")
            .note("the batch size is 0")
            .into()),
        Some(n) if n > 1 && !stacks => Err(Diagnostic::error(
            codes::NO_BATCH_DIMENSION,
            format!("node {node} cannot stack {n} windows: no shape of its inputs has a dimension `{BATCH}`"),
        )
        .help(format!(
            "declare inputs with a leading dimension, `x: num [{BATCH}, 8]`, or leave the batch size out"
        ))
        .into()),
        Some(n) => Ok(n),
        None => Ok(if stacks { DEFAULT_BATCH } else { 1 }),
    }
}

/// Whether a condition, or the clock of another input, helps to decide in which cycles an input without a declared
/// clock is present.
fn has_sampled_input(flat: &Flat) -> bool {
    let classes = ClockClasses::new(flat);
    let mut open = flat.inputs.iter().filter(|i| i.clock.is_none()).map(|i| classes.of(i.var));
    let samples = |by: &By| matches!(by, By::Condition(_) | By::Offer(_));
    open.any(|class| classes.drivers().iter().any(|d| classes.of(d.var) == class && samples(&d.by)))
}

impl Family {
    /// The finding that the update of a parameter may wait for later cycles, for that many stacked windows.
    pub(crate) fn late(&self, size: usize) -> Option<&Diagnostic> {
        self.checked.get(&size).and_then(|checked| checked.late.as_ref())
    }

    /// Node `options.node` of a source, run by this engine; `options.batch` is set by the family.
    pub(crate) fn new(source: &Source, mut options: Options, engine: Engine) -> Result<Self, Error> {
        let node = options.node.clone().unwrap_or_default();
        let stacks = interface(source, &node)?.is_some_and(|i| i.has_batch);
        options.batch = None;
        Ok(Self {
            source: source.clone(),
            options,
            stacks,
            units: IndexMap::new(),
            programs: IndexMap::new(),
            sharded: IndexMap::new(),
            checked: IndexMap::new(),
            without: Vec::new(),
            engine,
            stacked: None,
        })
    }

    /// A session for this many stacked windows, in its initial state: of the program, or of the part that computes
    /// gradients.
    fn session(&mut self, size: usize, part: Part, wish: &Use) -> Result<Session, Error> {
        let engine = self.engine.clone();
        let program = match part {
            Part::Whole => self.program(size)?,
            Part::Gradients => &self.sharded(size)?.gradients,
        };
        Session::open(program, &engine, wish)
    }
    /// The program in two parts, for that many stacked windows.
    pub(crate) fn sharded(&mut self, size: usize) -> Result<&Sharded, Error> {
        if !self.sharded.contains_key(&size) {
            let engine = self.engine.clone();
            let unit = self.unit(size)?;
            let sharded = engine.time(Phase::Compile, || unit.sharded())?;
            self.sharded.insert(size, sharded);
        }
        Ok(&self.sharded[&size])
    }

    /// Refuses a node that `rml check` rejects.
    pub(crate) fn refuse_rejected(&mut self, size: usize) -> Result<(), Error> {
        let checked = self.checked(size)?;
        checked.refuse(checked.rejected.clone())
    }

    /// Refuses inputs without a declared clock that the program uses only in some cycles of windows, if the data has
    /// them in all cycles.
    pub(crate) fn refuse_undeclared(&mut self, size: usize, windows: &Windows) -> Result<(), Error> {
        let program = self.program(size)?.clone();
        if !(0..windows.count).any(|w| windows.length(w) > 1) || !has_sampled_input(program.flat()) {
            return Ok(());
        }
        let is_bound =
            |name: &Option<Arc<str>>| program.inputs().iter().any(|i| Some(&i.name) == name.as_ref());
        let checked = self.checked(size)?;
        let found = checked.undeclared.iter().filter(|(name, _)| is_bound(name));
        let error = |(_, d): &(_, Diagnostic)| Diagnostic { severity: Severity::Error, ..d.clone() };
        checked.refuse(found.map(error).collect())
    }

    /// The errors that `rml check` finds in the node for this many stacked windows.
    fn checked(&mut self, size: usize) -> Result<&Checked, Error> {
        if !self.checked.contains_key(&size) {
            let engine = self.engine.clone();
            let unit = self.unit(size)?;
            let analysis = engine.time(Phase::Compile, || unit.analysis())?;
            self.checked.insert(size, Checked::new(&analysis));
        }
        Ok(&self.checked[&size])
    }

    /// The program for this many stacked windows.
    pub(crate) fn program(&mut self, size: usize) -> Result<&Program, Error> {
        if !self.programs.contains_key(&size) {
            let engine = self.engine.clone();
            let unit = self.unit(size)?;
            let program = engine.time(Phase::Compile, || unit.program())?;
            let program = keep_inputs(&program, |name| !self.without.iter().any(|w| w == name));
            self.programs.insert(size, program);
        }
        Ok(&self.programs[&size])
    }

    /// The node for this many stacked windows.
    fn unit(&mut self, size: usize) -> Result<&Unit, Error> {
        if !self.units.contains_key(&size) {
            let batch = self.stacks.then_some(size);
            let options = Options { batch, ..self.options.clone() };
            let unit = self.engine.time(Phase::Compile, || Unit::new(&self.source, &options))?;
            self.units.insert(size, unit);
        }
        Ok(&self.units[&size])
    }

    /// Leaves out these inputs from now on, and the outputs that need them.
    pub(crate) fn do_without(&mut self, inputs: Vec<String>) {
        self.without = inputs;
        self.programs.clear();
    }

    /// Refuses states that outlive their window and depend on how many windows are stacked, if that is not the same for
    /// all of these batches. `size` windows are stacked at first.
    pub(crate) fn refuse_other_sizes(&mut self, batches: &Batches, size: usize) -> Result<(), Error> {
        let Some(other) = batches.iter().find(|batch| batch.len() != size).filter(|_| self.stacks) else {
            return Ok(());
        };
        let flat = Arc::clone(self.program(size)?.flat());
        let program = self.program(other.len())?;
        let findings = of_batch(&flat, program.flat(), (size, other.len()));
        if findings.is_empty() { Ok(()) } else { Err(program.error(findings).note(among(other))) }
    }

    /// How many windows are stacked if `size` are asked for: no more than the data has, and one if the program does not
    /// stack windows.
    pub(crate) fn size(&self, size: usize, windows: usize) -> usize {
        if self.stacks { size.min(windows).max(1) } else { 1 }
    }

    /// The outputs and states that have a row for each stacked window, in a node with `size` windows.
    pub(crate) fn stacked(&mut self, size: usize) -> Result<&Stacked, Error> {
        if self.stacked.is_none() && self.stacks {
            let twice = size.saturating_mul(2);
            self.unit(size)?;
            self.unit(twice)?;
            let find = || Stacked::new(size, &self.units[&size], &self.units[&twice]);
            self.stacked = Some(self.engine.time(Phase::Compile, find)?);
        }
        Ok(self.stacked.get_or_insert_default())
    }
}

/// What of a node runs.
#[derive(Clone, Copy, Debug)]
enum Part {
    Whole,
    /// Its gradients, with parameters that nothing updates.
    Gradients,
}

/// A running node.
#[derive(Debug)]
pub(crate) struct Runner<'f> {
    family: &'f mut Family,
    part: Part,
    session: Session,
    size: usize,
    wish: Use,
}

impl<'f> Runner<'f> {
    /// Starts a node in its initial state with `size` stacked windows; `cycles` is their length if all have the same
    /// one.
    pub(crate) fn new(family: &'f mut Family, size: usize, cycles: Option<usize>) -> Result<Self, Error> {
        Self::of(family, Part::Whole, size, cycles)
    }

    /// The same of the part of the node that computes gradients.
    pub(crate) fn gradients(
        family: &'f mut Family,
        size: usize,
        cycles: Option<usize>,
    ) -> Result<Self, Error> {
        Self::of(family, Part::Gradients, size, cycles)
    }

    fn of(family: &'f mut Family, part: Part, size: usize, cycles: Option<usize>) -> Result<Self, Error> {
        let wish = Use::new(Feeding::Windows { cycles });
        let session = family.session(size, part, &wish)?;
        Ok(Self { family, part, session, size, wish })
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    pub(crate) fn restore(&mut self, checkpoint: &Checkpoint, policy: Policy) -> Result<(), Error> {
        self.session.restore(checkpoint, policy)
    }

    /// Runs a batch of windows to its end; none of its cycles may wait for later ones. `is_last` says that it is the
    /// last batch of an epoch.
    pub(crate) fn run(
        &mut self,
        data: &Windows,
        windows: &[usize],
        is_last: bool,
    ) -> Result<Vec<KnownOutputs>, Error> {
        let here = |e: Error| e.note(among(windows));
        if windows.len() != self.size {
            self.resize(windows.len()).map_err(here)?;
        }
        let block = self.family.engine.time(Phase::Data, || data.block(windows, is_last));
        let block = block.map_err(|d| here(self.session.fail(d)))?;
        self.session.feed_block(&block).map_err(|e| here(with_columns(e, data, windows)))?;
        if self.session.open_cycles() > 0 {
            let (at_end, cyclic) =
                self.session.waiting().map_or((false, false), |why| (why.at_end, why.cyclic));
            let late = self.family.late(self.size);
            let (found, is_told) = match late.filter(|_| cyclic) {
                Some(late) => (update_waits(late), true),
                None => (waiting(&self.session), at_end || uncut(&self.session).next().is_some()),
            };
            let found = about_windows(found, data, (windows, is_told));
            return Err(here(self.session.fail(found)));
        }
        Ok(self.session.known())
    }

    /// Changes the number of stacked windows.
    fn resize(&mut self, size: usize) -> Result<(), Error> {
        let mut states = self.session.held_states()?;
        let mut session = self.family.session(size, self.part, &self.wish)?;
        let flat = Arc::clone(session.program().flat());
        let findings = of_batch(self.session.program().flat(), &flat, (self.size, size));
        if !findings.is_empty() {
            return Err(self.session.fail(findings));
        }
        states.retain(|key| flat.states.contains_key(key));
        session.set_states(&states)?;
        self.session = session;
        self.size = size;
        Ok(())
    }
}

/// The errors about states that outlive their window, and have another shape in the program for another number of
/// stacked windows.
fn of_batch(before: &Flat, after: &Flat, (size, other): (usize, usize)) -> Diagnostics {
    let mut findings = Diagnostics::new();
    for (key, state) in &before.states {
        let Some(same) = after.states.get(key) else { continue };
        let was = &before.vars[before.equations[state.equation].lhs].ty;
        let data = &after.vars[after.equations[same.equation].lhs];
        if data.ty != *was {
            let what = format!("state `{key}` depends on how many windows are stacked");
            findings.push(
                Diagnostic::error(codes::BATCH_STATE, what)
                    .label(data.span, "this outlives its window")
                    .note(format!("it is {was} for {size} windows and {} for {other}", data.ty))
                    .help("run one window at a time: `--batch 1`")
                    .help("or choose a batch size that divides the numbers of windows of each length, to train on and to test on")
                    .help("let the state restart in each window: `f(x) every end`"),
            );
        }
    }
    findings
}

/// Scalar outputs by name, averaged over rows.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// let report = rml::train(&source, &data, &rml::TrainOptions::default(), &mut ())?;
/// let names: Vec<&String> = report.epochs[0].train.keys().collect();
/// assert_eq!(names, ["loss"]);
/// # Ok(()) }
/// ```
pub type Metrics = IndexMap<String, f64>;

/// The names of a program's metrics.
pub(crate) fn metric_names(program: &Program) -> Vec<String> {
    metrics(program).into_iter().flatten().map(|name| name.to_string()).collect()
}

/// For each output, the name of its metric, if it has one.
fn metrics(program: &Program) -> Vec<Option<Arc<str>>> {
    let flat = program.flat();
    let is_metric = |(at, o): (usize, &OutputInfo)| {
        // Cases of an enumeration have no mean.
        let is_case = flat.outputs.get(at).is_some_and(|v| flat.vars[*v].cases.is_some());
        let is_number = o.ty.shape.is_scalar() && o.ty.dtype != DType::Bool && !is_case;
        let is_gradient = program.gradients().values().any(|place| *place == at);
        let is_probe = program.probes().values().any(|place| *place == at);
        (is_number && !is_gradient && !is_probe).then(|| Arc::clone(&o.name))
    };
    program.outputs().iter().enumerate().map(is_metric).collect()
}

/// Metrics as a JSON object.
pub(crate) fn json_metrics(metrics: &Metrics) -> serde_json::Map<String, serde_json::Value> {
    metrics.iter().map(|(name, x)| (name.clone(), json_number(*x))).collect()
}

/// A number in JSON; one that is not finite is a string.
pub(crate) fn json_number(x: f64) -> serde_json::Value {
    serde_json::Number::from_f64(x).map_or_else(|| x.to_string().into(), serde_json::Value::Number)
}
