//! Data read window by window: which input takes what in each cycle of a batch of windows.

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics};
use rml_ir::{DType, InputInfo, Precision, Shape, Type, Value};

use crate::bind::{Converted, convert, find, origin, prefixed, uneven, wrong_shape};
use crate::columns::{Column, Columns};
use crate::feed::Feed;

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

    /// What each input is in cycle `t` of those windows, which are stacked.
    ///
    /// # Errors
    /// Stacked windows that disagree on an input that they share.
    pub fn feed(&self, windows: &[usize], t: usize) -> Result<Vec<Feed>, Diagnostic> {
        (0..self.inputs.len()).map(|i| self.feed_input(i, windows, t)).collect()
    }

    fn feed_input(&self, i: usize, windows: &[usize], t: usize) -> Result<Feed, Diagnostic> {
        let bound = &self.inputs[i];
        if let Some(Clock::Input(c, flag)) = bound.clock
            && self.condition(c, windows, t, 0)? != Some(flag)
        {
            return Ok(Feed::Absent);
        }
        let Some(value) = self.value(i, windows, t)? else { return Ok(Feed::Absent) };
        Ok(match bound.clock {
            Some(Clock::Program) => Feed::OnDemand(Some(value)),
            _ => Feed::Value(value),
        })
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
        Ok(self.value(i, windows, t)?.and_then(|v| v.as_bool()))
    }

    /// The value of an input, its clock aside; `None` = its row is absent.
    fn value(&self, i: usize, windows: &[usize], t: usize) -> Result<Option<Value>, Diagnostic> {
        let bound = &self.inputs[i];
        let (data, per_row, t) = match &bound.role {
            Role::End => return Ok(Some(Value::Bool(t + 1 == self.cycles))),
            Role::Cycle(data) => (data, self.cycles, t),
            Role::Window(data) => (data, 1, 0),
        };
        let places = windows.iter().filter_map(|w| data.place(*w));
        let cells: Vec<usize> = places.map(|row| row * per_row + t).collect();
        if cells.is_empty() {
            return Ok(None);
        }
        if cells.len() < windows.len() {
            return Err(disagree(&bound.info, windows, "absent in some of them"));
        }
        if bound.info.batched {
            let mut dims = vec![windows.len()];
            dims.extend_from_slice(cell_type(&bound.info).shape.dims());
            return Ok(Some(data.gather(&cells, &Shape::new(&dims))));
        }
        let first = data.gather(&cells[..1], &bound.info.ty.shape);
        for cell in &cells[1..] {
            if !data.gather(&[*cell], &bound.info.ty.shape).same(&first) {
                return Err(disagree(&bound.info, windows, "not the same in all of them"));
            }
        }
        Ok(Some(first))
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
