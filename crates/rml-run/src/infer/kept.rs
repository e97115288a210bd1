//! The outputs of an inference run as columns, one row per window.

use std::sync::Arc;

use indexmap::IndexSet;
use rml_base::memory::{Reservation, bytes_of};
use rml_base::{Diagnostic, Error};
use rml_data::{Column, Columns, Elements, Windows};
use rml_driver::ValueNames;
use rml_engine::KnownOutputs;
use rml_ir::{Data, Shape, Type};

use crate::runner::Family;

/// Outputs collected so far.
pub(super) struct Kept {
    outputs: Vec<Output>,
    /// The windows, in the order in which they were run.
    windows: Vec<usize>,
    /// The cycles of the longest one.
    cycles: usize,
    reserved: Reservation,
}

struct Output {
    /// The index among the program's outputs.
    index: usize,
    name: Arc<str>,
    /// The type of its value in one window.
    ty: Type,
    stacked: bool,
    /// The elements of the cycles where the output is present, window by window.
    data: Vec<Data>,
    /// For each window, the cycles in which it is present.
    present: Vec<Vec<bool>>,
}

impl Kept {
    /// Collects the outputs of a program. If windows are stacked, an output without a row for each window is left out:
    /// it belongs to no single window.
    pub(super) fn new(family: &mut Family, size: usize, windows: &Windows) -> Result<Self, Error> {
        let stacked = family.stacked(size)?.outputs.clone();
        let stacks = family.stacks && size > 1;
        let all = family.program(size)?.outputs().iter().map(|o| (o, stacked.contains(&o.name))).enumerate();
        let outputs = all.filter(|(_, (_, stacked))| *stacked || !stacks).map(|(index, (info, stacked))| {
            let dims = info.ty.shape.dims();
            let dims = if stacked { dims.get(1..).unwrap_or_default() } else { dims };
            Output {
                index,
                name: Arc::clone(&info.name),
                ty: Type::new(info.ty.dtype, dims),
                stacked,
                data: Vec::new(),
                present: Vec::new(),
            }
        });
        let outputs = outputs.collect();
        Ok(Self { outputs, windows: Vec::new(), cycles: windows.cycles, reserved: Reservation::default() })
    }

    /// Adds the outputs of a batch of windows.
    ///
    /// # Errors
    /// There is not enough memory for the outputs; they cannot be copied from their device.
    pub(super) fn add(&mut self, all: &[KnownOutputs], windows: &[usize]) -> Result<(), Diagnostic> {
        let size = windows.len();
        self.windows.extend(windows);
        let cycles: usize = all.iter().map(KnownOutputs::cycles).sum();
        for output in &mut self.outputs {
            let mut elements = 0_u64;
            for outputs in all {
                outputs.for_each_value(output.index, |_, v| {
                    elements = elements.saturating_add(v.ty().bytes(v.precision()));
                })?;
            }
            // One more number, for the rows of a table.
            let cell = size_of::<Data>() + size_of::<i64>() + 1;
            let lists = bytes_of(size, size_of::<Vec<bool>>() + cycles * cell);
            // The columns are joined from the parts at the end.
            self.reserved.grow(elements.saturating_mul(2).saturating_add(lists)).map_err(|short| {
                short
                    .diagnostic(format!("keeping output `{}`", output.name))
                    .help("infer over fewer windows at a time")
            })?;
            let mut cells: Vec<Option<Data>> = Vec::with_capacity(cycles);
            for outputs in all {
                let start = cells.len();
                cells.resize_with(start + outputs.cycles(), || None);
                outputs.for_each_value(output.index, |t, v| cells[start + t] = Some(v.to_data()))?;
            }
            // Windows shorter than others are empty after their ends.
            cells.resize_with(self.cycles.max(cells.len()), || None);
            let shared = if output.stacked { size } else { 1 };
            for window in 0..shared {
                output.present.push(cells.iter().map(Option::is_some).collect());
                let cell = output.ty.shape.len();
                output.data.extend(cells.iter().flatten().map(|d| part(d, window * cell, cell)));
            }
        }
        Ok(())
    }

    /// The columns `window` (the row of the data) and one for each output: `[windows, ..]` if it is present once in
    /// every window, `[windows, n, ..]` if it is present `n` times, otherwise `[windows, cycles, ..]` with zeros in
    /// cycles where it is absent and a column `<name>.present` that marks where it is present. An output whose values
    /// have names is a column of texts. The rows are in the order of the windows in the data. For windows that were cut
    /// from a table, `row` has the row of the table in each cycle, and -1 after the end of a window; `group` has the
    /// group of each window, if there are groups.
    pub(super) fn columns(mut self, windows: &Windows, names: &ValueNames) -> Columns {
        let mut order: Vec<usize> = (0..self.windows.len()).collect();
        order.sort_by_key(|place| self.windows[*place]);
        self.outputs.iter_mut().for_each(|output| output.sort(&order));
        let set: Vec<usize> = order.iter().map(|place| self.windows[*place]).collect();
        let mut columns = Columns::new("the outputs");
        let rows = set.iter().map(|w| i64::try_from(*w).unwrap_or(i64::MAX)).collect();
        let rows = Column { shape: Shape::new(&[set.len()]), elements: Elements::Int(rows), present: None };
        columns.columns.insert("window".into(), rows);
        let cycles = self.cycles;
        let has_row = self.outputs.iter().any(|output| &*output.name == "row");
        if windows.are_cut() && !has_row {
            let row =
                |window: usize, t: usize| windows.row(window, t).and_then(|row| i64::try_from(row).ok());
            let rows = set.iter().flat_map(|w| (0..cycles).map(|t| row(*w, t).unwrap_or(-1))).collect();
            let shape = Shape::new(&[set.len(), cycles]);
            columns
                .columns
                .insert("row".into(), Column { shape, elements: Elements::Int(rows), present: None });
        }
        let has_group = self.outputs.iter().any(|output| &*output.name == "group");
        let groups: Option<Vec<&str>> = set.iter().map(|window| windows.group(*window)).collect();
        let has_groups = windows.grouped_by().is_some() && !has_group;
        if let Some(groups) = groups.filter(|_| has_groups) {
            insert_groups(&mut columns, &groups);
        }
        for output in self.outputs {
            let times: Vec<usize> = output.present.iter().map(|p| p.iter().filter(|x| **x).count()).collect();
            let regular = times.windows(2).all(|t| t[0] == t[1]);
            let lead = match (regular, times.first()) {
                (true, None | Some(0)) => continue,
                (true, Some(1)) => vec![set.len()],
                (true, Some(n)) => vec![set.len(), *n],
                (false, _) => vec![set.len(), cycles],
            };
            let dims: Shape = lead.iter().chain(output.ty.shape.dims()).copied().collect();
            let data = if regular { output.data } else { spread(&output) };
            let column = Column { shape: dims, elements: joined(data), present: None };
            if !regular {
                let there = output.present.concat();
                let shape = Shape::new(&lead);
                let there = Column { shape, elements: Elements::Bool(there), present: None };
                columns.columns.insert(format!("{}.present", output.name), there);
            }
            insert(&mut columns, &output.name, column, names);
        }
        columns
    }
}

/// Adds the column with the names of the groups.
fn insert_groups(columns: &mut Columns, groups: &[&str]) {
    let names: IndexSet<&str> = groups.iter().copied().collect();
    let numbers = groups.iter().filter_map(|group| i64::try_from(names.get_index_of(group)?).ok());
    let elements = Elements::Int(numbers.collect());
    let column = Column { shape: Shape::new(&[groups.len()]), elements, present: None };
    columns.insert_texts("group", column, names.into_iter().map(str::to_owned).collect());
}

impl Output {
    /// Reorders the windows.
    fn sort(&mut self, order: &[usize]) {
        let mut cells = std::mem::take(&mut self.data).into_iter();
        let there = |present: &Vec<bool>| present.iter().filter(|there| **there).count();
        let mut data: Vec<Vec<Data>> =
            self.present.iter().map(|present| cells.by_ref().take(there(present)).collect()).collect();
        self.data = order.iter().flat_map(|place| std::mem::take(&mut data[*place])).collect();
        self.present = order.iter().map(|place| std::mem::take(&mut self.present[*place])).collect();
    }
}

fn part(data: &Data, at: usize, n: usize) -> Data {
    let range = at..at + n;
    match data {
        Data::Bool(v) => Data::Bool(v[range].to_vec()),
        Data::Int(v) => Data::Int(v[range].to_vec()),
        Data::F32(v) => Data::F32(v[range].to_vec()),
        Data::F64(v) => Data::F64(v[range].to_vec()),
    }
}

/// The cells of all cycles, with zeros where the output is absent.
fn spread(output: &Output) -> Vec<Data> {
    let mut cells = output.data.iter();
    let zeros = |like: &Data| match like {
        Data::Bool(v) => Data::Bool(vec![false; v.len()]),
        Data::Int(v) => Data::Int(vec![0; v.len()]),
        Data::F32(v) => Data::F32(vec![0.0; v.len()]),
        Data::F64(v) => Data::F64(vec![0.0; v.len()]),
    };
    let Some(first) = output.data.first() else { return Vec::new() };
    let there = output.present.iter().flatten();
    there
        .map(|there| there.then(|| cells.next().cloned()).flatten().unwrap_or_else(|| zeros(first)))
        .collect()
}

/// Adds the column of an output: texts if its values have names.
pub(super) fn insert(columns: &mut Columns, name: &str, column: Column, names: &ValueNames) {
    match names.of(name) {
        Some(names) => columns.insert_texts(name, column, names.iter().map(ToString::to_string).collect()),
        None => drop(columns.columns.insert(name.to_owned(), column)),
    }
}

/// The elements of all cells, which have the same type.
pub(super) fn joined(cells: Vec<Data>) -> Elements {
    let mut cells = cells.into_iter();
    let mut all = match cells.next() {
        Some(Data::Bool(v)) => Elements::Bool(v),
        Some(Data::Int(v)) => Elements::Int(v),
        Some(Data::F64(v)) => Elements::F64(v),
        Some(Data::F32(v)) => Elements::F32(v),
        None => Elements::F32(Vec::new()),
    };
    for cell in cells {
        match (&mut all, cell) {
            (Elements::Bool(a), Data::Bool(v)) => a.extend(v),
            (Elements::Int(a), Data::Int(v)) => a.extend(v),
            (Elements::F32(a), Data::F32(v)) => a.extend(v),
            (Elements::F64(a), Data::F64(v)) => a.extend(v),
            _ => {}
        }
    }
    all
}
