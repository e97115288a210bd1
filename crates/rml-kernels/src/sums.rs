//! Sums and maxima.
//!
//! The elements of a sum are dealt to sixteen lanes, element i to lane i mod 16, which are accumulated first to last
//! from 0; then lane l + 8 is added to lane l, then l + 4, l + 2 and l + 1. That order is the same for sums along any
//! axis, so a sum has the same bits whatever else is summed beside it.

use crate::isa::{Isa, Task};
use crate::real::KernelNumber;

const LANES: usize = 16;

/// Columns that are summed together.
const TILE: usize = 16;

/// Adds up sixteen lanes of columns.
#[inline(always)]
fn tree<T: KernelNumber, const N: usize>(lanes: &mut [[T; N]; LANES]) -> [T; N] {
    let mut half = LANES / 2;
    while half > 0 {
        let (low, high) = lanes.split_at_mut(half);
        for (low, high) in low.iter_mut().zip(high) {
            for (low, high) in low.iter_mut().zip(high) {
                *low += *high;
            }
        }
        half /= 2;
    }
    lanes[0]
}

/// The sum of a slice.
#[inline(always)]
fn of_slice<T: KernelNumber>(x: &[T]) -> T {
    if x.len() <= 4 {
        // Of the sixteen lanes, these are not zero.
        let lane = |i: usize| x.get(i).map_or(T::ZERO, |x| T::ZERO + *x);
        return (lane(0) + lane(2)) + (lane(1) + lane(3));
    }
    let mut lanes = [T::ZERO; LANES];
    let (blocks, rest) = x.as_chunks::<LANES>();
    for block in blocks {
        for (lane, x) in lanes.iter_mut().zip(block) {
            *lane += *x;
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane += *x;
    }
    let mut columns = [[T::ZERO; 1]; LANES];
    for (column, lane) in columns.iter_mut().zip(lanes) {
        column[0] = lane;
    }
    tree(&mut columns)[0]
}

/// The sums of `TILE` columns from column `from` on, of rows `stride` apart.
#[inline(always)]
fn of_tile<T: KernelNumber>(x: &[T], stride: usize, from: usize, out: &mut [T; TILE]) {
    let mut lanes = [[T::ZERO; TILE]; LANES];
    for (i, row) in x.chunks_exact(stride).enumerate() {
        let lane = &mut lanes[i % LANES];
        let (mut sums, row) = (*lane, &row[from..from + TILE]);
        for j in 0..TILE {
            sums[j] += row[j];
        }
        *lane = sums;
    }
    *out = tree(&mut lanes);
}

/// As [`sums`].
struct Sums<'a, T> {
    n: usize,
    inner: usize,
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: KernelNumber> Task for Sums<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Sums { n, inner, x, out } = self;
        if inner == 1 {
            for (x, out) in x.chunks_exact(n).zip(out) {
                *out = of_slice(x);
            }
            return;
        }
        for (x, out) in x.chunks_exact(n * inner).zip(out.chunks_exact_mut(inner)) {
            let (tiles, rest) = out.as_chunks_mut::<TILE>();
            let done = tiles.len() * TILE;
            for (i, tile) in tiles.iter_mut().enumerate() {
                of_tile(x, inner, i * TILE, tile);
            }
            if rest.is_empty() {
                continue;
            }
            let mut lanes = [[T::ZERO; TILE]; LANES];
            for (i, row) in x.chunks_exact(inner).enumerate() {
                for (lane, x) in lanes[i % LANES].iter_mut().zip(&row[done..]) {
                    *lane += *x;
                }
            }
            rest.copy_from_slice(&tree(&mut lanes)[..rest.len()]);
        }
    }
}

/// The largest or the smallest element of each row of `n` elements, NaN if there is one.
struct Extremes<'a, T> {
    largest: bool,
    n: usize,
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: KernelNumber> Task for Extremes<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Extremes { largest, n, x, out } = self;
        for (row, out) in x.chunks_exact(n).zip(out) {
            *out = if largest {
                extreme(row, -T::INFINITY, |x, best| x > best)
            } else {
                extreme(row, T::INFINITY, |x, best| x < best)
            };
        }
    }
}

#[inline(always)]
fn extreme<T: KernelNumber>(x: &[T], start: T, beats: impl Fn(T, T) -> bool + Copy) -> T {
    let better = |best: T, x: T| if beats(x, best) || x.is_nan() { x } else { best };
    let (blocks, rest) = x.as_chunks::<LANES>();
    let mut best = start;
    if !blocks.is_empty() {
        let mut lanes = [start; LANES];
        for block in blocks {
            for (best, x) in lanes.iter_mut().zip(block) {
                *best = better(*best, *x);
            }
        }
        best = lanes[0];
        for lane in &lanes[1..] {
            best = better(best, *lane);
        }
    }
    for x in rest {
        best = better(best, *x);
    }
    best
}

pub(crate) fn sums_on<T: KernelNumber>(isa: Isa, n: usize, inner: usize, x: &[T], out: &mut [T]) {
    assert_eq!(Some(x.len()), out.len().checked_mul(n), "n elements for each sum");
    assert!(inner > 0 && out.len().is_multiple_of(inner), "sums stand in rows of the inner size");
    if n == 0 {
        out.fill(T::ZERO);
    } else {
        isa.run(Sums { n, inner, x, out });
    }
}

pub(crate) fn extremes_on<T: KernelNumber>(isa: Isa, largest: bool, n: usize, x: &[T], out: &mut [T]) {
    assert_eq!(Some(x.len()), out.len().checked_mul(n), "n elements for each row");
    if n == 0 {
        out.fill(if largest { -T::INFINITY } else { T::INFINITY });
    } else {
        isa.run(Extremes { largest, n, x, out });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums along any axis and of all sizes, on all paths, against the order that is stated.
    #[test]
    fn sums_follow_the_stated_order() {
        let x: Vec<f32> = (0..40_u16 * 40 * 3).map(|i| 1.0 / (1.0 + f32::from(i * 7919 % 1000))).collect();
        for n in (0..40).chain([100, 1000]) {
            for inner in [1, 2, 15, 16, 17, 33] {
                let outer = (x.len() / (n * inner).max(1)).min(3);
                let x = &x[..outer * n * inner];
                let wanted: Vec<f32> = (0..outer * inner)
                    .map(|at| {
                        let mut lanes = [0.0; LANES];
                        (0..n).for_each(|i| lanes[i % LANES] += x[(at / inner * n + i) * inner + at % inner]);
                        for half in [8, 4, 2, 1] {
                            (0..half).for_each(|l| lanes[l] += lanes[l + half]);
                        }
                        lanes[0]
                    })
                    .collect();
                for isa in Isa::available() {
                    let mut out = vec![7.0; outer * inner];
                    sums_on(isa, n, inner, x, &mut out);
                    assert_eq!(out, wanted, "{n} {inner} {isa:?}");
                }
            }
        }
    }

    #[test]
    fn sums_of_zeros_and_of_nothing_are_zero() {
        let sum = |x: &[f64]| {
            let mut out = [7.0];
            sums_on(Isa::best(), x.len(), 1, x, &mut out);
            out[0]
        };
        assert!(sum(&[-0.0]).is_sign_positive());
        assert!(sum(&[]).is_sign_positive());
        assert!(sum(&[1.0, f64::INFINITY, f64::NEG_INFINITY]).is_nan());
    }

    #[test]
    fn the_largest_and_the_smallest_element_are_found_at_any_place() {
        fn max(isa: Isa, x: &[f32]) -> f32 {
            let two = [x, x].concat();
            let mut out = [7.0; 2];
            extremes_on(isa, true, x.len(), &two, &mut out);
            assert_eq!(out[0].to_bits(), out[1].to_bits());
            let negated: Vec<f32> = two.iter().map(|x| -x).collect();
            let mut least = [7.0; 2];
            extremes_on(isa, false, x.len(), &negated, &mut least);
            assert!(least[0] == -out[0] || (least[0].is_nan() && out[0].is_nan()));
            out[0]
        }
        for isa in Isa::available() {
            for n in 1..70 {
                for at in 0..n {
                    let mut x = vec![-3.0_f32; n];
                    x[at] = -1.0;
                    assert_eq!(max(isa, &x), -1.0);
                    x[(at * 7 + 3) % n] = f32::NAN;
                    assert!(max(isa, &x).is_nan());
                }
            }
            assert_eq!(max(isa, &[]), f32::NEG_INFINITY);
        }
    }
}
