//! Columns meet inputs: elements are converted to the inputs' types, and every input is told what it is in each cycle.
//!
//! Two readings. *By cycle* (traces): an array `[N, ..]` is `N` cycles. *By window* (training, inference): an array `[N, T, ..]` is
//! `N` windows of `T` cycles and an array `[N, ..]` has one value a window; a truth value that has no column and is named `end`, or is
//! the clock of another input, is true in the last cycle of each window.

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics, suggest};
use rml_ir::{DType, Data, Precision, Shape, Type, Value};

use super::{Column, Columns, Elements};
use crate::compile::InputInfo;

/// Elements converted to the type of an input.
#[derive(Clone, Debug)]
pub(crate) struct Converted {
    /// The elements, row-major.
    data: Data,
    /// How many elements one cell has.
    cell: usize,
    /// Which rows are there; `None` = all.
    pub(crate) present: Option<Vec<bool>>,
}

impl Converted {
    /// The cells at those positions, stacked into a value of that shape.
    pub(crate) fn gather(&self, cells: &[usize], shape: &Shape) -> Value {
        fn pick<T: Copy>(v: &[T], cells: &[usize], n: usize) -> Vec<T> {
            cells.iter().flat_map(|c| v[c * n..(c + 1) * n].iter().copied()).collect()
        }
        let n = self.cell;
        let data = match &self.data {
            Data::Bool(v) => Data::Bool(pick(v, cells, n)),
            Data::Int(v) => Data::Int(pick(v, cells, n)),
            Data::F32(v) => Data::F32(pick(v, cells, n)),
            Data::F64(v) => Data::F64(pick(v, cells, n)),
        };
        Value::new(shape.clone(), data)
    }

    /// Whether the row of that number is there.
    pub(crate) fn is_present(&self, row: usize) -> bool {
        self.present.as_ref().is_none_or(|p| p[row])
    }
}

/// The column of an input; `shapes` are those that it may have.
pub(crate) fn find<'a>(
    columns: &'a Columns,
    input: &InputInfo,
    shapes: &[&str],
) -> Result<&'a Column, Diagnostic> {
    columns.columns.get(&*input.name).ok_or_else(|| {
        let message = format!("input `{}` has no column in the data", input.name);
        let mut d = Diagnostic::error(codes::MISSING_COLUMN, message);
        if let Some(why) = columns.unusable.get(&*input.name) {
            d = d.note(format!("{} has an entry `{}`, but {why}", origin(columns), input.name));
        }
        if let Some(near) = suggest(&input.name, columns.columns.keys().map(String::as_str)) {
            d = d.help(format!("there is `{near}`"));
        }
        let names: Vec<String> = columns.columns.keys().map(|n| format!("`{n}`")).collect();
        d.note(match names.len() {
            0 => format!("{} has no columns", origin(columns)),
            _ => format!("{} has {}", origin(columns), names.join(", ")),
        })
        .help(format!("add a column `{}`: {} {}", input.name, input.ty.dtype, shapes.join(" or ")))
    })
}

pub(crate) fn origin(columns: &Columns) -> &str {
    if columns.origin.is_empty() { "the data" } else { &columns.origin }
}

/// How a position in a column is named in messages.
pub(crate) type Place<'a> = &'a dyn Fn(usize) -> String;

/// Converts the elements of a column to cells of type `ty`; `place` names the cell of a number.
pub(crate) fn convert(
    name: &str,
    column: &Column,
    ty: &Type,
    precision: Precision,
    allow_nan: bool,
    place: Place<'_>,
) -> Result<Converted, Diagnostic> {
    let cell = ty.shape.len();
    if column.is_void() {
        let data = Value::zeros(&Type::new(ty.dtype, &[column.rows() * cell]), precision).to_data();
        return Ok(Converted { data, cell, present: column.present.clone() });
    }
    let mismatch = || {
        let d = Diagnostic::error(
            codes::DATA_TYPE,
            format!("column `{name}` holds {}, input `{name}` is {ty}", column.elements.kind()),
        );
        match (ty.dtype, &column.elements) {
            (DType::Bool, Elements::Int(_)) => {
                d.help("store truth values (`true`, `false`; in NumPy: dtype bool)")
            }
            (DType::Int, Elements::F32(_) | Elements::F64(_)) => {
                d.help("store integers (in NumPy: dtype int64), or declare the input as num")
            }
            _ => d,
        }
    };
    let named = |i: usize| place(i.checked_div(cell).unwrap_or(0));
    let data = match (ty.dtype, &column.elements) {
        (DType::Bool, Elements::Bool(v)) => Data::Bool(v.clone()),
        (DType::Int, Elements::Int(v)) => Data::Int(v.clone()),
        (DType::Num, Elements::Int(v)) => integers(v, precision).map_err(|i| {
            Diagnostic::error(
                codes::DATA_TYPE,
                format!("column `{name}`, {}: the integer {} is no {precision} number", named(i), v[i]),
            )
            .help(match precision {
                Precision::F32 => "compute in double precision (`--f64`)",
                Precision::F64 => "store numbers in place of integers, if rounding does no harm",
            })
        })?,
        (DType::Num, Elements::F32(v)) => {
            check_nan(v.iter().map(|x| x.is_nan()), allow_nan, name, &named)?;
            match precision {
                Precision::F32 => Data::F32(v.clone()),
                Precision::F64 => Data::F64(v.iter().map(|&x| x.into()).collect()),
            }
        }
        (DType::Num, Elements::F64(v)) => {
            check_nan(v.iter().map(|x| x.is_nan()), allow_nan, name, &named)?;
            match precision {
                Precision::F64 => Data::F64(v.clone()),
                Precision::F32 => Data::F32(round(v).map_err(|i| {
                    Diagnostic::error(
                        codes::DATA_TYPE,
                        format!("column `{name}`, {}: {:?} does not fit single precision", named(i), v[i]),
                    )
                    .help("compute in double precision (`--f64`)")
                })?),
            }
        }
        _ => return Err(mismatch()),
    };
    Ok(Converted { data, cell, present: column.present.clone() })
}

fn check_nan(
    mut nan: impl Iterator<Item = bool>,
    allow: bool,
    name: &str,
    named: &dyn Fn(usize) -> String,
) -> Result<(), Diagnostic> {
    match nan.position(|x| x) {
        Some(i) if !allow => {
            Err(Diagnostic::error(codes::NAN_IN_DATA, format!("column `{name}`, {}: NaN", named(i)))
                .help("mend the data, or allow NaN explicitly (`--allow-nan`)"))
        }
        _ => Ok(()),
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "checked for exactness")]
fn integers(v: &[i64], precision: Precision) -> Result<Data, usize> {
    let bound = match precision {
        Precision::F32 => 1_u64 << 24,
        Precision::F64 => 1 << 53,
    };
    match v.iter().position(|x| x.unsigned_abs() > bound) {
        Some(i) => Err(i),
        None if precision == Precision::F32 => Ok(Data::F32(v.iter().map(|&x| x as f32).collect())),
        None => Ok(Data::F64(v.iter().map(|&x| x as f64).collect())),
    }
}

#[allow(clippy::cast_possible_truncation, reason = "rounding to the chosen precision is meant")]
fn round(v: &[f64]) -> Result<Vec<f32>, usize> {
    let rounded: Vec<f32> = v.iter().map(|&x| x as f32).collect();
    match rounded.iter().zip(v).position(|(r, x)| r.is_infinite() && x.is_finite()) {
        Some(i) => Err(i),
        None => Ok(rounded),
    }
}

/// One column an input, read by cycle.
pub(crate) fn by_cycle(
    columns: &Columns,
    inputs: &[InputInfo],
    precision: Precision,
    allow_nan: bool,
) -> Result<(Vec<Converted>, usize), Diagnostics> {
    let mut findings = Diagnostics::new();
    let mut all = Vec::new();
    let mut rows: Option<(usize, &str)> = None;
    for input in inputs {
        let expected = prefixed("cycles", input.ty.shape.dims());
        let bound = find(columns, input, &[&expected]).and_then(|column| {
            let dims = column.shape.dims();
            if !column.is_void() && dims.get(1..) != Some(input.ty.shape.dims()) {
                return Err(wrong_shape(input, column, &[&expected]));
            }
            match rows {
                Some((n, other)) if n != column.rows() => Err(uneven(input, column.rows(), other, n)),
                _ => {
                    rows = Some((column.rows(), &input.name));
                    convert(&input.name, column, &input.ty, precision, allow_nan, &|i| format!("cycle {i}"))
                }
            }
        });
        match bound {
            Ok(c) => all.push(c),
            Err(d) => findings.push(d),
        }
    }
    if findings.is_empty() { Ok((all, rows.map_or(0, |r| r.0))) } else { Err(findings) }
}

pub(crate) fn uneven(input: &InputInfo, rows: usize, other: &str, others: usize) -> Diagnostic {
    Diagnostic::error(
        codes::DATA_SHAPE,
        format!("column `{}` has {rows} rows, column `{other}` has {others}", input.name),
    )
}

pub(crate) fn prefixed(lead: &str, dims: &[usize]) -> String {
    let dims: String = dims.iter().map(|d| format!(", {d}")).collect();
    format!("[{lead}{dims}]")
}

pub(crate) fn wrong_shape(input: &InputInfo, column: &Column, expected: &[&str]) -> Diagnostic {
    Diagnostic::error(
        codes::DATA_SHAPE,
        format!("column `{}` has shape {}, input `{}` is {}", input.name, column.shape, input.name, input.ty),
    )
    .note(format!("expected {}, found {}", expected.join(" or "), column.shape))
}
