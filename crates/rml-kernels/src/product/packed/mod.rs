//! Right operands in the order in which products read them.

mod ffi;

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};

use ffi::PackAll;
pub(super) use ffi::pack;

use super::Matrix;
use crate::real::KernelNumber;

/// A line of the cache.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C, align(64))]
pub(super) struct Line([u64; 8]);

/// Bytes of a row of a panel.
pub(super) const PANEL: usize = 256;

/// Columns of a panel.
#[inline(always)]
pub(super) const fn panel<T>() -> usize {
    PANEL / size_of::<T>()
}

/// A matrix that is the right operand of many products, packed once.
///
/// Its columns stand in panels of 64 single or 32 double precision numbers, each with its rows one after the other and
/// the last one padded with zeros.
#[derive(Debug)]
pub struct Packed<T> {
    rows: usize,
    columns: usize,
    lines: Vec<Line>,
    /// From which end the next product of one row reads it.
    backward: AtomicBool,
    kind: PhantomData<T>,
}

impl<T: KernelNumber> Packed<T> {
    /// Packs a matrix.
    pub fn new(matrix: Matrix<'_, T>) -> Self {
        let mut packed = Packed {
            rows: 0,
            columns: 0,
            lines: Vec::new(),
            backward: AtomicBool::new(false),
            kind: PhantomData,
        };
        packed.set(matrix);
        packed
    }

    /// Packs another matrix; if it is of the same size, nothing is allocated.
    pub fn set(&mut self, matrix: Matrix<'_, T>) {
        let (rows, columns) = (matrix.rows(), matrix.columns());
        let lines = rows * columns.div_ceil(panel::<T>()) * (PANEL / size_of::<Line>());
        (self.rows, self.columns) = (rows, columns);
        self.lines.resize(lines, Line::default());
        crate::isa::run(PackAll { matrix, lines: &mut self.lines });
    }
}

impl<T> Packed<T> {
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

    /// Whether a product of one row reads its panels from the last one on: each reads them in the order opposite to the
    /// one before. Where the matrix does not fit into the nearest cache, it finds there what was read last. Results are
    /// the same.
    #[inline]
    pub(super) fn turn(&self) -> bool {
        let backward = self.backward.load(Ordering::Relaxed);
        self.backward.store(!backward, Ordering::Relaxed);
        backward
    }

    /// As many lines as `set` says.
    #[inline]
    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }
}
