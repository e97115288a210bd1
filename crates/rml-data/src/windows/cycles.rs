//! The cycles of all windows of a table, for runs that read a table cycle by cycle.

use rml_base::memory::{self, bytes_of};
use rml_base::{Diagnostic, Diagnostics};
use rml_ir::{InputInfo, Shape};

use super::Role;
use super::bind::driven;
use super::rows::{ends_twice, other_rows};
use crate::arranged::Arranged;
use crate::columns::{Column, Columns, Elements};
use crate::layout::Layout;
use crate::on_disk::Dataset;
use crate::presence::{self, of_rows};

/// The cycles of all windows of a table, one window after the other.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use rml_data as rml;
/// use rml_ir::{DType, InputInfo, Type};
///
/// let table = rml::Columns::parse(b"x\n1\n2\n3\n", rml::Format::Csv, "table.csv")?;
/// let cut = rml::Windowing { window: Some(2), stride: Some(1), ..rml::Windowing::default() };
/// let x = InputInfo { name: "x".into(), ty: Type::new(DType::Num, &[]), clock: None, batched: false };
/// let cycles = rml::Arranged::new(&table, &cut)?.cycles(&[x]).map_err(|d| d.0[0].message.clone())?;
/// let cycles = cycles.expect("the table is cut");
/// assert_eq!(cycles.columns.columns["x"].elements, rml::Elements::Int(vec![1, 2, 2, 3]));
/// assert_eq!(cycles.row(2), 1);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct WindowCycles {
    /// The columns of inputs, with a row for each cycle. Inputs that windows determine, such as `end`, have a column.
    pub columns: Columns,
    /// The row of the table in each cycle.
    rows: Vec<usize>,
}

impl WindowCycles {
    /// The row of the table in a cycle.
    pub fn row(&self, cycle: usize) -> usize {
        self.rows.get(cycle).copied().unwrap_or(cycle)
    }
}

impl Arranged<'_> {
    /// The cycles of all windows, one window after the other; `None` if the cut is empty.
    ///
    /// # Errors
    /// A column with another number of rows than the table; a column of ends beside windows of a number of rows; not
    /// enough memory.
    pub fn cycles(&self, inputs: &[InputInfo]) -> Result<Option<WindowCycles>, Diagnostics> {
        let Some(layout) = self.layout().map(|layout| &**layout) else { return Ok(None) };
        let table = self.table();
        let count = (0..layout.windows()).map(|window| layout.places(window).len()).sum();
        ask(count, size_of::<usize>()).map_err(Diagnostics::from)?;
        let rows: Vec<usize> =
            (0..layout.windows()).flat_map(|w| layout.places(w)).map(|place| layout.row_at(place)).collect();
        let mut columns = Columns {
            origin: table.origin.clone(),
            lengths: table.lengths.clone(),
            names: table.names.clone(),
            listed: table.listed.clone(),
            cases: table.cases.clone(),
            differing: table.differing.clone(),
            unusable: table.unusable.clone(),
            ..Columns::default()
        };
        let mut findings = Diagnostics::new();
        for info in inputs {
            let find = |()| match driven(info, inputs, table, layout.cut()) {
                Some(Role::Present(of)) => {
                    let column = table.columns.get(&*inputs[of].name);
                    Ok(column.map(|column| of_rows(column, rows.iter().copied())))
                }
                Some(role) => ends_twice(info, table, layout).map(|()| Some(marks(layout, &role, count))),
                None => found(table, info, layout, &rows),
            };
            let column = presence::check(info, inputs, table).and_then(find);
            match column {
                Ok(Some(column)) => drop(columns.columns.insert(info.name.to_string(), column)),
                Ok(None) => {}
                Err(d) => findings.push(table.explained(&info.name, d)),
            }
        }
        if findings.is_empty() { Ok(Some(WindowCycles { columns, rows })) } else { Err(findings) }
    }
}

fn ask(count: usize, size: usize) -> Result<(), Diagnostic> {
    memory::ask(bytes_of(count, size)).map_err(|short| short.diagnostic("the cycles of all windows"))
}

/// The column of an input with a row for each cycle; `None` if the table has none. A column that cannot have a row for
/// each cycle is not changed.
fn found(
    table: &Columns,
    info: &InputInfo,
    layout: &Layout,
    rows: &[usize],
) -> Result<Option<Column>, Diagnostic> {
    let Some(column) = table.columns.get(&*info.name) else { return Ok(None) };
    if !column.fits() || column.shape.is_scalar() || table.lengths(&info.name).is_some() {
        return Ok(Some(column.clone()));
    }
    if column.rows() != layout.rows() {
        return Err(other_rows(info, column, layout));
    }
    let cell = column.shape.len() / column.rows().max(1);
    ask(rows.len(), cell.saturating_mul(size_of::<f64>()))?;
    Ok(Some(gathered(column, cell, rows)))
}

/// These rows of a column, whose rows have `cell` elements.
fn gathered(column: &Column, cell: usize, rows: &[usize]) -> Column {
    fn pick<T: Copy>(v: &[T], cell: usize, places: &[usize]) -> Vec<T> {
        places.iter().flat_map(|place| &v[place * cell..(place + 1) * cell]).copied().collect()
    }
    let known = |(cycle, row): (usize, &usize)| Some((cycle, column.place(*row)?));
    let (cycles, places): (Vec<usize>, Vec<usize>) = rows.iter().enumerate().filter_map(known).unzip();
    let elements = match &column.elements {
        Elements::Bool(v) => Elements::Bool(pick(v, cell, &places)),
        Elements::Int(v) => Elements::Int(pick(v, cell, &places)),
        Elements::F32(v) => Elements::F32(pick(v, cell, &places)),
        Elements::F64(v) => Elements::F64(pick(v, cell, &places)),
    };
    let mut dims = column.shape.dims().to_vec();
    if let Some(first) = dims.first_mut() {
        *first = rows.len();
    }
    let present = column.present.is_some().then_some(cycles);
    Column { shape: Shape::new(&dims), elements, present }
}

/// The column of an input that windows determine.
fn marks(layout: &Layout, role: &Role, count: usize) -> Column {
    let mut marks = vec![false; count];
    let (mut start, windows) = (0, layout.windows());
    for window in 0..windows {
        let length = layout.places(window).len();
        let at = match role {
            Role::End => Some(length - 1),
            Role::Begin => layout.begins_series(window).then_some(0),
            Role::EpochEnd => (window + 1 == windows).then_some(length - 1),
            Role::Cycle(_) | Role::Sequence(..) | Role::Window(_) | Role::Row(_) | Role::Present(_) => None,
        };
        if let Some(at) = at {
            marks[start + at] = true;
        }
        start += length;
    }
    Column { shape: Shape::new(&[count]), elements: Elements::Bool(marks), present: None }
}
