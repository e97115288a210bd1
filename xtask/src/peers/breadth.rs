//! `cargo xtask peers breadth`: families of models by this project, JAX and PyTorch, as [`peers`](super::peers) has
//! its jobs. A family is a folder of `benches/breadth`.

use std::path::Path;

use serde_json::{Value, json};

use super::figures::median;
use super::sides::Sides;
use super::{Check, TOLERANCE, agrees, tables};
use crate::page::{self, MEASUREMENTS, machine};
use crate::worker::{Length, Worker};
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

/// The times of one job on some threads: those of this project, and of each of the others.
struct Row {
    family: String,
    size: String,
    title: String,
    threads: usize,
    times: Vec<(&'static str, Vec<f64>)>,
}

impl Row {
    fn time(&self, side: &str) -> Option<f64> {
        self.times.iter().find(|(name, _)| *name == side).map(|(_, times)| median(times))
    }

    /// The time of the best peer by that of this project.
    fn ratio(&self) -> Option<f64> {
        let best = PEERS.iter().filter_map(|side| self.time(side)).reduce(f64::min)?;
        Some(best / self.time("rml")?)
    }

    fn json(&self) -> Value {
        let times: serde_json::Map<String, Value> =
            self.times.iter().map(|(side, times)| ((*side).to_owned(), median(times).into())).collect();
        json!({
            "family": self.family, "size": self.size, "threads": self.threads, "ms": times, "ratio": self.ratio(),
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
    let sides = Sides::build()?;
    let machine = machine();
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    let wanted = |family: &&Family| choice.families.is_empty() || choice.families.contains(&family.name);
    for family in families.iter().filter(wanted) {
        for size in &family.sizes {
            for &threads in &choice.threads {
                match measure(&sides, family, size, threads, &choice) {
                    Ok(row) => rows.push(row),
                    Err(why) => {
                        println!("{}, {size}, threads: {threads}: {why}", family.name);
                        failures.push(format!("{}, {size}, threads: {threads}", family.name));
                    }
                }
            }
        }
    }
    let text = format!("{machine}; rounds: {}.\n{}", rounds(&choice), table(&rows));
    println!("\n{text}");
    let figures = Value::from(rows.iter().map(Row::json).collect::<Vec<_>>());
    let figures = serde_json::to_string_pretty(&figures).map_err(|e| e.to_string())?;
    std::fs::write(root().join(FIGURES), figures).map_err(|e| format!("cannot write {FIGURES}: {e}"))?;
    if !failures.is_empty() {
        return Err(format!("{} failed: {}", failures.len(), failures.join("; ")));
    }
    if choice == (Choice { threads: vec![1, 2], ..Choice::default() }) {
        page::write(MEASUREMENTS, MARK, &text)?;
    }
    Ok(())
}

impl Default for Choice {
    fn default() -> Self {
        Self { families: Vec::new(), threads: vec![1, 2], quick: false, backend: "cpu".to_owned() }
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
    if choice.quick { 2 } else { super::ROUNDS }
}

/// The families in a folder, in the order of their names.
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

/// Has all sides take turns at a family in one size.
fn measure(sides: &Sides, family: &Family, size: &str, threads: usize, choice: &Choice) -> Result<Row, String> {
    let job = format!("breadth:{},{size}", family.name);
    println!("\n== peers: {job}, threads: {threads}");
    // The first side writes what the others read, which get ready beside each other.
    let mut own = sides.own(&choice.backend, &job, threads);
    let mut workers = vec![("rml", Worker::start(&format!("rml, {job}"), own.arg("--turns"))?)];
    let mut started = Vec::new();
    for side in PEERS {
        let mut command = sides.command(side, &job, threads)?;
        started.push((side, Worker::spawn(&format!("{side}, {job}"), command.arg("--turns"))?));
    }
    for (side, mut worker) in started {
        worker.wait()?;
        agrees(Check::Same(family.tolerance), Some(workers[0].1.loss), &format!("{side}, {job}"), worker.loss)?;
        workers.push((side, worker));
    }
    let seconds = if choice.quick { 0.2 } else { super::SECONDS };
    let mut times: Vec<(&str, Vec<f64>)> = workers.iter().map(|(side, _)| (*side, Vec::new())).collect();
    for _ in 0..rounds(choice) {
        for ((_, worker), (_, times)) in workers.iter_mut().zip(&mut times) {
            times.push(worker.turn(Length::Seconds(seconds))?.median);
        }
    }
    for (side, times) in &times {
        println!("{side}: {:.6} ms", median(times));
    }
    Ok(Row { family: family.name.clone(), size: size.to_owned(), title: family.title.clone(), threads, times })
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
            out += &format!("\nGeometric mean of {} ratios, {name}: {mean:.2}; {below} below 1.\n", logs.len());
        }
    }
    out += "\n| milliseconds a step | size | threads | rml | jax | torch | best peer / rml |\n|---|---|---:|---:|---:|---:|---:|\n";
    for (ratio, row) in ordered {
        out += &format!("| {} | {} | {} |", row.title, row.size, row.threads);
        for side in ["rml"].iter().chain(&PEERS) {
            let times = row.times.iter().find(|(name, _)| name == side);
            out += &times.map_or(" – |".to_owned(), |(_, times)| format!(" {} |", tables::cell(times, 1.0)));
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
        let row = |family: &str, rml, jax, torch| Row {
            family: family.to_owned(),
            size: "small".to_owned(),
            title: family.to_owned(),
            threads: 1,
            times: vec![("rml", vec![rml]), ("jax", vec![jax]), ("torch", vec![torch])],
        };
        let text = table(&[row("a", 1.0, 4.0, 8.0), row("b", 2.0, 3.0, 0.5)]);
        assert!(text.contains("Geometric mean of 2 ratios, all: 1.00; 1 below 1."), "{text}");
        assert!(text.find("**0.25**").unwrap() < text.find("**4.00**").unwrap(), "{text}");
    }
}
