//! The licences of the packages this project builds on, against the list in `deny.toml`; and that all of them come from
//! the registry.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::workspace;

/// Packages whose licence is not allowed, that have none, or that come from elsewhere.
pub(crate) fn check() -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(workspace::root().join("deny.toml"))
        .map_err(|e| format!("cannot read deny.toml: {e}"))?;
    let host = host()?;
    let flags =
        ["metadata", "--format-version", "1", "--all-features", "--locked", "--filter-platform", &host];
    let output = workspace::cargo(&flags).output().map_err(|e| format!("cannot run cargo metadata: {e}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    Ok(findings(&allowed(&text), &metadata))
}

/// The platform that is compiled for; the packages of others need not be there.
fn host() -> Result<String, String> {
    let output = std::process::Command::new("rustc").arg("-vV").output();
    let output = output.map_err(|e| format!("cannot run rustc: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc does not say its host".to_owned())
}

/// The entries of the list `allow` in the section `[licenses]`.
fn allowed(text: &str) -> BTreeSet<String> {
    let section = text.split_once("[licenses]").map_or("", |(_, rest)| rest);
    let list = section.split_once("allow = [").and_then(|(_, rest)| rest.split_once(']'));
    let entries = list.map_or("", |(list, _)| list).split('"').skip(1).step_by(2);
    entries.map(str::to_owned).collect()
}

fn findings(allowed: &BTreeSet<String>, metadata: &Value) -> Vec<String> {
    let mut findings = Vec::new();
    if allowed.is_empty() {
        findings.push("deny.toml: no list of licences `allow` in `[licenses]`".to_owned());
    }
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let Some(source) = package["source"].as_str() else { continue };
        let name = format!(
            "{} {}",
            package["name"].as_str().unwrap_or("?"),
            package["version"].as_str().unwrap_or("?")
        );
        if !source.starts_with("registry+https://github.com/rust-lang/crates.io-index") {
            findings.push(format!("Cargo.lock: {name} comes from {source}"));
        }
        match package["license"].as_str() {
            None => findings.push(format!("deny.toml: {name} names no licence")),
            Some(licence) if !is_allowed(licence, allowed) => {
                findings.push(format!("deny.toml: the licence of {name} is not allowed: {licence}"));
            }
            Some(_) => {}
        }
    }
    findings
}

/// Whether an SPDX expression (or the older form `MIT/Apache-2.0`) can be met by allowed licences.
fn is_allowed(licence: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = licence.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any(&mut rest, allowed) && rest.is_empty()
}

/// `a OR b`, `AND` binding tighter.
fn any(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    let mut met = all(words, allowed);
    while let Some((&"OR", rest)) = words.split_first() {
        *words = rest;
        met |= all(words, allowed);
    }
    met
}

fn all(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    let mut met = one(words, allowed);
    while let Some((&"AND", rest)) = words.split_first() {
        *words = rest;
        met &= one(words, allowed);
    }
    met
}

/// `id`, `id WITH exception`, `( .. )`
fn one(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    let Some((&first, rest)) = words.split_first() else { return false };
    *words = rest;
    if first == "(" {
        let met = any(words, allowed);
        if let Some((&")", rest)) = words.split_first() {
            *words = rest;
        }
        return met;
    }
    match words {
        [with, exception, rest @ ..] if *with == "WITH" => {
            let whole = format!("{first} WITH {exception}");
            *words = rest;
            allowed.contains(&whole)
        }
        _ => allowed.contains(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> BTreeSet<String> {
        allowed(
            "[graph]\nall = true\n[licenses]\nx = 1\nallow = [\n \"MIT\",\n \"Apache-2.0 WITH LLVM-exception\",\n \"Zlib\"]\n[bans]\n",
        )
    }

    #[test]
    fn the_list_is_read() {
        assert_eq!(list().len(), 3);
        assert!(list().contains("Zlib") && allowed("").is_empty());
    }

    #[test]
    fn expressions_are_met_or_not() {
        for (licence, met) in [
            ("MIT", true),
            ("MIT OR GPL-3.0", true),
            ("GPL-3.0/MIT", true),
            ("MIT AND GPL-3.0", false),
            ("(GPL-3.0 OR MIT) AND Zlib", true),
            ("GPL-3.0 OR MIT AND BSD-2-Clause", false),
            ("Apache-2.0 WITH LLVM-exception OR GPL-2.0", true),
            ("Apache-2.0", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(licence, &list()), met, "{licence}");
        }
    }

    #[test]
    fn packages_without_a_licence_and_of_other_origin_are_found() {
        let registry = "registry+https://github.com/rust-lang/crates.io-index";
        let metadata = serde_json::json!({"packages": [
            {"name": "own", "version": "0.1.0", "source": null, "license": null},
            {"name": "a", "version": "1.0.0", "source": registry, "license": "MIT"},
            {"name": "b", "version": "1.0.0", "source": registry, "license": null},
            {"name": "c", "version": "1.0.0", "source": "git+https://example.org/c", "license": "GPL-3.0"},
        ]});
        let found = findings(&list(), &metadata);
        assert_eq!(found.len(), 3, "{found:?}");
    }
}
