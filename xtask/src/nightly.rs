//! `cargo xtask nightly`: is this commit slower than that of the last night, and how fast is it beside others? The
//! figures of all nights and their charts are kept in a branch of their own.

mod branch;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use xshell::cmd;

use crate::chart::{Axis, Chart, svg};
use crate::page::machine;
use crate::workspace::{self, root, shell};
use crate::{compare, peers};
use branch::Branch;

/// The name under which the program of the last night is saved.
const LAST: &str = "last-night";

/// Compares with the last night, runs the peers, and keeps the figures; with `push` the branch goes where the
/// repository came from. Fails, after all of that, if something is slower than it was.
pub(crate) fn nightly(push: bool) -> Result<()> {
    let (branch, shell) = (Branch::open(&root(), push)?, shell()?);
    let mut entries = read(branch.folder())?;
    let mut verdict = Ok(());
    if let Some(Entry { commit, .. }) = entries.last() {
        if cmd!(shell, "git cat-file -e")
            .arg(format!("{commit}^{{commit}}"))
            .quiet()
            .ignore_stderr()
            .run()
            .is_ok()
        {
            compare::save(LAST, Some(commit))?;
            verdict = compare::compare(LAST);
        } else {
            println!("nothing to compare with: this checkout has no commit {commit}");
        }
    }
    let machine = machine();
    peers::peers(&peers::Choice::default())?;
    let figures = serde_json::from_str(&workspace::read(peers::FIGURES)?)?;
    let line = cmd!(shell, "git show --no-patch --format=%H,%cs HEAD").quiet().read()?;
    let (commit, date) = line.split_once(',').context("git shows no commit")?;
    entries.push(Entry { commit: commit.to_owned(), date: date.to_owned(), machine, figures });
    write(branch.folder(), &entries)?;
    branch.keep(push)?;
    verdict
}

/// The file of the lines.
const FILE: &str = "history.jsonl";

/// A run: what of, when, where, and its figures in milliseconds by job, threads and side.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Entry {
    commit: String,
    date: String,
    machine: String,
    figures: BTreeMap<String, Option<f64>>,
}

/// The runs in a folder, oldest first.
fn read(folder: &Path) -> Result<Vec<Entry>> {
    let Ok(text) = fs::read_to_string(folder.join(FILE)) else { return Ok(Vec::new()) };
    let entry = |(n, line): (usize, &str)| {
        serde_json::from_str(line).with_context(|| format!("{FILE}:{n}: this is not a run: {line}"))
    };
    (1..).zip(text.lines()).map(entry).collect()
}

/// Writes all runs, a chart for each job, and a page that shows them.
fn write(folder: &Path, entries: &[Entry]) -> Result<()> {
    let lines = entries.iter().map(|entry| Ok(serde_json::to_string(entry)? + "\n"));
    fs::write(folder.join(FILE), lines.collect::<Result<String>>()?)?;
    let mut page =
        "# Performance over time\n\nMilliseconds of a step, run by run; the last ones:\n\n".to_owned();
    for entry in entries.iter().rev().take(5) {
        page += &format!("- {}, {:.10}, {}\n", entry.date, entry.commit, entry.machine);
    }
    for (job, chart) in charts(entries)? {
        let name = format!("{}.svg", job.replace([':', ',', ' '], "-"));
        fs::write(folder.join(&name), &chart)?;
        page += &format!("\n![{job}]({name})\n");
    }
    Ok(fs::write(folder.join("README.md"), page)?)
}

/// The lines of a chart by their names.
type Lines<'a> = BTreeMap<&'a str, Vec<(f64, f64)>>;

/// A chart for each job and number of threads, with a line for each side.
fn charts(entries: &[Entry]) -> Result<Vec<(String, String)>> {
    let mut jobs: BTreeMap<&str, Lines<'_>> = BTreeMap::new();
    for (run, entry) in entries.iter().enumerate() {
        for (key, value) in &entry.figures {
            // `lstm:1,2,3,4 1t torch cells`
            let space = key.match_indices(' ').nth(1).map(|(at, _)| at);
            let (Some(at), Some(value)) = (space, value) else { continue };
            let (job, side) = (&key[..at], &key[at + 1..]);
            jobs.entry(job).or_default().entry(side).or_default().push((run as f64, *value));
        }
    }
    let mut charts = Vec::new();
    for (job, sides) in jobs {
        let lines = sides.into_iter().collect();
        let chart = svg(&Chart { title: job, x: Axis::Linear, unit: "ms", lines })?;
        charts.extend(chart.map(|chart| (job.to_owned(), chart)));
    }
    Ok(charts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(commit: &str, ms: f64) -> Entry {
        let figures =
            serde_json::json!({ "lstm:1,2,3,4 1t rml": ms, "lstm:1,2,3,4 1t torch cells": 9.0, "x": null });
        let text =
            serde_json::json!({ "commit": commit, "date": "2026-01-02", "machine": "m", "figures": figures });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn runs_are_kept_and_drawn() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()).unwrap(), []);
        let entries = vec![entry("abc", 1.0), entry("def", 2.0)];
        write(folder.path(), &entries).unwrap();
        assert_eq!(read(folder.path()).unwrap(), entries);
        let svg = std::fs::read_to_string(folder.path().join("lstm-1-2-3-4-1t.svg")).unwrap();
        assert!(svg.contains("\ntorch cells\n") && svg.matches("<circle").count() == 4, "{svg}");
        let page = std::fs::read_to_string(folder.path().join("README.md")).unwrap();
        assert!(page.contains("(lstm-1-2-3-4-1t.svg)") && page.contains("def"), "{page}");
        std::fs::write(folder.path().join(FILE), serde_json::to_string(&entries[0]).unwrap() + "\n{}\n")
            .unwrap();
        assert!(read(folder.path()).unwrap_err().to_string().contains("history.jsonl:2"));
    }
}
