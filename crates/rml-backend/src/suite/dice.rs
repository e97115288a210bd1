//! Pseudo-random choices of the suite: the same in every run.

/// The distribution of random numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Nums {
    /// Numbers of both signs, between 2^-9 and 2^4.
    Scales,
    /// Positive numbers between 2^-9 and 2^4.
    Positive,
    /// Numbers of both signs, between 2^-1/2 and 2^1/2: products of many of them remain moderate.
    Near,
    /// Uniform in `-1..1`.
    Unit,
    /// Multiples of 1/4 in `-3..=3`: many are equal, and some are halves.
    Grid,
    /// Uniform in `-1000..1000`.
    Large,
}

/// A pseudo-random generator (SplitMix64), seeded by a text.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: &str) -> Self {
        Self(rml_ir::random::path_hash(seed))
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `n`, which must not be 0.
    #[allow(clippy::cast_possible_truncation, reason = "the remainder is below a usize")]
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// A number in `lo..hi`, or `lo` if this range is empty.
    pub(super) fn int(&mut self, lo: i64, hi: i64) -> i64 {
        let width = hi.wrapping_sub(lo).cast_unsigned();
        if lo >= hi { lo } else { lo.wrapping_add((self.bits() % width).cast_signed()) }
    }

    pub(super) fn flag(&mut self) -> bool {
        self.bits() & 1 == 1
    }

    /// A number uniform in `0.0..1.0`.
    #[allow(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub(super) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number of the given distribution.
    pub(super) fn num(&mut self, kind: Nums) -> f64 {
        let sign = if self.flag() { 1.0 } else { -1.0 };
        match kind {
            Nums::Scales => sign * (self.unit() * 13.0 - 9.0).exp2(),
            Nums::Positive => (self.unit() * 13.0 - 9.0).exp2(),
            Nums::Near => sign * (self.unit() - 0.5).exp2(),
            Nums::Unit => 2.0 * self.unit() - 1.0,
            Nums::Grid => (self.unit() * 25.0).floor() * 0.25 - 3.0,
            Nums::Large => sign * self.unit() * 1000.0,
        }
    }
}
