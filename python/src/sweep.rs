//! Several trainings of one program.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rml::{
    Columns, Diagnostic, RunOutcome, RunsPage, Sources, Spread, SweepObserver, SweepOptions, SweepReport,
    SweepValues, TrainOptions,
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
    /// By static parameter, the list of its values.
    values: Bound<'py, PyDict>,
    jobs: Option<usize>,
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
) -> PyResult<(Vec<Run<'py>>, Vec<Row<'py>>, String, bool)> {
    let (source, shown) = (source(asked.name.clone(), asked.text.take()), asked.shown.clone());
    let runner = asked.computing.runner()?;
    let data = asked.data(py, &source, data)?;
    let computing = asked.computing.clone();
    let train = asked.options(py, &source, data.is_some())?;
    let one = |(name, list): (Bound<'py, PyAny>, Bound<'py, PyAny>)| {
        let name: String = name.extract()?;
        let list = values(&name, &list)?;
        Ok((name, list))
    };
    let values = runs.values.iter().map(one).collect::<PyResult<Vec<_>>>()?;
    let count =
        values.iter().map(|(_, list)| list.len()).fold(runs.seeds.len().max(1), usize::saturating_mul);
    let settings = values.into_iter().map(|(name, list)| (name, SweepValues::List(list))).collect();
    let cores = available_parallelism().map_or(1, usize::from);
    let jobs = runs.jobs.unwrap_or(cores).clamp(1, count.max(1));
    let computing = computing.with_threads((cores / jobs).max(1));
    unlocked(py, || shown.check(&source, &train))?;
    let options = SweepOptions {
        train,
        folder: runs.folder,
        seeds: runs.seeds,
        settings,
        jobs,
        ..SweepOptions::default()
    };
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
    let SweepReport { runs, table, interrupted, stages: _ } = &report;
    let runs = runs.iter().map(|run| outcome(py, run)).collect::<PyResult<_>>()?;
    let row = |row: &rml::SweepRow| {
        let spread = row.spread.map(|s: Spread| (s.mean, s.deviation, s.min, s.max, s.iqm, s.interval));
        Ok((dict(py, &row.settings)?, row.metric.clone(), row.runs, row.of, spread))
    };
    let rows = table.iter().map(row).collect::<PyResult<_>>()?;
    Ok((runs, rows, report.text(), *interrupted))
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
