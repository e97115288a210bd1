//! What the turns gave.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::worker::Turn;
use crate::workspace::root;

/// All turns of one side at one job.
#[derive(Default, Clone)]
pub(super) struct Sample {
    /// Milliseconds of a step, or of a process.
    pub(super) medians: Vec<f64>,
    pub(super) p99: Vec<f64>,
    /// The most bytes of the process, and those before the job.
    pub(super) memory: Option<(f64, f64)>,
    /// How many epochs each process took.
    pub(super) epochs: Vec<f64>,
}

/// Samples by job, threads and side.
#[derive(Default)]
pub(super) struct Figures(BTreeMap<(String, usize, String), Sample>);

impl Figures {
    pub(super) fn entry(&mut self, job: &str, threads: usize, side: &str) -> &mut Sample {
        self.0.entry((job.to_owned(), threads, side.to_owned())).or_default()
    }

    pub(super) fn get(&self, job: &str, threads: usize, side: &str) -> Option<&Sample> {
        self.0.get(&(job.to_owned(), threads, side.to_owned()))
    }

    pub(super) fn add(&mut self, job: &str, threads: usize, side: &str, turn: Turn, before: Option<f64>) {
        let sample = self.entry(job, threads, side);
        sample.medians.push(turn.median);
        sample.p99.push(turn.p99);
        sample.memory = turn.memory.zip(before);
    }

    /// The median of a side, in milliseconds.
    pub(super) fn median(&self, job: &str, threads: usize, side: &str) -> Option<f64> {
        self.get(job, threads, side).map(|s| median(&s.medians))
    }

    /// Writes the medians in milliseconds, by job, threads and side.
    pub(super) fn write(&self, path: &str) -> Result<(), String> {
        let entry = |((job, threads, side), sample): (&(String, usize, String), &Sample)| {
            (format!("{job} {threads}t {side}"), Value::from(median(&sample.medians)))
        };
        let map: Map<String, Value> = self.0.iter().map(entry).collect();
        let text = serde_json::to_string_pretty(&map).map_err(|e| e.to_string())?;
        std::fs::write(root().join(path), text).map_err(|e| format!("cannot write {path}: {e}"))
    }
}

/// The one in the middle.
pub(crate) fn median(values: &[f64]) -> f64 {
    spread(values).1
}

/// The least, the median and the greatest.
pub(crate) fn spread(values: &[f64]) -> (f64, f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |i: usize| sorted.get(i).copied().unwrap_or(f64::NAN);
    (at(0), at(sorted.len() / 2), at(sorted.len().saturating_sub(1)))
}
