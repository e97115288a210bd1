//! Vectors from columns with a single value per row.

use std::collections::BTreeSet;

use rml_base::visible_name;
use rml_ir::{Precision, Shape};

use crate::advice;
use crate::builder::{exact, inexact};
use crate::columns::{Column, Elements};
use crate::concat::joined;
use crate::filling::Filling;
use crate::malformed::Malformed;

/// What is known about a piece of a table.
pub(crate) struct Piece<'s> {
    /// For an input, whether its gaps are filled, and how they may be.
    pub(crate) gaps: &'s dyn Fn(&str) -> (bool, Filling),
    /// Whether the numbers of columns of dates are seconds.
    pub(crate) are_seconds: bool,
    /// The number of rows before it.
    pub(crate) before: usize,
}

/// A vector for each row of an input, from these columns. If its gaps are filled, an absent element beside others is
/// NaN; elements that are numbers of texts (not `are_values`) have no NaN.
pub(crate) fn stacked(
    input: &str,
    mut columns: Vec<(&str, Column)>,
    are_values: bool,
    piece: &Piece<'_>,
) -> Result<Column, Malformed> {
    if let Some((_, other)) = columns.iter().find(|(_, column)| column.shape.rank() != 1) {
        let what = format!("a column of a vector has the shape {}", other.shape);
        return Err(Malformed::of_shape(what)
            .note("each column of a vector has one value in a row")
            .help("name one column alone, whose rows are vectors"));
    }
    if let Some((row, name)) = gap(&columns) {
        let (is_filled, filling) = (piece.gaps)(input);
        if !are_values || !is_filled {
            let what = format!(
                "some elements are absent here, others not: column `{}` has no value",
                visible_name(name)
            );
            let why = Malformed::of_shape(what).in_row(piece.before + row);
            let why = why.help("write a value for each element, or leave the row out");
            return Err(if are_values { advice::gap(why, filling) } else { why });
        }
        fill(&mut columns)?;
    }
    let Some((_, first)) = columns.first() else { return Err(Malformed::lacking("no column is named")) };
    let (n, k, rows, present) = (first.elements.len(), columns.len(), first.rows(), first.present.clone());
    if columns.iter().any(|(_, column)| column.rows() != rows) {
        return Err(Malformed::of_shape("its columns have different numbers of rows")
            .help("give each column as many rows as the others"));
    }
    let is_truth = |(_, column): &(&str, Column)| matches!(column.elements, Elements::Bool(_));
    let are_truths = columns.iter().all(is_truth);
    let mut all = columns.into_iter().map(|(_, column)| match column.elements {
        Elements::Bool(v) if !are_truths => Elements::Int(v.into_iter().map(i64::from).collect()),
        elements => elements,
    });
    let first = all.next().unwrap_or(Elements::Int(Vec::new()));
    let all = all.try_fold(first, joined);
    let all =
        all.ok_or_else(|| Malformed::of_type("an integer beside numbers is not exact in double precision"))?;
    let elements = match all {
        Elements::Bool(v) => Elements::Bool(turned(&v, n, k)),
        Elements::Int(v) => Elements::Int(turned(&v, n, k)),
        Elements::F32(v) => Elements::F32(turned(&v, n, k)),
        Elements::F64(v) => Elements::F64(turned(&v, n, k)),
    };
    Ok(Column { shape: Shape::new(&[rows, k]), elements, present })
}

/// The first row in which some columns have a value and others have none, and the first of the others.
fn gap<'c>(columns: &[(&'c str, Column)]) -> Option<(usize, &'c str)> {
    let (_, first) = columns.first()?;
    if columns.iter().all(|(_, column)| column.present == first.present) {
        return None;
    }
    let rows = filled_rows(columns);
    let gaps = columns.iter().filter_map(|(name, column)| {
        Some((rows.iter().copied().find(|row| column.place(*row).is_none())?, *name))
    });
    gaps.min_by_key(|(row, _)| *row)
}

/// The rows in which some column has a value.
fn filled_rows(columns: &[(&str, Column)]) -> BTreeSet<usize> {
    let rows = |column: &Column| match &column.present {
        Some(rows) => rows.clone(),
        None => (0..column.rows()).collect(),
    };
    columns.iter().flat_map(|(_, column)| rows(column)).collect()
}

/// Puts NaN in the place of absent elements, in each row in which another column has a value.
fn fill(columns: &mut [(&str, Column)]) -> Result<(), Malformed> {
    let rows: Vec<usize> = filled_rows(columns).into_iter().collect();
    for (name, column) in columns {
        let numbers: Vec<f64> = match &column.elements {
            Elements::Bool(v) => v.iter().map(|x| f64::from(u8::from(*x))).collect(),
            Elements::Int(v) => v.iter().map(|x| number(*x, name)).collect::<Result<_, _>>()?,
            Elements::F32(v) => v.iter().map(|x| f64::from(*x)).collect(),
            Elements::F64(v) => v.clone(),
        };
        let element = |row: &usize| column.place(*row).map_or(f64::NAN, |place| numbers[place]);
        column.elements = Elements::F64(rows.iter().map(element).collect());
        column.present = (rows.len() < column.rows()).then(|| rows.clone());
    }
    Ok(())
}

/// An integer beside gaps, as a number of the same value.
fn number(i: i64, name: &str) -> Result<f64, Malformed> {
    let in_column = |why: Malformed| why.note(format!("in column `{}`", visible_name(name)));
    exact(i, Precision::F64).ok_or_else(|| in_column(Malformed::of_type(inexact(i))))
}

/// Transposes columns of `n` elements to rows of `k`.
fn turned<T: Copy>(columns: &[T], n: usize, k: usize) -> Vec<T> {
    (0..n).flat_map(|row| (0..k).map(move |column| columns[column * n + row])).collect()
}
