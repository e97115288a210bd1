//! Refuses the patterns and phrases in `xtask/data/tidy.toml` in the text of files.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use regex::{Match, Regex};
use serde::Deserialize;

use super::text::{code, product, prose};
use crate::workspace::{File, read, regex};

#[derive(Deserialize)]
struct Tables {
    rule: Vec<Rule>,
    phrases: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    part: Part,
    files: String,
    except: Option<String>,
    refuses: String,
    /// A match is refused only if it has more characters.
    #[serde(default)]
    longer: usize,
    why: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Part {
    All,
    Code,
    Product,
    Comments,
}

/// All findings in these files.
pub(super) fn check(files: &[File]) -> Result<Vec<String>> {
    let tables: Tables = toml::from_str(&read("xtask/data/tidy.toml")?).context("xtask/data/tidy.toml")?;
    let phrases = pattern(&tables.phrases);
    let spoken = files.iter().filter(|file| file.path != TESTED);
    let spoken = spoken.flat_map(|file| spoken_in(file, &phrases, &tables.phrases));
    Ok(tables.rule.iter().flat_map(|rule| refused(rule, files)).chain(spoken).collect())
}

/// This file: its tests contain phrases that the check refuses.
const TESTED: &str = "xtask/src/tidy/words.rs";

/// A finding, with its line number.
fn finding(file: &File, text: &str, found: &Match<'_>, why: &str) -> String {
    let line = text[..found.start()].matches('\n').count() + 1;
    let shown = found.as_str().split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{}:{line}: `{shown:.40}`: {why}", file.path)
}

fn refused(rule: &Rule, files: &[File]) -> Vec<String> {
    let (within, except, refuses) =
        (regex(&rule.files), rule.except.as_deref().map(regex), regex(&rule.refuses));
    let is_concerned =
        |path: &str| within.is_match(path) && !except.as_ref().is_some_and(|e| e.is_match(path));
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| is_concerned(&file.path) && refuses.is_match(&file.text)) {
        let text = match rule.part {
            Part::All => file.text.clone(),
            Part::Code => code(file),
            Part::Product => product(file),
            Part::Comments => prose(file, false),
        };
        let found = refuses.find_iter(&text).filter(|found| found.as_str().chars().count() > rule.longer);
        findings.extend(found.map(|found| finding(file, &text, &found, &rule.why)));
    }
    findings
}

/// A pattern that matches any of the phrases, whose words may be on two lines.
fn pattern(phrases: &BTreeMap<String, String>) -> Regex {
    let phrases: Vec<String> = phrases.keys().map(|p| p.replace(' ', r"(?:[ \t]+|[ \t]*\n[ \t]*)")).collect();
    regex(&format!(r"(?i-u)\b(?:{})\b", phrases.join("|")))
}

fn spoken_in(file: &File, pattern: &Regex, phrases: &BTreeMap<String, String>) -> Vec<String> {
    let text = prose(file, true);
    let joins = |c: char| matches!(c, '-' | '\'');
    let is_whole = |found: &Match<'_>| {
        !text[..found.start()].ends_with(joins) && !text[found.end()..].starts_with(joins)
    };
    let instead = |found: Match<'_>| {
        let phrase = found.as_str().to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
        finding(file, &text, &found, &format!("write: {}", phrases.get(&phrase).map_or("", |text| text)))
    };
    pattern.find_iter(&text).filter(is_whole).map(instead).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings in a file, without its path.
    fn findings(path: &str, text: &str) -> Vec<String> {
        let found = check(&[File { path: path.to_owned(), text: text.to_owned() }]).unwrap();
        found.iter().map(|f| f.strip_prefix(path).unwrap()[1..].to_owned()).collect()
    }

    #[test]
    fn long_files_marks_and_unsafe_code_are_found() {
        let block = concat!("let x = un", "safe { *p };");
        for (path, text, found) in [
            ("a.rs", "\n".repeat(600), 0),
            ("a.rs", "\n".repeat(601), 1),
            ("a.rs", format!("fn f() {{}}\n// TO{}: later\n", "DO"), 1),
            ("a/b.rs", block.to_owned(), 1),
            ("a/ffi.rs", block.to_owned(), 0),
            ("a/b.rs", format!("// {block}"), 0),
        ] {
            assert_eq!(findings(path, &text).len(), found, "{path}");
        }
    }

    #[test]
    fn only_some_crates_open_files_and_read_the_environment() {
        let opens = "fn f() {\n    std::fs::read(path);\n}\n";
        for (path, text, found) in [
            ("rml-ir/src/a/b.rs", opens, 1),
            ("rml-files/src/a.rs", opens, 0),
            ("rml-ir/tests/a.rs", opens, 0),
            ("rml-ir/src/a.rs", &format!("#[cfg(test)]\nmod tests {{\n{opens}}}"), 0),
            ("rml-data/src/a.rs", "let v = std::env::var(\"H\");", 1),
        ] {
            assert_eq!(findings(&format!("crates/{path}"), text).len(), found, "{path}");
        }
    }

    #[test]
    fn phrases_are_found_across_lines_with_their_place() {
        for (path, text, line) in [
            ("a.md", "# A\n\nIt goes\non.", 3),
            ("a.rs", "fn f() {\n    // it goes\n    // on\n}", 2),
            ("a.rs", "\nlet s = \"it goes \\\n    on\";", 2),
            ("a.rs", "f('\"', r#\"a \"goes\"#, \"x\\\"\", b\"it goes on\")", 1),
            ("a.rml", "o = 1; (* it\n  goes on *)", 2),
            ("a.rml", "o = 1; -- it goes on", 1),
            ("a.md", "`a goes off\n\nhere it goes on", 3),
        ] {
            let wanted = format!("{line}: `goes on`: write: continues");
            assert_eq!(findings(path, text), [wanted], "{text}");
        }
        assert_eq!(findings("a.md", "It Goes On").len(), 1);
    }

    #[test]
    fn words_that_only_look_alike_are_fine() {
        let texts = "It goes. On it|it goes `x` on|`it goes on`|`it goes\non`|It undergoes one|it goes\n\non|\
                     goes-on goes on-line|```\ngoes on\n```";
        for text in texts.split('|') {
            assert_eq!(findings("a.md", text), [""; 0], "{text}");
            let comment: Vec<String> = text.lines().map(|line| format!("/// {line}")).collect();
            assert_eq!(findings("a.rs", &comment.join("\n")), [""; 0], "{text}");
        }
        assert_eq!(findings("a.rs", "let goes = on; fn anew() {} f(\"goes\", \"on\")"), [""; 0]);
    }

    #[test]
    fn long_lines_are_found_unless_they_cannot_be_broken() {
        let words = "word ".repeat(23) + "words";
        let (long, unbroken) = (format!("{words}s"), "w".repeat(120));
        let found =
            [findings("a.md", &format!("a\n{long}")), findings("a.rs", &format!("\n    /// {words}"))];
        assert!(found.iter().all(|found| found.len() == 1 && found[0].starts_with("2: ")), "{found:?}");
        for line in [
            words,
            format!("| {long} |"),
            format!("```\n{long}\n```"),
            format!("## {long}"),
            format!("[`a`]: {unbroken}"),
            format!("https://{unbroken}"),
        ] {
            assert_eq!(findings("a.md", &line), [""; 0]);
        }
        assert_eq!(findings("a.rs", &format!("let s = \"{long}\";")), [""; 0]);
    }
}
