//! Data read window by window: which input takes what in each cycle of a batch of windows.

mod agreed;
mod bind;
mod fit;
mod hints;
mod reading;

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, memory};
use rml_engine::{self as block, Block};
use rml_ir::{Data, InputInfo, Precision, Shape, Type, Value};

use crate::advice::prefixed;
use crate::cells::Cells;
use crate::classes::Classes;
use crate::columns::Elements;
use crate::labels;
use crate::prepare::{Fill, Moments, Steps, fitted};
use crate::recipe::Preparation;

pub use bind::missing;

/// Data bound to the inputs of a node.
#[derive(Debug)]
pub struct Windows {
    /// How many windows.
    pub count: usize,
    /// How many cycles each has; of different lengths, the greatest.
    pub cycles: usize,
    /// How many cycles each window has, where they differ.
    lengths: Option<Vec<usize>>,
    inputs: Vec<Bound>,
    /// A column that is ignored, and whose name says that it has the lengths of the windows.
    misnamed: Option<String>,
    /// What the data is called in messages.
    origin: String,
}

#[derive(Debug)]
struct Bound {
    info: InputInfo,
    role: Role,
    /// The input whose value says when this one is present.
    clock: Option<Clock>,
    /// The names of its values.
    classes: Option<Classes>,
    /// What happens to its values.
    steps: Steps,
}

#[derive(Debug)]
enum Role {
    /// A value a cycle.
    Cycle(Cells),
    /// A value a cycle, the cycles of all windows one after the other; where each window begins.
    Sequence(Cells, Vec<usize>),
    /// A value a window.
    Window(Cells),
    /// True in the last cycle of each window.
    End,
}

#[derive(Clone, Copy, Debug)]
enum Clock {
    /// That input has that value.
    Input(usize, bool),
    /// The program computes it.
    Program,
}

/// The shapes that a column of an input may have: a value a cycle, and a value a window.
fn expected_shapes(info: &InputInfo) -> [String; 2] {
    let cell = cell_type(info);
    ["windows, cycles", "windows"].map(|lead| prefixed(lead, cell.shape.dims()))
}

/// The type of one window's cell: without the leading dimension where windows are stacked.
fn cell_type(info: &InputInfo) -> Type {
    let dims = info.ty.shape.dims();
    let dims = if info.batched { dims.get(1..).unwrap_or_default() } else { dims };
    Type { dtype: info.ty.dtype, shape: Shape::new(dims) }
}

impl Windows {
    /// How many cycles a window has.
    pub fn length(&self, window: usize) -> usize {
        self.lengths.as_ref().and_then(|lengths| lengths.get(window).copied()).unwrap_or(self.cycles)
    }

    /// How many cycles each window has; `None` if they differ.
    pub fn same_length(&self) -> Option<usize> {
        self.lengths.is_none().then_some(self.cycles)
    }

    /// Puts windows that stand in some order into batches of at most that many, each of windows of the same length.
    /// Full batches come first, in the order in which they are filled, then the others, larger ones first.
    pub fn batches(&self, order: &[usize], size: usize) -> Vec<Vec<usize>> {
        if self.lengths.is_none() {
            return order.chunks(size.max(1)).map(<[usize]>::to_vec).collect();
        }
        let (mut full, mut open) = (Vec::new(), IndexMap::<usize, Vec<usize>>::new());
        for &window in order {
            let batch = open.entry(self.length(window)).or_default();
            batch.push(window);
            if batch.len() >= size {
                full.push(std::mem::take(batch));
            }
        }
        let mut rest: Vec<Vec<usize>> = open.into_values().filter(|batch| !batch.is_empty()).collect();
        rest.sort_by_key(|batch| (usize::MAX - batch.len(), self.length(batch[0])));
        full.extend(rest);
        full
    }

    /// All cycles of those windows, which have the same length and are stacked: a column for each input.
    ///
    /// # Errors
    /// Stacked windows that disagree on an input that they share; no memory for the columns.
    pub fn block(&self, windows: &[usize]) -> Result<Block, Diagnostic> {
        let columns = (0..self.inputs.len()).map(|i| self.column(i, windows)).collect::<Result<_, _>>()?;
        Ok(Block::new(self.length_of(windows), columns))
    }

    /// How many cycles windows have that are stacked.
    fn length_of(&self, windows: &[usize]) -> usize {
        windows.first().map_or(self.cycles, |window| self.length(*window))
    }

    /// Input `i` alone in all cycles of those windows, as in their [`block`](Self::block).
    ///
    /// # Errors
    /// Those of [`block`](Self::block).
    pub fn column(&self, i: usize, windows: &[usize]) -> Result<block::Column, Diagnostic> {
        let length = self.length_of(windows);
        let there = self.follows_clock(i, windows, 0)?;
        let cycles: Vec<usize> = (0..length).filter(|&t| there[t]).collect();
        let column = match self.values(i, windows, &cycles)? {
            Some(values) => block::Column::new(there.into_iter().collect(), values),
            None => block::Column::absent(),
        };
        Ok(if let Some(Clock::Program) = self.inputs[i].clock { column.on_demand() } else { column })
    }

    /// In which cycles the clock of an input, where it is an input itself, lets it be there; that clock has that many
    /// around it.
    fn follows_clock(&self, i: usize, windows: &[usize], depth: usize) -> Result<Vec<bool>, Diagnostic> {
        let length = self.length_of(windows);
        let Some(Clock::Input(c, flag)) = self.inputs[i].clock else { return Ok(vec![true; length]) };
        let mut there = vec![false; length];
        if depth > self.inputs.len() {
            return Ok(there);
        }
        let around = self.follows_clock(c, windows, depth + 1)?;
        let cycles: Vec<usize> = (0..length).filter(|t| around[*t]).collect();
        let values = self.values(c, windows, &cycles)?.filter(|values| values.shape().rank() == 1);
        if let Some(Data::Bool(values)) = values.map(|values| values.to_data()) {
            cycles.iter().zip(values).for_each(|(t, value)| there[*t] = value == flag);
        }
        Ok(there)
    }

    /// The values of an input in those cycles as the program gets them, one below the other, its clock aside; `None` =
    /// its row is absent, or there are no cycles.
    pub(crate) fn values(
        &self,
        i: usize,
        windows: &[usize],
        cycles: &[usize],
    ) -> Result<Option<Value>, Diagnostic> {
        let bound = &self.inputs[i];
        let (Bound { info, steps, .. }, Some(data)) = (bound, bound.cells()) else {
            return self.stored(i, windows, cycles);
        };
        let cell = cell_type(info);
        let there: Vec<usize> =
            (0..windows.len()).filter(|place| data.place(windows[*place]).is_some()).collect();
        let values = if steps.fill.is_none() || there.len() == windows.len() || cycles.is_empty() {
            self.stored(i, windows, cycles)?
        } else if info.batched || windows.len() == 1 {
            let present: Vec<usize> = there.iter().map(|place| windows[*place]).collect();
            let values = self.stored(i, &present, cycles)?;
            let double = data.precision() == Precision::F64;
            let filled = steps.filled(values, &cell, (cycles.len(), windows.len()), &there, double);
            let stacked = info.batched.then_some(windows.len());
            let dims = std::iter::once(cycles.len()).chain(stacked).chain(cell.shape.dims().iter().copied());
            Some(Value::new(dims.collect(), filled.to_data()))
        } else {
            return Err(self.lacking(i, windows));
        };
        Ok(values.map(|values| steps.applied(values, cell.shape.len())))
    }

    /// The same, as the data has them, but for classes in place of texts.
    fn stored(&self, i: usize, windows: &[usize], cycles: &[usize]) -> Result<Option<Value>, Diagnostic> {
        let Bound { info, role, .. } = &self.inputs[i];
        let data = match role {
            Role::End if cycles.is_empty() => return Ok(None),
            Role::End => {
                let last = self.length_of(windows) - 1;
                let ends = cycles.iter().map(|t| *t == last).collect();
                return Ok(Some(Value::new(Shape::new(&[cycles.len()]), Data::Bool(ends))));
            }
            Role::Cycle(data) | Role::Sequence(data, _) | Role::Window(data) => data,
        };
        let rows: Vec<usize> = windows.iter().filter_map(|w| data.place(*w)).collect();
        if rows.is_empty() || cycles.is_empty() {
            return Ok(None);
        }
        if rows.len() < windows.len() {
            return Err(self.lacking(i, windows));
        }
        let at = |row: usize, t: usize| match role {
            Role::Cycle(_) => row * self.cycles + t,
            Role::Sequence(_, starts) => starts[row] + t,
            Role::Window(_) | Role::End => row,
        };
        let shared = if info.batched { &rows[..] } else { &rows[..1] };
        if !info.batched {
            let cell = |row: usize, t: usize| data.gather(&[at(row, t)], &info.ty.shape);
            for &t in cycles.iter().filter(|_| rows.len() > 1) {
                let first = cell(rows[0], t)?;
                for &row in &rows[1..] {
                    if !cell(row, t)?.same(&first) {
                        return Err(disagree(info, windows, "not the same in all of them"));
                    }
                }
            }
        }
        let cells: Vec<usize> =
            cycles.iter().flat_map(|&t| shared.iter().map(move |&row| at(row, t))).collect();
        let stacked = info.batched.then_some(windows.len());
        let cell = cell_type(info);
        let dims: Shape =
            std::iter::once(cycles.len()).chain(stacked).chain(cell.shape.dims().iter().copied()).collect();
        let ty = Type { dtype: cell.dtype, shape: dims };
        memory::ask(ty.bytes(data.precision())).map_err(|short| {
            short.diagnostic(format!("the values of input `{}` in a batch of windows", info.name))
        })?;
        let value = data.gather(&cells, &ty.shape)?;
        let numbers = self.inputs[i].classes.as_ref().and_then(|classes| classes.numbers.as_ref());
        Ok(Some(match numbers {
            Some(numbers) => renumbered(&value, numbers),
            None => value,
        }))
    }

    /// Some of the windows that are stacked have no value of an input.
    fn lacking(&self, i: usize, windows: &[usize]) -> Diagnostic {
        let info = &self.inputs[i].info;
        let lacks = |window: usize| self.inputs[i].cells().is_some_and(|cells| cells.place(window).is_none());
        let first = windows.iter().copied().filter(|window| lacks(*window)).min().unwrap_or_default();
        let all = (0..self.count).filter(|window| lacks(*window)).count();
        let what = format!("input `{}` has no value in window {first} of {}", info.name, self.origin);
        let note = format!("{all} of {} windows have none, and others are stacked with them", self.count);
        let mean =
            if info.ty.is_num() { format!("`--fill '{}=mean'` or ", info.name) } else { String::new() };
        let help = format!("fill all gaps, {mean}`--fill '{}=0'`, or leave these rows out", info.name);
        Diagnostic::error(codes::DATA_SHAPE, what).note(note).help(help)
    }

    /// The inputs.
    pub(crate) fn infos(&self) -> impl Iterator<Item = &InputInfo> {
        self.inputs.iter().map(|bound| &bound.info)
    }

    /// The inputs whose values have names, with these in the order of their numbers.
    pub fn classes(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.inputs.iter().filter_map(|bound| Some((&*bound.info.name, &bound.classes.as_ref()?.names[..])))
    }

    /// The inputs that have one value for all cycles of a window.
    pub fn repeated(&self) -> impl Iterator<Item = &str> {
        let is_repeated = |bound: &&Bound| matches!(bound.role, Role::Window(_)) && bound.clock.is_none();
        self.inputs.iter().filter(is_repeated).map(|bound| &*bound.info.name)
    }

    /// Prepares the values of all inputs in that way, whenever they are read.
    pub fn prepare(&mut self, preparation: &Preparation) {
        for bound in &mut self.inputs {
            bound.steps = preparation.steps.get(&*bound.info.name).cloned().unwrap_or_default();
        }
    }

    /// What is to happen to the values of an input, as far as it depends on those of some windows.
    ///
    /// # Errors
    /// Data that cannot be read; values that cannot be prepared so.
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
        let mut moments = Moments::new(cell_type(&bound.info).shape.len().max(1));
        let is_used = scales || fill == Some(&Fill::Mean);
        for window in set.iter().filter(|_| is_used) {
            // A value a window counts once, however many cycles it is given in.
            let cycles = if let Role::Window(_) = bound.role { 1 } else { self.length(*window) };
            if let Some(value) = self.stored(i, &[*window], &(0..cycles).collect::<Vec<_>>())? {
                moments.add(&value);
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
            Role::Cycle(cells) | Role::Sequence(cells, _) | Role::Window(cells) => Some(cells),
            Role::End => None,
        }
    }
}

/// Classes in place of the numbers of texts.
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
