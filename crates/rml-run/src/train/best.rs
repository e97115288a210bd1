//! The best epoch or report by one metric: which metric that is, which epoch or report had it best, and when to wait for a better one
//! no longer.

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics, Error};

use super::observer::EpochSummary;
use super::options::{Direction, TrainOptions};
use super::until::{quoted, unknown};
use crate::checkpoint::Best;
use crate::runner::Metrics;

/// The windows that metrics are averages over, in the order in which a name without them is looked up.
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

/// The names of what a training reports.
#[derive(Default)]
pub(super) struct Names {
    pub(super) train: Vec<String>,
    pub(super) test: Vec<String>,
    pub(super) validation: Vec<String>,
    /// The parameters whose statistics are reported.
    pub(super) parameters: Vec<String>,
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

/// Looks for the best epoch or report.
#[derive(Debug)]
pub(super) struct Search {
    of: Of,
    name: String,
    direction: Direction,
    patience: Option<u64>,
    pub(super) best: Option<Best>,
}

impl Search {
    /// The search that the options ask for, going on from the best one before if that was found by the same metric.
    ///
    /// # Errors
    /// A metric that training does not report.
    pub(super) fn new(
        options: &TrainOptions,
        names: &Names,
        before: Option<&Best>,
    ) -> Result<Option<Self>, Error> {
        if options.best.is_none() && options.patience.is_none() && options.criterion.is_none() {
            return Ok(None);
        }
        let criterion = options.criterion.clone().unwrap_or_default();
        let (of, name) = find(&criterion.metric, names).ok_or_else(|| missing(options, names))?;
        let search = Self {
            of,
            name: name.to_owned(),
            direction: criterion.direction,
            patience: options.patience,
            best: None,
        };
        let is_same = |b: &&Best| b.metric == search.metric() && b.direction == search.direction.to_string();
        let best = before.filter(is_same).cloned();
        Ok(Some(Self { best, ..search }))
    }

    /// The metric, with the windows that it is of.
    fn metric(&self) -> String {
        let of = Of::ALL.iter().find(|(_, of)| *of == self.of).map_or("", |(text, _)| text);
        format!("{of}.{}", self.name)
    }

    /// Looks at an epoch or report, and says whether it is the best one so far. A NaN, or no value, is never the best.
    pub(super) fn see(&mut self, summary: &EpochSummary) -> bool {
        let value = self.of.metrics(summary).get(&self.name).copied().filter(|value| !value.is_nan());
        let is_better = |value: f64| match (&self.best, self.direction) {
            (None, _) => true,
            (Some(best), Direction::Min) => value < best.value(),
            (Some(best), Direction::Max) => value > best.value(),
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

    /// Whether so many epochs or reports have passed without a better one that there is no more waiting.
    pub(super) fn is_over(&self, epoch: u64) -> bool {
        let since = epoch - self.best.as_ref().map_or(0, |best| best.epoch.min(epoch));
        self.patience.is_some_and(|patience| since >= patience)
    }
}

/// The windows that a metric is of, and its name.
fn find<'n>(metric: &'n str, names: &Names) -> Option<(Of, &'n str)> {
    let has = |of: Of, name: &str| names.of(of).iter().any(|n| n == name);
    let named = Of::ALL.iter().find_map(|(text, of)| {
        let name = metric.strip_prefix(text)?.strip_prefix('.')?;
        has(*of, name).then_some((*of, name))
    });
    named.or_else(|| Of::ALL.iter().find(|(_, of)| has(*of, metric)).map(|(_, of)| (*of, metric)))
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

    fn search(metric: &str, direction: Direction, before: Option<&Best>) -> Search {
        let criterion = Some(Criterion { metric: metric.to_owned(), direction });
        let options = TrainOptions { criterion, patience: Some(2), ..TrainOptions::default() };
        Search::new(&options, &names(), before).unwrap().unwrap()
    }

    #[test]
    fn the_first_of_equal_ones_is_the_best_and_nan_never_is() {
        let mut least = search("loss", Direction::Min, None);
        let seen: Vec<bool> = [(1, f64::NAN), (2, 3.0), (3, 2.0), (4, 2.0), (5, 2.5)]
            .map(|(epoch, loss)| least.see(&summary(epoch, loss)))
            .into();
        assert_eq!(seen, [false, true, true, false, false]);
        let best = least.best.clone().unwrap();
        assert_eq!((&*best.metric, best.value(), best.epoch), ("test.loss", 2.0, 3));
        assert!(!least.is_over(4) && least.is_over(5));
        let mut greatest = search("test.loss", Direction::Max, None);
        assert!(
            greatest.see(&summary(1, 1.0))
                && !greatest.see(&summary(2, 0.5))
                && greatest.see(&summary(3, 2.0))
        );
    }

    #[test]
    fn patience_ends_without_any_best() {
        let mut search = search("loss", Direction::Min, None);
        assert!(!search.see(&summary(1, f64::NAN)) && !search.is_over(1));
        assert!(!search.see(&summary(2, f64::NAN)) && search.is_over(2));
    }

    #[test]
    fn a_best_of_another_metric_is_forgotten() {
        let mut first = search("loss", Direction::Min, None);
        first.see(&summary(1, 3.0));
        assert_eq!(search("loss", Direction::Min, first.best.as_ref()).best, first.best);
        assert_eq!(search("loss", Direction::Max, first.best.as_ref()).best, None);
        assert_eq!(search("train.loss", Direction::Min, first.best.as_ref()).best, None);
    }

    #[test]
    fn unknown_metrics_are_told_with_those_that_there_are() {
        let of = |criterion| {
            let options = TrainOptions { criterion, best: Some("b".into()), ..TrainOptions::default() };
            let names = Names { train: vec!["error".into()], ..Names::default() };
            Search::new(&options, &names, None).expect_err("there is no such metric").to_string()
        };
        assert!(of(None).contains("`train.error`"));
        let text = of(Some(Criterion { metric: "train.eror".into(), direction: Direction::Min }));
        assert!(text.contains("there is `train.error`"), "{text}");
    }
}
