//! The sums of steps in time around the circles of a graph.

use std::collections::BTreeSet;

use rml_base::{Graph, components};

/// The maximum number of visits to edges for one graph.
const WORK: usize = 40_000_000;

/// An edge: its start, its end, and whether the end is a tick earlier (-1), at the same tick (0) or a tick later (1).
pub(crate) type Step = (usize, usize, i64);

/// The signs of the sums of steps around the circles of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sums {
    /// Every sum is less than zero.
    Negative,
    /// Some sum is zero or more.
    NotAll,
    /// The signs are unknown after [`WORK`] visits.
    TooLarge,
}

/// Finds the signs of the sums around all circles of a graph with the positions `0..len`.
///
/// A circle without a step back is found at once. Without such circles, the other steps have an order. Changed
/// positions are visited in that order, so one pass follows all steps between two steps back.
pub(crate) fn sums(len: usize, steps: &[Step]) -> Sums {
    let ahead = steps.iter().filter(|(_, _, ticks)| *ticks >= 0);
    let graph = Graph::new(len, ahead.map(|(from, to, _)| (*from, *to)).collect());
    let all = components(len, |v, i| graph.of(v).get(i).copied().map(Some));
    if all.members.len() < len || (0..len).any(|v| graph.of(v).contains(&v)) {
        return Sums::NotAll;
    }
    let Some(scale) = i64::try_from(len).ok().and_then(|n| n.checked_add(1)) else { return Sums::TooLarge };
    // Positions are numbered such that the targets of steps come first.
    let place = &all.of;
    let into = Graph::new(len, steps.iter().map(|(a, b, ticks)| (place[*b], (place[*a], *ticks))).collect());
    let (mut longest, mut came) = (vec![0_i64; len], vec![usize::MAX; len]);
    let (mut work, mut since) = (0, 0);
    let mut pending: BTreeSet<usize> = (0..len).collect();
    let mut at = 0;
    while !pending.is_empty() {
        let next = pending.range(at..).next().or_else(|| pending.first()).copied();
        let Some(to) = next.filter(|v| pending.remove(v)) else { break };
        at = to;
        for (from, ticks) in into.of(to) {
            // The distance ahead of the start of a path at which something is needed, against the direction of edges.
            // The sum of a circle is zero or more exactly if it is positive with a small bonus for each edge.
            let through = longest[to] + ticks * scale + 1;
            if through > longest[*from] {
                longest[*from] = through;
                came[*from] = to;
                pending.insert(*from);
            }
        }
        work += 1 + into.of(to).len();
        if work - since > len + steps.len() {
            if has_circle(&came) {
                return Sums::NotAll;
            }
            if work > WORK {
                return Sums::TooLarge;
            }
            since = work;
        }
    }
    Sums::Negative
}

/// Whether following `came` leads around a circle.
fn has_circle(came: &[usize]) -> bool {
    let mut seen = vec![usize::MAX; came.len()];
    for start in 0..came.len() {
        let mut at = start;
        while at != usize::MAX && seen[at] == usize::MAX {
            seen[at] = start;
            at = came[at];
        }
        if at != usize::MAX && seen[at] == start {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_around_circles() {
        assert_eq!(sums(2, &[(0, 1, -1), (1, 0, 1)]), Sums::NotAll);
        assert_eq!(sums(3, &[(0, 1, -1), (1, 2, -1), (2, 0, 1)]), Sums::Negative);
        assert_eq!(sums(3, &[(0, 1, -1), (1, 2, 0), (2, 0, 1)]), Sums::NotAll);
        assert_eq!(sums(2, &[(0, 1, 1), (1, 0, 0)]), Sums::NotAll);
        assert_eq!(sums(1, &[(0, 0, 0)]), Sums::NotAll);
        assert_eq!(sums(1, &[(0, 0, -1)]), Sums::Negative);
        assert_eq!(sums(0, &[]), Sums::Negative);
    }

    /// Visiting all edges in their order in rounds would take 10^10 visits.
    #[test]
    fn large_graphs_are_decided() {
        let n = 100_000;
        let chain = (1..n).map(|i| (i, i - 1, if i % 2 == 0 { 1 } else { 0 }));
        let back = (0..n - 1).map(|i| (i, i + 1, -1));
        let both: Vec<Step> = chain.clone().chain(back.clone()).collect();
        assert_eq!(sums(n, &both), Sums::NotAll);
        let still: Vec<Step> = chain.map(|(from, to, _)| (from, to, 0)).chain(back).collect();
        assert_eq!(sums(n, &still), Sums::Negative);
        // A ring with equal numbers of steps ahead and back.
        let ring: Vec<Step> = (0..n).map(|i| (i, (i + 1) % n, if i < n / 2 { 1 } else { -1 })).collect();
        assert_eq!(sums(n, &ring), Sums::NotAll);
        let later: Vec<Step> = (0..n).map(|i| (i, (i + 1) % n, if i < n / 2 - 1 { 1 } else { -1 })).collect();
        assert_eq!(sums(n, &later), Sums::Negative);
    }
}
