//! What other crates call: every kernel is compiled here, for both precisions.

use crate::functions::{
    Binary, Unary, binary_on, formulas, sigmoid_within, tanh_within, unary_on, unary_one_on,
};
use crate::isa::Isa;
use crate::product::{Matrix, MatrixMut, Packed, Product, Right, add_zeros_on, fits, has_runs, multiply_on};
use crate::real::KernelNumber;
use crate::sums::{extremes_on, sums_on};

/// `f32` or `f64`.
pub trait Real: Kernels {}

impl Real for f32 {}
impl Real for f64 {}

/// The kernels of a type of numbers.
pub trait Kernels: KernelNumber {
    fn unary(f: Unary, x: &[Self], out: &mut [Self]);
    fn unary_one(f: Unary, x: Self) -> Self;
    fn binary(f: Binary, a: &[Self], b: &[Self], out: &mut [Self]);
    fn multiply(product: Product<'_, Self>);
    fn add_zeros(zeros: &[Self], right: Matrix<'_, Self>, out: MatrixMut<'_, Self>);
    fn sums(n: usize, inner: usize, x: &[Self], out: &mut [Self]);
    fn extremes(largest: bool, n: usize, x: &[Self], out: &mut [Self]);
}

macro_rules! kernels {
    ($t:ty) => {
        impl Kernels for $t {
            fn unary(f: Unary, x: &[Self], out: &mut [Self]) {
                unary_on(Isa::best(), f, x, out);
            }
            fn unary_one(f: Unary, x: Self) -> Self {
                unary_one_on(Isa::best(), f, x)
            }
            fn binary(f: Binary, a: &[Self], b: &[Self], out: &mut [Self]) {
                binary_on(Isa::best(), f, a, b, out);
            }
            fn multiply(product: Product<'_, Self>) {
                multiply_on(Isa::best(), product);
            }
            fn add_zeros(zeros: &[Self], right: Matrix<'_, Self>, mut out: MatrixMut<'_, Self>) {
                add_zeros_on(Isa::best(), zeros, right, &mut out);
            }
            fn sums(n: usize, inner: usize, x: &[Self], out: &mut [Self]) {
                sums_on(Isa::best(), n, inner, x, out);
            }
            fn extremes(largest: bool, n: usize, x: &[Self], out: &mut [Self]) {
                extremes_on(Isa::best(), largest, n, x, out);
            }
        }
    };
}
kernels!(f32);
kernels!(f64);

/// `out = f(x)`, element by element.
///
/// # Panics
/// If the slices differ in length.
#[inline]
pub fn unary<T: Real>(f: Unary, x: &[T], out: &mut [T]) {
    T::unary(f, x, out);
}

/// `out = f(x)` for `sigmoid`, with the bits that [`unary`] gives, compiled with the [`Task`](crate::Task) that it is
/// inlined into.
///
/// # Panics
/// If the slices differ in length.
#[inline(always)]
pub fn sigmoid<T: Real>(x: &[T], out: &mut [T]) {
    sigmoid_within(x, out);
}

/// `flush` of one number, compiled with the [`Task`](crate::Task) that it is inlined into.
#[inline(always)]
pub fn flush<T: Real>(x: T) -> T {
    formulas::flush(x)
}

/// `out = f(x)` for `tanh`, with the bits that [`unary`] gives, compiled with the [`Task`](crate::Task) that it is
/// inlined into.
///
/// # Panics
/// If the slices differ in length.
#[inline(always)]
pub fn tanh<T: Real>(x: &[T], out: &mut [T]) {
    tanh_within(x, out);
}

/// Elements that are copied at a time where operand and result are the same.
const COPIED: usize = 256;

/// `x = f(x)`, element by element.
pub fn unary_in_place<T: Real>(f: Unary, x: &mut [T]) {
    let mut copy = [T::ZERO; COPIED];
    for x in x.chunks_mut(COPIED) {
        copy[..x.len()].copy_from_slice(x);
        T::unary(f, &copy[..x.len()], x);
    }
}

/// `f(x)`, with the bits that [`unary`] gives.
#[inline]
pub fn unary_one<T: Real>(f: Unary, x: T) -> T {
    T::unary_one(f, x)
}

/// `out = f(a, b)`, element by element; a shorter operand, whose length divides that of `out`, is repeated.
///
/// # Panics
/// If an operand is empty, and `out` is not.
#[inline]
pub fn binary<T: Real>(f: Binary, a: &[T], b: &[T], out: &mut [T]) {
    T::binary(f, a, b, out);
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
    T::multiply(Product { left, right: Right::Matrix(right), add, out, back: 0 });
}

/// `out = left x right` or, if `add`, `out += left x right`, the right operand being packed. The bits are those of
/// [`product`].
///
/// # Panics
/// If the sizes do not fit.
#[inline]
pub fn product_packed<T: Real>(left: Matrix<'_, T>, right: &Packed<T>, add: bool, out: MatrixMut<'_, T>) {
    fits((right.rows(), right.columns()), &left, &out);
    T::multiply(Product { left, right: Right::Packed(right), add, out, back: 0 });
}

/// `out += left x right`, where the inner dimension is taken in runs of `run` steps, from the last run to the first
/// one. Within a run, steps go first to last. The columns of the left operand are contiguous, and the rows of the right
/// one.
///
/// ```
/// use rml_kernels::{Matrix, MatrixMut, product_backward};
/// let (a, b) = ([1e20, 1.0], [1.0, 1.0]);
/// let mut out = [-1e20];
/// product_backward(Matrix::new(2, 1, &a).transposed(), Matrix::new(2, 1, &b), 1, MatrixMut::new(1, 1, &mut out));
/// assert_eq!(out, [0.0], "1 is added first, and is lost");
/// ```
///
/// # Panics
/// If the sizes do not fit, or an operand is stored otherwise.
pub fn product_backward<T: Real>(
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    run: usize,
    out: MatrixMut<'_, T>,
) {
    fits((right.rows(), right.columns()), &left, &out);
    assert!(run > 0 && left.columns().is_multiple_of(run), "runs of the inner dimension");
    assert!(has_runs(&left, &right), "how the operands of a product are stored");
    T::multiply(Product { left, right: Right::Matrix(right), add: true, out, back: run });
}

/// `out += left x right`, with the bits of [`product`], for a left operand each row of which is `zeros`. That takes
/// about as long as one row.
///
/// ```
/// use rml_kernels::{Matrix, MatrixMut, product_of_zeros};
/// let mut out = [1.0, 2.0, 3.0, 4.0];
/// product_of_zeros(&[0.0], Matrix::new(1, 2, &[5.0, f32::INFINITY]), MatrixMut::new(2, 2, &mut out));
/// assert!(out[0] == 1.0 && out[1].is_nan() && out[2] == 3.0 && out[3].is_nan());
/// ```
///
/// # Panics
/// If the sizes do not fit.
#[inline]
pub fn product_of_zeros<T: Real>(zeros: &[T], right: Matrix<'_, T>, out: MatrixMut<'_, T>) {
    assert_eq!((zeros.len(), out.columns()), (right.rows(), right.columns()), "sizes of a product");
    T::add_zeros(zeros, right, out);
}

/// Sums along the middle axis of `outer x n x inner` elements, into `outer x inner`.
///
/// ```
/// let mut out = [0.0; 2];
/// rml_kernels::sums(3, 2, &[1.0, 10.0, 2.0, 20.0, 3.0, 30.0], &mut out);
/// assert_eq!(out, [6.0, 60.0]);
/// ```
///
/// # Panics
/// If the lengths are not those.
#[inline]
pub fn sums<T: Real>(n: usize, inner: usize, x: &[T], out: &mut [T]) {
    T::sums(n, inner, x, out);
}

/// The largest or the smallest element of each row of `n` elements, and NaN if there is one; -inf or inf of nothing. It
/// is not specified which of two zeros it is, nor which NaN.
///
/// # Panics
/// If there are not `n` elements for each row.
#[inline]
pub fn extremes<T: Real>(largest: bool, n: usize, x: &[T], out: &mut [T]) {
    T::extremes(largest, n, x, out);
}
