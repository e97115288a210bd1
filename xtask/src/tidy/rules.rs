//! The rules of the semantics: declared once in `docs/semantics`, and cited by the code and the tests that rely on
//! them.
//!
//! A rule is declared where a line, or a row of a table, begins with its name in bold, `**FAMILY-NUMBER.**`. Everywhere
//! else a name of that form is a citation. Words after the `chronogram` of an example count as citations by a test.

use std::collections::{BTreeMap, BTreeSet};

use crate::workspace::{self, File};

const PAGES: &str = "docs/semantics/";
const INDEX: &str = "docs/semantics/README.md";
const EXAMPLE: &str = "```chronogram";

/// Capitals before a hyphen and a number that name no family of rules.
const FOREIGN: &[&str] = &["BSD", "BSL", "FNV", "GPL", "ISO", "LGPL", "MIT", "MPL", "RFC", "SHA", "UTF"];

/// A rule, and where it is declared.
struct Rule<'a> {
    name: &'a str,
    path: &'a str,
    line: usize,
}

impl Rule<'_> {
    fn family(&self) -> &str {
        self.name.split('-').next().unwrap_or_default()
    }
}

/// Rules that are declared twice, cited but not declared, cited by nobody, or missing in the index of families.
pub(crate) fn check() -> Result<Vec<String>, String> {
    let files = workspace::files(&["rs", "rml", "md"])?;
    let mut findings = check_rules(&files);
    let index = files.iter().find(|f| f.path == INDEX).map_or("", |f| f.text.as_str());
    findings.extend(check_index(index, &declared(&files)));
    Ok(findings)
}

fn check_rules(files: &[File]) -> Vec<String> {
    let mut findings = Vec::new();
    let mut known: BTreeMap<&str, Rule<'_>> = BTreeMap::new();
    for rule in declared(files) {
        let (name, path, line) = (rule.name, rule.path, rule.line);
        if let Some(first) = known.insert(name, rule) {
            findings.push(format!("{path}:{line}: {name} is declared in {}:{}, too", first.path, first.line));
        }
    }
    let mut relied_on = BTreeSet::new();
    for file in files {
        let is_page = file.path.starts_with(PAGES);
        for (number, line) in (1..).zip(file.text.lines()) {
            let cited = names(line);
            for name in cited.iter().filter(|name| !known.contains_key(*name)) {
                findings.push(format!("{}:{number}: no page of {PAGES} declares the rule {name}", file.path));
            }
            if line.starts_with(EXAMPLE) || (!is_page && !file.path.ends_with(".md")) {
                relied_on.extend(cited);
            }
        }
    }
    let unused = known.values().filter(|rule| !relied_on.contains(rule.name));
    findings.extend(unused.map(|rule| {
        format!("{}:{}: neither code nor a test nor an example cites {}", rule.path, rule.line, rule.name)
    }));
    findings
}

/// Families whose row of the index does not name the page that declares them.
fn check_index(index: &str, rules: &[Rule<'_>]) -> Vec<String> {
    let families: BTreeSet<(&str, &str)> = rules.iter().map(|r| (r.family(), r.path)).collect();
    let has_row = |family: &str, path: &str| {
        let page = path.strip_prefix(PAGES).unwrap_or(path);
        let (family, page) = (format!("`{family}`"), format!("({page})"));
        index.lines().any(|line| line.starts_with('|') && line.contains(&family) && line.contains(&page))
    };
    let missing = families.iter().filter(|(family, path)| !has_row(family, path));
    missing
        .map(|(family, path)| format!("{INDEX}: no row says that {family} is declared in {path}"))
        .collect()
}

/// The rules that the pages declare, in order.
fn declared(files: &[File]) -> Vec<Rule<'_>> {
    let mut rules = Vec::new();
    for file in files.iter().filter(|f| f.path.starts_with(PAGES)) {
        for (line, text) in (1..).zip(file.text.lines()) {
            let text = text.strip_prefix("| ").unwrap_or(text);
            let bold = text.strip_prefix("**").and_then(|rest| rest.split_once(".**"));
            let name = bold.map(|(name, _)| name).filter(|name| names(name) == [*name]);
            rules.extend(name.map(|name| Rule { name, path: &file.path, line }));
        }
    }
    rules
}

/// What has the form of a rule's name: capitals, a hyphen, a number.
fn names(line: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    line.split(|c| !is_word(c)).filter(|word| is_name(word)).collect()
}

fn is_name(word: &str) -> bool {
    let Some((family, number)) = word.split_once('-') else { return false };
    family.len() > 1
        && family.chars().all(|c| c.is_ascii_uppercase())
        && !FOREIGN.contains(&family)
        && !number.is_empty()
        && number.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written apart, so that this file cites nothing that is not there.
    const FAMILY: &str = concat!("AB", "C");

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.replace('%', FAMILY) }
    }

    fn page(text: &str) -> File {
        file("docs/semantics/a.md", text)
    }

    #[test]
    fn names_are_capitals_and_a_number() {
        let line = format!("({FAMILY}-1), {FAMILY}-23.* x-{FAMILY}-4 {FAMILY}-5b UTF-8 A-6 {FAMILY}");
        assert_eq!(names(&line), [format!("{FAMILY}-1"), format!("{FAMILY}-23")]);
    }

    #[test]
    fn declared_and_cited_rules_are_in_order() {
        let files = [
            page("**%-1.** First.\n| **%-2.** | second |\n```chronogram open %-2\nsee %-1"),
            file("crates/a/src/lib.rs", "// %-1"),
        ];
        assert!(check_rules(&files).is_empty(), "{:?}", check_rules(&files));
    }

    #[test]
    fn rules_declared_twice_are_found() {
        let files = [page("**%-1.** x\n**%-1.** y"), file("a.rs", "// %-1")];
        let findings = check_rules(&files);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].starts_with("docs/semantics/a.md:2:"), "{findings:?}");
    }

    #[test]
    fn citations_of_nothing_are_found() {
        let files = [page("**%-1.** x"), file("a.rs", "// %-1\n// %-2"), file("b.md", "%-3")];
        let findings = check_rules(&files);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[0].starts_with("a.rs:2:") && findings[1].starts_with("b.md:1:"), "{findings:?}");
    }

    #[test]
    fn rules_that_nobody_relies_on_are_found() {
        let files = [page("**%-1.** x\n\n%-1"), file("docs/b.md", "%-1")];
        assert_eq!(check_rules(&files).len(), 1);
    }

    #[test]
    fn families_without_a_row_are_found() {
        let files = [page("**%-1.** x")];
        let rules = declared(&files);
        let row = |page: &str| format!("| `{FAMILY}` | [A]({page}) |");
        assert!(check_index(&row("a.md"), &rules).is_empty());
        assert_eq!(check_index(&row("b.md"), &rules).len(), 1);
    }
}
