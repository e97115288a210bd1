//! The name of a public type stands for one thing in the workspace.
//!
//! A name that several public types have must be listed in `xtask/data/tidy.toml`, with the one thing that they all
//! are.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use anyhow::{Context as _, Result};
use regex::Regex;
use serde::Deserialize;

use super::text::product;
use crate::workspace::{File, read, regex};

#[derive(Deserialize)]
struct Tables {
    shared_names: BTreeMap<String, String>,
}

/// The declaration of a public type.
static TYPE: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)^\s*pub (?:struct|enum|union|trait|type) (\w+)"));

/// All findings in those files.
pub(super) fn check(files: &[File]) -> Result<Vec<String>> {
    let tables: Tables = toml::from_str(&read("xtask/data/tidy.toml")?).context("xtask/data/tidy.toml")?;
    Ok(found(files, &tables.shared_names))
}

fn found(files: &[File], shared: &BTreeMap<String, String>) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for file in files.iter().filter(|f| f.path.starts_with("crates/") && f.path.contains("/src/")) {
        for declared in TYPE.captures_iter(&product(file)) {
            places.entry(declared[1].to_owned()).or_default().push(&file.path);
        }
    }
    places.retain(|_, files| files.len() > 1);
    let unlisted = places.iter().filter(|(name, _)| !shared.contains_key(*name));
    let several = unlisted.map(|(name, files)| {
        format!("{}: `{name}` is a public type of {}, too; rename one", files[0], files[1..].join(", "))
    });
    let unused = shared.keys().filter(|name| !places.contains_key(*name));
    several
        .chain(
            unused.map(|name| format!("xtask/data/tidy.toml: `{name}` is no name of several public types")),
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_two_types_are_listed() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("crates/a/src/lib.rs", "pub struct Node;\npub(crate) struct Own;"),
            file("crates/b/src/b.rs", "pub enum Node {}\npub struct Own;"),
            file(
                "crates/c/src/c.rs",
                "// pub struct Node;\n#[cfg(test)]\nmod tests {\n    pub struct Own;\n}",
            ),
        ];
        let listed = |name: &str| BTreeMap::from([(name.to_owned(), "a node".to_owned())]);
        let one = "crates/a/src/lib.rs: `Node` is a public type of crates/b/src/b.rs, too; rename one";
        assert_eq!(found(&files, &BTreeMap::new()), [one]);
        assert_eq!(found(&files, &listed("Node")), Vec::<String>::new());
        assert_eq!(found(&files, &listed("Own")).len(), 2);
    }
}
