//! The best epoch or report by one metric: chooses the metric, finds the epoch or report with its best value, and ends
//! the training if there is no better one for too long.

use std::path::Path;

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics, Error};

use super::keeper::{Keeper, Names, Now};
use super::observer::EpochSummary;
use super::options::{BestBy, TrainOptions};
use super::until::{quoted, unknown};
use crate::checkpoint::{Best, TrainingPosition};
use crate::runner::Metrics;

/// The windows that metrics are averaged over, in the order in which a name without windows is looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Of {
    Validation,
    Test,
    Train,
}

impl Of {
    const ALL: [(&str, Self); 3] =
        [("validation", Self::Validation), ("test", Self::Test), ("train", Self::Train)];

    fn metrics(self, summary: &EpochSummary) -> &Metrics {
        match self {
            Self::Validation => &summary.validation,
            Self::Test => &summary.test,
            Self::Train => &summary.train,
        }
    }
}

impl Names {
    fn of(&self, of: Of) -> &[String] {
        match of {
            Of::Validation => &self.validation,
            Of::Test => &self.test,
            Of::Train => &self.train,
        }
    }
}

/// Finds the best epoch or report.
#[derive(Debug)]
pub(super) struct Search<'a> {
    of: Of,
    name: String,
    direction: BestBy,
    patience: Option<u64>,
    /// The file for the parameters of the best epoch or report.
    file: Option<&'a Path>,
    best: Option<Best>,
}

impl<'a> Search<'a> {
    /// The search that the options ask for. It continues from the best epoch in the position if this was found by the
    /// same metric; otherwise it is removed from the position.
    pub(super) fn new(
        options: &'a TrainOptions,
        names: &Names,
        position: &mut TrainingPosition,
    ) -> Result<Option<Self>, Error> {
        // The best epoch of an earlier run is of no use without its parameters.
        let has_file = options.best.as_ref().is_none_or(|path| path.exists());
        let before = position.best.take().filter(|_| has_file);
        if options.best.is_none() && options.patience.is_none() && options.criterion.is_none() {
            return Ok(None);
        }
        let criterion = options.criterion.clone().unwrap_or_default();
        let (of, name) = find(&criterion.metric, names).ok_or_else(|| missing(options, names))?;
        let usual = || BestBy::usual(name).ok_or_else(|| undirected(&criterion.metric));
        let direction = criterion.direction.map_or_else(usual, Ok)?;
        let search = Self {
            of,
            name: name.to_owned(),
            direction,
            patience: options.patience,
            file: options.best.as_deref(),
            best: None,
        };
        let is_same = |b: &Best| b.metric == search.metric() && b.direction == search.direction.to_string();
        let best = before.filter(is_same);
        position.best.clone_from(&best);
        Ok(Some(Self { best, ..search }))
    }

    /// The metric, with the windows that it is averaged over.
    fn metric(&self) -> String {
        let of = Of::ALL.iter().find(|(_, of)| *of == self.of).map_or("", |(text, _)| text);
        format!("{of}.{}", self.name)
    }

    /// Compares an epoch or report, and returns whether it is the best one so far. NaN, or no value, is never the best.
    fn see(&mut self, summary: &EpochSummary) -> bool {
        let value = self.of.metrics(summary).get(&self.name).copied().filter(|value| !value.is_nan());
        let is_better = |value: f64| match (&self.best, self.direction) {
            (None, _) => true,
            (Some(best), BestBy::Min) => value < best.value(),
            (Some(best), BestBy::Max) => value > best.value(),
        };
        let Some(value) = value.filter(|value| is_better(*value)) else { return false };
        self.best = Some(Best {
            metric: self.metric(),
            direction: self.direction.to_string(),
            bits: value.to_bits(),
            epoch: summary.epoch,
        });
        true
    }

    /// Whether the best epoch or report is as long ago as the patience allows.
    fn is_too_long_ago(&self, epoch: u64) -> bool {
        let since = epoch - self.best.as_ref().map_or(0, |best| best.epoch.min(epoch));
        self.patience.is_some_and(|patience| since >= patience)
    }
}

impl Keeper for Search<'_> {
    fn epoch(&mut self, summary: &mut EpochSummary, now: &mut Now<'_>) -> Result<(), Error> {
        let is_best = self.see(summary);
        now.position.best.clone_from(&self.best);
        summary.best.clone_from(&self.best);
        // This precedes the checkpoint: a run that stops between the two finds the best epoch again.
        self.file.filter(|_| is_best).map_or(Ok(()), |file| now.write(file))
    }

    fn end(&mut self, now: &mut Now<'_>) -> Result<(), Error> {
        now.report.out_of_patience = !now.report.interrupted && self.is_over(now.position);
        now.report.best.clone_from(&self.best);
        now.report.kept_best = self.best.is_some() && self.file.is_some();
        Ok(())
    }

    fn is_over(&self, position: &TrainingPosition) -> bool {
        self.is_too_long_ago(position.reached.epoch)
    }
}

/// The windows that a metric is averaged over, and its name.
fn find<'n>(metric: &'n str, names: &Names) -> Option<(Of, &'n str)> {
    let has = |of: Of, name: &str| names.of(of).iter().any(|n| n == name);
    let named = Of::ALL.iter().find_map(|(text, of)| {
        let name = metric.strip_prefix(text)?.strip_prefix('.')?;
        has(*of, name).then_some((*of, name))
    });
    named.or_else(|| Of::ALL.iter().find(|(_, of)| has(*of, metric)).map(|(_, of)| (*of, metric)))
}

/// The error that nothing says whether small or great values of a metric are better.
fn undirected(metric: &str) -> Error {
    let what = format!("nothing says whether small or great values of `{metric}` are better");
    Diagnostic::error(codes::BAD_OPTION, what)
        .help(format!("write `--metric {metric}:min` or `--metric {metric}:max`"))
        .into()
}

fn missing(options: &TrainOptions, names: &Names) -> Error {
    let known =
        Of::ALL.iter().flat_map(|(text, of)| names.of(*of).iter().map(move |n| format!("{text}.{n}")));
    let known: Vec<String> = known.collect();
    let Some(criterion) = &options.criterion else {
        let d = Diagnostic::error(codes::UNKNOWN_METRIC, "there is no metric `loss` to find the best by");
        let d = if known.is_empty() { d } else { d.note(format!("there are {}", quoted(&known))) };
        return d
            .help("name another one, and what is better (`--metric NAME:min`, `--metric NAME:max`)")
            .into();
    };
    let mut findings = Diagnostics::new();
    findings.push(unknown(&criterion.metric, &known, |d| d));
    findings.into()
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::super::options::Criterion;
    use super::*;

    fn summary(epoch: u64, loss: f64) -> EpochSummary {
        let train = [("loss".to_owned(), 0.0)].into_iter().collect();
        let test = [("loss".to_owned(), loss)].into_iter().collect();
        EpochSummary { test, ..EpochSummary::new(epoch, train, IndexMap::new()) }
    }

    fn names() -> Names {
        Names { train: vec!["loss".into(), "n".into()], test: vec!["loss".into()], ..Names::default() }
    }

    fn position(best: Option<Best>) -> TrainingPosition {
        TrainingPosition { best, ..crate::checkpoint::tests::position() }
    }

    fn search(metric: &str, direction: BestBy, before: Option<&Best>) -> Search<'static> {
        let criterion = Some(Criterion { metric: metric.to_owned(), direction: Some(direction) });
        let options = TrainOptions { criterion, patience: Some(2), ..TrainOptions::default() };
        let mut position = position(before.cloned());
        let search = Search::new(&options, &names(), &mut position).unwrap().unwrap();
        assert_eq!(position.best, search.best);
        Search { file: None, ..search }
    }

    #[test]
    fn the_first_of_equal_ones_is_the_best_and_nan_never_is() {
        let mut least = search("loss", BestBy::Min, None);
        let seen: Vec<bool> = [(1, f64::NAN), (2, 3.0), (3, 2.0), (4, 2.0), (5, 2.5)]
            .map(|(epoch, loss)| least.see(&summary(epoch, loss)))
            .into();
        assert_eq!(seen, [false, true, true, false, false]);
        let best = least.best.clone().unwrap();
        assert_eq!((&*best.metric, best.value(), best.epoch), ("test.loss", 2.0, 3));
        assert!(!least.is_too_long_ago(4) && least.is_too_long_ago(5));
        let mut greatest = search("test.loss", BestBy::Max, None);
        assert!(
            greatest.see(&summary(1, 1.0))
                && !greatest.see(&summary(2, 0.5))
                && greatest.see(&summary(3, 2.0))
        );
    }

    #[test]
    fn patience_ends_without_any_best() {
        let mut search = search("loss", BestBy::Min, None);
        assert!(!search.see(&summary(1, f64::NAN)) && !search.is_too_long_ago(1));
        assert!(!search.see(&summary(2, f64::NAN)) && search.is_too_long_ago(2));
    }

    #[test]
    fn a_best_of_another_metric_is_forgotten() {
        let mut first = search("loss", BestBy::Min, None);
        first.see(&summary(1, 3.0));
        assert_eq!(search("loss", BestBy::Min, first.best.as_ref()).best, first.best);
        assert_eq!(search("loss", BestBy::Max, first.best.as_ref()).best, None);
        assert_eq!(search("train.loss", BestBy::Min, first.best.as_ref()).best, None);
    }

    #[test]
    fn unknown_metrics_are_told_with_those_that_there_are() {
        let of = |criterion| {
            let options = TrainOptions { criterion, best: Some("b".into()), ..TrainOptions::default() };
            let names = Names { train: vec!["error".into()], ..Names::default() };
            Search::new(&options, &names, &mut position(None))
                .expect_err("there is no such metric")
                .to_string()
        };
        assert!(of(None).contains("`train.error`"));
        let text = of(Some(Criterion { metric: "train.eror".into(), direction: Some(BestBy::Min) }));
        assert!(text.contains("there is `train.error`"), "{text}");
    }
}
