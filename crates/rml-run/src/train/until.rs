//! Conditions that end a training without data: `length >= 475 for 5`.

use std::ops::Range;
use std::sync::Arc;

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics, Error, FileId, Sources, Span, suggest};

use super::keeper::{Keeper, Now};
use super::observer::EpochSummary;
use crate::checkpoint::TrainingPosition;
use crate::runner::Metrics;

/// The name of the text in messages.
const ORIGIN: &str = "--until";
/// The prefix of the names of the evaluation's metrics.
const TEST: &str = "test.";

/// The condition for the end of a training: comparisons of metrics that hold in a number of consecutive reports.
///
/// ```
/// let until = rml::Until::parse("length >= 475 and test.length > 450 for 5")?;
/// assert_eq!(until.to_string(), "length >= 475 and test.length > 450 for 5");
/// # Ok::<(), rml::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Until {
    text: String,
    comparisons: Vec<Comparison>,
    /// The number of consecutive reports in which all comparisons have to hold.
    reports: u64,
}

#[derive(Clone, PartialEq, Debug)]
struct Comparison {
    /// The name; metrics of the evaluation have the prefix `test.`.
    name: String,
    place: Range<usize>,
    relation: Relation,
    bound: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Relation {
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Relation {
    const ALL: [(&str, Self); 4] =
        [("<=", Self::AtMost), (">=", Self::AtLeast), ("<", Self::Less), (">", Self::Greater)];

    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Less => value < bound,
            Self::AtMost => value <= bound,
            Self::Greater => value > bound,
            Self::AtLeast => value >= bound,
        }
    }
}

impl Until {
    /// Parses one or more comparisons `METRIC >= NUMBER`, joined by `and`, optionally followed by `for N` for N
    /// consecutive reports. The relations are `<`, `<=`, `>` and `>=`; `test.METRIC` is a metric of the evaluation.
    ///
    /// # Errors
    /// Any other text.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut reader = Reader { text, at: 0 };
        let mut comparisons = vec![reader.comparison()?];
        while reader.word("and") {
            comparisons.push(reader.comparison()?);
        }
        let reports = if reader.word("for") { reader.count()? } else { 1 };
        reader.end()?;
        Ok(Self { text: text.to_owned(), comparisons, reports })
    }

    /// Whether it is true for these metrics. A metric without a value counts as NaN.
    fn holds(&self, train: &Metrics, test: &Metrics) -> bool {
        self.comparisons.iter().all(|c| {
            let value = match c.name.strip_prefix(TEST) {
                Some(name) => test.get(name),
                None => train.get(&c.name),
            };
            value.is_some_and(|value| c.relation.holds(*value, c.bound))
        })
    }

    /// Checks that its names are names of metrics.
    ///
    /// # Errors
    /// All names that are not names of metrics.
    pub(super) fn check(&self, train: &[String], test: &[String]) -> Result<(), Error> {
        let known: Vec<String> =
            train.iter().cloned().chain(test.iter().map(|name| format!("{TEST}{name}"))).collect();
        let (mut sources, mut findings) = (Sources::new(), Diagnostics::new());
        let file = sources.add(ORIGIN, &self.text);
        for c in self.comparisons.iter().filter(|c| !known.contains(&c.name)) {
            let label = |d: Diagnostic| d.label(span(file, &c.place), "training does not report this");
            findings.push(unknown(&c.name, &known, label));
        }
        if findings.is_empty() { Ok(()) } else { Err(Error::new(findings, Arc::new(sources))) }
    }
}

/// Ends a training once its condition has held in enough consecutive reports.
pub(super) struct Goal<'a>(pub(super) &'a Until);

impl Keeper for Goal<'_> {
    fn epoch(&mut self, summary: &mut EpochSummary, now: &mut Now<'_>) -> Result<(), Error> {
        if let Some((_, reports)) = now.position.reached.length.as_mut().and_then(|done| done.until.as_mut())
        {
            *reports = if self.0.holds(&summary.train, &summary.test) { *reports + 1 } else { 0 };
        }
        Ok(())
    }

    fn end(&mut self, now: &mut Now<'_>) -> Result<(), Error> {
        now.report.is_met = Some(self.is_over(now.position));
        Ok(())
    }

    fn is_over(&self, position: &TrainingPosition) -> bool {
        let until = position.reached.length.as_ref().and_then(|done| done.until.as_ref());
        until.is_some_and(|(_, reports)| *reports >= self.0.reports)
    }
}

impl std::fmt::Display for Until {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// The error that no metric has this name. `label` marks its place.
pub(super) fn unknown(
    name: &str,
    known: &[String],
    label: impl FnOnce(Diagnostic) -> Diagnostic,
) -> Diagnostic {
    let d = label(Diagnostic::error(codes::UNKNOWN_METRIC, format!("there is no metric `{name}`")));
    let d = match known {
        [] => d.note("the node has no scalar output of type num or int"),
        known => d.note(format!("there are {}", quoted(known))),
    };
    // `test.accuracy` may have been meant by `acc` and `val.acc`.
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let begins = |known: &&str| name.len() > 1 && known.starts_with(name);
    let same = |known: &&str| last(name).len() > 1 && last(known).starts_with(&last(name));
    let all = || known.iter().map(String::as_str);
    match all().find(begins).or_else(|| suggest(name, all())).or_else(|| all().find(same)) {
        Some(near) => d.help(format!("there is `{near}`")),
        None => d.help("metrics are the scalar outputs of the trained node, and as `test.NAME` those of the node that evaluates"),
    }
}

pub(super) fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn span(file: FileId, place: &Range<usize>) -> Span {
    Span::new(file, place.start, place.end)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    /// The place of the next token: a relation, or the text up to a relation or a blank.
    fn next(&mut self) -> Range<usize> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        let rest = &self.text[self.at..];
        let relation = |rest: &str| {
            Relation::ALL.iter().find(|(text, _)| rest.starts_with(text)).map(|(text, _)| text.len())
        };
        let length = relation(rest).unwrap_or_else(|| {
            let mut ends = rest.char_indices().map(|(at, _)| at);
            ends.find(|at| rest[*at..].starts_with([' ', '\t', '<', '>', '='])).unwrap_or(rest.len())
        });
        let first = rest.chars().next().map_or(0, char::len_utf8);
        self.at..self.at + length.max(first)
    }

    /// Consumes the next token if it is this word.
    fn word(&mut self, word: &str) -> bool {
        let place = self.next();
        let is_it = &self.text[place.clone()] == word;
        if is_it {
            self.at = place.end;
        }
        is_it
    }

    /// Consumes the next token if `read` can parse it.
    fn take<T>(&mut self, read: impl Fn(&'t str) -> Option<T>, expected: &str) -> Result<T, Error> {
        let place = self.next();
        match read(&self.text[place.clone()]) {
            Some(found) => {
                self.at = place.end;
                Ok(found)
            }
            None => Err(self.fail(place, expected)),
        }
    }

    fn comparison(&mut self) -> Result<Comparison, Error> {
        let place = self.next();
        let is_name = |text: &str| {
            let well_formed = |c: char| c == '_' || c == '.' || c.is_ascii_alphanumeric();
            text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic()) && text.chars().all(well_formed)
        };
        let name = self.take(|text| is_name(text).then(|| text.to_owned()), "the name of a metric")?;
        let relation = |text: &str| Relation::ALL.iter().find(|(own, _)| *own == text).map(|(_, r)| *r);
        let relation = self.take(relation, "`<`, `<=`, `>` or `>=`")?;
        let number = |text: &str| text.parse().ok().filter(|x: &f64| x.is_finite());
        let bound = self.take(number, "a number")?;
        Ok(Comparison { name, place, relation, bound })
    }

    fn count(&mut self) -> Result<u64, Error> {
        self.take(|text| text.parse().ok().filter(|n| *n > 0), "a number of reports, at least 1")
    }

    fn end(&mut self) -> Result<(), Error> {
        let place = self.next();
        if place.is_empty() { Ok(()) } else { Err(self.fail(place, "`and`, `for` or the end")) }
    }

    fn fail(&self, place: Range<usize>, expected: &str) -> Error {
        let mut sources = Sources::new();
        let file = sources.add(ORIGIN, self.text);
        let found = match &self.text[place.clone()] {
            "" => "the end".to_owned(),
            text => format!("`{text}`"),
        };
        let d = Diagnostic::error(
            codes::UNTIL_CONDITION,
            "the condition until which to train cannot be read",
        )
        .label(span(file, &place), format!("expected {expected}"))
        .note(format!("expected {expected}, found {found}"))
        .help(
            "write `METRIC >= NUMBER`, such as `length >= 475`, and `for 5` after it for 5 reports in a row",
        );
        Error::new(d, Arc::new(sources))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(all: &[(&str, f64)]) -> Metrics {
        all.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn comparisons_hold_together() {
        let until = Until::parse("length>=475 and  test.loss < 1e-1 for 5").unwrap();
        assert_eq!(until.reports, 5);
        let holds = |length, loss| until.holds(&metrics(&[("length", length)]), &metrics(&[("loss", loss)]));
        assert!(holds(475.0, 0.05));
        assert!(!holds(474.9, 0.05) && !holds(500.0, 0.1) && !holds(f64::NAN, 0.0));
        assert!(!until.holds(&metrics(&[("length", 500.0)]), &Metrics::new()), "nothing is no number");
        assert_eq!(Until::parse("x <= -2").unwrap().reports, 1);
    }

    /// Errors point at the token that cannot be parsed.
    #[test]
    fn errors_point_at_their_place() {
        for (text, place, expected) in [
            ("", "", "the name of a metric"),
            ("length", "", "`<`"),
            ("length = 3", "=", "`<`"),
            ("length >= many", "many", "a number"),
            ("length >= inf", "inf", "a number"),
            ("length >= 3 for", "", "a number of reports"),
            ("length >= 3 for 0", "0", "a number of reports"),
            ("length >= 3 or x > 2", "or", "the end"),
            ("3 >= length", "3", "the name of a metric"),
            ("länge > 1", "länge", "the name of a metric"),
        ] {
            let error = Until::parse(text).expect_err(text);
            let d = &error.diagnostics().0[0];
            let span = d.span().expect("a place");
            assert_eq!(error.sources().snippet(span), place, "{text}");
            assert!(d.notes[0].contains(expected), "{text}: {d}");
        }
    }

    #[test]
    fn unknown_names_are_told_with_those_that_there_are() {
        let until = Until::parse("lenght > 1 and test.loss < 2 and length < 3").unwrap();
        let error = until.check(&["length".to_owned()], &["reward".to_owned()]).expect_err("two are unknown");
        assert_eq!(error.diagnostics().0.len(), 2);
        assert!(error.to_string().contains("there is `length`"), "{error}");
        assert!(error.to_string().contains("`test.reward`"), "{error}");
    }
}
