//! Data read window by window: the values of each input in each cycle of a batch of windows.

mod agreed;
mod batches;
mod bind;
mod cycles;
mod doubts;
mod fit;
mod hints;
mod presence;
mod reading;
mod rows;

use std::sync::Arc;

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, memory};
use rml_engine::{self as block, Block};
use rml_ir::{DType, Data, InputInfo, Precision, Shape, Type, Value};

use crate::advice::prefixed;
use crate::cells::Cells;
use crate::classes::Classes;
use crate::columns::Elements;
use crate::labels;
use crate::layout::Layout;
use crate::prepare::{Fill, Moments, Steps, fitted};
use crate::recipe::Preparation;

pub use batches::Batches;
pub use bind::missing;
pub use cycles::WindowCycles;
pub use doubts::Uneven;

/// Data bound to the inputs of a node.
#[derive(Debug)]
pub struct Windows {
    /// The number of windows.
    pub count: usize,
    /// The number of cycles of each window; if lengths differ, the largest.
    pub cycles: usize,
    /// The number of cycles of each window, if they differ.
    lengths: Option<Vec<usize>>,
    inputs: Vec<Bound>,
    /// The rows of each window, if they are those of a long table.
    layout: Option<Arc<Layout>>,
    /// A column that is ignored although its name suggests that it has the lengths of the windows.
    misnamed: Option<String>,
    /// The name of the data in messages.
    origin: String,
}

#[derive(Debug)]
struct Bound {
    info: InputInfo,
    /// The precision of the program.
    precision: Precision,
    role: Role,
    /// The input whose value decides when this one is present.
    clock: Option<Clock>,
    /// The names of its values.
    classes: Option<Classes>,
    /// The preparation of its values.
    steps: Steps,
}

#[derive(Debug)]
enum Role {
    /// A value per cycle.
    Cycle(Cells),
    /// A value per cycle, stored window after window; and the position of each window.
    Sequence(Cells, Vec<usize>),
    /// A value per window.
    Window(Cells),
    /// A value per row of a long table, whose rows are the cycles of windows.
    Row(Cells),
    /// True in the last cycle of each window.
    End,
    /// True in the first cycle of each series. A window that was not cut from a table is a series.
    Begin,
    /// True in the last cycle of the last windows of an epoch.
    EpochEnd,
    /// True in the cycles in which another input has a value: the input with this number.
    Present(usize),
}

#[derive(Clone, Copy, Debug)]
enum Clock {
    /// It ticks where this input has this value.
    Input(usize, bool),
    /// The program computes it.
    Program,
}

/// The shapes that a column of an input may have: with a value per cycle, and with a value per window.
fn expected_shapes(info: &InputInfo) -> [String; 2] {
    let cell = cell_type(info);
    ["windows, cycles", "windows"].map(|lead| prefixed(lead, cell.shape.dims()))
}

/// The type of a cell of one window: without the leading dimension if windows are stacked.
fn cell_type(info: &InputInfo) -> Type {
    let dims = info.ty.shape.dims();
    let dims = if info.batched { dims.get(1..).unwrap_or_default() } else { dims };
    Type { dtype: info.ty.dtype, shape: Shape::new(dims) }
}

impl Windows {
    /// The number of cycles of a window.
    pub fn length(&self, window: usize) -> usize {
        self.lengths.as_ref().and_then(|lengths| lengths.get(window).copied()).unwrap_or(self.cycles)
    }

    /// The number of cycles of every window; `None` if they differ.
    pub fn same_length(&self) -> Option<usize> {
        self.lengths.is_none().then_some(self.cycles)
    }

    /// All cycles of these windows, which have the same length and are stacked: a column for each input. `is_last` says
    /// that an epoch, or the evaluation of some windows, ends with them.
    ///
    /// # Errors
    /// Stacked windows with different values of an input that they share; not enough memory for the columns.
    pub fn block(&self, windows: &[usize], is_last: bool) -> Result<Block, Diagnostic> {
        let column = |i| self.column_of(i, windows, is_last);
        let columns = (0..self.inputs.len()).map(column).collect::<Result<_, _>>()?;
        Ok(Block::new(self.length_of(windows), columns))
    }

    /// The number of cycles of stacked windows.
    fn length_of(&self, windows: &[usize]) -> usize {
        windows.first().map_or(self.cycles, |window| self.length(*window))
    }

    /// The values of only input `i` in all cycles of these windows, as in their [`block`](Self::block) if they are not
    /// the last windows.
    ///
    /// # Errors
    /// As for [`block`](Self::block).
    pub fn column(&self, i: usize, windows: &[usize]) -> Result<block::BlockColumn, Diagnostic> {
        self.column_of(i, windows, false)
    }

    fn column_of(
        &self,
        i: usize,
        windows: &[usize],
        is_last: bool,
    ) -> Result<block::BlockColumn, Diagnostic> {
        let length = self.length_of(windows);
        let there = self.follows_clock(i, windows, 0)?;
        let cycles: Vec<usize> = (0..length).filter(|&t| there[t]).collect();
        let cycles = self.valued(i, windows, &cycles);
        let mut there = vec![false; length];
        cycles.iter().for_each(|t| there[*t] = true);
        let ends = is_last && matches!(self.inputs[i].role, Role::EpochEnd);
        let values = if ends {
            one_true(&cycles, length.saturating_sub(1))
        } else {
            self.values(i, windows, &cycles)?
        };
        let column = match values {
            Some(values) => block::BlockColumn::new(there.into_iter().collect(), values),
            None => block::BlockColumn::absent(),
        };
        Ok(if let Some(Clock::Program) = self.inputs[i].clock { column.on_demand() } else { column })
    }

    /// For each cycle, whether the clock of an input allows it to be present, as far as inputs determine the clock.
    /// `depth` counts the clocks around it, and ends the recursion if clocks depend on each other.
    fn follows_clock(&self, i: usize, windows: &[usize], depth: usize) -> Result<Vec<bool>, Diagnostic> {
        let length = self.length_of(windows);
        let Some(Clock::Input(c, flag)) = self.inputs[i].clock else { return Ok(vec![true; length]) };
        let mut there = vec![false; length];
        if depth > self.inputs.len() {
            return Ok(there);
        }
        let around = self.follows_clock(c, windows, depth + 1)?;
        let cycles: Vec<usize> = (0..length).filter(|t| around[*t]).collect();
        let cycles = self.valued(c, windows, &cycles);
        let values = self.values(c, windows, &cycles)?.filter(|values| values.shape().rank() == 1);
        if let Some(Data::Bool(values)) = values.map(|values| values.to_data()) {
            cycles.iter().zip(values).for_each(|(t, value)| there[*t] = value == flag);
        }
        Ok(there)
    }

    /// The prepared values of an input in these cycles, stacked, regardless of its clock; none if its row is absent, or
    /// there are no cycles. In a long table, cycles with absent rows are left out.
    pub(crate) fn values(
        &self,
        i: usize,
        windows: &[usize],
        cycles: &[usize],
    ) -> Result<Option<Value>, Diagnostic> {
        let Bound { info, precision, steps, .. } = &self.inputs[i];
        let Some(data) = self.inputs[i].cells() else { return self.driven(i, windows, cycles) };
        let cycles = &self.valued(i, windows, cycles)[..];
        let at: Vec<Option<usize>> =
            cycles.iter().flat_map(|t| windows.iter().map(|window| self.cell(i, *window, *t))).collect();
        let known: Vec<usize> = at.iter().flatten().copied().collect();
        if cycles.is_empty() || windows.is_empty() || (known.is_empty() && steps.fill.is_none()) {
            return Ok(None);
        }
        let cell = cell_type(info);
        let stacked = info.batched.then_some(windows.len());
        let dims: Shape =
            std::iter::once(cycles.len()).chain(stacked).chain(cell.shape.dims().iter().copied()).collect();
        let value = if known.len() == at.len() {
            if info.batched {
                self.gathered(i, &known, dims)?
            } else {
                self.agree(i, windows, &known)?;
                let first: Vec<usize> = known.iter().step_by(windows.len()).copied().collect();
                self.gathered(i, &first, dims)?
            }
        } else if steps.fill.is_some() && (info.batched || windows.len() == 1) {
            let flat: Shape = std::iter::once(known.len()).chain(cell.shape.dims().iter().copied()).collect();
            let values = if known.is_empty() { None } else { Some(self.gathered(i, &known, flat)?) };
            let there: Vec<usize> = (0..at.len()).filter(|place| at[*place].is_some()).collect();
            let double = data.precision() == Precision::F64;
            Value::new(dims, steps.filled(values, &cell, at.len(), &there, double).to_data())
        } else {
            return Err(self.lacking(i, windows, cycles));
        };
        Ok(Some(steps.applied(value, *precision)))
    }

    /// Gathers cells of the column of an input in a value of this shape. Numbers of texts are replaced by numbers of
    /// classes.
    fn gathered(&self, i: usize, cells: &[usize], shape: Shape) -> Result<Value, Diagnostic> {
        let Bound { info, classes, .. } = &self.inputs[i];
        let Some(data) = self.inputs[i].cells() else { return Err(self.lacking(i, &[], &[])) };
        let ty = Type { dtype: info.ty.dtype, shape };
        memory::ask(ty.bytes(data.precision())).map_err(|short| {
            short.diagnostic(format!("the values of input `{}` in a batch of windows", info.name))
        })?;
        let value = data.gather(cells, &ty.shape)?;
        Ok(match classes.as_ref().and_then(|classes| classes.numbers.as_ref()) {
            Some(numbers) => renumbered(&value, numbers),
            None => value,
        })
    }

    /// Checks that stacked windows have the same values of an input that they share; `cells` has the cells of all
    /// windows in each cycle.
    fn agree(&self, i: usize, windows: &[usize], cells: &[usize]) -> Result<(), Diagnostic> {
        let (info, Some(data)) = (&self.inputs[i].info, self.inputs[i].cells()) else { return Ok(()) };
        for cells in cells.chunks(windows.len()).filter(|cells| cells.len() > 1) {
            let first = data.gather(&cells[..1], &info.ty.shape)?;
            for other in &cells[1..] {
                if !data.gather(&[*other], &info.ty.shape)?.same(&first) {
                    return Err(disagree(info, windows, "not the same in all of them"));
                }
            }
        }
        Ok(())
    }

    /// The values that an input without a column has in these cycles.
    fn driven(&self, i: usize, windows: &[usize], cycles: &[usize]) -> Result<Option<Value>, Diagnostic> {
        let begins = |window: &usize| self.layout.as_ref().is_none_or(|layout| layout.begins_series(*window));
        let is_true = match &self.inputs[i].role {
            Role::Begin if windows.iter().all(begins) => 0,
            // This is past all cycles.
            Role::EpochEnd => usize::MAX,
            Role::Present(of) => return self.presence((i, *of), windows, cycles),
            Role::Begin if !windows.iter().any(begins) => usize::MAX,
            Role::Begin => {
                return Err(disagree(
                    &self.inputs[i].info,
                    windows,
                    "true in those alone that begin a series",
                ));
            }
            _ => self.length_of(windows).saturating_sub(1),
        };
        Ok(one_true(cycles, is_true))
    }

    /// The number of the cell of an input in a cycle of a window; `None` if it has none.
    fn cell(&self, i: usize, window: usize, cycle: usize) -> Option<usize> {
        match &self.inputs[i].role {
            Role::Cycle(data) => Some(data.place(window)? * self.cycles + cycle),
            Role::Sequence(data, starts) => Some(starts[data.place(window)?] + cycle),
            Role::Window(data) => data.place(window),
            Role::Row(data) => data.place(self.layout.as_ref()?.row(window, cycle)),
            Role::End | Role::Begin | Role::EpochEnd | Role::Present(_) => None,
        }
    }

    /// The cycles in which an input has a value. In a long table, this means that one of the windows has a value, or
    /// gaps are filled.
    fn valued(&self, i: usize, windows: &[usize], cycles: &[usize]) -> Vec<usize> {
        let bound = &self.inputs[i];
        let has_value = |t: &usize| match &bound.role {
            Role::Row(data) if bound.steps.fill.is_none() && data.has_gaps() => {
                windows.iter().any(|window| self.cell(i, *window, *t).is_some())
            }
            _ => true,
        };
        cycles.iter().copied().filter(has_value).collect()
    }

    /// The error that only some of the stacked windows have a value of an input in these cycles.
    fn lacking(&self, i: usize, windows: &[usize], cycles: &[usize]) -> Diagnostic {
        let info = &self.inputs[i].info;
        let mut places = cycles.iter().flat_map(|t| windows.iter().map(move |window| (*window, *t)));
        let gap = places.find(|(window, t)| self.cell(i, *window, *t).is_none());
        let (first, cycle) = gap.unwrap_or_default();
        let (place, note) = match &self.layout {
            Some(layout) => {
                let row = layout.row(first, cycle);
                (format!("row {row}"), "other windows are stacked with the one of this row".to_owned())
            }
            None => {
                let lacks = |window: &usize| self.cell(i, *window, 0).is_none();
                let first = windows.iter().copied().filter(lacks).min().unwrap_or_default();
                let all = (0..self.count).filter(lacks).count();
                let note =
                    format!("{all} of {} windows have none, and others are stacked with them", self.count);
                (format!("window {first}"), note)
            }
        };
        let what = format!("input `{}` has no value in {place} of {}", info.name, self.origin);
        let d = Diagnostic::error(codes::DATA_SHAPE, what).note(note);
        let (name, classes) = (&info.name, self.inputs[i].classes.as_ref());
        let fill = match (info.ty.dtype, classes.and_then(|classes| classes.names.first())) {
            (DType::Num, _) => format!(", or fill all gaps: `--fill '{name}=mean'` or `--fill '{name}=0'`"),
            (DType::Int, None) => format!(", or fill all gaps: `--fill '{name}=0'`"),
            // No class is likelier to be right than another one.
            (DType::Int, Some(_)) | (DType::Bool, _) => String::new(),
        };
        d.help(format!("leave these rows out{fill}"))
    }

    /// The inputs.
    pub(crate) fn infos(&self) -> impl Iterator<Item = &InputInfo> {
        self.inputs.iter().map(|bound| &bound.info)
    }

    /// The inputs whose values have names, with the names in the order of their numbers.
    pub fn classes(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.inputs.iter().filter_map(|bound| Some((&*bound.info.name, &bound.classes.as_ref()?.names[..])))
    }

    /// The inputs that have one value for all cycles of a window.
    pub fn repeated(&self) -> impl Iterator<Item = &str> {
        let is_repeated = |bound: &&Bound| matches!(bound.role, Role::Window(_)) && bound.clock.is_none();
        self.inputs.iter().filter(is_repeated).map(|bound| &*bound.info.name)
    }

    /// Prepares the values of all inputs in this way, whenever they are read.
    pub fn prepare(&mut self, preparation: &Preparation) {
        for bound in &mut self.inputs {
            bound.steps = preparation.steps.get(&*bound.info.name).cloned().unwrap_or_default();
        }
    }

    /// The preparation of an input, fitted to the values of some windows.
    ///
    /// # Errors
    /// Data that cannot be read; values that cannot be prepared in this way.
    pub(crate) fn fit(
        &self,
        name: &str,
        fill: Option<&Fill>,
        scales: bool,
        set: &[usize],
    ) -> Result<Steps, Diagnostic> {
        let Some(i) = self.inputs.iter().position(|bound| *bound.info.name == *name) else {
            return Ok(Steps::default());
        };
        let bound = &self.inputs[i];
        let cell = cell_type(&bound.info).shape;
        let mut moments = Moments::new(cell.len().max(1));
        let is_used = scales || fill == Some(&Fill::Mean);
        let mut counted = 0;
        for window in set.iter().filter(|_| is_used) {
            // A value per window counts once, however many cycles use it. A row of a long table counts once, however
            // many windows contain it.
            let cycles = match (&bound.role, &self.layout) {
                (Role::Window(_), _) => 0..1,
                (Role::Row(_), Some(layout)) => {
                    let places = layout.places(*window);
                    let first = counted.max(places.start) - places.start;
                    counted = counted.max(places.end);
                    first..places.len()
                }
                _ => 0..self.length(*window),
            };
            let cells: Vec<usize> = cycles.filter_map(|t| self.cell(i, *window, t)).collect();
            if !cells.is_empty() {
                let dims = std::iter::once(cells.len()).chain(cell.dims().iter().copied()).collect();
                moments.add(&self.gathered(i, &cells, dims)?);
            }
        }
        let classes = bound.classes.as_ref().map(|classes| &classes.names[..]);
        fitted(&bound.info, (fill, scales), &moments, classes)
    }
}

impl Bound {
    /// The cells of its column.
    fn cells(&self) -> Option<&Cells> {
        match &self.role {
            Role::Cycle(cells) | Role::Sequence(cells, _) | Role::Window(cells) | Role::Row(cells) => {
                Some(cells)
            }
            Role::End | Role::Begin | Role::EpochEnd | Role::Present(_) => None,
        }
    }
}

/// For each of these cycles, whether it is the cycle `is_true`; none if there are no cycles.
fn one_true(cycles: &[usize], is_true: usize) -> Option<Value> {
    let values = cycles.iter().map(|t| *t == is_true).collect();
    (!cycles.is_empty()).then(|| Value::new(Shape::new(&[cycles.len()]), Data::Bool(values)))
}

/// The value with the numbers of classes instead of those of texts.
fn renumbered(value: &Value, numbers: &[i64]) -> Value {
    let Data::Int(v) = value.to_data() else { return value.clone() };
    let mut elements = Elements::Int(v);
    labels::renumber(&mut elements, numbers);
    let Elements::Int(v) = elements else { return value.clone() };
    Value::new(value.shape().clone(), Data::Int(v))
}

fn disagree(info: &InputInfo, windows: &[usize], how: &str) -> Diagnostic {
    Diagnostic::error(
        codes::DATA_SHAPE,
        format!("{} windows are stacked, and input `{}` is {how}", windows.len(), info.name),
    )
    .note(format!(
        "its declared shape {} does not begin with `batch`, so stacked windows share it",
        info.ty.shape
    ))
    .help("declare a leading dimension `batch`, or stack one window at a time")
}
