//! Windows of different lengths: the length of each window, and the positions of its cells among all cells.

use rml_base::codes::run as codes;
use rml_base::memory::{self, bytes_of};
use rml_base::{Diagnostic, Diagnostics};
use rml_ir::{InputInfo, Shape};

use crate::columns::{Column, Columns, Elements, LENGTHS};

/// The lengths of the windows in the column `lengths`, if this column exists and no input uses it.
///
/// # Errors
/// A column that does not contain numbers of cycles.
pub(crate) fn declared(columns: &Columns, inputs: &[InputInfo]) -> Result<Option<Vec<usize>>, Diagnostics> {
    let is_input = inputs.iter().any(|input| &*input.name == LENGTHS);
    if is_input {
        return Ok(None);
    }
    if let Some(why) = columns.unusable.get(LENGTHS) {
        let what = format!("column `{LENGTHS}` of {} says how many cycles each window has", columns.called());
        let d = why.refused(format!("{what}, and cannot be used"));
        return Err(d.help("give the column another name if it is something else").into());
    }
    let Some(column) = columns.columns.get(LENGTHS) else { return Ok(None) };
    let lengths = match (&column.elements, column.shape.rank(), &column.present) {
        (Elements::Int(lengths), 1, None) => lengths,
        _ => {
            let what = format!(
                "column `{LENGTHS}` says how many cycles each window has, and holds no integer for each"
            );
            let found =
                format!("expected integers [windows], found {} {}", column.elements.kind(), column.shape);
            let d = columns.explained(LENGTHS, Diagnostic::error(codes::DATA_TYPE, what).note(found));
            let d = match (&column.elements, column.shape.rank()) {
                (Elements::F32(_) | Elements::F64(_), 1) => {
                    d.help(format!("in NumPy, `{LENGTHS}={LENGTHS}.astype(int)`"))
                }
                _ => d,
            };
            return Err(d.help("give the column another name if it is something else").into());
        }
    };
    let lengths: Vec<usize> = lengths.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
    check(LENGTHS, &lengths)?;
    Ok(Some(lengths))
}

/// A column that is ignored although its name suggests that it has the lengths of windows.
pub(crate) fn misnamed(columns: &Columns, inputs: &[InputInfo]) -> Option<String> {
    let mut names = columns.columns.keys().chain(columns.unusable.keys());
    let is_length = |word: &str| matches!(&*word.to_ascii_lowercase(), "len" | "lens" | "length" | LENGTHS);
    let says_lengths = |name: &&String| name.split(|c: char| !c.is_alphanumeric()).any(is_length);
    let is_input = |name: &String| inputs.iter().any(|input| *input.name == **name);
    names.find(|name| says_lengths(name) && !is_input(name) && !columns.mentions(LENGTHS)).cloned()
}

/// Checks that no window is empty.
///
/// # Errors
/// A window is empty.
pub(crate) fn check(name: &str, lengths: &[usize]) -> Result<(), Diagnostic> {
    match lengths.iter().position(|n| *n == 0) {
        None => Ok(()),
        Some(window) => {
            let what = format!("column `{name}`: window {window} has no cycle");
            Err(Diagnostic::error(codes::DATA_SHAPE, what).help("leave the window out"))
        }
    }
}

/// Where the cells of each window begin.
pub(crate) fn starts(lengths: &[usize]) -> Vec<usize> {
    let mut start = 0;
    let next = |length: &usize| {
        let own = start;
        start += length;
        own
    };
    lengths.iter().map(next).collect()
}

/// Checks that two columns have windows of the same lengths.
///
/// # Errors
/// The lengths differ.
pub(crate) fn same(name: &str, lengths: &[usize], other: &str, others: &[usize]) -> Result<(), Diagnostic> {
    let differs = lengths.iter().zip(others).position(|(a, b)| a != b);
    match differs {
        None => Ok(()),
        Some(window) => {
            let (a, b) = (lengths[window], others[window]);
            let what = format!("window {window} of column `{name}` has {a} cycles, that of `{other}` {b}");
            Err(Diagnostic::error(codes::DATA_SHAPE, what))
        }
    }
}

/// Checks that padded windows of these lengths are at least as long as the column `lengths` says.
///
/// # Errors
/// A window is shorter.
pub(crate) fn within(
    lengths: &[usize],
    name: &str,
    filled: impl Iterator<Item = usize>,
) -> Result<(), Diagnostic> {
    match lengths.iter().zip(filled).enumerate().find(|(_, (n, cycles))| **n > *cycles) {
        None => Ok(()),
        Some((window, (n, cycles))) => {
            let what = format!(
                "window {window} has {n} cycles by column `{LENGTHS}`, and column `{name}` has {cycles}"
            );
            Err(Diagnostic::error(codes::DATA_SHAPE, what))
        }
    }
}

/// The positions at which padded windows begin: all padded to the same length, or each to its own.
///
/// # Errors
/// Windows that are absent.
pub(crate) fn padded_starts(
    name: &str,
    column: &Column,
    filled: Option<&[usize]>,
) -> Result<Vec<usize>, Diagnostic> {
    match (filled, column.shape.dims(), &column.present) {
        (Some(filled), _, _) => Ok(starts(filled)),
        (None, [windows, cycles, ..], None) => Ok((0..*windows).map(|window| window * cycles).collect()),
        _ => {
            let what =
                format!("column `{name}` lacks windows, and column `{LENGTHS}` says how long they are");
            Err(Diagnostic::error(codes::DATA_SHAPE, what))
        }
    }
}

/// The cells of windows without their padding, one window after the other.
///
/// # Errors
/// Too little memory.
pub(crate) fn unpadded(
    name: &str,
    column: &Column,
    starts: &[usize],
    lengths: &[usize],
    cell: &Shape,
) -> Result<Column, Diagnostic> {
    fn pick<T: Copy>(v: &[T], starts: &[usize], lengths: &[usize], cell: usize) -> Vec<T> {
        let window = |(start, n): (&usize, &usize)| &v[start * cell..(start + n) * cell];
        starts.iter().zip(lengths).flat_map(window).copied().collect()
    }
    let total: usize = lengths.iter().sum();
    memory::ask(bytes_of(total * cell.len(), size_of::<f64>()))
        .map_err(|short| short.diagnostic(format!("column `{name}`")))?;
    let elements = match &column.elements {
        Elements::Bool(v) => Elements::Bool(pick(v, starts, lengths, cell.len())),
        Elements::Int(v) => Elements::Int(pick(v, starts, lengths, cell.len())),
        Elements::F32(v) => Elements::F32(pick(v, starts, lengths, cell.len())),
        Elements::F64(v) => Elements::F64(pick(v, starts, lengths, cell.len())),
    };
    let shape = Shape::new(&[&[total], cell.dims()].concat());
    Ok(Column { shape, elements, present: None })
}
