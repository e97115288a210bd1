//! The evaluation after each epoch: on the test windows, and on the windows by which epochs are compared.

use rml_base::codes::analysis::EVALUATION_LEARNS;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error, visible_name};
use rml_data::{Columns, Windows};
use rml_driver::{Program, Source};
use rml_ir::flat::around;

use super::confusion::{self, Classes, Counts, Pair};
use super::observer::{EpochSummary, Observer};
use super::options::TrainOptions;
use super::samples::{Asked, Collecting};
use crate::checkpoint::Checkpoint;
use crate::infer::{From, evaluate, network};
use crate::runner::{Family, Metrics, metric_names};

/// The evaluating node, the data, and other data to compare epochs by.
pub(super) struct Nodes {
    pub(super) family: Family,
    /// How many windows are stacked.
    pub(super) size: usize,
    pub(super) windows: Windows,
    pub(super) validation: Option<Windows>,
}

impl Nodes {
    /// Refuses states that depend on how many windows are stacked, if that is not the same for all batches of a set.
    pub(super) fn refuse_other_sizes(
        &mut self,
        sets: [(&str, &Vec<usize>); 2],
        size: usize,
    ) -> Result<(), Error> {
        for (what, set) in sets {
            let first = self.family.size(size, set.len());
            let batches = self.windows.batches(set, first);
            let refused = self.family.refuse_other_sizes(&batches, first);
            refused.map_err(|e| e.note(format!("the {what} windows are evaluated after each epoch")))?;
        }
        Ok(())
    }

    /// The windows of all data.
    pub(super) fn all_windows(&mut self) -> impl Iterator<Item = &mut Windows> {
        std::iter::once(&mut self.windows).chain(&mut self.validation)
    }
}

/// The evaluation after each epoch.
pub(super) struct Test {
    family: Family,
    /// How many windows are stacked.
    size: usize,
    /// The names of its metrics.
    metrics: Vec<String>,
    windows: Windows,
    /// The windows kept for testing.
    test: Vec<usize>,
    /// The windows that epochs are compared by, in the data or in other data.
    validation: Vec<usize>,
    validation_windows: Option<Windows>,
    /// The pair of the confusion matrix.
    classes: Option<Pair>,
    /// What is shown of some windows.
    samples: Option<Asked>,
}

impl Test {
    pub(super) fn new(
        trained: &Program,
        nodes: Nodes,
        test: Vec<usize>,
        validation: Vec<usize>,
        options: &TrainOptions,
        source: &Source,
    ) -> Result<Self, Error> {
        let Nodes { mut family, size, windows, validation: validation_windows } = nodes;
        let program = family.program(size)?;
        let evaluates = !test.is_empty() || !validation.is_empty() || validation_windows.is_some();
        if let Some(error) = untrained(trained, program, source).filter(|_| evaluates) {
            return Err(error);
        }
        let metrics = metric_names(program);
        let classes = confusion::find(program, &options.classes)?;
        let samples = Asked::find(program, classes.as_ref(), options.samples);
        let validation = validation_windows.as_ref().map_or(validation, |other| (0..other.count).collect());
        Ok(Self { family, size, metrics, windows, test, validation, validation_windows, classes, samples })
    }

    /// The names of the metrics of the test windows, and of the windows that epochs are compared by.
    pub(super) fn names(&self) -> (Vec<String>, Vec<String>) {
        let of = |set: &[usize]| if set.is_empty() { Vec::new() } else { self.metrics.clone() };
        (of(&self.test), of(&self.validation))
    }

    /// The warning that a column feeds the label and another input.
    pub(super) fn leak(&mut self, table: &Columns) -> Result<Option<Diagnostic>, Error> {
        let program = self.family.program(self.size)?;
        let Some(pair) = confusion::find(program, &Classes::Usual)? else { return Ok(None) };
        let label = pair.named().0;
        let is_read = |input: &str| program.inputs().iter().any(|info| *info.name == *input);
        let Some((column, other)) = table.shared(label).filter(|(_, other)| is_read(other)) else {
            return Ok(None);
        };
        let column = visible_name(column);
        let what = format!("column `{column}` feeds the label `{label}` and input `{other}`");
        Ok(Some(
            Diagnostic::warning(codes::LABEL_AMONG_INPUTS, what)
                .note(format!("if the network reads `{other}`, it reads the answer that it is to find"))
                .help(format!("feed `{other}` from another column: `--columns '{other}=..'`")),
        ))
    }

    /// Notes about the classes of the label: those that no test window has, and scores beyond the last class.
    pub(super) fn notes(&mut self, train: &[usize]) -> Result<Vec<String>, Error> {
        let program = self.family.program(self.size)?;
        let Some(pair) = confusion::find(program, &Classes::Usual)? else { return Ok(Vec::new()) };
        let (label, found) = pair.named();
        let names = pair.classes(&self.windows);
        let name = |class: i64| match usize::try_from(class).ok().and_then(|class| names.get(class)) {
            Some(name) => format!("`{}`", visible_name(name)),
            None => class.to_string(),
        };
        let untested = match self.test.is_empty() {
            true => Vec::new(),
            false => self.windows.untested(label, train, &self.test),
        };
        let untested: Vec<String> = untested.into_iter().map(name).collect();
        let classes = if untested.len() == 1 { "class" } else { "classes" };
        let lacking = (!untested.is_empty())
            .then(|| format!("no test window has the {classes} {} of `{label}`", untested.join(", ")));
        let more = pair.scores().filter(|scores| !names.is_empty() && *scores > names.len()).map(|scores| {
            let all: Vec<String> = names.iter().map(|name| format!("`{}`", visible_name(name))).collect();
            let (all, count) = (all.join(", "), names.len());
            format!("`{found}` has {scores} scores, and `{label}` has {count} classes: {all}; declare {count} scores")
        });
        Ok(lacking.into_iter().chain(more).collect())
    }

    /// The number of windows that epochs are compared by.
    pub(super) fn validation_windows(&self) -> usize {
        self.validation.len()
    }

    /// Records the averages over both sets of windows, and the confusion matrix and the samples of the first set that
    /// has windows, with the current states of the training.
    pub(super) fn evaluate(
        &mut self,
        checkpoint: &Checkpoint,
        batch: usize,
        summary: &mut EpochSummary,
    ) -> Result<(), Error> {
        let from = From { checkpoint, fresh: false, interrupt: None };
        let (mut confusion, mut samples) = (None, None);
        let mut over = |windows: &Windows, set: &[usize], what: &'static str| {
            if set.is_empty() {
                return Ok(Metrics::new());
            }
            let mut counted =
                self.classes.as_ref().filter(|_| confusion.is_none()).map(|pair| pair.counts(what));
            let shown = self.samples.as_ref().filter(|_| samples.is_none());
            let mut shown = shown.map(|asked| asked.begin(what, set));
            let metrics = evaluate(&mut self.family, windows, set, batch, from, &mut |outputs, set| {
                counted.as_mut().map_or(Ok(()), |counts| counts.add(outputs, windows, set))?;
                shown.as_mut().map_or(Ok(()), |shown| shown.add(outputs, windows, set))
            });
            confusion = confusion.take().or(counted.map(Counts::end));
            samples = samples.take().or(shown.map(Collecting::end));
            metrics.map_err(|e| e.note(format!("while the {what} windows were evaluated")))
        };
        summary.test = over(&self.windows, &self.test, "test")?;
        let validation = self.validation_windows.as_ref().unwrap_or(&self.windows);
        summary.validation = over(validation, &self.validation, "validation")?;
        (summary.confusion, summary.samples) = (confusion, samples);
        Ok(())
    }
}

/// Passes on the warning that an evaluating node updates parameters.
pub(super) fn warn_of_learning(evaluates: &Program, observer: &mut dyn Observer) {
    for found in evaluates.warnings().iter().filter(|found| found.code == EVALUATION_LEARNS) {
        observer.warning(found, evaluates.sources());
    }
}

/// The error that an evaluating node has parameters that the training does not have.
fn untrained(trained: &Program, evaluates: &Program, source: &Source) -> Option<Error> {
    let (there, here) = (trained.flat(), evaluates.flat());
    let ty = |flat: &rml_ir::flat::Flat, key: &str| {
        flat.states.get(key).map(|state| flat.vars[flat.equations[state.equation].lhs].ty.clone())
    };
    let parameters = here.states.iter().filter(|(_, state)| state.parameter);
    let mut other = parameters.filter(|(key, _)| ty(there, key) != ty(here, key));
    let (key, state) = other.next()?;
    let (train, infer) = (trained.node(), evaluates.node());
    let more = match other.count() {
        0 => String::new(),
        n => format!(", and {n} more"),
    };
    let at = evaluates.call(around(key)).unwrap_or(here.equations[state.equation].span);
    let d = Diagnostic::error(
        codes::CHECKPOINT_MISMATCH,
        format!("`{infer}` evaluates with parameters that `{train}` does not train: `{key}`{more}"),
    )
    .label(at, format!("has `{key}`"));
    let d = match (ty(there, key), ty(here, key)) {
        (Some(trained), Some(own)) => {
            d.note(format!("`{key}` is {trained} in `{train}`, and {own} in `{infer}`"))
        }
        _ => {
            let own: Vec<String> =
                there.states.iter().filter(|(_, s)| s.parameter).map(|(key, _)| format!("`{key}`")).collect();
            d.note(format!("parameters are found by their paths; `{train}` has {}", shown(&own)))
        }
    };
    let is_within =
        |key: &str| there.states.keys().any(|own| own.strip_suffix(key).is_some_and(|o| o.ends_with('.')));
    let is_input = |name: &String| evaluates.inputs().iter().any(|input| *input.name == **name);
    let network =
        network(source, trained).filter(|(net, _)| is_within(key) && net.inputs().iter().all(is_input));
    if let Some((network, name)) = network {
        return Some(evaluates.error(d.help(format!(
            "`{train}` trains the parameters of node `{name}`: call it in `{infer}` in place of layers of its own: `{}`",
            network.call()
        ))));
    }
    Some(evaluates.error(d.help(format!(
        "call in `{infer}` the nodes that `{train}` trains, by the same names, in the same order, and each once: the second call of a node `net` has parameters `net_1` of its own, so use the result of the first one twice"
    ))))
}

/// The first few entries of a list.
fn shown(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let more = if names.len() > SHOWN { ", .." } else { "" };
    if names.is_empty() { "none".to_owned() } else { names[..names.len().min(SHOWN)].join(", ") + more }
}
