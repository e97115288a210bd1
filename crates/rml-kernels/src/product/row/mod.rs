//! One row: a product, or a sum of products and other rows.

pub(crate) mod ffi;
#[cfg(test)]
mod tests;

use super::{Matrix, Packed, Right};

/// A summand of a row.
#[derive(Clone, Copy, Debug)]
pub struct Term<'a, T>(Kind<'a, T>);

#[derive(Clone, Copy, Debug)]
enum Kind<'a, T> {
    /// Numbers as they are.
    Row(&'a [T]),
    /// A row times a matrix, which is packed or has contiguous rows.
    Product(Matrix<'a, T>, Right<'a, T>),
}

/// From which end a matrix is read, panel by panel. Where it does not fit into the nearest cache, and rows are computed
/// with it one after the other, every other one should be backward: it finds there what the one before it read last.
/// Results are the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the first column on.
    Forward,
    /// From the last panel on.
    Backward,
}

impl<'a, T> Term<'a, T> {
    /// Numbers as they are.
    #[inline]
    pub fn row(x: &'a [T]) -> Self {
        Term(Kind::Row(x))
    }

    /// A row times a row-major matrix of `columns` columns.
    ///
    /// # Panics
    /// If the matrix has fewer elements than that.
    #[inline]
    pub fn product(x: &'a [T], columns: usize, matrix: &'a [T]) -> Self {
        Term::of(Matrix::new(1, x.len(), x), Right::Matrix(Matrix::new(x.len(), columns, matrix)))
    }

    /// A row times a packed matrix.
    ///
    /// # Panics
    /// If the matrix does not have as many rows as the row has elements.
    #[inline]
    pub fn packed(x: &'a [T], matrix: &'a Packed<T>) -> Self {
        assert_eq!(x.len(), matrix.rows(), "inner dimension of a product");
        Term::of(Matrix::new(1, x.len(), x), Right::Packed(matrix))
    }

    /// The product of a matrix of one row with one that has as many rows as that has columns.
    #[inline]
    pub(super) fn of(left: Matrix<'a, T>, right: Right<'a, T>) -> Self {
        Term(Kind::Product(left, right))
    }

    fn columns(&self) -> usize {
        match &self.0 {
            Kind::Row(x) => x.len(),
            Kind::Product(_, Right::Matrix(matrix)) => matrix.columns(),
            Kind::Product(_, Right::Packed(matrix)) => matrix.columns(),
        }
    }

    fn is_transposed(&self) -> bool {
        matches!(&self.0, Kind::Product(_, Right::Matrix(matrix)) if matrix.is_transposed())
    }
}
