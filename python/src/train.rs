//! Training in a separate thread, which waits at the end of each epoch until Python asks for the next one.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rml::{
    BestBy, Checkpoint, Columns, Criterion, DType, Dataset, Diagnostic, Diagnostics, Episode, EpisodeOptions,
    EpochSummary, Error, Evaluate, Length, Metrics, Observer, ParameterStats, Preparation, Progress, Ranks,
    Session, Source, Sources, TestSplit, TrainInfo, TrainOptions, TrainReport, Until, Validate, Value,
};

use crate::columns::{How, Table};
use crate::infer::{classes, matrix};
use crate::options::{Computing, Reading, precision, settings, source};
use crate::ranks::Together;
use crate::shown::{Seen, Shown};
use crate::states::{parameters, prepared, states};
use crate::{Named, PULSE, error, unlocked};

/// Windows to keep: a count, a share, or a text as for the command.
#[derive(FromPyObject)]
enum Part {
    #[pyo3(transparent)]
    Count(usize),
    #[pyo3(transparent)]
    Share(f64),
    #[pyo3(transparent)]
    Text(String),
}

impl Part {
    fn split(self) -> PyResult<TestSplit> {
        match self {
            Part::Count(count) => Ok(TestSplit::Count(count)),
            Part::Share(share) if (0.0..1.0).contains(&share) => Ok(TestSplit::Share(share)),
            Part::Text(text) => text
                .parse()
                .map_err(|why: Diagnostic| PyValueError::new_err(format!("{}; found {text}", why.message))),
            Part::Share(other) => {
                let what = "expected a share of the windows, at least 0 and below 1, or how many";
                Err(PyValueError::new_err(format!("{what}; found {other}")))
            }
        }
    }
}

/// The options of a training, from the attributes of a Python object.
#[derive(FromPyObject)]
pub(crate) struct Asked<'py> {
    pub(crate) name: PathBuf,
    pub(crate) text: Option<String>,
    node: Option<String>,
    evaluate: Option<String>,
    evaluates: bool,
    set: Bound<'py, PyDict>,
    batch: Option<usize>,
    shards: Option<usize>,
    epochs: u64,
    windows: Option<u64>,
    cycles: Option<u64>,
    until: Option<String>,
    report: Option<u64>,
    seed: Option<u64>,
    test: Option<Part>,
    validate: Option<Part>,
    validate_data: Option<Table<'py>>,
    on_disk: bool,
    shuffle: Option<bool>,
    keep_states: bool,
    precision: String,
    allow_nan: bool,
    reading: Reading,
    save: Option<PathBuf>,
    save_every: String,
    best: Option<PathBuf>,
    patience: Option<u64>,
    metric: Option<(String, bool)>,
    log: Option<PathBuf>,
    resume: Option<PathBuf>,
    init: Option<Bound<'py, PyAny>>,
    collects_episodes: bool,
    episodes: Option<PathBuf>,
    episodes_of: Option<String>,
    stats: bool,
    /// The pair of the confusion matrix, or an empty list for the usual pair.
    confusion: Option<Vec<String>>,
    pub(crate) shown: Shown,
    pub(crate) computing: Computing,
    ranks: Together<'py>,
}

impl Asked<'_> {
    /// The data, if there is some.
    pub(crate) fn data(
        &self,
        py: Python<'_>,
        source: &Source,
        table: Option<Table<'_>>,
    ) -> PyResult<Option<Box<dyn Dataset>>> {
        let how = self.reading(py)?;
        table.map(|table| table.dataset(py, &how, source, self.node.as_deref())).transpose()
    }

    /// How to read files: as requested, or else as the resumed run read them.
    fn reading(&self, py: Python<'_>) -> PyResult<How> {
        let asked = self.reading.recipe(py)?;
        let recipe = match &self.resume {
            Some(file) => asked.or_read_as(unlocked(py, || Checkpoint::read(file))?.preparation().recipe()),
            None => asked,
        };
        Ok(How { on_disk: self.on_disk, format: self.reading.format()?, recipe })
    }

    /// The options of the training, without the engine.
    pub(crate) fn options(self, py: Python<'_>, source: &Source, has_data: bool) -> PyResult<TrainOptions> {
        let until = self.until.as_deref().map(Until::parse).transpose().map_err(|e| error::raised(py, &e))?;
        let length = Length {
            windows: self.windows,
            cycles: self.cycles,
            until,
            report: self.report,
            ..Length::default()
        };
        let how = self.reading(py)?;
        let validate = match (self.validate, self.validate_data) {
            (Some(part), _) => Some(Validate::Split(part.split()?)),
            (None, Some(table)) => {
                let data = table.dataset(py, &how, source, self.node.as_deref())?;
                Some(Validate::Data(data.into()))
            }
            (None, None) => None,
        };
        let criterion = |(metric, greater)| Criterion {
            metric,
            direction: Some(if greater { BestBy::Max } else { BestBy::Min }),
        };
        let ranks = self.ranks.join(py)?;
        let episodes = EpisodeOptions { of: self.episodes_of, file: self.episodes };
        Ok(TrainOptions {
            episodes: self.collects_episodes.then_some(episodes),
            node: self.node,
            evaluate: match self.evaluate {
                Some(node) => Evaluate::Node(node),
                None if self.evaluates => Evaluate::Usual,
                None => Evaluate::Nothing,
            },
            set: settings(&self.set)?,
            batch: self.batch,
            shards: self.shards,
            epochs: self.epochs,
            length: (!has_data).then_some(length),
            seed: self.seed,
            test: self.test.map(Part::split).transpose()?,
            validate,
            shuffle: self.shuffle,
            keep_states: self.keep_states,
            precision: precision(&self.precision)?,
            allow_nan: self.allow_nan,
            recipe: self.reading.recipe(py)?,
            save: self.save,
            save_every: self.save_every.parse().map_err(|why: Diagnostic| {
                PyValueError::new_err(format!("{}; found {}", why.message, self.save_every))
            })?,
            best: self.best,
            patience: self.patience,
            criterion: self.metric.map(criterion),
            log: self.log,
            resume: self.resume,
            init: self
                .init
                .map(|init| parameters(&init, precision(&self.precision)?, |_| DType::Num))
                .transpose()?,
            stats: self.stats,
            classes: classes(self.confusion)?,
            ranks,
            ..TrainOptions::default()
        })
    }
}

/// An event from the thread.
enum Event {
    Start(Box<TrainInfo>),
    Batch { epoch: u64, windows: usize, of: usize, metrics: Metrics },
    Epoch(Box<EpochSummary>, Vec<Episode>, Held),
    Warning(Diagnostic, Sources),
    End(Box<Result<TrainReport, Error>>, Vec<Episode>, Held),
}

/// All states by path, and whether each is a parameter; and the preparation of the data from which they were learned.
type Held = (Vec<(Arc<str>, Value, bool)>, Arc<Preparation>);

/// Reports the training, and ends it if nobody receives the reports any more.
struct Teller {
    events: SyncSender<Event>,
    interrupt: Arc<AtomicBool>,
    batches: bool,
    /// The episodes since the last epoch or report.
    episodes: Vec<Episode>,
    learned: Held,
    seen: Seen,
}

impl Teller {
    fn tell(&self, event: Event) {
        if self.events.send(event).is_err() {
            self.interrupt.store(true, Ordering::SeqCst);
        }
    }
}

impl Observer for Teller {
    fn begun(&mut self, session: &Session) {
        if let Some(record) = &mut self.seen.record {
            record.begun(session);
        }
    }

    fn start(&mut self, info: &TrainInfo) {
        if let Some(record) = &mut self.seen.record {
            record.start(info);
        }
        self.learned.1 = Arc::new(info.position.preparation.clone());
        self.tell(Event::Start(Box::new(info.clone())));
    }

    fn batch(&mut self, progress: &Progress<'_>) {
        if self.batches {
            let Progress { epoch, windows, of, metrics } = *progress;
            self.tell(Event::Batch { epoch, windows, of, metrics: metrics.clone() });
        }
    }

    fn learned(&mut self, session: &Session) {
        if let Some(record) = &mut self.seen.record {
            record.learned(session);
        }
        // If states cannot be read, the checkpoint reports the reason.
        let flat = session.program().flat();
        let is_parameter = |key: &str| flat.states.get(key).is_some_and(|state| state.parameter);
        let held = |(key, value): (Arc<str>, Value)| {
            let parameter = is_parameter(&key);
            (key, value, parameter)
        };
        self.learned.0 =
            session.states().map(|states| states.into_iter().map(held).collect()).unwrap_or_default();
    }

    fn episodes(&mut self, episodes: &[Episode]) {
        self.episodes.extend(episodes);
    }

    fn epoch(&mut self, summary: &EpochSummary) {
        if let Some(record) = &mut self.seen.record {
            record.epoch(summary);
        }
        self.seen.epoch(summary);
        let episodes = std::mem::take(&mut self.episodes);
        self.tell(Event::Epoch(Box::new(summary.clone()), episodes, self.learned.clone()));
    }

    fn warning(&mut self, diagnostic: &Diagnostic, sources: &Sources) {
        self.tell(Event::Warning(diagnostic.clone(), sources.clone()));
    }
}

/// A training run.
#[pyclass(frozen, module = "rml._native")]
pub(crate) struct Training {
    interrupt: Arc<AtomicBool>,
    run: Mutex<Option<(Receiver<Event>, JoinHandle<()>)>>,
}

/// Starts to train.
#[pyfunction]
pub(crate) fn train(
    py: Python<'_>,
    data: Option<Table<'_>>,
    mut asked: Asked<'_>,
    batches: bool,
) -> PyResult<Training> {
    let (source, runner) = (source(asked.name.clone(), asked.text.take()), asked.computing.runner()?);
    let data = asked.data(py, &source, data)?;
    let (computing, shown) = (asked.computing.clone(), asked.shown.clone());
    let options = asked.options(py, &source, data.is_some())?;
    let is_first = options.ranks.as_ref().is_none_or(Ranks::is_first);
    let shown = if is_first { shown } else { Shown { page: None, plot: None, ..shown } };
    let options = shown.options(options);
    unlocked(py, || shown.check(&source, &options))?;
    let interrupt = Arc::new(AtomicBool::new(false));
    let (events, told) = sync_channel(0);
    let teller = Teller {
        events,
        interrupt: Arc::clone(&interrupt),
        batches,
        episodes: Vec::new(),
        learned: Held::default(),
        seen: Seen::default(),
    };
    let work = move || {
        let (showing, seen) = shown.begin(&source, &options, &computing);
        let mut teller = Teller { seen, ..teller };
        let trained = computing.open(runner).and_then(|engine| {
            let engine = showing.profile().map_or(engine.clone(), |profile| engine.measured_by(profile));
            let interrupt = Some(Arc::clone(&teller.interrupt));
            let options = TrainOptions { engine, interrupt, ..options };
            let none = Columns::default();
            rml::train(&source, data.as_deref().unwrap_or(&none), &options, &mut teller)
        });
        let trained = showing.end(&teller.seen, trained);
        let learned = std::mem::take(&mut teller.learned);
        let episodes = std::mem::take(&mut teller.episodes);
        teller.tell(Event::End(Box::new(trained), episodes, learned));
    };
    let thread = Builder::new().name("rml.train".to_owned()).spawn(work)?;
    Ok(Training { interrupt, run: Mutex::new(Some((told, thread))) })
}

impl Training {
    /// The next event, while other Python threads run; `None` after the last one.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Event>> {
        loop {
            let received = py.detach(|| {
                let run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
                run.as_ref().map(|(told, _)| told.recv_timeout(PULSE))
            });
            match received {
                None => return Ok(None),
                Some(Ok(event)) => return Ok(Some(event)),
                Some(Err(RecvTimeoutError::Disconnected)) => {
                    self.stop(py);
                    return Err(PyRuntimeError::new_err("the training ended without a result"));
                }
                Some(Err(RecvTimeoutError::Timeout)) => {
                    if let Err(signal) = py.check_signals() {
                        self.stop(py);
                        return Err(signal);
                    }
                }
            }
        }
    }

    /// Ends the training after the current window, and waits until it has ended.
    fn stop(&self, py: Python<'_>) {
        self.interrupt.store(true, Ordering::SeqCst);
        py.detach(|| {
            let run = self.run.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some((told, thread)) = run {
                drop(told);
                let _ = thread.join();
            }
        });
    }
}

fn named(metrics: Metrics) -> Named<f64> {
    metrics.into_iter().collect()
}

#[pymethods]
impl Training {
    /// The next event, as a dict with its `kind`; `None` after the end. A failure is raised.
    fn event<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(event) = self.next(py)? else { return Ok(None) };
        let dict = PyDict::new(py);
        let put = |kind: &str| dict.set_item("kind", kind);
        match event {
            Event::Start(info) => {
                put("start")?;
                dict.set_item("train_windows", info.train_windows)?;
                dict.set_item("test_windows", info.test_windows)?;
                dict.set_item("validation_windows", info.validation_windows)?;
                dict.set_item("batch", info.batch)?;
                dict.set_item("epochs", info.epochs)?;
                dict.set_item("epochs_done", info.epochs_done)?;
                dict.set_item("parameters", info.parameters)?;
            }
            Event::Batch { epoch, windows, of, metrics } => {
                put("batch")?;
                dict.set_item("epoch", epoch)?;
                dict.set_item("windows", windows)?;
                dict.set_item("of", of)?;
                dict.set_item("metrics", named(metrics))?;
            }
            Event::Epoch(summary, episodes, learned) => {
                put("epoch")?;
                put_episodes(&dict, &episodes)?;
                epoch(&dict, *summary)?;
                put_learned(&dict, learned)?;
            }
            Event::Warning(diagnostic, sources) => {
                put("warning")?;
                error::warn(py, &Diagnostics::from(diagnostic), &sources)?;
            }
            Event::End(trained, episodes, learned) => {
                put("end")?;
                put_episodes(&dict, &episodes)?;
                self.stop(py);
                let report = (*trained).map_err(|why| error::raised(py, &why))?;
                dict.set_item("interrupted", report.interrupted)?;
                dict.set_item("is_met", report.is_met)?;
                dict.set_item("out_of_patience", report.out_of_patience)?;
                dict.set_item("best", report.best.map(|b| (b.metric.clone(), b.value(), b.epoch)))?;
                dict.set_item("saved", report.saved)?;
                put_learned(&dict, learned)?;
            }
        }
        Ok(Some(dict))
    }

    /// Ends the training after the current window; requested files are saved.
    fn close(&self, py: Python<'_>) {
        self.stop(py);
    }
}

impl Drop for Training {
    fn drop(&mut self) {
        self.interrupt.store(true, Ordering::SeqCst);
    }
}

/// The episodes as tuples.
fn put_episodes(dict: &Bound<'_, PyDict>, episodes: &[Episode]) -> PyResult<()> {
    let row = |e: &Episode| (e.cycle, e.row, e.total, e.length, e.end());
    dict.set_item("episodes", episodes.iter().map(row).collect::<Vec<_>>())
}

/// All states, and the paths of the parameters among them.
fn put_learned(dict: &Bound<'_, PyDict>, learned: Held) -> PyResult<()> {
    let (learned, preparation) = learned;
    let parameters = learned.iter().filter(|(.., parameter)| *parameter).map(|(key, ..)| key.to_string());
    dict.set_item("parameters", parameters.collect::<Vec<_>>())?;
    let states = states(dict.py(), learned.into_iter().map(|(key, value, _)| (key, value)))?;
    dict.set_item("states", prepared(states, &preparation)?)
}

fn epoch(dict: &Bound<'_, PyDict>, summary: EpochSummary) -> PyResult<()> {
    let numbers = |stats: ParameterStats, gradient: Option<f64>| {
        (stats.mean, stats.deviation, stats.norm, stats.update, gradient)
    };
    let stats = summary.parameters.into_iter().map(|(key, stats)| {
        let gradient = summary.gradients.get(&key).copied();
        (key, numbers(stats, gradient))
    });
    dict.set_item("stats", stats.collect::<Vec<_>>())?;
    dict.set_item("confusion", summary.confusion.map(matrix))?;
    dict.set_item("epoch", summary.epoch)?;
    dict.set_item("ran", summary.ran.map(|ran| (ran.windows, ran.cycles)))?;
    dict.set_item("train", named(summary.train))?;
    dict.set_item("test", named(summary.test))?;
    dict.set_item("validation", named(summary.validation))?;
    dict.set_item("best", summary.best.map(|b| (b.metric.clone(), b.value(), b.epoch)))?;
    dict.set_item("seconds", summary.seconds)
}
