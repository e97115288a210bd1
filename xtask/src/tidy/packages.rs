//! Checks the packages of this project and its dependencies: dependencies between crates against the table `| crate |
//! .. | may depend on |` in ARCHITECTURE.md; licences against the list in `deny.toml`; and that all other packages come
//! from the registry.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use serde::Deserialize;
use spdx::{Expression, ParseMode};
use xshell::cmd;

use crate::workspace::{cargo, read, shell};

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    /// The registry; none for packages of this project.
    source: Option<String>,
    license: Option<String>,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
}

type Table = BTreeMap<String, BTreeSet<String>>;

/// All findings.
pub(super) fn check() -> Result<Vec<String>> {
    let (shell, cargo) = (shell()?, cargo());
    let version = cmd!(shell, "rustc -vV").quiet().read()?;
    // Packages for other platforms need not be downloaded.
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc has no host")?;
    let flags = ["--format-version", "1", "--all-features", "--locked", "--filter-platform", host];
    let found: Metadata = serde_json::from_str(&cmd!(shell, "{cargo} metadata {flags...}").quiet().read()?)?;
    let mut findings = compare(&allowed(&read("ARCHITECTURE.md")?), &actual(&found.packages));
    let deny: toml::Table = toml::from_str(&read("deny.toml")?)?;
    let licences: BTreeSet<String> = deny["licenses"]["allow"].clone().try_into()?;
    findings.extend(found.packages.iter().flat_map(|package| foreign(package, &licences)));
    Ok(findings)
}

fn compare(allowed: &Table, actual: &Table) -> Vec<String> {
    let page = "ARCHITECTURE.md: the table of dependencies";
    let lacking = actual.keys().filter(|name| !allowed.contains_key(*name));
    let gone = allowed.keys().filter(|name| !actual.contains_key(*name));
    let wrong = allowed.iter().flat_map(|(name, allowed)| {
        let others = actual.get(name).into_iter().flat_map(|found| found.difference(allowed));
        others.map(move |d| {
            format!("{name}: depends on `{d}`, which the table in ARCHITECTURE.md does not allow")
        })
    });
    let lacking = lacking.map(|name| format!("{page} lacks `{name}`"));
    wrong
        .chain(lacking)
        .chain(gone.map(|name| format!("{page} names `{name}`, which does not exist")))
        .collect()
}

/// Reads the table: a row for each crate, with the names that it may depend on, separated by commas, in the last
/// column.
fn allowed(text: &str) -> Table {
    let rows = text.split("| may depend on |\n").nth(1).unwrap_or_default().lines().skip(1);
    let names = |cell: &str| -> Vec<String> {
        cell.split(',').map(|name| name.trim().replace('`', "")).filter(|name| !name.is_empty()).collect()
    };
    let row = |row: &str| {
        let cells = row.strip_prefix('|')?.strip_suffix('|')?;
        Some((names(cells.split('|').next()?).pop()?, names(cells.rsplit('|').next()?).into_iter().collect()))
    };
    rows.map_while(row).collect()
}

/// The dependencies within the workspace, without those of tests.
fn actual(packages: &[Package]) -> Table {
    let own = || packages.iter().filter(|package| package.source.is_none());
    let is_own = |name: &str| own().any(|package| package.name == name);
    let of = |package: &Package| {
        let all = package.dependencies.iter().filter(|d| d.kind.as_deref() != Some("dev") && is_own(&d.name));
        (package.name.clone(), all.map(|d| d.name.clone()).collect())
    };
    own().map(of).collect()
}

/// The problems with the licence or the origin of a package.
fn foreign(package: &Package, allowed: &BTreeSet<String>) -> Vec<String> {
    let Some(source) = &package.source else { return Vec::new() };
    let name = format!("{} {}", package.name, package.version);
    let licence = package.license.as_deref().unwrap_or("none");
    let mut findings = Vec::new();
    if !source.starts_with(REGISTRY) {
        findings.push(format!("Cargo.lock: {name} comes from {source}"));
    }
    if !is_allowed(licence, allowed) {
        findings.push(format!("deny.toml: the licence of {name} is not allowed: {licence}"));
    }
    findings
}

/// Whether an SPDX expression (or the older form `MIT/Apache-2.0`) can be satisfied by allowed licences.
fn is_allowed(licence: &str, allowed: &BTreeSet<String>) -> bool {
    Expression::parse_mode(licence, ParseMode::LAX)
        .is_ok_and(|parsed| parsed.evaluate(|one| allowed.contains(&one.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# Crates\n\n| x |\n|---|\n| y |\n\n| crate | holds | may depend on |\n|---|---|---|\n\
                         | `a` | ids | |\n| b | text | a |\n| c | text | `a`, b |\n\nEnd.\n";

    fn table(rows: &[(&str, &[&str])]) -> Table {
        rows.iter().map(|(n, d)| ((*n).to_owned(), d.iter().map(|d| (*d).to_owned()).collect())).collect()
    }

    #[test]
    fn wrong_directions_and_missing_rows_are_found() {
        assert_eq!(allowed(TABLE), table(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b"])]));
        let findings = compare(&allowed(TABLE), &table(&[("a", &["b"]), ("b", &["a"]), ("d", &[])]));
        let parts = ["a: depends on `b`", "lacks `d`", "names `c`"];
        let are_those = findings.iter().zip(parts).all(|(finding, part)| finding.contains(part));
        assert!(findings.len() == 3 && are_those, "{findings:?}");
        assert!(!compare(&allowed("no table"), &table(&[("a", &[])])).is_empty());
    }

    #[test]
    fn packages_of_tests_licences_and_origins_are_told_apart() {
        let metadata = serde_json::json!([
            {"name": "a", "version": "1", "dependencies": [{"name": "b", "kind": "dev"}, {"name": "s", "kind": null}]},
            {"name": "b", "version": "1", "dependencies": [{"name": "a", "kind": null}]},
            {"name": "s", "version": "1", "source": REGISTRY, "license": "MIT", "dependencies": []},
            {"name": "t", "version": "1", "source": REGISTRY, "dependencies": []},
            {"name": "u", "version": "1", "source": "git+https://x.org", "license": "GPL-3.0", "dependencies": []},
        ]);
        let packages: Vec<Package> = serde_json::from_value(metadata).unwrap();
        assert_eq!(actual(&packages), table(&[("a", &[]), ("b", &["a"])]));
        let licences = BTreeSet::from(["MIT".to_owned()]);
        let found: Vec<String> = packages.iter().flat_map(|p| foreign(p, &licences)).collect();
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn licences_are_met_or_not() {
        let list = ["MIT", "Apache-2.0 WITH LLVM-exception", "Zlib"].map(str::to_owned).into();
        let met =
            "MIT OR GPL-3.0|GPL-3.0/MIT|(GPL-3.0 OR MIT) AND Zlib|Apache-2.0 WITH LLVM-exception OR GPL-2.0";
        let unmet = "MIT AND GPL-3.0|GPL-3.0 OR MIT AND BSD-2-Clause|Apache-2.0|";
        let all = met.split('|').map(|licence| (licence, true)).chain(unmet.split('|').map(|l| (l, false)));
        for (licence, met) in all {
            assert_eq!(is_allowed(licence, &list), met, "{licence}");
        }
    }
}
