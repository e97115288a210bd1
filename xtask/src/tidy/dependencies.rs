//! Who depends on whom, against the table `| crate | .. | may depend on |` in ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::workspace;

type Table = BTreeMap<String, BTreeSet<String>>;

/// Crates whose direct (not dev) dependencies within the workspace are not those of the table, and crates it lacks.
pub(crate) fn check() -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(workspace::root().join("ARCHITECTURE.md"))
        .map_err(|e| format!("cannot read ARCHITECTURE.md: {e}"))?;
    let output = workspace::cargo(&["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .output()
        .map_err(|e| format!("cannot run cargo metadata: {e}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    Ok(compare(&allowed(&text), &actual(&metadata)))
}

fn compare(allowed: &Table, actual: &Table) -> Vec<String> {
    let mut findings = Vec::new();
    if allowed.is_empty() {
        findings
            .push("ARCHITECTURE.md: no table with the heading `| crate | .. | may depend on |`".to_owned());
        return findings;
    }
    for (name, dependencies) in actual {
        match allowed.get(name) {
            None => findings.push(format!("ARCHITECTURE.md: the table of dependencies lacks `{name}`")),
            Some(allowed) => findings.extend(dependencies.difference(allowed).map(|d| {
                format!("{name}: depends on `{d}`, which the table in ARCHITECTURE.md does not allow")
            })),
        }
    }
    let gone = allowed.keys().filter(|name| !actual.contains_key(*name));
    findings.extend(gone.map(|name| {
        format!("ARCHITECTURE.md: the table of dependencies names `{name}`, which does not exist")
    }));
    findings
}

/// Reads the table: a row for each crate, with the names it may depend on separated by commas.
fn allowed(text: &str) -> Table {
    let cells = |line: &str| -> Option<Vec<String>> {
        let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
        Some(inner.split('|').map(|c| c.trim().replace('`', "")).collect())
    };
    let mut lines = text.lines();
    let columns = lines.by_ref().filter_map(cells).find_map(|heading| {
        let column = |name: &str| heading.iter().position(|c| c == name);
        Some((column("crate")?, column("may depend on")?))
    });
    let Some((name, dependencies)) = columns else { return Table::new() };
    let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
    let names = |cell: String| -> BTreeSet<String> {
        cell.split(',').map(str::trim).filter(|n| !n.is_empty()).map(str::to_owned).collect()
    };
    lines.map_while(cells).skip(1).map(|row| (cell(&row, name), names(cell(&row, dependencies)))).collect()
}

fn actual(metadata: &Value) -> Table {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let name = |v: &Value| v["name"].as_str().unwrap_or_default().to_owned();
    let members: BTreeSet<String> = packages.iter().map(name).collect();
    let dependencies = |package: &Value| -> BTreeSet<String> {
        let all = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
        all.iter()
            .filter(|d| d["kind"].as_str() != Some("dev"))
            .map(name)
            .filter(|d| members.contains(d))
            .collect()
    };
    packages.iter().map(|p| (name(p), dependencies(p))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# Crates\n\n| x |\n|---|\n| y |\n\n| crate | holds | may depend on |\n|---|---|---|\n| `a` | ids | |\n| b | text | a |\n| c | text | `a`, b |\n\nEnd.\n";

    fn table(rows: &[(&str, &[&str])]) -> Table {
        rows.iter().map(|(n, d)| ((*n).to_owned(), d.iter().map(|d| (*d).to_owned()).collect())).collect()
    }

    #[test]
    fn reads_the_table() {
        assert_eq!(allowed(TABLE), table(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b"])]));
        assert!(allowed("no table").is_empty());
    }

    #[test]
    fn finds_a_wrong_direction_and_missing_rows() {
        let findings = compare(&allowed(TABLE), &table(&[("a", &["b"]), ("b", &["a"]), ("d", &[])]));
        assert_eq!(findings.len(), 3, "{findings:?}");
        assert!(findings[0].starts_with("a: depends on `b`"));
        assert!(findings[1].contains("lacks `d`"));
        assert!(findings[2].contains("names `c`"));
    }

    #[test]
    fn dev_dependencies_do_not_count() {
        let metadata = serde_json::json!({"packages": [
            {"name": "a", "dependencies": [{"name": "b", "kind": "dev"}, {"name": "serde", "kind": null}]},
            {"name": "b", "dependencies": [{"name": "a", "kind": null}]},
        ]});
        assert_eq!(actual(&metadata), table(&[("a", &[]), ("b", &["a"])]));
    }
}
