//! Continues one of several runs from the contents of its folder to its outcome.

use std::path::Path;

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};
use rml_data::Dataset;
use rml_driver::Source;
use rml_files::{FileStamp, contents, create_folder, try_hold, write_output};
use serde_json::{Value, json};

use super::super::{log, options::TrainOptions};
use super::common::{self, LENGTH};
use super::{Job, LOCK, RunOutcome, RunState, SweepOptions, best_file, options_of, seeks_best};
use crate::runner::json_number;

/// The file with the outcome of a run.
pub(in crate::train) const OUTCOME: &str = "outcome.json";
const CHECKPOINT: &str = "checkpoint.safetensors";

/// A mark that distinguishes the outcome in a folder from later ones; none if there is no outcome.
pub(super) fn mark(folder: &Path) -> Option<FileStamp> {
    rml_files::mark(&folder.join(OUTCOME))
}

/// Reads the outcome of a run if it was trained to the requested length; with `failed`, also if it failed.
///
/// # Errors
/// Files that cannot be read.
pub(super) fn read(
    folder: &Path,
    options: &SweepOptions,
    run: &mut RunOutcome,
    failed: bool,
) -> Result<(), Error> {
    let path = folder.join(OUTCOME);
    if !path.exists() {
        return Ok(());
    }
    let outcome: Option<Value> = serde_json::from_slice(&contents::data(&path)?.bytes).ok();
    let is_as_long = |outcome: &&Value| common::reaches(&common::length(&options.train), &outcome[LENGTH]);
    run.state = match outcome.as_ref().filter(is_as_long).and_then(|outcome| outcome["state"].as_str()) {
        // A run that ended early was trained to the length at which it was compared.
        Some("finished" | "pruned") => RunState::Finished,
        Some("missed") => RunState::Missed,
        Some("failed") if failed => RunState::Failed(failure(outcome.as_ref())),
        _ => return Ok(()), // it is trained again
    };
    from_log(folder, options, run)
}

/// Whether a run ended early.
pub(super) fn is_pruned(folder: &Path) -> bool {
    let outcome = contents::data(&folder.join(OUTCOME)).ok();
    let outcome = outcome.and_then(|file| serde_json::from_slice::<Value>(&file.bytes).ok());
    outcome.is_some_and(|outcome| outcome["state"] == RunState::Pruned.name())
}

/// Writes the outcome of a run.
pub(super) fn write(folder: &Path, run: &RunOutcome, options: &SweepOptions) -> Result<(), Error> {
    write_output(&folder.join(OUTCOME), format!("{:#}\n", outcome(run, options)).as_bytes())
}

/// The error recorded in an outcome.
fn failure(outcome: Option<&Value>) -> Error {
    let error = outcome.map_or(&Value::Null, |outcome| &outcome["error"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let code = rml_base::codes::find(&text(&error["code"])).unwrap_or(codes::MALFORMED_DATA);
    let list = |name: &str| error[name].as_array().into_iter().flatten().map(text);
    let d = list("notes").fold(Diagnostic::error(code, text(&error["message"])), |d, note| d.note(note));
    list("help").fold(d, |d, help| d.help(help)).into()
}

/// Trains the rest of a run, and writes its outcome. Returns false if another process trains it. If another process has
/// ended the run since the command began, its outcome is used.
pub(super) fn train(source: &Source, data: &dyn Dataset, options: &SweepOptions, job: &mut Job) -> bool {
    if options.train.is_interrupted() {
        return true;
    }
    let Job { run, before, .. } = job;
    let folder = options.folder.join(&run.name);
    let _held = match create_folder(&folder).and_then(|()| try_hold(&folder, LOCK)) {
        Ok(None) => return false,
        Ok(Some(held)) => held,
        Err(e) => {
            run.state = RunState::Failed(e);
            return true;
        }
    };
    if mark(&folder) != *before {
        if let Err(e) = read(&folder, options, run, true) {
            run.state = RunState::Failed(e);
        }
        if !matches!(run.state, RunState::Interrupted) {
            return true;
        }
    }
    finish(source, data, options, run, &folder);
    *before = mark(&folder);
    true
}

fn finish(source: &Source, data: &dyn Dataset, options: &SweepOptions, run: &mut RunOutcome, folder: &Path) {
    run.state = go_on(source, data, options, run, folder).unwrap_or_else(RunState::Failed);
    if matches!(run.state, RunState::Interrupted) {
        return;
    }
    let told = from_log(folder, options, run).and_then(|()| write(folder, run, options));
    if let (Err(e), RunState::Finished | RunState::Missed) = (told, &run.state) {
        run.state = RunState::Failed(e);
    }
}

fn go_on(
    source: &Source,
    data: &dyn Dataset,
    options: &SweepOptions,
    run: &RunOutcome,
    folder: &Path,
) -> Result<RunState, Error> {
    let checkpoint = folder.join(CHECKPOINT);
    let resume = checkpoint.exists().then(|| checkpoint.clone());
    let name = options.train.episodes.as_ref().and_then(|episodes| episodes.file.as_ref()?.file_name());
    let episodes = name.map(|name| folder.join(name));
    if resume.is_none() {
        // This is the log of a run that was interrupted before its first checkpoint.
        log::remove(folder)?;
        episodes.iter().try_for_each(|file| rml_files::remove(file))?;
    }
    let mut train = TrainOptions {
        save: Some(checkpoint),
        resume,
        log: Some(folder.to_owned()),
        best: seeks_best(options).then(|| best_file(folder)),
        ..options_of(options, run)
    };
    if let Some(asked) = &mut train.episodes {
        asked.file = episodes;
    }
    let report = super::super::train(source, data, &train, &mut ())?;
    Ok(match report.is_met {
        _ if report.interrupted => RunState::Interrupted,
        Some(false) => RunState::Missed,
        _ => RunState::Finished,
    })
}

/// Reads the metrics of a run from its log: those of the best epoch if it was requested, or else of the last one. A log
/// of a longer run is read up to the requested length.
fn from_log(folder: &Path, options: &SweepOptions, run: &mut RunOutcome) -> Result<(), Error> {
    let rows = match log::logged(folder) {
        // A run that could not begin has no log.
        Err(e) if e.code() == Some(codes::UNREADABLE_FILE) && !run.is_trained() => return Ok(()),
        rows => rows?,
    };
    let rows: Vec<log::Row> = rows.into_iter().filter(|row| common::is_within(&options.train, row)).collect();
    run.seconds = rows.iter().filter_map(|row| row.get("seconds")?.as_f64()).fold(0.0, |a, b| a + b);
    let last = rows.last();
    let best = last.and_then(|row| row.get("best")?.get("epoch")?.as_u64()).filter(|_| seeks_best(options));
    let best = best.and_then(|epoch| rows.iter().rfind(|row| log::number(row) == Some(epoch)));
    if let Some(row) = best.or(last) {
        run.epoch = log::number(row);
        run.metrics = log::metrics(row);
    }
    Ok(())
}

/// The outcome of a run, as JSON.
fn outcome(run: &RunOutcome, options: &SweepOptions) -> Value {
    let set = run.settings.iter().map(|(name, value)| (name.clone(), Value::from(value.to_string())));
    let metrics = run.metrics.iter().map(|(name, value)| (name.clone(), json_number(*value)));
    let error =
        |d: &Diagnostic| json!({"code": d.code.name, "message": d.message, "notes": d.notes, "help": d.help});
    let error = run.state.error().map(error);
    let mut outcome = json!({
        "state": run.state.name(),
        "set": Value::Object(set.collect()),
        "seed": run.seed,
        "epoch": run.epoch,
        "metrics": Value::Object(metrics.collect()),
        "seconds": run.seconds,
        LENGTH: common::length(&options.train),
    });
    if let (Some(error), Value::Object(outcome)) = (error, &mut outcome) {
        outcome.insert("error".to_owned(), error);
    }
    outcome
}
