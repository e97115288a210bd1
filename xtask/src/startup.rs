//! What the backends cost a program that does not use them: `rml` is built with and without them, and `rml check` is
//! timed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::workspace::{cargo, root};

/// The features that bring backends.
const FEATURES: &str = "xla,torch";
/// What is checked, which loads no backend.
const PROGRAM: &str = "examples/digits.rml";
/// How often each build runs, in turns.
const RUNS: usize = 101;
/// How much larger the build with backends may be, in bytes.
const MAX_SIZE: u64 = 20_000_000;
/// How much later it may end.
const MAX_DELAY: Duration = Duration::from_millis(15);

/// One build of `rml`.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Build {
    /// In bytes.
    size: u64,
    /// The median time of `rml check`, from start to exit.
    time: Duration,
}

/// Builds both, measures them in turns, and prints a table.
pub(crate) fn startup() -> Result<(), String> {
    let plain = build("without", &[])?;
    let with = build("with", &["--features", FEATURES])?;
    let mut times = [Vec::new(), Vec::new()];
    for run in 0..=RUNS {
        for (binary, times) in [&plain, &with].into_iter().zip(&mut times) {
            let time = check(binary)?;
            // The first run reads the file from the disk.
            if run > 0 {
                times.push(time);
            }
        }
    }
    let [plain_times, with_times] = times;
    let plain = Build { size: size(&plain)?, time: median(plain_times) };
    let with = Build { size: size(&with)?, time: median(with_times) };
    print!("{}", table(plain, with));
    verdict(plain, with)
}

/// Builds `rml` for release and keeps a copy under that name.
fn build(name: &str, features: &[&str]) -> Result<PathBuf, String> {
    println!("== rml {name} {FEATURES}");
    let mut command =
        cargo(&["build", "--release", "--package", "rml-cli", "--message-format", "json-render-diagnostics"]);
    let output = command.args(features).stderr(Stdio::inherit()).output();
    let output = output.map_err(|e| format!("cannot start cargo: {e}"))?;
    if !output.status.success() {
        return Err("rml does not build".to_owned());
    }
    let built = executable(&String::from_utf8_lossy(&output.stdout)).ok_or("cargo names no executable")?;
    let copy = built.with_file_name(format!("rml-{name}-backends"));
    std::fs::copy(&built, &copy).map_err(|e| format!("cannot write {}: {e}", copy.display()))?;
    Ok(copy)
}

/// The executable that cargo's messages name.
pub(crate) fn executable(messages: &str) -> Option<PathBuf> {
    let message = |line: &str| serde_json::from_str::<serde_json::Value>(line).ok();
    messages.lines().filter_map(message).find_map(|m| m["executable"].as_str().map(PathBuf::from))
}

/// How long one run takes.
fn check(binary: &Path) -> Result<Duration, String> {
    let mut command = Command::new(binary);
    command.args(["check", PROGRAM]).current_dir(root()).stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status().map_err(|e| format!("cannot start {}: {e}", binary.display()))?;
    let time = start.elapsed();
    if status.success() { Ok(time) } else { Err(format!("{PROGRAM} does not pass the check")) }
}

fn size(binary: &Path) -> Result<u64, String> {
    let metadata = std::fs::metadata(binary);
    metadata.map(|m| m.len()).map_err(|e| format!("cannot read {}: {e}", binary.display()))
}

/// The one in the middle.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn table(plain: Build, with: Build) -> String {
    let row = |what: &str, plain: f64, with: f64, limit: f64| {
        let (difference, ratio) = (with - plain, with / plain);
        format!("{what:22}{plain:10.2}{with:10.2}{difference:+12.2}{limit:10}{ratio:8.3}\n")
    };
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let head = format!(
        "\n{:22}{:>10}{:>10}{:>12}{:>10}{:>8}\n",
        "", "without", "with", "difference", "at most", "ratio"
    );
    head + &row("size of rml, MB", megabytes(plain.size), megabytes(with.size), megabytes(MAX_SIZE))
        + &row("rml check, ms", milliseconds(plain.time), milliseconds(with.time), milliseconds(MAX_DELAY))
}

/// Whether the differences are within their limits.
fn verdict(plain: Build, with: Build) -> Result<(), String> {
    if with.size > plain.size + MAX_SIZE {
        return Err("the build with backends is too large".to_owned());
    }
    if with.time > plain.time + MAX_DELAY {
        return Err("the build with backends starts too late".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_on_the_differences() {
        let plain = Build { size: 6_000_000, time: Duration::from_millis(10) };
        let with = |size, ms| Build { size, time: Duration::from_millis(ms) };
        assert_eq!(verdict(plain, with(26_000_000, 25)), Ok(()));
        assert!(verdict(plain, with(26_000_001, 25)).unwrap_err().contains("too large"));
        assert!(verdict(plain, with(26_000_000, 26)).unwrap_err().contains("too late"));
        let text = table(plain, with(9_000_000, 11));
        assert!(text.contains("6.00") && text.contains("+3.00") && text.contains("1.500"), "{text}");
    }

    #[test]
    fn half_of_the_runs_take_at_most_the_median() {
        assert_eq!(median([5, 1, 9].map(Duration::from_millis).to_vec()), Duration::from_millis(5));
    }

    #[test]
    fn the_executable_is_found_among_messages() {
        let messages = "{\"reason\": \"x\", \"executable\": null}\n{\"executable\": \"/a/rml\"}\nno json\n";
        assert_eq!(executable(messages), Some(PathBuf::from("/a/rml")));
        assert_eq!(executable(""), None);
    }
}
