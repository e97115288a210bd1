//! Advice for texts that are not JSON.

use crate::scan::Ill;

/// How an error begins if the text ends before the value does.
pub(crate) const CUT_OFF: &str = "EOF while parsing";

/// Whether a line begins a list.
pub(crate) fn is_open_list(line: &str) -> bool {
    line.trim_start().starts_with('[')
}

/// Advice for a line of a stream that is not a JSON object, if the mistake is a known one.
pub fn line_advice(line: &str, ill: &Ill) -> Option<&'static str> {
    match &*ill.why {
        "trailing characters" => {
            Some("each line is one object: leave out the comma at its end, or what else follows the `}`")
        }
        "key must be a string" => Some(names(ill, line)),
        _ if line.trim_start().starts_with('[') => Some("a line names the inputs: `{\"x\": [1, 2]}`"),
        _ => None,
    }
}

/// Advice for a place of a text where the name of a value is expected.
fn names(ill: &Ill, text: &str) -> &'static str {
    let line = text.lines().nth(ill.line.saturating_sub(1)).unwrap_or_default();
    let bytes = line.as_bytes().get(ill.column.saturating_sub(1)..).unwrap_or_default();
    match bytes.first() {
        Some(b'}') => "no comma stands after the last value of an object",
        _ => "a name stands in double quotes: `{\"x\": [1, 2]}`",
    }
}

/// Advice for a text that is not JSON.
pub(crate) fn advice(ill: &Ill, text: &str) -> Option<&'static str> {
    match &*ill.why {
        "key must be a string" | "trailing comma" => Some(names(ill, text)),
        "trailing characters" => Some("one object a line is JSON lines: name the file `.jsonl`"),
        "expected value" if (ill.line, ill.column) == (1, 1) => Some(
            "a JSON document begins with `{` or `[`: check that the extension names the format of the file",
        ),
        "expected value" => Some(
            "values are numbers, `true`, `false`, `null` and lists; no comma stands after the last one of a list",
        ),
        _ => None,
    }
}
