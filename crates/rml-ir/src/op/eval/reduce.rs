//! Reductions along one axis or over everything, and the normalisations over the last axis.
//!
//! The order is fixed: sums of nums add up sixteen lanes of elements ([`rml_kernels::sums`]); other reductions take the
//! elements first to last (row-major, if it is over everything), one by one. Results along one axis do not depend on
//! the lengths of the others.

use std::hint::select_unpredictable;

use rml_kernels::Unary;

use super::logsumexp::logsumexp_of;
use super::view::{Element, Elements, Float, View};
use super::{CHECKED, EvalError};
use crate::op::Reduction;
use crate::types::Shape;
use crate::value::{Data, Value};

/// A row-major tensor around the reduced axis: `outer` blocks of `n` rows of `inner` elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Around {
    /// How many blocks.
    pub outer: usize,
    /// How many rows a block has: the length of the axis.
    pub n: usize,
    /// How many elements a row has.
    pub inner: usize,
}

impl Around {
    /// Around an axis of a tensor with those dimensions; `None` = around all elements.
    pub fn axis(dims: &[usize], axis: Option<usize>) -> Around {
        match axis {
            None => Around { outer: 1, n: dims.iter().product(), inner: 1 },
            Some(axis) => Around {
                outer: dims[..axis].iter().product(),
                n: dims[axis],
                inner: dims[axis + 1..].iter().product(),
            },
        }
    }

    /// How many elements the result of a reduction has.
    fn results(&self) -> usize {
        self.outer * self.inner
    }

    /// Folds the elements along the axis, first to last, into what `out` holds; `f` is also told the position.
    fn fold<T: Copy, A: Copy>(&self, xs: &[T], out: &mut [A], mut f: impl FnMut(A, T, usize) -> A) {
        if self.n == 0 || out.is_empty() {
            return;
        }
        let blocks = xs.chunks_exact(self.n * self.inner);
        for (block, out) in blocks.zip(out.chunks_exact_mut(self.inner)) {
            if let [out] = out {
                *out = block.iter().enumerate().fold(*out, |acc, (i, &x)| f(acc, x, i));
                continue;
            }
            for (i, row) in block.chunks_exact(self.inner).enumerate() {
                for (acc, &x) in out.iter_mut().zip(row) {
                    *acc = f(*acc, x, i);
                }
            }
        }
    }

    pub(super) fn sum_floats_into<T: Float>(&self, xs: &[T], out: &mut [T]) {
        if !out.is_empty() {
            rml_kernels::sums(self.n, self.inner, xs, out);
        }
    }

    pub(super) fn mean_into<T: Float>(&self, xs: &[T], out: &mut [T]) {
        self.sum_floats_into(xs, out);
        let n = T::from_count(self.n);
        out.iter_mut().for_each(|sum| *sum = *sum / n);
    }

    /// Products, first to last; 1 of nothing.
    pub(super) fn prod_into<T: Float>(&self, xs: &[T], out: &mut [T]) {
        out.fill(T::from_count(1));
        self.fold(xs, out, |product, x, _| product * x);
    }

    pub(super) fn sum_ints_into(&self, xs: &[i64], out: &mut [i64]) -> Result<(), EvalError> {
        let mut overflow = false;
        out.fill(0);
        self.fold(xs, out, |acc, x, _| {
            let (sum, over) = acc.overflowing_add(x);
            overflow |= over;
            sum
        });
        if overflow { Err(EvalError::IntegerOverflow) } else { Ok(()) }
    }

    pub(super) fn sum_floats<T: Float>(&self, xs: &[T]) -> Vec<T> {
        let mut out = vec![T::ZERO; self.results()];
        self.sum_floats_into(xs, &mut out);
        out
    }

    fn sum(&self, elements: Elements<'_>) -> Result<Data, EvalError> {
        match elements {
            Elements::F32(xs) => Ok(Data::F32(self.sum_floats(xs))),
            Elements::F64(xs) => Ok(Data::F64(self.sum_floats(xs))),
            Elements::Int(xs) => {
                let mut out = vec![0; self.results()];
                self.sum_ints_into(xs, &mut out)?;
                Ok(Data::Int(out))
            }
            Elements::Bool(_) => unreachable!("{CHECKED}"),
        }
    }
}

/// The shape without the reduced axis.
fn reduced(dims: &[usize], axis: Option<usize>) -> Shape {
    match axis {
        None => Shape::scalar(),
        Some(axis) => dims.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, &d)| d).collect(),
    }
}

/// Folds an axis, or all elements.
pub(super) fn reduce(by: Reduction, axis: Option<usize>, x: &View<'_>) -> Result<Value, EvalError> {
    Ok(match by {
        Reduction::Sum => sum(axis, x)?,
        Reduction::Mean | Reduction::Prod | Reduction::LogSumExp => of_numbers(by, axis, x),
        Reduction::Max => extreme(axis, x, true),
        Reduction::Min => extreme(axis, x, false),
        Reduction::ArgMax => position(axis, x, true),
        Reduction::ArgMin => position(axis, x, false),
        Reduction::Any => quantify(axis, x, false),
        Reduction::All => quantify(axis, x, true),
    })
}

/// Sum; 0 of nothing.
fn sum(axis: Option<usize>, x: &View<'_>) -> Result<Value, EvalError> {
    let data = Around::axis(x.dims, axis).sum(x.elements)?;
    Ok(Value::new(reduced(x.dims, axis), data))
}

/// A fold that makes numbers of numbers. False, and nothing done, for any other.
pub(super) fn nums_into<T: Ordered + Float>(by: Reduction, around: Around, xs: &[T], out: &mut [T]) -> bool {
    match by {
        Reduction::Sum => around.sum_floats_into(xs, out),
        Reduction::Mean => around.mean_into(xs, out),
        Reduction::Prod => around.prod_into(xs, out),
        Reduction::LogSumExp => {
            float_extreme_into(around, xs, true, out);
            logsumexp_of(around.n, around.inner, xs, out);
        }
        Reduction::Max => float_extreme_into(around, xs, true, out),
        Reduction::Min => float_extreme_into(around, xs, false, out),
        Reduction::ArgMax | Reduction::ArgMin | Reduction::Any | Reduction::All => return false,
    }
    true
}

/// A fold of nums to nums.
fn of_numbers(by: Reduction, axis: Option<usize>, x: &View<'_>) -> Value {
    fn folded<T: Ordered + Float>(by: Reduction, around: Around, xs: &[T]) -> Data {
        let mut out = vec![T::ZERO; around.results()];
        assert!(nums_into(by, around, xs, &mut out), "{CHECKED}");
        T::data(out)
    }
    let around = Around::axis(x.dims, axis);
    let data = match x.elements {
        Elements::F32(xs) => folded(by, around, xs),
        Elements::F64(xs) => folded(by, around, xs),
        _ => unreachable!("{CHECKED}"),
    };
    Value::new(reduced(x.dims, axis), data)
}

/// Types with a largest and a smallest element.
pub(super) trait Ordered: Element {
    const LEAST: Self;
    const GREATEST: Self;
    /// Whether `self`, coming later, takes the place of `best`: NaN beats all numbers, and the first among
    /// equals stays.
    fn beats(self, best: Self, largest: bool) -> bool;
}

impl Ordered for i64 {
    const LEAST: i64 = i64::MIN;
    const GREATEST: i64 = i64::MAX;
    fn beats(self, best: i64, largest: bool) -> bool {
        if largest { self > best } else { self < best }
    }
}

macro_rules! ordered {
    ($t:ident) => {
        impl Ordered for $t {
            const LEAST: $t = $t::NEG_INFINITY;
            const GREATEST: $t = $t::INFINITY;
            fn beats(self, best: $t, largest: bool) -> bool {
                let beyond = if largest { self > best } else { self < best };
                beyond || (self.is_nan() && !best.is_nan())
            }
        }
    };
}
ordered!(f32);
ordered!(f64);

/// Where a search for the largest (or smallest) element starts.
fn start<T: Ordered>(largest: bool) -> T {
    if largest { T::LEAST } else { T::GREATEST }
}

/// Largest or smallest elements.
pub(super) fn extreme_into<T: Ordered>(around: Around, xs: &[T], largest: bool, out: &mut [T]) {
    out.fill(start(largest));
    around.fold(xs, out, |best, x, _| if x.beats(best, largest) { x } else { best });
}

/// Largest or smallest numbers. Of equal ones it is the first, so the sign of a zero is defined, and the first NaN.
pub(super) fn float_extreme_into<T: Ordered + Float>(around: Around, xs: &[T], largest: bool, out: &mut [T]) {
    if around.inner != 1 || around.n < VECTOR {
        return extreme_into(around, xs, largest, out);
    }
    rml_kernels::extremes(largest, around.n, xs, out);
    for (row, best) in xs.chunks_exact(around.n).zip(out) {
        if *best == T::ZERO || best.is_nan() {
            *best = row.iter().copied().find(|x| x.is_nan() || *x == *best).unwrap_or(*best);
        }
    }
}

/// From how many elements in a row on vectors are faster.
const VECTOR: usize = 8;

/// Positions of the first largest or smallest elements.
pub(super) fn position_into<T: Ordered>(around: Around, xs: &[T], largest: bool, out: &mut [i64]) {
    let Around { n, inner, .. } = around;
    match (n, inner) {
        (0, _) | (_, 0) => out.fill(0),
        // So few that the loop is left out.
        (2, 1) => {
            for (row, out) in xs.as_chunks::<2>().0.iter().zip(out) {
                *out = first_best(row.iter(), largest);
            }
        }
        _ => {
            for (block, out) in xs.chunks_exact(n * inner).zip(out.chunks_exact_mut(inner)) {
                for (j, out) in out.iter_mut().enumerate() {
                    *out = first_best(block[j..].iter().step_by(inner), largest);
                }
            }
        }
    }
}

/// The position of the first largest or smallest element. Nobody can guess where it is, so nothing branches.
#[inline]
#[allow(clippy::cast_possible_wrap, reason = "a position in memory fits i64")]
fn first_best<'a, T: Ordered + 'a>(xs: impl Iterator<Item = &'a T>, largest: bool) -> i64 {
    let best = xs.enumerate().fold((start::<T>(largest), 0), |(best, at), (i, &x)| {
        select_unpredictable(x.beats(best, largest), (x, i), (best, at))
    });
    best.1 as i64
}

/// Whether any element, or all of them, are true.
pub(super) fn quantify_into(around: Around, xs: &[bool], all: bool, out: &mut [bool]) {
    out.fill(all);
    around.fold(xs, out, |acc, x, _| if all { acc & x } else { acc | x });
}

/// Largest or smallest element.
fn extreme(axis: Option<usize>, x: &View<'_>, largest: bool) -> Value {
    fn of<T: Ordered>(around: &Around, xs: &[T], largest: bool) -> Vec<T> {
        let mut out = vec![start(largest); around.results()];
        extreme_into(*around, xs, largest, &mut out);
        out
    }
    let around = Around::axis(x.dims, axis);
    let data = match x.elements {
        Elements::Int(xs) => Data::Int(of(&around, xs, largest)),
        Elements::F32(xs) => Data::F32(of(&around, xs, largest)),
        Elements::F64(xs) => Data::F64(of(&around, xs, largest)),
        Elements::Bool(_) => unreachable!("{CHECKED}"),
    };
    Value::new(reduced(x.dims, axis), data)
}

/// Position of the first largest or smallest element.
fn position(axis: Option<usize>, x: &View<'_>, largest: bool) -> Value {
    fn of<T: Ordered>(around: &Around, xs: &[T], largest: bool) -> Vec<i64> {
        let mut out = vec![0; around.results()];
        position_into(*around, xs, largest, &mut out);
        out
    }
    let around = Around::axis(x.dims, axis);
    let positions = match x.elements {
        Elements::Int(xs) => of(&around, xs, largest),
        Elements::F32(xs) => of(&around, xs, largest),
        Elements::F64(xs) => of(&around, xs, largest),
        Elements::Bool(_) => unreachable!("{CHECKED}"),
    };
    Value::new(reduced(x.dims, axis), Data::Int(positions))
}

/// Whether any element, or all of them, are true.
fn quantify(axis: Option<usize>, x: &View<'_>, all: bool) -> Value {
    let xs = bool::of(x.elements);
    let around = Around::axis(x.dims, axis);
    let mut found = vec![all; around.results()];
    quantify_into(around, xs, all, &mut found);
    Value::new(reduced(x.dims, axis), Data::Bool(found))
}

/// Running sums along an axis, first to last or last to first.
pub(super) fn cumsum(axis: usize, reverse: bool, x: &View<'_>) -> Result<Value, EvalError> {
    fn run<T: Copy>(around: &Around, xs: &[T], reverse: bool, mut add: impl FnMut(T, T) -> T) -> Vec<T> {
        let mut out = xs.to_vec();
        let (n, inner) = (around.n, around.inner);
        for block in out.chunks_exact_mut((n * inner).max(1)) {
            for i in 1..n {
                let (from, to) = if reverse { (n - i, n - 1 - i) } else { (i - 1, i) };
                for k in 0..inner {
                    block[to * inner + k] = add(block[from * inner + k], block[to * inner + k]);
                }
            }
        }
        out
    }
    let around = Around::axis(x.dims, Some(axis));
    let mut overflow = false;
    let data = match x.elements {
        Elements::F32(xs) => Data::F32(run(&around, xs, reverse, |a, b| a + b)),
        Elements::F64(xs) => Data::F64(run(&around, xs, reverse, |a, b| a + b)),
        Elements::Int(xs) => Data::Int(run(&around, xs, reverse, |a, b| {
            let (sum, over) = a.overflowing_add(b);
            overflow |= over;
            sum
        })),
        Elements::Bool(_) => unreachable!("{CHECKED}"),
    };
    if overflow { Err(EvalError::IntegerOverflow) } else { Ok(Value::new(Shape::new(x.dims), data)) }
}

/// Sums the axes that broadcasting from `shape` repeats, outermost first.
pub(super) fn sum_to(shape: &Shape, x: &Value) -> Result<Value, EvalError> {
    let view = View::of(x);
    if view.dims == shape.dims() {
        return Ok(x.clone());
    }
    let mut dims = view.dims.to_vec();
    let missing = dims.len() - shape.rank();
    let mut data: Option<Data> = None;
    for axis in 0..dims.len() {
        let wanted = axis.checked_sub(missing).map_or(1, |i| shape.dims()[i]);
        if dims[axis] == wanted {
            continue;
        }
        let elements = data.as_ref().map_or(view.elements, Elements::of);
        data = Some(Around::axis(&dims, Some(axis)).sum(elements)?);
        dims[axis] = 1;
    }
    Ok(Value::new(shape.clone(), data.unwrap_or_else(|| x.to_data())))
}

/// Rows that are taken together by [`softmax_into`], and elements, if rows are not longer.
const ROWS: usize = 64;
const TOGETHER: usize = 1024;

/// Softmax, or its logarithm, of rows of that many columns. The largest element is subtracted first, so that finite
/// operands never overflow; a row with NaN or +inf, or with only -inf, is NaN.
pub(super) fn softmax_into<T: Float>(xs: &[T], columns: usize, log: bool, out: &mut [T]) {
    let columns = columns.max(1);
    let together = (TOGETHER / columns).clamp(1, ROWS) * columns;
    for (xs, out) in xs.chunks(together).zip(out.chunks_mut(together)) {
        let rows = xs.len() / columns;
        let (mut max, mut sums) = ([T::ZERO; ROWS], [T::ZERO; ROWS]);
        let (max, sums) = (&mut max[..rows], &mut sums[..rows]);
        rml_kernels::extremes(true, columns, xs, max);
        let shift = |out: &mut [T]| {
            out.copy_from_slice(xs);
            by_rows(out, columns, max, |x, max| x - max);
        };
        shift(out);
        rml_kernels::unary_in_place(Unary::Exp, out);
        rml_kernels::sums(columns, 1, out, sums);
        if log {
            rml_kernels::unary_in_place(Unary::Log, sums);
            shift(out);
            by_rows(out, columns, sums, |x, sum| x - sum);
        } else {
            by_rows(out, columns, sums, |x, sum| x / sum);
        }
    }
}

/// Replaces the elements of each row of that many elements by `f` of them and the number of the row.
fn by_rows<T: Copy>(xs: &mut [T], columns: usize, numbers: &[T], f: impl Fn(T, T) -> T) {
    if columns == 2 {
        // So few that a loop over them would take longer.
        let rows = xs.as_chunks_mut::<2>().0.iter_mut().zip(numbers);
        return rows.for_each(|(row, y)| *row = row.map(|x| f(x, *y)));
    }
    for (row, y) in xs.chunks_exact_mut(columns).zip(numbers) {
        row.iter_mut().for_each(|x| *x = f(*x, *y));
    }
}

/// Softmax, or its logarithm, over the last axis.
pub(super) fn softmax(x: &View<'_>, log: bool) -> Value {
    fn rows<T: Float>(xs: &[T], n: usize, log: bool) -> Data {
        let mut out = vec![T::ZERO; xs.len()];
        softmax_into(xs, n, log, &mut out);
        T::data(out)
    }
    let n = x.dims.last().copied().unwrap_or(1);
    let data = match x.elements {
        Elements::F32(xs) => rows(xs, n, log),
        Elements::F64(xs) => rows(xs, n, log),
        _ => unreachable!("{CHECKED}"),
    };
    Value::new(Shape::new(x.dims), data)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors give the bits of the definition: the first among equal zeros, and the first NaN, at any place in a row.
    #[test]
    fn extremes_on_vectors_are_the_first_ones() {
        let special = [0.0, -0.0, f32::NAN, -f32::NAN, 1.5, -1.5, f32::INFINITY, f32::NEG_INFINITY];
        let mut state = 1_u32;
        let mut pick = |of: &[f32]| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            of[(state >> 16) as usize % of.len()]
        };
        for n in [1, 7, 8, 15, 16, 17, 40, 100] {
            for kinds in [&special[..2], &special[..3], &special[1..4], &special[..], &special[4..]] {
                let xs: Vec<f32> = (0..5 * n).map(|_| pick(kinds)).collect();
                let around = Around::axis(&[5, n], Some(1));
                for largest in [false, true] {
                    let (mut found, mut wanted) = ([7.0; 5], [7.0; 5]);
                    float_extreme_into(around, &xs, largest, &mut found);
                    extreme_into(around, &xs, largest, &mut wanted);
                    assert_eq!(found.map(f32::to_bits), wanted.map(f32::to_bits), "{largest} {xs:?}");
                }
            }
        }
    }
}
