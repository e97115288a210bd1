//! Rules for source files: their length, where `unsafe` may stand, and words that must not be left behind.

use crate::workspace::File;

/// A file longer than that holds more than one concept.
const MAX_LINES: usize = 600;

/// Marks of unfinished work, and paths of one person's machine. Written apart, so that this file has none of them.
const FORBIDDEN: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
];

/// The keyword, written apart for the same reason.
const KEYWORD: &str = concat!("un", "safe");

/// All findings in those files.
pub(crate) fn check(files: &[File]) -> Vec<String> {
    files.iter().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<String> {
    let mut findings = Vec::new();
    let path = &file.path;
    let lines = file.text.lines().count();
    if lines > MAX_LINES {
        findings.push(format!("{path}: {lines} lines, at most {MAX_LINES}; split it by concept"));
    }
    for (number, line) in (1..).zip(file.text.lines()) {
        if let Some(word) = FORBIDDEN.iter().find(|w| line.contains(**w)) {
            findings.push(format!("{path}:{number}: `{word}` must not be left in the code"));
        }
        if path.ends_with(".rs") && !path.ends_with("/ffi.rs") && uses_unsafe(line) {
            findings.push(format!("{path}:{number}: unsafe code belongs in a file named ffi.rs"));
        }
    }
    findings
}

/// Whether the line has the keyword in front of what it can qualify; comments and plain text do not look so.
fn uses_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    ["{", "fn ", "impl ", "impl<", "trait ", "extern "]
        .iter()
        .any(|next| code.contains(&format!("{KEYWORD} {next}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        check_file(&File { path: path.to_owned(), text: text.to_owned() })
    }

    #[test]
    fn long_files_are_found() {
        assert!(findings("a.rs", &"\n".repeat(MAX_LINES)).is_empty());
        assert_eq!(findings("a.rs", &"\n".repeat(MAX_LINES + 1)).len(), 1);
    }

    #[test]
    fn marks_are_found_with_their_line() {
        let text = format!("fn f() {{}}\n// {}: later\n", FORBIDDEN[0]);
        assert!(findings("a.rs", &text)[0].starts_with("a.rs:2:"));
    }

    #[test]
    fn the_unsafe_keyword_is_kept_in_its_files() {
        let block = concat!("let x = un", "safe { *p };");
        assert_eq!(findings("a/b.rs", block).len(), 1);
        assert!(findings("a/ffi.rs", block).is_empty());
        assert!(findings("a/b.rs", "// unsafe code is denied").is_empty());
    }
}
