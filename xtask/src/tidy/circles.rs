//! Refuses circular dependencies between the files of a crate: a file that another file uses, directly or indirectly,
//! must not use that file.
//!
//! A file and the files in its folder count as one unit: `a.rs` and `a/b.rs` may use each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::text::code;
use crate::workspace::{File, regex};

/// A module by its path within its crate.
type Module = Vec<String>;

/// The innermost part of a `use` tree, and a path.
static TREE: LazyLock<Regex> = LazyLock::new(|| regex(r"((?:\w+::)*\w+)::\{([^{}]*)\}"));
static PATH: LazyLock<Regex> = LazyLock::new(|| regex(r"(?:^|[^\w:$])((?:crate|super|self)(?:::\w+)+)"));

pub(super) fn check(files: &[File]) -> Vec<String> {
    let mut crates: BTreeMap<&str, BTreeMap<Module, &File>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        if let Some(at) = file.path.find("/src/") {
            let (root, inner) = file.path.split_at(at + "/src/".len());
            crates.entry(root).or_default().insert(module(inner), file);
        }
    }
    let mut findings = Vec::new();
    for (root, files) in crates {
        if let Some(circle) = circle(&files) {
            let names: Vec<&str> = circle.iter().map(|m| &files[*m].path[root.len()..]).collect();
            findings.push(format!("{root}: these files name each other in a circle: {}", names.join(" -> ")));
        }
    }
    findings
}

/// The module of a file of a source folder.
fn module(inner: &str) -> Module {
    let path = inner.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if matches!(path, "lib" | "main") { Vec::new() } else { path.split('/').map(str::to_owned).collect() }
}

/// Modules each of which uses the next one, and the last one the first.
fn circle<'a>(files: &'a BTreeMap<Module, &File>) -> Option<Vec<&'a Module>> {
    let mut edges: BTreeMap<&Module, BTreeSet<Module>> =
        files.iter().map(|(module, file)| (module, named(module, &code(file), files))).collect();
    // A module that uses no remaining module is not in a circle.
    while let Some(end) = edges.iter().find(|(_, named)| named.is_empty()).map(|(module, _)| *module) {
        edges.remove(end);
        edges.values_mut().for_each(|named| named.retain(|other| other != end));
    }
    let mut walk = vec![*edges.keys().next()?];
    loop {
        let (next, _) = edges.get_key_value(edges[walk.last()?].first()?)?;
        if let Some(begin) = walk.iter().position(|module| module == next) {
            let mut circle = walk.split_off(begin);
            let first = (0..circle.len()).min_by_key(|i| circle[*i]).unwrap_or_default();
            circle.rotate_left(first);
            return Some(circle);
        }
        walk.push(next);
    }
}

/// The other modules with files that a text uses, except modules around and within its own, and tests.
fn named(own: &Module, text: &str, files: &BTreeMap<Module, &File>) -> BTreeSet<Module> {
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let file_of =
        |path: Module| (0..=path.len()).rev().map(|n| path[..n].to_vec()).find(|m| files.contains_key(m));
    let apart = |m: &Module| !m.starts_with(own) && !own.starts_with(m);
    paths(own, text).into_iter().filter_map(file_of).filter(apart).collect()
}

/// The paths that begin with `crate`, `super` or `self`, including those of the leaves of `use` trees.
fn paths(own: &Module, text: &str) -> Vec<Module> {
    let mut text = text.to_owned();
    while TREE.is_match(&text) {
        let leaf = |tree: &Captures<'_>, leaf: &str| format!("{}::{}", &tree[1], leaf.trim());
        let leaves = |tree: &Captures<'_>| {
            tree[2].split(',').map(|text| leaf(tree, text)).collect::<Vec<_>>().join(", ")
        };
        text = TREE.replace_all(&text, leaves).into_owned();
    }
    let mut found = Vec::new();
    for path in PATH.captures_iter(&text) {
        let mut module = own.clone();
        for part in path[1].split("::") {
            match part {
                "crate" => module.clear(),
                "super" => drop(module.pop()),
                "self" => {}
                part => module.push(part.to_owned()),
            }
        }
        found.push(module);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| File {
            path: format!("crates/a/src/{path}"),
            text: (*text).to_owned(),
        };
        check(&files.iter().map(file).collect::<Vec<_>>())
    }

    #[test]
    fn circles_are_found() {
        let [found] = &findings(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::{b::{B, C as D}, x};"),
            ("b.rs", "fn f() { super::c::g::<u8>() }"),
            ("c/mod.rs", "use super::a::A;"),
        ])[..] else {
            panic!("one finding")
        };
        assert!(found.ends_with("a.rs -> b.rs -> c/mod.rs"), "{found}");
    }

    #[test]
    fn files_of_one_piece_comments_and_tests_make_none() {
        let one_piece = [("a.rs", "mod b; use b::B;"), ("a/b.rs", "use super::A; use crate::a::C;")];
        assert_eq!(findings(&one_piece), Vec::<String>::new());
        let tests = [
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "// crate::a::A\n\n#[cfg(test)]\nmod tests { use crate::a::A; }"),
        ];
        assert_eq!(findings(&tests), Vec::<String>::new());
        let behind =
            [("a.rs", "\n#[cfg(test)]\nmod tests;\n\nuse crate::b::B;"), ("b.rs", "use crate::a::A;")];
        assert_eq!(findings(&behind).len(), 1);
        let up = [("a/b.rs", "use super::super::c::C;"), ("c.rs", "use crate::a::b::B;")];
        assert_eq!(findings(&up).len(), 1);
    }
}
