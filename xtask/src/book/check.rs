//! The links of the built site: each leads to a file of it, and to an element that exists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::tidy::links::resolved;

/// Pages that mdBook makes for itself, and whose links are those of the others.
const OWN: [&str; 2] = ["404.html", "toc.html"];

/// Links that lead nowhere, as `page: what is wrong`, and how many links there are.
pub(super) fn check(site: &Path) -> Result<(Vec<String>, usize), String> {
    let pages = pages(site)?;
    let anchors: BTreeMap<&str, BTreeSet<String>> =
        pages.iter().map(|(path, text)| (path.as_str(), attributes(text, "id").collect())).collect();
    let (mut findings, mut count) = (Vec::new(), 0);
    for (path, text) in pages.iter().filter(|(path, _)| !OWN.contains(&path.as_str())) {
        for target in attributes(text, "href").chain(attributes(text, "src")) {
            if target.contains("://") || target.starts_with("mailto:") || target.starts_with("data:") {
                continue;
            }
            count += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let file = if file.is_empty() { path.clone() } else { resolved(path, file) };
            if !site.join(&file).is_file() {
                findings.push(format!("{path}: the link `{target}` leads to no file"));
            } else if !anchor.is_empty() && anchors.get(&*file).is_some_and(|ids| !ids.contains(anchor)) {
                findings.push(format!("{path}: the link `{target}` leads to no element"));
            }
        }
    }
    Ok((findings, count))
}

/// The pages of the site by their paths in it, without those that show other files as they are.
fn pages(site: &Path) -> Result<Vec<(String, String)>, String> {
    let failed = |path: &Path, e: std::io::Error| format!("cannot read {}: {e}", path.display());
    let (mut found, mut folders) = (Vec::new(), vec![site.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|e| failed(&folder, e))? {
            let path = entry.map_err(|e| failed(&folder, e))?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "html") {
                let text = std::fs::read_to_string(&path).map_err(|e| failed(&path, e))?;
                let name = path.strip_prefix(site).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                found.push((name, text));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The values of an attribute, in the order of the text; scripts are left out.
fn attributes<'a>(text: &'a str, name: &str) -> impl Iterator<Item = String> + use<'a> {
    let begin = format!(" {name}=\"");
    let parts = text.split("<script").enumerate();
    let outside =
        parts.map(
            |(i, part)| if i == 0 { part } else { part.split_once("</script>").map_or("", |(_, rest)| rest) },
        );
    let values =
        outside.flat_map(move |part| part.split(begin.as_str()).skip(1).map(value).collect::<Vec<_>>());
    values.map(|value| value.replace("&amp;", "&"))
}

/// The text up to the quote that ends it.
fn value(rest: &str) -> &str {
    rest.split('"').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(page: &str) -> Vec<String> {
        let site = tempfile::tempdir().unwrap();
        std::fs::create_dir(site.path().join("a")).unwrap();
        std::fs::write(site.path().join("a/page.html"), page).unwrap();
        std::fs::write(site.path().join("b.html"), "<h1 id=\"top\">B</h1>").unwrap();
        std::fs::write(site.path().join("c.svg"), "").unwrap();
        check(site.path()).unwrap().0
    }

    #[test]
    fn links_within_the_site_are_followed() {
        let fine = "<p id=\"here\"><a href=\"#here\">x</a> <a href=\"../b.html#top\">x</a> <img src=\"../c.svg\">\
                    <a href=\"https://example.org/x\">x</a><script>const s = ' href=\"none.html\"';</script>";
        assert_eq!(findings(fine), Vec::<String>::new());
        for wrong in ["#none", "none.html", "../b.html#none", "../d.svg", "../"] {
            let found = findings(&format!("<a href=\"{wrong}\">x</a>"));
            assert_eq!(found.len(), 1, "{wrong}: {found:?}");
            assert!(found[0].starts_with("a/page.html: "), "{found:?}");
        }
    }
}
