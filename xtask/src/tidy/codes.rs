//! Every diagnostic code has at least one test that provokes it, a page, and a line in the index of diagnostics.

use crate::error_index::{self, Entry};
use crate::workspace::File;

/// Codes that no test mentions, codes without pages, pages without codes, and an index that is out of date.
pub(crate) fn check(sources: &[File]) -> Result<Vec<String>, String> {
    let entries = error_index::entries()?;
    let mut findings = untested(&entries, sources);
    findings.extend(error_index::check(&entries)?);
    Ok(findings)
}

fn untested(entries: &[Entry], sources: &[File]) -> Vec<String> {
    let tests: Vec<&str> = sources.iter().filter_map(test_part).collect();
    let tested = |e: &Entry| {
        let forms = [format!("[{}]", e.name), format!("\"{}\"", e.name), format!("::{}", e.constant)];
        tests.iter().any(|t| forms.iter().any(|f| t.contains(f.as_str())))
    };
    let lacking = entries.iter().filter(|e| !tested(e));
    lacking.map(|e| format!("{}: no test provokes the code `{}`", e.path, e.name)).collect()
}

/// What of a file is tests: all of it below a `tests` folder, or its test module.
fn test_part(file: &File) -> Option<&str> {
    if file.path.starts_with("tests/") || file.path.contains("/tests/") || file.path.ends_with("tests.rs") {
        return Some(&file.text);
    }
    file.text.find("#[cfg(test)]").and_then(|at| file.text.get(at..))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_code_counts_as_tested_only_in_tests() {
        let entry = |name: &str, constant: &str| Entry {
            path: "codes/a.rs".to_owned(),
            constant: constant.to_owned(),
            name: name.to_owned(),
            summary: String::new(),
        };
        let entries = [
            entry("arity", "ARITY"),
            entry("unknown-name", "UNKNOWN_NAME"),
            entry("not-static", "NOT_STATIC"),
        ];
        let sources = [
            file("crates/a/src/lib.rs", "codes::NOT_STATIC; \"not-static\""),
            file("crates/a/src/b.rs", "fn f() {}\n#[cfg(test)]\nmod tests { use codes::ARITY; }"),
            file("crates/a/tests/rejected/x.rml", "(* --^ error[unknown-name] *)"),
        ];
        let findings = untested(&entries, &sources);
        assert_eq!(findings, ["codes/a.rs: no test provokes the code `not-static`"]);
    }
}
