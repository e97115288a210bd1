//! `cargo xtask bench --save NAME` and `--compare NAME`: whether this tree is faster or slower than another.
//!
//! The benchmark is saved as a program, not as figures: both programs then take turns on the same machine, within the
//! same minutes.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use xshell::cmd;

use crate::peers::built;
use crate::tables::{measured, median};
use crate::worker::Worker;
use crate::workspace::{root, shell, step};

/// The folder of the saved programs, below the root.
const FOLDER: &str = "target/benches";
/// Pairs of processes for each case, and seconds of a turn.
const ROUNDS: usize = 15;
const SECONDS: f64 = 0.15;
/// Differences that are too small to count: of times, and of instructions.
const OF_TIME: f64 = 0.03;
const OF_INSTRUCTIONS: f64 = 0.005;
/// The event that `perf stat` counts, if the machine has counters: instructions of the process, without the system.
const EVENT: &str = "instructions:u";

/// Saves the benchmark of this tree, or of a commit, under a name.
pub(crate) fn save(name: &str, commit: Option<&str>) -> Result<()> {
    let (to, shell) = (program(name)?, shell()?);
    fs::create_dir_all(root().join(FOLDER))?;
    let from = match commit {
        None => built(&root())?,
        Some(commit) => {
            let tree = root().join(FOLDER).join("tree");
            let remove = || cmd!(shell, "git worktree remove --force {tree}").quiet();
            // Remove a worktree that an earlier call left.
            let _ = remove().ignore_stderr().run();
            step("checkout", cmd!(shell, "git worktree add --quiet --detach {tree} {commit}"))?;
            let found = built(&tree);
            remove().run()?;
            found?
        }
    };
    fs::copy(&from, &to)?;
    println!("saved as {}", to.display());
    Ok(())
}

/// Runs the benchmark of this tree against a saved one; fails if a case is slower.
pub(crate) fn compare(name: &str) -> Result<()> {
    let (old, new) = (program(name)?, program("now")?);
    ensure!(old.exists(), "nothing is saved as `{name}`; `cargo xtask bench --save {name}` does so");
    fs::copy(built(&root())?, &new)?;
    let shell = shell()?;
    let counts = cmd!(shell, "perf stat -x, -e {EVENT} true").quiet().output();
    let counts = counts.is_ok_and(|o| count(&String::from_utf8_lossy(&o.stderr)).is_some());
    let told = if counts { ", instructions within 0.5 %" } else { "; instructions cannot be counted here" };
    println!("\n{ROUNDS} pairs of processes; times within {:.0} % are the same{told}\n", 100.0 * OF_TIME);
    let [old_ms, new_ms] = ["old, ms", "new, ms"];
    println!("{:30} {old_ms:>12} {new_ms:>12}    ratio          interval  instructions", "case");
    let mut slower = Vec::new();
    for told in measured()?.case {
        let (title, job, engine) = (told.title, told.job, told.engine);
        let folder = root().join(FOLDER).display().to_string();
        let words = |program: &Path| {
            [&program.display().to_string(), &job, "--engine", &engine, "--turns", "--folder", &folder]
                .map(str::to_owned)
                .to_vec()
        };
        let commands = [words(&old), words(&new)];
        if !has_job(&commands[0])? {
            println!("{title:30} the saved program does not have this case");
            continue;
        }
        let (verdict, line) = case(&commands, counts)?;
        println!("{title:30} {line} {verdict:?}");
        if verdict == Verdict::Slower {
            slower.push(title);
        }
    }
    ensure!(slower.is_empty(), "slower than `{name}`: {}", slower.join("; "));
    Ok(())
}

/// The path of the saved program with this name.
fn program(name: &str) -> Result<PathBuf> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_plain = !name.is_empty() && !name.starts_with('.') && name.chars().all(plain);
    ensure!(is_plain, "`{name}` is no name; letters, digits, `-`, `_` and `.` make one");
    Ok(root().join(FOLDER).join(format!("peers-{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// Whether a program supports a job; an older one may not.
fn has_job(command: &[String]) -> Result<bool> {
    match started(command) {
        Ok(_) => Ok(true),
        Err(why) if why.to_string().contains("is no job") => Ok(false),
        Err(why) => Err(why),
    }
}

fn started(command: &[String]) -> Result<Worker> {
    Worker::start("the benchmark", Command::new(&command[0]).args(&command[1..]))
}

/// The verdict on a case, and the line that explains it.
fn case(commands: &[Vec<String>; 2], counts: bool) -> Result<(Verdict, String)> {
    // Both do as many steps as the old program does in a turn.
    let steps = started(&commands[0])?.turn(&format!("seconds {SECONDS}"))?["steps"].max(2.0);
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        for i in [round % 2, 1 - round % 2] {
            times[i].push(started(&commands[i])?.turn(&format!("steps {steps}"))?["least_ms"]);
        }
    }
    let time = Ratio::of(&times).context("a step took no time")?;
    let instructions = if counts { instructions(commands, steps)? } else { None };
    let verdict = both(time.verdict(OF_TIME), instructions.map(|ratio| ratio.verdict(OF_INSTRUCTIONS)));
    let [old, new] = times.map(|times| median(&times));
    let interval = format!("{:.3}–{:.3}", time.low, time.high);
    let counted = instructions.map_or("–".to_owned(), |ratio| format!("{:.4}", ratio.median));
    Ok((verdict, format!("{old:12.6} {new:12.6} {:8.3} {interval:>17} {counted:>13}", time.median)))
}

/// The instructions of three pairs of processes that do the same number of steps.
fn instructions(commands: &[Vec<String>; 2], steps: f64) -> Result<Option<Ratio>> {
    let file = root().join(FOLDER).join("count").display().to_string();
    let perf = ["perf", "stat", "-x,", "-e", EVENT, "-o", &file, "--"].map(str::to_owned);
    let mut counts = [Vec::new(), Vec::new()];
    for _ in 0..3 {
        for (command, counts) in commands.iter().zip(&mut counts) {
            started(&[&perf[..], command].concat())?.turn(&format!("steps {steps}"))?;
            counts.push(count(&fs::read_to_string(&file)?).context("perf counts no instructions")?);
        }
    }
    Ok(Ratio::of(&counts))
}

/// The count in a report: the first field of the line of the event.
fn count(report: &str) -> Option<f64> {
    report.lines().find(|l| l.contains(EVENT))?.split(',').next()?.parse().ok()
}

/// The result of pairs of measurements.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Verdict {
    Faster,
    Slower,
    Same,
}

/// The ratio of new to old, and the 95% confidence interval of its median.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Ratio {
    median: f64,
    low: f64,
    high: f64,
}

impl Ratio {
    /// The ratio of pairs (old, new). The interval is between order statistics, so it assumes no distribution of the
    /// noise; for few pairs, it is their whole range.
    fn of([old, new]: &[Vec<f64>; 2]) -> Option<Self> {
        let mut ratios: Vec<f64> = old.iter().zip(new).map(|(old, new)| new / old).collect();
        if ratios.is_empty() || ratios.iter().any(|r| !r.is_finite()) {
            return None;
        }
        ratios.sort_by(f64::total_cmp);
        let n = ratios.len();
        let outside = ((n as f64 - 1.96 * (n as f64).sqrt()) / 2.0).floor().max(0.0) as usize;
        Some(Self { median: ratios[n / 2], low: ratios[outside], high: ratios[n - 1 - outside] })
    }

    /// Slower or faster, if the whole interval is beyond the tolerance: smaller differences cannot be told from effects
    /// of the code's layout.
    fn verdict(self, tolerance: f64) -> Verdict {
        match self {
            _ if self.low > 1.0 + tolerance => Verdict::Slower,
            _ if self.high < 1.0 / (1.0 + tolerance) => Verdict::Faster,
            _ => Verdict::Same,
        }
    }
}

/// Combines two verdicts: time decides; if it shows no difference, instructions do.
fn both(time: Verdict, instructions: Option<Verdict>) -> Verdict {
    if time == Verdict::Same { instructions.unwrap_or(time) } else { time }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Faster, Same, Slower};

    #[test]
    fn names_are_plain_and_reports_are_read() {
        assert!(program("main").unwrap().to_string_lossy().contains("peers-main"));
        assert!(["", "../x", "a/b", ".x", "a b"].iter().all(|name| program(name).is_err()));
        assert!(compare("never-saved").unwrap_err().to_string().contains("--save never-saved"));
        assert_eq!(count("# started on Mon\n\n123456,,instructions:u,1000,100.00,,\n"), Some(123_456.0));
        assert_eq!(count("<not supported>,,instructions:u,0,100.00,,\n"), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_takes_twice_as_long_is_slower_and_one_that_lacks_the_case_is_left_out() {
        let shell = |script: &str| ["sh", "-c", script].map(str::to_owned).to_vec();
        let program = |ms: f64| {
            let turn = format!(r#"{{"median_ms": {ms}, "least_ms": {ms}, "p99_ms": {ms}, "steps": 4}}"#);
            shell(&format!("echo '{{\"ready\": true}}'; read line; echo '{turn}'"))
        };
        for (old, new, verdict) in [(1.0, 2.0, Slower), (2.0, 1.0, Faster), (1.0, 1.01, Same)] {
            assert_eq!(case(&[program(old), program(new)], false).unwrap().0, verdict);
        }
        assert!(has_job(&program(1.0)).unwrap());
        assert!(!has_job(&shell("echo '`x` is no job' >&2; exit 1")).unwrap());
        assert!(has_job(&shell("echo 'out of memory' >&2; exit 1")).is_err());
    }

    #[test]
    fn clear_differences_are_seen_and_small_ones_outliers_and_noise_are_not() {
        let ratio =
            |ratios: &[f64]| Ratio::of(&[vec![2.0; ratios.len()], ratios.iter().map(|r| 2.0 * r).collect()]);
        for (most, few, verdict) in [
            (1.1, 1.1, Slower),
            (0.9, 0.9, Faster),
            (1.02, 1.02, Same),
            (0.98, 0.98, Same),
            (1.0, 9.0, Same),
            (1.2, 0.2, Slower),
        ] {
            let mut ratios = [most; 15];
            ratios[..3].fill(few);
            assert_eq!(ratio(&ratios).unwrap().verdict(0.03), verdict, "{ratios:?}");
        }
        let noise = ratio(&(0..15).map(|i| 0.8 + 0.035 * f64::from(i)).collect::<Vec<_>>()).unwrap();
        assert!(noise.median > 1.03 && noise.low < 1.0 && noise.high > 1.1, "{noise:?}");
        assert_eq!(noise.verdict(0.03), Same);
        // For few pairs, the interval is their whole range.
        assert_eq!(ratio(&[1.5, 1.0, 2.0]), Some(Ratio { median: 1.5, low: 1.0, high: 2.0 }));
        assert_eq!((Ratio::of(&[vec![], vec![]]), Ratio::of(&[vec![0.0], vec![1.0]])), (None, None));
    }

    #[test]
    fn time_decides_and_instructions_where_it_does_not() {
        let both = |time, instructions| super::both(time, Some(instructions));
        assert_eq!([both(Same, Slower), both(Faster, Slower), both(Slower, Same)], [Slower, Faster, Slower]);
    }
}
