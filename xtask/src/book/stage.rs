//! What mdBook reads: a folder laid out as the repository, with the pages that `docs/SUMMARY.md` names and the files
//! that they link.
//!
//! - A page keeps its path, but that `README.md` becomes `index.md`.
//! - A picture keeps its path.
//! - Any other file becomes a page that shows it, with `.html` after its name; a folder becomes one that lists it.
//! - Pages of a folder that the summary does not name follow the `README.md` of that folder, in the order of their
//!   names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::tidy::links::{fenced_apart, resolved, with_targets};
use crate::workspace::{self, root};

/// The page that lists all others.
const SUMMARY: &str = "docs/SUMMARY.md";

/// How names of pictures end.
const PICTURES: [&str; 2] = [".svg", ".png"];

/// Makes the folder again.
pub(super) fn stage(folder: &Path) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("cannot write {}: {e}", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(failed)?;
    }
    let pages: BTreeMap<String, String> =
        workspace::files(&["md"])?.into_iter().map(|file| (file.path, file.text)).collect();
    let summary = complete(pages.get(SUMMARY).ok_or("there is no summary")?, &pages);
    let named = named(&summary);
    let lost = pages.keys().filter(|path| path.starts_with("docs/") && *path != SUMMARY);
    if let Some(lost) = lost.into_iter().find(|path| !named.contains(*path)) {
        return Err(format!("{SUMMARY} does not name {lost}"));
    }
    let own = ["book.toml", "rml.js"].map(|name| Ok((PathBuf::from(name), read(&format!("docs/{name}"))?)));
    let mut files = own.into_iter().collect::<Result<BTreeMap<PathBuf, Vec<u8>>, String>>()?;
    let mut linked = BTreeSet::new();
    let changed = rewritten(&summary, &mut staged);
    files.insert("src/SUMMARY.md".into(), changed.into_bytes());
    for path in &named {
        let text = pages.get(path).ok_or_else(|| format!("{SUMMARY} names {path}, which is no page"))?;
        let changed = rewritten(text, &mut |target| {
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() {
                return target.to_owned();
            }
            let to = resolved(path, file);
            let changed = if is_folder(&to) { format!("{file}/index.html") } else { staged(target) };
            linked.insert(to);
            changed
        });
        files.insert(Path::new("src").join(staged(path)), changed.into_bytes());
    }
    linked.retain(|path| !named.contains(path));
    if let Some(page) = linked.iter().find(|path| path.ends_with(".md")) {
        return Err(format!("{page} is linked, but {SUMMARY} does not name it"));
    }
    for path in &linked {
        let shown = if is_picture(path) {
            read(path)?
        } else if is_folder(path) {
            listing(path, &names(path)?)
        } else {
            listing(path, &String::from_utf8_lossy(&read(path)?))
        };
        let page = if is_folder(path) { format!("{path}/index.html") } else { staged(path) };
        files.insert(Path::new("src").join(page), shown);
    }
    for (path, content) in files {
        let path = folder.join(path);
        path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
        std::fs::write(&path, content).map_err(failed)?;
    }
    Ok(())
}

fn read(path: &str) -> Result<Vec<u8>, String> {
    std::fs::read(root().join(path)).map_err(|e| format!("cannot read {path}: {e}"))
}

/// The summary, with paths from the root of the repository, and the pages of its folders that it does not name.
fn complete(summary: &str, pages: &BTreeMap<String, String>) -> String {
    let from_root = rewritten(summary, &mut |target| resolved(SUMMARY, target));
    let named = named(&from_root);
    let mut result = String::new();
    for line in from_root.lines() {
        result += &format!("{line}\n");
        let targets = named_in(line);
        let Some(folder) = targets.first().and_then(|target| target.strip_suffix("README.md")) else {
            continue;
        };
        let is_further = |path: &str| {
            let inside = path.strip_prefix(folder).is_some_and(|name| !name.contains('/'));
            inside && !named.contains(path)
        };
        for (path, text) in pages.iter().filter(|(path, _)| folder.starts_with("docs/") && is_further(path)) {
            let title = text.lines().next().unwrap_or_default().trim_start_matches('#').trim();
            let indent = line.len() - line.trim_start().len() + 2;
            result += &format!("{:indent$}- [{title}]({path})\n", "");
        }
    }
    result
}

/// The pages that a completed summary names.
fn named(summary: &str) -> BTreeSet<String> {
    summary.lines().flat_map(named_in).collect()
}

fn named_in(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    with_targets(line, &mut |target| {
        found.push(target.to_owned());
        String::new()
    });
    found
}

/// The page with the targets of its links changed.
fn rewritten(text: &str, change: &mut dyn FnMut(&str) -> String) -> String {
    let lines = fenced_apart(text);
    let lines =
        lines.map(|(line, is_text)| if is_text { with_targets(line, change) } else { line.to_owned() });
    lines.map(|line| line + "\n").collect()
}

fn is_picture(path: &str) -> bool {
    PICTURES.iter().any(|end| path.ends_with(end))
}

/// A link to a file of the repository as a link to what stands for it in the site.
fn staged(target: &str) -> String {
    let end = target.find('#').unwrap_or(target.len());
    let (path, anchor) = target.split_at(end);
    match path.strip_suffix("README.md") {
        Some(folder) => format!("{folder}index.md{anchor}"),
        None if path.is_empty() || path.ends_with(".md") || is_picture(path) => target.to_owned(),
        None => format!("{path}.html{anchor}"),
    }
}

fn is_folder(path: &str) -> bool {
    root().join(path).is_dir()
}

/// The names in a folder, a line each.
fn names(path: &str) -> Result<String, String> {
    let entries = std::fs::read_dir(root().join(path)).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.map_err(|e| format!("cannot list {path}: {e}"))?;
    let mut names: Vec<String> =
        entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned() + "\n").collect();
    names.sort();
    Ok(names.concat())
}

/// A page that shows a text.
fn listing(path: &str, text: &str) -> Vec<u8> {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let title = format!("<title>{path}</title><meta charset=\"utf-8\">");
    format!("<!DOCTYPE html>\n<html lang=\"en\"><head>{title}</head>\n<body><h1>{path}</h1>\n<pre>{text}</pre></body></html>\n")
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_what_stands_for_their_files() {
        for (target, wanted) in [
            ("training.md#data", "training.md#data"),
            ("../README.md", "../index.md"),
            ("adr/README.md#top", "adr/index.md#top"),
            ("windows.svg", "windows.svg"),
            ("../examples/digits.rml", "../examples/digits.rml.html"),
        ] {
            assert_eq!(staged(target), wanted);
        }
    }

    #[test]
    fn pages_of_a_folder_follow_its_first_page() {
        let page = |title: &str| format!("# {title}\n");
        let pages = BTreeMap::from([
            ("docs/a/README.md".to_owned(), page("A")),
            ("docs/a/one.md".to_owned(), page("One")),
            ("docs/a/two.md".to_owned(), page("Two")),
        ]);
        let summary = "- [A](a/README.md)\n  - [Named](a/two.md)\n";
        let completed = "- [A](docs/a/README.md)\n  - [One](docs/a/one.md)\n  - [Named](docs/a/two.md)\n";
        assert_eq!(complete(summary, &pages), completed);
    }
}
