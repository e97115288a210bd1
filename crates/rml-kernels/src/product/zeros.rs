//! Products of zeros, as the state before a window is.

use super::{Matrix, MatrixMut, Right, row_on};
use crate::isa::{Isa, Task};
use crate::real::KernelNumber;

/// Columns that are taken at a time.
const COLUMNS: usize = 64;

/// `out += left x right`, where each row of the left operand is `zeros`.
///
/// The chain of an element adds zeros to it. That is to add their sum, which is the same for all rows and so is
/// computed once. The sum counts where the element is -0, or the right operand is not finite.
pub(crate) fn add_on<T: KernelNumber>(
    isa: Isa,
    zeros: &[T],
    right: Matrix<'_, T>,
    out: &mut MatrixMut<'_, T>,
) {
    let left = Matrix::new(1, zeros.len(), zeros);
    for from in (0..right.columns()).step_by(COLUMNS) {
        let n = COLUMNS.min(right.columns() - from);
        let mut sums = [-T::ZERO; COLUMNS];
        if !zeros.is_empty() {
            let columns = Matrix::strided(right.rows(), n, right.stride(), &right.data()[from..]);
            row_on(isa, left, Right::Matrix(columns), true, &mut sums[..n]);
        }
        isa.run(AddToRows { sums: &sums[..n], from, out });
    }
}

/// Adds to some columns of each row.
struct AddToRows<'s, 'o, 'a, T> {
    sums: &'s [T],
    from: usize,
    out: &'o mut MatrixMut<'a, T>,
}

impl<T: KernelNumber> Task for AddToRows<'_, '_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for i in 0..self.out.rows() {
            let row = &mut self.out.row(i)[self.from..][..self.sums.len()];
            for (out, x) in row.iter_mut().zip(self.sums) {
                *out += *x;
            }
        }
    }
}
