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

/// The windows to train on and those to test on, each in ascending order.
pub fn split(windows: usize, test: usize, seed: u64) -> (Vec<usize>, Vec<usize>) {
    let mut test_set = permutation(windows, seed, "test windows", 0);
    let mut train_set = test_set.split_off(test.min(windows));
    train_set.sort_unstable();
    test_set.sort_unstable();
    (train_set, test_set)
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
        let (train_set, test_set) = split(1797, 297, 0);
        assert_eq!((train_set.len(), test_set.len()), (1500, 297));
        let mut all = [train_set.clone(), test_set.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, (0..1797).collect::<Vec<_>>());
        assert_ne!(test_set, split(1797, 297, 1).1);
        assert_eq!(test_set, split(1797, 297, 0).1);
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
