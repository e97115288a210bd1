//! `cargo xtask book`: the pages as a site, made by mdBook, and a check of all its links.
//!
//! The pages stay where they are and keep the links that a code forge follows. [`stage`] copies them into a folder that
//! is laid out as the repository, mdBook makes HTML of that, and [`check`] follows every link of the result.

mod check;
mod stage;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::setup;
use crate::workspace::{cargo, root, step};

/// The version of mdBook.
const VERSION: &str = "0.5.4";

/// Builds the site into `target/book/html`, and follows its links.
pub(crate) fn book() -> Result<(), String> {
    let mdbook = installed()?;
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

/// mdBook in the cache folder, where cargo builds it once.
fn installed() -> Result<PathBuf, String> {
    let cache = setup::cache_folder()?;
    let _lock = setup::lock(&cache, "book")?;
    let folder = cache.join("book");
    let program = folder.join("bin/mdbook");
    if has_version(&program) {
        return Ok(program);
    }
    println!("\n== book: mdBook {VERSION} is built into {}", folder.display());
    let mut install = cargo(&["install", "mdbook", "--version", VERSION, "--locked", "--quiet", "--force"]);
    // what it builds on the way is not needed again
    let build = root().join("target/mdbook");
    install.args(["--no-default-features", "--features", "search", "--root"]).arg(&folder);
    step("book: mdBook", install.arg("--target-dir").arg(&build))?;
    std::fs::remove_dir_all(&build).map_err(|e| format!("cannot remove {}: {e}", build.display()))?;
    Ok(program)
}

fn has_version(program: &Path) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|found| String::from_utf8_lossy(&found.stdout).trim() == format!("mdbook v{VERSION}"))
}
