//! Operators of square matrices, and Fourier transforms. They have results only for finite numbers, and for matrices
//! that are far from singular.

use std::f64::consts::TAU;

use rml_ir::op::Op;

use super::Array;

/// The minimum pivot or determinant.
const LEAST: f64 = 0.1;

/// A matrix within a stack.
struct Square<'a> {
    a: &'a Array,
    stack: &'a [usize],
}

impl Square<'_> {
    fn at(&self, row: usize, column: usize) -> f64 {
        self.a.at(&[self.stack, &[row, column]].concat())
    }
}

/// The determinant of a matrix of size `n`, by expansion along the first row.
fn determinant(n: usize, a: &dyn Fn(usize, usize) -> f64) -> f64 {
    (0..n).fold(if n == 0 { 1.0 } else { 0.0 }, |sum, j| {
        let minor = determinant(n - 1, &|r, c| a(r + 1, if c < j { c } else { c + 1 }));
        sum + if j % 2 == 0 { a(0, j) * minor } else { -a(0, j) * minor }
    })
}

/// An element of the lower triangular factor, computed from the elements before it.
fn factor(a: &Square<'_>, row: usize, column: usize) -> f64 {
    if row < column {
        return 0.0;
    }
    let known: f64 = (0..column).map(|k| factor(a, row, k) * factor(a, column, k)).sum();
    let rest = a.at(row, column) - known;
    if row == column {
        if rest < LEAST { f64::NAN } else { rest.sqrt() }
    } else {
        rest / factor(a, column, column)
    }
}

/// An element of the solution, by Cramer's rule.
fn solution(a: &Square<'_>, b: &Array, row: usize, column: &[usize]) -> f64 {
    let n = a.a.dims[a.stack.len()];
    let whole = determinant(n, &|r, c| a.at(r, c));
    let right = |r: usize| b.at(&[a.stack, &[r], column].concat());
    let replaced = determinant(n, &|r, c| if c == row { right(r) } else { a.at(r, c) });
    if whole.abs() < LEAST { f64::NAN } else { replaced / whole }
}

/// The real or imaginary part of a frequency.
fn frequency(x: &Array, at: &[usize]) -> f64 {
    let (row, k, part) = (&at[..at.len() - 2], at[at.len() - 2], at[at.len() - 1]);
    let n = x.dims[row.len()];
    let term = |j: usize| {
        let angle = TAU * (j * k % n) as f64 / n as f64;
        x.at(&[row, &[j]].concat()) * if part == 0 { angle.cos() } else { -angle.sin() }
    };
    (0..n).map(term).sum()
}

/// A number of the signal that has the given frequencies.
fn wave(y: &Array, n: usize, at: &[usize]) -> f64 {
    let (row, j) = (&at[..at.len() - 1], at[at.len() - 1]);
    let term = |k: usize| {
        let angle = TAU * (j * k % n) as f64 / n as f64;
        let part = |part: usize| y.at(&[row, &[k, part]].concat());
        let both = part(0) * angle.cos() - part(1) * angle.sin();
        if k == 0 || 2 * k == n { part(0) * angle.cos() } else { 2.0 * both }
    };
    (0..=n / 2).map(term).sum::<f64>() / n as f64
}

pub(super) fn apply(op: &Op, args: &[Array]) -> Option<Array> {
    let x = args.first()?;
    if args.iter().flat_map(|a| &a.data).any(|x| !x.is_finite()) {
        return None;
    }
    let made = match op {
        Op::Cholesky => Array::each(x.dtype, &x.dims, |at| {
            let (stack, place) = at.split_at(at.len() - 2);
            factor(&Square { a: x, stack }, place[0], place[1])
        }),
        Op::Solve => Array::each(x.dtype, &args[1].dims, |at| {
            let (stack, place) = at.split_at(x.dims.len() - 2);
            solution(&Square { a: x, stack }, &args[1], place[0], &place[1..])
        }),
        Op::Rfft => {
            let (n, rows) = x.dims.split_last()?;
            Array::each(x.dtype, &[rows, &[n / 2 + 1, 2]].concat(), |at| frequency(x, at))
        }
        Op::Irfft { n } => {
            let rows = &x.dims[..x.dims.len() - 2];
            Array::each(x.dtype, &[rows, &[*n]].concat(), |at| wave(x, *n, at))
        }
        _ => return None,
    };
    made.data.iter().all(|x| x.is_finite()).then_some(made)
}
