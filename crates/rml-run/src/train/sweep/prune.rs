//! Ends the worse runs of a sweep early. All runs are trained to a first length, then only the better ones to the next
//! length, and so on. A decision compares all runs at the same length, so it does not depend on the order of the
//! runs or on the processes that train them.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};
use serde_json::Value;

use super::super::log;
use super::super::options::{BestBy, Criterion, Length, TrainOptions};
use super::{RunOutcome, SweepOptions};

/// Which combinations of settings end early. They are compared after `first` epochs or reports, and then whenever a run
/// is [`factor`](PruneRule::factor) times as long as at the last comparison.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(rate, x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, rate * (y - o));  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// # let folder = tempfile::tempdir().expect("a folder");
/// use rml::{Criterion, Prune, PruneRule, RunState, StaticValue, SweepOptions, SweepValues, TrainOptions};
///
/// let rates = [0.001, 0.01, 0.03, 0.1].map(StaticValue::Num).to_vec();
/// let criterion = Some(Criterion { metric: "train.loss".to_owned(), direction: None });
/// let options = SweepOptions {
///     train: TrainOptions { epochs: 4, criterion, ..TrainOptions::default() },
///     folder: folder.path().join("runs"),
///     settings: vec![("rate".to_owned(), SweepValues::List(rates))],
///     prune: Some(Prune { rule: PruneRule::Halving { factor: 2 }, first: 1 }),
///     ..SweepOptions::default()
/// };
/// let report = rml::sweep(&source, &data, &options, &mut ())?;
/// let pruned = report.runs.iter().filter(|run| matches!(run.state, RunState::Pruned));
/// assert_eq!(pruned.count(), 3);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prune {
    /// Which combinations continue.
    pub rule: PruneRule,
    /// The number of epochs or reports before the first comparison, at least 1.
    pub first: u64,
}

/// Which combinations continue after a comparison.
///
/// ```
/// use rml::PruneRule;
///
/// assert_eq!("halving:4".parse::<PruneRule>().ok(), Some(PruneRule::Halving { factor: 4 }));
/// assert_eq!(PruneRule::Median.to_string(), "median");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PruneRule {
    /// Successive halving: the best of `factor` combinations continues, but at least one in all.
    Halving {
        /// How many combinations one of which continues, at least 2.
        factor: u64,
    },
    /// Those that are not worse than the median of all combinations, each at its best so far.
    Median,
}

impl PruneRule {
    /// The default factor of [`Halving`](Self::Halving).
    pub const FACTOR: u64 = 3;

    /// How many times as long as the last comparison the next one is.
    pub fn factor(self) -> u64 {
        match self {
            Self::Halving { factor } => factor,
            Self::Median => 2,
        }
    }

    /// Which combinations continue. `scores` are those of the combinations that are still trained: the lowest is the
    /// best, and a combination without one is the worst. `out` are the scores of those that ended before.
    fn kept(self, scores: &[Option<f64>], out: &[f64]) -> Vec<bool> {
        let mut order: Vec<(usize, f64)> =
            scores.iter().enumerate().filter_map(|(at, score)| Some((at, (*score)?))).collect();
        order.sort_by(|a, b| a.1.total_cmp(&b.1));
        match self {
            Self::Halving { factor } => {
                let most = usize::try_from(factor).map_or(1, |factor| scores.len() / factor).max(1);
                let best = order.get(..most).unwrap_or(&order);
                (0..scores.len()).map(|at| best.iter().any(|(kept, _)| *kept == at)).collect()
            }
            Self::Median => {
                let mut all: Vec<f64> =
                    order.iter().map(|(_, score)| *score).chain(out.iter().copied()).collect();
                all.sort_by(f64::total_cmp);
                let Some(last) = all.len().checked_sub(1) else { return vec![false; scores.len()] };
                let median = f64::midpoint(all[last / 2], all[all.len() / 2]);
                scores.iter().map(|score| score.is_some_and(|score| score <= median)).collect()
            }
        }
    }
}

impl fmt::Display for PruneRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Halving { factor } => write!(f, "halving:{factor}"),
            Self::Median => f.write_str("median"),
        }
    }
}

impl FromStr for PruneRule {
    type Err = Diagnostic;

    /// # Errors
    /// A text other than `halving`, `halving:N` with a whole number of at least 2, and `median`.
    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let factor = match text.split_once(':') {
            None if text == "median" => return Ok(Self::Median),
            None if text == "halving" => Some(Self::FACTOR),
            Some(("halving", factor)) => factor.parse().ok().filter(|factor| *factor >= 2),
            None | Some(_) => None,
        };
        factor.map(|factor| Self::Halving { factor }).ok_or_else(|| {
            let what = "expected halving, halving:N with a whole number of at least 2, or median";
            Diagnostic::error(codes::BAD_OPTION, what).note(format!("found {text}"))
        })
    }
}

impl Prune {
    /// The lengths in epochs or reports at which runs are compared, of runs with `total` in all.
    fn lengths(&self, total: u64) -> Vec<u64> {
        let next = |length: &u64| length.checked_mul(self.rule.factor());
        std::iter::successors(Some(self.first), next).take_while(|length| *length < total).collect()
    }
}

/// A comparison of the combinations of a sweep.
///
/// ```
/// let stage = rml::SweepStage { length: 3, kept: 2, of: 6 };
/// assert!(stage.kept < stage.of);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SweepStage {
    /// After how many epochs or reports the combinations were compared.
    pub length: u64,
    /// How many combinations continued.
    pub kept: usize,
    /// How many combinations were compared.
    pub of: usize,
}

/// The options of a pruned sweep: the metric that compares runs is also the one by which each finds its best epoch.
///
/// # Errors
/// Runs without validation windows, unless a metric of other windows is named; runs without a known length; a first
/// comparison or a factor out of range.
pub(super) fn checked(options: &SweepOptions) -> Result<SweepOptions, Diagnostic> {
    let Some(prune) = &options.prune else { return Ok(options.clone()) };
    let train = &options.train;
    let bad = |what: &str, help: &str| Err(Diagnostic::error(codes::BAD_OPTION, what).help(help));
    if prune.first == 0 || prune.rule.factor() < 2 {
        return bad(
            "runs are compared after at least one epoch, and then after at least two",
            "leave the numbers out",
        );
    }
    let criterion = train.criterion.clone().unwrap_or_default();
    if train.length.is_none() && train.validate.is_none() && !criterion.metric.contains('.') {
        return bad(
            "runs are pruned by validation windows, and there are none",
            "keep some (`--validate 0.15`), or name the metric with its windows (`--metric test.loss:min`)",
        );
    }
    if total(train).is_none() {
        return bad(
            "runs are compared at parts of their length, and it is not known",
            "say how many windows a run has at most (`--windows N`)",
        );
    }
    let direction = criterion.direction.or_else(|| BestBy::usual(&criterion.metric));
    let criterion = Some(Criterion { direction, ..criterion });
    Ok(SweepOptions { train: TrainOptions { criterion, ..train.clone() }, ..options.clone() })
}

/// The length of a run in epochs or reports, if it is known.
fn total(train: &TrainOptions) -> Option<u64> {
    match &train.length {
        None => Some(train.epochs),
        Some(length) => Some(length.windows?.div_ceil(every(length))),
    }
}

/// How many windows a report has.
fn every(length: &Length) -> u64 {
    length.report.unwrap_or(Length::REPORT).max(1)
}

/// The lengths at which runs are compared, and the options of runs of that length.
pub(super) fn stages(options: &SweepOptions) -> Vec<(u64, SweepOptions)> {
    let (Some(prune), Some(total)) = (&options.prune, total(&options.train)) else { return Vec::new() };
    let to = |reached: u64| {
        let train = &options.train;
        let length = train
            .length
            .as_ref()
            .map(|length| Length { windows: Some(reached.saturating_mul(every(length))), ..length.clone() });
        let epochs = if length.is_some() { train.epochs } else { reached };
        (reached, SweepOptions { train: TrainOptions { epochs, length, ..train.clone() }, ..options.clone() })
    };
    prune.lengths(total).into_iter().map(to).collect()
}

/// The best value of a run up to a length, as a number of which the lowest is the best; none if it failed.
///
/// # Errors
/// A log that cannot be read.
pub(super) fn score(
    folder: &Path,
    options: &SweepOptions,
    run: &RunOutcome,
    length: u64,
) -> Result<Option<f64>, Error> {
    if !run.is_trained() {
        return Ok(None);
    }
    let rows = log::logged(&folder.join(&run.name))?;
    let last = rows.iter().rfind(|row| log::number(row).is_some_and(|number| number <= length));
    let best = last.and_then(|row| row.get("best")?.get("value").and_then(Value::as_f64));
    let is_high =
        options.train.criterion.as_ref().and_then(|criterion| criterion.direction) == Some(BestBy::Max);
    Ok(best.map(|best| if is_high { -best } else { best }))
}

/// The scores of the combinations that are still trained, and which of them continue.
pub(super) struct Compared {
    /// By combination: the mean over its seeds; none if a run of it failed.
    scores: Vec<Option<f64>>,
    pub(super) kept: Vec<bool>,
}

impl Compared {
    /// Compares combinations by the scores of their runs. `out` are the scores of combinations that ended before.
    pub(super) fn new(prune: &Prune, runs: &[Vec<Option<f64>>], out: &[f64]) -> Self {
        let mean = |runs: &Vec<Option<f64>>| {
            let all: Option<Vec<f64>> = runs.iter().copied().collect();
            all.map(|all| all.iter().sum::<f64>() / all.len() as f64)
        };
        let scores: Vec<Option<f64>> = runs.iter().map(mean).collect();
        Self { kept: prune.rule.kept(&scores, out), scores }
    }

    /// The warning that the compared values are equal, so that they do not say which combinations are better.
    pub(super) fn tie(&self, options: &SweepOptions, length: u64) -> Option<Diagnostic> {
        let first = self.scores.first().copied().flatten()?;
        let is_tie = self.scores.len() > 1 && self.scores.iter().all(|score| *score == Some(first));
        let metric = options.train.criterion.as_ref().map_or("", |criterion| &criterion.metric);
        let unit = if options.train.length.is_some() { "report" } else { "epoch" };
        is_tie.then(|| {
            let what = format!("`{metric}` is the same for all {} combinations after {unit} {length}", self.scores.len());
            Diagnostic::warning(codes::BAD_OPTION, what)
                .note("so the first combinations continue, and not better ones")
                .help("compare by another metric (`--metric`); if `evaluate` runs a single cycle, let it run more (`--test 500`)")
        })
    }

    /// The scores of the combinations that do not continue.
    pub(super) fn out(&self) -> impl Iterator<Item = f64> {
        self.scores.iter().zip(&self.kept).filter(|(_, kept)| !**kept).filter_map(|(score, _)| *score)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_keeps_the_best_and_the_first_of_equal_ones() {
        let kept = |factor, scores: &[Option<f64>]| PruneRule::Halving { factor }.kept(scores, &[]);
        assert_eq!(kept(2, &[Some(3.0), Some(1.0), None, Some(2.0)]), [false, true, false, true]);
        assert_eq!(kept(3, &[Some(1.0), Some(1.0), Some(1.0), Some(2.0)]), [true, false, false, false]);
        assert_eq!(kept(4, &[Some(5.0), None]), [true, false], "at least one continues");
        assert_eq!(kept(2, &[None, None]), [false, false]);
    }

    #[test]
    fn the_median_counts_those_that_ended_before() {
        let kept = |scores: &[Option<f64>], out: &[f64]| PruneRule::Median.kept(scores, out);
        assert_eq!(kept(&[Some(4.0), Some(1.0), Some(2.0), Some(3.0)], &[]), [false, true, true, false]);
        assert_eq!(kept(&[Some(1.0), Some(2.0)], &[3.0, 4.0]), [true, true]);
        assert_eq!(kept(&[Some(1.0), Some(3.5)], &[3.0, 4.0]), [true, false]);
        assert_eq!(kept(&[None], &[]), [false]);
    }

    #[test]
    fn comparisons_are_at_growing_lengths_before_the_end() {
        let prune = |rule, first| Prune { rule, first };
        assert_eq!(prune(PruneRule::Halving { factor: 3 }, 1).lengths(27), [1, 3, 9]);
        assert_eq!(prune(PruneRule::Median, 2).lengths(17), [2, 4, 8, 16]);
        assert_eq!(prune(PruneRule::Median, 5).lengths(5), [0_u64; 0]);
        assert_eq!("halving".parse(), Ok(PruneRule::Halving { factor: 3 }));
        for text in ["halving:1", "halving:", "halving:x", "median:2", "best", ""] {
            assert!(text.parse::<PruneRule>().is_err(), "{text}");
        }
    }
}
