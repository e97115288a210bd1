//! `cargo xtask peers`: the same jobs by this project, JAX, PyTorch, Keras and a program in C, taking turns on the same
//! processors.

mod breadth;
mod figures;
mod jobs;
mod sides;
mod tables;

use std::process::Stdio;
use std::time::Instant;

pub(crate) use figures::median;
pub(crate) use sides::built;

use crate::page::{self, MEASUREMENTS, PERFORMANCE, machine};
use crate::worker::{Length, Worker};
use crate::workspace::root;
use figures::{Figures, Sample};
use jobs::{Case, Check, Group, Kind};
use sides::Sides;

/// The page with the shortest table.
const FRONT: &str = "README.md";
/// What long windows cost, drawn.
const PICTURE: &str = "docs/windows.svg";
/// The figures, for those who keep them.
pub(crate) const FIGURES: &str = "target/peers/figures.json";
/// How often each side takes a turn, and for how many seconds.
const ROUNDS: usize = 5;
const SECONDS: f64 = 0.4;
/// How far losses may be apart, in proportion.
const TOLERANCE: f64 = 1e-3;

/// Runs the groups that are named, or all, and writes their tables.
pub(crate) fn peers(args: &[String]) -> Result<(), String> {
    if let Some(("breadth", rest)) = args.split_first().map(|(name, rest)| (name.as_str(), rest)) {
        return breadth::breadth(rest);
    }
    let (names, rounds) = parse(args)?;
    let all = jobs::groups();
    if let Some(name) = names.iter().find(|n| all.iter().all(|g| g.name != **n)) {
        let known: Vec<&str> = all.iter().map(|g| g.name).collect();
        return Err(format!("there is no group `{name}`; the groups are {}", known.join(", ")));
    }
    let chosen: Vec<Group> =
        all.into_iter().filter(|g| names.is_empty() || names.iter().any(|n| n == g.name)).collect();
    let sides = Sides::build()?;
    let machine = machine();
    let mut figures = Figures::default();
    for threads in [1, 2] {
        let product = |case: &Case| case.threads == threads;
        if chosen.iter().any(|g| g.kind == Kind::Step && g.cases.iter().any(product)) {
            let case = Case { job: jobs::PRODUCT, title: "", threads, sides: &jobs::PRODUCT_SIDES };
            measure(&sides, &case, Check::Nothing, rounds, &mut figures)?;
        }
    }
    for group in &chosen {
        let start = Instant::now();
        for case in &group.cases {
            if group.kind == Kind::Process {
                processes(&sides, case, &mut figures)?;
            } else {
                measure(&sides, case, group.check, rounds, &mut figures)?;
            }
        }
        println!("== peers: {}: {:.0} s", group.name, start.elapsed().as_secs_f64());
        let text = tables::group(group, &machine, rounds, &figures);
        println!("\n{text}");
        page::write(MEASUREMENTS, &format!("peers: {}", group.name), &text)?;
        if let Some(picture) = tables::picture(group, &figures) {
            let why = |e| format!("cannot write {PICTURE}: {e}");
            std::fs::write(root().join(PICTURE), picture).map_err(why)?;
        }
    }
    for (page, lines) in [(FRONT, tables::front(&figures)), (PERFORMANCE, tables::summary(&figures))] {
        if let Some(lines) = lines {
            page::write(page, "peers", &format!("{machine}:\n\n{lines}"))?;
        }
    }
    figures.write(FIGURES)
}

/// The groups that are named, and the rounds.
fn parse(args: &[String]) -> Result<(Vec<String>, usize), String> {
    let (mut names, mut rounds) = (Vec::new(), ROUNDS);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--rounds" {
            let n = args.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
            rounds = n.ok_or("--rounds needs a number from 1")?;
        } else if arg.starts_with("--") {
            return Err(format!("`{arg}` is no option of peers; there is --rounds N"));
        } else {
            names.push(arg.clone());
        }
    }
    Ok((names, rounds))
}

/// Has all sides of a case take turns.
fn measure(
    sides: &Sides,
    case: &Case,
    check: Check,
    rounds: usize,
    figures: &mut Figures,
) -> Result<(), String> {
    println!("\n== peers: {}, threads: {}", case.job, case.threads);
    let mut workers = Vec::new();
    for side in case.sides {
        if !Sides::has(side)? {
            println!("{side} is left out: it is not set up (`cargo xtask setup`)");
            continue;
        }
        let name = format!("{side}, {}", case.job);
        let mut command = sides.command(side, case.job, case.threads)?;
        let worker = Worker::start(&name, command.arg("--turns"))?;
        agrees(check, workers.first().map(|(_, first): &(&str, Worker)| first.loss), &name, worker.loss)?;
        workers.push((*side, worker));
    }
    for _ in 0..rounds {
        for (side, worker) in &mut workers {
            let turn = worker.turn(Length::Seconds(SECONDS))?;
            figures.add(case.job, case.threads, side, turn, worker.memory);
        }
    }
    for (side, _) in &workers {
        let sample = figures.get(case.job, case.threads, side);
        let median = sample.map_or(f64::NAN, |s| median(&s.medians));
        println!("{side}: {median:.6} ms");
    }
    Ok(())
}

/// Whether a side did what the first one did, as far as its loss tells.
fn agrees(check: Check, first: Option<Option<f64>>, name: &str, loss: Option<f64>) -> Result<(), String> {
    let wrong = match (check, first.flatten(), loss) {
        (Check::Nothing, ..) => false,
        (Check::AtLeast(least), _, loss) => loss.is_none_or(|loss| loss.is_nan() || loss < least),
        (Check::Same(tolerance), Some(first), Some(loss)) => {
            (loss - first).abs().is_nan() || (loss - first).abs() > tolerance * first.abs()
        }
        (Check::Same(_), None, loss) => first.is_some() || loss.is_none(),
        (Check::Same(_), Some(_), None) => true,
    };
    if wrong {
        return Err(format!(
            "{name}: the mean loss of the first steps is {loss:?}; needed is {check:?}, {first:?}"
        ));
    }
    Ok(())
}

/// Runs whole processes, in turns over the seeds.
fn processes(sides: &Sides, case: &Case, figures: &mut Figures) -> Result<(), String> {
    println!("\n== peers: {}", case.job);
    for seed in 0..=jobs::SEEDS {
        for side in case.sides {
            // The first run reads the files from the disk.
            let job = format!("{}:{}", case.job, seed.saturating_sub(1));
            let mut command = sides.command(side, &job, case.threads)?;
            let start = Instant::now();
            let output = command.stderr(Stdio::inherit()).output();
            let seconds = start.elapsed().as_secs_f64();
            let output = output.map_err(|e| format!("cannot start {side}: {e}"))?;
            let text = String::from_utf8_lossy(&output.stdout);
            let line = text.lines().find(|l| l.starts_with('{')).unwrap_or("null");
            let said: serde_json::Value = serde_json::from_str(line).map_err(|e| format!("{side}: {e}"))?;
            if said["reached"] != serde_json::Value::Bool(true) {
                return Err(format!("{side}, {job}: it does not reach the accuracy: {said}"));
            }
            println!("{job} {side}: {seconds:.2} s, {} epochs", said["epochs"]);
            if seed > 0 {
                let sample: &mut Sample = figures.entry(case.job, case.threads, side);
                sample.medians.push(1e3 * seconds);
                sample.epochs.extend(said["epochs"].as_f64());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_have_the_marks() {
        let has = |page: &str, mark: &str| {
            let text = std::fs::read_to_string(root().join(page)).unwrap();
            page::replaced(&text, page, mark, "").is_ok()
        };
        for group in jobs::groups() {
            assert!(has(MEASUREMENTS, &format!("peers: {}", group.name)), "{}", group.name);
        }
        assert!(has(FRONT, "peers") && has(PERFORMANCE, "peers"));
    }

    #[test]
    fn groups_and_rounds_are_read() {
        let parse = |text: &str| parse(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(parse("lstm --rounds 2 stream"), Ok((vec!["lstm".to_owned(), "stream".to_owned()], 2)));
        assert_eq!(parse(""), Ok((vec![], ROUNDS)));
        assert!(parse("--rounds").is_err() && parse("--rounds 0").is_err() && parse("--fast").is_err());
    }

    #[test]
    fn losses_must_agree() {
        let same =
            |first: Option<f64>, loss| agrees(Check::Same(TOLERANCE), first.map(Some), "", loss).is_ok();
        assert!(same(None, Some(2.0)) && same(Some(2.0), Some(2.0001)));
        assert!(!same(Some(2.0), Some(2.1)) && !same(Some(2.0), Some(f64::NAN)) && !same(Some(2.0), None));
        assert!(!same(None, None));
        let above = |loss| agrees(Check::AtLeast(60.0), None, "", loss).is_ok();
        assert!(above(Some(60.0)) && !above(Some(59.0)) && !above(None));
        assert!(agrees(Check::Nothing, None, "", None).is_ok());
    }
}
