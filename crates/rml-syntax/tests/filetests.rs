//! File tests: every `filetests/*.rml` contains its expected errors as comments, `-- ^ error[code]: message`, below the
//! lines. The caret is under the beginning of the primary label (`--<` if that is in the first two columns). A file
//! without expectations must be accepted. `RML_BLESS=1` rewrites the expectations.

mod common;

use common::parse_text;
use rml_base::{Diagnostic, FileId, Sources};
use std::collections::BTreeSet;
use std::path::PathBuf;

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/filetests");

fn is_expectation(line: &str) -> bool {
    let mark = line.trim_start().strip_prefix("--").map(str::trim_start);
    mark.is_some_and(|m| m.starts_with("^ error[") || m.starts_with("< error["))
}

/// `text` with its diagnostics below the lines where they begin.
fn annotate(text: &str, diagnostics: &[Diagnostic]) -> String {
    let mut sources = Sources::new();
    let file: FileId = sources.add("test", text);
    let mut found: Vec<_> = diagnostics
        .iter()
        .map(|d| {
            let start = d.span().map_or(0, |s| s.start);
            (sources.line_column(file, start), d)
        })
        .collect();
    found.sort_by_key(|(at, _)| *at);
    let mut out = String::new();
    for (i, line) in text.lines().enumerate() {
        out.push_str(line);
        out.push('\n');
        for ((_, column), d) in found.iter().filter(|((l, _), _)| *l == i + 1) {
            match column.checked_sub(3) {
                Some(spaces) => out.push_str(&format!("--{}^", " ".repeat(spaces))),
                None => out.push_str("--<"),
            }
            out.push_str(&format!(" error[{}]: {}\n", d.code, d.message));
        }
    }
    out
}

#[test]
fn filetests() {
    let bless = std::env::var_os("RML_BLESS").is_some();
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(DIRECTORY).expect("file tests").map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    let mut seen = BTreeSet::new();
    for path in paths {
        let expected = std::fs::read_to_string(&path).expect("a text");
        let text: String =
            expected.lines().filter(|l| !is_expectation(l)).map(|l| format!("{l}\n")).collect();
        let (_, diagnostics) = parse_text(&text);
        seen.extend(diagnostics.iter().map(|d| d.code.name));
        let rejected = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("ko_"));
        assert_eq!(rejected, !diagnostics.is_empty(), "{}: {diagnostics:#?}", path.display());
        let found = annotate(&text, &diagnostics);
        if bless {
            std::fs::write(&path, found).expect("a writable file");
        } else {
            assert_eq!(found, expected, "{} (RML_BLESS=1 rewrites it)", path.display());
        }
    }
    let untested: Vec<_> = rml_base::codes::syntax::ALL
        .iter()
        .map(|c| c.name)
        .filter(|c| !seen.contains(c) && !["file-too-large", "too-many-errors"].contains(c))
        .collect();
    assert!(untested.is_empty(), "no file test shows {untested:?}");
}

#[test]
fn too_large_texts_are_refused() {
    let codes = |len: usize| {
        let (_, diagnostics) = parse_text(&"\n".repeat(len));
        diagnostics.iter().map(|d| d.code.name).collect::<Vec<_>>()
    };
    assert_eq!(codes(rml_base::MAX_TEXT + 1), ["file-too-large"]);
    assert_eq!(codes(1 << 20), [""; 0]);
}

#[test]
fn too_many_errors() {
    let (_, diagnostics) = parse_text(&"x ".repeat(1000).replace("x ", "node 1 "));
    assert_eq!(diagnostics.len(), 101);
    assert_eq!(diagnostics.last().map(|d| d.code.name), Some("too-many-errors"));
}
