//! Checks that a match over operators does nothing specific for operators that it does not name.
//!
//! A match may have a last arm for all other operators only if this arm declines (`None`, `false`, an error, a panic
//! that names the operator), returns a result that is right for any value, or passes the operator on. Any other arm
//! could treat a new operator wrongly.

use std::sync::LazyLock;

use regex::Regex;

use super::text::code;
use crate::workspace::{File, regex};

/// The first line of a match, as rustfmt formats it.
static MATCH: LazyLock<Regex> = LazyLock::new(|| regex(r"\bmatch .*\{\s*$"));

/// The allowed beginnings of an arm for all other operators, besides passing the operator on.
static DECLINES: LazyLock<Regex> = LazyLock::new(|| {
    let mays = r"None|false|Err\(|Ok\(None\)|continue|unreachable!|\(\)|\{\}|Truths::ANY|Fact::Varies|value\.clone\(";
    regex(&format!(r"^(?:\{{\s*)?(?:return )?(?:{mays})"))
});

/// All findings in these files; tests are exempt.
pub(crate) fn check(files: &[File]) -> Vec<String> {
    let is_test =
        |path: &str| path.contains("/tests/") || path.contains("/benches/") || path.ends_with("tests.rs");
    let sources = files.iter().filter(|f| f.path.ends_with(".rs") && f.path.starts_with("crates/"));
    sources.filter(|f| !is_test(&f.path)).flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<String> {
    let text = code(file);
    let lines: Vec<&str> = text.lines().collect();
    let mut findings = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| MATCH.is_match(line)) {
        let arms = arms(&lines[at + 1..], line.len() - line.trim_start().len() + 4);
        if !arms.iter().any(|(pattern, _)| names_operators(pattern)) {
            continue;
        }
        let wrong = arms.iter().filter(|(pattern, body)| is_rest(pattern) && !declines(pattern, body));
        findings.extend(wrong.map(|(pattern, body)| {
            let what = format!("`{pattern}` computes `{body:.60}`; name the operators, or decline");
            format!("{}:{}: in a match over operators {what}", file.path, at + 1)
        }));
    }
    findings
}

/// The arms of a match, which begin on lines with this indentation: pattern and body of each.
fn arms(lines: &[&str], indent: usize) -> Vec<(String, String)> {
    let mut arms: Vec<String> = Vec::new();
    for line in lines.iter().filter(|line| !line.trim().is_empty()) {
        let (own, text) = (line.len() - line.trim_start().len(), line.trim());
        match arms.last_mut() {
            _ if own < indent => break,
            Some(arm) if own > indent || text.starts_with(['}', ')', ']', '|']) => {
                *arm += &format!(" {text}")
            }
            _ => arms.push(text.to_owned()),
        }
    }
    let parts = arms.iter().filter_map(|arm| arm.trim_end_matches(',').split_once(" =>"));
    parts.map(|(pattern, body)| (pattern.trim().to_owned(), body.trim().to_owned())).collect()
}

/// Whether a pattern is one of operators, possibly together with an operand's type.
fn names_operators(pattern: &str) -> bool {
    let pattern = pattern.trim_start_matches(['(', '&', ' ', '|']);
    pattern.starts_with("Op::") || pattern.starts_with("Some(Op::") || pattern.starts_with("Some(&Op::")
}

/// Whether a pattern matches everything that the others do not, possibly with a guard.
fn is_rest(pattern: &str) -> bool {
    let pattern = pattern.split(" if ").next().unwrap_or_default().trim();
    let pattern = pattern.strip_prefix('(').and_then(|p| p.strip_suffix(')')).unwrap_or(pattern);
    let is_name = |part: &str| part == "_" || part.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    !pattern.is_empty() && pattern.split(',').map(str::trim).all(is_name)
}

/// Whether the body of an arm treats all operators alike (it returns `None`, for example), or passes the operator on.
fn declines(pattern: &str, body: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect()
    };
    let own = words(&format!("{pattern} op self"));
    let is_name = |word: &&String| !matches!(word.as_str(), "" | "_" | "if");
    DECLINES.is_match(body) || own.iter().filter(is_name).any(|name| words(body).contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of findings in a match with these arms.
    fn findings(of: &str, arms: &[&str]) -> usize {
        let arms = arms.join(",\n        ");
        let text = format!("fn f(x: &Op) -> u8 {{\n    match {of} {{\n        {arms},\n    }}\n}}\n");
        let found = check_file(&File { path: "crates/a/src/a.rs".to_owned(), text });
        let begin = "crates/a/src/a.rs:2: in a match over operators `";
        assert!(found.iter().all(|finding| finding.starts_with(begin)), "{found:?}");
        found.len()
    }

    #[test]
    fn a_match_that_takes_others_for_something_is_found() {
        assert_eq!(findings("x", &["Op::Not => 1", "_ => 2"]), 1);
        assert_eq!(findings("x", &["Op::Not\n        | Op::Or => 1", "other => 2"]), 1);
        let blocks = [
            "(Op::Not, _) => {\n            g();\n            1\n        }",
            "(_, _) => {\n            2\n        }",
        ];
        assert_eq!(findings("(x, y)", &blocks), 1);
    }

    #[test]
    fn a_match_that_declines_is_not() {
        let declining = "_ => None/_ => return None/_ => false/_ => {}/other => unreachable!(\"{other}\")";
        let passing = "_ => pass(op)/other => other.clone()/(op, _) if f(op) => g(op)/Op::Or => 2";
        for rest in declining.split('/').chain(passing.split('/')) {
            assert_eq!(findings("x", &["Op::Not => Some(1)", rest]), 0, "{rest}");
        }
    }

    #[test]
    fn what_matches_other_things_is_left_alone() {
        assert_eq!(findings("x", &["Rule::Apply { op: Op::Not } => 1", "_ => 2"]), 0);
        assert_eq!(findings("dtype", &["DType::Num => 1", "_ => 2"]), 0);
        assert_eq!(findings("x", &["DType::Num => 1", "// Op::Not => 1", "_ => 2"]), 0);
    }
}
