//! The facts that the runs of a folder share. They decide whether the runs can continue.

use std::path::Path;

use rml_base::codes::{elab, run as codes};
use rml_base::{Diagnostic, Error, Sources};
use rml_data::{Dataset, Kept};
use rml_driver::Source;
use rml_files::{contents, write_output};
use serde_json::{Map, Value, json};

use super::super::data::OnData;
use super::super::free::Free;
use super::super::log;
use super::super::observer::Observer;
use super::super::options::{Criterion, Evaluate, TrainOptions, Validate};
use super::{RunOutcome, SweepObserver, SweepOptions, options_of};
use crate::checkpoint::{Parameters, TrainingPosition};
use crate::fingerprint;

/// The file with these facts.
pub(super) const COMMON: &str = "runs.json";
/// The entry for the length of runs in this file and in outcomes.
pub(super) const LENGTH: &str = "length";

/// Prepares a run as far as possible without files, and returns the facts that all runs share.
///
/// # Errors
/// A setting for a name that the program does not have; the error of the first run if none of them can begin.
pub(super) fn probe(
    source: &Source,
    data: &dyn Dataset,
    options: &SweepOptions,
    runs: &[RunOutcome],
    observer: &mut dyn SweepObserver,
) -> Result<Value, Error> {
    let mut first = None;
    // The seed does not affect whether a run can begin.
    for run in runs.iter().filter(|run| run.seed == runs[0].seed) {
        let train = options_of(options, run);
        match begin(source, data, &train, &mut Warnings(observer)) {
            Ok(position) => return common(&position, options),
            Err(e) if e.diagnostics().iter().any(|d| d.code == elab::UNUSED_SETTING) => return Err(e),
            Err(e) => first = first.or(Some(e)),
        }
    }
    Err(first.unwrap_or_else(|| Diagnostic::error(codes::BAD_OPTION, "there is nothing to train").into()))
}

/// Passes warnings on.
struct Warnings<'o>(&'o mut dyn SweepObserver);

impl Observer for Warnings<'_> {
    fn warning(&mut self, diagnostic: &Diagnostic, sources: &Sources) {
        self.0.warning(diagnostic, sources);
    }
}

fn begin(
    source: &Source,
    data: &dyn Dataset,
    train: &TrainOptions,
    observer: &mut dyn Observer,
) -> Result<TrainingPosition, Error> {
    match &train.length {
        Some(length) => Ok(Free::new(source, length, train, observer)?.position().clone()),
        None => Ok(OnData::new(source, data, train, observer)?.position().clone()),
    }
}

/// The facts that all runs share. Settings and seeds do not belong to them, so that more can be added.
fn common(position: &TrainingPosition, options: &SweepOptions) -> Result<Value, Error> {
    let SweepOptions { train, settings, seeds, .. } = options;
    let Value::Object(mut common) = log::run(position) else { return Ok(Value::Null) };
    if !seeds.is_empty() {
        common.remove("seed");
    }
    let is_swept = |name: &str| settings.iter().any(|(swept, _)| swept == name);
    if is_swept("batch") {
        common.remove("batch");
    }
    if let Some(Value::Object(set)) = common.get_mut("set") {
        set.retain(|name, _| !is_swept(name));
    }
    let sweep: Vec<&str> = settings.iter().map(|(name, _)| &**name).collect();
    let criterion = train.criterion.as_ref().map(Criterion::to_string);
    let evaluate = match &train.evaluate {
        Evaluate::Usual => None,
        Evaluate::Node(node) => Some(&**node),
        Evaluate::Nothing => Some(""),
    };
    let validate = match &train.validate {
        Some(Validate::Data(other)) => {
            Some(fingerprint::data(&**other, other.table().columns.keys().map(|name| &**name))?)
        }
        Some(Validate::Split(_)) | None => None,
    };
    let until = train.length.as_ref().and_then(|length| length.until.as_ref()).map(ToString::to_string);
    let init = train.init.as_ref().map(Parameters::checkpoint).transpose()?;
    let init = init.as_ref().map(fingerprint::states);
    let (test, validation) = position.setup.kept();
    common.extend([
        ("sweep".to_owned(), json!(sweep)),
        ("seeds".to_owned(), json!(!seeds.is_empty())),
        ("program".to_owned(), json!(position.origin.program)),
        ("data".to_owned(), json!(position.origin.data)),
        ("test".to_owned(), kept(test)),
        ("validation".to_owned(), kept(validation)),
        ("validation data".to_owned(), json!(validate)),
        ("evaluate".to_owned(), json!(evaluate)),
        ("metric".to_owned(), json!(criterion)),
        ("patience".to_owned(), json!(train.patience)),
        ("until".to_owned(), json!(until)),
        ("samples".to_owned(), json!(options.samples.map(|samples| samples.seed))),
        (
            "prune".to_owned(),
            json!(options.prune.map(|prune| format!("{} from {}", prune.rule, prune.first))),
        ),
        ("init".to_owned(), json!(init)),
        ("report".to_owned(), json!(position.reached.length.as_ref().map(|done| done.report))),
        (LENGTH.to_owned(), length(train)),
    ]);
    Ok(Value::Object(common))
}

/// The windows that are kept: their number, and whether they are the last ones.
fn kept(kept: Kept) -> Value {
    if kept.last { json!(kept.to_string()) } else { json!(kept.count) }
}

/// The length of runs, which may grow when they continue.
pub(super) fn length(train: &TrainOptions) -> Value {
    match &train.length {
        None => json!({"epochs": train.epochs}),
        Some(length) => json!({"windows": length.windows, "cycles": length.cycles}),
    }
}

/// Whether runs of one length can continue to another one: it is at least as long, and limits the same quantities.
pub(super) fn reaches(before: &Value, now: &Value) -> bool {
    let (Some(before), Some(now)) = (before.as_object(), now.as_object()) else { return false };
    let is_no_less = |(limit, now): (&String, &Value)| match (before.get(limit), now) {
        (Some(before), now) if before == now => true,
        (Some(before), now) => before.as_u64().zip(now.as_u64()).is_some_and(|(before, now)| before <= now),
        (None, _) => false,
    };
    before.len() == now.len() && now.iter().all(is_no_less)
}

/// Whether an epoch or report is within the length of runs.
pub(super) fn is_within(train: &TrainOptions, row: &log::Row) -> bool {
    let number = |name: &str| row.get(name).and_then(Value::as_u64);
    match &train.length {
        None => number("epoch").is_none_or(|epoch| epoch <= train.epochs),
        Some(length) => length.windows.zip(number("windows")).is_none_or(|(most, windows)| windows <= most),
    }
}

/// Compares the facts with those in the folder, or writes them there. Runs may be longer than before.
///
/// # Errors
/// The folder has runs with other facts, or longer runs.
pub(super) fn check(folder: &Path, common: &Value) -> Result<(), Error> {
    let path = folder.join(COMMON);
    if !path.exists() {
        return write_output(&path, format!("{common:#}\n").as_bytes());
    }
    let before: Option<Map<String, Value>> = serde_json::from_slice(&contents::data(&path)?.bytes).ok();
    let Some(before) = before else {
        let what = format!("{} does not say what the runs in its folder have in common", path.display());
        let d = Diagnostic::error(codes::MALFORMED_DATA, what);
        return Err(d.note("expected a JSON object").help("take another folder (`--runs DIR`)").into());
    };
    let now = common.as_object().into_iter().flatten();
    let differ = now.filter(|(key, now)| match before.get(*key).unwrap_or(&Value::Null) {
        before if *key == LENGTH => !reaches(before, now),
        before => before != *now,
    });
    let notes: Vec<String> = differ
        .map(|(key, now)| format!("{key}: expected {}, found {now}", before.get(key).unwrap_or(&Value::Null)))
        .collect();
    if notes.is_empty() {
        if before.get(LENGTH) != common.get(LENGTH) {
            write_output(&path, format!("{common:#}\n").as_bytes())?;
        }
        return Ok(());
    }
    let what = format!("the runs in {} were made with other options", folder.display());
    let d = Diagnostic::error(codes::RESUME_MISMATCH, what);
    let d = notes.into_iter().fold(d, |d, note| d.note(note));
    Err(d
        .help("take another folder (`--runs DIR`), or give the options of those runs; seeds and values may be added, and runs may be longer")
        .into())
}
