//! What must hold before a training run begins: the program compiles and fits the data, the options make sense, the checkpoint to
//! go on from was made under the same conditions, and the one to write can be written.

use rml_base::codes::run as codes;
use rml_base::profile::Phase;
use rml_base::{Diagnostic, Error};
use rml_data::{Columns, Windows};
use rml_driver::{Options, Program, Source, interfaces};
use rml_ir::Precision;

use super::observer::Observer;
use super::options::{Evaluate, TestSplit, TrainOptions};
use super::resume::{self, Terms};
use crate::checkpoint::{Checkpoint, Policy, Position};
use crate::fingerprint;
use crate::runner::{Family, asked_batch, batch_size};

/// The node that is run over the test windows where nothing is said.
const INFER: &str = "infer";

/// A checked beginning.
pub(super) struct Start {
    pub(super) family: Family,
    pub(super) windows: Windows,
    pub(super) test: Option<(Family, Windows)>,
    pub(super) position: Position,
    pub(super) resumed: Option<Checkpoint>,
}

/// Checks everything.
pub(super) fn start(
    source: &Source,
    data: &Columns,
    options: &TrainOptions,
    observer: &mut dyn Observer,
) -> Result<Start, Error> {
    if let Some(path) = &options.save {
        rml_files::check_output(path, &source.files())?;
    }
    let engine = &options.engine;
    let read = |path| engine.time(Phase::Checkpoint, || Checkpoint::read(path));
    let resumed = options.resume.as_ref().map(|path| read(path)).transpose()?;
    let before = resumed.as_ref().and_then(|c| c.position.as_ref());
    let Terms { node, mut set, precision, seed, shuffle } = resume::terms(options, before)?;
    let asked = asked_batch(options.batch, &mut set)?;
    let stacks = interfaces(source)?.get(&node).is_some_and(|i| i.has_batch);
    let batch = batch_size(source, &node, asked.or(before.map(|p| p.batch).filter(|_| stacks)))?;
    let compile =
        Options { node: Some(node.clone()), set: set.clone(), precision, seed, ..Options::default() };
    let mut family = Family::new(source, compile.clone(), options.engine.clone())?;
    let size = family.size(batch, data);
    let program = family.program(size)?.clone();
    family.refuse_rejected(size)?;
    if let Some(checkpoint) = resumed.as_ref().filter(|_| asked.is_none()) {
        // before the data, so that a checkpoint of another program is called that
        checkpoint.select(&program, Policy::Exact)?;
    }
    let windows = match options.cycles {
        Some(cycles) => without_inputs(&program, cycles)?,
        None => engine.time(Phase::Data, || bind(data, &program, options.allow_nan))?,
    };
    let test = match options.cycles {
        Some(_) => None,
        None => test_node(source, data, options, &compile, size)?,
    };
    for finding in program.warnings().iter() {
        observer.warning(finding, program.sources());
    }
    let fresh = Position {
        node,
        double: precision == Precision::F64,
        seed,
        batch: size,
        shuffle,
        windows: windows.count,
        test: count(options.test.unwrap_or_default(), windows.count)?,
        epoch: 0,
        done: 0,
        cycles: 0,
        sums: Vec::new(),
        program: fingerprint::program(program.sources()),
        data: engine.time(Phase::Data, || fingerprint::data(data, program.inputs().iter().map(|i| &*i.name))),
        columns: program.inputs().iter().map(|i| i.name.to_string()).collect(),
        set: Some(set),
    };
    let position = match before {
        None => fresh,
        Some(before) => {
            let anew = resumed.as_ref().map(|c| c.lacks(&program)).unwrap_or_default();
            resume::position(before, &fresh, options, &anew, observer)?
        }
    };
    check_evaluation(options, &position)?;
    Ok(Start { family, windows, test, position, resumed })
}

/// A node that is asked for is run.
fn check_evaluation(options: &TrainOptions, position: &Position) -> Result<(), Diagnostic> {
    match &options.evaluate {
        Evaluate::Node(node) if position.test == 0 => Err(Diagnostic::error(
            codes::BAD_OPTION,
            format!("node {node} is to evaluate the test windows, and there are none"),
        )
        .note(format!("of {} windows, none is kept for testing", position.windows))
        .help("keep some (`--test COUNT`), or evaluate nothing (leave `--evaluate` out)")),
        _ => Ok(()),
    }
}

/// The cycles of an epoch of a node that needs no data.
fn without_inputs(program: &Program, cycles: usize) -> Result<Windows, Error> {
    let Some(input) = program.inputs().first() else { return Ok(Windows::without_inputs(cycles)) };
    Err(Diagnostic::error(codes::BAD_OPTION, "a number of cycles is for nodes without inputs")
        .note(format!("this one has the input `{}`", input.name))
        .help("give the data that it is trained on (`--data FILE`)")
        .into())
}

pub(super) fn bind(data: &Columns, program: &Program, allow_nan: bool) -> Result<Windows, Error> {
    Windows::bind(data, program.inputs(), program.precision(), allow_nan)
        .map_err(|d| Error::from(d).with_sources(program.sources()))
}

/// The node to evaluate, if the program has it.
fn test_node(
    source: &Source,
    data: &Columns,
    options: &TrainOptions,
    compile: &Options,
    size: usize,
) -> Result<Option<(Family, Windows)>, Error> {
    let node = match &options.evaluate {
        Evaluate::Node(node) => node,
        Evaluate::Infer if interfaces(source)?.get(INFER).is_some() => INFER,
        Evaluate::Infer | Evaluate::Nothing => return Ok(None),
    };
    let set = std::mem::take(&mut compile.clone().set);
    let options_of =
        Options { node: Some(node.to_owned()), set: Default::default(), defaults: set, ..compile.clone() };
    let mut family = Family::new(source, options_of, options.engine.clone())?;
    let size = family.size(size, data);
    let program = family.program(size)?.clone();
    let windows = bind(data, &program, options.allow_nan)
        .map_err(|e| e.note(format!("node {node} is run after each epoch to evaluate the test windows")))?;
    Ok(Some((family, windows)))
}

/// How many windows are kept for testing.
fn count(split: TestSplit, windows: usize) -> Result<usize, Error> {
    let bad = |what: String| Err(Diagnostic::error(codes::BAD_OPTION, what).into());
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "in 0..=windows"
    )]
    let count = match split {
        TestSplit::Count(n) => n,
        TestSplit::Share(s) if (0.0..1.0).contains(&s) => (s * windows as f64).round() as usize,
        TestSplit::Share(s) => {
            return bad(format!("a share of {s} of the windows cannot be kept for testing"));
        }
    };
    if count >= windows {
        return bad(format!(
            "{count} of {windows} windows are kept for testing, and none is left to train on"
        ));
    }
    Ok(count)
}
