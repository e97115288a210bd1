//! Inputs that say whether another input has a value: `present(y)` in place of columns.

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, visible_name};
use rml_ir::{DType, Data, InputInfo, Shape};

use crate::columns::{ABSENT, Column, Columns, Elements};
use crate::selection::Selection;

/// The number of the input whose presence an input is, if it is one.
pub(crate) fn present(info: &InputInfo, inputs: &[InputInfo], columns: &Columns) -> Option<usize> {
    let of = columns.presence.get(&*info.name)?;
    inputs.iter().position(|input| *input.name == **of)
}

/// Checks an input that says whether another one has a value.
///
/// # Errors
/// An input that is no truth value, or in a node without the other input.
pub(crate) fn check(info: &InputInfo, inputs: &[InputInfo], columns: &Columns) -> Result<(), Diagnostic> {
    let Some(of) = columns.presence.get(&*info.name) else { return Ok(()) };
    if !inputs.iter().any(|input| *input.name == **of) {
        let (name, of) = (&info.name, visible_name(of));
        let what = format!("input `{name}` is `present({of})`, and the node has no input `{of}`");
        let d = Diagnostic::error(codes::BAD_OPTION, what);
        return Err(d.help(format!("add the input `{of}` to the node, or leave out `{name}`")));
    }
    let dims = info.ty.shape.dims();
    if info.ty.dtype == DType::Bool && dims.len() == usize::from(info.batched) {
        return Ok(());
    }
    let of = visible_name(of);
    let what = format!("input `{}: {}` cannot be `present({of})`", info.name, info.ty);
    let d = Diagnostic::error(codes::DATA_TYPE, what).note("whether a value is present is one truth value");
    Err(d.help(format!("declare the input as `{}: bool []`, or as `bool [batch]`", info.name)))
}

/// For each of these rows, whether a column has a value.
pub(crate) fn of_rows(column: &Column, rows: impl Iterator<Item = usize>) -> Column {
    let cell = column.elements.len() / column.present_rows().max(1);
    let whole = are_whole(&column.elements.to_data(), cell);
    let is_whole = |row: usize| column.place(row).is_some_and(|at| whole.get(at).is_none_or(|whole| *whole));
    let there: Vec<bool> = rows.map(is_whole).collect();
    Column { shape: Shape::new(&[there.len()]), elements: Elements::Bool(there), present: None }
}

/// For each cell, whether all of its elements have a value: NaN is a gap.
pub(crate) fn are_whole(data: &Data, cell: usize) -> Vec<bool> {
    fn each<T>(v: &[T], cell: usize, is_gap: impl Fn(&T) -> bool) -> Vec<bool> {
        v.chunks(cell.max(1)).map(|cell| !cell.iter().any(&is_gap)).collect()
    }
    match data {
        Data::Bool(v) => each(v, cell, |_| false),
        Data::Int(v) => each(v, cell, |x| *x == ABSENT),
        Data::F32(v) => each(v, cell, |x| x.is_nan()),
        Data::F64(v) => each(v, cell, |x| x.is_nan()),
    }
}

impl Columns {
    /// The same columns for inputs of a selection, of which some say whether another input has a value.
    #[must_use]
    pub fn knowing(mut self, selection: &Selection) -> Self {
        self.presence = selection.presence();
        self
    }
}
