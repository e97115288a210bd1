//! Values of flags: `name=value` settings, counts, splits.

use std::path::PathBuf;
use std::time::Duration;

use rml::{
    BestBy, Classes, Criterion, Diagnostic, PruneRule, SaveEvery, StaticValue, SweepSamples, SweepValues,
    TestSplit,
};

/// The deepest nesting of an array; deeper arrays are refused.
const MAX_DEPTH: usize = 16;

/// `name=value`, where the value is a literal of the language: `true`, `64`, `0.5`, `[2, 3]`.
pub(crate) fn setting(text: &str) -> Result<(String, StaticValue), String> {
    let (name, mut reader) = named(text, "expected NAME=VALUE, e.g. units=64")?;
    let value = reader.value(0)?;
    reader.end()?;
    Ok((name, value))
}

/// A name and its values.
pub(crate) type Sweep = (String, SweepValues);

/// `name=value,value`, where the values are literals of the language, or `name=low..high` with `:log` or without.
pub(crate) fn sweep(text: &str) -> Result<Sweep, String> {
    if let Some((_, range)) = text.split_once('=').filter(|(_, values)| values.contains("..")) {
        let (name, _) = named(text, "expected NAME=LOW..HIGH, e.g. rate=0.001..0.1:log")?;
        let range = range.parse().map_err(|why: Diagnostic| why.message)?;
        return Ok((name, SweepValues::Range(range)));
    }
    let (name, mut reader) = named(text, "expected NAME=VALUES, e.g. rate=0.1,0.3")?;
    let mut values = vec![reader.value(0)?];
    while reader.take(',') {
        values.push(reader.value(0)?);
    }
    reader.end()?;
    if let [StaticValue::Array(items)] = &values[..] {
        let items: Vec<String> = items.iter().map(ToString::to_string).collect();
        return Err(format!("one array is one value; to try several, write {name}={}", items.join(",")));
    }
    Ok((name, SweepValues::List(values)))
}

/// How many combinations are drawn, with a seed or without.
pub(crate) fn samples(text: &str) -> Result<SweepSamples, String> {
    let (count, seed) = text.split_once(':').unwrap_or((text, "0"));
    let seed = seed.parse().map_err(|_| "expected N or N:SEED, e.g. 20 or 20:7".to_owned())?;
    Ok(SweepSamples { count: positive(count)?, seed })
}

/// The rule by which runs end early.
pub(crate) fn prune(text: &str) -> Result<PruneRule, String> {
    text.parse().map_err(|why: Diagnostic| why.message)
}

/// The name before `=`, and a reader of the text after it.
fn named<'t>(text: &'t str, expected: &str) -> Result<(String, Reader<'t>), String> {
    let (name, value) = text.split_once('=').ok_or(expected)?;
    let name = name.trim();
    let letter = |(i, c): (usize, char)| c == '_' || c.is_ascii_alphabetic() || (i > 0 && c.is_ascii_digit());
    let well_formed = |part: &str| !part.is_empty() && part.chars().enumerate().all(letter);
    // `m.rate` is a constant of `import .. as m;`
    let (module, own) = name.split_once('.').unwrap_or(("m", name));
    if !well_formed(module) || !well_formed(own) {
        return Err(format!("`{name}` is not a name"));
    }
    Ok((name.to_owned(), Reader { rest: value.trim() }))
}

/// `name=N`: the size of a dimension of a model, whose name may have any characters.
pub(crate) fn dimension(text: &str) -> Result<(String, usize), String> {
    let expected = "expected NAME=N, e.g. batch=1";
    let (name, size) = text.rsplit_once('=').ok_or(expected)?;
    let size = size.trim().parse().map_err(|_| expected.to_owned())?;
    if name.is_empty() { Err(expected.into()) } else { Ok((name.to_owned(), size)) }
}

/// `name=value`: the value of an input of a model, a number or truth value, or several separated by commas.
pub(crate) fn fixed(text: &str) -> Result<(String, Vec<f64>), String> {
    let expected = "expected INPUT=VALUE, e.g. sr=16000";
    let (name, values) = text.rsplit_once('=').ok_or(expected)?;
    let number = |text: &str| match text.trim() {
        "true" => Ok(1.0),
        "false" => Ok(0.0),
        text => text.parse::<f64>().map_err(|_| format!("`{text}` is no number; {expected}")),
    };
    let values = values.split(',').map(number).collect::<Result<_, _>>()?;
    if name.is_empty() { Err(expected.into()) } else { Ok((name.to_owned(), values)) }
}

/// An input of a model that is a state, and the output with its next value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Pair {
    /// This input and this output.
    Of(String, String),
    /// There are no states.
    None,
}

/// `input=output`, or `none`.
pub(crate) fn pair(text: &str) -> Result<Pair, String> {
    match text.split_once('=') {
        Some((input, output)) if !input.is_empty() && !output.is_empty() => {
            Ok(Pair::Of(input.to_owned(), output.to_owned()))
        }
        None if text == "none" => Ok(Pair::None),
        _ => Err("expected INPUT=OUTPUT, e.g. h=hn, or none".into()),
    }
}

/// The name of a node.
pub(crate) fn node_name(text: &str) -> Result<String, String> {
    let letter = |(i, c): (usize, char)| c == '_' || c.is_ascii_alphabetic() || (i > 0 && c.is_ascii_digit());
    let well_formed = !text.is_empty() && text.chars().enumerate().all(letter) && !rml::is_keyword(text);
    if well_formed { Ok(text.to_owned()) } else { Err(format!("`{text}` is not a name of a node")) }
}

/// The seeds of several runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seeds(pub(crate) Vec<u64>);

/// The most seeds that a range may have.
const MAX_SEEDS: u64 = 10_000;

/// A range `0..5` without its end, or a list `1,7,23`.
pub(crate) fn seeds(text: &str) -> Result<Seeds, String> {
    let expected = "expected seeds such as 0..5 (0, 1, 2, 3 and 4) or 1,7,23";
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| expected.to_owned());
    let Some((first, end)) = text.split_once("..") else {
        return text.split(',').map(number).collect::<Result<_, _>>().map(Seeds);
    };
    let (first, end) = (number(first)?, number(end)?);
    match end.checked_sub(first) {
        None | Some(0) => Err(format!("the range {first}..{end} contains no seed")),
        Some(n) if n > MAX_SEEDS => Err(format!("{n} are more than {MAX_SEEDS} seeds")),
        Some(_) => Ok(Seeds((first..end).collect())),
    }
}

/// The value of `--gap`: the greatest distance in time.
pub(crate) fn gap(text: &str) -> Result<f64, String> {
    let expected =
        "expected a duration such as 30s, 15min, 1h or 2d, or a positive number in the unit of the column";
    rml::Windowing::parse_gap(text).map_err(|_| expected.to_owned())
}

/// A program file; files of data or parameters are refused.
pub(crate) fn program(path: PathBuf) -> Result<PathBuf, &'static str> {
    let is_checkpoint = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("safetensors"));
    match rml::Format::of(&path) {
        Some(_) => Err("this is a file of data, and a program is expected"),
        None if is_checkpoint => Err("this is a file of parameters, and a program is expected"),
        None => Ok(path),
    }
}

/// A count of at least 1.
pub(crate) fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1 is needed".to_owned()),
        Ok(n) => Ok(n),
        Err(_) => Err("expected a whole number of at least 1".to_owned()),
    }
}

/// A time: a number of seconds, or a number followed by s, m or h.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let units = [("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let suffix = units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds)));
    let (number, seconds) = suffix.unwrap_or((text, 1.0));
    let found = number.parse().ok().and_then(|n: f64| Duration::try_from_secs_f64(n * seconds).ok());
    found.filter(|time| !time.is_zero()).ok_or_else(|| "expected a time such as 30s, 5m or 1h".to_owned())
}

/// A number of bytes: a whole number, optionally followed by K, M, G or T for the powers of 1024.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let units = ["K", "M", "G", "T"];
    let suffix = (1_u32..).zip(units).find_map(|(power, unit)| Some((text.strip_suffix(unit)?, power)));
    let (number, power) = suffix.unwrap_or((text, 0));
    let number = number.parse::<u64>().ok().filter(|n| *n > 0);
    number
        .and_then(|n| n.checked_mul(1 << (10 * power)))
        .ok_or_else(|| "expected a number of bytes above 0, such as 1048576, 512M or 12G".to_owned())
}

/// A number above 0.
pub(crate) fn above_zero(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x.is_finite() => Ok(x),
        _ => Err("expected a number above 0, e.g. 1e-5".to_owned()),
    }
}

/// The value of `--validate`.
#[derive(Clone, Debug)]
pub(crate) enum Validation {
    /// A part of the data.
    Split(TestSplit),
    /// Other data.
    File(PathBuf),
}

/// A number or `last:` is a share or a count; anything else is a file.
pub(crate) fn validation(text: &str) -> Result<Validation, String> {
    if text.starts_with(TestSplit::LAST) || text.parse::<f64>().is_ok() {
        return split(text).map(Validation::Split);
    }
    Ok(Validation::File(text.into()))
}

/// The value of `--report`.
#[derive(Clone, Debug)]
pub(crate) enum Report {
    /// How many windows or cycles are averaged in a report.
    Every(usize),
    /// The page to write.
    Page(PathBuf),
}

/// A page if the name ends with `.html`, else a count.
pub(crate) fn report(text: &str) -> Result<Report, String> {
    let path = PathBuf::from(text);
    if path.extension().is_some_and(|extension| extension == "html") {
        return Ok(Report::Page(path));
    }
    positive(text).map(Report::Every).map_err(|why| format!("{why}, or a name that ends with .html"))
}

/// `LABEL:OUTPUT`.
pub(crate) fn classes(text: &str) -> Result<Classes, String> {
    let expected = "expected an input or output with the right classes, and an output with predictions, such as y:logits";
    let (label, found) = text.split_once(':').ok_or(expected)?;
    if [label, found].iter().any(|name| name.is_empty() || name.contains(':')) {
        return Err(expected.to_owned());
    }
    Ok(Classes::Named { label: label.to_owned(), found: found.to_owned() })
}

/// `LABEL:OUTPUT`, or the empty text for the usual ones.
pub(crate) fn classes_or_usual(text: &str) -> Result<Classes, String> {
    if text.is_empty() { Ok(Classes::Usual) } else { classes(text) }
}

/// The name of a picture, which ends with `.svg`.
pub(crate) fn svg(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension() {
        Some(extension) if extension == "svg" => Ok(path),
        _ => Err("expected a name that ends with .svg".to_owned()),
    }
}

/// A metric, with the better direction if its name does not tell: `accuracy`, `return:max`.
pub(crate) fn criterion(text: &str) -> Result<Criterion, String> {
    let (metric, direction) = match text.rsplit_once(':') {
        Some((metric, "min")) => (metric, Some(BestBy::Min)),
        Some((metric, "max")) => (metric, Some(BestBy::Max)),
        Some(_) => ("", None),
        None => (text, None),
    };
    if metric.is_empty() {
        return Err(
            "expected a metric, and `:min` or `:max` after it if its name does not say what is better, such as accuracy or return:max"
                .to_owned(),
        );
    }
    Ok(Criterion { metric: metric.to_owned(), direction })
}

/// A share below 1 (with a decimal point) or a count of windows, drawn at random or with `last:` the last ones.
pub(crate) fn split(text: &str) -> Result<TestSplit, String> {
    text.parse().map_err(|why: Diagnostic| why.message)
}

/// How often to save.
pub(crate) fn save_every(text: &str) -> Result<SaveEvery, String> {
    text.parse().map_err(|why: Diagnostic| why.message)
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Result<StaticValue, String> {
        if depth > MAX_DEPTH {
            return Err("the array is nested too deep".to_owned());
        }
        if self.take('[') {
            return self.items(depth);
        }
        let end = self.rest.find([',', ']', '[']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        literal(word.trim())
    }

    fn items(&mut self, depth: usize) -> Result<StaticValue, String> {
        let mut items = Vec::new();
        loop {
            if self.take(']') {
                return Ok(StaticValue::Array(items));
            }
            items.push(self.value(depth + 1)?);
            if !self.take(',') && !self.rest.starts_with(']') {
                return Err("expected `,` or `]` in the array".to_owned());
            }
        }
    }

    /// Fails if any text remains.
    fn end(&self) -> Result<(), String> {
        if self.rest.is_empty() { Ok(()) } else { Err(format!("`{}` is left over", self.rest)) }
    }

    fn take(&mut self, c: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }
}

fn literal(word: &str) -> Result<StaticValue, String> {
    let wrong = || format!("`{word}` is not a value; expected e.g. 64, 0.5, true or [2, 3]");
    match word {
        "true" => Ok(StaticValue::Bool(true)),
        "false" => Ok(StaticValue::Bool(false)),
        _ if !word.starts_with(|c: char| c.is_ascii_digit() || c == '-') => Err(wrong()),
        _ if word.contains(['.', 'e', 'E']) => word.parse().map(StaticValue::Num).map_err(|_| wrong()),
        _ => word.parse().map(StaticValue::Int).map_err(|_| wrong()),
    }
}

#[cfg(test)]
mod tests {
    use rml::SweepRange;

    use super::*;

    fn value(text: &str) -> Result<StaticValue, String> {
        setting(&format!("x={text}")).map(|(_, v)| v)
    }

    #[test]
    fn literals() {
        assert_eq!(value("64"), Ok(StaticValue::Int(64)));
        assert_eq!(value(" -0.5 "), Ok(StaticValue::Num(-0.5)));
        assert_eq!(value("1e-3"), Ok(StaticValue::Num(0.001)));
        assert_eq!(value("true"), Ok(StaticValue::Bool(true)));
        let array = |items: &[i64]| StaticValue::Array(items.iter().copied().map(StaticValue::Int).collect());
        assert_eq!(value("[2, 3]"), Ok(array(&[2, 3])));
        assert_eq!(value("[]"), Ok(array(&[])));
        assert_eq!(value("[[1],[2 ,3]]"), Ok(StaticValue::Array(vec![array(&[1]), array(&[2, 3])])));
    }

    #[test]
    fn wrong_settings_are_refused() {
        for text in [
            "", "x", "=1", "2x=1", "a b=1", "x=", "x=[1", "x=[1 2]", "x=1]", "x=nan", "x=inf", "x=1,2",
            "x=[,]",
        ] {
            assert!(setting(text).is_err(), "{text}");
        }
        assert!(setting(&format!("x={}", "[".repeat(100_000))).is_err());
        assert!(value("99999999999999999999").is_err());
    }

    #[test]
    fn values_and_seeds_of_several_runs() {
        let array = StaticValue::Array(vec![StaticValue::Int(2), StaticValue::Int(3)]);
        assert_eq!(
            sweep("shape=[2, 3], 4"),
            Ok(("shape".to_owned(), SweepValues::List(vec![array, StaticValue::Int(4)])))
        );
        assert_eq!(
            sweep("rate=0.5"),
            Ok(("rate".to_owned(), SweepValues::List(vec![StaticValue::Num(0.5)])))
        );
        let range = |text: &str| sweep(text);
        let found = SweepValues::Range(SweepRange { low: 1e-4, high: 0.1, is_log: true, is_whole: false });
        assert_eq!(range("rate=1e-4..1e-1:log"), Ok(("rate".to_owned(), found)));
        let found = SweepValues::Range(SweepRange { low: 16.0, high: 256.0, is_log: false, is_whole: true });
        assert_eq!(range("m.units = 16 .. 256"), Ok(("m.units".to_owned(), found)));
        for text in [
            "rate=1..",
            "rate=..1",
            "rate=1..1",
            "rate=2..1",
            "rate=0..1:log",
            "rate=0..1:exp",
            "1..2",
            "a=1..inf",
        ] {
            assert!(sweep(text).is_err(), "{text}");
        }
        assert_eq!(samples("20:7"), Ok(SweepSamples { count: 20, seed: 7 }));
        assert!(samples("0").is_err() && samples("3:").is_err() && samples("3:-1").is_err());
        for text in ["rate", "rate=", "rate=1,", "rate=,1", "=1", "rate=1;2", "rate=[1,2", "rate=1 2"] {
            assert!(sweep(text).is_err(), "{text}");
        }
        assert_eq!(seeds("3..6"), Ok(Seeds(vec![3, 4, 5])));
        assert_eq!(seeds("7, 1"), Ok(Seeds(vec![7, 1])));
        for text in ["", "5..5", "5..3", "..3", "3..", "a", "1,,2", "-1", "0..10001", "0..=5"] {
            assert!(seeds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_of_bytes() {
        assert_eq!(bytes("1000"), Ok(1000));
        assert_eq!(bytes("512M"), Ok(512 << 20));
        assert_eq!(bytes("2T"), Ok(2 << 40));
        for text in ["", "0", "0G", "-1", "1.5G", "G", "10GB", "10 G", "99999999T", "1e9"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn splits_and_counts() {
        assert_eq!(save_every("0"), Ok(SaveEvery::Epochs(0)));
        assert_eq!(save_every("200 steps"), Ok(SaveEvery::Steps(200)));
        assert!(save_every("0steps").is_err() && save_every("-1").is_err() && save_every("steps").is_err());
        assert_eq!(split("297"), Ok(TestSplit::Count(297)));
        assert_eq!(split("0.2"), Ok(TestSplit::Share(0.2)));
        assert_eq!(split("last:297"), Ok(TestSplit::LastCount(297)));
        assert_eq!(split("last:0.2"), Ok(TestSplit::LastShare(0.2)));
        for text in ["last:", "last:1.5", "last:-1", "last:last:3", "last: 3", "last", "LAST:3"] {
            assert!(split(text).is_err(), "{text}");
        }
        assert!(matches!(validation("last:3"), Ok(Validation::Split(TestSplit::LastCount(3)))));
        assert!(
            validation("last:later.csv").is_err() && matches!(validation("last"), Ok(Validation::File(_)))
        );
        for text in ["1.5", "-1", "NaN", "", "x"] {
            assert!(split(text).is_err(), "{text}");
        }
        assert_eq!(positive("3"), Ok(3));
        assert!(positive("0").is_err() && positive("-1").is_err());
    }
}
