//! Checks that the compiler does not make. Each returns its findings as `path: what is wrong`.

mod circles;
pub(crate) mod links;
mod names;
mod operators;
mod packages;
mod rules;
mod test_map;
mod text;
mod words;
mod workflows;

use anyhow::{Result, ensure};

use crate::error_index;
use crate::workspace::{self, root};

/// All findings of all checks.
fn findings() -> Result<Vec<String>> {
    let files = workspace::files(&root(), &[".rs", ".rml", ".md"])?;
    let checks = [
        packages::check()?,
        words::check(&files)?,
        circles::check(&files),
        names::check(&files)?,
        operators::check(&files),
        error_index::check(&files)?,
        links::check(&files),
        rules::check(&files),
        test_map::check(&files)?,
        workflows::check()?,
    ];
    Ok(checks.concat())
}

/// Prints all findings; fails if there are any.
pub(crate) fn tidy() -> Result<()> {
    println!("\n== tidy");
    let findings = findings()?;
    findings.iter().for_each(|finding| println!("{finding}"));
    ensure!(findings.is_empty(), "tidy: findings: {}", findings.len());
    Ok(())
}
