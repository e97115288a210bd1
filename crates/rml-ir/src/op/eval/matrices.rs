//! Factors of square matrices, and what is solved with them. Plain loops, in one order on every machine.

use super::CHECKED;
use super::view::{Elements, Float, View, floats};
use crate::types::Shape;
use crate::value::{Data, Value};

/// The Cholesky factors of a stack of matrices.
pub(super) fn cholesky(a: &View<'_>) -> Value {
    fn all<T: Float>(n: usize, a: &[T]) -> Vec<T> {
        let mut out = vec![T::ZERO; a.len()];
        for (a, l) in a.chunks_exact((n * n).max(1)).zip(out.chunks_exact_mut((n * n).max(1))) {
            if !factor(n, a, l) {
                l.fill(T::NAN);
            }
        }
        out
    }
    let n = a.dims.last().copied().expect(CHECKED);
    let data = match a.elements {
        Elements::F32(a) => Data::F32(all(n, a)),
        Elements::F64(a) => Data::F64(all(n, a)),
        _ => unreachable!("{CHECKED}"),
    };
    Value::new(Shape::new(a.dims), data)
}

/// The lower triangle of the factor, row by row, in `l`, which holds zeros. False if the matrix is not positive
/// definite.
fn factor<T: Float>(n: usize, a: &[T], l: &mut [T]) -> bool {
    for i in 0..n {
        for j in 0..=i {
            let mut rest = a[i * n + j];
            for k in 0..j {
                rest = rest - l[i * n + k] * l[j * n + k];
            }
            l[i * n + j] = if i != j {
                rest / l[j * n + j]
            } else if rest > T::ZERO {
                rest.sqrt()
            } else {
                return false;
            };
        }
    }
    true
}

/// The solutions of a stack of systems.
pub(super) fn solve(a: &View<'_>, b: &View<'_>) -> Value {
    fn all<T: Float>(n: usize, columns: usize, a: &[T], b: &[T]) -> Vec<T> {
        let mut out = b.to_vec();
        let mut matrix = vec![T::ZERO; n * n];
        let systems = a.chunks_exact((n * n).max(1)).zip(out.chunks_exact_mut((n * columns).max(1)));
        for (a, x) in systems {
            matrix.copy_from_slice(a);
            eliminate(n, columns, &mut matrix, x);
            substitute(n, columns, &matrix, x);
        }
        out
    }
    let n = a.dims.last().copied().expect(CHECKED);
    let columns = if a.dims.len() == b.dims.len() { b.dims[b.dims.len() - 1] } else { 1 };
    Value::new(Shape::new(b.dims), floats(a, b, |a, b| all(n, columns, a, b), |a, b| all(n, columns, a, b)))
}

/// Makes an upper triangle of the matrix: each step takes the first of the largest elements of a column as its pivot.
fn eliminate<T: Float>(n: usize, columns: usize, a: &mut [T], x: &mut [T]) {
    for k in 0..n {
        let size = |a: &[T], i: usize| a[i * n + k].abs();
        let pivot = (k + 1..n).fold(k, |best, i| if size(a, i) > size(a, best) { i } else { best });
        if pivot != k {
            (0..n).for_each(|j| a.swap(k * n + j, pivot * n + j));
            (0..columns).for_each(|j| x.swap(k * columns + j, pivot * columns + j));
        }
        for i in k + 1..n {
            let factor = a[i * n + k] / a[k * n + k];
            for j in k + 1..n {
                a[i * n + j] = a[i * n + j] - factor * a[k * n + j];
            }
            for j in 0..columns {
                x[i * columns + j] = x[i * columns + j] - factor * x[k * columns + j];
            }
        }
    }
}

/// Solves with the upper triangle, last row first.
fn substitute<T: Float>(n: usize, columns: usize, a: &[T], x: &mut [T]) {
    for i in (0..n).rev() {
        for c in 0..columns {
            let mut rest = x[i * columns + c];
            for j in i + 1..n {
                rest = rest - a[i * n + j] * x[j * columns + c];
            }
            x[i * columns + c] = rest / a[i * n + i];
        }
    }
}
