//! The links of the pages: each leads to a file of the repository, and to a heading that is there; so does each path in code marks.

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
        let (text, code) = code_apart(line);
        for path in code.iter().filter(|path| is_path(path)) {
            if !exists(path) {
                fail(format!("there is no `{path}`"));
            }
        }
        for target in links(&text) {
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
    let mut fenced = false;
    let mut outside = |line: &str| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        !fenced && !is_fence
    };
    (1..).zip(text.lines()).filter(|(_, line)| outside(line)).collect()
}

/// The line without what stands in code marks, and what stands there.
fn code_apart(line: &str) -> (String, Vec<&str>) {
    let parts: Vec<&str> = line.split('`').collect();
    let text = parts.iter().step_by(2).copied().collect();
    (text, parts.into_iter().skip(1).step_by(2).collect())
}

/// Whether a text in code marks names a file or folder of the repository.
fn is_path(text: &str) -> bool {
    FOLDERS.iter().any(|folder| text.starts_with(folder))
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
}

/// The targets of the links of a line that lead into the repository.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:")).collect()
}

/// The path of a link's target, from the root.
fn resolved(page: &str, target: &str) -> String {
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
    fn links_that_lead_nowhere_are_found() {
        for text in ["[a](c.md)", "[a](b/c.md#none)", "[a](#none)", "[a](../../b.md)", "`std/none.rml`"] {
            let found = findings(text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].starts_with("docs/a.md:1:"), "{found:?}");
        }
    }
}
