//! Packing of panels.
#![allow(unsafe_code)]

use super::{Line, PANEL, panel};
use crate::isa::Task;
use crate::product::Matrix;
use crate::real::KernelNumber;
use crate::transpose::{TILE, tiles, turned};

/// Writes columns `from..from + width` of rows `first..first + depth` to `to`, padded with zeros to a panel.
///
/// # Safety
/// `to` is valid for `depth` panel rows; the columns and rows are those of the matrix.
#[inline(always)]
pub(in crate::product) unsafe fn pack<T: KernelNumber>(
    matrix: &Matrix<'_, T>,
    first: usize,
    depth: usize,
    from: usize,
    width: usize,
    to: *mut T,
) {
    let (data, stride, all) = (matrix.data().as_ptr(), matrix.stride(), panel::<T>());
    // SAFETY: element (i, j) of the matrix is at `i * stride + j`, or at `i + j * stride` if it is transposed; in a
    // row of the panel, columns below `width` are copied, others are set to zero.
    unsafe {
        if !matrix.is_transposed() {
            if width == PANEL / size_of::<T>() {
                // By pieces of a size that is known, which are no calls.
                for k in 0..depth {
                    let row = data.add((first + k) * stride + from).cast::<[u8; size_of::<Line>()]>();
                    let to = to.add(k * all).cast::<[u8; size_of::<Line>()]>();
                    for line in 0..PANEL / size_of::<Line>() {
                        to.add(line).write(row.add(line).read());
                    }
                }
                return;
            }
            for k in 0..depth {
                let (row, to) = (data.add((first + k) * stride + from), to.add(k * all));
                std::ptr::copy_nonoverlapping(row, to, width);
                to.add(width).write_bytes(0, all - width);
            }
            return;
        }
        let (whole, whole_depth) = (width / TILE * TILE, depth / TILE * TILE);
        tiles([whole_depth, whole], |k, j| {
            let rows = |c: usize| data.add((from + j + c) * stride + first + k).cast::<[T; TILE]>().read();
            let tile = turned([rows(0), rows(1), rows(2), rows(3)]);
            for (i, row) in tile.into_iter().enumerate() {
                to.add((k + i) * all + j).cast::<[T; TILE]>().write(row);
            }
        });
        for j in 0..width {
            let column = data.add((from + j) * stride + first);
            for k in if j < whole { whole_depth } else { 0 }..depth {
                *to.add(k * all + j) = *column.add(k);
            }
        }
        for k in 0..depth {
            to.add(k * all + width).write_bytes(0, all - width);
        }
    }
}

/// Packs a matrix into as many lines as its panels take.
pub(super) struct PackAll<'a, T> {
    pub(super) matrix: Matrix<'a, T>,
    pub(super) lines: &'a mut [Line],
}

impl<T: KernelNumber> Task for PackAll<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { matrix, lines } = self;
        let (rows, columns, all) = (matrix.rows(), matrix.columns(), panel::<T>());
        assert_eq!(
            lines.len(),
            rows * columns.div_ceil(all) * (PANEL / size_of::<Line>()),
            "lines of the panels"
        );
        let start: *mut T = lines.as_mut_ptr().cast();
        for (i, from) in (0..columns).step_by(all).enumerate() {
            // SAFETY: panel i takes `rows` rows of `all` elements, and the lines are those of all panels, by the
            // assertion.
            unsafe { pack(&matrix, 0, rows, from, all.min(columns - from), start.add(i * rows * all)) };
        }
    }
}
