//! Whether one of two programs is slower, from pairs of measurements taken side by side.

/// What pairs of measurements say.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Verdict {
    Faster,
    Slower,
    Same,
}

/// The ratio of new to old, and the interval that holds its median in at least 95 of 100 cases.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Ratio {
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Ratio {
    /// Of pairs (old, new). The interval is between order statistics, so it supposes nothing of how noise is
    /// distributed; few pairs have their whole range.
    pub(super) fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let mut ratios: Vec<f64> = pairs.iter().map(|(old, new)| new / old).collect();
        if ratios.is_empty() || ratios.iter().any(|r| !r.is_finite()) {
            return None;
        }
        ratios.sort_by(f64::total_cmp);
        let n = ratios.len();
        let outside = ((n as f64 - 1.96 * (n as f64).sqrt()) / 2.0).floor().max(0.0) as usize;
        Some(Self { median: ratios[n / 2], low: ratios[outside], high: ratios[n - 1 - outside] })
    }

    /// Slower or faster, if the whole interval is beyond the tolerance: less is not told from how the linker lays code
    /// out.
    pub(super) fn verdict(self, tolerance: f64) -> Verdict {
        if self.low > 1.0 + tolerance {
            Verdict::Slower
        } else if self.high < 1.0 / (1.0 + tolerance) {
            Verdict::Faster
        } else {
            Verdict::Same
        }
    }
}

/// One verdict from two: time decides, and where it sees no difference, instructions do.
pub(super) fn both(time: Verdict, instructions: Option<Verdict>) -> Verdict {
    match (time, instructions) {
        (Verdict::Same, Some(verdict)) => verdict,
        (verdict, _) => verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(ratios: &[f64]) -> Ratio {
        Ratio::of(&ratios.iter().map(|r| (2.0, 2.0 * r)).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_clear_difference_is_seen_and_a_small_one_is_not() {
        assert_eq!(ratio(&[1.1; 15]).verdict(0.03), Verdict::Slower);
        assert_eq!(ratio(&[0.9; 15]).verdict(0.03), Verdict::Faster);
        assert_eq!(ratio(&[1.02; 15]).verdict(0.03), Verdict::Same);
        assert_eq!(ratio(&[0.98; 15]).verdict(0.03), Verdict::Same);
    }

    #[test]
    fn outliers_change_no_verdict() {
        let mut ratios = [1.0; 15];
        ratios[..3].fill(9.0);
        assert_eq!(ratio(&ratios), Ratio { median: 1.0, low: 1.0, high: 1.0 });
        let mut ratios = [1.2; 15];
        ratios[..3].fill(0.2);
        assert_eq!(ratio(&ratios).verdict(0.03), Verdict::Slower);
    }

    #[test]
    fn noise_on_both_sides_is_no_difference() {
        let ratios: Vec<f64> = (0..15).map(|i| 0.8 + 0.035 * f64::from(i)).collect();
        let ratio = ratio(&ratios);
        assert!(ratio.median > 1.03 && ratio.low < 1.0 && ratio.high > 1.1, "{ratio:?}");
        assert_eq!(ratio.verdict(0.03), Verdict::Same);
    }

    #[test]
    fn few_pairs_have_their_whole_range() {
        assert_eq!(ratio(&[1.5, 1.0, 2.0]), Ratio { median: 1.5, low: 1.0, high: 2.0 });
        assert_eq!(Ratio::of(&[]), None);
        assert_eq!(Ratio::of(&[(0.0, 1.0)]), None);
    }

    #[test]
    fn time_decides_and_instructions_where_it_does_not() {
        use Verdict::{Faster, Same, Slower};
        assert_eq!(both(Same, Some(Slower)), Slower);
        assert_eq!(both(Faster, Some(Slower)), Faster);
        assert_eq!(both(Slower, Some(Same)), Slower);
        assert_eq!(both(Same, None), Same);
    }
}
