//! The facts on which all columns of a data set must agree: the number of windows, and the number of cycles of each.

use std::borrow::Cow;

use rml_base::Diagnostic;
use rml_base::codes::run as codes;
use rml_ir::InputInfo;

use super::reading::Reading;
use super::{cell_type, expected_shapes};
use crate::bind::{uneven, wrong_shape};
use crate::columns::{Column, Columns, LENGTHS};
use crate::sequences;

/// The facts on which all columns must agree, each with the first column that determined it.
pub(super) struct Agreed<'a> {
    count: Option<(usize, &'a str)>,
    cycles: Option<(usize, &'a str)>,
    pub(super) lengths: Option<(Cow<'a, [usize]>, &'a str)>,
    /// Whether a separate column has the lengths.
    is_declared: bool,
}

impl<'a> Agreed<'a> {
    pub(super) fn new(declared: &'a Option<Vec<usize>>) -> Self {
        let lengths = declared.as_ref().map(|lengths| (Cow::Borrowed(&lengths[..]), LENGTHS));
        let count = declared.as_ref().map(|lengths| (lengths.len(), LENGTHS));
        Self { count, cycles: None, is_declared: lengths.is_some(), lengths }
    }

    /// The number of windows.
    pub(super) fn windows(&self) -> usize {
        self.count.map_or(0, |c| c.0)
    }

    /// The cycles of the longest window.
    pub(super) fn most(&self) -> usize {
        match &self.lengths {
            Some((lengths, _)) => lengths.iter().copied().max().unwrap_or(0),
            None => self.cycles.map_or(1, |c| c.0),
        }
    }

    /// How a column is read, according to its number of dimensions.
    pub(super) fn reading(
        &mut self,
        info: &'a InputInfo,
        column: &Column,
        columns: &'a Columns,
    ) -> Result<Reading, Diagnostic> {
        let cell = cell_type(info);
        let shape = column.shape_for(cell.shape.dims());
        let dims = if columns.lengths(&info.name).is_some() { column.shape.dims() } else { shape.dims() };
        let wrong = || {
            let [a, b] = expected_shapes(info);
            wrong_shape(info, column, &[&a, &b])
        };
        if let Some(lengths) = columns.lengths(&info.name) {
            if dims.get(1..) != Some(cell.shape.dims()) {
                let mut d = wrong().note("its rows are sequences of different lengths");
                if let [most, rest @ ..] = cell.shape.dims()
                    && dims.get(1..) == Some(rest)
                    && lengths.iter().all(|length| length <= most)
                {
                    let name = &info.name;
                    let fill =
                        format!("`--fill '{name}=0'` fills shorter rows with 0 at their end, up to {most}");
                    d.help = vec![fill, format!("or give each row all {most} elements")];
                }
                return Err(columns.explained(&info.name, uneven_row(d, cell.shape.dims(), dims, lengths)));
            }
            if let (true, Some((declared, _))) = (self.is_declared, &self.lengths)
                && declared.len() == lengths.len()
            {
                sequences::within(declared, &info.name, lengths.iter().copied())?;
                return Ok(Reading::Padded);
            }
            return self.sequences(info, lengths).map(|()| Reading::Sequence);
        }
        let by_cycle = dims.len() == cell.shape.rank() + 2;
        let lead = if by_cycle { 2 } else { 1 };
        if dims.get(lead..) != Some(cell.shape.dims()) {
            return Err(wrong());
        }
        if let (true, false, Some((lengths, _))) = (self.is_declared, by_cycle, &self.lengths)
            && column.present.is_none()
            && dims[0] != lengths.len()
            && dims[0] == lengths.iter().sum::<usize>()
        {
            return Ok(Reading::Sequence);
        }
        self.count(info, dims, by_cycle)?;
        if !by_cycle {
            return Ok(Reading::Window);
        }
        match self.cycles {
            Some((n, other)) if n != dims[1] => {
                let what = format!(
                    "windows of column `{}` have {} cycles, those of `{other}` {n}",
                    info.name, dims[1]
                );
                Err(Diagnostic::error(codes::DATA_SHAPE, what))
            }
            _ => {
                self.cycles = Some((dims[1], &info.name));
                Ok(if self.is_declared { Reading::Padded } else { Reading::Cycle })
            }
        }
    }

    /// Compares the number of rows of a column with the known number; an error has advice on how to fix the column.
    fn count(&mut self, info: &'a InputInfo, dims: &[usize], by_cycle: bool) -> Result<(), Diagnostic> {
        let name = &info.name;
        let Some((n, other)) = self.count.filter(|(n, _)| *n != dims[0]) else {
            self.count = Some((dims[0], name));
            return Ok(());
        };
        let d = uneven(info, dims[0], other, n);
        let swapped = |name: &str| {
            format!(
                "the first dimension counts windows, the second cycles: in NumPy, `{name}.swapaxes(0, 1)`"
            )
        };
        Err(match &self.lengths {
            Some((lengths, _)) if self.is_declared && !by_cycle => with_sum(d, name, lengths),
            None if !by_cycle && self.cycles.is_some_and(|(cycles, _)| cycles == dims[0]) => {
                d.help(swapped(other))
            }
            _ if by_cycle && dims[1] == n => d.help(swapped(name)),
            _ => d,
        })
    }

    /// Compares the lengths of sequences with the known lengths.
    fn sequences(&mut self, info: &'a InputInfo, lengths: &'a [usize]) -> Result<(), Diagnostic> {
        match self.count {
            Some((n, other)) if n != lengths.len() => return Err(uneven(info, lengths.len(), other, n)),
            _ => self.count = Some((lengths.len(), &info.name)),
        }
        if let Some((before, other)) = &self.lengths {
            return sequences::same(&info.name, lengths, other, before);
        }
        sequences::check(&info.name, lengths)?;
        self.lengths = Some((Cow::Borrowed(lengths), &info.name));
        Ok(())
    }

    /// Checks that columns with windows of one length agree with the lengths of the others.
    pub(super) fn check(&self) -> Result<(), Diagnostic> {
        let (Some((lengths, name)), Some((cycles, other))) = (&self.lengths, self.cycles) else {
            return Ok(());
        };
        if self.is_declared {
            return sequences::within(lengths, other, std::iter::repeat(cycles));
        }
        sequences::same(name, lengths, other, &vec![cycles; lengths.len()])
    }
}

/// The error of a row that has another number of elements than the input, while most rows have the right one.
fn uneven_row(mut d: Diagnostic, cell: &[usize], dims: &[usize], lengths: &[usize]) -> Diagnostic {
    let &[n] = cell else { return d };
    let mut odd = lengths.iter().enumerate().filter(|(_, length)| **length != n);
    let others = lengths.iter().filter(|length| **length == n).count();
    let Some((row, length)) = odd.next().filter(|_| dims.len() == 1 && others > lengths.len() / 2) else {
        return d;
    };
    let plural = if *length == 1 { "" } else { "s" };
    let more = match odd.count() {
        0 => String::new(),
        more => format!(", and {more} more rows have another number"),
    };
    d.notes = vec![format!(
        "row {row} has {length} element{plural}, expected {n} in each row (rows count from 0){more}"
    )];
    d.help = vec![format!("row {row} needs {n} elements: complete it, or leave it out")];
    d
}

/// The error of a column that has neither a row for each window nor a row for each cycle of all windows.
fn with_sum(mut d: Diagnostic, name: &str, lengths: &[usize]) -> Diagnostic {
    let (windows, cycles) = (lengths.len(), lengths.iter().sum::<usize>());
    d.notes = vec![format!(
        "`{LENGTHS}` counts {windows} windows of {cycles} cycles in all: expected {cycles} rows, one for each cycle, or {windows}, one for each window"
    )];
    d.help = vec![format!(
        "store the cycles of all windows, one window after the other, in NumPy `{name}=np.concatenate(windows), {LENGTHS}=[len(w) for w in windows]`"
    )];
    d
}
