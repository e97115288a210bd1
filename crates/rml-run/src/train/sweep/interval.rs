//! Interquartile means with bootstrap intervals, as the library rliable computes them (Agarwal and others, "Deep
//! reinforcement learning at the edge of the statistical precipice").

use rml_ir::random::Random;

/// How many samples of a bootstrap are drawn.
const REPEATS: u64 = 2000;
/// The share of samples below and above the interval: it covers 95 %.
const TAILS: f64 = 0.025;

/// The mean without the lowest and the highest quarter of the values, rounded down to whole values; NaN if a value is
/// NaN. The values are sorted.
pub(super) fn interquartile_mean(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let cut = values.len() / 4;
    let middle = &values[cut..values.len() - cut];
    if values.iter().any(|x| x.is_nan()) {
        return f64::NAN;
    }
    middle.iter().sum::<f64>() / middle.len() as f64
}

/// The interval that has 95 % of the interquartile means of samples of the values, drawn with replacement: the
/// percentile bootstrap. All values belong to one task, the only stratum. The same values in any order give the same
/// interval; less than two values, or one that is not finite, have none.
pub(super) fn interval(values: &[f64]) -> Option<[f64; 2]> {
    if values.len() < 2 || values.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut sample = vec![0.0; sorted.len()];
    let mut mean = |repeat: u64| {
        let random = Random::new(0, "bootstrap", repeat);
        for (i, value) in sample.iter_mut().enumerate() {
            let at = (random.uniform(i as u64) * sorted.len() as f64) as usize;
            *value = sorted[at.min(sorted.len() - 1)];
        }
        interquartile_mean(&mut sample)
    };
    let mut means: Vec<f64> = (0..REPEATS).map(&mut mean).collect();
    means.sort_by(f64::total_cmp);
    Some([quantile(&means, TAILS), quantile(&means, 1.0 - TAILS)])
}

/// The quantile of sorted values, with linear interpolation between neighbours.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let below = place.floor();
    let (low, high) = (sorted[below as usize], sorted[place.ceil() as usize]);
    low + (place - below) * (high - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.trim_mean(values, 0.25)`.
    #[test]
    fn a_quarter_is_cut_at_both_ends() {
        let mean = |values: &[f64]| interquartile_mean(&mut values.to_vec());
        assert_eq!(mean(&[9.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(mean(&[3.0, 1.0, 2.0]), 2.0, "less than a quarter of three values is none");
        assert_eq!(mean(&[100.0, 1.0, 2.0, 3.0, -50.0]), 2.0);
        assert_eq!(mean(&[8.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), 4.5);
        assert!(mean(&[1.0, f64::NAN, 2.0, 3.0, 4.0]).is_nan());
    }

    #[test]
    fn intervals_do_not_depend_on_the_order() {
        let values = [0.3, 0.1, 0.9, 0.4, 0.35, 0.2, 0.7, 0.5];
        let found = interval(&values).unwrap();
        let mut other = values;
        other.reverse();
        assert_eq!(interval(&other), Some(found));
        // `arch.bootstrap.IIDBootstrap`, which rliable uses, with 50,000 samples: 0.2375, 0.65.
        assert!((found[0] - 0.2375).abs() < 0.02 && (found[1] - 0.65).abs() < 0.03, "{found:?}");
        assert_eq!(interval(&[0.5]), None);
        assert_eq!(interval(&[0.5, f64::INFINITY]), None);
        assert_eq!(interval(&[2.0, 2.0, 2.0]), Some([2.0, 2.0]));
    }
}
