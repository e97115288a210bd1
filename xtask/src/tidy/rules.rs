//! The rules of the semantics: declared once in `docs/semantics`, and cited by the code and the tests that rely on
//! them.
//!
//! A rule is declared where a line, or a row of a table, begins with its name in bold, `**FAMILY-NUMBER.**`. Everywhere
//! else, such a name is a citation. Words after the `chronogram` of an example count as citations by a test.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::{Match, Regex};

use crate::workspace::{File, regex};

const PAGES: &str = "docs/semantics/";
const INDEX: &str = "docs/semantics/README.md";
const EXAMPLE: &str = "```chronogram";

/// The form of a rule's name: capitals, a hyphen, a number. And the other names of this form.
static NAME: LazyLock<Regex> = LazyLock::new(|| regex(r"(?-u)\b[A-Z]{2,}-[0-9]+\b"));
static FOREIGN: LazyLock<Regex> = LazyLock::new(|| regex("^(BSD|BSL|FNV|GPL|ISO|LGPL|MIT|MPL|RFC|SHA|UTF)-"));
static DECLARED: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:\| )?\*\*([A-Z]{2,}-[0-9]+)\.\*\*"));

/// Rules that are declared twice, cited but not declared, not cited, or missing in the index of families.
pub(super) fn check(files: &[File]) -> Vec<String> {
    let mut findings = Vec::new();
    let mut known = BTreeMap::new();
    for (name, path, line) in declared(files) {
        if let Some((first, at)) = known.insert(name, (path, line)) {
            findings.push(format!("{path}:{line}: {name} is declared in {first}:{at}, too"));
        }
    }
    let mut relied_on = BTreeSet::new();
    for file in files {
        let is_code = !file.path.ends_with(".md");
        for (number, line) in (1..).zip(file.text.lines()) {
            let cited = names(line);
            for name in cited.iter().filter(|name| !known.contains_key(*name)) {
                findings.push(format!("{}:{number}: no page of {PAGES} declares the rule {name}", file.path));
            }
            if is_code || line.starts_with(EXAMPLE) {
                relied_on.extend(cited);
            }
        }
    }
    for (name, (path, line)) in known.iter().filter(|(name, _)| !relied_on.contains(*name)) {
        findings.push(format!("{path}:{line}: neither code nor a test nor an example cites {name}"));
    }
    let index = files.iter().find(|f| f.path == INDEX).map_or("", |f| f.text.as_str());
    let families: BTreeSet<(&str, &str)> =
        known.iter().map(|(name, (path, _))| (name.split('-').next().unwrap_or_default(), *path)).collect();
    for (family, path) in families.iter().filter(|(family, path)| !has_row(index, family, path)) {
        findings.push(format!("{INDEX}: no row says that {family} is declared in {path}"));
    }
    findings
}

/// Whether a row of the index says that a family is declared in a page.
fn has_row(index: &str, family: &str, path: &str) -> bool {
    let (family, page) = (format!("`{family}`"), format!("({})", path.trim_start_matches(PAGES)));
    index.lines().any(|line| line.starts_with('|') && line.contains(&family) && line.contains(&page))
}

/// The rules that the pages declare, in order, with their places.
fn declared(files: &[File]) -> Vec<(&str, &str, usize)> {
    let pages = files.iter().filter(|f| f.path.starts_with(PAGES));
    let lines = pages.flat_map(|file| (1..).zip(file.text.lines()).map(move |(n, line)| (file, n, line)));
    lines
        .filter_map(|(file, n, line)| {
            Some((DECLARED.captures(line)?.get(1)?.as_str(), file.path.as_str(), n))
        })
        .collect()
}

/// The names of rules in a line.
fn names(line: &str) -> Vec<&str> {
    let is_whole =
        |found: &Match<'_>| !line[..found.start()].ends_with('-') && !line[found.end()..].starts_with('-');
    let names = NAME.find_iter(line).filter(is_whole).map(|found| found.as_str());
    names.filter(|name| !FOREIGN.is_match(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name is in two parts, since this file would otherwise cite a rule that does not exist.
    const FAMILY: &str = concat!("AB", "C");

    /// The findings in files, with an index that has this row.
    fn findings(row: &str, files: &[(&str, &str)]) -> Vec<String> {
        let file =
            |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: text.replace('%', FAMILY) };
        check(&files.iter().chain([&(INDEX, row)]).map(file).collect::<Vec<_>>())
    }

    #[test]
    fn names_are_capitals_and_a_number() {
        let line = format!("({FAMILY}-1), {FAMILY}-23.* x-{FAMILY}-4 {FAMILY}-5b UTF-8 A-6 {FAMILY}");
        assert_eq!(names(&line), [format!("{FAMILY}-1"), format!("{FAMILY}-23")]);
    }

    #[test]
    fn rules_are_declared_once_cited_and_listed() {
        const PAGE: &str = "docs/semantics/a.md";
        const ROW: &str = "| `%` | [A](a.md) |";
        let fine = "**%-1.** First.\n| **%-2.** | second |\n```chronogram open %-2\nsee %-1";
        assert_eq!(findings(ROW, &[(PAGE, fine), ("crates/a/src/lib.rs", "// %-1")]), [""; 0]);
        for (row, page, code, wanted) in [
            (ROW, "**%-1.** x\n**%-1.** y", "// %-1", &["docs/semantics/a.md:2:"][..]),
            (ROW, "**%-1.** x\n%-3", "// %-1\n// %-2", &["docs/semantics/a.md:2:", "a.rs:2:"]),
            (ROW, "**%-1.** x\n\n%-1", "", &["docs/semantics/a.md:1: neither"]),
            ("| `%` | [B](b.md) |", "**%-1.** x", "// %-1", &["docs/semantics/README.md: no row"]),
        ] {
            let found = findings(row, &[(PAGE, page), ("a.rs", code)]);
            let are_those = found.iter().zip(wanted).all(|(f, w)| f.starts_with(w));
            assert!(found.len() == wanted.len() && are_those, "{found:?}");
        }
    }
}
