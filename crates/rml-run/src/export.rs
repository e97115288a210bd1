//! Export of programs: the plan of a node, with the values of a checkpoint.

pub(crate) mod model;

use std::sync::Arc;

use rml_analysis::Analyses;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics, Error, Sources, visible_name};
use rml_c::Refused;
pub use rml_c::{Exported, Math as CMath, Memory};
use rml_driver::{Options, Program, Source, unlearned, written_parameters};
use rml_ir::flat::Drawn;
use rml_ir::{Names, Value};
use rml_plan::{Atom, Case, Ends, Plan, TapeData, Tick};
use rml_schedule::Fed;

use crate::checkpoint::{Checkpoint, Policy};
use crate::infer::ports;
use crate::params;

/// How a program is exported as C.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let source = rml::Source::text("f.rml", "node f(x: num []) -> (o)  o = 2.0 * x;");
/// # let options = rml::Options::default();
/// use rml::CExport;
///
/// let export = CExport { name: Some("twice".to_owned()), ..CExport::default() };
/// let program = rml::export_c(&source, &options, None, &export)?;
/// assert_eq!(program.name, "twice");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct CExport {
    /// The prefix of the names of its types, functions and files; by default the name of the node.
    pub name: Option<String>,
    /// The most cycles of a call: of a window, or of a block if there are no windows. By default a program runs as a
    /// stream, and a call gets as few cycles as it needs: one, and those that it looks ahead.
    pub cycles: Option<usize>,
    /// The source of the elementary functions.
    pub math: CMath,
}

/// A program in C, with its warnings.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let source = rml::Source::text("f.rml", "node f(x: num []) -> (o)  o = 2.0 * x;");
/// # let options = rml::Options::default();
/// let program = rml::export_c(&source, &options, None, &rml::CExport::default())?;
/// assert!(program.files.header.contains("f_run"));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct CProgram {
    /// The names of its files, without an extension.
    pub name: String,
    /// The files.
    pub files: Exported,
    /// Notes about inputs that the program prepares as the training of the checkpoint did: sentences without a full
    /// stop.
    pub notes: Vec<String>,
    /// Findings that did not stop the export.
    pub warnings: Diagnostics,
    /// The texts that the findings point into.
    pub sources: Arc<Sources>,
}

/// Exports node [`Options::node`] as C99 that uses only static memory. States start with the values of the checkpoint,
/// or else with those of the program; parameters that nothing changes are constants. Inputs that the training of the
/// checkpoint standardised or filled get the values of the data, and the exported program prepares them.
///
/// # Errors
/// A program that does not compile, or has no plan of fixed memory; a checkpoint of another program; a name that is not
/// valid in C.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// let source = rml::Source::text("filter.rml", "node filter(x: num []) -> (y)  y = 0.9 * (0.0 fby y) + 0.1 * x;");
/// let program = rml::export_c(&source, &rml::Options::default(), None, &rml::CExport::default())?;
/// assert!(program.files.header.contains("long filter_run(filter_state *state"));
/// assert_eq!(program.files.memory.state, 4);
/// # Ok(()) }
/// ```
pub fn export_c(
    source: &Source,
    options: &Options,
    checkpoint: Option<&Checkpoint>,
    export: &CExport,
) -> Result<CProgram, Error> {
    let Prepared { program, plan, states, notes } = prepare(source, options, checkpoint, export.cycles)?;
    let fail = |d: Diagnostic| program.error(d);
    let name = name(&program, export).map_err(fail)?;
    let cycles = cycles(&plan, export.cycles).map_err(fail)?;
    let note = format!("Node `{}`, made by rml. Change the program, not this file.", program.node());
    let note = note + &values(&program, checkpoint) + &sentences(&notes);
    let options = rml_c::Options { name: name.clone(), cycles, math: export.math, note };
    let files = rml_c::export(&plan, &|key| states.of(key), &options);
    let files = files.map_err(|why| fail(refused(&program, &plan, &why)))?;
    let (warnings, sources) = (program.warnings().clone(), Arc::clone(program.sources()));
    Ok(CProgram { name, files, notes, warnings, sources })
}

/// Sentences that explain the integers of inputs and outputs.
fn values(program: &Program, checkpoint: Option<&Checkpoint>) -> String {
    const SHOWN: usize = 64;
    let checkpoint = checkpoint.and_then(|checkpoint| checkpoint.of_program(program).ok());
    let preparation = checkpoint.map(|checkpoint| checkpoint.preparation()).unwrap_or_default();
    let names = program.names(&preparation.classes, &preparation.axes);
    let one = |(port, names): (String, Names)| {
        let shown = names.iter().take(SHOWN).enumerate();
        let shown: Vec<String> = shown.map(|(i, name)| format!("{i} = {}", visible_name(name))).collect();
        let more = if names.len() > SHOWN { ", .." } else { "" };
        format!(" The values of `{port}`: {}{more}.", shown.join(", "))
    };
    ports(program, &names).into_iter().map(one).collect()
}

/// Notes as sentences after another one.
fn sentences(notes: &[String]) -> String {
    notes.iter().map(|note| format!(" {note}.")).collect()
}

/// A program, its plan, the start values of its states, and notes about its inputs.
struct Prepared {
    program: Program,
    plan: Plan,
    states: States,
    notes: Vec<String>,
}

/// The states of a checkpoint.
struct States(Vec<(Arc<str>, Value)>);

impl States {
    fn of(&self, key: &str) -> Option<Value> {
        self.0.iter().find(|(k, _)| **k == *key).map(|(_, value)| value.clone())
    }
}

/// Compiles and plans a program: for whole windows if their maximal number of cycles is given.
fn prepare(
    source: &Source,
    options: &Options,
    checkpoint: Option<&Checkpoint>,
    cycles: Option<usize>,
) -> Result<Prepared, Error> {
    let program = params::program(source, options, checkpoint)?;
    let prepares = checkpoint.map(|checkpoint| checkpoint.prepares(&program)).transpose()?;
    let (program, notes) = prepares.unwrap_or_else(|| (program, Vec::new()));
    let fail = |d: Diagnostic| program.error(d);
    let states = checkpoint.map(|c| c.select(&program, Policy::Available)).transpose().map_err(fail)?;
    let fed = if cycles.is_some() { Fed::Windows } else { Fed::Blocks };
    let plan = plan(&program, fed).map_err(fail)?;
    // A program that waits cannot be exported even with a checkpoint; the error about waiting is reported then.
    if checkpoint.is_none() && !plan.waits {
        given(&program, source, options).map_err(fail)?;
    }
    Ok(Prepared { plan, states: States(states.unwrap_or_default()), program, notes })
}

fn plan(program: &Program, fed: Fed) -> Result<Plan, Diagnostic> {
    let flat = program.flat();
    let analyses = Analyses::of(flat);
    let planned = rml_schedule::schedule_known(flat, &analyses, fed).map(|(plan, _)| plan);
    if planned.as_ref().map_or(true, |plan| plan.waits)
        && let Some(plan) = at_once(flat, &analyses, fed)
    {
        return Ok(plan);
    }
    planned.map_err(|declined| {
        let what = format!("node {} cannot be exported: {}", program.node(), declined.why);
        let d = Diagnostic::error(codes::EXPORT_REFUSED, what);
        let d = if let Some(span) = declined.span { d.label(span, "because of this") } else { d };
        let d = if let Some(help) = declined.help { d.help(help) } else { d };
        d.help("what is exported is the plan of a node; `rml check` says which nodes have one")
    })
}

/// For a program whose own plan waits: a plan with fixed memory, of the same program with delays that restart when a
/// condition of the next cycle arrives. None if there is none.
pub(crate) fn at_once(flat: &Drawn, analyses: &Analyses, fed: Fed) -> Option<Plan> {
    let flat = rml_schedule::restarts(flat, &analyses.clocks.clocks)?;
    rml_schedule::schedule(&flat, fed).ok().filter(|plan| !plan.waits)
}

/// Checks that the parameters have values, if the program trains none of them. If it trains some, the others keep the
/// values that the program gives them, as in training; so do [written](written_parameters) parameters.
fn given(program: &Program, source: &Source, options: &Options) -> Result<(), Diagnostic> {
    let parameters = unlearned(program.flat(), || written_parameters(source, options));
    if parameters.is_empty() {
        return Ok(());
    }
    let what = format!(
        "node {} has parameters that it does not learn, and no checkpoint gives them",
        program.node()
    );
    let d = Diagnostic::error(codes::NO_PARAMETERS, what);
    let d = parameters.iter().fold(d, |d, (key, ty)| d.note(format!("`{key}`: {ty}")));
    Err(d
        .help("name a checkpoint (`--params FILE`): `rml train --save` and `rml params import` write one")
        .help("a number that nothing learns needs no `param`: write the value itself, as in `k = 0.3`"))
}

fn name(program: &Program, export: &CExport) -> Result<String, Diagnostic> {
    let name = export.name.clone().unwrap_or_else(|| program.node().to_owned());
    let Some(why) = rml_c::refuses(&name) else { return Ok(name) };
    let what = format!("`{name}` cannot begin the names of files and functions in C");
    Err(Diagnostic::error(codes::BAD_OPTION, what).note(why).help("choose another one with `--name`"))
}

fn cycles(plan: &Plan, cycles: Option<usize>) -> Result<usize, Diagnostic> {
    match (cycles, &plan.ends) {
        (Some(cycles), _) => Ok(cycles),
        (None, Ends::Nothing) => Ok(plan.ahead() as usize + 1),
        (None, _) => {
            let what = "the program runs whole windows, and their maximum length is not known";
            let d = Diagnostic::error(codes::BAD_OPTION, what);
            Err(d.help("give it with `--cycles N`: the export is made for windows of that length"))
        }
    }
}

/// The error that a program looks further ahead than the cycles of a call.
fn few(fewest: usize) -> Diagnostic {
    let what = format!(
        "a call has to run {fewest} cycles at least, of which the last {} are only read ahead",
        fewest - 1
    );
    Diagnostic::error(codes::BAD_OPTION, what).help(format!("write `--cycles {fewest}`, or more"))
}

/// The first value of a plan that needs a value of the next tick.
fn waiting(plan: &Plan) -> Option<&TapeData> {
    let waits = |case: &Case| case.reads().any(|atom| matches!(atom, Atom::Tape(_, Tick::After)));
    plan.tapes.iter().find(|tape| tape.cases.iter().any(waits))
}

fn refused(program: &Program, plan: &Plan, why: &Refused) -> Diagnostic {
    match why {
        Refused::Waits => {
            let what = format!(
                "node {} cannot be exported: it waits for conditions of later cycles",
                program.node()
            );
            let d = Diagnostic::error(codes::EXPORT_REFUSED, what);
            let d = match waiting(plan) {
                Some(tape) => d.label(tape.span, "this may be known only in a later cycle"),
                None => d,
            };
            d.note("how many cycles have to be kept is known only while it runs, and C has fixed memory")
                .help("give it windows (`every`), or a `post` that waits for a known number of cycles")
        }
        Refused::Cycles(fewest) => few(*fewest),
        Refused::Memory(bytes) => {
            let what = format!("the program would take {} in C", rml_base::memory::size(*bytes));
            Diagnostic::error(codes::EXPORT_REFUSED, what)
                .note("an export has at most 2 GiB")
                .help("choose smaller windows with `--cycles`")
        }
    }
}
