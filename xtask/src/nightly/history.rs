//! The figures of past runs: a line of JSON for each, and charts of them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::chart::{Axis, Chart, svg};

/// The file of the lines.
const FILE: &str = "history.jsonl";

/// The figures of a job: by side, the number of the run and the milliseconds.
type Sides<'a> = BTreeMap<&'a str, Vec<(f64, f64)>>;

/// A run: what of, when, where, and its figures in milliseconds by job, threads and side.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Entry {
    pub(super) commit: String,
    pub(super) date: String,
    pub(super) machine: String,
    pub(super) figures: Map<String, Value>,
}

impl Entry {
    fn parse(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let figures = value["figures"].as_object()?.clone();
        Some(Self { commit: text("commit")?, date: text("date")?, machine: text("machine")?, figures })
    }

    fn line(&self) -> String {
        let Self { commit, date, machine, figures } = self;
        format!("{}\n", json!({ "commit": commit, "date": date, "machine": machine, "figures": figures }))
    }
}

/// The runs in a folder, oldest first.
pub(super) fn read(folder: &Path) -> Result<Vec<Entry>, String> {
    let Ok(text) = std::fs::read_to_string(folder.join(FILE)) else { return Ok(Vec::new()) };
    let entry = |(n, line): (usize, &str)| {
        Entry::parse(line).ok_or_else(|| format!("{FILE}:{n}: this is not a run: {line}"))
    };
    (1..).zip(text.lines()).map(entry).collect()
}

/// Writes all runs, a chart for each job, and a page that shows them.
pub(super) fn write(folder: &Path, entries: &[Entry]) -> Result<(), String> {
    let put = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).map_err(|e| format!("cannot write {name}: {e}"))
    };
    put(FILE, &entries.iter().map(Entry::line).collect::<String>())?;
    let mut page =
        "# Performance over time\n\nMilliseconds of a step, run by run; the last ones:\n\n".to_owned();
    for entry in entries.iter().rev().take(5) {
        page += &format!("- {}, {:.10}, {}\n", entry.date, entry.commit, entry.machine);
    }
    for (job, chart) in charts(entries) {
        let name = format!("{}.svg", job.replace([':', ',', ' '], "-"));
        put(&name, &chart)?;
        page += &format!("\n![{job}]({name})\n");
    }
    put("README.md", &page)
}

/// A chart for each job and number of threads, with a line for each side.
fn charts(entries: &[Entry]) -> Vec<(String, String)> {
    let mut jobs: BTreeMap<&str, Sides<'_>> = BTreeMap::new();
    for (run, entry) in entries.iter().enumerate() {
        for (key, value) in &entry.figures {
            // `lstm:1,2,3,4 1t torch cells`
            let space = key.match_indices(' ').nth(1).map(|(at, _)| at);
            let (Some(at), Some(value)) = (space, value.as_f64()) else { continue };
            let (job, side) = (&key[..at], &key[at + 1..]);
            jobs.entry(job).or_default().entry(side).or_default().push((run as f64, value));
        }
    }
    let chart = |(job, sides): (&str, Sides<'_>)| {
        let lines = sides.into_iter().collect();
        Some((job.to_owned(), svg(&Chart { title: job, x: Axis::Linear, unit: "ms", lines })?))
    };
    jobs.into_iter().filter_map(chart).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(commit: &str, ms: f64) -> Entry {
        let figures = json!({ "lstm:1,2,3,4 1t rml": ms, "lstm:1,2,3,4 1t torch cells": 9.0 });
        Entry {
            commit: commit.to_owned(),
            date: "2026-01-02".to_owned(),
            machine: "m".to_owned(),
            figures: figures.as_object().unwrap().clone(),
        }
    }

    #[test]
    fn runs_are_kept_and_drawn() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()), Ok(vec![]));
        let entries = vec![entry("abc", 1.0), entry("def", 2.0)];
        write(folder.path(), &entries).unwrap();
        assert_eq!(read(folder.path()), Ok(entries));
        let svg = std::fs::read_to_string(folder.path().join("lstm-1-2-3-4-1t.svg")).unwrap();
        assert!(svg.contains(">torch cells<") && svg.matches("<circle").count() == 4, "{svg}");
        let page = std::fs::read_to_string(folder.path().join("README.md")).unwrap();
        assert!(page.contains("(lstm-1-2-3-4-1t.svg)") && page.contains("def"), "{page}");
    }

    #[test]
    fn damaged_lines_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), entry("a", 1.0).line() + "{}\n").unwrap();
        assert!(read(folder.path()).unwrap_err().contains("history.jsonl:2"));
    }
}
