//! `cargo xtask book`: the pages as a site, built by mdBook, with a check of all links.
//!
//! The pages keep their paths and their links for a code forge. mdBook reads a folder with the layout of the
//! repository, which contains the pages that `docs/SUMMARY.md` names and the files that they link:
//!
//! - A page keeps its path, except that `README.md` becomes `index.md`.
//! - A picture keeps its path.
//! - Any other file becomes a page that shows it, with `.html` after its name; a folder becomes a page that lists it.
//! - Pages of a folder that are not in the summary follow the `README.md` of the folder, in the order of their names.
//!
//! Every link of the site is checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use fs_err as fs;
use xshell::cmd;

use crate::tidy::links::{fenced_apart, resolved, targets, with_targets};
use crate::workspace::{emptied, files, output, regex, root, shell};

/// Pages that mdBook generates, whose links are those of other pages.
const OWN: [&str; 2] = ["404.html", "toc.html"];

/// Builds the site into `target/book/html` with mdBook from this folder, and checks its links.
pub(crate) fn book(programs: &str) -> Result<()> {
    let (mdbook, folder) = (Path::new(programs).join("mdbook"), root().join("target/book"));
    println!("\n== book: {}", folder.join("html").display());
    stage(&folder)?;
    let shell = shell()?;
    let (_, told) = output(cmd!(shell, "{mdbook} build {folder}"))?;
    ensure!(!told.contains("WARN"), "mdBook is not content:\n{told}");
    let (findings, links) = check(&folder.join("html"))?;
    findings.iter().for_each(|finding| println!("{finding}"));
    println!("{links} links");
    ensure!(findings.is_empty(), "book: {} links lead nowhere", findings.len());
    Ok(())
}

/// The page that lists all other pages.
const SUMMARY: &str = "docs/SUMMARY.md";

/// The extensions of pictures.
const PICTURES: [&str; 2] = [".svg", ".png"];

/// Creates the folder for mdBook, without its previous content.
fn stage(folder: &Path) -> Result<()> {
    let pages = files(&root(), &[".md"])?;
    let pages: BTreeMap<String, String> = pages.into_iter().map(|file| (file.path, file.text)).collect();
    let summary = complete(pages.get(SUMMARY).context("there is no summary")?, &pages);
    let named: BTreeSet<String> = summary.lines().flat_map(targets).collect();
    let lost =
        pages.keys().find(|path| path.starts_with("docs/") && *path != SUMMARY && !named.contains(*path));
    ensure!(lost.is_none(), "{SUMMARY} does not name {lost:?}");
    emptied(folder)?;
    let write = |path: &str, content: &[u8]| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, content)
    };
    for name in ["book.toml", "rml.js"] {
        write(name, &fs::read(root().join("docs").join(name))?)?;
    }
    write("src/SUMMARY.md", rewritten(&summary, &mut staged).as_bytes())?;
    let mut linked = BTreeSet::new();
    for path in &named {
        let text = pages.get(path).with_context(|| format!("{SUMMARY} names {path}, which is no page"))?;
        let changed = rewritten(text, &mut |target| {
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() {
                return target.to_owned();
            }
            let to = resolved(path, file);
            let is_folder = root().join(&to).is_dir();
            linked.insert(to);
            if is_folder { format!("{file}/index.html") } else { staged(target) }
        });
        write(&format!("src/{}", staged(path)), changed.as_bytes())?;
    }
    for path in linked.iter().filter(|path| !named.contains(*path)) {
        let from = root().join(path);
        if path.ends_with(".md") {
            bail!("{path} is linked, but {SUMMARY} does not name it");
        } else if from.is_dir() {
            write(&format!("src/{path}/index.html"), listing(path, &names(&from)?).as_bytes())?;
        } else if is_picture(path) {
            write(&format!("src/{path}"), &fs::read(from)?)?;
        } else {
            let text = String::from_utf8_lossy(&fs::read(from)?).into_owned();
            write(&format!("src/{}", staged(path)), listing(path, &text).as_bytes())?;
        }
    }
    Ok(())
}

/// The summary, with paths relative to the root of the repository, and with the pages of its folders that it does not
/// name.
fn complete(summary: &str, pages: &BTreeMap<String, String>) -> String {
    let from_root = rewritten(summary, &mut |target| resolved(SUMMARY, target));
    let named: BTreeSet<String> = from_root.lines().flat_map(targets).collect();
    let mut result = String::new();
    for line in from_root.lines() {
        result += &format!("{line}\n");
        let targets = targets(line);
        let folder = targets.first().and_then(|target| target.strip_suffix("README.md"));
        let Some(folder) = folder.filter(|folder| folder.starts_with("docs/")) else { continue };
        let is_inside = |path: &str| path.strip_prefix(folder).is_some_and(|name| !name.contains('/'));
        for (path, text) in pages.iter().filter(|(path, _)| is_inside(path) && !named.contains(*path)) {
            let title = text.lines().next().unwrap_or_default().trim_start_matches('#').trim();
            let indent = line.len() - line.trim_start().len() + 2;
            result += &format!("{:indent$}- [{title}]({path})\n", "");
        }
    }
    result
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

/// The link in the site that corresponds to a link to a file of the repository.
fn staged(target: &str) -> String {
    let end = target.find('#').unwrap_or(target.len());
    let (path, anchor) = target.split_at(end);
    match path.strip_suffix("README.md") {
        Some(folder) => format!("{folder}index.md{anchor}"),
        None if path.is_empty() || path.ends_with(".md") || is_picture(path) => target.to_owned(),
        None => format!("{path}.html{anchor}"),
    }
}

/// The names in a folder, one per line.
fn names(folder: &Path) -> Result<String> {
    let names =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned() + "\n"));
    let mut names = names.collect::<Result<Vec<_>>>()?;
    names.sort();
    Ok(names.concat())
}

/// A page that shows a text.
fn listing(path: &str, text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let head = format!("<head><title>{path}</title><meta charset=\"utf-8\"></head>");
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">{head}\n<body><h1>{path}</h1>\n<pre>{text}</pre></body></html>\n"
    )
}

/// Links to a file or an element that the site does not have, as `page: what is wrong`, and the number of links.
fn check(site: &Path) -> Result<(Vec<String>, usize)> {
    let (scripts, id) = (regex("(?s)<script.*?</script>"), regex(r#" id="([^"]*)""#));
    let link = regex(r#" (?:href|src)="([^"]*)""#);
    let elsewhere = regex("://|^mailto:|^data:");
    let pages: BTreeMap<String, String> = files(site, &[".html"])?
        .into_iter()
        .map(|page| (page.path, scripts.replace_all(&page.text, "").replace("&amp;", "&")))
        .collect();
    let ids: BTreeMap<&str, BTreeSet<&str>> = pages
        .iter()
        .map(|(path, text)| (path.as_str(), id.captures_iter(text).map(|c| c.extract::<1>().1[0]).collect()))
        .collect();
    let (mut findings, mut count) = (Vec::new(), 0);
    for (path, text) in pages.iter().filter(|(path, _)| !OWN.contains(&path.as_str())) {
        let targets = link.captures_iter(text).map(|found| found.extract::<1>().1[0]);
        for target in targets.filter(|target| !elsewhere.is_match(target)) {
            count += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { path.clone() } else { resolved(path, file) };
            if !site.join(&file).is_file() {
                findings.push(format!("{path}: the link `{target}` leads to no file"));
            } else if !anchor.is_empty() && ids.get(&*file).is_some_and(|ids| !ids.contains(anchor)) {
                findings.push(format!("{path}: the link `{target}` leads to no element"));
            }
        }
    }
    Ok((findings, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_within_the_site_are_followed() {
        let findings = |page: &str| {
            let site = tempfile::tempdir().unwrap();
            std::fs::create_dir(site.path().join("a")).unwrap();
            for (name, text) in [("a/page.html", page), ("b.html", "<h1 id=\"top\">B</h1>"), ("c.svg", "")] {
                std::fs::write(site.path().join(name), text).unwrap();
            }
            super::check(site.path()).unwrap().0
        };
        let fine = "<p id=\"here\"><a href=\"#here\">x</a> <a href=\"../b.html#top\">x</a> <img src=\"../c.svg\">\
                    <a href=\"https://example.org/x\">x</a><script>const s = ' href=\"none.html\"';</script>";
        assert_eq!(findings(fine), Vec::<String>::new());
        for wrong in ["#none", "none.html", "../b.html#none", "../d.svg", "../"] {
            let found = findings(&format!("<a href=\"{wrong}\">x</a>"));
            assert_eq!(found.len(), 1, "{wrong}: {found:?}");
            assert!(found[0].starts_with("a/page.html: "), "{found:?}");
        }
    }

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
        let pages =
            [("docs/a/README.md", "# A\n"), ("docs/a/one.md", "# One\n"), ("docs/a/two.md", "# Two\n")];
        let pages = pages.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
        let summary = "- [A](a/README.md)\n  - [Named](a/two.md)\n";
        let completed = "- [A](docs/a/README.md)\n  - [One](docs/a/one.md)\n  - [Named](docs/a/two.md)\n";
        assert_eq!(complete(summary, &pages), completed);
    }
}
