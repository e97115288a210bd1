//! Reproducible random numbers.

/// Reproducible random numbers from a small linear congruential generator, which allow a failing case to be run again.
#[derive(Clone, Debug)]
pub struct Lcg(pub u64);

impl Lcg {
    /// The next 31 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// `n` numbers of 31 bits.
    pub fn take(&mut self, n: usize) -> Vec<u32> {
        (0..n).map(|_| u32::try_from(self.bits()).expect("31 bits")).collect()
    }

    /// A number in `0..n`; 0 if the range is empty.
    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.bits()).expect("31 bits") % n.max(1)
    }

    /// A number in `lo..hi`.
    #[allow(clippy::cast_precision_loss, reason = "31 bits")]
    pub fn range(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * (self.bits() as f64 / (1_u64 << 31) as f64)
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.range(0.0, 1.0) < p
    }

    /// One of `items`, which must not be empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
