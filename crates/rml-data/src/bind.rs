//! Binds columns to inputs: converts elements to the types of inputs, and determines the value of every input in each
//! cycle.
//!
//! There are two readings. *By cycle* (traces): an array `[N, ..]` is `N` cycles. *By window* (training, inference): an
//! array `[N, T, ..]` is `N` windows of `T` cycles and an array `[N, ..]` has one value per window. A truth value
//! without a column that is named `end`, or is the clock of another input, is true in the last cycle of each window.

use std::borrow::Cow;

use rml_base::codes::run as codes;
use rml_base::memory::{self, Reservation};
use rml_base::{Diagnostic, Diagnostics, visible_name};
use rml_ir::{DType, Data, InputInfo, Precision, Shape, Type, Value};

use crate::absent;
use crate::advice;
use crate::builder::{exact, whole};
use crate::classes::classes;
use crate::columns::{ABSENT, Column, Columns, Elements, place};
use crate::labels;
use crate::presence::{self, present};
use crate::recipe::Preparation;
use crate::text;

/// Elements converted to the type of an input.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The elements of the present rows, row-major.
    data: Data,
    /// The number of elements of one cell.
    cell: usize,
    /// The numbers of the present rows; `None` = all rows.
    present: Option<Vec<usize>>,
    /// The bytes of the elements.
    #[allow(dead_code, reason = "held, not read")]
    reserved: Reservation,
}

impl Converted {
    /// The cells at these positions among the present rows, stacked into a value of this shape.
    pub fn gather(&self, cells: &[usize], shape: &Shape) -> Value {
        fn pick<T: Copy>(v: &[T], cells: &[usize], n: usize) -> Vec<T> {
            let mut picked = Vec::with_capacity(cells.len() * n);
            cells.iter().for_each(|c| picked.extend_from_slice(&v[c * n..(c + 1) * n]));
            picked
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

    /// The index of a row among the present rows; `None` if the row is absent.
    pub fn place(&self, row: usize) -> Option<usize> {
        place(self.present.as_deref(), row)
    }

    /// The precision of the numbers (single precision if there are none).
    pub(crate) fn precision(&self) -> Precision {
        if let Data::F64(_) = self.data { Precision::F64 } else { Precision::F32 }
    }

    /// Whether any row may be missing.
    pub fn has_gaps(&self) -> bool {
        self.present.is_some()
    }
}

/// The integers that numbers are exactly; NaN is an absent one, if it is allowed.
fn wholes(elements: &Elements, allow_nan: bool) -> Option<Vec<i64>> {
    let one = |x: f64| if allow_nan && x.is_nan() { Some(ABSENT) } else { whole(x) };
    match elements {
        Elements::Bool(_) => None,
        Elements::Int(v) => Some(v.clone()),
        Elements::F32(v) => v.iter().map(|x| one(f64::from(*x))).collect(),
        Elements::F64(v) => v.iter().map(|x| one(*x)).collect(),
    }
}

/// Whether elements of an input may be absent: if its gaps are filled, or if it is a number and NaN is allowed.
pub(crate) fn may_lack(input: &InputInfo, allow_nan: bool, filled: bool) -> bool {
    filled || allow_nan && input.ty.dtype != DType::Int
}

/// The most columns of the data that a message about a missing one lists.
const NAMED: usize = 20;

/// The column of an input, with all elements in memory; `shapes` are the shapes that it may have.
pub(crate) fn find<'a>(
    columns: &'a Columns,
    (input, inputs): (&InputInfo, &[InputInfo]),
    shapes: &[&str],
) -> Result<&'a Column, Diagnostic> {
    let found = named(columns, (input, inputs), shapes)?;
    if columns.names(&input.name).is_some() && input.ty.dtype != DType::Int {
        let what = format!("column `{}` holds texts, input `{}` is {}", input.name, input.name, input.ty);
        return Err(
            Diagnostic::error(codes::DATA_TYPE, what).help("texts name the classes of an `int` input")
        );
    }
    if found.fits() {
        return Ok(found);
    }
    if found.shape.is_scalar() {
        let what = format!("column `{}` is a single value, without rows", input.name);
        return Err(Diagnostic::error(codes::DATA_SHAPE, what)
            .note(format!("expected {}, found []", shapes.join(" or ")))
            .help(format!(
                "the first dimension counts rows: for one row, in NumPy, `np.array([{}])`",
                input.name
            )));
    }
    let what = format!(
        "column `{}` does not have the number of elements that its shape and its rows require",
        input.name
    );
    let (rows, elements) = (found.present_rows(), found.elements.len());
    Err(Diagnostic::error(codes::DATA_SHAPE, what).note(format!(
        "its shape is {}, {rows} rows are present, and it has {elements} elements",
        found.shape
    )))
}

/// The same, with elements in memory or on disk.
pub(crate) fn named<'a>(
    columns: &'a Columns,
    (input, inputs): (&InputInfo, &[InputInfo]),
    shapes: &[&str],
) -> Result<&'a Column, Diagnostic> {
    columns.columns.get(&*input.name).ok_or_else(|| {
        if let Some(why) = columns.unusable.get(&*input.name) {
            let (name, origin) = (&input.name, columns.called());
            return why.refused(match why.is_absent() {
                true => format!("input `{name}` has no column in {origin}"),
                false => format!("column `{name}` of {origin} cannot feed input `{name}: {}`", input.ty),
            });
        }
        let message = format!("input `{}` has no column in the data", input.name);
        let mut d = Diagnostic::error(codes::MISSING_COLUMN, message);
        let all = columns.header();
        let names: Vec<String> = all.iter().take(NAMED).map(|n| format!("`{}`", visible_name(n))).collect();
        let more = match all.len().saturating_sub(NAMED) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        d = d.note(match names.len() {
            0 => format!("{} has no columns", columns.called()),
            _ => format!("{} has {}{more}", columns.called(), names.join(", ")),
        });
        absent::missing(d, columns, (input, inputs), shapes)
    })
}

/// How a position in a column is named in messages.
type CellName<'a> = &'a dyn Fn(usize) -> String;

/// Converts the elements of a column to cells of type `ty`; `place` names the cell of an element in a message, counted
/// over all rows.
///
/// # Errors
/// Elements of another type, or elements that the precision cannot represent; NaN that is not allowed; too little
/// memory.
pub fn convert(
    name: &str,
    column: &Column,
    ty: &Type,
    precision: Precision,
    allow_nan: bool,
    place: CellName<'_>,
) -> Result<Converted, Diagnostic> {
    let cell = ty.shape.len();
    let present = column.present.clone();
    if column.elements.is_empty() {
        let data = Value::zeros(&Type::new(ty.dtype, &[0]), precision).to_data();
        return Ok(Converted { data, cell, present, reserved: Reservation::default() });
    }
    let bytes = Type::new(ty.dtype, &[column.elements.len()]).bytes(precision);
    let taken = memory::ask(bytes).map(|()| Reservation::of(bytes));
    let reserved = taken.map_err(|short| short.diagnostic(format!("column `{name}`")))?;
    let named = |i: usize| {
        let per_row = column.elements.len() / column.present_rows() / cell.max(1);
        let at = i.checked_div(cell).unwrap_or(0);
        let row = at.checked_div(per_row).unwrap_or(0);
        let row = column.present.as_ref().map_or(row, |rows| rows[row]);
        place(row * per_row + at.checked_rem(per_row).unwrap_or(0))
    };
    let data = match (ty.dtype, &column.elements) {
        (DType::Bool, Elements::Bool(v)) => Data::Bool(v.clone()),
        (DType::Int, Elements::Int(v)) => Data::Int(v.clone()),
        (DType::Int, Elements::Bool(v)) => Data::Int(v.iter().map(|x| i64::from(*x)).collect()),
        (DType::Int, Elements::F32(_) | Elements::F64(_)) => {
            let looks_one_hot = ty.shape.is_scalar() && is_one_hot(column);
            let whole = wholes(&column.elements, allow_nan).filter(|_| !looks_one_hot);
            Data::Int(whole.ok_or_else(|| mismatch(name, column, ty, &named))?)
        }
        (DType::Num, Elements::Bool(v)) => match precision {
            Precision::F32 => Data::F32(v.iter().map(|x| f32::from(u8::from(*x))).collect()),
            Precision::F64 => Data::F64(v.iter().map(|x| f64::from(u8::from(*x))).collect()),
        },
        (DType::Num, Elements::Int(v)) => integers(v, precision).map_err(|i| {
            Diagnostic::error(
                codes::DATA_TYPE,
                format!("column `{name}`, {}: the integer {} is not a {precision} number", named(i), v[i]),
            )
            .help(match precision {
                Precision::F32 if exact(v[i], Precision::F64).is_some() => {
                    "standardise the input (`--standardise`), or compute in double precision (`--f64`)"
                }
                _ => "store numbers in place of integers (`1.0`, in NumPy dtype float64), if rounding is harmless",
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
        (DType::Bool, Elements::Int(_) | Elements::F32(_) | Elements::F64(_)) => {
            return Err(mismatch(name, column, ty, &named));
        }
    };
    Ok(Converted { data, cell, present, reserved })
}

/// Whether each row of a column of numbers contains zeros and a single 1.
fn is_one_hot(column: &Column) -> bool {
    let n = match column.shape.dims() {
        [_, n] if *n > 1 => *n,
        _ => return false,
    };
    fn single<T: PartialEq + From<u8>>(v: &[T], n: usize) -> bool {
        let (zero, one) = (T::from(0), T::from(1));
        let is_single = |row: &[T]| {
            row.iter().all(|x| *x == zero || *x == one) && row.iter().filter(|x| **x == one).count() == 1
        };
        !v.is_empty() && v.chunks(n).all(is_single)
    }
    match &column.elements {
        Elements::F32(v) => single(v, n),
        Elements::F64(v) => single(v, n),
        Elements::Bool(_) | Elements::Int(_) => false,
    }
}

/// The error that the elements of a column have another type than its input.
fn mismatch(name: &str, column: &Column, ty: &Type, named: &dyn Fn(usize) -> String) -> Diagnostic {
    let elements = &column.elements;
    if ty.dtype == DType::Int && is_one_hot(column) {
        let what =
            format!("column `{name}` holds {} and looks one-hot, input `{name}` is {ty}", elements.kind());
        return Diagnostic::error(codes::DATA_TYPE, what)
            .note("each row holds zeros and a single 1")
            .help(format!("store the number of the class, one a row: in NumPy, `{name}.argmax(axis=-1)`"));
    }
    let what = format!("column `{name}` holds {}, input `{name}` is {ty}", elements.kind());
    let d = Diagnostic::error(codes::DATA_TYPE, what);
    let with = |kind: DType, read: &str| {
        format!("or declare the input `{name}` as {kind}, and write `{read}` where the program reads it")
    };
    let broken = match elements {
        Elements::F32(v) => {
            v.iter().position(|x| x.fract() != 0.0).map(|i| (i, text::number(v[i].into(), v[i])))
        }
        Elements::F64(v) => v.iter().position(|x| x.fract() != 0.0).map(|i| (i, text::number(v[i], v[i]))),
        Elements::Bool(_) | Elements::Int(_) => None,
    };
    match (ty.dtype, elements) {
        (DType::Bool, Elements::Int(_)) => d
            .help("store truth values (`true` and `false`; in NumPy: dtype bool)")
            .help(with(DType::Int, &format!("{name} == 1"))),
        (DType::Bool, _) => d
            .help("store truth values (`true` and `false`; in NumPy: dtype bool)")
            .help(with(DType::Num, &format!("{name} > 0.5"))),
        (DType::Int | DType::Num, _) => match broken {
            Some((i, x)) => d.note(format!("{}: {x} is no integer", named(i))).help(
                "store integers (in NumPy: dtype int64; in text, whole numbers such as 2 or 2.0), or declare the input as num",
            ),
            None => d
                .note("a number beyond 2^53 does not say which integer it is")
                .help("store integers, with no point or exponent (in NumPy: dtype int64)"),
        },
    }
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
                .help("fix the data, or allow NaN explicitly (`--allow-nan`)"))
        }
        _ => Ok(()),
    }
}

/// The integers as numbers of the same value; `Err` = the first integer without such a number.
#[allow(clippy::cast_possible_truncation, reason = "checked for exactness")]
fn integers(v: &[i64], precision: Precision) -> Result<Data, usize> {
    if let Some(i) = v.iter().position(|i| exact(*i, precision).is_none()) {
        return Err(i);
    }
    let numbers = v.iter().filter_map(|i| exact(*i, precision));
    Ok(match precision {
        Precision::F32 => Data::F32(numbers.map(|x| x as f32).collect()),
        Precision::F64 => Data::F64(numbers.collect()),
    })
}

#[allow(clippy::cast_possible_truncation, reason = "rounding to the chosen precision is meant")]
fn round(v: &[f64]) -> Result<Vec<f32>, usize> {
    let rounded: Vec<f32> = v.iter().map(|&x| x as f32).collect();
    match rounded.iter().zip(v).position(|(r, x)| r.is_infinite() && x.is_finite()) {
        Some(i) => Err(i),
        None => Ok(rounded),
    }
}

/// Reads a column by cycle for each input; also returns the number of cycles. Texts must be classes that the
/// preparation knows.
///
/// # Errors
/// All columns that are missing or do not fit their inputs.
pub fn by_cycle(
    columns: &Columns,
    inputs: &[InputInfo],
    precision: Precision,
    allow_nan: bool,
    preparation: &Preparation,
) -> Result<(Vec<Converted>, usize), Diagnostics> {
    let mut findings = Diagnostics::new();
    let mut all = Vec::new();
    let mut rows: Option<(usize, &str)> = None;
    for input in inputs {
        let expected = advice::prefixed("cycles", input.ty.shape.dims());
        let of = present(input, inputs, columns).and_then(|of| columns.columns.get(&*inputs[of].name));
        let there = of.map(|column| presence::of_rows(column, 0..column.rows()));
        let found = presence::check(input, inputs, columns).and_then(|()| match &there {
            Some(column) => Ok(column),
            None => find(columns, (input, inputs), &[&expected]),
        });
        let bound = found.and_then(|column| {
            let known = columns.cases.get(&*input.name).or(preparation.classes.get(&*input.name));
            let is_listed = columns.listed.contains(&*input.name);
            let classes = match known.is_some() || is_listed {
                true => classes(columns, input, known.map(Vec::as_slice))?,
                false => None,
            };
            if columns.names(&input.name).is_some() && known.is_none() && !is_listed {
                let what = format!(
                    "column `{}` holds texts, and input `{}` is {}",
                    input.name, input.name, input.ty
                );
                let d = Diagnostic::error(codes::DATA_TYPE, what);
                return Err(d.help(
                    "name a checkpoint that knows the classes (`--params FILE`), or write the number of each",
                ));
            }
            if columns.lengths(&input.name).is_some() {
                let what = format!("the rows of column `{}` are sequences of different lengths", input.name);
                let d = Diagnostic::error(codes::DATA_SHAPE, what);
                return Err(d.note(format!("expected {expected}: a row is a cycle here")));
            }
            if !column.is_void() && !fits_cycles(column, input) {
                return Err(advice::shape_by_cycle(misshapen(input, column, &[&expected]), input, column));
            }
            match rows {
                Some((n, other)) if n != column.rows() => Err(uneven(input, column.rows(), other, n)),
                _ => {
                    rows = Some((column.rows(), &input.name));
                    let place = |i| format!("cycle {i} of {}", columns.called());
                    let numbers = classes.and_then(|classes| classes.numbers);
                    let column = match numbers {
                        Some(numbers) => Cow::Owned(renumbered(column, &numbers)),
                        None => Cow::Borrowed(column),
                    };
                    let allow_nan = may_lack(input, allow_nan, preparation.fills(&input.name));
                    let precision = preparation.precision_of(&input.name, precision);
                    convert(&input.name, &column, &input.ty, precision, allow_nan, &place)
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

/// Whether each row of a column is the value of an input in a cycle. If a batch has one row, a cell may have just the
/// elements of this row.
fn fits_cycles(column: &Column, input: &InputInfo) -> bool {
    let cell = input.ty.shape.dims();
    let one =
        if input.batched && cell.first() == Some(&1) { cell.get(1..).unwrap_or_default() } else { cell };
    let shape = column.shape_for(one);
    let row = shape.dims().get(1..);
    row == Some(cell) || input.batched && cell.first() == Some(&1) && row == cell.get(1..)
}

/// The column with the numbers of cases instead of the numbers of texts.
fn renumbered(column: &Column, numbers: &[i64]) -> Column {
    let mut column = column.clone();
    labels::renumber(&mut column.elements, numbers);
    column
}

pub(crate) fn uneven(input: &InputInfo, rows: usize, other: &str, others: usize) -> Diagnostic {
    Diagnostic::error(
        codes::DATA_SHAPE,
        format!("column `{}` has {rows} rows, column `{other}` has {others}", input.name),
    )
    .note("expected as many rows in all columns: row n of each feeds the same window or cycle")
    .help("leave out the rows that have no partner, or check that both come from the same data")
}

pub(crate) fn wrong_shape(input: &InputInfo, column: &Column, expected: &[&str]) -> Diagnostic {
    advice::shape(misshapen(input, column, expected), input, column)
}

fn misshapen(input: &InputInfo, column: &Column, expected: &[&str]) -> Diagnostic {
    Diagnostic::error(
        codes::DATA_SHAPE,
        format!("column `{}` has shape {}, input `{}` is {}", input.name, column.shape, input.name, input.ty),
    )
    .note(format!("expected {}, found {}", expected.join(" or "), column.shape))
}
