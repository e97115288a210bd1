//! Which windows are tested on, and in which order the others are trained on: functions of the seed alone.

use rml_ir::random::Random;

/// `0..n` in random order (Fisher and Yates), drawn for one purpose at one tick.
fn permutation(n: usize, seed: u64, purpose: &str, tick: u64) -> Vec<usize> {
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

/// What windows are for, each part in ascending order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    /// Those to train on.
    pub train: Vec<usize>,
    /// Those to test on.
    pub test: Vec<usize>,
    /// Those to compare epochs by.
    pub validation: Vec<usize>,
}

/// Divides windows: so many to test on, so many to compare epochs by, the others to train on. Which ones are tested does not depend on
/// how many there are for validation.
pub fn split(windows: usize, test: usize, validation: usize, seed: u64) -> Parts {
    let mut order = permutation(windows, seed, "test windows", 0);
    let mut train = order.split_off(test.saturating_add(validation).min(windows));
    let mut validation = order.split_off(test.min(order.len()));
    let mut test = order;
    for part in [&mut train, &mut test, &mut validation] {
        part.sort_unstable();
    }
    Parts { train, test, validation }
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

    #[test]
    fn a_split_is_a_partition_that_depends_on_the_seed() {
        let Parts { train, test: test_set, validation } = split(1797, 297, 300, 0);
        assert_eq!((train.len(), test_set.len(), validation.len()), (1200, 297, 300));
        let mut all = [train, test_set.clone(), validation].concat();
        all.sort_unstable();
        assert_eq!(all, (0..1797).collect::<Vec<_>>());
        assert_ne!(test_set, split(1797, 297, 300, 1).test);
        assert_eq!(test_set, split(1797, 297, 0, 0).test);
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
