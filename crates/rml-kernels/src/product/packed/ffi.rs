//! Packing of panels.
#![allow(unsafe_code)]

use super::{Line, PANEL, panel};
use crate::product::Matrix;
use crate::real::Number;

/// Writes columns `from..from + width` of rows `first..first + depth` to `to`, padded with zeros to a panel.
///
/// # Safety
/// `to` is valid for `depth` panel rows; the columns and rows are those of the matrix.
#[inline(always)]
pub(in crate::product) unsafe fn pack<T: Number>(
    matrix: &Matrix<'_, T>,
    first: usize,
    depth: usize,
    from: usize,
    width: usize,
    to: *mut T,
) {
    let (data, stride, all) = (matrix.data().as_ptr(), matrix.stride(), panel::<T>());
    // SAFETY: element (i, j) of the matrix lies at `i * stride + j`, or at `i + j * stride` if it is transposed; in a row of the
    // panel, columns below `width` are copied, others are set to zero.
    unsafe {
        if !matrix.is_transposed() {
            for k in 0..depth {
                let (row, to) = (data.add((first + k) * stride + from), to.add(k * all));
                std::ptr::copy_nonoverlapping(row, to, width);
                to.add(width).write_bytes(0, all - width);
            }
            return;
        }
        let mut j = 0;
        while j + 8 <= width {
            let columns: [*const T; 8] = std::array::from_fn(|c| data.add((from + j + c) * stride + first));
            for k in 0..depth {
                let row: [T; 8] = std::array::from_fn(|c| *columns[c].add(k));
                to.add(k * all + j).cast::<[T; 8]>().write_unaligned(row);
            }
            j += 8;
        }
        for j in j..width {
            let column = data.add((from + j) * stride + first);
            for k in 0..depth {
                *to.add(k * all + j) = *column.add(k);
            }
        }
        for k in 0..depth {
            to.add(k * all + width).write_bytes(0, all - width);
        }
    }
}

/// Packs a matrix into as many lines as its panels take.
pub(super) fn pack_all<T: Number>(matrix: Matrix<'_, T>, lines: &mut [Line]) {
    let (rows, columns, all) = (matrix.rows(), matrix.columns(), panel::<T>());
    assert_eq!(
        lines.len(),
        rows * columns.div_ceil(all) * (PANEL / size_of::<Line>()),
        "lines of the panels"
    );
    let start: *mut T = lines.as_mut_ptr().cast();
    for (i, from) in (0..columns).step_by(all).enumerate() {
        // SAFETY: panel i takes `rows` rows of `all` elements, and the lines are those of all panels, by the assertion.
        unsafe { pack(&matrix, 0, rows, from, all.min(columns - from), start.add(i * rows * all)) };
    }
}
