//! Reads vectors. Every field that is used for checking is validated; other fields (`notes`, `figure`, ..) are ignored.

use indexmap::IndexMap;
use serde_json::{Map, Value as Json};

/// The maximum number of cycles that is accepted.
const MAX_CYCLES: usize = 1_000_000;

/// Rows by variable: one entry per cycle.
type Table = IndexMap<String, Vec<Json>>;

/// A program, its environment, and the cells that the semantics defines.
#[derive(Clone, Debug)]
pub struct ConformanceVector {
    /// The source text.
    pub rml: String,
    /// The node to run.
    pub main: String,
    /// The length of the trace.
    pub cycles: usize,
    /// Whether the trace is known to end after these cycles.
    pub closed: bool,
    /// Inputs whose statuses are known from the start.
    pub inputs: Table,
    /// Inputs that are read only if the program finds them present.
    pub on_demand: Table,
    /// Variables that the environment asks for; `None` = one of each free clock class in every cycle.
    pub demand: Option<IndexMap<String, Vec<bool>>>,
    /// The cells of the main node's variables, and of those of inlined instances.
    pub expected: IndexMap<String, Vec<Expected>>,
    /// Cycles with an error in the least fixed point.
    pub error_cycles: Vec<usize>,
    /// Cycles in which an error is not caused by another error.
    pub error_origin_cycles: Vec<usize>,
    /// Values in the last cycle, by the last part of a variable's path.
    pub last: IndexMap<String, Json>,
}

/// The expected content of a cell.
#[derive(Clone, PartialEq, Debug)]
pub enum Expected {
    /// Absent.
    Absent,
    /// Not determined; the presence may be known or not.
    Undetermined,
    /// An error.
    Error,
    /// Present with the given value: a number, a truth value or nested arrays.
    Value(Json),
}

impl ConformanceVector {
    /// Reads a vector. The literals `NaN`, `Infinity` and `-Infinity` are also accepted, with the meaning of the
    /// strings with this text.
    ///
    /// # Errors
    /// The text is malformed; the error states the defect.
    pub fn parse(text: &str) -> Result<ConformanceVector, String> {
        let json: Json =
            serde_json::from_str(&quote_non_finite(text)).map_err(|e| format!("malformed JSON: {e}"))?;
        let fields = json.as_object().ok_or("not a JSON object")?;
        supported(fields)?;
        let cycles = count(fields.get("cycles").ok_or("lacks `cycles`")?).filter(|&n| n <= MAX_CYCLES);
        let cycles = cycles.ok_or("`cycles` is not a reasonable count")?;
        let demand = match fields.get("demand") {
            None | Some(Json::Null) => None,
            Some(_) => Some(flags(table(fields, "demand", cycles)?)?),
        };
        let mut expected = IndexMap::new();
        for name in ["expected", "inner"] {
            let cells = table(fields, name, cycles)?.into_iter();
            expected.extend(cells.map(|(v, row)| (v, row.into_iter().map(cell).collect::<Vec<_>>())));
        }
        let last = fields.get("final").and_then(Json::as_object).cloned().unwrap_or_default();
        Ok(ConformanceVector {
            rml: string(fields, "rml")?,
            main: string(fields, "main")?,
            cycles,
            closed: fields
                .get("closed")
                .map_or(Some(true), Json::as_bool)
                .ok_or("`closed` is not a truth value")?,
            inputs: table(fields, "inputs", cycles)?,
            on_demand: table(fields, "on_demand", cycles)?,
            demand,
            expected,
            error_cycles: counts(fields, "error_cycles")?,
            error_origin_cycles: counts(fields, "error_origin_cycles")?,
            last: last.into_iter().collect(),
        })
    }
}

/// Refuses vectors of a semantics other than the implemented one.
fn supported(fields: &Map<String, Json>) -> Result<(), String> {
    let Some(semantics) = fields.get("semantics").and_then(Json::as_object) else { return Ok(()) };
    for (name, value) in [("if", "lazy"), ("post", "primitive")] {
        if let Some(other) = semantics.get(name).filter(|v| v.as_str() != Some(value)) {
            return Err(format!(
                "asks for another semantics: `{name}` is {other}, only \"{value}\" is implemented"
            ));
        }
    }
    Ok(())
}

fn string(fields: &Map<String, Json>, name: &str) -> Result<String, String> {
    fields.get(name).and_then(Json::as_str).map(str::to_owned).ok_or(format!("lacks the text `{name}`"))
}

fn count(json: &Json) -> Option<usize> {
    json.as_u64().and_then(|n| usize::try_from(n).ok())
}

fn counts(fields: &Map<String, Json>, name: &str) -> Result<Vec<usize>, String> {
    let Some(list) = fields.get(name) else { return Ok(Vec::new()) };
    let numbers = list.as_array().and_then(|l| l.iter().map(count).collect());
    numbers.ok_or(format!("`{name}` is not a list of cycles"))
}

/// An object of rows, each with one entry per cycle; empty if it is missing.
fn table(fields: &Map<String, Json>, name: &str, cycles: usize) -> Result<Table, String> {
    let Some(json) = fields.get(name).filter(|j| !j.is_null()) else { return Ok(Table::new()) };
    let rows = json.as_object().ok_or(format!("`{name}` is not an object"))?;
    rows.iter()
        .map(|(variable, row)| {
            let row = row.as_array().ok_or(format!("`{name}`: {variable} is not a list"))?;
            if row.len() != cycles {
                return Err(format!("`{name}`: {variable} has {} entries for {cycles} cycles", row.len()));
            }
            Ok((variable.clone(), row.clone()))
        })
        .collect()
}

fn flags(table: Table) -> Result<IndexMap<String, Vec<bool>>, String> {
    let row = |(variable, row): (String, Vec<Json>)| {
        let flags: Option<Vec<bool>> = row.iter().map(Json::as_bool).collect();
        flags
            .map(|f| (variable.clone(), f))
            .ok_or(format!("`demand`: {variable} is not a list of truth values"))
    };
    table.into_iter().map(row).collect()
}

fn cell(json: Json) -> Expected {
    match json.as_str() {
        Some("?" | "bot") => Expected::Undetermined,
        Some("error") => Expected::Error,
        _ if json.is_null() => Expected::Absent,
        _ => Expected::Value(json),
    }
}

/// Puts quotes around the words `NaN` and `Infinity` (with its sign) outside strings, because they are not valid JSON.
fn quote_non_finite(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    let mut in_text = false;
    while let Some(c) = rest.chars().next() {
        let word = ["NaN", "Infinity", "-Infinity"].into_iter().find(|w| !in_text && rest.starts_with(w));
        let taken = match word {
            Some(word) => {
                result.push('"');
                result.push_str(word);
                result.push('"');
                word.len()
            }
            None => {
                in_text ^= c == '"';
                let escaped = in_text && c == '\\';
                let length = rest.chars().take(if escaped { 2 } else { 1 }).map(char::len_utf8).sum();
                result.push_str(rest.get(..length).unwrap_or_default());
                length
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"{"rml": "node main(x: num [])->(o)\n  o = x;", "main": "main", "cycles": 2, "closed": false,
        "inputs": {"x": [1.0, null]}, "demand": {}, "expected": {"o": [NaN, "?"]}, "inner": {"f_0.a": ["bot", "error"]},
        "error_cycles": [1], "notes": "a \"-Infinity\\", "final": {"k": -Infinity}}"#;

    #[test]
    fn fields_are_read() {
        let vector = ConformanceVector::parse(SMALL).expect("well formed");
        assert_eq!((vector.main.as_str(), vector.cycles, vector.closed), ("main", 2, false));
        assert_eq!(vector.demand, Some(IndexMap::new()));
        assert_eq!(vector.expected["o"], [Expected::Value(Json::from("NaN")), Expected::Undetermined]);
        assert_eq!(vector.expected["f_0.a"], [Expected::Undetermined, Expected::Error]);
        assert_eq!((vector.error_cycles, vector.error_origin_cycles), (vec![1], vec![]));
        assert_eq!(vector.last["k"], Json::from("-Infinity"));
    }

    #[test]
    fn no_demand_is_not_the_empty_demand() {
        let vector = ConformanceVector::parse(&SMALL.replace("\"demand\": {},", "")).expect("well formed");
        assert_eq!(vector.demand, None);
    }

    #[test]
    fn malformed_vectors_are_refused() {
        let wrong = [
            ("\"main\": \"main\",", ""),
            ("\"cycles\": 2", "\"cycles\": 3"),
            ("\"cycles\": 2", "\"cycles\": -2"),
            ("\"cycles\": 2", "\"cycles\": 9000000000"),
            ("\"closed\": false", "\"closed\": 0"),
            ("[1.0, null]", "1.0"),
            ("\"demand\": {}", "\"demand\": {\"o\": [1, 2]}"),
            ("\"demand\": {}", "\"demand\": []"),
            ("\"error_cycles\": [1]", "\"error_cycles\": [\"1\"]"),
            ("\"closed\": false", "\"closed\": false, \"semantics\": {\"if\": \"eager\"}"),
        ];
        for (from, to) in wrong {
            assert!(ConformanceVector::parse(&SMALL.replace(from, to)).is_err(), "{to}");
        }
        for text in ["", "[]", "{", "{}", "\"", "\"\\", "nonsense"] {
            assert!(ConformanceVector::parse(text).is_err(), "{text}");
        }
    }
}
