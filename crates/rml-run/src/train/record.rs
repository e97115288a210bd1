//! The record of a training for its page.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_ir::{Data, Value};
use rml_pictures::{ConfusionMatrix, Samples, Trained, TrainingReport, norm};

use super::confusion::Confusion;
use super::observer::{EpochSummary, Observer, TrainInfo};
use super::plot::{marked_curves, steps};
use crate::checkpoint::TrainingPosition;
use crate::profile::ProfileReport;
use crate::session::Session;

/// Observes a training, and makes a page of it: the file of `rml train --report`.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// let mut record = rml::TrainRecord::default();
/// assert!(!record.has_begun());
/// rml::train(&source, &data, &rml::TrainOptions::default(), &mut record)?;
/// assert!(record.has_begun());
/// # Ok(()) }
/// ```
#[derive(Debug, Default)]
pub struct TrainRecord {
    info: Option<TrainInfo>,
    epochs: Vec<EpochSummary>,
    before: IndexMap<Arc<str>, Value>,
    after: IndexMap<Arc<str>, Value>,
    /// The norm of each parameter after each epoch or report.
    norms: IndexMap<Arc<str>, Vec<f64>>,
}

/// The facts on the page of a training that the training itself does not have.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// use rml::{TrainPage, TrainRecord};
///
/// let mut record = TrainRecord::default();
/// rml::train(&source, &data, &rml::TrainOptions::default(), &mut record)?;
/// let page = record.page(&TrainPage { title: "line".to_owned(), ..TrainPage::default() });
/// assert!(page.contains("<title>line"));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct TrainPage {
    /// The heading.
    pub title: String,
    /// How the training ended, in a sentence.
    pub outcome: String,
    /// The errors, as text.
    pub findings: String,
    /// The facts about the program, one per line.
    pub verdict: Vec<String>,
    /// The command that repeats the training.
    pub command: String,
    /// Other facts that determine the result, such as versions and files: names and values. The seed, the splits and
    /// the digests of the program and the data follow them.
    pub facts: Vec<(String, String)>,
    /// The profile, if time was measured.
    pub profile: Option<ProfileReport>,
    /// Whether the result is the parameters of the best epoch or report instead of the last.
    pub of_best: bool,
    /// Whether a server sends the page; then the page asks for its version at the address `state` beside it.
    pub live: bool,
}

impl TrainRecord {
    /// The page in HTML: one self-contained file.
    pub fn page(&self, page: &TrainPage) -> String {
        let last = self.result(page.of_best);
        let mut report = TrainingReport {
            title: page.title.clone(),
            outcome: page.outcome.clone(),
            findings: page.findings.clone(),
            verdict: page.verdict.clone(),
            results_of: last.map(|last| self.caption(last, page.of_best)).unwrap_or_default(),
            results: last.map(results).unwrap_or_default(),
            samples: last.and_then(|last| self.samples(last)),
            confusion: last
                .and_then(|last| last.confusion.as_ref().map(|found| matrix(found, &self.place(last)))),
            parameters: self.parameters(),
            command: page.command.clone(),
            live: page.live,
            facts: page
                .facts
                .iter()
                .cloned()
                .chain(self.info.as_ref().map(facts).unwrap_or_default())
                .collect(),
            ..TrainingReport::default()
        };
        if !self.epochs.is_empty() {
            report.curves = marked_curves(&self.epochs);
        }
        if report.confusion.is_none() && last.is_some_and(|last| last.ran.is_none()) {
            report.no_confusion =
                "There is none: what is evaluated does not have exactly one integer input with an output that has scores for its classes. `--confusion LABEL:OUTPUT` names both."
                    .to_owned();
        }
        if let Some(profile) = &page.profile {
            self.times(profile, &mut report);
        }
        report.to_html()
    }

    /// Whether the training began: its program compiled, and its data fit.
    pub fn has_begun(&self) -> bool {
        self.info.is_some()
    }

    /// How many epochs or reports were completed, in words.
    pub fn done(&self) -> String {
        let n = self.epochs.len();
        let epochs = self.info.as_ref().is_none_or(|info| info.epochs.is_some());
        let what = if epochs { "epoch" } else { "report" };
        format!("{n} {what}{}", if n == 1 { "" } else { "s" })
    }

    /// The epoch or report whose parameters are the result.
    fn result(&self, of_best: bool) -> Option<&EpochSummary> {
        let last = self.epochs.last()?;
        let best = last.best.as_ref().filter(|_| of_best);
        let of = |epoch: u64| self.epochs.iter().rev().find(|summary| summary.epoch == epoch);
        best.and_then(|best| of(best.epoch)).or(Some(last))
    }

    /// The name of an epoch or report: `epoch 3`.
    fn place(&self, summary: &EpochSummary) -> String {
        format!("{} {}", steps(&self.epochs), summary.epoch)
    }

    /// What the shown metrics are of.
    fn caption(&self, shown: &EpochSummary, of_best: bool) -> String {
        let is_best = of_best && shown.best.as_ref().is_some_and(|best| best.epoch == shown.epoch);
        let which = if is_best { "best" } else { "last" };
        format!("The metrics of {}, the {which} one", self.place(shown))
    }

    fn samples(&self, last: &EpochSummary) -> Option<Samples> {
        let found = last.samples.as_ref()?;
        let caption = found.caption(steps(&self.epochs), last.epoch);
        Some(Samples { caption, list: found.list.clone() })
    }

    fn parameters(&self) -> Vec<Trained> {
        let trained = |(key, value): (&Arc<str>, &Value)| Trained {
            name: key.to_string(),
            ty: value.ty().to_string(),
            before: self.before.get(key).map(numbers).unwrap_or_default(),
            after: numbers(value),
            norms: self.norms.get(key).cloned().unwrap_or_default(),
        };
        self.after.iter().map(trained).collect()
    }

    fn times(&self, profile: &ProfileReport, report: &mut TrainingReport) {
        let (others, lines) = profile.rows();
        report.times = vec![("computing: steps and evaluations".to_owned(), profile.computing())];
        report.times.extend(others);
        report.times.sort_by(|a, b| b.1.total_cmp(&a.1));
        report.lines = lines;
        let (n, seconds) = (self.epochs.len(), self.epochs.iter().map(|epoch| epoch.seconds).sum::<f64>());
        if n > 0 {
            let evaluating: f64 = self.epochs.iter().map(|epoch| epoch.evaluating).sum();
            let what = if self.epochs[0].ran.is_some() { "report" } else { "epoch" };
            let plural = if n == 1 { "" } else { "s" };
            report.time_notes.push(format!(
                "{n} {what}{plural} in {seconds:.2} s; evaluating took {evaluating:.2} s of these, its reading of data included."
            ));
        }
    }

    /// The parameters of a session; none if its states cannot be read.
    fn look(session: &Session) -> IndexMap<Arc<str>, Value> {
        let flat = session.program().flat();
        let mut states = session.states().unwrap_or_default();
        states.retain(|key, _| flat.states.get(key).is_some_and(|state| state.parameter));
        states
    }
}

impl Observer for TrainRecord {
    fn begun(&mut self, session: &Session) {
        self.before = Self::look(session);
        self.after.clone_from(&self.before);
    }

    fn start(&mut self, info: &TrainInfo) {
        self.info = Some(info.clone());
    }

    fn learned(&mut self, session: &Session) {
        self.after = Self::look(session);
    }

    fn epoch(&mut self, summary: &EpochSummary) {
        self.epochs.push(summary.clone());
        // Those of the last one and of the best one may be shown.
        let best = summary.best.as_ref().map(|best| best.epoch);
        let before = self.epochs.iter_mut().rev().skip(1);
        before.filter(|epoch| Some(epoch.epoch) != best).for_each(|epoch| epoch.samples = None);
        for (key, value) in &self.after {
            self.norms.entry(Arc::clone(key)).or_default().push(norm(&numbers(value)));
        }
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    match value.to_data() {
        Data::F32(v) => v.into_iter().map(f64::from).collect(),
        Data::F64(v) => v,
        Data::Bool(_) | Data::Int(_) => Vec::new(),
    }
}

/// The metrics of an epoch or report, and the best one so far.
fn results(last: &EpochSummary) -> Vec<(String, String)> {
    let parts = [("training", &last.train), ("validation", &last.validation), ("test", &last.test)];
    let metrics = parts.into_iter().flat_map(|(part, metrics)| {
        metrics.iter().map(move |(name, value)| (format!("{part} {name}"), format!("{value:.6}")))
    });
    let best = last.best.as_ref().map(|best| {
        let step = steps(std::slice::from_ref(last));
        (format!("best {}", best.metric), format!("{:.6} in {step} {}", best.value(), best.epoch))
    });
    metrics.chain(best).collect()
}

fn matrix(confusion: &Confusion, place: &str) -> ConfusionMatrix {
    let (right, all) = confusion.right();
    let Confusion { label, found, of, counts, names, others } = confusion;
    let others = if *others > 0 { format!("; {others} were no class") } else { String::new() };
    let caption = format!(
        "`{label}` in rows, what `{found}` says in columns, over the {of} windows after {place}: {right} of {all} are right{others}"
    );
    ConfusionMatrix { caption, counts: counts.clone(), names: names.clone() }
}

fn which(windows: usize, last: bool) -> String {
    if last { format!("the last {windows}") } else { windows.to_string() }
}

/// The facts that determine the result.
fn facts(info: &TrainInfo) -> Vec<(String, String)> {
    let TrainingPosition { setup, origin, set, .. } = &info.position;
    let mut facts = vec![
        ("node".to_owned(), setup.node.clone()),
        ("seed".to_owned(), setup.seed.to_string()),
        ("precision".to_owned(), if setup.double { "double" } else { "single" }.to_owned()),
        ("stacked windows".to_owned(), setup.batch.to_string()),
        (
            "order".to_owned(),
            if setup.shuffle { "shuffled in each epoch" } else { "that of the data" }.to_owned(),
        ),
    ];
    if setup.restarts {
        facts.push(("states across windows".to_owned(), "restart in each epoch".to_owned()));
    }
    match info.epochs {
        Some(_) => facts.push((
            "windows".to_owned(),
            format!(
                "{}: {} to train on, {} to validate, {} to test",
                setup.windows,
                info.train_windows,
                which(info.validation_windows, setup.last_validation),
                which(info.test_windows, setup.last_test)
            ),
        )),
        None => facts.push(("windows in a report".to_owned(), info.train_windows.to_string())),
    }
    let set =
        set.iter().flatten().map(|(name, value)| (format!("static parameter {name}"), value.to_string()));
    facts.extend(set);
    if info.epochs_done > 0 {
        let step = if info.epochs.is_some() { "epoch" } else { "report" };
        facts.push((format!("continues after {step}"), info.epochs_done.to_string()));
    }
    facts.push(("digest of the program".to_owned(), origin.program.clone()));
    if !origin.data.is_empty() {
        facts.push((format!("digest of columns {}", origin.columns.join(", ")), origin.data.clone()));
    }
    facts
}
