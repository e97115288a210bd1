//! Data read window by window: which input takes what in each cycle of a batch of windows.

mod hints;

use std::borrow::Cow;

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics, memory};
use rml_engine::{self as block, Block};
use rml_ir::{DType, Data, InputInfo, Precision, Shape, Type, Value};

use crate::advice::prefixed;
use crate::bind::{convert, find, named, origin, uneven, wrong_shape};
use crate::cells::Cells;
use crate::columns::{Column, Columns, LENGTHS};
use crate::malformed::Unusable;
use crate::on_disk::{Dataset, OnDisk};
use crate::sequences;

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
    /// What the data is called in messages.
    origin: String,
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
        data: &dyn Dataset,
        inputs: &[InputInfo],
        precision: Precision,
        allow_nan: bool,
    ) -> Result<Windows, Diagnostics> {
        let (columns, disk) = (data.table(), data.on_disk());
        let mut findings = Diagnostics::new();
        let empty = |i: &InputInfo| {
            columns.columns.get(&*i.name).is_some_and(|c| c.rows() == 0 && c.shape.rank() > 0)
        };
        let is_void = columns.columns.is_empty() && columns.unusable.is_empty();
        if is_void || inputs.iter().any(empty) {
            let empty = format!("{} has no row", origin(columns));
            return Err(Diagnostic::error(codes::EMPTY_DATA, empty).into());
        }
        let declared = sequences::declared(columns, inputs)?;
        let mut shape = Agreed::new(&declared);
        let mut found: Vec<Option<(&Column, Reading)>> = Vec::new();
        for info in inputs {
            let reading = if is_driven(info, inputs, columns) {
                Ok(None)
            } else {
                let [a, b] = expected_shapes(info);
                // Of what is on disk, shapes and elements were compared when it was read.
                let find = if disk.is_some_and(|disk| disk.has(&info.name)) { named } else { find };
                find(columns, info, &[&a, &b])
                    .and_then(|c| shape.reading(info, c, columns).map(|reading| Some((c, reading))))
            };
            match reading {
                Ok(f) => found.push(f),
                Err(d) => {
                    findings.push(d);
                    found.push(None);
                }
            }
        }
        if let Err(d) = shape.check() {
            findings.push(d);
            return Err(findings);
        }
        let cycles = shape.most();
        let count = shape.count.as_ref().map_or(0, |c| c.0);
        let lengths = shape.lengths.map(|(lengths, _)| lengths.to_vec());
        let mut bound = Vec::new();
        for (info, found) in inputs.iter().zip(found) {
            let role = found.map_or(Ok(Role::End), |(column, reading)| {
                let lengths = lengths.as_deref().unwrap_or_default();
                let filled = columns.lengths(&info.name);
                reading
                    .role(info, column, (cycles, lengths, filled), disk, (precision, allow_nan))
                    .map_err(|d| columns.explained(&info.name, d))
            });
            match role {
                Ok(role) => bound.push(Bound { info: info.clone(), role, clock: clock(info, inputs) }),
                Err(d) => findings.push(d),
            }
        }
        if findings.is_empty() && (count == 0 || cycles == 0) {
            let none = "no column of the data says how many windows there are";
            let d = Diagnostic::error(codes::EMPTY_DATA, none);
            findings.push(match inputs.is_empty() {
                true => d
                    .note("the node has no inputs that the data could feed")
                    .help("train without data, for a number of windows or cycles: `--windows 100` in place of `--data`"),
                false => d.help("give at least one input a column in the data"),
            });
        }
        if findings.is_empty() {
            Ok(Windows { count, cycles, lengths, inputs: bound, origin: origin(columns).to_owned() })
        } else {
            Err(findings)
        }
    }

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

    /// The values of an input in those cycles, one below the other, its clock aside; `None` = its row is absent, or
    /// there are no cycles.
    fn values(&self, i: usize, windows: &[usize], cycles: &[usize]) -> Result<Option<Value>, Diagnostic> {
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
            return Err(disagree(info, windows, "absent in some of them"));
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
        data.gather(&cells, &ty.shape).map(Some)
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

/// The inputs that the data has no values for. A column whose rows do not fit each other is not missing, but wrong.
pub fn missing(inputs: &[InputInfo], columns: &Columns) -> Vec<String> {
    let has = |name: &str| {
        columns.columns.contains_key(name) || columns.unusable.get(name).is_some_and(Unusable::is_misshapen)
    };
    let missing = |i: &&InputInfo| !has(&i.name) && !is_driven(i, inputs, columns);
    inputs.iter().filter(missing).map(|i| i.name.to_string()).collect()
}

/// Whether an input has no column, usable or not, and is true in the last cycle of each window.
fn is_driven(info: &InputInfo, inputs: &[InputInfo], columns: &Columns) -> bool {
    let is_clock = || inputs.iter().any(|i| i.clock.as_ref().is_some_and(|(c, _)| *c == info.name));
    info.ty == Type::scalar(DType::Bool)
        && !columns.mentions(&info.name)
        && (&*info.name == "end" || is_clock())
}

fn clock(info: &InputInfo, inputs: &[InputInfo]) -> Option<Clock> {
    let (name, flag) = info.clock.as_ref()?;
    Some(inputs.iter().position(|i| i.name == *name).map_or(Clock::Program, |i| Clock::Input(i, *flag)))
}

/// How a column is read.
#[derive(Clone, Copy)]
enum Reading {
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
    fn role(
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

/// What all columns must agree on, each with the column that first said so.
struct Agreed<'a> {
    count: Option<(usize, &'a str)>,
    cycles: Option<(usize, &'a str)>,
    lengths: Option<(Cow<'a, [usize]>, &'a str)>,
    /// Whether a column of its own says the lengths.
    is_declared: bool,
}

impl<'a> Agreed<'a> {
    fn new(declared: &'a Option<Vec<usize>>) -> Self {
        let lengths = declared.as_ref().map(|lengths| (Cow::Borrowed(&lengths[..]), LENGTHS));
        let count = declared.as_ref().map(|lengths| (lengths.len(), LENGTHS));
        Self { count, cycles: None, is_declared: lengths.is_some(), lengths }
    }

    /// The cycles of the longest window.
    fn most(&self) -> usize {
        match &self.lengths {
            Some((lengths, _)) => lengths.iter().copied().max().unwrap_or(0),
            None => self.cycles.map_or(1, |c| c.0),
        }
    }

    /// How a column is read, by its number of dimensions.
    fn reading(
        &mut self,
        info: &'a InputInfo,
        column: &Column,
        columns: &'a Columns,
    ) -> Result<Reading, Diagnostic> {
        let cell = cell_type(info);
        let dims = column.shape.dims();
        let wrong = || {
            let [a, b] = expected_shapes(info);
            wrong_shape(info, column, &[&a, &b])
        };
        if let Some(lengths) = columns.lengths(&info.name) {
            if dims.get(1..) != Some(cell.shape.dims()) {
                let d = wrong().note("its rows are sequences of different lengths");
                return Err(columns.explained(&info.name, d));
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
        match self.count {
            Some((n, other)) if n != dims[0] => return Err(uneven(info, dims[0], other, n)),
            _ => self.count = Some((dims[0], &info.name)),
        }
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

    /// Compares the lengths of sequences with those that are known.
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

    /// Whether columns of windows of one length agree with the lengths of the others.
    fn check(&self) -> Result<(), Diagnostic> {
        let (Some((lengths, name)), Some((cycles, other))) = (&self.lengths, self.cycles) else {
            return Ok(());
        };
        if self.is_declared {
            return sequences::within(lengths, other, std::iter::repeat(cycles));
        }
        sequences::same(name, lengths, other, &vec![cycles; lengths.len()])
    }
}
