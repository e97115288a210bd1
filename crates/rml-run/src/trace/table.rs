//! The inputs of a run over a table.

use std::ops::Range;

use rml_base::codes::run as codes;
use rml_base::codes::sim::SYNC_ERROR;
use rml_base::{Diagnostic, Diagnostics, Error};
use rml_data::{Arranged, Columns, Converted, Feed, Preparation, WindowCycles, Windowing, by_cycle};
use rml_driver::Program;
use rml_engine::{Block, BlockColumn, Present};
use rml_ir::{InputInfo, Precision, Shape, Value};

use super::RunOptions;
use crate::checkpoint::prepared::check_preparation;
use crate::runner::with_gaps;

/// The inputs of a run.
pub(crate) struct Table<'a> {
    pub(super) inputs: &'a [InputInfo],
    bound: Vec<Converted>,
    /// The preparation of their values.
    preparation: Preparation,
    precision: Precision,
    /// The name of the data in messages.
    origin: String,
    /// For each input, the input that is its clock.
    clocks: Vec<Option<(usize, bool)>>,
    pub(crate) cycles: usize,
    /// The cycles of the windows, if the table is cut.
    windows: Option<WindowCycles>,
}

impl<'a> Table<'a> {
    pub(crate) fn new(
        program: &'a Program,
        columns: &Columns,
        options: &RunOptions,
        preparation: Preparation,
    ) -> Result<Self, Diagnostics> {
        let (inputs, precision) = (program.inputs(), program.precision());
        check_preparation(program, &preparation)?;
        let windowing = windowing(columns, inputs, options, &preparation).0;
        let windows = Arranged::new(columns, &windowing)?.cycles(inputs)?;
        let columns = windows.as_ref().map_or(columns, |windows| &windows.columns);
        let (bound, count) = by_cycle(columns, inputs, precision, options.allow_nan, &preparation)?;
        let cycles = match options.cycles {
            Some(n) if !inputs.is_empty() && n > count => {
                let what = format!("{n} cycles are asked for, the inputs have {count}");
                return Err(Diagnostic::error(codes::BAD_OPTION, what).into());
            }
            Some(n) => n,
            None if inputs.is_empty() => {
                let what = format!("node {} has no inputs that say how many cycles to run", program.node());
                return Err(Diagnostic::error(codes::BAD_OPTION, what)
                    .help("give the number of cycles (`--cycles`)")
                    .into());
            }
            None => count,
        };
        let index = |name: &str| inputs.iter().position(|i| &*i.name == name);
        let clock = |i: &InputInfo| i.clock.as_ref().and_then(|(c, flag)| index(c).map(|at| (at, *flag)));
        let origin = columns.called().to_owned();
        let clocks = inputs.iter().map(clock).collect();
        Ok(Self { inputs, bound, preparation, precision, origin, clocks, cycles, windows })
    }

    /// The value of each input in cycle `n`.
    pub(crate) fn row(&self, n: usize) -> Vec<Feed> {
        let cell = |i: usize| {
            let (present, value) = self.prepared(i, n..n + 1);
            if present[0] {
                Feed::Value(Value::new(self.inputs[i].ty.shape.clone(), value.to_data()))
            } else {
                Feed::Absent
            }
        };
        (0..self.inputs.len()).map(cell).collect()
    }

    /// These cycles as a block.
    pub(super) fn block(&self, cycles: Range<usize>) -> Block {
        let column = |i: usize| {
            let (present, values) = self.column(i, cycles.clone());
            BlockColumn::new(present, values)
        };
        Block::new(cycles.len(), (0..self.inputs.len()).map(column).collect())
    }

    /// The cycles in which input `i` is present, and its values in them, stacked.
    pub(crate) fn column(&self, i: usize, cycles: Range<usize>) -> (Present, Value) {
        let (present, values) = self.prepared(i, cycles);
        (present.into_iter().collect(), values)
    }

    fn prepared(&self, i: usize, cycles: Range<usize>) -> (Vec<bool>, Value) {
        let place = |n: usize| self.bound[i].place(n).filter(|_| self.is_present(i, n));
        let places: Vec<Option<usize>> = cycles.map(place).collect();
        let cells: Vec<usize> = places.iter().copied().flatten().collect();
        let dims: Vec<usize> = [cells.len()].iter().chain(self.inputs[i].ty.shape.dims()).copied().collect();
        let values = self.bound[i].gather(&cells, &Shape::new(&dims));
        let present = places.iter().map(Option::is_some).collect();
        self.preparation.cycles(&self.inputs[i], present, values, self.precision)
    }

    /// Whether input `i` is present in cycle `n`: according to its column; if the column has no gaps, according to its
    /// clock.
    fn is_present(&self, i: usize, n: usize) -> bool {
        if self.bound[i].has_gaps() {
            return self.bound[i].place(n).is_some();
        }
        let mut at = i;
        // A clock may have a clock of its own; no chain is longer than the list of inputs.
        for _ in 0..self.inputs.len() {
            let Some((c, flag)) = self.clocks[at] else { return true };
            let condition =
                self.bound[c].place(n).map(|place| self.bound[c].gather(&[place], &Shape::scalar()));
            if condition.and_then(|value| value.as_bool()) != Some(flag) {
                return false;
            }
            at = c;
        }
        true
    }

    /// Completes an error in the cycles from row `from` on, the first of which is cycle `first` of the session: for an
    /// absent variable, with the empty cells of its cycle.
    pub(super) fn with_gaps(&self, error: Error, from: usize, first: u64) -> Error {
        let is_in = |d: &Diagnostic, row: usize| {
            d.message.ends_with(&format!("in cycle {}", first + (row - from) as u64))
        };
        let found = |row: usize| error.diagnostics().iter().any(|d| d.code == SYNC_ERROR && is_in(d, row));
        let Some(row) = (from..self.cycles).find(|row| found(*row)) else { return error };
        let is_gap = |i: &usize| {
            let input = &self.inputs[*i];
            input.clock.is_none()
                && self.bound[*i].place(row).is_none()
                && !self.preparation.fills(&input.name)
        };
        let gaps = (0..self.inputs.len()).filter(is_gap);
        let row = self.windows.as_ref().map_or(row, |windows| windows.row(row));
        let gaps: Vec<_> = gaps.map(|i| (&*self.inputs[i].name, row, &*self.origin)).collect();
        with_gaps(error, &gaps, None)
    }
}

/// How the rows of a table become windows: as the options say, completed by what the training did. The second value
/// says whether the windows of the training are left out, since the table says by a column `end` where windows end.
pub(super) fn windowing(
    columns: &Columns,
    inputs: &[InputInfo],
    options: &RunOptions,
    preparation: &Preparation,
) -> (Windowing, bool) {
    let trained = &preparation.asked.cut;
    let is_own = inputs.iter().any(|input| &*input.name == END)
        && (columns.columns.contains_key(END) || columns.unusable.contains_key(END))
        && trained.end.as_deref() != Some(END);
    if options.cut.is_nothing() && is_own {
        return (Windowing::default(), !trained.is_nothing());
    }
    (options.cut.clone().or(trained.clone()), false)
}

/// The input that is true in the last cycle of each window.
const END: &str = "end";
