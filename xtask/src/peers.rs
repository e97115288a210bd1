//! `cargo xtask peers`: measures the same jobs in this project, JAX, PyTorch, Keras and a program in C, which take
//! turns on the same processors.

mod breadth;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::{Args, Subcommand};
use fs_err as fs;
use serde_json::Value;
use xshell::Shell;

use crate::jobs::{self, Extent, words};
use crate::tables::{self, Figures, Group, MEASUREMENTS, machine, measured};
use crate::worker::Worker;
use crate::workspace::{root, target};
use crate::{binaries, cache};

/// The file of figures for further use.
pub(crate) const FIGURES: &str = "target/peers/figures.json";
/// The number of turns of each side, and their length in seconds.
const ROUNDS: usize = 5;
const SECONDS: f64 = 0.4;

/// The selection of measurements.
#[derive(Args, Default, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Choice {
    /// The groups lstm, cells, scalars, windows, stream, cartpole, digits and length; if none is named, all
    groups: Vec<String>,
    /// How often each side takes a turn [default: 5]
    #[arg(long)]
    rounds: Option<usize>,
    #[command(subcommand)]
    breadth: Option<Breadth>,
}

#[derive(Subcommand, Debug)]
enum Breadth {
    /// Time the families of models in benches/breadth beside JAX and PyTorch; a whole run writes its table
    Breadth(breadth::Choice),
}

/// Runs the selected groups, or all, and writes their tables.
pub(crate) fn peers(choice: &Choice) -> Result<()> {
    if let Some(Breadth::Breadth(choice)) = &choice.breadth {
        return breadth::breadth(choice);
    }
    let (measured, rounds) = (measured()?, choice.rounds.unwrap_or(ROUNDS));
    let known: Vec<&str> = measured.group.iter().map(|group| group.name.as_str()).collect();
    let unknown = choice.groups.iter().find(|name| !known.contains(&name.as_str()));
    ensure!(unknown.is_none(), "there is no group {unknown:?}; the groups are {known:?}");
    ensure!(rounds > 0, "--rounds needs a number from 1");
    let is_chosen = |group: &&Group| choice.groups.is_empty() || choice.groups.contains(&group.name);
    let machine = machine();
    let mut run = Run::build(&measured.side, "native", rounds, SECONDS)?;
    let mut done = BTreeSet::new();
    for group in measured.group.iter().filter(is_chosen) {
        let start = Instant::now();
        for table in &group.table {
            let threads = table.threads.unwrap_or(1);
            if table.peak && done.insert((&measured.product.job, threads)) {
                let (product, free) = (&measured.product, Group::default());
                run.measure(&free, &[&product.job], threads, &product.sides, None)?;
            }
            for row in table.row.iter().filter(|row| done.insert((&row.job, threads))) {
                let names: Vec<String> = table.sides.iter().filter(|side| row.has(side)).cloned().collect();
                if group.processes {
                    run.processes(&row.job, threads, &names)?;
                } else {
                    run.measure(group, &[&row.job], threads, &names, None)?;
                }
            }
        }
        println!("== peers: {}: {:.0} s", group.name, start.elapsed().as_secs_f64());
        let mut text = format!("{machine}; rounds: {rounds}.\n");
        for table in &group.table {
            text += &format!("\n{}", table.markdown(&run.figures, &measured.product));
            if let Some((file, picture)) = table.drawn(&run.figures)? {
                fs::write(root().join(file), picture)?;
                text += &format!("\n![{}]({})\n", table.first, file.trim_start_matches("docs/"));
            }
        }
        println!("\n{text}");
        tables::write_page(MEASUREMENTS, &format!("peers: {}", group.name), &text)?;
    }
    for table in measured.page.iter().filter(|table| table.is_whole(&run.figures)) {
        let text = format!("{machine}:\n\n{}", table.markdown(&run.figures, &measured.product));
        tables::write_page(&table.page, "peers", &text)?;
    }
    run.figures.write(FIGURES, false)
}

/// Processes of sides, each of which does several jobs one after the other.
type Session = Vec<(String, Worker)>;

/// The tools that run the sides, and the results.
struct Run {
    commands: BTreeMap<String, String>,
    variables: BTreeMap<String, String>,
    /// The folder of Python's programs, and its lock.
    python: (PathBuf, File),
    figures: Figures,
    rounds: usize,
    seconds: f64,
}

impl Run {
    /// Builds all sides that these commands run.
    fn build(
        commands: &BTreeMap<String, String>,
        backend: &str,
        rounds: usize,
        seconds: f64,
    ) -> Result<Self> {
        let (python, commands) = (jobs::environment("python")?, commands.clone());
        jobs::run("stream", Extent::Full)?;
        let shared = root().join("target/peers").display().to_string();
        let bench = built(&root())?.display().to_string();
        let variables = [("bench", bench), ("shared", shared), ("backend", backend.to_owned())];
        let variables = variables.map(|(name, value)| (name.to_owned(), value)).into();
        Ok(Self { commands, variables, python, figures: Figures::default(), rounds, seconds })
    }

    /// The command that runs a job on a side: a library, `c`, this project, or this project on a backend (`rml xla`).
    fn command(&self, side: &str, job: &str, threads: usize) -> Result<Command> {
        let mut variables = self.variables.clone();
        variables.extend(
            [("job", job), ("threads", &threads.to_string())].map(|(n, v)| (n.to_owned(), v.to_owned())),
        );
        let run = self.commands.get(side).with_context(|| format!("there is no side {side}"))?;
        let words = words(run, &(variables, Some(self.python.0.display().to_string())))?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env(cache::VARIABLE, cache::folder()?).env("PYTHONDONTWRITEBYTECODE", "1");
        Ok(command)
    }

    /// Lets sides take turns at the first of some jobs, in a session that continues with it, or in a new one.
    fn measure(
        &mut self,
        group: &Group,
        jobs: &[&str],
        threads: usize,
        names: &[String],
        session: Option<Session>,
    ) -> Result<Session> {
        println!("\n== peers: {}, threads: {threads}", jobs[0]);
        let mut running: Session = Vec::new();
        let mut before = session.into_iter().flatten();
        for side in names {
            if !has(side)? {
                println!("{side} is left out: it is not set up (`cargo xtask setup`)");
                continue;
            }
            let mut worker = match before.next() {
                Some((_, worker)) => worker.next()?,
                None => {
                    let mut command = self.command(side, jobs[0], threads)?;
                    Worker::spawn(side, command.args(&jobs[1..]).arg("--turns"))?
                }
            };
            // The first side writes the files that the others read; these prepare in parallel.
            if running.is_empty() {
                worker.wait()?;
            }
            running.push((side.clone(), worker));
        }
        running.iter_mut().skip(1).try_for_each(|(_, worker)| worker.wait())?;
        let mut first = None;
        for (side, Worker { loss, .. }) in &running {
            let told = format!("{side}: the mean loss is {loss:?}; that of the first side is {first:?}");
            ensure!(agrees(group, first, *loss), told);
            first = first.or(Some(*loss));
        }
        for _ in 0..self.rounds {
            for (side, worker) in &mut running {
                let turn = worker.turn(&format!("seconds {}", self.seconds))?;
                self.figures.add(jobs[0], threads, side, turn);
            }
        }
        for (side, _) in &running {
            println!("{side}: {:.6} ms", self.figures.median(jobs[0], threads, side).unwrap_or(f64::NAN));
        }
        Ok(running)
    }

    /// Runs whole processes, taking turns for each seed.
    fn processes(&mut self, job: &str, threads: usize, names: &[String]) -> Result<()> {
        println!("\n== peers: {job}");
        // The first run is not counted, since it reads the files from disk.
        for (seed, counts) in [(0, false)].into_iter().chain((0..self.rounds).map(|seed| (seed, true))) {
            for side in names {
                let mut command = self.command(side, &format!("{job}:{seed}"), threads)?;
                let start = Instant::now();
                let output = command.stderr(Stdio::inherit()).output()?;
                let seconds = start.elapsed().as_secs_f64();
                let text = String::from_utf8_lossy(&output.stdout);
                let line = text.lines().find(|l| l.starts_with('{')).unwrap_or("null");
                let said: Value = serde_json::from_str(line)?;
                ensure!(said["reached"] == true, "{side}, seed {seed}: the accuracy is not reached: {said}");
                let epochs = said["epochs"].as_f64().context("there is no number of epochs")?;
                println!("{job}:{seed} {side}: {seconds:.2} s, {epochs} epochs");
                if counts {
                    let turn = [("median_ms", 1e3 * seconds), ("epochs", epochs)];
                    self.figures.add(job, threads, side, turn.map(|(name, value)| (name.to_owned(), value)));
                }
            }
        }
        Ok(())
    }
}

/// Whether a side has the same loss as the first one.
fn agrees(group: &Group, first: Option<Option<f64>>, loss: Option<f64>) -> bool {
    let is_high = group.at_least.is_none_or(|least| loss.is_some_and(|loss| loss >= least));
    let is_same = group.same.is_none_or(|part| match (first, loss) {
        (Some(Some(first)), Some(loss)) => (loss - first).abs() <= part * first.abs(),
        (first, loss) => first.flatten().is_none() && loss.is_some(),
    });
    is_high && is_same
}

/// Whether a side can run on this machine; a backend that is not installed cannot.
fn has(side: &str) -> Result<bool> {
    let backend = side.strip_prefix("rml ").filter(|backend| cache::BACKENDS.contains(backend));
    backend.map_or(Ok(true), cache::has_backend)
}

/// Builds the benchmark of the project in this folder, and returns its path.
pub(crate) fn built(folder: &Path) -> Result<PathBuf> {
    println!("\n== benchmark in {}", folder.display());
    let shell = Shell::new()?;
    shell.change_dir(folder);
    // Dependencies that another tree shares with this one are built once.
    shell.set_var("CARGO_TARGET_DIR", target());
    let flags = ["bench", "--package", "rml", "--features", "xla,torch", "--bench", "peers", "--no-run"];
    binaries::executable(&flags, &shell)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[test]
    fn losses_must_agree() {
        let group = |same, at_least| Group { same, at_least, ..Group::default() };
        let same = |first: Option<f64>, loss| agrees(&group(Some(1e-3), None), first.map(Some), loss);
        assert!(same(None, Some(2.0)) && same(Some(2.0), Some(2.0001)));
        assert!(!same(Some(2.0), Some(2.1)) && !same(Some(2.0), Some(f64::NAN)) && !same(Some(2.0), None));
        assert!(!same(None, None));
        let above = |loss| agrees(&group(None, Some(60.0)), None, loss);
        assert!(above(Some(60.0)) && !above(Some(59.0)) && !above(None));
        assert!(agrees(&group(None, None), None, None));
    }

    #[test]
    fn groups_families_and_options_are_read() {
        let right = "|lstm stream --rounds 2|breadth --family hmm --family mlp --threads 1 --quick";
        let wrong = "--rounds|--fast|breadth --family|lstm breadth --quick";
        let all = right.split('|').map(|text| (text, true)).chain(wrong.split('|').map(|text| (text, false)));
        for (text, is_right) in all {
            let read = crate::Cli::try_parse_from(format!("xtask peers {text}").split_whitespace());
            assert_eq!(read.is_ok(), is_right, "{text}");
        }
    }

    #[test]
    fn this_project_makes_what_the_others_take() {
        for table in measured().unwrap().group.iter().flat_map(|group| &group.table) {
            assert!(table.sides[0] == "rml" && table.row.iter().all(|row| row.has("rml")));
        }
    }
}
