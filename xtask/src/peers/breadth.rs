//! `cargo xtask peers breadth`: families of models in this project, JAX and PyTorch, measured like the jobs of
//! [`peers`](super::peers). A family is a folder of `benches/breadth`. A process does all jobs of its side, one after
//! the other.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::{ROUNDS, Run, SECONDS};
use crate::tables::{self, Figures, Group, MEASUREMENTS, Row, Table, machine, measured};
use crate::workspace::{files, root};

const FAMILIES: &str = "benches/breadth";
const FIGURES: &str = "target/peers/breadth.json";

/// The selection of measurements, and their settings.
#[derive(Args, Debug)]
pub(crate) struct Choice {
    /// A family of benches/breadth, once for each; if none is named, all
    #[arg(long)]
    family: Vec<String>,
    /// How many threads [default: one, and then two]
    #[arg(long)]
    threads: Option<usize>,
    /// Fewer and shorter turns
    #[arg(long)]
    quick: bool,
    /// The backend of rml
    #[arg(long, default_value = "native")]
    backend: String,
}

/// A family as described by its table.
#[derive(Deserialize)]
struct Family {
    title: String,
    sizes: BTreeMap<String, Value>,
    tolerance: Option<f64>,
}

/// The jobs of the selected families, sorted by name, large ones last; each with the allowed difference of losses.
fn jobs(chosen: &[String]) -> Result<Vec<(Row, Group)>> {
    let (mut jobs, mut names) = (Vec::new(), Vec::new());
    for file in files(&root().join(FAMILIES), &["family.json"])? {
        let family: Family = serde_json::from_str(&file.text).context(file.path.clone())?;
        let name = file.path.split('/').next().unwrap_or_default().to_owned();
        let mut sizes: Vec<&String> = family.sizes.keys().collect();
        sizes.sort_by_key(|size| *size == "large");
        for size in sizes.iter().filter(|_| chosen.is_empty() || chosen.contains(&name)) {
            let (job, title) = (format!("breadth:{name},{size}"), format!("{}, {size}", family.title));
            let group = Group { same: Some(family.tolerance.unwrap_or(1e-3)), ..Group::default() };
            jobs.push((Row { job, title, ..Row::default() }, group));
        }
        names.push(name);
    }
    let unknown = chosen.iter().find(|name| !names.contains(name));
    ensure!(unknown.is_none(), "there is no family {unknown:?} in {FAMILIES}");
    Ok(jobs)
}

/// Runs the selected families, prints their table and writes it; a complete table is written into the page, too.
pub(super) fn breadth(choice: &Choice) -> Result<()> {
    let (jobs, machine, mut failures) = (jobs(&choice.family)?, machine(), Vec::new());
    let mut commands = measured()?.side;
    commands.insert("rml".to_owned(), commands["rml chosen"].clone());
    let (rounds, seconds) = if choice.quick { (3, 0.2) } else { (ROUNDS, SECONDS) };
    let mut run = Run::build(&commands, &choice.backend, rounds, seconds)?;
    let mut table = table();
    let names: Vec<&str> = jobs.iter().map(|(row, _)| row.job.as_str()).collect();
    for threads in choice.threads.map_or(vec![1, 2], |n| vec![n]) {
        let mut session = None;
        for (i, (row, group)) in jobs.iter().enumerate() {
            let title = format!("{}, threads: {threads}", row.title);
            // A session that fails is ended, and the next job starts a new one.
            match run.measure(group, &names[i..], threads, &table.sides, session.take()) {
                Ok(running) => {
                    session = Some(running);
                    table.row.push(Row { title, threads: Some(threads), ..row.clone() });
                    run.figures.write(FIGURES, true)?;
                }
                Err(why) => {
                    println!("{why:#}");
                    failures.push(title);
                }
            }
        }
    }
    let text = format!("{machine}; rounds: {rounds}.\n{}", shown(&mut table, &run.figures)?);
    println!("\n{text}");
    ensure!(failures.is_empty(), "{} failed: {}", failures.len(), failures.join("; "));
    let is_whole = choice.family.is_empty() && choice.threads.is_none() && choice.backend == "native";
    if is_whole && !choice.quick { tables::write_page(MEASUREMENTS, "peers: breadth", &text) } else { Ok(()) }
}

/// The table without its rows.
fn table() -> Table {
    let sides = ["rml", "jax", "torch"].map(str::to_owned).to_vec();
    let compared = Some("best peer / rml".to_owned());
    Table { first: "milliseconds a step".to_owned(), sides, compared, ..Table::default() }
}

/// Sorts the rows by their ratios in ascending order, and returns the geometric means and the table as text.
fn shown(table: &mut Table, figures: &Figures) -> Result<String> {
    let ratio = |row: &Row| Some((table.ratio(row, figures)?, row.clone()));
    let mut ratios: Vec<(f64, Row)> = table.row.iter().filter_map(ratio).collect();
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut out = String::new();
    for (name, wanted) in [("all", None), ("one thread", Some(1)), ("two threads", Some(2))] {
        let chosen = ratios.iter().filter(|(_, row)| wanted.is_none() || row.threads == wanted);
        let logs: Vec<f64> = chosen.map(|(ratio, _)| ratio.ln()).collect();
        if !logs.is_empty() {
            let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
            let (n, below) = (logs.len(), logs.iter().filter(|log| **log < 0.0).count());
            out += &format!("\nGeometric mean of {n} ratios, {name}: {mean:.2}; {below} below 1.\n");
        }
    }
    table.row = ratios.into_iter().map(|(_, row)| row).collect();
    Ok(out + "\n" + &table.markdown(figures, &measured()?.product))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_have_titles_and_sizes() {
        let all = jobs(&[]).unwrap();
        assert!(all.len() >= 48 && jobs(&["none".to_owned()]).is_err());
        let lstm: Vec<String> =
            jobs(&["lstm".to_owned()]).unwrap().into_iter().map(|(row, _)| row.title).collect();
        assert_eq!(lstm, ["LSTM, small", "LSTM, large"]);
    }

    #[test]
    fn the_least_ratio_comes_first() {
        let (mut table, mut figures) = (table(), Figures::default());
        for (family, times) in [("a", [1.0, 4.0, 8.0]), ("b", [2.0, 3.0, 0.5])] {
            for (side, ms) in table.sides.iter().zip(times) {
                figures.add(family, 1, side, [("median_ms".to_owned(), ms)]);
            }
            table.row.push(Row { job: family.to_owned(), threads: Some(1), ..Row::default() });
        }
        let text = shown(&mut table, &figures).unwrap();
        assert!(text.contains("Geometric mean of 2 ratios, all: 1.00; 1 below 1."), "{text}");
        assert!(text.find("**0.25: slower**").unwrap() < text.find("**4.00**").unwrap(), "{text}");
    }
}
