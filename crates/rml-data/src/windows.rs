//! Data read window by window: which input takes what in each cycle of a batch of windows.

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics, memory};
use rml_engine::{self as block, Block};
use rml_ir::{DType, Data, InputInfo, Precision, Shape, Type, Value};

use crate::bind::{Converted, convert, find, origin, prefixed, uneven, wrong_shape};
use crate::columns::{Column, Columns};

/// Data bound to the inputs of a node.
#[derive(Debug)]
pub struct Windows {
    /// How many windows.
    pub count: usize,
    /// How many cycles each has.
    pub cycles: usize,
    inputs: Vec<Bound>,
}

#[derive(Debug)]
struct Bound {
    info: InputInfo,
    role: Role,
    /// The input whose value says when this one is present.
    clock: Option<Clock>,
}

#[derive(Debug)]
enum Role {
    /// A value a cycle.
    Cycle(Converted),
    /// A value a window.
    Window(Converted),
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

/// The type of one window's cell: without the leading dimension where windows are stacked.
fn cell_type(info: &InputInfo) -> Type {
    let dims = info.ty.shape.dims();
    let dims = if info.batched { dims.get(1..).unwrap_or_default() } else { dims };
    Type { dtype: info.ty.dtype, shape: Shape::new(dims) }
}

impl Windows {
    /// Binds columns to the inputs of a node.
    ///
    /// # Errors
    /// All columns that are missing or do not fit their inputs; data without a window.
    pub fn bind(
        columns: &Columns,
        inputs: &[InputInfo],
        precision: Precision,
        allow_nan: bool,
    ) -> Result<Windows, Diagnostics> {
        let mut findings = Diagnostics::new();
        let empty = |i: &InputInfo| {
            columns.columns.get(&*i.name).is_some_and(|c| c.rows() == 0 && c.shape.rank() > 0)
        };
        if columns.columns.is_empty() || inputs.iter().any(empty) {
            let empty = format!("{} has no row", origin(columns));
            return Err(Diagnostic::error(codes::EMPTY_DATA, empty).into());
        }
        let mut shape = Lengths { count: None, cycles: None };
        let mut found: Vec<Option<(&Column, bool)>> = Vec::new();
        for info in inputs {
            let reading = if is_driven(info, inputs, columns) {
                Ok(None)
            } else {
                let [a, b] = expected_shapes(info);
                find(columns, info, &[&a, &b])
                    .and_then(|c| shape.reading(info, c).map(|by_cycle| Some((c, by_cycle))))
            };
            match reading {
                Ok(f) => found.push(f),
                Err(d) => {
                    findings.push(d);
                    found.push(None);
                }
            }
        }
        let cycles = shape.cycles.as_ref().map_or(1, |c| c.0);
        let count = shape.count.as_ref().map_or(0, |c| c.0);
        let mut bound = Vec::new();
        for (info, column) in inputs.iter().zip(found) {
            let role = match column {
                None => Ok(Role::End),
                Some((c, true)) => {
                    let place = |i: usize| format!("window {}, cycle {}", i / cycles, i % cycles);
                    convert(&info.name, c, &cell_type(info), precision, allow_nan, &place).map(Role::Cycle)
                }
                Some((c, false)) => {
                    let place = |i: usize| format!("window {i}");
                    convert(&info.name, c, &cell_type(info), precision, allow_nan, &place).map(Role::Window)
                }
            };
            match role {
                Ok(role) => bound.push(Bound { info: info.clone(), role, clock: clock(info, inputs) }),
                Err(d) => findings.push(d),
            }
        }
        if findings.is_empty() && (count == 0 || cycles == 0) {
            let none = "no column of the data says how many windows there are";
            findings.push(Diagnostic::error(codes::EMPTY_DATA, none));
        }
        if findings.is_empty() { Ok(Windows { count, cycles, inputs: bound }) } else { Err(findings) }
    }

    /// All cycles of those windows, which are stacked: a column for each input.
    ///
    /// # Errors
    /// Stacked windows that disagree on an input that they share; no memory for the columns.
    pub fn block(&self, windows: &[usize]) -> Result<Block, Diagnostic> {
        let columns = (0..self.inputs.len()).map(|i| self.column(i, windows)).collect::<Result<_, _>>()?;
        Ok(Block::new(self.cycles, columns))
    }

    fn column(&self, i: usize, windows: &[usize]) -> Result<block::Column, Diagnostic> {
        let there = (0..self.cycles).map(|t| self.follows_clock(i, windows, t));
        let there: Vec<bool> = there.collect::<Result<_, _>>()?;
        let cycles: Vec<usize> = (0..self.cycles).filter(|&t| there[t]).collect();
        let column = match self.values(i, windows, &cycles)? {
            Some(values) => block::Column::new(there.into_iter().collect(), values),
            None => block::Column::absent(),
        };
        Ok(if let Some(Clock::Program) = self.inputs[i].clock { column.on_demand() } else { column })
    }

    /// Whether the clock of an input, where it is an input itself, lets it be there in cycle `t`.
    fn follows_clock(&self, i: usize, windows: &[usize], t: usize) -> Result<bool, Diagnostic> {
        match self.inputs[i].clock {
            Some(Clock::Input(c, flag)) => Ok(self.condition(c, windows, t, 0)? == Some(flag)),
            Some(Clock::Program) | None => Ok(true),
        }
    }

    /// The value of a scalar truth value; `None` = absent.
    fn condition(
        &self,
        i: usize,
        windows: &[usize],
        t: usize,
        depth: usize,
    ) -> Result<Option<bool>, Diagnostic> {
        if let Some(Clock::Input(c, flag)) = self.inputs[i].clock
            && (depth > self.inputs.len() || self.condition(c, windows, t, depth + 1)? != Some(flag))
        {
            return Ok(None);
        }
        let values = self.values(i, windows, &[t])?.filter(|values| values.shape().rank() == 1);
        Ok(values
            .and_then(|values| if let Data::Bool(v) = values.to_data() { v.first().copied() } else { None }))
    }

    /// The values of an input in those cycles, one below the other, its clock aside; `None` = its row is absent, or there are no cycles.
    fn values(&self, i: usize, windows: &[usize], cycles: &[usize]) -> Result<Option<Value>, Diagnostic> {
        let Bound { info, role, .. } = &self.inputs[i];
        let (data, per_row, by_cycle) = match role {
            Role::End if cycles.is_empty() => return Ok(None),
            Role::End => {
                let ends = cycles.iter().map(|t| t + 1 == self.cycles).collect();
                return Ok(Some(Value::new(Shape::new(&[cycles.len()]), Data::Bool(ends))));
            }
            Role::Cycle(data) => (data, self.cycles, true),
            Role::Window(data) => (data, 1, false),
        };
        let rows: Vec<usize> = windows.iter().filter_map(|w| data.place(*w)).collect();
        if rows.is_empty() || cycles.is_empty() {
            return Ok(None);
        }
        if rows.len() < windows.len() {
            return Err(disagree(info, windows, "absent in some of them"));
        }
        let at = |row: usize, t: usize| row * per_row + if by_cycle { t } else { 0 };
        let shared = if info.batched { &rows[..] } else { &rows[..1] };
        if !info.batched {
            let cell = |row: usize, t: usize| data.gather(&[at(row, t)], &info.ty.shape);
            let same = |&t: &usize| {
                let first = cell(rows[0], t);
                rows[1..].iter().all(|&row| cell(row, t).same(&first))
            };
            if rows.len() > 1 && !cycles.iter().all(same) {
                return Err(disagree(info, windows, "not the same in all of them"));
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
        Ok(Some(data.gather(&cells, &ty.shape)))
    }
}

/// The shapes that a column of an input may have: a value a cycle, and a value a window.
fn expected_shapes(info: &InputInfo) -> [String; 2] {
    let cell = cell_type(info);
    ["windows, cycles", "windows"].map(|lead| prefixed(lead, cell.shape.dims()))
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

/// The inputs that the data says nothing about.
pub fn missing(inputs: &[InputInfo], columns: &Columns) -> Vec<String> {
    let missing = |i: &&InputInfo| !columns.columns.contains_key(&*i.name) && !is_driven(i, inputs, columns);
    inputs.iter().filter(missing).map(|i| i.name.to_string()).collect()
}

/// Whether an input has no column and is true in the last cycle of each window.
fn is_driven(info: &InputInfo, inputs: &[InputInfo], columns: &Columns) -> bool {
    let is_clock = || inputs.iter().any(|i| i.clock.as_ref().is_some_and(|(c, _)| *c == info.name));
    info.ty == Type::scalar(DType::Bool)
        && !columns.columns.contains_key(&*info.name)
        && (&*info.name == "end" || is_clock())
}

fn clock(info: &InputInfo, inputs: &[InputInfo]) -> Option<Clock> {
    let (name, flag) = info.clock.as_ref()?;
    Some(inputs.iter().position(|i| i.name == *name).map_or(Clock::Program, |i| Clock::Input(i, *flag)))
}

/// The lengths that all columns must agree on, each with the column that first said so.
struct Lengths<'a> {
    count: Option<(usize, &'a str)>,
    cycles: Option<(usize, &'a str)>,
}

impl<'a> Lengths<'a> {
    /// Whether a column has a value a cycle (else one a window), by its number of dimensions.
    fn reading(&mut self, info: &'a InputInfo, column: &Column) -> Result<bool, Diagnostic> {
        let cell = cell_type(info);
        let dims = column.shape.dims();
        let by_cycle = dims.len() == cell.shape.rank() + 2;
        let lead = if by_cycle { 2 } else { 1 };
        if dims.get(lead..) != Some(cell.shape.dims()) {
            let [a, b] = expected_shapes(info);
            return Err(wrong_shape(info, column, &[&a, &b]));
        }
        match self.count {
            Some((n, other)) if n != dims[0] => return Err(uneven(info, dims[0], other, n)),
            _ => self.count = Some((dims[0], &info.name)),
        }
        if by_cycle {
            match self.cycles {
                Some((n, other)) if n != dims[1] => {
                    return Err(Diagnostic::error(
                        codes::DATA_SHAPE,
                        format!(
                            "windows of column `{}` have {} cycles, those of `{other}` {n}",
                            info.name, dims[1]
                        ),
                    ));
                }
                _ => self.cycles = Some((dims[1], &info.name)),
            }
        }
        Ok(by_cycle)
    }
}
