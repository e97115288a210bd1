//! Whether the first line of a table names its columns.

use std::collections::BTreeSet;

use super::sample::{Record, is_number};

/// What the first line of a table is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Head {
    /// Names that no row could contain.
    Names,
    /// Names that are numbers, which a row could contain, too.
    Numbers,
    /// A row.
    Row,
}

/// What the first of these records is, judged by the records below it.
pub(super) fn guess(records: &[Record<'_>], separator: char) -> Head {
    let Some((first, below)) = records.split_first() else { return Head::Row };
    let cells = first.cells(separator);
    if !is_row(&cells) {
        return Head::Names;
    }
    let below: Vec<Row<'_>> = below.iter().map(|record| Row::of(record, separator)).collect();
    if are_quoted(&first.raw(separator), &below, separator) {
        return Head::Names;
    }
    let named = match cells.split_first() {
        Some((&"", rest)) => begins_with_index(rest, &below),
        _ => count_up(&cells, &below),
    };
    if named { Head::Numbers } else { Head::Row }
}

/// Whether all cells are integers.
pub(super) fn are_integers(cells: &[&str]) -> bool {
    cells.iter().all(|cell| integer(cell).is_some())
}

/// A row below the first line: its cells with and without quotes.
struct Row<'t> {
    raw: Vec<&'t str>,
    cells: Vec<&'t str>,
}

impl<'t> Row<'t> {
    fn of(record: &Record<'t>, separator: char) -> Self {
        Self { raw: record.raw(separator), cells: record.cells(separator) }
    }
}

/// Whether a line without its neighbours looks like a row: all its cells are numbers, or one of them has a fraction.
fn is_row(cells: &[&str]) -> bool {
    let mut filled = cells.iter().filter(|cell| !cell.is_empty()).peekable();
    let has_fraction = cells.iter().any(|cell| is_number(cell) && cell.contains(['.', ',']));
    filled.peek().is_some() && filled.all(|cell| is_number(cell)) || has_fraction
}

/// Whether all cells of the first line are in quotes, which they do not need, and the numbers in some column below
/// never are.
fn are_quoted(first: &[&str], below: &[Row<'_>], separator: char) -> bool {
    let is_quoted = |cell: &str| cell.starts_with('"');
    let is_bare = |column: usize| {
        let mut cells =
            below.iter().filter_map(|row| row.raw.get(column)).filter(|cell| !cell.is_empty()).peekable();
        cells.peek().is_some() && cells.all(|cell| !is_quoted(cell) && is_number(cell))
    };
    let mut filled = first.iter().filter(|cell| !cell.is_empty());
    filled.all(|cell| is_quoted(cell) && !cell.contains(separator)) && (0..first.len()).any(is_bare)
}

/// Whether the first line, which begins with an empty cell, names the columns beside a column that tells the rows
/// apart: all its other cells are filled and differ, and in each row the first cell is filled, whole and another one.
fn begins_with_index(rest: &[&str], below: &[Row<'_>]) -> bool {
    let firsts: Vec<&str> = below.iter().filter_map(|row| row.cells.first()).copied().collect();
    let differ =
        |cells: &[&str]| !cells.contains(&"") && cells.iter().collect::<BTreeSet<_>>().len() == cells.len();
    let has_fraction = |cell: &&str| is_number(cell) && integer(cell).is_none();
    !firsts.is_empty() && differ(&firsts) && !firsts.iter().any(has_fraction) && differ(rest)
}

/// Whether the first line counts the columns, as `0,1,2` or `1990,1991,1992`, while no row below does so. Two numbers
/// in a row may follow each other by chance, so they are names only if no cell below is an integer.
fn count_up(first: &[&str], below: &[Row<'_>]) -> bool {
    let is_run = |cells: &[&str]| {
        let follows = |pair: &[&str]| integer(pair[1]) == integer(pair[0]).and_then(|i| i.checked_add(1));
        are_integers(cells) && cells.len() > 1 && cells.windows(2).all(follows)
    };
    let is_sure =
        first.len() > 2 || !below.iter().flat_map(|row| &row.cells).any(|cell| integer(cell).is_some());
    !below.is_empty() && is_run(first) && is_sure && !below.iter().any(|row| is_run(&row.cells))
}

/// The integer of a cell.
fn integer(cell: &str) -> Option<i64> {
    cell.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::sample::records;
    use super::*;

    #[test]
    fn numbers_name_columns_or_are_a_row() {
        for (text, expected) in [
            ("a,b\n1,2\n", Head::Names),
            ("", Head::Row),
            // R, with the names of rows, and with years.
            ("\"\",\"1\",\"2\"\n\"1\",50,19\n\"2\",16,40\n", Head::Names),
            ("\"\",\"1940\",\"1945\"\n\"Food\",22.2,44.5\n", Head::Names),
            ("\"1\",\"5\"\n\"3\",\"2\"\n", Head::Row),
            ("\"1,5\",\"2,5\"\n\"3,5\",4\n", Head::Row),
            // pandas, with the numbers of the rows, in order or not, or with dates.
            (",0,1,2\n0,0.1,0.2,0.3\n1,0.4,0.5,0.6\n", Head::Numbers),
            (",0\n17,3\n4,5\n", Head::Numbers),
            (",400.5,401.5\n2024-01-01,1,2\n2024-01-02,1,2\n", Head::Numbers),
            ("0,1,2\n0.1,0.2,0.3\n", Head::Numbers),
            ("1990,1991,1992\n1,2,5\n", Head::Numbers),
            ("0,1\n0.5,-0.25\n", Head::Numbers),
            // A first cell without a value: rows may have the same one, or a fraction there.
            (",1.5,2\n3,,4\n3,1,4\n", Head::Row),
            (",1.5,2\n3.5,1,4\n", Head::Row),
            (",1.5,1.5\n1,1,4\n", Head::Row),
            // Rows that count up, or few numbers that may do so by chance.
            ("1,2\n3,4\n", Head::Row),
            ("1,2,3\n4,5,6\n", Head::Row),
            ("0,1\n1,0\n1,1\n", Head::Row),
            ("0,1\n0.1,0.995\n1,0.54\n", Head::Row),
            ("0,1,2\n", Head::Row),
            ("0\n0.5\n", Head::Row),
            ("5.1,3.5,setosa\n4.9,3.0,setosa\n", Head::Row),
        ] {
            assert_eq!(guess(&records(text, None), ','), expected, "{text:?}");
        }
    }
}
