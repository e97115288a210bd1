//! `cargo xtask bench --save NAME` and `--compare NAME`: whether this tree is faster or slower than another.
//!
//! What is saved is the benchmark as a program, not its figures: both programs then run in turns on the same machine,
//! in the same minutes.

mod count;
mod verdict;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::peers::{built, median};
use crate::worker::{Length, Worker};
use crate::workspace::{root, step};
use verdict::{Ratio, Verdict};

/// Where programs are kept, below the root.
const FOLDER: &str = "target/benches";
/// What is compared: the name of a row, the job, and the engine.
const CASES: [(&str, &str, &str); 12] = [
    ("compile, 20 scalar states", "compile:20", "cpu"),
    ("step of a stream", "stream:16,64", "cpu"),
    ("window, LSTM", "lstm:8,16,16,32", "cpu"),
    ("window, bidirectional LSTM", "bi_lstm:8,16,16,32", "cpu"),
    ("window, LSTM of one sequence", "lstm:1,64,16,64", "cpu"),
    ("window, attention over a ring", "ring:16,32,32,32", "cpu"),
    ("window, hidden Markov model", "hmm:16,32,32,32", "cpu"),
    ("window, scalar states", "scalars:20,200", "cpu"),
    ("carts", "cartpole:16", "cpu"),
    ("simulator, LSTM", "lstm:4,8,8,16", "sim"),
    ("product of matrices", "product:32,128,512", "cpu"),
    ("tanh", "tanh:4096", "cpu"),
];
/// Pairs of processes for each case, and seconds of a turn.
const ROUNDS: usize = 15;
const SECONDS: f64 = 0.15;
/// Differences that are none: of times, and of instructions.
const OF_TIME: f64 = 0.03;
const OF_INSTRUCTIONS: f64 = 0.005;

/// Keeps the benchmark of this tree, or of a commit, under a name.
pub(crate) fn save(name: &str, commit: Option<&str>) -> Result<(), String> {
    let to = program(name)?;
    std::fs::create_dir_all(root().join(FOLDER)).map_err(|e| format!("cannot make {FOLDER}: {e}"))?;
    let from = match commit {
        None => built(&root())?,
        Some(commit) => {
            let tree = root().join(FOLDER).join("tree");
            let git = |args: &[&str]| {
                let mut git = Command::new("git");
                git.args(args).current_dir(root());
                git
            };
            // One that was left behind is of no use.
            let _ = git(&["worktree", "remove", "--force"]).arg(&tree).output();
            step("checkout", git(&["worktree", "add", "--quiet", "--detach"]).arg(&tree).arg(commit))?;
            let found = built(&tree);
            step("checkout: removal", git(&["worktree", "remove", "--force"]).arg(&tree))?;
            found?
        }
    };
    std::fs::copy(&from, &to).map_err(|e| format!("cannot write {}: {e}", to.display()))?;
    println!("saved as {}", to.display());
    Ok(())
}

/// Runs the benchmark of this tree beside a saved one; fails if a case is slower.
pub(crate) fn compare(name: &str) -> Result<(), String> {
    let old = program(name)?;
    if !old.exists() {
        return Err(format!("nothing is saved as `{name}`; `cargo xtask bench --save {name}` does so"));
    }
    let new = program("now")?;
    let built = built(&root())?;
    std::fs::copy(&built, &new).map_err(|e| format!("cannot write {}: {e}", new.display()))?;
    let counts = count::is_possible();
    println!(
        "\n{ROUNDS} pairs of processes; times within {:.0} % of each other are the same{}\n",
        100.0 * OF_TIME,
        if counts { ", instructions within 0.5 %" } else { "; instructions cannot be counted here" }
    );
    println!(
        "{:30} {:>12} {:>12} {:>8} {:>17} {:>13}",
        "case", "old, ms", "new, ms", "ratio", "interval", "instructions"
    );
    let mut slower = Vec::new();
    for (title, job, engine) in CASES {
        let command = |program: &Path| {
            let mut command = Command::new(program);
            command.args([job, "--engine", engine, "--turns", "--folder"]).arg(root().join(FOLDER));
            command
        };
        let commands = [command(&old), command(&new)];
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
    if slower.is_empty() { Ok(()) } else { Err(format!("slower than `{name}`: {}", slower.join("; "))) }
}

/// Where the program of that name is kept.
fn program(name: &str) -> Result<PathBuf, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.';
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        return Err(format!("`{name}` is no name; letters, digits, `-`, `_` and `.` make one"));
    }
    Ok(root().join(FOLDER).join(format!("peers-{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// Whether a program knows the job that it is started for: an older one may not.
fn has_job(command: &Command) -> Result<bool, String> {
    match started(command) {
        Ok(_) => Ok(true),
        Err(why) if why.contains("is no job") => Ok(false),
        Err(why) => Err(why),
    }
}

fn started(command: &Command) -> Result<Worker, String> {
    let mut copy = Command::new(command.get_program());
    Worker::start("the benchmark", copy.args(command.get_args()))
}

/// The verdict on a case, and the line that says why.
fn case(commands: &[Command; 2], counts: bool) -> Result<(Verdict, String), String> {
    // As many steps as the old one does in a turn.
    let steps = started(&commands[0])?.turn(Length::Seconds(SECONDS))?.steps.max(2);
    let mut pairs = Vec::new();
    for round in 0..ROUNDS {
        let mut times = [0.0; 2];
        for i in [round % 2, 1 - round % 2] {
            times[i] = started(&commands[i])?.turn(Length::Steps(steps))?.least;
        }
        pairs.push((times[0], times[1]));
    }
    let time = Ratio::of(&pairs).ok_or("a step took no time")?;
    let instructions = if counts { instructions(commands, steps)? } else { None };
    let verdict =
        verdict::both(time.verdict(OF_TIME), instructions.map(|ratio| ratio.verdict(OF_INSTRUCTIONS)));
    let [old, new] =
        [0, 1].map(|i| median(&pairs.iter().map(|p| if i == 0 { p.0 } else { p.1 }).collect::<Vec<_>>()));
    let interval = format!("{:.3}–{:.3}", time.low, time.high);
    let counted = instructions.map_or("–".to_owned(), |ratio| format!("{:.4}", ratio.median));
    Ok((verdict, format!("{old:12.6} {new:12.6} {:8.3} {interval:>17} {counted:>13}", time.median)))
}

/// The instructions of three pairs of processes that do the same steps.
fn instructions(commands: &[Command; 2], steps: u64) -> Result<Option<Ratio>, String> {
    let file = root().join(FOLDER).join("count");
    let mut pairs = Vec::new();
    for _ in 0..3 {
        let mut counts = [0.0; 2];
        for (command, count) in commands.iter().zip(&mut counts) {
            let mut worker = Worker::start("the benchmark", &mut count::counted(command, &file))?;
            worker.turn(Length::Steps(steps))?;
            drop(worker);
            let report = std::fs::read_to_string(&file).map_err(|e| format!("no count: {e}"))?;
            *count = count::count(&report).ok_or("perf counts no instructions")?;
        }
        pairs.push((counts[0], counts[1]));
    }
    Ok(Ratio::of(&pairs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        assert!(program("main").unwrap().to_string_lossy().contains("peers-main"));
        for name in ["", "../x", "a/b", ".x", "a b"] {
            assert!(program(name).is_err(), "{name}");
        }
    }

    #[test]
    fn what_is_not_saved_is_not_compared() {
        assert!(compare("never-saved").unwrap_err().contains("--save never-saved"));
    }

    #[cfg(unix)]
    #[test]
    fn a_case_that_the_saved_program_lacks_is_left_out() {
        let command = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        assert_eq!(has_job(&command(r#"echo '{"ready": true}'; read line"#)), Ok(true));
        assert_eq!(has_job(&command("echo '`x` is no job' >&2; exit 1")), Ok(false));
        assert!(has_job(&command("echo 'out of memory' >&2; exit 1")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_takes_twice_as_long_is_slower() {
        let program = |ms: f64| {
            let script = format!(
                r#"echo '{{"ready": true}}'; read line; echo '{{"median_ms": {ms}, "least_ms": {ms}, "p99_ms": {ms}, "steps": 4}}'"#
            );
            let mut command = Command::new("sh");
            command.args(["-c", &script]);
            command
        };
        let verdict = |old, new| case(&[program(old), program(new)], false).unwrap().0;
        assert_eq!(verdict(1.0, 2.0), Verdict::Slower);
        assert_eq!(verdict(2.0, 1.0), Verdict::Faster);
        assert_eq!(verdict(1.0, 1.01), Verdict::Same);
    }
}
