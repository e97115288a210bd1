//! Several trainings of one program.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::thread::available_parallelism;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rml::{
    Columns, Diagnostic, Prune, RunOutcome, RunsPage, Sources, Spread, SweepObserver, SweepOptions,
    SweepReport, SweepSamples, SweepValues, TrainOptions,
};

use crate::columns::Table;
use crate::options::{plain, source, values};
use crate::train::Asked;
use crate::{Named, error, reporting, unlocked};

/// The runs to train, from the attributes of a Python object.
#[derive(FromPyObject)]
pub(crate) struct Runs<'py> {
    folder: PathBuf,
    seeds: Vec<u64>,
    /// By static parameter, the list of its values, or the text of a range.
    values: Bound<'py, PyDict>,
    /// How many combinations are drawn, and the seed.
    samples: Option<(usize, u64)>,
    /// The rule by which runs end early, and the length of a run at the first comparison.
    prune: Option<(String, u64)>,
    jobs: Option<usize>,
}

impl Runs<'_> {
    fn values(&self) -> PyResult<Vec<(String, SweepValues)>> {
        let one = |(name, given): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let name: String = name.extract()?;
            let values = match given.extract::<String>() {
                Ok(range) => SweepValues::Range(parsed(given.py(), &range)?),
                Err(_) => SweepValues::List(values(&name, &given)?),
            };
            Ok((name, values))
        };
        self.values.iter().map(one).collect()
    }

    fn prune(&self) -> PyResult<Option<Prune>> {
        let py = self.values.py();
        let one = |(rule, first): &(String, u64)| Ok(Prune { rule: parsed(py, rule)?, first: *first });
        self.prune.as_ref().map(one).transpose()
    }
}

/// A value in the notation of the command line.
fn parsed<T: FromStr<Err = Diagnostic>>(py: Python<'_>, text: &str) -> PyResult<T> {
    text.parse().map_err(|why: Diagnostic| error::raised(py, &why.into()))
}

/// A run: its name, its settings, its seed, its state, the epoch of its metrics, the metrics, its duration, and why it
/// failed.
type Run<'py> = (
    String,
    Bound<'py, PyDict>,
    Option<u64>,
    &'static str,
    Option<u64>,
    Named<f64>,
    f64,
    Option<Bound<'py, PyAny>>,
);

/// A row of the table: the settings, the metric, of how many runs out of how many, and the spread.
type Row<'py> = (Bound<'py, PyDict>, String, usize, usize, Option<RowSpread>);

/// The runs, the table, the comparisons, the table as text, and whether the sweep was interrupted.
type Found<'py> = (Vec<Run<'py>>, Vec<Row<'py>>, Vec<Stage>, String, bool);

/// A comparison: the length of the runs, how many combinations continued, and how many there were.
type Stage = (u64, usize, usize);

/// The mean, the deviation, the least and the greatest value, the interquartile mean, and its interval.
type RowSpread = (f64, Option<f64>, f64, f64, f64, Option<[f64; 2]>);

/// An event from the thread.
enum Event {
    Start { runs: usize, ended: usize },
    Ended(Box<RunOutcome>, usize),
    Warning(Diagnostic, Sources),
}

/// Passes on what happens.
struct Teller<'t>(&'t dyn Fn(Event));

impl SweepObserver for Teller<'_> {
    fn start(&mut self, runs: usize, ended: usize) {
        (self.0)(Event::Start { runs, ended });
    }

    fn ended(&mut self, run: &RunOutcome, ended: usize) {
        (self.0)(Event::Ended(Box::new(run.clone()), ended));
    }

    fn warning(&mut self, diagnostic: &Diagnostic, sources: &Sources) {
        (self.0)(Event::Warning(diagnostic.clone(), sources.clone()));
    }
}

/// Trains once for each seed and each combination of values. `told` is called with the number of runs and how many have
/// ended before, and after each run with the run and how many have ended.
#[pyfunction]
pub(crate) fn sweep<'py>(
    py: Python<'py>,
    data: Option<Table<'py>>,
    mut asked: Asked<'py>,
    runs: Runs<'py>,
    told: Bound<'py, PyAny>,
) -> PyResult<Found<'py>> {
    let (source, shown) = (source(asked.name.clone(), asked.text.take()), asked.shown.clone());
    let runner = asked.computing.runner()?;
    let data = asked.data(py, &source, data)?;
    let computing = asked.computing.clone();
    let train = asked.options(py, &source, data.is_some())?;
    let (settings, prune) = (runs.values()?, runs.prune()?);
    let samples = runs.samples.map(|(count, seed)| SweepSamples { count, seed });
    let listed = |values: &SweepValues| match values {
        SweepValues::List(values) => values.len(),
        SweepValues::Range(_) => 1,
    };
    let all = settings.iter().map(|(_, values)| listed(values)).fold(1, usize::saturating_mul);
    let combinations = samples.map_or(all, |samples| samples.count);
    let count = combinations.saturating_mul(runs.seeds.len().max(1));
    let cores = available_parallelism().map_or(1, usize::from);
    let jobs = runs.jobs.unwrap_or(cores).clamp(1, count.max(1));
    let computing = computing.with_threads((cores / jobs).max(1));
    unlocked(py, || shown.check(&source, &train))?;
    let options =
        SweepOptions { train, folder: runs.folder, seeds: runs.seeds, settings, samples, prune, jobs };
    let work = move |interrupt: &Arc<_>, tell: &dyn Fn(Event)| {
        let interrupt = Some(Arc::clone(interrupt));
        let train = TrainOptions { engine: computing.open(runner)?, interrupt, ..options.train };
        let options = SweepOptions { train, ..options };
        let none = Columns::default();
        let data = data.as_deref().unwrap_or(&none);
        let report = rml::sweep(&source, data, &options, &mut Teller(tell))?;
        if let Some(file) = &shown.page {
            let title = Some(format!("Runs of {}", source.name()));
            let page = RunsPage { title, lines: vec![shown.call.clone()], live: false };
            rml::write_output(file, rml::runs_page(&options.folder, &page)?.as_bytes())?;
        }
        if let Some(file) = &shown.plot {
            rml::write_output(file, rml::sweep_curves(&options.folder, &report)?.as_bytes())?;
        }
        Ok(report)
    };
    let report = reporting(py, work, |event| match event {
        Event::Start { runs, ended } => told.call1((runs, ended, py.None())).map(drop),
        Event::Ended(run, ended) => told.call1((py.None(), ended, outcome(py, &run)?)).map(drop),
        Event::Warning(diagnostic, sources) => error::warn(py, &diagnostic.into(), &sources),
    })?;
    let SweepReport { runs, table, interrupted, stages } = &report;
    let stages = stages.iter().map(|stage| (stage.length, stage.kept, stage.of)).collect();
    let runs = runs.iter().map(|run| outcome(py, run)).collect::<PyResult<_>>()?;
    let row = |row: &rml::SweepRow| {
        let spread = row.spread.map(|s: Spread| (s.mean, s.deviation, s.min, s.max, s.iqm, s.interval));
        Ok((dict(py, &row.settings)?, row.metric.clone(), row.runs, row.of, spread))
    };
    let rows = table.iter().map(row).collect::<PyResult<_>>()?;
    Ok((runs, rows, stages, report.text(), *interrupted))
}

/// Settings as a dict.
fn dict<'py>(py: Python<'py>, settings: &rml::Settings) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in settings {
        dict.set_item(name, plain(py, value)?)?;
    }
    Ok(dict)
}

fn outcome<'py>(py: Python<'py>, run: &RunOutcome) -> PyResult<Run<'py>> {
    let why = match &run.state {
        rml::RunState::Failed(why) => Some(error::raised(py, why).into_value(py).into_bound(py).into_any()),
        rml::RunState::Finished
        | rml::RunState::Missed
        | rml::RunState::Interrupted
        | rml::RunState::Pruned => None,
    };
    Ok((
        run.name.clone(),
        dict(py, &run.settings)?,
        run.seed,
        run.state.name(),
        run.epoch,
        run.metrics.clone(),
        run.seconds,
        why,
    ))
}
