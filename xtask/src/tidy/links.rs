//! Checks the links of the pages: each must lead to an existing file of the repository, and to an existing heading; the
//! same applies to each path in backticks.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use regex::{Captures, Regex};

pub(crate) use super::text::fenced_apart;
use crate::workspace::{File, regex, root};

/// The target of a link, inline or in a definition, or code.
static LINK: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^\[[^\]]+\]: (?<defined>\S+)|`[^`]*`|\]\((?<inline>[^)]*)\)"));
/// A path of the repository in backticks.
static PATH: LazyLock<Regex> =
    LazyLock::new(|| regex(r"`((?:crates|docs|examples|fuzz|std|tests|xtask)/[A-Za-z0-9/._-]*)`"));
static ANCHOR: LazyLock<Regex> = LazyLock::new(|| regex(r#"<a id="([^"]*)""#));

/// Links and paths without an existing target.
pub(super) fn check(files: &[File]) -> Vec<String> {
    let root = root();
    let pages: Vec<&File> = files.iter().filter(|file| file.path.ends_with(".md")).collect();
    pages.iter().flat_map(|page| check_page(page, &pages, &|path| root.join(path).exists())).collect()
}

fn check_page(page: &File, pages: &[&File], exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut findings = Vec::new();
    for (number, line) in text_lines(&page.text) {
        let mut fail = |what: String| findings.push(format!("{}:{number}: {what}", page.path));
        for path in PATH.captures_iter(line).filter(|path| !exists(&path[1])) {
            fail(format!("there is no `{}`", &path[1]));
        }
        for target in targets(line) {
            let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
            let path = if file.is_empty() { page.path.clone() } else { resolved(&page.path, file) };
            let of = pages.iter().find(|other| other.path == path);
            if !exists(&path) {
                fail(format!("the link `{target}` leads to no file"));
            } else if !heading.is_empty() && of.is_some_and(|other| !anchors(&other.text).contains(heading)) {
                fail(format!("the link `{target}` leads to no heading"));
            }
        }
    }
    findings
}

/// The lines outside of fenced blocks, with their numbers.
fn text_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = (1..).zip(fenced_apart(text));
    numbered.filter_map(|(number, (line, is_text))| is_text.then_some((number, line)))
}

/// The line with the targets of its links into the repository changed; text in backticks has no links.
pub(crate) fn with_targets(line: &str, change: &mut dyn FnMut(&str) -> String) -> String {
    let changed = LINK.replace_all(line, |found: &Captures<'_>| {
        let target = found.name("defined").or(found.name("inline"));
        let is_elsewhere = |target: &str| target.contains("://") || target.starts_with("mailto:");
        match target.map(|target| target.as_str()).filter(|target| !is_elsewhere(target)) {
            Some(target) => {
                let (before, after) = found[0].rsplit_once(target).unwrap_or_default();
                format!("{before}{}{after}", change(target))
            }
            None => found[0].to_owned(),
        }
    });
    changed.into_owned()
}

/// The targets of the links of a line that lead into the repository.
pub(crate) fn targets(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    with_targets(line, &mut |target| {
        found.push(target.to_owned());
        String::new()
    });
    found
}

/// The path of a link's target, from the root.
pub(crate) fn resolved(page: &str, target: &str) -> String {
    let mut path = PathBuf::from(page);
    path.pop();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::Normal(name) => path.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    path.to_string_lossy().replace('\\', "/")
}

/// The anchors of a page: those of its headings, and those that it sets explicitly.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, line) in text_lines(page) {
        found.extend(ANCHOR.captures_iter(line).map(|anchor| anchor[1].to_owned()));
        if line.starts_with('#') {
            let title = line.trim_start_matches('#').trim();
            let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            found.insert(kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        let page = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let own = page("docs/a.md", text);
        let other = page("docs/b/c.md", "# The `rml` command: flags\n<a id=\"here\"></a>");
        let exists = |path: &str| ["docs/a.md", "docs/b/c.md", "docs", "std/time.rml"].contains(&path);
        check_page(&own, &[&own, &other], &exists)
    }

    #[test]
    fn links_that_lead_somewhere_are_fine() {
        let text = "# Top\n[a](b/c.md) [b](../std/time.rml) [c](#top) [d](b/c.md#here)\n\
                    [e](b/c.md#the-rml-command-flags) [f](https://x.org/x) `std/time.rml` `docs/<code>.md` `x](y)`\n\
                    ```\n[g](nowhere.md) `std/none`\n```";
        assert_eq!(findings(text), Vec::<String>::new());
    }

    #[test]
    fn targets_are_changed_in_place() {
        let mut change = |target: &str| format!("<{target}>");
        let line = "[`a`](b.md) `[c](d)` ![e](f.svg): [g](https://example.org/h).";
        let changed = with_targets(line, &mut change);
        assert_eq!(changed, "[`a`](<b.md>) `[c](d)` ![e](<f.svg>): [g](https://example.org/h).");
        assert_eq!(with_targets("[`a`]: ../b.rs", &mut change), "[`a`]: <../b.rs>");
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let wrong = ["[a](c.md)", "[a](b/c.md#none)", "[a](#none)", "[a](../../b.md)", "`std/none.rml`"];
        for text in wrong.into_iter().chain(["[`a`]: none.rs"]) {
            let found = findings(text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].starts_with("docs/a.md:1:"), "{found:?}");
        }
    }
}
