//! The log of a training: a folder with the results of each epoch or report, as JSON lines, as a table, and as events
//! for TensorBoard.
//!
//! The JSON lines are authoritative; the other two files are made from them. A resumed run removes the lines after its
//! checkpoint, since it trains these epochs again.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};
use rml_files::{Growing, contents, create_folder, write_output};
use serde_json::{Map, Value, json};

use super::keeper::{Keeper, Names, Now};
use super::observer::EpochSummary;
use super::options::TrainOptions;
use crate::checkpoint::TrainingPosition;

mod events;

/// The file that identifies the run of a folder.
pub(super) const RUN: &str = "run.json";
/// The file with a line for each epoch or report.
pub(super) const LINES: &str = "metrics.jsonl";
const TABLE: &str = "metrics.csv";
/// TensorBoard reads only files with `tfevents` in their names.
const EVENTS: &str = "events.out.tfevents.rml";
/// The files of a log, in its folder ([`TrainOptions::log`](crate::TrainOptions::log)).
pub const FILES: [&str; 4] = [RUN, LINES, TABLE, EVENTS];

/// An epoch or report: a line of the log.
pub(super) type Row = Map<String, Value>;

/// A log to which epochs or reports are added.
#[derive(Debug)]
pub(super) struct Log {
    lines: Growing,
    table: Growing,
    events: Growing,
    columns: Vec<Column>,
}

/// A column of the table: the path of an entry in a line.
#[derive(Debug)]
struct Column {
    name: String,
    path: Vec<String>,
}

impl Log {
    /// Begins a log in a folder, or continues the log of the resumed run.
    ///
    /// # Errors
    /// A folder that cannot be written, or has the log of another run.
    pub(super) fn open(
        folder: &Path,
        names: &Names,
        position: &TrainingPosition,
        options: &TrainOptions,
    ) -> Result<Self, Error> {
        let run = run(position);
        let is_there = FILES.iter().any(|name| folder.join(name).exists());
        let rows = match (is_there, options.resume.is_some()) {
            (false, _) => Vec::new(),
            (true, false) => return Err(exists(folder).into()),
            (true, true) => rows(folder, &run, position.reached.epoch)?,
        };
        create_folder(folder)?;
        let columns = columns(names, position.reached.length.is_some());
        let header = columns.iter().map(|c| &*c.name).collect::<Vec<_>>().join(",") + "\n";
        let mut table = header.into_bytes();
        let mut lines = Vec::new();
        let mut events = events::beginning(rows.first().map_or_else(now, time));
        for row in &rows {
            lines.extend(line(row));
            table.extend(cells(row, &columns));
            events.extend(event(row));
        }
        let begin = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            write_output(&path, bytes)?;
            Growing::open(&path)
        };
        begin(RUN, format!("{run:#}\n").as_bytes())?;
        let (lines, table, events) = (begin(LINES, &lines)?, begin(TABLE, &table)?, begin(EVENTS, &events)?);
        Ok(Self { lines, table, events, columns })
    }

    /// Adds an epoch or report.
    ///
    /// # Errors
    /// A file that cannot be written.
    fn add(&mut self, summary: &EpochSummary) -> Result<(), Error> {
        let mut row = summary.json();
        row.insert("time".to_owned(), json!(now()));
        self.lines.write(&line(&row))?;
        self.table.write(&cells(&row, &self.columns))?;
        self.events.write(&event(&row))
    }
}

impl Keeper for Log {
    fn epoch(&mut self, summary: &mut EpochSummary, now: &mut Now<'_>) -> Result<(), Error> {
        // After a failure, the later keepers still save the checkpoint before the training ends.
        let unlogged = |e: Error| e.note(format!("this is not in the log: {}", summary.json_line()));
        now.failed = self.add(summary).err().map(unlogged);
        Ok(())
    }

    fn rest(&mut self, summary: &mut EpochSummary, _: &mut Now<'_>) -> Result<(), Error> {
        self.add(summary)
    }
}

/// The facts that identify a run, which a resumed run shares with the earlier one.
pub(super) fn run(position: &TrainingPosition) -> Value {
    let setup = &position.setup;
    let set = position.set.iter().flatten().map(|(name, value)| (name.clone(), value.to_string().into()));
    let mut facts = json!({
        "node": setup.node,
        "seed": setup.seed,
        "double": setup.double,
        "batch": setup.batch,
        "shuffle": setup.shuffle,
        "windows": setup.windows,
        "set": Value::Object(set.collect()),
    });
    if setup.restarts {
        facts["restarts"] = true.into();
    }
    facts
}

fn exists(folder: &Path) -> Diagnostic {
    Diagnostic::error(codes::LOG_EXISTS, format!("{} has the log of a run already", folder.display()))
        .note("it is left as it is")
        .help("log to another folder (`--log DIR`), or continue that run (`--resume FILE`)")
}

/// The rows of the log up to an epoch or report.
fn rows(folder: &Path, run: &Value, epoch: u64) -> Result<Vec<Row>, Error> {
    let before = read(&folder.join(RUN))?;
    let before: Option<Value> = serde_json::from_slice(&before.bytes).ok();
    if before.as_ref() != Some(run) {
        let what = format!("the log in {} is that of another run", folder.display());
        let found = before.map_or("none".to_owned(), |before| before.to_string());
        return Err(Diagnostic::error(codes::RESUME_MISMATCH, what)
            .note(format!("expected {run}, found {found}"))
            .help("log to the folder of the run to resume, or to a new one (`--log DIR`)")
            .into());
    }
    let mut rows = logged(folder)?;
    rows.retain(|row| number(row).is_some_and(|n| n <= epoch));
    Ok(rows)
}

/// All rows of the log in a folder.
pub(super) fn logged(folder: &Path) -> Result<Vec<Row>, Error> {
    let path = folder.join(LINES);
    let file = read(&path)?;
    let mut rows = Vec::new();
    let mut all = file.bytes.split_inclusive(|byte| *byte == b'\n').enumerate().peekable();
    while let Some((at, line)) = all.next() {
        let row: Option<Row> = serde_json::from_slice(line).ok();
        match row.filter(|row| number(row).is_some()) {
            Some(row) => rows.push(row),
            // The process was ended while it wrote this line.
            None if all.peek().is_none() => {}
            None => {
                let what = format!("{} is not the log of a training", path.display());
                let note = format!("line {} is not a JSON object of an epoch or a report", at + 1);
                return Err(Diagnostic::error(codes::MALFORMED_DATA, what)
                    .note(note)
                    .help("log to a new folder (`--log DIR`)")
                    .into());
            }
        }
    }
    Ok(rows)
}

/// Removes the log in a folder, if there is one.
///
/// # Errors
/// A file that cannot be removed.
pub(super) fn remove(folder: &Path) -> Result<(), Error> {
    [LINES, TABLE, EVENTS, RUN].iter().try_for_each(|name| rml_files::remove(&folder.join(name)))
}

fn read(path: &Path) -> Result<contents::Contents, Error> {
    Ok(contents::data(path)?)
}

fn line(row: &Row) -> Vec<u8> {
    let mut line = Value::Object(row.clone()).to_string().into_bytes();
    line.push(b'\n');
    line
}

/// The number of the epoch or report.
pub(super) fn number(row: &Row) -> Option<u64> {
    row.get("epoch").or_else(|| row.get("report"))?.as_u64()
}

fn time(row: &Row) -> f64 {
    row.get("time").and_then(Value::as_f64).unwrap_or_default()
}

/// A line of the table. A metric without a value has an empty cell.
fn cells(row: &Row, columns: &[Column]) -> Vec<u8> {
    let cell = |column: &Column| {
        let (first, rest) = column.path.split_first()?;
        let value = rest.iter().try_fold(row.get(first)?, |value, name| value.get(name))?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let cells: Vec<String> = columns.iter().map(|column| cell(column).unwrap_or_default()).collect();
    (cells.join(",") + "\n").into_bytes()
}

/// The parts of a line that contain metrics, and the prefixes of their names in the table.
const PARTS: [(&str, &str); 3] = [("train", ""), ("validation", "validation."), ("test", "test.")];

/// The part of a line that contains the statistics of parameters.
const PARAMETERS: &str = "parameters";

/// The part of a line that contains the norms of all parameters together.
const NORMS: &str = "norms";

fn columns(names: &Names, has_reports: bool) -> Vec<Column> {
    let first: &[&str] = if has_reports {
        &["report", "windows", "cycles", "seconds", "time"]
    } else {
        &["epoch", "seconds", "time"]
    };
    let first = first.iter().map(|name| Column { name: (*name).to_owned(), path: vec![(*name).to_owned()] });
    let metrics = PARTS.into_iter().zip([&names.train, &names.validation, &names.test]);
    let metrics = metrics.flat_map(|((part, lead), names)| {
        let column = move |name: &String| Column {
            name: format!("{lead}{name}"),
            path: vec![part.to_owned(), name.clone()],
        };
        names.iter().map(column)
    });
    let norms: &[&str] = if names.parameters.is_empty() { &[] } else { &["norm", "update", "gradient"] };
    let norms = norms.iter().map(|name| Column {
        name: format!("{PARAMETERS}.{name}"),
        path: vec![NORMS.to_owned(), (*name).to_owned()],
    });
    let stats = names.parameters.iter().flat_map(|key| {
        ["mean", "std", "norm", "update", "gradient"].map(|name| Column {
            name: format!("{key}.{name}"),
            path: vec![PARAMETERS.to_owned(), key.clone(), name.to_owned()],
        })
    });
    first.chain(metrics).chain(norms).chain(stats).collect()
}

/// The metrics of a line, under their names in the table.
pub(super) fn metrics(row: &Row) -> Vec<(String, f64)> {
    numbers(row).map(|((_, lead), name, value)| (format!("{lead}{name}"), value)).collect()
}

/// The metrics of a line: part, name and value.
fn numbers(row: &Row) -> impl Iterator<Item = ((&'static str, &'static str), &str, f64)> {
    PARTS.iter().flat_map(|part| {
        let metrics = row.get(part.0).and_then(Value::as_object).into_iter().flatten();
        metrics.filter_map(move |(name, x)| Some((*part, name.as_str(), float(x)?)))
    })
}

/// A number; a number that is not finite is written as a string.
fn float(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// The event of an epoch or report: `train/loss`, `parameters/classify_0.kernel/norm` and so on.
fn event(row: &Row) -> Vec<u8> {
    let metrics = numbers(row).map(|((part, _), name, value)| (format!("{part}/{name}"), value));
    let stats = row.get(PARAMETERS).and_then(Value::as_object).into_iter().flatten();
    let stats = stats.flat_map(|(key, stats)| {
        let stats = stats.as_object().into_iter().flatten();
        stats.filter_map(move |(name, x)| Some((format!("{PARAMETERS}/{key}/{name}"), float(x)?)))
    });
    let norms = row.get(NORMS).and_then(Value::as_object).into_iter().flatten();
    let norms = norms.filter_map(|(name, x)| Some((format!("{PARAMETERS}/{name}"), float(x)?)));
    events::scalars(time(row), number(row).unwrap_or_default(), metrics.chain(norms).chain(stats))
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
