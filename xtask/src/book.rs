//! `cargo xtask book`: the pages as a site, made by mdBook, and a check of all its links.
//!
//! The pages stay where they are and keep the links that a code forge follows. [`stage`] copies them into a folder that
//! is laid out as the repository, mdBook makes HTML of that, and every link of the result is followed.

mod stage;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Result, ensure};
use xshell::cmd;

use crate::tidy::links::resolved;
use crate::workspace::{files, regex, root, shell};

/// Pages that mdBook makes for itself, and whose links are those of the others.
const OWN: [&str; 2] = ["404.html", "toc.html"];

/// Has a program in that folder build the site into `target/book/html`, and follows its links.
pub(crate) fn book(programs: &str) -> Result<()> {
    let (mdbook, folder) = (Path::new(programs).join("mdbook"), root().join("target/book"));
    println!("\n== book: {}", folder.join("html").display());
    stage::stage(&folder)?;
    let shell = shell()?;
    let built = cmd!(shell, "{mdbook} build {folder}").quiet().ignore_status().output()?;
    let told = String::from_utf8_lossy(&built.stderr);
    ensure!(built.status.success() && !told.contains("WARN"), "mdBook is not content:\n{told}");
    let (findings, links) = check(&folder.join("html"))?;
    findings.iter().for_each(|finding| println!("{finding}"));
    println!("{links} links");
    ensure!(findings.is_empty(), "book: {} links lead nowhere", findings.len());
    Ok(())
}

/// Links that lead to no file of the site or to no element, as `page: what is wrong`, and how many links there are.
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
}
