//! Products of rows with one vector, where both are contiguous: several chains at a time.

use super::{Matrix, MatrixMut};
use crate::isa::Task;
use crate::real::KernelNumber;

/// `out[i] = rows[i] . vector`.
pub(super) struct Dots<'a, T> {
    /// Row-major.
    rows: Matrix<'a, T>,
    /// One row or one column.
    vector: Matrix<'a, T>,
    add: bool,
    out: &'a mut [T],
    /// From one element of `out` to the next.
    step: usize,
}

/// Chains that run at the same time.
const CHAINS: usize = 8;

impl<'a, T: KernelNumber> Dots<'a, T> {
    /// A row times a transposed matrix.
    pub(super) fn row(
        left: Matrix<'a, T>,
        right: Matrix<'a, T>,
        add: bool,
        out: &'a mut MatrixMut<'_, T>,
    ) -> Self {
        Dots { rows: right.transposed(), vector: left, add, out: out.data(), step: 1 }
    }

    /// A matrix times a column.
    pub(super) fn column(
        left: Matrix<'a, T>,
        right: Matrix<'a, T>,
        add: bool,
        out: &'a mut MatrixMut<'_, T>,
    ) -> Self {
        let step = out.stride();
        Dots { rows: left, vector: right, add, out: out.data(), step }
    }
}

/// Elements of a vector that are `step` apart, the chains of some rows.
#[inline(always)]
fn chains<T: KernelNumber, const N: usize>(rows: [&[T]; N], vector: &[T], step: usize, sums: &mut [T; N]) {
    if step == 1 {
        let rows = rows.map(|row| &row[..vector.len()]);
        for (k, x) in vector.iter().enumerate() {
            for (sum, row) in sums.iter_mut().zip(rows) {
                *sum = x.mul_add(row[k], *sum);
            }
        }
    } else {
        for (k, x) in vector.iter().step_by(step).enumerate() {
            for (sum, row) in sums.iter_mut().zip(rows) {
                *sum = x.mul_add(row[k], *sum);
            }
        }
    }
}

impl<T: KernelNumber> Task for Dots<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let (n, len, stride) = (self.rows.rows(), self.rows.columns(), self.rows.stride());
        let vector = self.vector;
        // A vector is contiguous unless it is a column of rows, or a row of columns.
        let is_column = vector.columns() == 1 && len > 1;
        let step = if is_column == vector.is_transposed() { 1 } else { vector.stride() };
        let xs = &vector.data()[..(len - 1) * step + 1];
        let data = self.rows.data();
        let row = |i: usize| &data[i * stride..][..len];
        let start = |old: T| if self.add { old } else { T::ZERO };
        let mut i = 0;
        while i + CHAINS <= n {
            let mut sums: [T; CHAINS] = std::array::from_fn(|c| start(self.out[(i + c) * self.step]));
            chains(std::array::from_fn::<_, CHAINS, _>(|c| row(i + c)), xs, step, &mut sums);
            for (c, sum) in sums.into_iter().enumerate() {
                self.out[(i + c) * self.step] = sum;
            }
            i += CHAINS;
        }
        while i < n {
            let mut sums = [start(self.out[i * self.step])];
            chains([row(i)], xs, step, &mut sums);
            self.out[i * self.step] = sums[0];
            i += 1;
        }
    }
}
