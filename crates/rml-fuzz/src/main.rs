//! `rml-fuzz` runs a campaign, or runs failed cases again. `cargo xtask fuzz` calls it.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer tool talks to the developer")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rml_fuzz::campaign::{CampaignReport, CampaignSettings};
use rml_fuzz::{FuzzInput, TARGETS, Target, campaign, root, worker};

const USAGE: &str = "usage: cargo xtask fuzz [--minutes M | --rounds R] [--seed S] [--target T].. [--jobs J]
       cargo xtask fuzz --replay FILE..

  --minutes M  for how long (5); fractions are allowed
  --rounds R   how many turns each target has, instead of a time: the same cases on every machine
  --seed S     which cases; the same seed gives the same cases in the same order, until the time is over (from the clock)
  --target T   that target alone; can be given several times
  --jobs J     how many cases at a time (one per processor)
  --replay     runs the cases in these files, TARGET/NAME.EXT

targets:";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["worker", name, seed, from, to] => work(name, [seed, from, to]),
        ["check", name, file] => target(name).and_then(|t| {
            worker::run_one(t, &FuzzInput::read(Path::new(file))?);
            Ok(())
        }),
        ["--replay", ref files @ ..] if !files.is_empty() => return replay(files),
        _ => match settings(&words) {
            Ok(settings) => return run(&settings),
            Err(why) => {
                eprintln!("{why}\n\n{USAGE}");
                TARGETS.iter().for_each(|t| eprintln!("  {:<12} {}", t.name, t.about));
                return ExitCode::from(2);
            }
        },
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => fail(&why),
    }
}

fn fail(why: &str) -> ExitCode {
    eprintln!("rml-fuzz: {why}");
    ExitCode::FAILURE
}

fn target(name: &str) -> Result<&'static Target, String> {
    TARGETS.iter().find(|t| t.name == name).ok_or_else(|| format!("there is no target `{name}`"))
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no such number"))
}

fn work(name: &str, numbers: [&str; 3]) -> Result<(), String> {
    let [seed, from, to] = numbers.map(number::<u64>);
    worker::run(target(name)?, seed?, from?..to?)
}

fn settings(words: &[&str]) -> Result<CampaignSettings, String> {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |d| d.as_secs());
    let mut settings = CampaignSettings {
        time: Duration::from_secs(300),
        rounds: None,
        seed: clock,
        targets: Vec::new(),
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        folder: std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| root().join("target"), PathBuf::from)
            .join("fuzz-findings"),
    };
    for pair in words.chunks(2) {
        match *pair {
            ["--minutes", m] => {
                let minutes: f64 = number(m)?;
                settings.time = Duration::try_from_secs_f64(60.0 * minutes).map_err(|e| e.to_string())?;
            }
            ["--rounds", r] => {
                settings.rounds = Some(number(r)?);
                settings.time = Duration::from_secs(86_400);
            }
            ["--seed", s] => settings.seed = number(s)?,
            ["--target", name] => settings.targets.push(target(name)?),
            ["--jobs", j] => settings.jobs = number(j)?,
            _ => return Err(format!("`{}` is not understood", pair.join(" "))),
        }
    }
    if settings.targets.is_empty() {
        settings.targets = TARGETS.iter().collect();
    }
    Ok(settings)
}

fn run(settings: &CampaignSettings) -> ExitCode {
    let length = match settings.rounds {
        Some(rounds) => format!("{rounds} rounds"),
        None => format!("{:.1} minutes", settings.time.as_secs_f64() / 60.0),
    };
    println!("seed {}, {length}, {} jobs", settings.seed, settings.jobs);
    let report = match campaign::run(settings, &|line| println!("{line}")) {
        Ok(report) => report,
        Err(why) => return fail(&why),
    };
    show(&report);
    if report.kept.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn show(report: &CampaignReport) {
    println!("{:<12} {:>9} {:>9}", "target", "cases", "a second");
    for (name, count) in &report.counts {
        let rate = count.cases as f64 / count.time.as_secs_f64().max(1e-9);
        println!("{name:<12} {:>9} {rate:>9.1}", count.cases);
    }
    for kept in &report.kept {
        let finding = &kept.finding;
        println!("\n{} {} ({} times): {}", finding.target, finding.kind, kept.times, finding.message);
        println!("  cargo xtask fuzz --replay {}", kept.path.display());
    }
    match report.kept.len() {
        0 => println!("nothing found"),
        n => println!("\n{n} found; CONTRIBUTING.md says what to do with them"),
    }
}

/// Runs cases from files; the name of a file's folder is the target.
fn replay(files: &[&str]) -> ExitCode {
    let mut failed = false;
    for file in files {
        let path = Path::new(file);
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let found = target(&folder).and_then(|t| campaign::replay(t, &FuzzInput::read(path)?));
        match found {
            Ok(None) => println!("{file}: fine"),
            Ok(Some(ref finding)) => println!("{file}: {}: {}", finding.kind, finding.message),
            Err(ref why) => println!("{file}: {why}"),
        }
        failed |= !matches!(found, Ok(None));
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
