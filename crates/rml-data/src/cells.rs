//! The cells of a column, in memory or on disk. Cells on disk are converted when they are read.

use std::ops::Range;

use rml_base::Diagnostic;
use rml_base::memory;
use rml_ir::{Precision, Shape, Type, Value};

use crate::bind::{Converted, convert};
use crate::columns::{Column, place};
use crate::on_disk::OnDisk;
use crate::stored::AT_ONCE;

/// The cells of a column, as values of the type of an input.
#[derive(Debug)]
pub(crate) enum Cells {
    Memory(Converted),
    Disk(DiskCells),
}

/// Cells on disk.
#[derive(Debug)]
pub(crate) struct DiskCells {
    disk: OnDisk,
    column: String,
    /// The numbers of the present rows; `None` = all rows.
    present: Option<Vec<usize>>,
    /// The type of a cell.
    ty: Type,
    precision: Precision,
}

impl Cells {
    /// The cells of a column that is on disk.
    pub(crate) fn on_disk(
        disk: &OnDisk,
        name: &str,
        column: &Column,
        ty: &Type,
        precision: Precision,
    ) -> Self {
        let (disk, present) = (disk.clone(), column.present.clone());
        Self::Disk(DiskCells { disk, column: name.to_owned(), present, ty: ty.clone(), precision })
    }

    /// The cells at these positions among the present rows, stacked into a value of this shape.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn gather(&self, cells: &[usize], shape: &Shape) -> Result<Value, Diagnostic> {
        match self {
            Self::Memory(converted) => Ok(converted.gather(cells, shape)),
            Self::Disk(disk) => disk.gather(cells, shape),
        }
    }

    /// The index of a row among the present rows; `None` if the row is absent.
    pub(crate) fn place(&self, row: usize) -> Option<usize> {
        match self {
            Self::Memory(converted) => converted.place(row),
            Self::Disk(disk) => place(disk.present.as_deref(), row),
        }
    }

    /// Whether rows may be absent.
    pub(crate) fn has_gaps(&self) -> bool {
        match self {
            Self::Memory(converted) => converted.has_gaps(),
            Self::Disk(disk) => disk.present.is_some(),
        }
    }

    /// The precision of the numbers.
    pub(crate) fn precision(&self) -> Precision {
        match self {
            Self::Memory(converted) => converted.precision(),
            Self::Disk(disk) => disk.precision,
        }
    }

    /// Checks cells on disk; `place` names a cell in a message.
    ///
    /// # Errors
    /// As [`convert`].
    pub(crate) fn check(
        &self,
        cells: Range<usize>,
        allow_nan: bool,
        place: &dyn Fn(usize) -> String,
    ) -> Result<(), Diagnostic> {
        let Self::Disk(disk) = self else { return Ok(()) };
        let step = (AT_ONCE / disk.ty.shape.len().max(1)).max(1);
        for start in cells.clone().step_by(step) {
            let piece = start..cells.end.min(start + step);
            disk.converted(&[piece], allow_nan, &|i| place(start + i))?;
        }
        Ok(())
    }
}

impl DiskCells {
    fn gather(&self, cells: &[usize], shape: &Shape) -> Result<Value, Diagnostic> {
        let mut sorted = cells.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let runs: Vec<Range<usize>> =
            sorted.chunk_by(|a, b| a + 1 == *b).map(|run| run[0]..run[0] + run.len()).collect();
        // Forbidden numbers were searched for when the column was bound.
        let converted = self.converted(&runs, true, &|i| format!("cell {i}"))?;
        let at: Vec<usize> = cells.iter().map(|cell| sorted.partition_point(|other| other < cell)).collect();
        Ok(converted.gather(&at, shape))
    }

    /// The cells of these ranges, concatenated.
    fn converted(
        &self,
        runs: &[Range<usize>],
        allow_nan: bool,
        place: &dyn Fn(usize) -> String,
    ) -> Result<Converted, Diagnostic> {
        let n = self.ty.shape.len();
        let count: usize = runs.iter().map(ExactSizeIterator::len).sum();
        let short = |short: memory::Shortage| short.diagnostic(format!("column `{}`", self.column));
        memory::ask(memory::bytes_of(count * n, size_of::<f64>())).map_err(short)?;
        let mut elements = self.disk.elements(&self.column, 0..0)?;
        for run in runs {
            let more = self.disk.elements(&self.column, run.start * n..run.end * n)?;
            elements.append(more);
        }
        let shape = Shape::new(&[&[count], self.ty.shape.dims()].concat());
        let column = Column { shape, elements, present: None };
        convert(&self.column, &column, &self.ty, self.precision, allow_nan, place)
    }
}
