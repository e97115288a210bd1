//! `cargo xtask nightly`: tells whether this commit is slower than that of the last night, and how fast it is compared
//! with other tools. The figures of all nights and their charts are in a separate branch.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use xshell::{Shell, cmd};

use crate::chart::{Chart, svg};
use crate::tables::machine;
use crate::workspace::{self, root, shell};
use crate::{compare, peers};

/// The name of the saved program of the last night.
const LAST: &str = "last-night";

/// Compares with the last night, runs the peers, and stores the figures; with `push`, pushes the branch to the remote.
/// Fails at the end if something became slower.
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

/// The branch with the figures, which has no commit in common with other branches.
const NAME: &str = "performance";
/// The folder in which it is checked out, below the root.
const FOLDER: &str = "target/performance";
/// The author of commits if none is configured.
const AUTHOR: [&str; 4] = ["-c", "user.name=nightly", "-c", "user.email=nightly@localhost"];

/// The output of git in a folder.
fn git(folder: &Path, args: &[&str]) -> Result<String> {
    let shell = Shell::new()?;
    shell.change_dir(folder);
    Ok(cmd!(shell, "git {args...}").quiet().read()?)
}

/// The branch, checked out beside the sources.
struct Branch {
    root: PathBuf,
    folder: PathBuf,
}

impl Branch {
    /// Checks out the branch; with `fetch` that of the remote, if it exists. A new branch is empty.
    fn open(root: &Path, fetch: bool) -> Result<Self> {
        let folder = root.join(FOLDER);
        let path = folder.to_string_lossy().into_owned();
        if folder.exists() {
            // Remove a worktree that an earlier call left.
            git(root, &["worktree", "remove", "--force", &path])?;
        }
        if fetch && !git(root, &["ls-remote", "--heads", "origin", NAME])?.is_empty() {
            git(root, &["fetch", "--quiet", "origin", &format!("+{NAME}:{NAME}")])?;
        }
        if git(root, &["branch", "--list", NAME])?.is_empty() {
            git(root, &["worktree", "add", "--quiet", "--detach", &path])?;
            git(&folder, &["checkout", "--quiet", "--orphan", NAME])?;
            git(&folder, &["rm", "-r", "--quiet", "--force", "."])?;
        } else {
            git(root, &["worktree", "add", "--quiet", &path, NAME])?;
        }
        Ok(Self { root: root.to_owned(), folder })
    }

    fn folder(&self) -> &Path {
        &self.folder
    }

    /// Commits the content of the folder, pushes it if requested, and removes the folder.
    fn keep(self, push: bool) -> Result<()> {
        git(&self.folder, &["add", "--all"])?;
        git(&self.folder, &[&AUTHOR[..], &["commit", "--quiet", "-m", "Figures of another night"]].concat())?;
        if push {
            git(&self.folder, &["push", "--quiet", "origin", NAME])?;
        }
        git(&self.root, &["worktree", "remove", "--force", &self.folder.to_string_lossy()])?;
        Ok(())
    }
}

/// The file with one line for each run.
const FILE: &str = "history.jsonl";

/// A run: its commit, time and machine, and its figures in milliseconds by job, threads and side.
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
        let chart = svg(&Chart { title: job, by_factors: false, unit: "ms", lines })?;
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

    /// A repository with a commit.
    fn repository(folder: &Path) {
        git(folder, &["init", "--quiet"]).unwrap();
        std::fs::write(folder.join("source"), "1").unwrap();
        git(folder, &["add", "source"]).unwrap();
        git(folder, &[&AUTHOR[..], &["commit", "--quiet", "-m", "first"]].concat()).unwrap();
    }

    fn night(root: &Path, text: &str, push: bool) -> usize {
        let branch = Branch::open(root, push).unwrap();
        let files = std::fs::read_dir(branch.folder()).unwrap().count();
        std::fs::write(branch.folder().join("figures"), text).unwrap();
        branch.keep(push).unwrap();
        files
    }

    #[test]
    fn the_branch_keeps_what_each_night_writes_here_and_in_other_checkouts() {
        let folder = tempfile::tempdir().unwrap();
        let origin = folder.path().join("origin");
        std::fs::create_dir(&origin).unwrap();
        repository(&origin);
        // `.git` alone, then `figures`, too.
        assert_eq!([night(&origin, "1", false), night(&origin, "2", false)], [1, 2]);
        assert_eq!(git(&origin, &["rev-list", "--count", NAME]).unwrap(), "2");
        assert_eq!(git(&origin, &["ls-tree", "--name-only", NAME]).unwrap(), "figures");
        for (clone, text) in [("a", "3"), ("b", "4")] {
            git(folder.path(), &["clone", "--quiet", "origin", clone]).unwrap();
            assert_eq!(night(&folder.path().join(clone), text, true), 2);
            assert_eq!(git(&origin, &["show", "performance:figures"]).unwrap(), text);
        }
    }
}
