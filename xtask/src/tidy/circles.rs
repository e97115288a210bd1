//! No circle of files inside a crate: the files that a file names, directly or through others, do not name it.
//!
//! A file and those of the folder that belongs to it are of one piece: `a.rs` and `a/b.rs` may name each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::workspace::File;

/// A module by its path within its crate.
type Module = Vec<String>;

pub(super) fn check(sources: &[File]) -> Vec<String> {
    let mut crates: BTreeMap<&str, BTreeMap<Module, &File>> = BTreeMap::new();
    for file in sources.iter().filter(|file| file.path.ends_with(".rs")) {
        if let Some(at) = file.path.find("src/").filter(|at| *at == 0 || file.path.as_bytes()[at - 1] == b'/')
        {
            let (root, inner) = file.path.split_at(at + "src/".len());
            crates.entry(root).or_default().insert(module(inner), file);
        }
    }
    let mut findings = Vec::new();
    for (root, files) in crates {
        if let Some(circle) = circle(&files) {
            let names: Vec<&str> = circle.iter().map(|m| &files[m].path[root.len()..]).collect();
            findings.push(format!("{root}: these files name each other in a circle: {}", names.join(" -> ")));
        }
    }
    findings
}

/// The module of a file of a source folder.
fn module(inner: &str) -> Module {
    let path = inner.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if matches!(path, "lib" | "main" | "mod") {
        Vec::new()
    } else {
        path.split('/').map(str::to_owned).collect()
    }
}

/// Modules each of which names the next one, and the last one the first.
fn circle(files: &BTreeMap<Module, &File>) -> Option<Vec<Module>> {
    let edges: BTreeMap<&Module, BTreeSet<Module>> =
        files.iter().map(|(module, file)| (module, named(module, &file.text, files))).collect();
    for start in files.keys() {
        let mut from: BTreeMap<&Module, &Module> = BTreeMap::new();
        let mut todo = vec![start];
        while let Some(at) = todo.pop() {
            for next in &edges[at] {
                if next == start {
                    let mut circle = vec![at.clone()];
                    while let Some(before) = from.get(&circle[0]) {
                        circle.insert(0, (*before).clone());
                    }
                    return Some(circle);
                }
                if !from.contains_key(next) {
                    from.insert(next, at);
                    todo.push(next);
                }
            }
        }
    }
    None
}

/// The other modules with files that a text names, but for those around and within its own.
fn named(own: &Module, text: &str, files: &BTreeMap<Module, &File>) -> BTreeSet<Module> {
    let text: String = text
        .split("\n#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default()
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
    let mut paths = Vec::new();
    for word in ["crate::", "super::", "self::"] {
        for (at, _) in text.match_indices(word) {
            let before = text[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '$')) {
                continue;
            }
            let base = if word == "crate::" { Vec::new() } else { own.clone() };
            let at = if word == "super::" { at } else { at + word.len() };
            leaves(&text[at..], &base, &mut paths);
        }
    }
    let file_of =
        |path: Module| (0..=path.len()).rev().map(|n| path[..n].to_vec()).find(|m| files.contains_key(m));
    let apart = |m: &Module| !m.starts_with(own) && !own.starts_with(m);
    paths.into_iter().filter_map(file_of).filter(apart).collect()
}

/// The paths of a `use` tree or an expression at the beginning of `text`. Returns what stands after it.
fn leaves<'t>(text: &'t str, prefix: &[String], found: &mut Vec<Module>) -> &'t str {
    let text = text.trim_start();
    if let Some(mut inner) = text.strip_prefix('{') {
        loop {
            inner = inner.trim_start().trim_start_matches(',').trim_start();
            if inner.is_empty() {
                return inner;
            }
            if let Some(rest) = inner.strip_prefix('}') {
                return rest;
            }
            let rest = leaves(inner, prefix, found);
            // What is no path, such as `as name`, is passed over.
            inner = if rest.len() < inner.len() {
                rest
            } else {
                &inner[inner.chars().next().map_or(0, char::len_utf8)..]
            };
        }
    }
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let mut path = prefix.to_vec();
    match word {
        "" | "self" => {}
        "super" => drop(path.pop()),
        word => path.push(word.to_owned()),
    }
    match rest.strip_prefix("::") {
        Some(inner) if !inner.starts_with('<') => leaves(inner, &path, found),
        _ => {
            found.push(path);
            rest
        }
    }
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
            .into_iter()
            .filter(|finding| finding.starts_with("crates/a/"))
            .collect()
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
