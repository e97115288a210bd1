//! Chooses which of many small steps are timed.

use super::Recorder;

/// Chooses which of many steps are timed. Reading the clock then takes about a hundredth of the time of all steps.
/// Periodic steps are sampled at all places of their period, because the distance between two choices varies.
#[derive(Clone, Debug)]
pub struct Sampler {
    /// The time of reading the clock once, in nanoseconds.
    clock: u64,
    /// The number of steps to skip before the next timed one.
    left: u64,
    /// The number of steps that are skipped before that timed step.
    passed: u64,
    seed: u64,
}

impl Sampler {
    /// Reading the clock may take one part in this many of the total time.
    const SHARE: u64 = 100;
    /// The maximum number of steps that are skipped in a row.
    const MOST: u64 = 1 << 14;

    /// A sampler for steps that are timed with this recorder.
    pub fn new(recorder: &Recorder) -> Self {
        let pair = |_| {
            let before = recorder.now();
            recorder.now() - before
        };
        Self { clock: (0..32).map(pair).min().unwrap_or(0), left: 0, passed: 0, seed: 1 }
    }

    /// The time of reading the clock once, in nanoseconds.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// Whether the next step is timed; if so, the number of steps that it represents.
    #[inline]
    pub fn choose(&mut self) -> Option<u64> {
        if self.left > 0 {
            self.left -= 1;
            return None;
        }
        Some(self.passed + 1)
    }

    /// Notes the result of a timed step: how often the clock was read in it, and its time in nanoseconds, clock
    /// readings included.
    pub fn timed(&mut self, reads: u64, ns: u64) {
        let spent = reads * self.clock;
        let net = ns.saturating_sub(spent).max(ns / 8).max(1);
        let mean = (Self::SHARE * spent / net).min(Self::MOST);
        // A linear congruential generator; its upper bits are good enough to break periods.
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.passed = if mean == 0 { 0 } else { mean / 2 + (self.seed >> 33) % (mean + 1) };
        self.left = self.passed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_steps_are_all_timed_and_short_ones_seldom() {
        let mut sampler = Sampler { clock: 25, left: 0, passed: 0, seed: 1 };
        let count = |sampler: &mut Sampler, reads: u64, ns: u64| {
            let (mut timed, mut stands_for) = (0, 0);
            for _ in 0..100_000 {
                if let Some(weight) = sampler.choose() {
                    (timed, stands_for) = (timed + 1, stands_for + weight);
                    sampler.timed(reads, ns);
                }
            }
            (timed, stands_for)
        };
        assert_eq!(count(&mut sampler, 2, 50_000), (100_000, 100_000));
        // Two readings in a step of 100 ns: about one step in 51 is timed, and it represents that number of steps.
        let (timed, stands_for) = count(&mut sampler, 2, 150);
        assert!(
            (1500..2500).contains(&timed) && (99_900..=100_000).contains(&stands_for),
            "{timed} {stands_for}"
        );
    }
}
