//! Sums over shards by a binary tree.

use std::collections::BTreeMap;

/// The sum over shards: that of a complete binary tree over their numbers, `(x0 + x1) + (x2 + x3)` and so on (SHARD-2).
/// It depends on the numbers alone, not on the order in which the parts come.
///
/// A sum is made as soon as both parts are there, so if shards come in order, as many parts are held at a time as the
/// tree has levels.
#[derive(Debug)]
pub(super) struct Tree<T> {
    shards: usize,
    /// Parts that wait for their neighbour, by level and place. `None` is a part that adds nothing.
    waiting: BTreeMap<(u32, usize), Option<T>>,
}

impl<T> Tree<T> {
    /// The sum over that many shards.
    pub(super) fn new(shards: usize) -> Self {
        Self { shards, waiting: BTreeMap::new() }
    }

    /// Adds the part of a shard; `None` is one without windows. `add` adds a part to the one before it. Returns the
    /// whole sum once every shard has come.
    pub(super) fn put(
        &mut self,
        shard: usize,
        part: Option<T>,
        add: &mut impl FnMut(&mut T, T),
    ) -> Option<Option<T>> {
        let (mut level, mut place, mut part) = (0, shard, part);
        while 1 << level < self.shards.next_power_of_two() {
            let neighbour = place ^ 1;
            // Beyond the last shard there is nothing to wait for.
            if neighbour << level < self.shards {
                let Some(other) = self.waiting.remove(&(level, neighbour)) else {
                    self.waiting.insert((level, place), part);
                    return None;
                };
                let (first, second) = if neighbour < place { (other, part) } else { (part, other) };
                part = match (first, second) {
                    (Some(mut first), Some(second)) => {
                        add(&mut first, second);
                        Some(first)
                    }
                    (first, second) => first.or(second),
                };
            }
            (level, place) = (level + 1, place >> 1);
        }
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum as a text, shards put in that order; those in `none` have no part.
    fn sum(order: &[usize], none: &[usize]) -> (String, usize) {
        let (mut tree, mut total, mut most) = (Tree::new(order.len()), None, 0);
        for shard in order {
            assert!(total.is_none(), "the sum comes with the last shard");
            let part = (!none.contains(shard)).then(|| shard.to_string());
            total = tree.put(*shard, part, &mut |a: &mut String, b| *a = format!("({a}+{b})"));
            most = most.max(tree.waiting.len());
        }
        (total.expect("all shards came").unwrap_or_default(), most)
    }

    #[test]
    fn the_sum_is_that_of_a_complete_tree() {
        let all: Vec<usize> = (0..12).collect();
        assert_eq!(sum(&all[..1], &[]).0, "0");
        assert_eq!(sum(&all[..3], &[]).0, "((0+1)+2)");
        assert_eq!(sum(&all[..6], &[]).0, "(((0+1)+(2+3))+(4+5))");
        assert_eq!(sum(&all[..8], &[3, 4, 5]).0, "(((0+1)+2)+(6+7))");
        assert_eq!(sum(&all[..2], &[0, 1]).0, "");
        let (text, most) = sum(&all, &[]);
        assert_eq!(text, "((((0+1)+(2+3))+((4+5)+(6+7)))+((8+9)+(10+11)))");
        assert_eq!(most, 3, "as many as the tree has levels");
    }

    #[test]
    fn the_sum_does_not_depend_on_the_order_of_shards() {
        for shards in 1..=13 {
            for turn in 0..shards {
                let order: Vec<usize> = (0..shards).map(|i| (i * 7 + turn) % shards).collect();
                let mut sorted = order.clone();
                sorted.sort_unstable();
                if sorted.windows(2).all(|two| two[0] < two[1]) {
                    assert_eq!(sum(&order, &[2, 5]).0, sum(&sorted, &[2, 5]).0, "{order:?}");
                }
            }
        }
    }
}
