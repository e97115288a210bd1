//! `cargo xtask book`: the pages as a site, made by mdBook, and a check of all its links.
//!
//! The pages stay where they are and keep the links that a code forge follows. [`stage`] copies them into a folder that
//! is laid out as the repository, mdBook makes HTML of that, and [`check`] follows every link of the result.

mod check;
mod stage;

use std::process::Command;

use crate::python::TOOLS;
use crate::workspace::root;

/// Builds the site into `target/book/html`, and follows its links.
pub(crate) fn book() -> Result<(), String> {
    let mdbook = TOOLS.program("mdbook")?;
    let folder = root().join("target/book");
    println!("\n== book: {}", folder.join("html").display());
    stage::stage(&folder)?;
    let built = Command::new(&mdbook).arg("build").arg(&folder).output();
    let built = built.map_err(|e| format!("cannot start {}: {e}", mdbook.display()))?;
    let told = String::from_utf8_lossy(&built.stderr);
    if !built.status.success() || told.contains("WARN") {
        return Err(format!("mdBook is not content:\n{told}"));
    }
    let (findings, links) = check::check(&folder.join("html"))?;
    for finding in &findings {
        println!("{finding}");
    }
    println!("{links} links");
    if findings.is_empty() { Ok(()) } else { Err(format!("book: {} links lead nowhere", findings.len())) }
}
