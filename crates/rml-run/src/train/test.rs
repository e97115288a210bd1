//! What is evaluated after each epoch: the test windows, and those that epochs are compared by.

use rml_base::Error;
use rml_data::Windows;

use super::confusion::Classes;
use super::confusion::{self, Counts, Pair};
use super::observer::EpochSummary;
use crate::checkpoint::Checkpoint;
use crate::infer::{From, evaluate};
use crate::runner::{Family, Metrics, Runner, metric_names};

/// The node that evaluates, the data, and other data to compare epochs by.
pub(super) struct Nodes {
    pub(super) family: Family,
    /// How many windows are stacked.
    pub(super) size: usize,
    pub(super) windows: Windows,
    pub(super) validation: Option<Windows>,
}

/// What is evaluated after each epoch.
pub(super) struct Test {
    family: Family,
    /// The names of its metrics.
    metrics: Vec<String>,
    windows: Windows,
    /// The windows kept for testing.
    test: Vec<usize>,
    /// The windows that epochs are compared by, of the data or of other data.
    validation: Vec<usize>,
    validation_windows: Option<Windows>,
    /// What the confusion matrix is of.
    classes: Option<Pair>,
}

impl Test {
    pub(super) fn new(
        nodes: Nodes,
        test: Vec<usize>,
        validation: Vec<usize>,
        classes: &Classes,
    ) -> Result<Self, Error> {
        let Nodes { mut family, size, windows, validation: validation_windows } = nodes;
        let metrics = metric_names(family.program(size)?);
        let classes = confusion::find(family.program(size)?, classes)?;
        let validation = validation_windows.as_ref().map_or(validation, |other| (0..other.count).collect());
        Ok(Self { family, metrics, windows, test, validation, validation_windows, classes })
    }

    /// The names of the metrics of the test windows, and of those that epochs are compared by.
    pub(super) fn names(&self) -> (Vec<String>, Vec<String>) {
        let of = |set: &[usize]| if set.is_empty() { Vec::new() } else { self.metrics.clone() };
        (of(&self.test), of(&self.validation))
    }

    /// How many windows epochs are compared by.
    pub(super) fn validation_windows(&self) -> usize {
        self.validation.len()
    }

    /// Notes the averages over both, and the confusion matrix of the first that has windows, with the states that
    /// training has now.
    pub(super) fn evaluate(
        &mut self,
        trained: &Runner<'_>,
        batch: usize,
        summary: &mut EpochSummary,
    ) -> Result<(), Error> {
        let checkpoint = Checkpoint::of_states(trained.session().states()?);
        let from = From { checkpoint: &checkpoint, fresh: false, interrupt: None };
        let mut confusion = None;
        let mut over = |windows: &Windows, set: &[usize], what: &'static str| {
            if set.is_empty() {
                return Ok(Metrics::new());
            }
            let mut counted =
                self.classes.as_ref().filter(|_| confusion.is_none()).map(|pair| pair.counts(what));
            let metrics = evaluate(&mut self.family, windows, set, batch, from, &mut |outputs, set| {
                counted.as_mut().map_or(Ok(()), |counts| counts.add(outputs, windows, set))
            });
            confusion = confusion.take().or(counted.map(Counts::end));
            metrics.map_err(|e| e.note(format!("while the {what} windows were evaluated")))
        };
        summary.test = over(&self.windows, &self.test, "test")?;
        let validation = self.validation_windows.as_ref().unwrap_or(&self.windows);
        summary.validation = over(validation, &self.validation, "validation")?;
        summary.confusion = confusion;
        Ok(())
    }
}
