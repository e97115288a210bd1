//! A match over operators does nothing for those that it does not name.
//!
//! A match may have a last arm for all other operators only if that arm declines (`None`, `false`, an error, a panic
//! that names the operator), keeps what holds of any value, or passes the operator on. An arm that computes something
//! would take a new operator for one that it is not.

use crate::workspace::File;

/// What an arm for all other operators may do besides passing the operator on.
const DECLINES: &[&str] = &[
    "None",
    "false",
    "Err(",
    "Ok(None)",
    "continue",
    "unreachable!(",
    "()",
    "{}",
    "Truths::ANY",
    "Fact::Varies",
];

/// All findings in those files; tests may do what they like.
pub(crate) fn check(files: &[File]) -> Vec<String> {
    let is_test =
        |path: &str| path.contains("/tests/") || path.contains("/benches/") || path.ends_with("tests.rs");
    let sources = files.iter().filter(|f| f.path.ends_with(".rs") && f.path.starts_with("crates/"));
    sources.filter(|f| !is_test(&f.path)).flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<String> {
    let text = plain(&file.text);
    let mut findings = Vec::new();
    for (at, _) in text.match_indices("match ") {
        let Some(open) = text[at..].find('{').map(|i| at + i) else { continue };
        if text[at..open].contains(';') || !starts_word(&text, at) {
            continue;
        }
        let arms = arms(&text[open + 1..]);
        if !arms.iter().any(|(pattern, _)| names_operators(pattern)) {
            continue;
        }
        for (pattern, body) in
            arms.iter().filter(|(pattern, body)| is_rest(pattern) && !declines(pattern, body))
        {
            let line = text[..at].matches('\n').count() + 1;
            let body: String =
                body.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect();
            findings.push(format!(
                "{}:{line}: in a match over operators `{pattern}` computes `{body}`; name the operators, or decline",
                file.path
            ));
        }
    }
    findings
}

fn starts_word(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// The text with blanks for comments and for what stands in quotes.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut quoted = false;
        let mut last = ' ';
        let mut comment = false;
        for c in line.chars() {
            comment |= !quoted && last == '/' && c == '/';
            let is_quote = c == '"' && last != '\\' && last != '\'';
            if is_quote && !comment {
                quoted = !quoted;
            }
            let blank = (comment || quoted && !is_quote) && c != '\n';
            out.extend(if blank {
                std::iter::repeat_n(' ', c.len_utf8())
            } else {
                std::iter::repeat_n(c, 1)
            });
            last = if last == '\\' { ' ' } else { c };
        }
    }
    out
}

/// The arms of a match whose text begins after its brace: pattern and body of each.
fn arms(text: &str) -> Vec<(String, String)> {
    let (mut arms, mut depth, mut start, mut pattern) = (Vec::new(), 0_usize, 0, None);
    let mut finish = |pattern: &mut Option<String>, body: &str| {
        if let Some(pattern) = pattern.take() {
            arms.push((pattern, body.trim().to_owned()));
        }
    };
    for (i, c) in text.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' if depth == 0 => {
                finish(&mut pattern, &text[start..i]);
                break;
            }
            '}' | ')' | ']' => {
                depth -= 1;
                // A body in braces needs no comma behind it.
                if c == '}' && depth == 0 && pattern.is_some() && text[start..].trim_start().starts_with('{')
                {
                    finish(&mut pattern, &text[start..=i]);
                    start = i + 1;
                }
            }
            '>' if depth == 0 && pattern.is_none() && text[..i].ends_with('=') => {
                let own = text[start..i - 1].trim().trim_start_matches(',').trim();
                pattern = Some(own.to_owned());
                start = i + 1;
            }
            ',' if depth == 0 && pattern.is_some() => {
                finish(&mut pattern, &text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    arms
}

/// Whether a pattern is one of operators, perhaps beside an operand's type.
fn names_operators(pattern: &str) -> bool {
    let pattern = pattern.trim_start_matches(['(', '&', ' ', '|']);
    pattern.starts_with("Op::") || pattern.starts_with("Some(Op::") || pattern.starts_with("Some(&Op::")
}

/// Whether a pattern takes what no other one does, perhaps under a condition.
fn is_rest(pattern: &str) -> bool {
    let pattern = pattern.split(" if ").next().unwrap_or_default().trim();
    let pattern = pattern.strip_prefix('(').and_then(|p| p.strip_suffix(')')).unwrap_or(pattern);
    let is_name = |part: &str| part == "_" || part.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    !pattern.is_empty() && pattern.split(',').map(str::trim).all(is_name)
}

/// Whether the body of an arm does nothing that depends on which operator it is, or leaves it to others.
fn declines(pattern: &str, body: &str) -> bool {
    let own = body.trim_start_matches(['{', ' ', '\n']).trim_start_matches("return ");
    let names = pattern.split(|c: char| !c.is_alphanumeric() && c != '_').chain(["op", "self"]);
    let passes_on = names
        .filter(|name| !matches!(*name, "" | "_" | "if"))
        .any(|name| body.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name));
    body == "{}" || DECLINES.iter().any(|start| own.starts_with(start)) || passes_on
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        check_file(&File { path: "crates/a/src/a.rs".to_owned(), text: text.to_owned() })
    }

    #[test]
    fn a_match_that_takes_others_for_something_is_found() {
        let text = "fn f(x: &Op) -> u8 {\n    match x {\n        Op::Not => 1,\n        _ => 2,\n    }\n}\n";
        let found = findings(text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("crates/a/src/a.rs:2: in a match over operators `_` computes `2`"),
            "{found:?}"
        );
        let block = "match (x, y) {\n    (Op::Not, _) => { g(); 1 }\n    (_, _) => { g(); 2 }\n}";
        assert_eq!(findings(block).len(), 1);
        assert_eq!(findings("match x { Op::Not => 1, other => 2, }").len(), 1);
    }

    #[test]
    fn a_match_that_declines_is_not() {
        for rest in [
            "_ => None",
            "_ => return None",
            "_ => false",
            "_ => {}",
            "other => unreachable!(\"{other}\")",
            "_ => pass(op)",
            "other => other.clone()",
            "(op, _) if f(op) => g(op)",
            "Op::Or => 2",
        ] {
            assert_eq!(findings(&format!("match x {{ Op::Not => Some(1), {rest} }}")), [""; 0], "{rest}");
        }
    }

    #[test]
    fn what_matches_other_things_is_left_alone() {
        assert_eq!(findings("match x { Rule::Apply { op: Op::Not } => 1, _ => 2 }"), [""; 0]);
        assert_eq!(findings("match dtype { DType::Num => 1, _ => 2 }"), [""; 0]);
        assert_eq!(findings("// match x { Op::Not => 1, _ => 2 }"), [""; 0]);
        assert_eq!(findings("let s = \"match x { Op::Not => 1, _ => 2 }\";"), [""; 0]);
    }
}
