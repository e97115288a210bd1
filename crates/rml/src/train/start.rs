//! What must hold before a training run begins: the program compiles and fits the data, the options make sense, the checkpoint to
//! go on from was made under the same conditions, and the one to write can be written.

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics};
use rml_ir::Precision;

use super::{Observer, TestSplit, TrainOptions};
use crate::checkpoint::{Checkpoint, Policy, Position};
use crate::compile::{BATCH, Options, Program, Source, interfaces};
use crate::data::Columns;
use crate::data::windows::Windows;
use crate::error::Error;
use crate::runner::{Family, batch_size};
use crate::settings::Settings;
use crate::{file, fingerprint};

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
        file::check_replaceable(path)?;
    }
    let resumed = options.resume.as_ref().map(|path| Checkpoint::read(path)).transpose()?;
    let before = resumed.as_ref().and_then(|c| c.position.as_ref());
    let mut set = settings_of(options, before)?;
    let stacks = interfaces(source)?.get(&options.node).is_some_and(|i| i.has_batch);
    let asked = options.batch.or(before.map(|p| p.batch).filter(|_| stacks));
    let batch = batch_size(source, &options.node, asked, &mut set)?;
    let precision =
        before.map_or(options.precision, |p| if p.double { Precision::F64 } else { options.precision });
    let seed = before.map_or(options.seed, |p| p.seed);
    let compile =
        Options { node: Some(options.node.clone()), set: set.clone(), precision, seed, ..Options::default() };
    let mut family = Family::new(source, compile.clone(), options.backend.clone())?;
    let size = family.size(batch, data);
    let program = family.program(size)?.clone();
    crate::analyse::refuse_rejected(&program)?;
    if let Some(checkpoint) = resumed.as_ref().filter(|_| options.batch.is_none()) {
        // before the data, so that a checkpoint of another program is called that
        checkpoint.select(&program, Policy::Exact)?;
    }
    let windows = bind(data, &program, options.allow_nan)?;
    let test = test_node(source, data, options, &compile, size)?;
    for finding in program.warnings().iter() {
        observer.warning(finding, program.sources());
    }
    let fresh = Position {
        node: options.node.clone(),
        double: precision == Precision::F64,
        seed,
        batch: size,
        shuffle: options.shuffle,
        windows: windows.count,
        test: count(options.test, windows.count)?,
        epoch: 0,
        done: 0,
        sums: Vec::new(),
        program: fingerprint::program(program.sources()),
        data: fingerprint::data(data, program.inputs().iter().map(|i| &*i.name)),
        columns: program.inputs().iter().map(|i| i.name.to_string()).collect(),
        set: Some(set),
    };
    let position = match before {
        None => fresh,
        Some(before) => {
            let anew = resumed.as_ref().map(|c| c.lacks(&program)).unwrap_or_default();
            resume(before, &fresh, options, &anew, observer)?
        }
    };
    Ok(Start { family, windows, test, position, resumed })
}

/// The static parameters: those of the run to resume, which no option may contradict, or those of the options.
fn settings_of(options: &TrainOptions, before: Option<&Position>) -> Result<Settings, Error> {
    let Some(recorded) = before.and_then(|p| p.set.as_ref()) else { return Ok(options.set.clone()) };
    let mut findings = Diagnostics::new();
    for (name, now) in options.set.iter().filter(|(name, _)| *name != BATCH) {
        let before = recorded.get(name);
        if before != Some(now) {
            let before = before.map_or("no setting".to_owned(), ToString::to_string);
            let what = format!("the run to resume had another value of `{name}`");
            let d = Diagnostic::error(codes::RESUME_MISMATCH, what);
            findings.push(d.note(format!("expected {before}, found {now}")).help("leave the setting out"));
        }
    }
    if !findings.is_empty() {
        return Err(findings.into());
    }
    let batch = options.set.iter().filter(|(name, _)| *name == BATCH);
    let all = recorded.iter().chain(batch).map(|(name, value)| (name.clone(), value.clone()));
    Ok(all.collect())
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
    let Some(node) = &options.evaluate else { return Ok(None) };
    if interfaces(source)?.get(node).is_none() {
        return Ok(None);
    }
    let set = std::mem::take(&mut compile.clone().set);
    let options_of =
        Options { node: Some(node.clone()), set: Default::default(), defaults: set, ..compile.clone() };
    let mut family = Family::new(source, options_of, options.backend.clone())?;
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

/// Where to go on; the states `anew` are not in the checkpoint. What the options leave at its default is taken from the checkpoint; the rest must agree with it.
fn resume(
    before: &Position,
    now: &Position,
    options: &TrainOptions,
    anew: &[String],
    observer: &mut dyn Observer,
) -> Result<Position, Error> {
    let defaults = TrainOptions::default();
    let mut findings = Diagnostics::new();
    let mut check = |what: &str, agree: bool, before: &dyn std::fmt::Display, now: &dyn std::fmt::Display| {
        if !agree {
            findings.push(
                Diagnostic::error(codes::RESUME_MISMATCH, format!("the run to resume had another {what}"))
                    .note(format!("expected {before}, found {now}")),
            );
        }
    };
    let precision = |double: bool| if double { "f64" } else { "f32" };
    check("node", before.node == now.node, &before.node, &now.node);
    check("number of windows in its data", before.windows == now.windows, &before.windows, &now.windows);
    check("batch size", before.batch == now.batch, &before.batch, &now.batch);
    let seed_given = options.seed != defaults.seed;
    check("seed", !seed_given || before.seed == options.seed, &before.seed, &options.seed);
    check(
        "order of windows (shuffling)",
        options.shuffle || !before.shuffle,
        &before.shuffle,
        &options.shuffle,
    );
    let test_given = options.test != defaults.test;
    check("number of test windows", !test_given || before.test == now.test, &before.test, &now.test);
    check("precision", before.double == now.double, &precision(before.double), &precision(now.double));
    if !findings.is_empty() {
        return Err(findings.into());
    }
    for (code, what, same) in [
        (codes::PROGRAM_CHANGED, "program", before.program == now.program),
        (codes::DATA_CHANGED, "data", before.data == now.data),
    ] {
        if !same {
            let what = format!("the {what} is not the one that the checkpoint was made with");
            let mut d = Diagnostic::warning(code, what);
            if code == codes::PROGRAM_CHANGED {
                d = anew
                    .iter()
                    .fold(d, |d, key| d.note(format!("begins anew, since it is not there: {key}")));
            }
            observer.warning(&d, &rml_base::Sources::new());
        }
    }
    Ok(Position {
        program: now.program.clone(),
        data: now.data.clone(),
        columns: now.columns.clone(),
        set: now.set.clone(),
        ..before.clone()
    })
}
