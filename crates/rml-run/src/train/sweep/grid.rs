//! Which runs a sweep has: all combinations of values and seeds, or a number of combinations that are drawn.

use rml_base::Diagnostic;
use rml_base::codes::run as codes;
use rml_ir::random::Random;
use rml_ir::typed::StaticValue;

use super::{RunOutcome, RunState, SweepOptions};
use crate::settings::Settings;

/// The values that a sweep tries for a static parameter.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(rate, x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, rate * (y - o));  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// # let folder = tempfile::tempdir().expect("a folder");
/// use rml::{SweepSamples, SweepOptions, SweepRange, SweepValues};
///
/// let rates = SweepRange { low: 0.001, high: 0.1, is_log: true, is_whole: false };
/// let options = SweepOptions {
///     train: rml::TrainOptions { epochs: 2, ..Default::default() },
///     folder: folder.path().join("runs"),
///     settings: vec![("rate".to_owned(), SweepValues::Range(rates))],
///     samples: Some(SweepSamples { count: 4, seed: 0 }),
///     ..SweepOptions::default()
/// };
/// let report = rml::sweep(&source, &data, &options, &mut ())?;
/// assert_eq!(report.runs.len(), 4);
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Debug)]
pub enum SweepValues {
    /// These values.
    List(Vec<StaticValue>),
    /// Numbers of a range, of which [samples](SweepOptions::samples) are drawn.
    Range(SweepRange),
}

/// A range of numbers.
///
/// ```
/// let range = rml::SweepRange { low: 16.0, high: 256.0, is_log: true, is_whole: true };
/// assert_eq!(range.to_string(), "16..256:log");
/// assert_eq!("16 .. 256:log".parse(), Ok(range));
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SweepRange {
    /// The least value.
    pub low: f64,
    /// The greatest value.
    pub high: f64,
    /// Whether the logarithms of the values are distributed evenly, instead of the values.
    pub is_log: bool,
    /// Whether the values are whole numbers.
    pub is_whole: bool,
}

impl std::str::FromStr for SweepRange {
    type Err = Diagnostic;

    /// Parses `LOW..HIGH`, and `LOW..HIGH:log`; the numbers are whole if both are written as whole numbers.
    ///
    /// # Errors
    /// A text of another form; a range without numbers; logarithms of numbers that are not positive.
    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let bad = |what: String| Err(Diagnostic::error(codes::BAD_OPTION, what).help("`0.001..0.1:log`"));
        let Some((low, high)) = text.split_once("..") else {
            return bad(format!("expected a range LOW..HIGH, found `{text}`"));
        };
        let (high, is_log) = match high.split_once(':') {
            Some((high, "log")) => (high, true),
            Some((_, other)) => {
                return bad(format!("expected `:log` or nothing after a range, found `:{other}`"));
            }
            None => (high, false),
        };
        let texts = [low.trim(), high.trim()];
        let number = |text: &str| text.parse::<f64>().ok().filter(|x| x.is_finite());
        let [Some(low), Some(high)] = texts.map(number) else {
            let other = texts.into_iter().find(|text| number(text).is_none()).unwrap_or_default();
            return bad(format!("expected numbers LOW..HIGH, e.g. 0.001..0.1:log, found `{other}`"));
        };
        if low >= high {
            return bad(format!("expected a range from a number to a greater one, found {low}..{high}"));
        }
        if is_log && low <= 0.0 {
            return bad(format!("expected numbers above 0 in a range with `:log`, found {low}"));
        }
        let is_whole = texts.iter().all(|text| text.parse::<i32>().is_ok());
        Ok(Self { low, high, is_log, is_whole })
    }
}

impl std::fmt::Display for SweepRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}{}", self.low, self.high, if self.is_log { ":log" } else { "" })
    }
}

/// How many combinations of values are drawn, instead of all combinations. The first combinations are the same for any
/// count.
///
/// ```
/// let samples = rml::SweepSamples { count: 20, seed: 0 };
/// assert_eq!(samples.count, 20);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SweepSamples {
    /// How many combinations.
    pub count: usize,
    /// The seed of the draws.
    pub seed: u64,
}

impl SweepValues {
    /// How many different values there are; `None` for a range of numbers that are not whole.
    fn count(&self) -> Option<usize> {
        match self {
            Self::List(values) => Some(values.len()),
            Self::Range(range) if range.is_whole => Some((range.high - range.low) as usize + 1),
            Self::Range(_) => None,
        }
    }

    /// The value at a place from 0 to 1.
    fn at(&self, place: f64) -> StaticValue {
        match self {
            Self::List(values) => {
                values[((place * values.len() as f64) as usize).min(values.len() - 1)].clone()
            }
            Self::Range(range) => range.at(place),
        }
    }
}

impl SweepRange {
    fn at(&self, place: f64) -> StaticValue {
        let Self { low, high, is_log, is_whole } = *self;
        // Each whole number is the middle of a part of the range.
        let (from, to) = if is_whole { (low - 0.5, high + 0.5) } else { (low, high) };
        let between = |from: f64, to: f64| from + place * (to - from);
        let value =
            if is_log { libm::exp(between(libm::log(from), libm::log(to))) } else { between(from, to) };
        if is_whole {
            return StaticValue::Int(value.round().clamp(low, high) as i64);
        }
        // A short number can be written again with `--set`.
        let short = format!("{value:.3e}").parse().unwrap_or(value);
        StaticValue::Num(short.clamp(low, high))
    }
}

/// All runs: combination by combination, and seed by seed within each.
///
/// # Errors
/// A name or a run that occurs twice; a range without a number of samples, or too many samples.
pub(super) fn grid(options: &SweepOptions) -> Result<Vec<RunOutcome>, Diagnostic> {
    for (at, (name, _)) in options.settings.iter().enumerate() {
        let is_fixed =
            options.train.set.contains_key(name) || (name == "batch" && options.train.batch.is_some());
        if is_fixed || options.settings[..at].iter().any(|(other, _)| other == name) {
            return Err(twice(name));
        }
    }
    let combinations = match options.samples {
        Some(samples) => drawn(&options.settings, samples)?,
        None => all(&options.settings)?,
    };
    let seeds: Vec<Option<u64>> = match &options.seeds[..] {
        [] => vec![None],
        seeds => seeds.iter().copied().map(Some).collect(),
    };
    let mut runs: Vec<RunOutcome> = Vec::new();
    for settings in &combinations {
        for &seed in &seeds {
            let name = name(settings, seed);
            if runs.iter().any(|run| run.name == name) {
                return Err(twice(&name));
            }
            runs.push(RunOutcome {
                name,
                settings: settings.clone(),
                seed,
                state: RunState::Interrupted,
                epoch: None,
                metrics: Vec::new(),
                seconds: 0.0,
            });
        }
    }
    Ok(runs)
}

fn twice(what: &str) -> Diagnostic {
    Diagnostic::error(codes::BAD_OPTION, format!("`{what}` is given twice")).help("give it once")
}

/// All combinations.
fn all(settings: &[(String, SweepValues)]) -> Result<Vec<Settings>, Diagnostic> {
    let mut combinations = vec![Settings::new()];
    for (name, values) in settings {
        let values = match values {
            SweepValues::List(values) => values,
            SweepValues::Range(range) => {
                let what = format!("the range {name}={range} has no list of values to combine");
                let help = "say how many combinations are to be drawn (`--samples 20`), or list the values";
                return Err(Diagnostic::error(codes::BAD_OPTION, what).help(help));
            }
        };
        let with = |settings: &Settings, value: &StaticValue| {
            let mut settings = settings.clone();
            settings.insert(name.clone(), value.clone());
            settings
        };
        combinations =
            combinations.iter().flat_map(|settings| values.iter().map(move |v| with(settings, v))).collect();
    }
    Ok(combinations)
}

/// How many draws there are for each combination, before there seem to be no others.
const DRAWS: u64 = 1000;

/// The first different combinations of a sequence of draws. A value depends only on the seed, its name and its number
/// in the sequence.
fn drawn(settings: &[(String, SweepValues)], samples: SweepSamples) -> Result<Vec<Settings>, Diagnostic> {
    let SweepSamples { count, seed } = samples;
    let mut combinations: Vec<Settings> = Vec::new();
    let possible = settings
        .iter()
        .map(|(_, values)| values.count())
        .try_fold(1_usize, |all, own| Some(all.saturating_mul(own?)));
    let draws = if possible.is_some_and(|possible| possible < count) {
        0
    } else {
        DRAWS.saturating_mul(count as u64)
    };
    for draw in 0..draws {
        let value = |(name, values): &(String, SweepValues)| {
            (name.clone(), values.at(Random::new(seed, &format!("sweep {name}"), draw).uniform(0)))
        };
        let combination: Settings = settings.iter().map(value).collect();
        if !combinations.contains(&combination) {
            combinations.push(combination);
        }
        if combinations.len() == count {
            return Ok(combinations);
        }
    }
    let what = format!("there are fewer than {count} combinations of the values");
    let d = Diagnostic::error(codes::BAD_OPTION, what);
    let d = match possible {
        Some(possible) => d.note(format!("expected at most {possible} samples, found {count}")),
        None => d.note(format!("{} different ones were found in {draws} draws", combinations.len())),
    };
    Err(d.help("leave `--samples` out to train all combinations of lists, or ask for fewer samples"))
}

/// The name of a run: `rate=0.1,seed=3`.
pub(super) fn name(settings: &Settings, seed: Option<u64>) -> String {
    let settings = settings.iter().map(|(name, value)| format!("{name}={value}").replace(' ', ""));
    let seed = seed.map(|seed| format!("seed={seed}"));
    let name = settings.chain(seed).collect::<Vec<_>>().join(",");
    if name.is_empty() { "run".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(low: f64, high: f64, is_log: bool, is_whole: bool) -> SweepValues {
        SweepValues::Range(SweepRange { low, high, is_log, is_whole })
    }

    fn number(value: &StaticValue) -> f64 {
        match value {
            StaticValue::Num(x) => *x,
            StaticValue::Int(n) => *n as f64,
            StaticValue::Bool(_) | StaticValue::Array(_) => panic!("{value} is no number"),
        }
    }

    #[test]
    fn draws_are_within_their_range_and_evenly_distributed() {
        let settings = vec![
            ("rate".to_owned(), range(1e-4, 1e-1, true, false)),
            ("n".to_owned(), range(1.0, 4.0, false, true)),
        ];
        let drawn = drawn(&settings, SweepSamples { count: 900, seed: 1 }).unwrap();
        let rates: Vec<f64> = drawn.iter().map(|c| number(&c["rate"])).collect();
        assert!(rates.iter().all(|x| (1e-4..=1e-1).contains(x)));
        for decade in [1e-4, 1e-3, 1e-2] {
            let within = rates.iter().filter(|x| (decade..10.0 * decade).contains(*x)).count();
            assert!((240..360).contains(&within), "{within} of 900 in the decade of {decade}");
        }
        for n in 1..=4 {
            let those = drawn.iter().filter(|c| number(&c["n"]) == f64::from(n)).count();
            assert!((170..280).contains(&those), "{those} of 900 are {n}");
        }
    }

    #[test]
    fn more_samples_continue_the_same_sequence() {
        let settings = vec![("rate".to_owned(), range(0.0, 1.0, false, false))];
        let few = drawn(&settings, SweepSamples { count: 5, seed: 3 }).unwrap();
        let many = drawn(&settings, SweepSamples { count: 9, seed: 3 }).unwrap();
        assert_eq!(few, many[..5]);
        assert_ne!(few, drawn(&settings, SweepSamples { count: 5, seed: 4 }).unwrap());
        // Another parameter does not change the draws of this one.
        let both = [settings, vec![("units".to_owned(), range(8.0, 64.0, true, true))]].concat();
        let both = drawn(&both, SweepSamples { count: 5, seed: 3 }).unwrap();
        assert!(few.iter().zip(&both).all(|(a, b)| a["rate"] == b["rate"]));
    }

    #[test]
    fn all_combinations_can_be_drawn_and_no_more() {
        let list = SweepValues::List(vec![StaticValue::Int(1), StaticValue::Int(2), StaticValue::Int(3)]);
        let settings = vec![("a".to_owned(), list), ("b".to_owned(), range(1.0, 2.0, false, true))];
        assert_eq!(drawn(&settings, SweepSamples { count: 6, seed: 0 }).map(|all| all.len()), Ok(6));
        let d = drawn(&settings, SweepSamples { count: 7, seed: 0 }).unwrap_err();
        assert!(d.notes[0].contains("at most 6 samples"), "{d:?}");
    }
}
