//! All tests of the workspace. Cargo runs one test program after the other, and many of them are busy on one processor
//! only; here as many run side by side as there are processors.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::workspace::{FEATURES, cargo, step};

/// A test program, and the folder of its package, in which it runs.
struct Binary {
    name: String,
    program: PathBuf,
    folder: PathBuf,
}

/// Builds and runs all tests, with those variables, and the examples of the documentation. Each failure is reported
/// when its program ends, and all of them together at the end.
pub(crate) fn run(variables: &[(&str, &str)], without: &str) -> Result<(), String> {
    let binaries = built()?;
    println!("\n== tests: {} programs", binaries.len());
    let start = Instant::now();
    let (todo, failed) = (Mutex::new(VecDeque::from(binaries)), Mutex::new(Vec::new()));
    let slow = Mutex::new(Vec::new());
    let next = || todo.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let work = || {
        while let Some(binary) = next() {
            let start = Instant::now();
            let ran = ran(&binary, variables, without);
            let took = (start.elapsed().as_secs(), binary.name.clone());
            slow.lock().unwrap_or_else(PoisonError::into_inner).push(took);
            if let Err(why) = ran {
                println!("\n{}:\n{why}", binary.name);
                failed.lock().unwrap_or_else(PoisonError::into_inner).push(binary.name);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    println!("== tests: {:.0} s; the slowest: {}", start.elapsed().as_secs_f64(), slowest(slow));
    let mut documented = cargo(&["test", "--workspace", "--doc", "--quiet"]);
    let documented = step("examples of the documentation", documented.args(FEATURES).env_remove(without));
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    match failed.is_empty() {
        true => documented,
        false => Err(format!("tests failed: {}", failed.join(", "))),
    }
}

/// The test programs that took longest, with their seconds.
fn slowest(times: Mutex<Vec<(u64, String)>>) -> String {
    const SHOWN: usize = 12;
    let mut times = times.into_inner().unwrap_or_else(PoisonError::into_inner);
    times.sort_unstable_by(|a, b| b.cmp(a));
    let shown: Vec<String> = times.iter().take(SHOWN).map(|(s, name)| format!("{name} {s}")).collect();
    shown.join(", ")
}

/// Builds all test programs.
fn built() -> Result<Vec<Binary>, String> {
    println!("\n== tests: build");
    let start = Instant::now();
    let mut build = cargo(&["test", "--workspace", "--no-run", "--quiet"]);
    build.args(FEATURES).args(["--message-format", "json-render-diagnostics"]).stderr(Stdio::inherit());
    let output = build.output().map_err(|e| format!("cannot start cargo: {e}"))?;
    println!("== tests: build: {:.0} s", start.elapsed().as_secs_f64());
    if !output.status.success() {
        return Err("the tests do not build".to_owned());
    }
    let found: Vec<Binary> = String::from_utf8_lossy(&output.stdout).lines().filter_map(test).collect();
    if found.is_empty() { Err("cargo names no test program".to_owned()) } else { Ok(found) }
}

/// The test program that a message of cargo names.
fn test(message: &str) -> Option<Binary> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let is_test = message["profile"]["test"].as_bool()?;
    let program = message["executable"].as_str().filter(|_| is_test)?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let package = folder.file_name()?.to_string_lossy();
    let name = format!("{package} {}", message["target"]["name"].as_str()?);
    Some(Binary { name, program: program.into(), folder: folder.to_owned() })
}

/// Runs a test program; the error is what it printed.
fn ran(binary: &Binary, variables: &[(&str, &str)], without: &str) -> Result<(), String> {
    let mut command = Command::new(&binary.program);
    command.arg("--quiet").current_dir(&binary.folder).env("CARGO_MANIFEST_DIR", &binary.folder);
    command.envs(variables.iter().copied()).env_remove(without).stdin(Stdio::null());
    let output = command.output().map_err(|e| format!("cannot start {}: {e}", binary.program.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Err(text(&output.stdout) + &text(&output.stderr) + &output.status.to_string())
}

#[cfg(test)]
mod tests {
    use super::test;

    #[test]
    fn test_programs_are_found_in_messages() {
        let message = |is_test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"{}/Cargo.toml","target":{{"name":"flags"}},"profile":{{"test":{is_test}}},"executable":{executable}}}"#,
                "/w/crates/rml-cli"
            )
        };
        let found = test(&message(true, r#""/w/target/debug/deps/flags-1""#)).unwrap();
        assert_eq!((&*found.name, found.folder.to_str().unwrap()), ("rml-cli flags", "/w/crates/rml-cli"));
        assert!(test(&message(false, r#""/w/target/debug/rml""#)).is_none());
        assert!(test(&message(true, "null")).is_none());
        assert!(test("Finished").is_none());
    }
}
