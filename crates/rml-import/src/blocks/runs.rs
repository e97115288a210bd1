//! Runs of equations that are the same, and which of them save most.

use super::alike::Alike;
use super::shape::{self, Block};
use super::steps::{Steps, apart};
use crate::program::Node;

/// A run that may repeat.
struct Run {
    /// At most how much is saved.
    most: usize,
    start: usize,
    len: usize,
}

/// The runs that occur several times, those first that may save most.
fn runs(steps: &Steps<'_>, work: &mut usize) -> Vec<Run> {
    let n = steps.labels.len();
    let mut hashes = vec![0_u64; n];
    let mut starts: Vec<usize> = (0..n).collect();
    let mut runs = Vec::new();
    for len in 1..=n / 2 {
        starts.retain(|s| s + len <= n);
        if starts.is_empty() || *work < starts.len() {
            break;
        }
        *work -= starts.len();
        for &s in &starts {
            let label = steps.labels[s + len - 1] as u64 + 1;
            hashes[s] = (hashes[s] ^ label).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
        starts.sort_unstable_by_key(|s| (hashes[*s], *s));
        let mut again = Vec::new();
        for group in starts.chunk_by(|a, b| hashes[*a] == hashes[*b]) {
            let count = apart(group, len).count();
            if count < 2 {
                continue;
            }
            again.extend_from_slice(group);
            let lines = steps.lines[group[0] + len] - steps.lines[group[0]];
            runs.push(Run { most: shape::saved(count, lines, 1, 1), start: group[0], len });
        }
        starts = again;
    }
    runs.retain(|run| run.most >= shape::LEAST);
    runs.sort_by(|a, b| b.most.cmp(&a.most).then(a.start.cmp(&b.start)));
    runs
}

/// Where a run occurs.
fn occurrences(steps: &Steps<'_>, run: &Run) -> Vec<usize> {
    let labels = &steps.labels[run.start..run.start + run.len];
    let windows = steps.labels.windows(run.len).enumerate();
    windows.filter(|(_, window)| *window == labels).map(|(s, _)| s).collect()
}

/// The block of a node that saves most.
pub(super) fn best(node: &Node, alike: &mut Alike, work: &mut usize) -> Option<Block> {
    let steps = Steps::of(node, alike);
    let mut best: Option<Block> = None;
    for run in runs(&steps, work) {
        if best.as_ref().is_some_and(|b| b.saved > run.most) || *work < steps.labels.len() {
            break;
        }
        *work -= steps.labels.len();
        let starts = occurrences(&steps, &run);
        for block in shape::blocks(&steps, &starts, run.len) {
            if best.as_ref().is_none_or(|b| block.rank() > b.rank()) {
                best = Some(block);
            }
        }
    }
    best
}
