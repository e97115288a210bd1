//! Matrix products.
//!
//! Each element of a product is one chain of fused multiplications and additions over the inner dimension, first to last, which starts at
//! 0 or at the element's old value. Hence its bits depend on its row and its column alone: not on the other rows and columns, on blocks,
//! on packing, or on the machine. And the product of two operands that are each put together of two parts, side by side and one above
//! the other, has the bits of a product of the first parts to which that of the second parts is added.

mod dots;
mod ffi;
mod matrix;
mod packed;
#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "rounding is meant")]
mod tests;
pub(crate) mod vector;

pub use matrix::{Matrix, MatrixMut};
pub use packed::Packed;

use crate::isa::Isa;
use crate::real::Real;

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
}

/// `out = left x right` or, if `add`, `out += left x right`.
///
/// ```
/// use rml_kernels::{Matrix, MatrixMut, product};
/// let (a, b) = ([1.0, 2.0], [3.0, 4.0]);
/// let mut out = [0.0; 4];
/// product(Matrix::new(2, 1, &a), Matrix::new(1, 2, &b), false, MatrixMut::new(2, 2, &mut out));
/// assert_eq!(out, [3.0, 4.0, 6.0, 8.0]);
/// ```
///
/// # Panics
/// If the sizes do not fit.
#[inline]
pub fn product<T: Real>(left: Matrix<'_, T>, right: Matrix<'_, T>, add: bool, out: MatrixMut<'_, T>) {
    fits((right.rows(), right.columns()), &left, &out);
    T::multiply(Product { left, right: Right::Matrix(right), add, out });
}

/// `out = left x right` or, if `add`, `out += left x right`, the right operand being packed. The bits are those of [`product`].
///
/// # Panics
/// If the sizes do not fit.
#[inline]
pub fn product_packed<T: Real>(left: Matrix<'_, T>, right: &Packed<T>, add: bool, out: MatrixMut<'_, T>) {
    fits((right.rows(), right.columns()), &left, &out);
    T::multiply(Product { left, right: Right::Packed(right), add, out });
}

#[inline]
fn fits<T>((k, n): (usize, usize), left: &Matrix<'_, T>, out: &MatrixMut<'_, T>) {
    assert_eq!((left.rows(), n), (out.rows(), out.columns()), "rows and columns of a product");
    assert_eq!(left.columns(), k, "inner dimension of a product");
}

pub(crate) fn multiply_on<T: Real>(isa: Isa, mut product: Product<'_, T>) {
    let Product { left, right, add, out } = &mut product;
    if out.rows() == 0 || out.columns() == 0 {
        return;
    }
    if left.columns() == 0 {
        if !*add {
            (0..out.rows()).for_each(|i| out.row(i).fill(T::ZERO));
        }
        return;
    }
    if let Right::Matrix(right) = right {
        if out.rows() == 1 && right.is_transposed() && right.columns() > 1 {
            return isa.run(dots::Dots::row(*left, *right, *add, out));
        }
        if out.columns() == 1 && !left.is_transposed() && out.rows() > 1 {
            return isa.run(dots::Dots::column(*left, *right, *add, out));
        }
    }
    ffi::multiply(isa, &mut product);
}
