//! The tables of several runs: the mean and spread of each metric over the seeds, and the results of each run.

use rml_base::{Diagnostic, table};
use serde_json::{Map, Value, json};

use super::interval::{interquartile_mean, interval};
use super::{RunOutcome, RunState, SweepReport};
use crate::runner::json_number;
use crate::settings::Settings;

/// Statistics of a metric over the runs of a combination of settings that were trained to their end.
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
/// # use rml::SweepOptions;
/// #
/// # let options = SweepOptions {
/// #     train: rml::TrainOptions { epochs: 2, ..Default::default() },
/// #     folder: folder.path().join("runs"),
/// #     seeds: vec![0, 1, 2],
/// #     ..SweepOptions::default()
/// # };
/// # let report = rml::sweep(&source, &data, &options, &mut ())?;
/// let row = &report.table[0];
/// assert_eq!((row.runs, row.of), (3, 3));
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct SweepRow {
    /// The combination.
    pub settings: Settings,
    /// The metric: `loss`, `validation.loss`, `test.loss`.
    pub metric: String,
    /// How many runs have a value of it.
    pub runs: usize,
    /// How many runs the combination has.
    pub of: usize,
    /// The statistics of its values; `None` if no run has one.
    pub spread: Option<Spread>,
}

/// Statistics of the values of a metric.
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
/// # use rml::SweepOptions;
/// #
/// # let options = SweepOptions {
/// #     train: rml::TrainOptions { epochs: 2, ..Default::default() },
/// #     folder: folder.path().join("runs"),
/// #     seeds: vec![0, 1, 2],
/// #     ..SweepOptions::default()
/// # };
/// # let report = rml::sweep(&source, &data, &options, &mut ())?;
/// let spread = report.table[0].spread.as_ref().expect("three runs");
/// assert!(spread.min <= spread.mean && spread.mean <= spread.max);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    /// The mean over the runs.
    pub mean: f64,
    /// The standard deviation of the runs, as an estimate from a sample; none for a single run.
    pub deviation: Option<f64>,
    /// The least value.
    pub min: f64,
    /// The greatest value.
    pub max: f64,
    /// The mean without the lowest and the highest quarter of the values, rounded down.
    pub iqm: f64,
    /// The 95 % interval of `iqm`, by a bootstrap over the runs with 2000 samples; none for a single run.
    pub interval: Option<[f64; 2]>,
}

/// The rows, combination by combination.
pub(super) fn rows(runs: &[RunOutcome]) -> Vec<SweepRow> {
    let metrics = metrics(runs.iter().filter(|run| run.is_trained()));
    let groups = runs.chunk_by(|a, b| a.settings == b.settings);
    let row = |group: &[RunOutcome], metric: &str| {
        let value = |run: &RunOutcome| Some(run.metrics.iter().find(|(name, _)| name == metric)?.1);
        let values: Vec<f64> = group.iter().filter(|run| run.is_trained()).filter_map(value).collect();
        SweepRow {
            settings: group[0].settings.clone(),
            metric: metric.to_owned(),
            runs: values.len(),
            of: group.len(),
            spread: Spread::of(&values),
        }
    };
    groups.flat_map(|group| metrics.iter().map(move |metric| row(group, metric))).collect()
}

/// The names of all metrics.
fn metrics<'r>(runs: impl Iterator<Item = &'r RunOutcome>) -> Vec<&'r str> {
    let mut metrics: Vec<&str> = Vec::new();
    for (name, _) in runs.flat_map(|run| &run.metrics) {
        if !metrics.contains(&&**name) {
            metrics.push(name);
        }
    }
    metrics
}

/// The mean, and the standard deviation as an estimate from a sample, which a single value does not have.
pub(in crate::train) fn mean_and_deviation(values: &[f64]) -> (f64, Option<f64>) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    (mean, (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt()))
}

impl Spread {
    pub(in crate::train) fn of(values: &[f64]) -> Option<Self> {
        let (mean, deviation) = mean_and_deviation(values);
        // NaN stays NaN.
        let least = |a: f64, b: f64| if b < a || b.is_nan() { b } else { a };
        let greatest = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
        Some(Self {
            mean,
            deviation,
            min: values.iter().copied().reduce(least)?,
            max: values.iter().copied().reduce(greatest)?,
            iqm: interquartile_mean(&mut values.to_vec()),
            interval: interval(values),
        })
    }

    /// The mean, the deviation, the least and the greatest value, the interquartile mean and the ends of its interval,
    /// as text. A missing value is `none`.
    fn cells(spread: Option<Self>, text: impl Fn(f64) -> String, none: &str) -> [String; 7] {
        let cell = |x: Option<f64>| x.map_or_else(|| none.to_owned(), &text);
        let part = |of: fn(Self) -> f64| cell(spread.map(of));
        let end = |i: usize| cell(spread.and_then(|s| Some(s.interval?[i])));
        let deviation = cell(spread.and_then(|s| s.deviation));
        [part(|s| s.mean), deviation, part(|s| s.min), part(|s| s.max), part(|s| s.iqm), end(0), end(1)]
    }
}

impl SweepRow {
    /// The row as a JSON object on one line.
    pub fn json_line(&self) -> String {
        json!({
            "set": set(&self.settings),
            "metric": self.metric,
            "runs": self.runs,
            "of": self.of,
            "mean": self.spread.map(|s| json_number(s.mean)),
            "std": self.spread.and_then(|s| s.deviation).map(json_number),
            "min": self.spread.map(|s| json_number(s.min)),
            "max": self.spread.map(|s| json_number(s.max)),
            "iqm": self.spread.map(|s| json_number(s.iqm)),
            "iqm_interval": self.spread.and_then(|s| s.interval).map(|ends| ends.map(json_number)),
        })
        .to_string()
    }
}

impl RunOutcome {
    /// The run as a JSON object on one line.
    pub fn json_line(&self) -> String {
        let metrics = self.metrics.iter().map(|(name, x)| (name.clone(), json_number(*x)));
        json!({
            "run": self.name,
            "set": set(&self.settings),
            "seed": self.seed,
            "state": self.state.name(),
            "epoch": self.epoch,
            "metrics": metrics.collect::<Map<_, _>>(),
            "seconds": self.seconds,
        })
        .to_string()
    }
}

impl RunState {
    /// `finished`, `missed`, `failed`, `pruned` or `interrupted`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Missed => "missed",
            Self::Failed(_) => "failed",
            Self::Pruned => "pruned",
            Self::Interrupted => "interrupted",
        }
    }

    /// Why it failed.
    pub fn error(&self) -> Option<&Diagnostic> {
        match self {
            Self::Failed(error) => error.diagnostics().iter().find(|d| d.is_error()),
            Self::Finished | Self::Missed | Self::Pruned | Self::Interrupted => None,
        }
    }
}

impl SweepReport {
    /// Whether a run failed.
    pub fn has_failed(&self) -> bool {
        self.runs.iter().any(|run| matches!(run.state, RunState::Failed(_)))
    }

    /// The table for people: the metrics of the evaluation if there are any, or else those of the training, of the
    /// combinations that did not end early. Below it, the reasons why runs failed.
    pub fn text(&self) -> String {
        let failures = self.runs.iter().filter_map(|run| {
            let d = run.state.error()?;
            let why: Vec<&str> = [&d.message].into_iter().chain(&d.notes).map(|text| &**text).collect();
            Some(format!("{} failed: {}\n", run.name, why.join("; ")))
        });
        self.metrics_text() + &failures.collect::<String>()
    }

    fn metrics_text(&self) -> String {
        let is_evaluated = |row: &&SweepRow| row.metric.contains('.');
        let evaluated = self.table.iter().any(|row| is_evaluated(&row));
        let is_out = |row: &SweepRow| {
            let mut runs = self.runs.iter().filter(|run| run.settings == row.settings);
            runs.all(|run| matches!(run.state, RunState::Pruned))
        };
        let rows = self.table.iter().filter(|row| (!evaluated || is_evaluated(row)) && !is_out(row));
        let rows: Vec<&SweepRow> = rows.collect();
        let Some(first) = rows.first() else { return String::new() };
        let names: Vec<String> = first.settings.keys().cloned().collect();
        let head =
            ["metric", "runs", "mean", "std", "min", "max", "iqm", "95 % from", "to"].map(str::to_owned);
        let mut cells = vec![[&names[..], &head].concat()];
        for row in rows {
            let runs =
                if row.runs == row.of { row.runs.to_string() } else { format!("{} of {}", row.runs, row.of) };
            let mut line: Vec<String> = row.settings.values().map(ToString::to_string).collect();
            line.extend([row.metric.replace('.', " "), runs]);
            line.extend(Spread::cells(row.spread, short, "-"));
            cells.push(line);
        }
        table(&cells, &[names.len()])
    }
}

/// A number, shortened for people.
fn short(x: f64) -> String {
    if x == 0.0 || x.abs() >= 1e-3 || !x.is_finite() { format!("{x:.4}") } else { format!("{x:.3e}") }
}

/// The rows as CSV.
pub(super) fn csv(rows: &[SweepRow]) -> String {
    let names = rows.first().into_iter().flat_map(|row| row.settings.keys().map(|name| quoted(name)));
    let head = ["metric", "runs", "of", "mean", "std", "min", "max", "iqm", "iqm low", "iqm high"];
    let head = head.map(str::to_owned);
    let mut text = line(names.chain(head));
    for row in rows {
        let settings = row.settings.values().map(|value| quoted(&value.to_string()));
        let counts = [quoted(&row.metric), row.runs.to_string(), row.of.to_string()];
        text += &line(settings.chain(counts).chain(Spread::cells(row.spread, |x| x.to_string(), "")));
    }
    text
}

/// The runs as CSV: settings, seed, state, metrics. A missing value is an empty cell.
pub(super) fn runs_csv(runs: &[RunOutcome]) -> String {
    let metrics = metrics(runs.iter());
    let names = runs.first().into_iter().flat_map(|run| run.settings.keys().map(|name| quoted(name)));
    let head = ["seed", "state", "epoch", "seconds"].map(str::to_owned);
    let mut text =
        line(names.chain(head).chain(metrics.iter().map(|name| quoted(name))).chain(["error".to_owned()]));
    for run in runs {
        let settings = run.settings.values().map(|value| quoted(&value.to_string()));
        let number = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
        let first =
            [number(run.seed), run.state.name().to_owned(), number(run.epoch), run.seconds.to_string()];
        let value = |name: &&str| run.metrics.iter().find(|(own, _)| own == name).map(|(_, x)| x.to_string());
        let values = metrics.iter().map(|name| value(name).unwrap_or_default());
        let error = run.state.error().map(|d| &*d.message);
        text += &line(settings.chain(first).chain(values).chain([quoted(error.unwrap_or_default())]));
    }
    text
}

fn line(cells: impl Iterator<Item = String>) -> String {
    cells.collect::<Vec<_>>().join(",") + "\n"
}

/// A cell, in quotation marks if necessary.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

fn set(settings: &Settings) -> Map<String, Value> {
    settings.iter().map(|(name, value)| (name.clone(), value.to_string().into())).collect()
}

#[cfg(test)]
mod tests {
    use rml_ir::typed::StaticValue;

    use super::*;

    fn run(rate: f64, seed: u64, loss: Option<f64>) -> RunOutcome {
        let settings: Settings = [("rate".to_owned(), StaticValue::Num(rate))].into_iter().collect();
        let state = if loss.is_some() { RunState::Finished } else { RunState::Interrupted };
        let metrics = loss.map(|loss| ("loss".to_owned(), loss)).into_iter().collect();
        let name = super::super::grid::name(&settings, Some(seed));
        RunOutcome { name, settings, seed: Some(seed), state, epoch: loss.map(|_| 4), metrics, seconds: 0.5 }
    }

    #[test]
    fn each_combination_has_its_mean_and_spread() {
        let runs =
            [run(0.1, 0, Some(1.0)), run(0.1, 1, Some(4.0)), run(0.1, 2, None), run(0.5, 0, Some(2.0))];
        let rows = rows(&runs);
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].runs, rows[0].of), (2, 3));
        let found = rows[0].spread.expect("two values");
        assert_eq!(
            (found.mean, found.deviation),
            (2.5, Some(4.5_f64.sqrt())),
            "the deviation is the sample's"
        );
        assert_eq!((found.min, found.max, found.iqm, found.interval), (1.0, 4.0, 2.5, Some([1.0, 4.0])));
        assert_eq!(csv(&rows).lines().nth(2), Some("0.5,loss,1,1,2,,2,2,2,,"));
        let csv = runs_csv(&runs);
        assert_eq!(csv.lines().nth(2), Some("0.1,1,finished,4,0.5,4,"));
        assert_eq!(csv.lines().nth(3), Some("0.1,2,interrupted,,0.5,,"));
        let text =
            SweepReport { runs: runs.into(), table: rows, stages: Vec::new(), interrupted: true }.text();
        let cells: Vec<&str> = text.lines().nth(1).expect("a row").split_whitespace().collect();
        assert_eq!(
            cells,
            [
                "0.1", "loss", "2", "of", "3", "2.5000", "2.1213", "1.0000", "4.0000", "2.5000", "1.0000",
                "4.0000"
            ]
        );
    }

    #[test]
    fn nan_is_not_hidden() {
        let rows = rows(&[run(0.1, 0, Some(1.0)), run(0.1, 1, Some(f64::NAN)), run(0.1, 2, Some(0.5))]);
        let spread = rows[0].spread.expect("three values");
        assert!(spread.mean.is_nan() && spread.min.is_nan() && spread.max.is_nan());
    }
}
