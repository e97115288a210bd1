//! Matrices transposed, tile by tile: element by element, either the reads or the writes would go from line to line
//! of the cache.

/// Rows and columns of a tile: those of a vector that every machine has.
pub(crate) const TILE: usize = 4;

/// Rows and columns that are turned at a time, tile by tile: a line of the cache in single precision, so that lines are
/// whole before they go.
const NEAR: usize = 16;

/// Calls `f` with the first row and the first column of each tile.
#[inline(always)]
pub(crate) fn tiles([rows, columns]: [usize; 2], mut f: impl FnMut(usize, usize)) {
    for left in (0..columns).step_by(NEAR) {
        for top in (0..rows).step_by(NEAR) {
            for j in (left..columns.min(left + NEAR)).step_by(TILE) {
                for i in (top..rows.min(top + NEAR)).step_by(TILE) {
                    f(i, j);
                }
            }
        }
    }
}

/// Rows as columns.
#[inline(always)]
pub(crate) fn turned<T: Copy>(rows: [[T; TILE]; TILE]) -> [[T; TILE]; TILE] {
    let mut columns = rows;
    for (i, column) in columns.iter_mut().enumerate() {
        *column = [rows[0][i], rows[1][i], rows[2][i], rows[3][i]];
    }
    columns
}

/// `out[i, j] = x[j, i]` for `rows x columns` elements of `out`; rows of `x`, and those of `out`, are that many
/// elements apart.
///
/// ```
/// let mut out = [0; 6];
/// rml_kernels::transpose(&[1, 2, 3, 4, 5, 6], 3, &mut out, 2, [3, 2]);
/// assert_eq!(out, [1, 4, 2, 5, 3, 6]);
/// ```
///
/// # Panics
/// If an operand ends before its last element.
pub fn transpose<T: Copy>(
    x: &[T],
    stride: usize,
    out: &mut [T],
    out_stride: usize,
    [rows, columns]: [usize; 2],
) {
    let (whole_rows, whole_columns) = (rows / TILE * TILE, columns / TILE * TILE);
    let chunk = |from: usize| x[from..][..TILE].as_chunks().0[0];
    tiles([whole_rows, whole_columns], |i, j| {
        let at = j * stride + i;
        let rows = [at, at + stride, at + 2 * stride, at + 3 * stride];
        let tile = turned([chunk(rows[0]), chunk(rows[1]), chunk(rows[2]), chunk(rows[3])]);
        for (r, row) in tile.iter().enumerate() {
            out[(i + r) * out_stride + j..][..TILE].as_chunks_mut().0[0] = *row;
        }
    });
    for i in 0..rows {
        let from = if i < whole_rows { whole_columns } else { 0 };
        for j in from..columns {
            out[i * out_stride + j] = x[j * stride + i];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_all_sizes_are_where_they_belong() {
        let sizes = [0, 1, 3, 4, 5, 8, 15, 16, 17, 20, 35];
        for rows in sizes {
            for columns in sizes {
                let (stride, out_stride) = (rows + 3, columns + 2);
                let x: Vec<usize> = (0..stride * columns.max(1)).collect();
                let mut out = vec![usize::MAX; out_stride * rows.max(1)];
                transpose(&x, stride, &mut out, out_stride, [rows, columns]);
                for (at, found) in out.iter().enumerate() {
                    let (i, j) = (at / out_stride, at % out_stride);
                    let wanted = if i < rows && j < columns { x[j * stride + i] } else { usize::MAX };
                    assert_eq!(*found, wanted, "{rows} x {columns}, row {i}, column {j}");
                }
            }
        }
    }
}
