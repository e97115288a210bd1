//! The settings that a resumed run restores from its checkpoint, and the options that must agree with it. A setting is
//! never ignored: it agrees, or it is refused with both values.

use std::fmt::Display;

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics, Error, Sources};
use rml_data::{Kept, Recipe};
use rml_driver::BATCH;
use rml_ir::Precision;

use super::observer::Observer;
use super::options::TrainOptions;
use super::ranks::Ranks;
use crate::checkpoint::{Reached, Setup, TrainingPosition};
use crate::settings::Settings;

/// The terms of a run that do not depend on the data.
pub(super) struct Terms {
    pub(super) node: String,
    /// Static parameters; the dimension `batch` among them comes from the options.
    pub(super) set: Settings,
    pub(super) precision: Precision,
    pub(super) seed: u64,
    /// Whether windows are shuffled, if this is known.
    pub(super) shuffle: Option<bool>,
    /// How many shards a step has.
    pub(super) shards: usize,
}

/// The options, completed by the run to resume, or by defaults.
///
/// # Errors
/// All options that contradict the run to resume.
pub(super) fn terms(options: &TrainOptions, before: Option<&TrainingPosition>) -> Result<Terms, Error> {
    let Some(TrainingPosition { setup: before, reached, set, preparation, .. }) = before else {
        return Ok(Terms {
            node: options.node.clone().unwrap_or_else(|| "train".to_owned()),
            set: options.set.clone(),
            precision: options.precision,
            seed: options.seed.unwrap_or_default(),
            shuffle: options.shuffle,
            shards: options.shards.unwrap_or_else(|| options.group().map_or(1, Ranks::size)),
        });
    };
    let mut findings = Diagnostics::new();
    let node = options.node.as_ref().unwrap_or(&before.node);
    check(&mut findings, "node", &before.node, node);
    check(&mut findings, "seed", &before.seed, &options.seed.unwrap_or(before.seed));
    let order = |shuffle: bool| if shuffle { "shuffled" } else { "that of the data" };
    let shuffle = options.shuffle.unwrap_or(before.shuffle);
    check(&mut findings, "order of windows", order(before.shuffle), order(shuffle));
    let start = |restarts: bool| if restarts { "restarting in each epoch" } else { "continuing" };
    let restarts = before.restarts && !options.keep_states;
    check(&mut findings, "treatment of states", start(before.restarts), start(restarts));
    // Single precision is the default, so it cannot be told from no option.
    let double = before.double || options.precision == Precision::F64;
    let precision = |double| if double { Precision::F64 } else { Precision::F32 };
    check(&mut findings, "precision", &precision(before.double), &precision(double));
    let shards = options.shards.unwrap_or(before.shards);
    check(&mut findings, "number of shards", &before.shards, &shards);
    let set = settings(&options.set, set.as_ref(), &mut findings);
    findings.extend(beyond(options, reached));
    findings.extend(other_recipe(&options.recipe, &preparation.asked));
    findings.extend(other_cut(&options.recipe, &preparation.asked));
    if !findings.is_empty() {
        return Err(findings.into());
    }
    let (seed, shuffle) = (before.seed, Some(before.shuffle));
    Ok(Terms { node: before.node.clone(), set, precision: precision(before.double), seed, shuffle, shards })
}

/// The error of a run that has already exceeded the requested length, or that has another kind of length.
fn beyond(options: &TrainOptions, before: &Reached) -> Option<Diagnostic> {
    let (what, note, help) = match (&options.length, &before.length) {
        (None, None) => {
            let begun =
                if before.done == 0 { String::new() } else { format!(" and {} windows", before.done) };
            let epochs = options.epochs;
            let is_beyond = epochs < before.epoch || (epochs == before.epoch && before.done > 0);
            is_beyond.then(|| {
                (
                    "the run to resume is beyond the number of epochs",
                    format!("expected more than {} epochs{begun}, found {epochs}", before.epoch),
                    "say how many epochs there are to be in all, those done before included (`--epochs N`)",
                )
            })?
        }
        (Some(length), Some(done)) => {
            let windows = length.windows.filter(|windows| *windows < done.windows)?;
            (
                "the run to resume is beyond the number of windows",
                format!("expected at least {}, found {windows}", done.windows),
                "say how many windows there are to be in all, those done before included (`--windows N`)",
            )
        }
        (Some(_), None) => (
            "the run to resume was trained on data",
            "expected the data that it was trained on, found none".to_owned(),
            "give the data (`--data FILE`)",
        ),
        (None, Some(_)) => (
            "the run to resume was trained without data",
            "expected how long to train, found data".to_owned(),
            "leave the data out, and say how long to train (`--windows N`)",
        ),
    };
    Some(Diagnostic::error(codes::RESUME_MISMATCH, what).note(note).help(help))
}

/// The error of a preparation that differs from that of the run to resume.
fn other_recipe(now: &Recipe, before: &Recipe) -> Option<Diagnostic> {
    let same = (&now.classes, &now.fills, &now.standardised)
        == (&before.classes, &before.fills, &before.standardised);
    if now.prepares_nothing() || same {
        return None;
    }
    let what = "the run to resume prepared its data in another way";
    let fills = |recipe: &Recipe| {
        recipe.fills.iter().map(|(input, fill)| format!("fill {input}={fill}")).collect::<Vec<_>>()
    };
    let shown = |recipe: &Recipe| {
        let classes = recipe.classes.iter().map(|(input, all)| format!("classes {input}={}", all.join(",")));
        let scales = recipe.standardised.iter().map(|input| format!("standardise {input}"));
        let all: Vec<String> = classes.chain(fills(recipe)).chain(scales).collect();
        if all.is_empty() { "nothing".to_owned() } else { all.join("; ") }
    };
    let d = Diagnostic::error(codes::RESUME_MISMATCH, what);
    let d = d.note(format!("expected {}, found {}", shown(before), shown(now)));
    Some(d.help("leave `--classes`, `--fill` and `--standardise` out: they are in the checkpoint"))
}

/// The error of windows that are cut in another way than in the run to resume.
fn other_cut(now: &Recipe, before: &Recipe) -> Option<Diagnostic> {
    if now.cut.clone().or(before.cut.clone()) == before.cut {
        return None;
    }
    let what = "the run to resume cut its data into other windows";
    let shown = |recipe: &Recipe| match recipe.cut.to_string() {
        nothing if nothing.is_empty() => "a row for each window".to_owned(),
        cut => cut,
    };
    let d = Diagnostic::error(codes::RESUME_MISMATCH, what);
    let d = d.note(format!("expected {}, found {}", shown(before), shown(now)));
    Some(d.help("leave the options out that say what a window is: they are in the checkpoint"))
}

/// The static parameters of the run to resume, and the dimension `batch` as it is given now.
fn settings(now: &Settings, recorded: Option<&Settings>, findings: &mut Diagnostics) -> Settings {
    let Some(recorded) = recorded else { return now.clone() };
    for (name, now) in now.iter().filter(|(name, _)| *name != BATCH) {
        let before = recorded.get(name).map_or("no setting".to_owned(), ToString::to_string);
        check(findings, &format!("value of `{name}`"), &*before, &*now.to_string());
    }
    let batch = now.iter().filter(|(name, _)| *name == BATCH);
    recorded.iter().chain(batch).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Adds a finding if a given setting differs from that of the run to resume.
fn check<T: Display + PartialEq + ?Sized>(findings: &mut Diagnostics, what: &str, before: &T, now: &T) {
    if before != now {
        findings.push(
            Diagnostic::error(codes::RESUME_MISMATCH, format!("the run to resume had another {what}"))
                .note(format!("expected {before}, found {now}"))
                .help("leave the option out: its value is that of the checkpoint"),
        );
    }
}

/// Adds a finding if other windows are kept for a purpose than in the run to resume.
fn check_kept(findings: &mut Diagnostics, purpose: &str, before: Kept, now: Kept) {
    let differ = if before.count == now.count { "choice" } else { "number" };
    check(findings, &format!("{differ} of {purpose}"), &before, &now);
}

/// The position to continue from. The states `anew` are not in the checkpoint; `now` is the position at which a new run
/// with these options and this data would start.
///
/// # Errors
/// All data, and options about it, that contradict the run to resume.
pub(super) fn position(
    before: &TrainingPosition,
    now: &TrainingPosition,
    options: &TrainOptions,
    anew: &[String],
    observer: &mut dyn Observer,
) -> Result<TrainingPosition, Error> {
    let mut findings = Diagnostics::new();
    let (setup, setup_now) = (&before.setup, &now.setup);
    if setup.windows != setup_now.windows {
        let what = "the run to resume had another number of windows in its data";
        let note = format!("expected {}, found {}", setup.windows, setup_now.windows);
        let d = Diagnostic::error(codes::RESUME_MISMATCH, what).note(note);
        findings.push(
            d.help("`--resume` continues a run with its own data: give that, or leave `--resume` out")
                .help("to begin a new run with these parameters and other data, make a file of them alone, and give that to `--resume`: in Python, `from safetensors.numpy import load_file, save_file` and `save_file(load_file(\"OLD.safetensors\"), \"NEW.safetensors\")`"),
        );
    } else {
        check(&mut findings, "batch size", &setup.batch, &setup_now.batch);
        let ((test, validation), (test_now, validation_now)) = (setup.kept(), setup_now.kept());
        if options.test.is_some() {
            check_kept(&mut findings, "test windows", test, test_now);
        }
        if options.validate.is_some() {
            check_kept(&mut findings, "windows for validation", validation, validation_now);
        }
    }
    if !findings.is_empty() {
        return Err(findings.into());
    }
    Ok(carry_on(before, now, anew, observer))
}

/// The position to continue from, without data.
///
/// # Errors
/// Options that contradict the run to resume.
pub(super) fn position_without_data(
    before: &TrainingPosition,
    now: &TrainingPosition,
    options: &TrainOptions,
    anew: &[String],
    observer: &mut dyn Observer,
) -> Result<TrainingPosition, Error> {
    let mut findings = Diagnostics::new();
    let mut position = before.clone();
    position.setup.test = now.setup.test;
    let (done, done_now) = (&mut position.reached.length, &now.reached.length);
    if let (Some(length), Some(done), Some(now)) = (&options.length, done, done_now) {
        check(
            &mut findings,
            "number of windows in a report",
            &done.report,
            &length.report.unwrap_or(done.report),
        );
        // The number of consecutive reports applies only to the condition with which it was counted.
        if done.until.as_ref().map(|(text, _)| text) != now.until.as_ref().map(|(text, _)| text) {
            done.until.clone_from(&now.until);
        }
    }
    if !findings.is_empty() {
        return Err(findings.into());
    }
    Ok(carry_on(&position, now, anew, observer))
}

/// The position of a run that continues, with a warning about changes.
fn carry_on(
    before: &TrainingPosition,
    now: &TrainingPosition,
    anew: &[String],
    observer: &mut dyn Observer,
) -> TrainingPosition {
    for (code, what, same) in [
        (codes::PROGRAM_CHANGED, "program", before.origin.program == now.origin.program),
        (codes::DATA_CHANGED, "data", before.origin.data == now.origin.data),
    ] {
        if !same {
            let what = format!("the {what} is not the one that the checkpoint was made with");
            let mut d = Diagnostic::warning(code, what);
            if code == codes::PROGRAM_CHANGED {
                d = anew
                    .iter()
                    .fold(d, |d, key| d.note(format!("restarts, since the checkpoint lacks it: {key}")));
            }
            observer.warning(&d, &Sources::new());
        }
    }
    let setup = Setup { ragged: now.setup.ragged, ..before.setup.clone() };
    TrainingPosition { setup, origin: now.origin.clone(), set: now.set.clone(), ..before.clone() }
}
