//! The products of `matrixmultiply`.
#![allow(unsafe_code)]

macro_rules! other {
    ($name:ident, $t:ty, $gemm:path) => {
        /// `c = a x b` for `(m, k, n)`; `a` is `k x m` if it is transposed.
        pub(crate) fn $name(
            (m, k, n): (usize, usize, usize),
            transposed: bool,
            a: &[$t],
            b: &[$t],
            c: &mut [$t],
        ) {
            assert!(a.len() == m * k && b.len() == k * n && c.len() == m * n);
            let (row, column) = if transposed { (1, m) } else { (k, 1) };
            let (row, column, wide) = (row.cast_signed(), column.cast_signed(), n.cast_signed());
            // SAFETY: with these strides, all elements are within the slices, by the assertion.
            unsafe {
                $gemm(
                    m,
                    k,
                    n,
                    1.0,
                    a.as_ptr(),
                    row,
                    column,
                    b.as_ptr(),
                    wide,
                    1,
                    0.0,
                    c.as_mut_ptr(),
                    wide,
                    1,
                );
            }
        }
    };
}
other!(single, f32, matrixmultiply::sgemm);
other!(double, f64, matrixmultiply::dgemm);
