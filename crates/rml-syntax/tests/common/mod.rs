//! Helpers of the tests.
#![allow(dead_code, reason = "not every test uses all of it")]

use bumpalo::Bump;
use rml_base::{Diagnostic, EntityId, FileId};
use rml_syntax::{dump, parse};

/// The dump of a text, and its diagnostics.
pub(crate) fn parse_text(text: &str) -> (String, Vec<Diagnostic>) {
    let bump = Bump::new();
    let mut names = lasso::Rodeo::new();
    let parsed = parse(&bump, &mut names, FileId::from_index(0), text);
    (dump(&parsed.file, &names), parsed.diagnostics)
}

/// The dump of a text without errors.
#[track_caller]
pub(crate) fn dump_of(text: &str) -> String {
    let (dump, diagnostics) = parse_text(text);
    assert!(diagnostics.is_empty(), "{text}: {diagnostics:#?}");
    dump
}

/// The comments of a text, without blanks at the end of their lines.
pub(crate) fn comments(text: &str) -> Vec<String> {
    let bump = Bump::new();
    let mut names = lasso::Rodeo::new();
    let parsed = parse(&bump, &mut names, FileId::from_index(0), text);
    let lines = |s: &str| s.split('\n').map(str::trim_end).collect::<Vec<_>>().join("\n");
    parsed.file.comments.iter().map(|s| lines(&text[s.range()])).collect()
}

/// Whether a line of formatted text without comments is at most 100 columns wide, or consists of one token and the
/// marks that must follow it.
pub(crate) fn is_narrow(line: &str) -> bool {
    let token = line.trim_end_matches([',', ';', '(', '[']);
    line.chars().count() <= 100 || !token.contains([' ', '(', ')', '[', ']', ',', '+', '-', '*', '/'])
}
