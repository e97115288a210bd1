//! `cargo xtask peers breadth`: families of models by this project, JAX and PyTorch, as [`peers`](super::peers) has
//! its jobs. A family is a folder of `benches/breadth`.

use std::path::Path;

use serde_json::{Value, json};

use super::figures::median;
use super::sides::Sides;
use super::{Check, TOLERANCE, agrees, tables};
use crate::page::{self, MEASUREMENTS, machine};
use crate::worker::{Length, Turn, Worker};
use crate::workspace::root;

const FAMILIES: &str = "benches/breadth";
const FIGURES: &str = "target/peers/breadth.json";
const MARK: &str = "peers: breadth";
const PEERS: [&str; 2] = ["jax", "torch"];

/// What is measured, and how.
#[derive(PartialEq, Debug)]
struct Choice {
    /// Empty: all families.
    families: Vec<String>,
    threads: Vec<usize>,
    quick: bool,
    backend: String,
}

/// A family as its table tells it.
struct Family {
    name: String,
    title: String,
    sizes: Vec<String>,
    tolerance: f64,
}

/// A family in one size.
struct Job<'a> {
    family: &'a Family,
    size: &'a str,
}

impl Family {
    fn jobs(&self) -> Vec<Job<'_>> {
        self.sizes.iter().map(|size| Job { family: self, size }).collect()
    }
}

impl Job<'_> {
    fn name(&self) -> String {
        format!("breadth:{},{}", self.family.name, self.size)
    }
}

/// The times of one job on some threads: those of this project, and of each of the others.
struct Row {
    family: String,
    size: String,
    title: String,
    threads: usize,
    turns: Vec<(&'static str, Vec<Turn>)>,
}

impl Row {
    /// The medians of the turns of a side.
    fn medians(&self, side: &str) -> Option<Vec<f64>> {
        let (_, turns) = self.turns.iter().find(|(name, _)| *name == side)?;
        Some(turns.iter().map(|turn| turn.median).collect())
    }

    fn time(&self, side: &str) -> Option<f64> {
        self.medians(side).map(|medians| median(&medians))
    }

    /// The time of the best peer by that of this project.
    fn ratio(&self) -> Option<f64> {
        let best = PEERS.iter().filter_map(|side| self.time(side)).reduce(f64::min)?;
        Some(best / self.time("rml")?)
    }

    /// Medians, least times, and times on processors, in milliseconds. The last tell more where other work runs beside.
    fn json(&self) -> Value {
        let least = |turns: &[Turn]| turns.iter().map(|turn| turn.least).fold(f64::INFINITY, f64::min);
        let processor =
            |turns: &[Turn]| median(&turns.iter().filter_map(|t| t.processor).collect::<Vec<_>>());
        let of = |time: &dyn Fn(&str, &[Turn]) -> Value| -> serde_json::Map<String, Value> {
            self.turns.iter().map(|(side, turns)| ((*side).to_owned(), time(side, turns))).collect()
        };
        json!({
            "family": self.family,
            "size": self.size,
            "threads": self.threads,
            "median_ms": of(&|side, _| self.time(side).into()),
            "least_ms": of(&|_, turns| least(turns).into()),
            "processor_ms": of(&|_, turns| processor(turns).into()),
            "ratio": self.ratio(),
        })
    }
}

/// Runs the families that are chosen, prints their table and writes it, whole ones into the page, too.
pub(super) fn breadth(args: &[String]) -> Result<(), String> {
    let choice = parse(args)?;
    let families = families(&root().join(FAMILIES))?;
    if let Some(name) = choice.families.iter().find(|name| families.iter().all(|f| f.name != **name)) {
        return Err(format!("there is no family `{name}` in {FAMILIES}"));
    }
    let wanted = |family: &&Family| choice.families.is_empty() || choice.families.contains(&family.name);
    let jobs: Vec<Job<'_>> = families.iter().filter(wanted).flat_map(Family::jobs).collect();
    let sides = Sides::build()?;
    let machine = machine();
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for &threads in &choice.threads {
        let mut session = None;
        for (i, job) in jobs.iter().enumerate() {
            println!("\n== peers: {}, threads: {threads}", job.name());
            match measure(&sides, &mut session, &jobs[i..], threads, &choice) {
                Ok(row) => {
                    println!("best peer / rml: {:.2}", row.ratio().unwrap_or(f64::NAN));
                    rows.push(row);
                    write(&rows)?;
                }
                Err(why) => {
                    println!("{why}");
                    failures.push(format!("{}, threads: {threads}", job.name()));
                }
            }
        }
    }
    let text = format!("{machine}; rounds: {}.\n{}", rounds(&choice), table(&rows));
    println!("\n{text}");
    if !failures.is_empty() {
        return Err(format!("{} failed: {}", failures.len(), failures.join("; ")));
    }
    if choice == Choice::default() {
        page::write(MEASUREMENTS, MARK, &text)?;
    }
    Ok(())
}

/// Writes the figures so far.
fn write(rows: &[Row]) -> Result<(), String> {
    let figures = Value::from(rows.iter().map(Row::json).collect::<Vec<_>>());
    let figures = serde_json::to_string_pretty(&figures).map_err(|e| e.to_string())?;
    std::fs::write(root().join(FIGURES), figures).map_err(|e| format!("cannot write {FIGURES}: {e}"))
}

impl Default for Choice {
    fn default() -> Self {
        Self { families: Vec::new(), threads: vec![1, 2], quick: false, backend: "native".to_owned() }
    }
}

fn parse(args: &[String]) -> Result<Choice, String> {
    let mut choice = Choice::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().cloned().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--family" => choice.families.push(value()?),
            "--threads" => {
                let n = value()?.parse().ok().filter(|n| *n > 0);
                choice.threads = vec![n.ok_or("--threads needs a number from 1")?];
            }
            "--backend" => choice.backend = value()?,
            "--quick" => choice.quick = true,
            _ => {
                let known = "--family NAME, --threads N, --backend NAME and --quick";
                return Err(format!("`{arg}` is no option of peers breadth; there are {known}"));
            }
        }
    }
    Ok(choice)
}

/// How often each side takes a turn.
fn rounds(choice: &Choice) -> usize {
    if choice.quick { 3 } else { super::ROUNDS }
}

/// The families in a folder, sorted by name.
fn families(folder: &Path) -> Result<Vec<Family>, String> {
    let why = |e| format!("cannot list {}: {e}", folder.display());
    let mut families = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(why)? {
        let path = entry.map_err(why)?.path();
        let Ok(text) = std::fs::read_to_string(path.join("family.json")) else { continue };
        let table: Value = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let sizes = table["sizes"].as_object().ok_or_else(|| format!("{name} has no sizes"))?;
        let mut sizes: Vec<String> = sizes.keys().cloned().collect();
        sizes.sort_by_key(|size| size == "large");
        let title = table["title"].as_str().unwrap_or(&name).to_owned();
        let tolerance = table["tolerance"].as_f64().unwrap_or(TOLERANCE);
        families.push(Family { name, title, sizes, tolerance });
    }
    families.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(families)
}

/// The processes of all sides, each of which does the remaining jobs one after the other.
struct Session {
    own: Worker,
    peers: Vec<(&'static str, Worker)>,
}

impl Session {
    fn start(sides: &Sides, jobs: &[Job<'_>], threads: usize, backend: &str) -> Result<Self, String> {
        let names: Vec<String> = jobs.iter().map(Job::name).collect();
        let first = names.first().ok_or("no job")?;
        let mut own = sides.own(backend, first, threads);
        // The first side writes what the others read, which get ready beside each other.
        let own = Worker::start("rml", own.args(&names[1..]).arg("--turns"))?;
        let mut peers = Vec::new();
        for side in PEERS {
            let mut command = sides.command(side, first, threads)?;
            peers.push((side, Worker::spawn(side, command.args(&names[1..]).arg("--turns"))?));
        }
        for (_, worker) in &mut peers {
            worker.wait()?;
        }
        Ok(Self { own, peers })
    }

    /// Goes to the next job.
    fn next(&mut self) -> Result<(), String> {
        self.own.next()?;
        for (_, worker) in &mut self.peers {
            worker.skip()?;
        }
        self.peers.iter_mut().try_for_each(|(_, worker)| worker.wait())
    }
}

/// Has all sides take turns at the first of the remaining jobs. A session that fails ends, and the next job starts
/// another.
fn measure(
    sides: &Sides,
    session: &mut Option<Session>,
    jobs: &[Job<'_>],
    threads: usize,
    choice: &Choice,
) -> Result<Row, String> {
    let mut running = match session.take() {
        Some(mut running) => {
            running.next()?;
            running
        }
        None => Session::start(sides, jobs, threads, &choice.backend)?,
    };
    let job = &jobs[0];
    let seconds = if choice.quick { 0.2 } else { super::SECONDS };
    let mut turns = vec![("rml", Vec::new())];
    turns.extend(PEERS.map(|side| (side, Vec::new())));
    for _ in 0..rounds(choice) {
        let workers =
            std::iter::once(&mut running.own).chain(running.peers.iter_mut().map(|(_, worker)| worker));
        for (worker, (_, turns)) in workers.zip(&mut turns) {
            turns.push(worker.turn(Length::Seconds(seconds))?);
        }
    }
    let row = Row {
        family: job.family.name.clone(),
        size: job.size.to_owned(),
        title: job.family.title.clone(),
        threads,
        turns,
    };
    for (side, _) in &row.turns {
        println!("{side}: {:.6} ms", row.time(side).unwrap_or(f64::NAN));
    }
    let running = session.insert(running);
    for (side, worker) in &running.peers {
        agrees(Check::Same(job.family.tolerance), Some(running.own.loss), side, worker.loss)?;
    }
    Ok(row)
}

/// The ratios in order, the least first, and their geometric mean.
fn table(rows: &[Row]) -> String {
    let mut ordered: Vec<(f64, &Row)> = rows.iter().filter_map(|row| Some((row.ratio()?, row))).collect();
    ordered.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut out = String::new();
    for (name, wanted) in [("all", None), ("one thread", Some(1)), ("two threads", Some(2))] {
        let chosen = ordered.iter().filter(|(_, row)| wanted.is_none_or(|n| row.threads == n));
        let logs: Vec<f64> = chosen.map(|(ratio, _)| ratio.ln()).collect();
        if !logs.is_empty() {
            let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
            let below = logs.iter().filter(|log| **log < 0.0).count();
            out +=
                &format!("\nGeometric mean of {} ratios, {name}: {mean:.2}; {below} below 1.\n", logs.len());
        }
    }
    out += "\n| milliseconds a step | size | threads | rml | jax | torch | best peer / rml |\n";
    out += "|---|---|---:|---:|---:|---:|---:|\n";
    for (ratio, row) in ordered {
        out += &format!("| {} | {} | {} |", row.title, row.size, row.threads);
        for side in ["rml"].iter().chain(&PEERS) {
            let medians = row.medians(side);
            out += &medians.map_or(" – |".to_owned(), |times| format!(" {} |", tables::cell(&times, 1.0)));
        }
        out += &format!(" **{ratio:.2}** |\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let parse = |text: &str| parse(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(parse(""), Ok(Choice::default()));
        let some = parse("--family hmm --family mlp --threads 1 --quick --backend xla").unwrap();
        assert_eq!((some.families, some.threads), (vec!["hmm".to_owned(), "mlp".to_owned()], vec![1]));
        assert!(some.quick && some.backend == "xla");
        assert!(parse("--family").is_err() && parse("--threads 0").is_err() && parse("--fast").is_err());
    }

    #[test]
    fn families_have_titles_and_sizes() {
        let families = families(&root().join(FAMILIES)).unwrap();
        assert!(families.len() >= 24);
        for family in families {
            assert!(family.title != family.name && family.sizes.len() >= 2, "{}", family.name);
        }
    }

    #[test]
    fn the_least_ratio_comes_first() {
        let turn =
            |ms| vec![Turn { median: ms, least: ms, p99: ms, steps: 1, processor: None, memory: None }];
        let row = |family: &str, rml, jax, torch| Row {
            family: family.to_owned(),
            size: "small".to_owned(),
            title: family.to_owned(),
            threads: 1,
            turns: vec![("rml", turn(rml)), ("jax", turn(jax)), ("torch", turn(torch))],
        };
        let text = table(&[row("a", 1.0, 4.0, 8.0), row("b", 2.0, 3.0, 0.5)]);
        assert!(text.contains("Geometric mean of 2 ratios, all: 1.00; 1 below 1."), "{text}");
        assert!(text.find("**0.25**").unwrap() < text.find("**4.00**").unwrap(), "{text}");
    }
}
