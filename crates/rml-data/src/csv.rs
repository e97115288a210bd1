//! Comma-separated values: a header row of names, a row a cycle; an empty cell is absent. The elements of a tensor stand in
//! columns of their own, named `x[0]`, `x[1]` or `m[0,0]`, `m[0,1]`, and so on.

use std::borrow::Cow;
use std::collections::BTreeSet;

use indexmap::IndexMap;
use rml_base::memory::Reservation;
use rml_ir::Shape;

use crate::builder::{Builder, Scalar, number};
use crate::columns::Columns;
use crate::malformed::{self, Malformed};
use crate::records::{Cell, Records};

/// The cells that make up a column: for each the index in the header, and its place in the tensor.
type Parts = Vec<(usize, Vec<usize>)>;

/// A column while it is read.
struct Reading<'a> {
    name: &'a str,
    /// The shape of a row.
    dims: Vec<usize>,
    /// The indices in the header, in row-major order of the elements.
    fields: Vec<usize>,
    builder: Builder,
}

/// Reads a table.
pub(crate) fn read(bytes: &[u8]) -> Result<Columns, Malformed> {
    let text = malformed::text(bytes)?;
    let mut records = Records::new(text);
    let header = records.header()?;
    let mut columns: Vec<Reading<'_>> = Vec::new();
    for (name, parts) in groups(&header)? {
        let (dims, fields) = layout(name, &parts)?;
        let builder = Builder::of_shape(&dims);
        columns.push(Reading { name, dims, fields, builder });
    }
    let mut memory = Reservation::default();
    let mut rows = 0;
    let mut cells = Vec::with_capacity(header.len());
    while records.next(&mut cells)? {
        for column in &mut columns {
            row(column, rows, &cells, text, &mut memory)?;
        }
        rows += 1;
    }
    let columns = columns.into_iter().map(|c| (c.name.to_owned(), c.builder.column(rows))).collect();
    Ok(Columns { columns, memory, ..Columns::default() })
}

/// Where the header ends, with its line; the end of the text, if that is no table.
pub(crate) fn header_end(bytes: &[u8]) -> usize {
    let Ok(text) = malformed::text(bytes) else { return bytes.len() };
    let mut records = Records::new(text);
    let is_table = records.header().is_ok();
    if is_table { bytes.len() - records.rest().len() } else { bytes.len() }
}

/// Adds a row to a column.
fn row(
    column: &mut Reading<'_>,
    row: usize,
    cells: &[Cell<'_>],
    text: &str,
    memory: &mut Reservation,
) -> Result<(), Malformed> {
    let name = column.name;
    let mut own = column.fields.iter().map(|f| &cells[*f]);
    let Some(first) = own.clone().find(|cell| !cell.text.is_empty()) else { return Ok(()) };
    if let Some(gap) = own.clone().find(|cell| cell.text.is_empty()) {
        let what = format!("some elements of `{name}` are absent, others not");
        return Err(Malformed::new(what).in_text(text, gap.at));
    }
    own.try_for_each(|cell| {
        let wrong = |e| Malformed::in_cell(name, e).in_text(text, cell.at);
        column
            .builder
            .element(scalar(cell, name).map_err(|e| e.in_text(text, cell.at))?, memory)
            .map_err(wrong)
    })?;
    let ended = column.builder.end(row, &column.dims, memory);
    ended.map_err(|e| Malformed::in_cell(name, e).in_text(text, first.at))
}

fn scalar(cell: &Cell<'_>, name: &str) -> Result<Scalar, Malformed> {
    match &*cell.text {
        "true" | "True" | "TRUE" => Ok(Scalar::Bool(true)),
        "false" | "False" | "FALSE" => Ok(Scalar::Bool(false)),
        text => match number(text) {
            Some(read) => read.map_err(|why| Malformed::in_cell(name, why.into())),
            None => Err(Malformed::new(format!("`{text}` in column `{name}` is no value"))
                .note("a value is an integer, a number, `true` or `false`; an empty cell is absent")),
        },
    }
}

/// Groups the names of the header: `x[0]`, `x[1]` are one column.
fn groups<'a>(header: &'a [Cell<'_>]) -> Result<IndexMap<&'a str, Parts>, Malformed> {
    let mut groups: IndexMap<&str, Parts> = IndexMap::new();
    let mut seen = BTreeSet::new();
    for (field, cell) in header.iter().enumerate() {
        let (name, index) = split_name(&cell.text).ok_or_else(|| {
            Malformed::new(format!("`{}` is no name of a column", cell.text))
                .note("a name is `x`, `x[0]` or `x[0,1]`")
        })?;
        let parts = groups.entry(name).or_default();
        let other_rank = parts.first().is_some_and(|(_, other)| other.len() != index.len());
        if other_rank || !seen.insert((name, index.clone())) {
            return Err(Malformed::new(format!("the header has column `{name}` twice")));
        }
        parts.push((field, index));
    }
    Ok(groups)
}

fn split_name(text: &str) -> Option<(&str, Vec<usize>)> {
    let Some((name, rest)) = text.split_once('[') else {
        return (!text.is_empty()).then_some((text, Vec::new()));
    };
    let index: Option<Vec<usize>> =
        rest.strip_suffix(']')?.split(',').map(|i| i.trim().parse().ok()).collect();
    (!name.is_empty()).then_some((name, index?))
}

/// The shape that the parts fill, and their cells in row-major order.
fn layout(name: &str, parts: &Parts) -> Result<(Vec<usize>, Vec<usize>), Malformed> {
    let rank = parts.first().map_or(0, |p| p.1.len());
    let dims: Vec<usize> = (0..rank)
        .map(|axis| parts.iter().map(|p| p.1[axis]).max().map_or(0, |m| m.saturating_add(1)))
        .collect();
    let full = dims.iter().try_fold(1_usize, |n, &d| n.checked_mul(d));
    if full != Some(parts.len()) {
        return Err(Malformed::new(format!("some elements of column `{name}` have no field"))
            .note(format!("its largest indices ask for shape {}", Shape::new(&dims))));
    }
    let mut sorted: Vec<_> = parts.iter().collect();
    sorted.sort_by(|a, b| a.1.cmp(&b.1));
    Ok((dims, sorted.into_iter().map(|p| p.0).collect()))
}

/// A row of a table; texts are put in quotes where they need them.
pub fn write_row(out: &mut String, cells: impl IntoIterator<Item = impl AsRef<str>>) {
    let start = out.len();
    for (i, cell) in cells.into_iter().enumerate() {
        out.push_str(if i > 0 { "," } else { "" });
        out.push_str(&quoted(cell.as_ref()));
    }
    if out.len() == start {
        // A line without a character would be no row.
        out.push_str("\"\"");
    }
    out.push('\n');
}

fn quoted(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{Column, Elements};
    use crate::malformed::MAX_COLUMNS;

    #[test]
    fn numbers_out_of_range_are_refused() {
        for text in ["x\n1e999\n", "x\n0.5\n-1e400\n", "x\n18446744073709551615\n"] {
            let e = read(text.as_bytes()).unwrap_err();
            assert!(e.what.contains("double precision"), "{}", e.what);
        }
        assert_eq!(get("x\n0.5\ninf\n", "x").elements, Elements::F64(vec![0.5, f64::INFINITY]));
    }

    fn get(text: &str, name: &str) -> Column {
        read(text.as_bytes()).unwrap().columns[name].clone()
    }

    #[test]
    fn types_and_absence() {
        let text = "i, x ,b\n1,0.5,true\n,2,\n3,nan,false\n";
        let i = get(text, "i");
        assert_eq!(i.elements, Elements::Int(vec![1, 3]));
        assert_eq!((i.rows(), i.present), (3, Some(vec![0, 2])));
        let Elements::F64(x) = get(text, "x").elements else { panic!("x holds numbers") };
        assert!(x[0] == 0.5 && x[1] == 2.0 && x[2].is_nan());
        assert_eq!(get(text, "b").elements, Elements::Bool(vec![true, false]));
    }

    #[test]
    fn tensors_are_spread_over_fields() {
        let m = get("\"m[0,1]\",\"m[0,0]\",\"m[1,0]\",\"m[1,1]\"\n2,1,3,4\n,,,\n6,5,7,8\n", "m");
        assert_eq!(m.shape, Shape::new(&[3, 2, 2]));
        assert_eq!(m.elements, Elements::Int(vec![1, 2, 3, 4, 5, 6, 7, 8]));
        assert_eq!(m.present, Some(vec![0, 2]));
        let absent = get("\"m[0]\",\"m[1]\"\n,\n,\n", "m");
        assert_eq!((absent.shape, absent.present), (Shape::new(&[2, 2]), Some(vec![])));
    }

    #[test]
    fn errors_name_their_place() {
        for (text, place) in [
            ("x\nhello\n", "line 2, column 1: "),
            ("x,y\n1, true\n2,  3\n", "line 3, column 5: "),
            ("x[0],x[1]\n\"1\n\",2\n3,\n", "line 4, column 3: "),
        ] {
            let e = read(text.as_bytes()).unwrap_err();
            assert!(e.what.starts_with(place), "{}", e.what);
        }
    }

    #[test]
    fn malformed_tables_are_errors() {
        for text in [
            "x\nhello\n",
            "x\n1\ntrue\n",
            "x,y\n1\n",
            "x,x\n1,2\n",
            "x[0],x[2]\n1,2\n",
            "x,x[0]\n1,2\n",
            "x[0\n1\n",
            ",\n1,2\n",
            "x[18446744073709551615]\n1\n",
            "x[0],x[1]\n1,\n",
        ] {
            assert!(read(text.as_bytes()).is_err(), "{text:?}");
        }
        assert!(read(b"\xff\xfe\n\xff\n").is_err());
        let wide = format!("a{}\n", (1..=MAX_COLUMNS).map(|i| format!(",a{i}")).collect::<String>());
        assert_eq!(read(wide.as_bytes()).unwrap_err().code, rml_base::codes::run::DATA_TOO_LARGE);
    }

    #[test]
    fn rows_that_are_written_read_back() {
        let mut text = String::new();
        for row in [["x[0]", "m[0,0]"], ["1", "2"], ["", ""]] {
            write_row(&mut text, row);
        }
        assert_eq!(text, "x[0],\"m[0,0]\"\n1,2\n,\n");
        let mut one = String::from("x\n");
        write_row(&mut one, [""]);
        assert_eq!(get(&one, "x").present, Some(vec![]));
    }
}
