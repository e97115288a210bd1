//! The links of the pages: each leads to a file of the repository, and to a heading that exists; so does each path in
//! code marks.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::workspace::{self, File};

/// The folders that a path in code marks can begin with.
const FOLDERS: &[&str] = &["crates/", "docs/", "examples/", "fuzz/", "std/", "tests/", "xtask/"];

/// Links and paths that lead nowhere.
pub(crate) fn check() -> Result<Vec<String>, String> {
    let pages = workspace::files(&["md"])?;
    let root = workspace::root();
    let exists = |path: &str| root.join(path).exists();
    Ok(pages.iter().flat_map(|page| check_page(page, &pages, &exists)).collect())
}

fn check_page(page: &File, pages: &[File], exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut findings = Vec::new();
    for (number, line) in text_lines(&page.text) {
        let mut fail = |what: String| findings.push(format!("{}:{number}: {what}", page.path));
        for path in line.split('`').skip(1).step_by(2).filter(|path| is_path(path)) {
            if !exists(path) {
                fail(format!("there is no `{path}`"));
            }
        }
        for target in links(line) {
            let target = target.as_str();
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { page.path.clone() } else { resolved(&page.path, file) };
            if !exists(&path) {
                fail(format!("the link `{target}` leads to no file"));
                continue;
            }
            let of = pages.iter().find(|other| other.path == path);
            if !heading.is_empty() && of.is_some_and(|other| !anchors(&other.text).contains(heading)) {
                fail(format!("the link `{target}` leads to no heading"));
            }
        }
    }
    findings
}

/// The lines outside of fenced blocks, with their numbers.
fn text_lines(text: &str) -> Vec<(usize, &str)> {
    let numbered = (1..).zip(fenced_apart(text));
    numbered.filter_map(|(number, (line, is_text))| is_text.then_some((number, line))).collect()
}

/// All lines, and whether they stand outside of fenced blocks.
pub(crate) fn fenced_apart(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut fenced = false;
    text.lines().map(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        (line, !fenced && !is_fence)
    })
}

/// The line with the targets of its links into the repository changed; what stands in code marks has none.
pub(crate) fn with_targets(line: &str, change: &mut dyn FnMut(&str) -> String) -> String {
    let mut local = |target: &str| {
        let elsewhere = target.contains("://") || target.starts_with("mailto:");
        if elsewhere { target.to_owned() } else { change(target) }
    };
    if line.starts_with('[')
        && let Some((label, target)) = line.split_once("]: ")
    {
        return format!("{label}]: {}", local(target));
    }
    let mut in_text = |part: &str| {
        let mut rest = part.split("](");
        let mut changed = rest.next().unwrap_or_default().to_owned();
        for link in rest {
            match link.split_once(')') {
                Some((target, behind)) => changed += &format!("]({}){behind}", local(target)),
                None => changed += &format!("]({link}"),
            }
        }
        changed
    };
    let parts = line.split('`').enumerate();
    let parts = parts.map(|(i, part)| if i % 2 == 0 { in_text(part) } else { part.to_owned() });
    parts.collect::<Vec<_>>().join("`")
}

/// Whether a text in code marks names a file or folder of the repository.
fn is_path(text: &str) -> bool {
    FOLDERS.iter().any(|folder| text.starts_with(folder))
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
}

/// The targets of the links of a line that lead into the repository.
fn links(line: &str) -> Vec<String> {
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
            Component::ParentDir => {
                path.pop();
            }
            Component::Normal(name) => path.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    path.to_string_lossy().replace('\\', "/")
}

/// What links can name in a page: its headings, as they are turned into anchors, and anchors that it sets.
fn anchors(page: &str) -> BTreeSet<String> {
    let lines = text_lines(page);
    let headings = lines.iter().filter_map(|(_, line)| line.strip_prefix('#')).map(|rest| {
        let title = rest.trim_start_matches('#').trim();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
    });
    let set = lines.iter().flat_map(|(_, line)| line.split("<a id=\"").skip(1));
    headings.chain(set.filter_map(|rest| rest.split('"').next()).map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        let page = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let pages =
            [page("docs/a.md", text), page("docs/b/c.md", "# The `rml` command: flags\n<a id=\"here\"></a>")];
        let exists = |path: &str| ["docs/a.md", "docs/b/c.md", "docs", "std/time.rml"].contains(&path);
        check_page(&pages[0], &pages, &exists)
    }

    #[test]
    fn links_that_lead_somewhere_are_fine() {
        let text = "# Top\n[a](b/c.md) [b](../std/time.rml) [c](#top) [d](b/c.md#here) [e](b/c.md#the-rml-command-flags)\n\
                    [f](https://example.org/x) `std/time.rml` `docs/<code>.md` `x](y)`\n```\n[g](nowhere.md) `std/none`\n```";
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
        for text in [
            "[a](c.md)",
            "[a](b/c.md#none)",
            "[a](#none)",
            "[a](../../b.md)",
            "`std/none.rml`",
            "[`a`]: none.rs",
        ] {
            let found = findings(text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].starts_with("docs/a.md:1:"), "{found:?}");
        }
    }
}
