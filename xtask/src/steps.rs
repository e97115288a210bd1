//! The commands: which steps they consist of, run one after the other.

use std::process::Command;
use std::time::Instant;

use crate::workspace::cargo;
use crate::{error_index, tidy};

/// Set while tests run that are to write their expected output instead of comparing it.
const BLESS: &str = "RML_BLESS";

/// Everything that must hold. All steps but the last share their build of the dependencies.
pub(crate) fn test() -> Result<(), String> {
    step("formatting", &mut cargo(&["fmt", "--all", "--check"]))?;
    tidy()?;
    step("clippy", &mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    step(
        "documentation",
        cargo(&["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    step("tests", cargo(&["test", "--workspace", "--quiet"]).env_remove(BLESS))?;
    println!("\nall good");
    Ok(())
}

/// What [`tidy::check`] finds.
pub(crate) fn tidy() -> Result<(), String> {
    println!("\n== tidy");
    let findings = tidy::check()?;
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        n => Err(format!("tidy: {n} finding{}", if n == 1 { "" } else { "s" })),
    }
}

/// Writes the index of diagnostics, and lets the tests write their expected output; they must pass after that.
pub(crate) fn bless() -> Result<(), String> {
    error_index::write()?;
    step("tests, blessing", cargo(&["test", "--workspace", "--quiet"]).env(BLESS, "1"))?;
    step("tests", cargo(&["test", "--workspace", "--quiet"]).env_remove(BLESS))
}

/// Draws the chronograms of the paper's listings.
pub(crate) fn chronograms() -> Result<(), String> {
    let args = ["test", "--package", "rml-cli", "--test", "paper", "--quiet", "chronograms"];
    step("chronograms", cargo(&args).env(BLESS, "1"))
}

fn step(name: &str, command: &mut Command) -> Result<(), String> {
    println!("\n== {name}");
    let start = Instant::now();
    let status =
        command.status().map_err(|e| format!("{name}: cannot start {:?}: {e}", command.get_program()))?;
    println!("== {name}: {:.0} s", start.elapsed().as_secs_f64());
    if status.success() { Ok(()) } else { Err(format!("{name} failed")) }
}
