//! The map of the tests, `docs/tests.md`, has a row for every test target, and no row for one that is gone.

use crate::workspace::{self, File};

const MAP: &str = "docs/tests.md";
/// The heading of the part that lists the targets; below it stand headings that name crates, each with a table.
const LIST: &str = "\n## The targets\n";

/// Targets without a row, and rows without a target.
pub(crate) fn check(sources: &[File]) -> Result<Vec<String>, String> {
    let path = workspace::root().join(MAP);
    let map = std::fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    Ok(compare(&map, sources))
}

fn compare(map: &str, sources: &[File]) -> Vec<String> {
    let targets: Vec<(&str, &str)> = sources.iter().filter_map(|file| target(&file.path)).collect();
    let rows = rows(map);
    let is_row = |(crate_name, name): &(&str, &str)| {
        rows.iter().any(|(crates, row)| row == name && crates.contains(crate_name))
    };
    let is_target = |(crates, row): &(Vec<&str>, &str)| {
        targets.iter().any(|(crate_name, name)| row == name && crates.contains(crate_name))
    };
    let missing = targets.iter().filter(|target| !is_row(target));
    let stray = rows.iter().filter(|row| !is_target(row));
    missing
        .map(|(crate_name, name)| format!("{MAP}: no row below `{crate_name}` for the test target `{name}`"))
        .chain(
            stray.map(|(crates, name)| format!("{MAP}: {} has no test target `{name}`", crates.join(", "))),
        )
        .collect()
}

/// The crate and the name of the test target that a file is the root of.
fn target(path: &str) -> Option<(&str, &str)> {
    let (crate_name, file) = path.strip_prefix("crates/")?.split_once("/tests/")?;
    let name = file.strip_suffix("/main.rs").or(file.strip_suffix(".rs"))?;
    (!crate_name.contains('/') && !name.contains('/')).then_some((crate_name, name))
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
        let map = "| `three` |\n## The targets\n### a, b\n| target | promise |\n| `one` | x |\n### a\n| `two` | y |\n\n## More\n| `four` |";
        assert_eq!(compare(map, &sources), Vec::<String>::new());
        for (from, to, findings) in
            [("| `two`", "| `2`", 2), ("### a, b", "### a", 1), ("### a\n", "### b\n", 2)]
        {
            assert_eq!(compare(&map.replace(from, to), &sources).len(), findings, "{from}");
        }
    }
}
