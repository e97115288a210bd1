//! The one place with `unsafe`: matrix products through `matrixmultiply`, which takes pointers and strides.
//!
//! Both functions multiply dense row-major matrices. `matrixmultiply` is called without threads, and its
//! packed kernels accumulate over `k` in an order that depends on `k` alone, so an element of the product has
//! the same bits whatever the other rows and columns are (tested with the evaluation of products). It does
//! depend on the instruction set of the machine.
#![allow(unsafe_code)]

macro_rules! matmul {
    ($name:ident, $t:ty, $gemm:path) => {
        /// `out = a x b` for `(m, k, n)` = rows of `a`, columns of `a` = rows of `b`, columns of `b`; all
        /// row-major and dense.
        ///
        /// # Panics
        /// If a slice does not have the length of its matrix.
        pub(super) fn $name((m, k, n): (usize, usize, usize), a: &[$t], b: &[$t], out: &mut [$t]) {
            assert_eq!(Some(a.len()), m.checked_mul(k), "a fills m x k");
            assert_eq!(Some(b.len()), k.checked_mul(n), "b fills k x n");
            assert_eq!(Some(out.len()), m.checked_mul(n), "out fills m x n");
            let (row_a, row_b) = (k.cast_signed(), n.cast_signed());
            // SAFETY: with row strides k, n and n and column strides 1, element (i, j) of each matrix lies at
            // i * columns + j, which is below the length of its slice by the assertions above. `out` is
            // borrowed mutably, so it overlaps neither `a` nor `b`, and its elements do not alias each other:
            // either n > 0, and rows start n apart, or there is no element.
            unsafe {
                $gemm(
                    m,
                    k,
                    n,
                    1.0,
                    a.as_ptr(),
                    row_a,
                    1,
                    b.as_ptr(),
                    row_b,
                    1,
                    0.0,
                    out.as_mut_ptr(),
                    row_b,
                    1,
                );
            }
        }
    };
}

matmul!(matmul_f32, f32, matrixmultiply::sgemm);
matmul!(matmul_f64, f64, matrixmultiply::dgemm);

macro_rules! product {
    ($name:ident, $t:ty, $gemm:path) => {
        /// `out = a x b` or, if `add`, `out += a x b`, for `(m, k, n)`; `a` is `m x k`, or `k x m` if it is `transposed`, `b` is `k x n`;
        /// all row-major and dense.
        ///
        /// # Panics
        /// If a slice does not have the length of its matrix.
        pub(super) fn $name(
            (m, k, n): (usize, usize, usize),
            a: &[$t],
            transposed: bool,
            b: &[$t],
            add: bool,
            out: &mut [$t],
        ) {
            assert_eq!(Some(a.len()), m.checked_mul(k), "a fills m x k");
            assert_eq!(Some(b.len()), k.checked_mul(n), "b fills k x n");
            assert_eq!(Some(out.len()), m.checked_mul(n), "out fills m x n");
            let (row, column) = if transposed { (1, m) } else { (k, 1) };
            let row_b = n.cast_signed();
            // SAFETY: element (i, j) of `a` lies at i * k + j, or at i + j * m if it is transposed, which is below m * k for i < m and
            // j < k; those of `b` and `out` lie at i * n + j. All are below the lengths asserted above. `out` is borrowed mutably, so it
            // overlaps neither `a` nor `b`, and its elements do not alias each other: either n > 0, and rows start n apart, or there is
            // no element.
            unsafe {
                $gemm(
                    m,
                    k,
                    n,
                    1.0,
                    a.as_ptr(),
                    row.cast_signed(),
                    column.cast_signed(),
                    b.as_ptr(),
                    row_b,
                    1,
                    if add { 1.0 } else { 0.0 },
                    out.as_mut_ptr(),
                    row_b,
                    1,
                );
            }
        }
    };
}

product!(product_f32, f32, matrixmultiply::sgemm);
product!(product_f64, f64, matrixmultiply::dgemm);
