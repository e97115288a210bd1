//! What is evaluated after each epoch: the test windows, and those that epochs are compared by.

use rml_base::Error;
use rml_data::Windows;

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
}

impl Test {
    pub(super) fn new(nodes: Nodes, test: Vec<usize>, validation: Vec<usize>) -> Result<Self, Error> {
        let Nodes { mut family, size, windows, validation: validation_windows } = nodes;
        let metrics = metric_names(family.program(size)?);
        let validation = validation_windows.as_ref().map_or(validation, |other| (0..other.count).collect());
        Ok(Self { family, metrics, windows, test, validation, validation_windows })
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

    /// The averages over both, with the states that training has now.
    pub(super) fn evaluate(
        &mut self,
        trained: &Runner<'_>,
        batch: usize,
    ) -> Result<(Metrics, Metrics), Error> {
        let checkpoint = Checkpoint::of_states(trained.session().states()?);
        let from = From { checkpoint: &checkpoint, fresh: false };
        let mut over = |windows: &Windows, set: &[usize], what: &str| {
            if set.is_empty() {
                return Ok(Metrics::new());
            }
            evaluate(&mut self.family, windows, set, batch, from, &mut |_, _| Ok(()))
                .map_err(|e| e.note(format!("while the {what} windows were evaluated")))
        };
        let validation = self.validation_windows.as_ref().unwrap_or(&self.windows);
        Ok((over(&self.windows, &self.test, "test")?, over(validation, &self.validation, "validation")?))
    }
}
