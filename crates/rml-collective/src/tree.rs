//! Sums over shards by a binary tree.

use std::collections::BTreeMap;
use std::ops::Range;

/// The sum over shards: that of a complete binary tree over their numbers, `(x0 + x1) + (x2 + x3)` and so on (SHARD-2).
/// It depends on the numbers alone, not on the order in which the parts come.
///
/// A sum is made as soon as both parts are there, so if shards come in order, as many parts are held at a time as the
/// tree has levels.
///
/// ```
/// use rml_collective::Tree;
///
/// let mut add = |a: &mut String, b: String| *a = format!("({a}+{b})");
/// let mut tree = Tree::new(3);
/// assert_eq!(tree.put(2, Some("c".to_owned()), &mut add), None);
/// assert_eq!(tree.put(0, Some("a".to_owned()), &mut add), None);
/// let sum = tree.put(1, Some("b".to_owned()), &mut add);
/// assert_eq!(sum, Some(Some("((a+b)+c)".to_owned())));
/// ```
#[derive(Debug)]
pub struct Tree<T> {
    shards: usize,
    /// Parts that wait for their neighbour. `None` is a part that adds nothing.
    waiting: BTreeMap<TreeNode, Option<T>>,
}

/// A node of a [`Tree`]: the sum over 2^level shards, of which the first has the number place · 2^level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TreeNode {
    level: u32,
    place: usize,
}

impl<T> Tree<T> {
    /// The sum over that many shards.
    pub fn new(shards: usize) -> Self {
        Self { shards, waiting: BTreeMap::new() }
    }

    /// Adds the part of a shard; `None` is one without windows. `add` adds a part to the one before it. Returns the
    /// whole sum once every shard has come.
    pub fn put(
        &mut self,
        shard: usize,
        part: Option<T>,
        add: &mut impl FnMut(&mut T, T),
    ) -> Option<Option<T>> {
        self.put_at(TreeNode { level: 0, place: shard }, part, add)
    }

    /// Adds a sum that [`waiting`](Self::waiting) gave elsewhere, in the place of its shards.
    pub fn put_at(
        &mut self,
        at: TreeNode,
        part: Option<T>,
        add: &mut impl FnMut(&mut T, T),
    ) -> Option<Option<T>> {
        let (TreeNode { mut level, mut place }, mut part) = (at, part);
        while 1 << level < self.shards.next_power_of_two() {
            let neighbour = place ^ 1;
            // Beyond the last shard there is nothing to wait for.
            if neighbour << level < self.shards {
                let Some(other) = self.waiting.remove(&TreeNode { level, place: neighbour }) else {
                    self.waiting.insert(TreeNode { level, place }, part);
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

    /// Where sums wait after these shards have come.
    pub fn waiting_after(shards: usize, came: Range<usize>) -> Vec<TreeNode> {
        let mut tree = Self::new(shards);
        let none = &mut |_: &mut T, _: T| {};
        // The whole sum waits nowhere.
        came.for_each(|shard| drop(tree.put(shard, None, none)));
        tree.waiting.into_keys().collect()
    }

    /// The sums that wait for shards that did not come. Together with those of trees with the other shards, they
    /// complete the sum.
    pub fn waiting(self) -> impl Iterator<Item = (TreeNode, Option<T>)> {
        self.waiting.into_iter()
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

    /// Each rank adds its own shards, and whoever has the sums of all ranks adds these.
    #[test]
    fn ranks_complete_each_others_sums() {
        let add = &mut |a: &mut String, b: String| *a = format!("({a}+{b})");
        for shards in 1..=13 {
            let whole = sum(&(0..shards).collect::<Vec<_>>(), &[2, 5]).0;
            for ranks in 1..=shards {
                let (mut all, mut total) = (Tree::new(shards), None);
                for rank in (0..ranks).rev() {
                    let (mut own, [from, to]) =
                        (Tree::new(shards), [rank, rank + 1].map(|r| shards * r / ranks));
                    for shard in from..to {
                        let part = ![2, 5].contains(&shard);
                        total = own.put(shard, part.then(|| shard.to_string()), add);
                    }
                    for (at, part) in own.waiting() {
                        total = all.put_at(at, part, add);
                    }
                }
                assert_eq!(total.expect("all shards came").unwrap_or_default(), whole, "{ranks} ranks");
            }
        }
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
