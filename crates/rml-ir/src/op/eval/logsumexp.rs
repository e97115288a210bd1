//! Logarithms of sums of exponentials.

use rml_kernels::Unary;

use super::view::Float;

/// Elements whose exponentials are computed together.
const TOGETHER: usize = 64;

/// The logarithm of the sum of the exponentials along an axis, which are added first to last. Blocks have `n` rows of
/// `inner` elements; `out` has the largest elements, and gets the result. The largest element is subtracted first, so
/// that finite elements never overflow; an infinite one is not, since their difference is NaN.
pub(super) fn logsumexp_of<T: Float>(n: usize, inner: usize, xs: &[T], out: &mut [T]) {
    if n == 0 || out.is_empty() {
        return;
    }
    for (block, out) in xs.chunks_exact(n * inner).zip(out.chunks_exact_mut(inner)) {
        if let [out] = out {
            *out = of_row(block, *out);
            continue;
        }
        for (i, out) in out.chunks_mut(TOGETHER).enumerate() {
            let columns = i * TOGETHER..i * TOGETHER + out.len();
            of_columns(block.chunks_exact(inner).map(|row| &row[columns.clone()]), out);
        }
    }
}

/// The number that is subtracted from elements with that largest one.
fn shift<T: Float>(largest: T) -> T {
    let infinity = T::rounded(f64::INFINITY);
    if largest == infinity || largest == -infinity { T::ZERO } else { largest }
}

/// Of the elements of one row, of which `largest` is the largest one.
fn of_row<T: Float>(row: &[T], largest: T) -> T {
    let (shift, mut sum, mut exps) = (shift(largest), T::ZERO, [T::ZERO; TOGETHER]);
    for xs in row.chunks(TOGETHER) {
        let exps = &mut exps[..xs.len()];
        exps.iter_mut().zip(xs).for_each(|(to, x)| *to = *x - shift);
        rml_kernels::unary_in_place(Unary::Exp, exps);
        sum = exps.iter().fold(sum, |sum, x| sum + *x);
    }
    rml_kernels::unary_one(Unary::Log, sum) + shift
}

/// Of columns, of which `out` has the largest elements.
fn of_columns<'a, T: Float + 'a>(rows: impl Iterator<Item = &'a [T]>, out: &mut [T]) {
    let (mut sums, mut exps) = ([T::ZERO; TOGETHER], [T::ZERO; TOGETHER]);
    let (sums, exps) = (&mut sums[..out.len()], &mut exps[..out.len()]);
    out.iter_mut().for_each(|largest| *largest = shift(*largest));
    for row in rows {
        for ((to, x), shift) in exps.iter_mut().zip(row).zip(&*out) {
            *to = *x - *shift;
        }
        rml_kernels::unary_in_place(Unary::Exp, exps);
        sums.iter_mut().zip(&*exps).for_each(|(sum, x)| *sum += *x);
    }
    rml_kernels::unary_in_place(Unary::Log, sums);
    out.iter_mut().zip(sums).for_each(|(shift, log)| *shift = *log + *shift);
}
