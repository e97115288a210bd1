//! Matrices as views of slices.

/// A matrix whose elements stand in a slice, row by row or column by column.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T> {
    data: &'a [T],
    rows: usize,
    columns: usize,
    /// From one row (one column, if it is transposed) to the next.
    stride: usize,
    transposed: bool,
}

/// A matrix to write to, row by row.
#[derive(Debug)]
pub struct MatrixMut<'a, T> {
    data: &'a mut [T],
    rows: usize,
    columns: usize,
    stride: usize,
}

/// How many elements `rows` rows, `stride` apart, take; none if that overflows or rows overlap.
#[inline]
fn extent(rows: usize, columns: usize, stride: usize) -> Option<usize> {
    if rows == 0 || columns == 0 {
        return Some(0);
    }
    if rows > 1 && stride < columns {
        return None;
    }
    (rows - 1).checked_mul(stride)?.checked_add(columns)
}

#[inline]
fn check(len: usize, rows: usize, columns: usize, stride: usize) {
    let extent = extent(rows, columns, stride);
    assert!(extent.is_some_and(|e| e <= len), "{rows} rows of {columns}, {stride} apart, in {len} elements");
}

impl<'a, T> Matrix<'a, T> {
    /// Rows one after the other.
    ///
    /// # Panics
    /// If the slice is too short.
    #[inline]
    pub fn new(rows: usize, columns: usize, data: &'a [T]) -> Self {
        Matrix::strided(rows, columns, columns, data)
    }

    /// Rows that begin `stride` elements apart.
    ///
    /// # Panics
    /// If the slice is too short, or the stride shorter than a row.
    #[inline]
    pub fn strided(rows: usize, columns: usize, stride: usize, data: &'a [T]) -> Self {
        check(data.len(), rows, columns, stride);
        Matrix { data, rows, columns, stride, transposed: false }
    }

    /// The transpose, of the same elements.
    #[inline]
    #[must_use]
    pub fn transposed(self) -> Self {
        Matrix { rows: self.columns, columns: self.rows, transposed: !self.transposed, ..self }
    }

    /// Some rows, of a matrix whose rows are contiguous.
    pub(super) fn rows_of(self, first: usize, rows: usize) -> Self {
        Matrix::strided(rows, self.columns, self.stride, &self.data[first * self.stride..])
    }

    /// Some columns, of a matrix whose columns are contiguous.
    pub(super) fn steps(self, first: usize, columns: usize) -> Self {
        self.transposed().rows_of(first, columns).transposed()
    }

    /// The number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    #[inline]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Whether columns, not rows, are contiguous.
    #[inline]
    pub(super) fn is_transposed(&self) -> bool {
        self.transposed
    }

    /// From one contiguous row or column to the next.
    #[inline]
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// The elements; (i, j) at `i * stride + j`, or `i + j * stride` if it is transposed, which is below the length for
    /// all i and j.
    #[inline]
    pub(super) fn data(&self) -> &'a [T] {
        self.data
    }
}

impl<'a, T> MatrixMut<'a, T> {
    /// Rows one after the other.
    ///
    /// # Panics
    /// If the slice is too short.
    #[inline]
    pub fn new(rows: usize, columns: usize, data: &'a mut [T]) -> Self {
        MatrixMut::strided(rows, columns, columns, data)
    }

    /// Rows that begin `stride` elements apart.
    ///
    /// # Panics
    /// If the slice is too short, or the stride shorter than a row.
    #[inline]
    pub fn strided(rows: usize, columns: usize, stride: usize, data: &'a mut [T]) -> Self {
        check(data.len(), rows, columns, stride);
        MatrixMut { data, rows, columns, stride }
    }

    /// The number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    #[inline]
    pub fn columns(&self) -> usize {
        self.columns
    }

    #[inline]
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// The elements; (i, j) at `i * stride + j`, which is below the length and different for all i and j.
    #[inline]
    pub(super) fn data(&mut self) -> &mut [T] {
        self.data
    }

    /// A row.
    #[inline]
    pub(super) fn row(&mut self, i: usize) -> &mut [T] {
        &mut self.data[i * self.stride..][..self.columns]
    }
}
