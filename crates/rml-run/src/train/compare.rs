//! The page of several trainings, made from their logs.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};
use rml_files::contents;
use rml_pictures::{ComparedGroup, ComparedMetric, ComparedRun, RunComparison};
use serde_json::Value;

use super::log::{self, Row};
use super::options::BestBy;
use super::sweep::RunState;
use super::sweep::run::OUTCOME;
use super::sweep::table::Spread;

/// The most logs that are searched for.
const MOST: usize = 1000;
/// The state of a run without an outcome.
const NOT_ENDED: &str = "not ended";
/// The states of runs that were trained to their end.
const FINISHED: &str = RunState::Finished.name();
const MISSED: &str = RunState::Missed.name();
/// The setting that tells the runs of a group apart.
const SEED: &str = "seed";

/// A page that compares the runs of a folder.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// # let folder = tempfile::tempdir().expect("a folder");
/// use rml::{RunsPage, TrainOptions};
///
/// for seed in [1, 2] {
///     let log = Some(folder.path().join(format!("run {seed}")));
///     rml::train(&source, &data, &TrainOptions { log, seed: Some(seed), ..Default::default() }, &mut ())?;
/// }
/// let page = rml::runs_page(folder.path(), &RunsPage::default())?;
/// assert!(page.contains("run 1") && page.contains("run 2"));
/// assert_eq!(rml::run_files(folder.path()).len(), 4);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct RunsPage {
    /// The heading; by default `Runs in FOLDER`.
    pub title: Option<String>,
    /// Sentences below it.
    pub lines: Vec<String>,
    /// Whether a server sends it that says, at the address `state` beside it, when it has another one.
    pub live: bool,
}

/// The logs in a folder and in those within it, each as the folder that has it.
fn logs(folder: &Path) -> Vec<PathBuf> {
    let found = contents::files_below(&[folder.to_owned()], "jsonl", MOST);
    let found = found.into_iter().filter(|path| path.file_name().is_some_and(|name| name == log::LINES));
    found.filter_map(|path| Some(path.parent()?.to_owned())).collect()
}

/// The files that the page of a folder is made of. Another page is to be made when one of them changes.
pub fn run_files(folder: &Path) -> Vec<PathBuf> {
    logs(folder).iter().flat_map(|log| [log::LINES, OUTCOME].map(|name| log.join(name))).collect()
}

/// A page in HTML that compares all runs of a folder: those of [`sweep`](crate::sweep), and others with a
/// [log](crate::TrainOptions::log) in a folder in that one.
///
/// # Errors
/// A folder without a log; logs that cannot be read.
pub fn runs_page(folder: &Path, page: &RunsPage) -> Result<String, Error> {
    let logs = logs(folder);
    if logs.is_empty() {
        let what = format!("{} has no log of a training", folder.display());
        let d = Diagnostic::error(codes::BAD_OPTION, what);
        return Err(d
            .note("expected folders with a file `metrics.jsonl`")
            .help("`rml train --runs DIR` and `rml train --log DIR/NAME` write them")
            .into());
    }
    let runs = logs.iter().map(|log| Run::read(folder, log)).collect::<Result<Vec<_>, _>>()?;
    let has_reports = runs.iter().flat_map(|run| &run.rows).any(|row| row.contains_key("report"));
    let settings = differing(&runs);
    let metrics = metrics(&runs);
    let compared = runs.iter().map(|run| run.compared(&settings, &metrics)).collect::<Vec<_>>();
    let ended = runs.iter().filter(|run| run.state.is_some()).count();
    let plural = if runs.len() == 1 { "" } else { "s" };
    let outcome = match ended {
        0 => format!("{} run{plural}", runs.len()),
        _ => format!("{} run{plural}, of which {ended} have ended", runs.len()),
    };
    let of_metric = |name: &String| ComparedMetric {
        title: title(name),
        is_high: BestBy::usual(name).map(|direction| direction == BestBy::Max),
    };
    let comparison = RunComparison {
        title: page.title.clone().unwrap_or_else(|| format!("Runs in {}", folder.display())),
        outcome: outcome + ".",
        lines: page.lines.clone(),
        steps: if has_reports { "report" } else { "epoch" }.to_owned(),
        metrics: metrics.iter().map(of_metric).collect(),
        settings,
        groups: groups(&compared, metrics.len()),
        runs: compared,
        live: page.live.then(|| "The server has ended.".to_owned()),
    };
    Ok(comparison.to_html())
}

/// The groups with several runs that have ended or have no outcome, each with its interquartile means.
fn groups(runs: &[ComparedRun], metrics: usize) -> Vec<ComparedGroup> {
    let mut groups: IndexMap<&str, Vec<&ComparedRun>> = IndexMap::new();
    let counts = |run: &&ComparedRun| [FINISHED, MISSED, NOT_ENDED].contains(&&*run.state);
    for run in runs.iter().filter(counts) {
        groups.entry(&run.group).or_default().push(run);
    }
    let several = groups.into_iter().filter(|(_, runs)| runs.len() > 1);
    let value = |runs: &[&ComparedRun], metric: usize| {
        let values: Vec<f64> = runs.iter().filter_map(|run| run.values[metric]).collect();
        Spread::of(&values).map(|spread| (spread.iqm, spread.interval))
    };
    let group = |(name, runs): (&str, Vec<&ComparedRun>)| ComparedGroup {
        name: name.to_owned(),
        runs: runs.len(),
        values: (0..metrics).map(|metric| value(&runs, metric)).collect(),
    };
    several.map(group).collect()
}

/// A metric as it is told: `test.loss` as `test loss`.
fn title(name: &str) -> String {
    if name.contains('.') { name.replacen('.', " ", 1) } else { format!("train {name}") }
}

/// A run as its folder has it.
struct Run {
    name: String,
    rows: Vec<Row>,
    settings: IndexMap<String, String>,
    /// How it ended, if it says so.
    state: Option<String>,
}

impl Run {
    fn read(root: &Path, folder: &Path) -> Result<Self, Error> {
        let within = folder.strip_prefix(root).unwrap_or(folder);
        let name = if within.as_os_str().is_empty() { folder } else { within };
        let object = |file: &str| {
            let found = contents::data(&folder.join(file)).ok();
            found.and_then(|file| serde_json::from_slice::<Value>(&file.bytes).ok()).unwrap_or_default()
        };
        let (about, outcome) = (object(log::RUN), object(OUTCOME));
        let mut settings = IndexMap::new();
        for (name, value) in about.as_object().into_iter().flatten() {
            match value {
                Value::Object(set) => {
                    settings.extend(set.iter().map(|(name, value)| (name.clone(), text(value))))
                }
                value => drop(settings.insert(name.clone(), text(value))),
            }
        }
        Ok(Self {
            name: name.display().to_string(),
            rows: log::logged(folder)?,
            settings,
            state: outcome["state"].as_str().map(str::to_owned),
        })
    }

    /// The epoch or report whose metrics are the result: the best one where the run searches for it, else the last.
    fn result(&self) -> Option<&Row> {
        let last = self.rows.last()?;
        let best = last.get("best").and_then(|best| best.get("epoch")?.as_u64());
        best.and_then(|best| self.rows.iter().rfind(|row| log::number(row) == Some(best))).or(Some(last))
    }

    fn compared(&self, settings: &[String], metrics: &[String]) -> ComparedRun {
        let setting = |name: &String| self.settings.get(name).cloned().unwrap_or_default();
        let group: Vec<String> = settings
            .iter()
            .filter(|name| *name != SEED)
            .map(|name| format!("{name}={}", setting(name)))
            .collect();
        let result = self.result().map(log::metrics).unwrap_or_default();
        let value = |name: &String| result.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        let mut curves = vec![Vec::new(); metrics.len()];
        for row in &self.rows {
            let Some(step) = log::number(row) else { continue };
            for (name, value) in log::metrics(row) {
                if let Some(at) = metrics.iter().position(|known| *known == name) {
                    curves[at].push((step as f64, value));
                }
            }
        }
        ComparedRun {
            name: self.name.clone(),
            state: self.state.clone().unwrap_or_else(|| NOT_ENDED.to_owned()),
            group: group.join(", "),
            settings: settings.iter().map(setting).collect(),
            step: self.result().and_then(log::number),
            values: metrics.iter().map(value).collect(),
            seconds: self.rows.iter().filter_map(|row| row.get("seconds")?.as_f64()).sum(),
            curves,
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The settings in which runs differ.
fn differing(runs: &[Run]) -> Vec<String> {
    let mut names: Vec<&String> = Vec::new();
    for name in runs.iter().flat_map(|run| run.settings.keys()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.retain(|name| runs.iter().any(|run| run.settings.get(*name) != runs[0].settings.get(*name)));
    // The seed comes last.
    names.sort_by_key(|name| *name == SEED);
    names.into_iter().cloned().collect()
}

/// The metrics of all runs: first those of other windows than the ones that were trained on.
fn metrics(runs: &[Run]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in runs.iter().flat_map(|run| &run.rows).flat_map(log::metrics) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.sort_by_key(|name| !name.contains('.'));
    names
}
