//! Chooses the windows to test on, and the order of the others in training. Both depend only on the seed.

use std::fmt;

use rml_ir::random::Random;
use serde::{Deserialize, Serialize};

/// `0..n` in random order (Fisher and Yates), drawn for one purpose at one tick.
pub(crate) fn permutation(n: usize, seed: u64, purpose: &str, tick: u64) -> Vec<usize> {
    let random = Random::new(seed, purpose, tick);
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "below i + 1"
        )]
        let j = (random.uniform(i as u64) * (i + 1) as f64) as usize;
        order.swap(i, j.min(i));
    }
    order
}

/// The windows for each purpose, in ascending order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    /// The windows to train on.
    pub train: Vec<usize>,
    /// The windows to test on.
    pub test: Vec<usize>,
    /// The windows to compare epochs by.
    pub validation: Vec<usize>,
}

/// A number of windows or groups.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Amount {
    /// This share of them, rounded to the nearest count.
    Share(f64),
    /// This many.
    Count(usize),
}

impl Amount {
    /// Whether it is zero.
    pub(crate) fn is_none(self) -> bool {
        matches!(self, Self::Count(0)) || matches!(self, Self::Share(share) if share <= 0.0)
    }

    /// The number for `all` windows or groups.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a share is at least 0 and below 1"
    )]
    pub fn of(self, all: usize) -> usize {
        match self {
            Self::Share(share) => (share.clamp(0.0, 1.0) * all as f64).round() as usize,
            Self::Count(count) => count,
        }
    }
}

/// A request to keep windows for a purpose.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SplitRequest {
    /// The number of windows, or of groups if groups are drawn.
    pub amount: Amount,
    /// Whether the last windows in the order of the data are kept, for data with groups the last ones of each group;
    /// otherwise windows are drawn.
    pub last: bool,
}

/// The purpose of each window, for data that is divided by groups or whose windows share rows: ascending half-open
/// ranges of windows. All other windows are trained on.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ranges {
    /// The windows to test on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub test: Vec<(usize, usize)>,
    /// The windows to compare epochs by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub validation: Vec<(usize, usize)>,
    /// The windows that share rows with these, and are not used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<(usize, usize)>,
}

impl Ranges {
    /// The number of windows in ranges.
    pub fn count(of: &[(usize, usize)]) -> usize {
        of.iter().map(|(first, end)| end.saturating_sub(*first)).sum()
    }

    /// Whether these can be ranges of data with `windows` windows.
    pub fn is_possible(&self, windows: usize) -> bool {
        let mut all: Vec<_> = [&self.test[..], &self.validation, &self.left_out].concat();
        all.sort_unstable();
        let is_range = |(first, end): &(usize, usize)| first < end && *end <= windows;
        all.iter().all(is_range) && all.windows(2).all(|pair| pair[0].1 <= pair[1].0)
    }

    /// The windows of each part, for data with `windows` windows.
    pub fn parts(&self, windows: usize) -> Parts {
        let all = |of: &[(usize, usize)]| of.iter().flat_map(|(first, end)| *first..*end).collect::<Vec<_>>();
        let mut is_free = vec![true; windows];
        for ranges in [&self.test, &self.validation, &self.left_out] {
            all(ranges).into_iter().filter(|w| *w < windows).for_each(|window| is_free[window] = false);
        }
        let train = (0..windows).filter(|window| is_free[*window]).collect();
        Parts { train, test: all(&self.test), validation: all(&self.validation) }
    }
}

/// How many windows are kept for a purpose, and which. Displays in the notation of options: `12` or `last:12`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kept {
    /// The number of windows.
    pub count: usize,
    /// Whether they are the last ones in the order of the data; otherwise they are drawn.
    pub last: bool,
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.last { "last:" } else { "" }, self.count)
    }
}

/// Divides windows: some to test on, some of the others to compare epochs by, and the rest to train on. The windows for
/// testing do not depend on those for validation.
pub fn split(windows: usize, test: Kept, validation: Kept, seed: u64) -> Parts {
    let drawn = permutation(windows, seed, "test windows", 0);
    let (mut test, others) = take(drawn, test);
    let (mut validation, mut train) = take(others, validation);
    for part in [&mut train, &mut test, &mut validation] {
        part.sort_unstable();
    }
    Parts { train, test, validation }
}

/// The kept windows, and the others, each in the order of `drawn`.
fn take(mut drawn: Vec<usize>, kept: Kept) -> (Vec<usize>, Vec<usize>) {
    let count = kept.count.min(drawn.len());
    if kept.last {
        let mut sorted = drawn.clone();
        sorted.sort_unstable();
        let kept = &sorted[sorted.len() - count..];
        return drawn.into_iter().partition(|window| kept.first().is_some_and(|first| window >= first));
    }
    let others = drawn.split_off(count);
    (drawn, others)
}

/// The order of the windows in an epoch (from 0).
pub fn order(train_set: &[usize], shuffle: bool, seed: u64, epoch: u64) -> Vec<usize> {
    if !shuffle {
        return train_set.to_vec();
    }
    permutation(train_set.len(), seed, "shuffle", epoch).into_iter().map(|i| train_set[i]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(count: usize) -> Kept {
        Kept { count, last: false }
    }

    fn last(count: usize) -> Kept {
        Kept { count, last: true }
    }

    #[test]
    fn the_last_windows_are_kept_whatever_the_seed() {
        for seed in 0..5 {
            let parts = split(10, last(3), last(2), seed);
            assert_eq!(
                (parts.train, parts.validation, parts.test),
                (vec![0, 1, 2, 3, 4], vec![5, 6], vec![7, 8, 9])
            );
            assert_eq!(split(10, last(0), last(4), seed).validation, [6, 7, 8, 9]);
            assert_eq!(split(3, last(9), last(1), seed).test, [0, 1, 2]);
        }
        assert_eq!((drawn(12).to_string(), last(12).to_string()), ("12".to_owned(), "last:12".to_owned()));
    }

    #[test]
    fn some_windows_may_be_drawn_and_others_the_last() {
        let parts = split(100, last(10), drawn(20), 4);
        assert_eq!(parts.test, (90..100).collect::<Vec<_>>());
        assert_ne!(parts.validation, (70..90).collect::<Vec<_>>());
        assert_ne!(parts.validation, split(100, last(10), drawn(20), 5).validation);
        let parts = split(100, drawn(20), last(10), 4);
        assert_eq!(parts.test, split(100, drawn(20), drawn(0), 4).test);
        let others = (0..100).filter(|w| !parts.test.contains(w)).collect::<Vec<_>>();
        assert_eq!(parts.validation, others[70..]);
        assert_eq!(parts.train, others[..70]);
    }

    #[test]
    fn a_split_is_a_partition_that_depends_on_the_seed() {
        let Parts { train, test: test_set, validation } = split(1797, drawn(297), drawn(300), 0);
        assert_eq!((train.len(), test_set.len(), validation.len()), (1200, 297, 300));
        let mut all = [train, test_set.clone(), validation].concat();
        all.sort_unstable();
        assert_eq!(all, (0..1797).collect::<Vec<_>>());
        assert_ne!(test_set, split(1797, drawn(297), drawn(300), 1).test);
        assert_eq!(test_set, split(1797, drawn(297), drawn(0), 0).test);
        let first = test_set.iter().filter(|w| **w < 900).count();
        assert!((120..180).contains(&first), "drawn from everywhere, {first} of 297 from the first half");
    }

    #[test]
    fn epochs_have_orders_of_their_own() {
        let windows: Vec<usize> = (10..60).collect();
        let (a, b) = (order(&windows, true, 3, 0), order(&windows, true, 3, 1));
        assert_ne!(a, b);
        assert_eq!(a, order(&windows, true, 3, 0));
        let mut sorted = a.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, windows);
        assert_eq!(order(&windows, false, 3, 0), windows);
    }
}
