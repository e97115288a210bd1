//! Circles in a list of edges.

use std::collections::BTreeMap;

/// A node on a circle of edges, or on a path into one, if there is a circle: nodes without incoming edges are removed
/// repeatedly, and a remaining node is returned.
pub(super) fn some_circle(edges: &[(usize, usize)]) -> Option<usize> {
    let mut into: BTreeMap<usize, usize> = BTreeMap::new();
    let mut from: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (a, b) in edges {
        into.entry(*a).or_default();
        *into.entry(*b).or_default() += 1;
        from.entry(*a).or_default().push(*b);
    }
    let mut free: Vec<usize> = into.iter().filter(|(_, n)| **n == 0).map(|(v, _)| *v).collect();
    while let Some(v) = free.pop() {
        into.remove(&v);
        for to in from.get(&v).into_iter().flatten() {
            if let Some(n) = into.get_mut(to) {
                *n -= 1;
                if *n == 0 {
                    free.push(*to);
                }
            }
        }
    }
    into.into_keys().next()
}

/// Whether the sum of the weights around every circle is negative.
pub(super) fn all_negative(edges: &[(usize, usize, i64)]) -> bool {
    // This is proved by a potential that no edge with weight w raises by more than -w. A small bonus for each edge
    // detects sums of zero, too.
    let mut potential: BTreeMap<usize, i64> = BTreeMap::new();
    for (a, b, _) in edges {
        potential.insert(*a, 0);
        potential.insert(*b, 0);
    }
    let nodes = i64::try_from(potential.len()).unwrap_or(i64::MAX / 4);
    for _ in 0..=potential.len() {
        let mut stands = true;
        for (a, b, weight) in edges {
            let reached = potential[a].saturating_add(weight.saturating_mul(nodes + 1)).saturating_add(1);
            if reached > potential[b] {
                potential.insert(*b, reached);
                stands = false;
            }
        }
        if stands {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_found_and_a_chain_is_none() {
        assert_eq!(some_circle(&[(0, 1), (1, 2), (0, 2)]), None);
        assert_eq!(some_circle(&[(3, 3)]), Some(3));
        assert!(matches!(some_circle(&[(0, 1), (1, 2), (2, 1), (2, 5)]), Some(1 | 2 | 5)));
    }

    #[test]
    fn sums_around_circles() {
        assert!(all_negative(&[(0, 1, -2), (1, 0, 1)]));
        assert!(!all_negative(&[(0, 1, -1), (1, 0, 1)]));
        assert!(!all_negative(&[(0, 1, -1), (1, 0, -1), (2, 2, 1)]));
    }
}
