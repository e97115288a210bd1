//! Matrix products.
//!
//! Each element of a product is one chain of fused multiplications and additions over the inner dimension, first to
//! last, which starts at 0 or at the element's old value. Hence its bits depend on its row and its column alone: not on
//! the other rows and columns, on blocks, on packing, or on the machine. And the product of two operands that are each
//! put together of two parts, side by side and one above the other, has the bits of a product of the first parts to
//! which that of the second parts is added.

mod dots;
mod ffi;
mod matrix;
#[cfg(target_arch = "x86_64")]
mod narrow;
mod packed;
mod row;
#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "rounding is meant")]
mod tests;
mod zeros;

pub use matrix::{Matrix, MatrixMut};
pub use packed::Packed;
pub(crate) use row::ffi::row as row_on;
pub(crate) use zeros::add_on as add_zeros_on;

use crate::isa::Isa;
use crate::real::KernelNumber;

/// The right operand of a product.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Right<'a, T> {
    Matrix(Matrix<'a, T>),
    Packed(&'a Packed<T>),
}

/// A product to compute: `out = left x right`, or `out += left x right`.
#[derive(Debug)]
pub struct Product<'a, T> {
    pub(crate) left: Matrix<'a, T>,
    pub(crate) right: Right<'a, T>,
    pub(crate) add: bool,
    pub(crate) out: MatrixMut<'a, T>,
    /// If it is not 0: the steps of the inner dimension go in runs of that many, from the last run to the first one.
    pub(crate) back: usize,
}

#[inline]
pub(crate) fn fits<T>((k, n): (usize, usize), left: &Matrix<'_, T>, out: &MatrixMut<'_, T>) {
    assert_eq!((left.rows(), n), (out.rows(), out.columns()), "rows and columns of a product");
    assert_eq!(left.columns(), k, "inner dimension of a product");
}

/// Whether runs of the inner dimension are contiguous columns and rows.
pub(crate) fn has_runs<T>(left: &Matrix<'_, T>, right: &Matrix<'_, T>) -> bool {
    left.is_transposed() && !right.is_transposed()
}

pub(crate) fn multiply_on<T: KernelNumber>(isa: Isa, mut product: Product<'_, T>) {
    let Product { left, right, add, out, back } = &mut product;
    if out.rows() == 0 || out.columns() == 0 {
        return;
    }
    if left.columns() == 0 {
        if !*add {
            (0..out.rows()).for_each(|i| out.row(i).fill(T::ZERO));
        }
        return;
    }
    if *back > 0 {
        return backward(isa, product);
    }
    if out.rows() == 1 && !matches!(right, Right::Matrix(right) if right.is_transposed()) {
        return row_on(isa, *left, *right, *add, out.row(0));
    }
    #[cfg(target_arch = "x86_64")]
    if narrow::multiply(isa, &mut product) {
        return;
    }
    let Product { left, right, add, out, .. } = &mut product;
    if let Right::Matrix(right) = right {
        if out.rows() == 1 && right.is_transposed() && right.columns() > 1 {
            return isa.run(dots::Dots::row(*left, *right, *add, out));
        }
        if out.columns() == 1 && !left.is_transposed() && out.rows() > 1 {
            return isa.run(dots::Dots::column(*left, *right, *add, out));
        }
        if out.columns() <= FEW && out.rows() >= 4 * FEW && left.is_transposed() && !right.is_transposed() {
            return sideways(isa, *left, *right, *add, out);
        }
    }
    ffi::multiply(isa, &mut product);
}

/// With that many columns or fewer, kernels take all of them, and steps in their order alone.
const NARROW: usize = 16;

/// A product whose runs of steps go from the last one to the first one.
fn backward<T: KernelNumber>(isa: Isa, mut product: Product<'_, T>) {
    let Product { left, right: Right::Matrix(right), add, out, back } = &mut product else {
        unreachable!("what is packed is taken in its order")
    };
    if out.rows() > 1 && out.columns() > NARROW {
        return ffi::multiply(isa, &mut product);
    }
    for run in (0..left.columns() / *back).rev() {
        let (left, right) = (left.steps(run * *back, *back), right.rows_of(run * *back, *back));
        let (n, stride) = (out.columns(), out.stride());
        let out = MatrixMut::strided(out.rows(), n, stride, out.data());
        multiply_on(isa, Product { left, right: Right::Matrix(right), add: *add, out, back: 0 });
        *add = true;
    }
}

/// That many columns leave most lanes of a vector empty.
const FEW: usize = 4;

/// Rows that [`sideways`] takes at a time.
const ROWS: usize = 64;

/// A product with few columns, of a left operand whose columns are contiguous, computed as its transpose: there rows
/// are long. A multiplication gives the same bits either way round.
fn sideways<T: KernelNumber>(
    isa: Isa,
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    add: bool,
    out: &mut MatrixMut<'_, T>,
) {
    let n = out.columns();
    let mut turned = [T::ZERO; FEW * ROWS];
    for from in (0..out.rows()).step_by(ROWS) {
        let m = ROWS.min(out.rows() - from);
        let turned = &mut turned[..n * m];
        if add {
            for i in 0..m {
                out.row(from + i).iter().enumerate().for_each(|(j, x)| turned[j * m + i] = *x);
            }
        }
        let columns = Matrix::strided(left.columns(), m, left.stride(), &left.data()[from..]);
        let (left, right) = (right.transposed(), Right::Matrix(columns));
        ffi::multiply(isa, &mut Product { left, right, add, out: MatrixMut::new(n, m, turned), back: 0 });
        for i in 0..m {
            out.row(from + i).iter_mut().enumerate().for_each(|(j, x)| *x = turned[j * m + i]);
        }
    }
}
