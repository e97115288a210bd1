//! The cost of the backends for a program that does not use them: builds `rml` with and without them, and times `rml
//! check`.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, ensure};
use fs_err as fs;
use xshell::cmd;

use crate::binaries;
use crate::tables::median;
use crate::workspace::shell;

/// The features that add backends.
const FEATURES: &str = "xla,torch";
/// The program that is checked, which loads no backend.
const PROGRAM: &str = "examples/digits.rml";
/// How often each build runs, in turns.
const RUNS: usize = 101;
/// How much larger the build with backends may be, in megabytes, and how much longer it may take, in milliseconds.
const LIMITS: [f64; 2] = [20.0, 15.0];

/// Builds both, measures them in turns, and prints a table.
pub(crate) fn startup() -> Result<()> {
    let programs = [build("without", &[])?, build("with", &["--features", FEATURES])?];
    let (mut times, shell) = ([Vec::new(), Vec::new()], shell()?);
    for run in 0..=RUNS {
        for (program, times) in programs.iter().zip(&mut times) {
            let start = Instant::now();
            cmd!(shell, "{program} check {PROGRAM}").quiet().ignore_stdout().run()?;
            // The first run is not counted, since it reads the file from disk.
            if run > 0 {
                times.push(1e3 * start.elapsed().as_secs_f64());
            }
        }
    }
    let [without, with] =
        programs.each_ref().map(|program| fs::metadata(program).map(|m| m.len() as f64 / 1e6));
    let sizes = [without?, with?];
    let rows = [("size of rml, MB", sizes), ("rml check, ms", times.map(|times| median(&times)))];
    println!("\n{:22}{:>10}{:>10}{:>12}{:>10}", "", "without", "with", "difference", "at most");
    for ((what, [without, with]), limit) in rows.iter().zip(LIMITS) {
        println!("{what:22}{without:10.2}{with:10.2}{:+12.2}{limit:10}", with - without);
    }
    rows.iter().zip(LIMITS).try_for_each(|((what, values), limit)| verdict(what, *values, limit))
}

/// Builds `rml` for release and keeps a copy with this name.
fn build(name: &str, features: &[&str]) -> Result<PathBuf> {
    println!("== rml {name} {FEATURES}");
    let flags = [&["build", "--release", "--package", "rml-cli"], features].concat();
    let built = binaries::executable(&flags, &shell()?)?;
    let copy = built.with_file_name(format!("rml-{name}-backends"));
    fs::copy(&built, &copy)?;
    Ok(copy)
}

/// Whether a difference is within its limit.
fn verdict(what: &str, [without, with]: [f64; 2], limit: f64) -> Result<()> {
    ensure!(with <= without + limit, "{what}: the build with backends has too much");
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn limits_are_on_the_differences() {
        assert!(super::verdict("size", [6.0, 26.0], 20.0).is_ok());
        assert!(super::verdict("size", [6.0, 26.1], 20.0).unwrap_err().to_string().contains("size"));
    }
}
