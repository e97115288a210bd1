//! How the cells of a column are laid out in windows, and what an input takes from them.

use std::borrow::Cow;

use rml_base::Diagnostic;
use rml_ir::{InputInfo, Precision};

use super::{Role, cell_type};
use crate::bind::convert;
use crate::cells::Cells;
use crate::columns::Column;
use crate::on_disk::OnDisk;
use crate::sequences;

/// How a column is read.
#[derive(Clone, Copy)]
pub(super) enum Reading {
    /// A value a cycle, of windows of the same length.
    Cycle,
    /// A value a cycle, of windows of different lengths that were filled up.
    Padded,
    /// A value a cycle, the cycles of all windows one after the other.
    Sequence,
    /// A value a window.
    Window,
}

impl Reading {
    /// What an input takes from a column that is read so, in a precision, and NaN let through or not. The windows have
    /// those lengths, and the column has windows that were filled up to others.
    pub(super) fn role(
        self,
        info: &InputInfo,
        column: &Column,
        (cycles, lengths, filled): (usize, &[usize], Option<&[usize]>),
        disk: Option<&OnDisk>,
        (precision, allow_nan): (Precision, bool),
    ) -> Result<Role, Diagnostic> {
        let ty = cell_type(info);
        if let Some(disk) = disk.filter(|disk| disk.has(&info.name)) {
            let stored = || Cells::on_disk(disk, &info.name, column, &ty, precision);
            return self.role_on_disk(&info.name, stored(), column, (cycles, lengths, filled), allow_nan);
        }
        let converted = |column: &Column, place: &dyn Fn(usize) -> String| {
            convert(&info.name, column, &ty, precision, allow_nan, place).map(Cells::Memory)
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

    /// The same of a column that is on disk. Its elements are converted when they are read, and looked at once here.
    fn role_on_disk(
        self,
        name: &str,
        cells: Cells,
        column: &Column,
        (cycles, lengths, filled): (usize, &[usize], Option<&[usize]>),
        allow_nan: bool,
    ) -> Result<Role, Diagnostic> {
        let all = 0..column.present_rows();
        let row = |at: usize| column.present.as_ref().map_or(at, |present| present[at]);
        match self {
            Self::Cycle => {
                let place = |i: usize| format!("window {}, cycle {}", row(i / cycles), i % cycles);
                cells.check(all.start * cycles..all.end * cycles, allow_nan, &place)?;
                Ok(Role::Cycle(cells))
            }
            Self::Window => {
                cells.check(all, allow_nan, &|i| format!("window {}", row(i)))?;
                Ok(Role::Window(cells))
            }
            Self::Padded | Self::Sequence => {
                let starts = match self {
                    Self::Padded => sequences::padded_starts(name, column, filled)?,
                    _ => sequences::starts(lengths),
                };
                for (window, (start, length)) in starts.iter().zip(lengths).enumerate() {
                    let place = |i: usize| format!("window {window}, cycle {}", i - start);
                    cells.check(*start..start + length, allow_nan, &place)?;
                }
                Ok(Role::Sequence(cells, starts))
            }
        }
    }
}
