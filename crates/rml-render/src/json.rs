//! One JSON object per line: `{"code", "severity", "message", "spans", "notes", "help"}`; the first span is the primary
//! one. Spans have byte offsets `start` and `end`, and `line` and `column` of the start, from 1, in characters.

use rml::{Diagnostic, Diagnostics, Sources};
use serde_json::{Value, json};

/// The findings as JSON lines.
pub fn json(diagnostics: &Diagnostics, sources: &Sources) -> String {
    diagnostics.iter().map(|d| format!("{}\n", json_object(d, sources))).collect()
}

/// The findings as one array.
pub fn json_objects(diagnostics: &Diagnostics, sources: &Sources) -> Value {
    diagnostics.iter().map(|d| json_object(d, sources)).collect()
}

/// A finding.
pub fn json_object(diagnostic: &Diagnostic, sources: &Sources) -> Value {
    let spans = diagnostic.labels.iter().map(|label| {
        let (start, end) = super::clamped(label.span, sources);
        let (line, column) = sources.line_column(label.span.file, label.span.start);
        json!({
            "file": sources.name(label.span.file),
            "start": start,
            "end": end,
            "line": line,
            "column": column,
            "label": label.message,
        })
    });
    json!({
        "code": diagnostic.code.name,
        "severity": if diagnostic.is_error() { "error" } else { "warning" },
        "message": diagnostic.message,
        "spans": spans.collect::<Vec<_>>(),
        "notes": diagnostic.notes,
        "help": diagnostic.help,
    })
}

#[cfg(test)]
mod tests {
    use rml::{Span, codes};

    use super::*;

    #[test]
    fn an_object_a_finding() {
        let mut sources = Sources::new();
        let file = sources.add("a.rml", "node é()\n  ö = x;\n");
        let span = Span::new(file, 17, 18);
        let findings = Diagnostics(vec![
            Diagnostic::error(codes::run::BAD_OPTION, "no \"x\"").label(span, "here").note("n").help("h"),
            Diagnostic::warning(codes::run::EMPTY_DATA, "nothing"),
        ]);
        let text = json(&findings, &sources);
        let lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
        assert_eq!(
            lines[0],
            json!({"code": "bad-option", "severity": "error", "message": "no \"x\"", "notes": ["n"], "help": ["h"],
                "spans": [{"file": "a.rml", "start": 17, "end": 18, "line": 2, "column": 7, "label": "here"}]})
        );
        assert_eq!(
            (lines.len(), &lines[1]["severity"], &lines[1]["spans"]),
            (2, &json!("warning"), &json!([]))
        );
    }
}
