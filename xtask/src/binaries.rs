//! Runs all tests of the workspace. Cargo runs test programs one after the other, and many of them use only one
//! processor; this module runs one test program per processor at a time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use xshell::{Shell, cmd};

use crate::workspace::{cargo, output, shell, step};

/// How many of the slowest programs are listed.
const SHOWN: usize = 12;

/// A test program, and the folder of its package, which is its working folder.
struct Binary {
    name: String,
    program: PathBuf,
    folder: PathBuf,
}

/// Builds and runs the tests that the flags select, with these environment variables, and the examples of the
/// documentation. Each failure is reported when its program ends, and all failures again at the end.
pub(crate) fn run(flags: &[String], variables: &BTreeMap<String, String>) -> Result<()> {
    println!("\n== tests: build");
    let start = Instant::now();
    let (shell, cargo) = (shell()?, cargo());
    let build: Vec<&str> = ["test", "--no-run"].into_iter().chain(flags.iter().map(String::as_str)).collect();
    let binaries: Vec<Binary> = built(&build, &shell)?.iter().filter_map(test).collect();
    let (seconds, n) = (start.elapsed().as_secs_f64(), binaries.len());
    println!("== tests: build: {seconds:.0} s\n\n== tests: {n} programs");
    ensure!(!binaries.is_empty(), "cargo names no test program");
    let start = Instant::now();
    let (todo, done) = (Mutex::new(binaries.iter()), Mutex::new(Vec::new()));
    let work = || {
        let next = || todo.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some(binary) = next() {
            let start = Instant::now();
            let failed =
                ran(binary, variables).inspect_err(|why| println!("\n{}:\n{why}", binary.name)).is_err();
            let result = (start.elapsed().as_secs(), binary.name.as_str(), failed);
            done.lock().unwrap_or_else(PoisonError::into_inner).push(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by(|a, b| b.cmp(a));
    let slowest: Vec<String> = done.iter().take(SHOWN).map(|(s, name, _)| format!("{name} {s}")).collect();
    println!("== tests: {:.0} s; the slowest: {}", start.elapsed().as_secs_f64(), slowest.join(", "));
    let documented = cmd!(shell, "{cargo} test --doc {flags...}");
    let documented = step("examples of the documentation", documented.env_remove("RML_BLESS"));
    let failed: Vec<&str> = done.iter().filter(|(.., failed)| *failed).map(|(_, name, _)| *name).collect();
    ensure!(failed.is_empty(), "tests failed: {}", failed.join(", "));
    documented
}

/// The messages of a cargo call about the artifacts that it builds.
fn built(flags: &[&str], shell: &Shell) -> Result<Vec<Value>> {
    let cargo = cargo();
    let messages =
        cmd!(shell, "{cargo} {flags...} --message-format json-render-diagnostics").quiet().read()?;
    Ok(messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// The only program that a cargo call builds.
pub(crate) fn executable(flags: &[&str], shell: &Shell) -> Result<PathBuf> {
    let program =
        built(flags, shell)?.iter().find_map(|built| built["executable"].as_str().map(PathBuf::from));
    program.context("cargo builds no program")
}

/// The test program in a message, if it is one.
fn test(built: &Value) -> Option<Binary> {
    let program = built["executable"].as_str().filter(|_| built["profile"]["test"] == true)?.into();
    let folder = Path::new(built["manifest_path"].as_str()?).parent()?.to_owned();
    let name = format!("{} {}", folder.file_name()?.to_string_lossy(), built["target"]["name"].as_str()?);
    Some(Binary { name, program, folder })
}

/// Runs a test program; the error is its output.
fn ran(binary: &Binary, variables: &BTreeMap<String, String>) -> Result<()> {
    let Binary { program, folder, .. } = binary;
    let shell = Shell::new()?;
    shell.change_dir(folder);
    let command = cmd!(shell, "{program} --quiet").env("CARGO_MANIFEST_DIR", folder);
    output(command.env_remove("RML_BLESS").envs(variables)).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_found_in_messages() {
        let found = |is_test: bool, executable: Option<&str>| {
            test(&serde_json::json!({
                "manifest_path": "/w/crates/rml-cli/Cargo.toml", "target": {"name": "flags"},
                "profile": {"test": is_test}, "executable": executable,
            }))
        };
        let flags = found(true, Some("/w/target/debug/deps/flags-1")).unwrap();
        assert_eq!((&*flags.name, flags.folder.as_path()), ("rml-cli flags", Path::new("/w/crates/rml-cli")));
        assert!(found(false, Some("/w/target/debug/rml")).is_none() && found(true, None).is_none());
    }
}
