//! Checks that the map of the tests, `docs/tests.md`, has a row for every test target, and no others.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use anyhow::Result;
use regex::Regex;

use crate::workspace::{File, read, regex};

const MAP: &str = "docs/tests.md";
/// The heading of the part that lists the targets; it contains headings that name crates, each with a table.
const LIST: &str = "\n## The targets\n";
/// The crate and the name of a test target, from the path of its root file.
static TARGET: LazyLock<Regex> = LazyLock::new(|| regex(r"^crates/([^/]+)/tests/([^/]+?)(?:/main)?\.rs$"));

/// Targets without a row, and rows without a target.
pub(super) fn check(files: &[File]) -> Result<Vec<String>> {
    Ok(compare(&read(MAP)?, files))
}

fn compare(map: &str, files: &[File]) -> Vec<String> {
    let targets = files.iter().filter_map(|file| Some(TARGET.captures(&file.path)?.extract::<2>().1.into()));
    let (targets, rows): (BTreeSet<(&str, &str)>, _) = (targets.collect(), rows(map));
    let mut findings = Vec::new();
    for (name, target) in &targets {
        if !rows.iter().any(|(crates, row)| crates.contains(name) && row == target) {
            findings.push(format!("{MAP}: no row below `{name}` for the test target `{target}`"));
        }
    }
    for (crates, row) in rows.iter().filter(|(c, row)| !c.iter().any(|name| targets.contains(&(*name, *row))))
    {
        findings.push(format!("{MAP}: {} has no test target `{row}`", crates.join(", ")));
    }
    findings
}

/// The names in the first column of each table, with the crates that the heading names.
fn rows(map: &str) -> Vec<(Vec<&str>, &str)> {
    let list = map.split(LIST).nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap_or_default();
    let (mut crates, mut rows) = (Vec::new(), Vec::new());
    for line in list.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            crates = heading.split(", ").collect();
        }
        let name = line.strip_prefix("| `").and_then(|rest| rest.split('`').next());
        rows.extend(name.map(|name| (crates.clone(), name)));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_and_rows_belong_together() {
        let files =
            ["a/tests/one.rs", "a/tests/two/main.rs", "a/tests/two/part.rs", "b/tests/one.rs", "b/src/c.rs"];
        let file = |path: &&str| File { path: format!("crates/{path}"), text: String::new() };
        let sources: Vec<File> = files.iter().map(file).collect();
        let map = "| `three` |\n## The targets\n### a, b\n| target | promise |\n| `one` | x |\n### a\n\
                   | `two` | y |\n\n## More\n| `four` |";
        assert_eq!(compare(map, &sources), Vec::<String>::new());
        for (from, to, findings) in
            [("| `two`", "| `2`", 2), ("### a, b", "### a", 1), ("### a\n", "### b\n", 2)]
        {
            assert_eq!(compare(&map.replace(from, to), &sources).len(), findings, "{from}");
        }
    }
}
