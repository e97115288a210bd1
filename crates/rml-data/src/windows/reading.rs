//! The layout of a column's cells in windows, and the resulting values of an input.

use std::borrow::Cow;
use std::ops::Range;

use rml_base::Diagnostic;
use rml_ir::{InputInfo, Precision};

use super::{Role, cell_type};
use crate::bind::convert;
use crate::cells::Cells;
use crate::columns::Column;
use crate::on_disk::Dataset;
use crate::sequences;

/// How a column is read.
#[derive(Clone, Copy)]
pub(super) enum Reading {
    /// A value per cycle, for windows of the same length.
    Cycle,
    /// A value per cycle, for padded windows of different lengths.
    Padded,
    /// A value per cycle, with the cycles of all windows concatenated.
    Sequence,
    /// A value per window.
    Window,
}

/// Checks a range of cells; the function names one of them in a message.
type Check<'a> = dyn Fn(Range<usize>, &dyn Fn(usize) -> String) -> Result<(), Diagnostic> + 'a;

impl Reading {
    /// The role of an input with a column read in this way. `lengths` are the lengths of the windows; `filled` are
    /// their lengths in the column, padding included, if these differ.
    pub(super) fn role(
        self,
        info: &InputInfo,
        column: &Column,
        (cycles, lengths, filled): (usize, &[usize], Option<&[usize]>),
        data: &dyn Dataset,
        (precision, allow_nan): (Precision, bool),
    ) -> Result<Role, Diagnostic> {
        let (ty, origin) = (cell_type(info), data.table().called());
        if let Some(disk) = data.on_disk().filter(|disk| disk.has(&info.name)) {
            let stored = Cells::on_disk(disk, &info.name, column, &ty, precision);
            let check = |cells: Range<usize>, place: &dyn Fn(usize) -> String| {
                stored.check(cells, allow_nan, &|i| format!("{} of {origin}", place(i)))
            };
            let starts = self.check_on_disk(&info.name, column, (cycles, lengths, filled), &check)?;
            return Ok(match self {
                Self::Cycle => Role::Cycle(stored),
                Self::Window => Role::Window(stored),
                Self::Padded | Self::Sequence => Role::Sequence(stored, starts),
            });
        }
        let converted = |column: &Column, place: &dyn Fn(usize) -> String| {
            let place = |i: usize| format!("{} of {origin}", place(i));
            convert(&info.name, column, &ty, precision, allow_nan, &place).map(Cells::Memory)
        };
        let joined = match self {
            Self::Cycle => {
                let place = |i: usize| format!("window {}, cycle {}", i / cycles, i % cycles);
                return converted(column, &place).map(Role::Cycle);
            }
            Self::Window => return converted(column, &|i| format!("window {i}")).map(Role::Window),
            Self::Padded => {
                let starts = sequences::padded_starts(&info.name, column, filled)?;
                Cow::Owned(sequences::unpadded(&info.name, column, &starts, lengths, &ty.shape)?)
            }
            Self::Sequence => Cow::Borrowed(column),
        };
        let starts = sequences::starts(lengths);
        let place = |i: usize| {
            let window = starts.partition_point(|start| *start <= i).saturating_sub(1);
            format!("window {window}, cycle {}", i - starts.get(window).copied().unwrap_or(0))
        };
        let data = converted(&joined, &place)?;
        Ok(Role::Sequence(data, starts))
    }

    /// Checks the elements of a column on disk, which are converted only when they are read. `check` checks a range of
    /// cells, which it names by their places. Returns the positions of windows if the cells of all windows are
    /// concatenated.
    fn check_on_disk(
        self,
        name: &str,
        column: &Column,
        (cycles, lengths, filled): (usize, &[usize], Option<&[usize]>),
        check: &Check<'_>,
    ) -> Result<Vec<usize>, Diagnostic> {
        let all = 0..column.present_rows();
        let row = |at: usize| column.present.as_ref().map_or(at, |present| present[at]);
        let starts = match self {
            Self::Cycle => {
                let place = |i: usize| format!("window {}, cycle {}", row(i / cycles), i % cycles);
                check(all.start * cycles..all.end * cycles, &place)?;
                return Ok(Vec::new());
            }
            Self::Window => {
                check(all, &|i| format!("window {}", row(i)))?;
                return Ok(Vec::new());
            }
            Self::Padded => sequences::padded_starts(name, column, filled)?,
            Self::Sequence => sequences::starts(lengths),
        };
        for (window, (start, length)) in starts.iter().zip(lengths).enumerate() {
            check(*start..start + length, &|i| format!("window {window}, cycle {}", i - start))?;
        }
        Ok(starts)
    }
}
