//! Tables in text: a header row of names, one row per cycle; an empty cell is absent. Each element of a tensor has its
//! own column, named `x[0]`, `x[1]` or `m[0,0]`, `m[0,1]`, and so on. Columns that no input can use (texts, for
//! example) are unusable, and columns without a name are ignored.

use std::borrow::Cow;
use std::cell::Cell as Place;
use std::collections::BTreeSet;

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::memory::Reservation;
use rml_base::visible_name;
use rml_ir::Shape;

use crate::advice;
use crate::builder::{Builder, MIXED, ONE_WAY, Reading, Scalar, number};
use crate::columns::{Columns, Header};
use crate::dates::{self, Aspect, Date};
use crate::dialect::{Known, find, sample_of};
use crate::filling::Filling;
use crate::malformed::{self, Malformed, Wrong};
use crate::mapping::{ColumnMapping, Field, Resolved};
use crate::parts::{Named, counts};
use crate::records::{Cell, Records};
use crate::selection::Selection;
use crate::text;

/// The cells that make up a column: for each, its place in the header and its index in the tensor.
type Parts = Vec<(Field, Vec<usize>)>;

/// A column that is being read.
struct Column<'a> {
    name: &'a str,
    /// The shape of a row.
    dims: Vec<usize>,
    /// The cells, in row-major order of the elements.
    fields: Vec<Field>,
    reading: Reading,
    /// How its gaps may be filled.
    filling: Filling,
    kinds: Kinds,
}

/// Which of the cells of a row are truth values, and which are numbers.
#[derive(Default)]
struct Kinds {
    /// For each cell, whether it is a truth value, once it has had a value.
    are_truths: Vec<Option<bool>>,
    /// The same for the first cell that has had a value.
    first: Option<bool>,
    /// Whether cells differ.
    are_mixed: bool,
}

impl Kinds {
    /// Notes the kind of a value of the cell at this place, and returns the value. A cell has one kind in all rows.
    fn value(&mut self, place: usize, value: Scalar) -> Result<Scalar, Wrong> {
        let is_truth = matches!(value, Scalar::Bool(_));
        if self.are_truths.len() <= place {
            self.are_truths.resize(place + 1, None);
        }
        if self.are_truths[place].replace(is_truth).is_some_and(|before| before != is_truth) {
            return Err("truth values and numbers are mixed".into());
        }
        self.are_mixed |= *self.first.get_or_insert(is_truth) != is_truth;
        Ok(value)
    }
}

impl<'a> Column<'a> {
    /// A column without rows, whose elements have these cells in the header.
    fn new(name: &'a str, parts: &Parts, header: &[Cell<'_>], text: &str, selection: &Selection) -> Self {
        let filling = selection.filling(name);
        match layout(parts) {
            Ok((dims, fields)) => {
                let reading = selection.reading(name, || Builder::of_shape(&dims));
                Self { name, dims, fields, reading, filling, kinds: Kinds::default() }
            }
            Err((field, why)) => {
                let at = header.get(field).map_or(0, |cell| cell.at);
                let reading = Reading::Refused(why.in_text(text, at));
                Self { name, dims: Vec::new(), fields: Vec::new(), reading, filling, kinds: Kinds::default() }
            }
        }
    }
}

/// Reads a file. `usual` is the default separator for files with its name.
pub(crate) fn read_whole(
    bytes: &[u8],
    selection: &Selection,
    usual: Option<char>,
) -> Result<Columns, Malformed> {
    malformed::text(bytes)?;
    let known = find(sample_of(bytes), selection.dialect(), usual)?;
    let (mut columns, _) = read(bytes, selection, &known)?;
    columns.unfound = known.missing.unfound();
    columns.assumed = known.assumed;
    Ok(columns)
}

/// Reads a table in this format. Returns its number of rows.
pub(crate) fn read(
    bytes: &[u8],
    selection: &Selection,
    known: &Known,
) -> Result<(Columns, usize), Malformed> {
    let text = malformed::text(bytes)?;
    let mut records = Records::new(text, known);
    let header = records.header()?;
    if header.is_empty() {
        return Err(Malformed::empty());
    }
    let own = selection.of_inputs();
    let placed = |why: Malformed| match header.first() {
        Some(first) => why.in_text(text, first.at),
        None => why,
    };
    let (groups, lacking, named) =
        mapped(groups(&header), &header, (selection.mapping(), &own)).map_err(placed)?;
    let columns = groups.iter().map(|(name, parts)| Column::new(name, parts, &header, text, &own));
    let mut columns: Vec<Column<'_>> = columns.collect();
    let mut memory = Reservation::default();
    let mut rows = 0;
    let mut cells = Vec::with_capacity(header.len());
    let mut have_numbers = vec![None; header.len()];
    while records.next(&mut cells)? {
        if rows < LOOKED_AT {
            note_numbers(&mut have_numbers, &cells, known);
        }
        for column in columns.iter_mut().filter(|column| !column.reading.is_refused()) {
            row(column, rows, &cells, (text, known), &mut memory)?;
        }
        rows += 1;
    }
    let names = header.iter().zip(have_numbers);
    let names = Header::new(names.map(|(cell, number)| (cell.text.to_string(), number == Some(true))));
    let mut table = Columns { memory, header: Box::new(names), ..Columns::default() };
    for column in columns {
        table.insert(column.name.to_owned(), column.reading.built(rows));
    }
    table.take_resolved(lacking, named);
    Ok((table, rows))
}

/// The rows that say which columns have numbers.
const LOOKED_AT: usize = 16;

/// Notes for each column whether its first cell with a value is a number.
fn note_numbers(have: &mut [Option<bool>], cells: &[Cell<'_>], known: &Known) {
    for (have, cell) in have.iter_mut().zip(cells).filter(|(have, _)| have.is_none()) {
        *have = (!known.is_missing(&cell.text)).then(|| value(&cell.text, known).is_some());
    }
}

/// The end of the header; the end of the text, if it is not a table. `None` if the text ends before the header does.
pub(crate) fn header_end(bytes: &[u8], known: &Known) -> Option<usize> {
    let Ok(text) = malformed::text(bytes) else { return Some(bytes.len()) };
    let mut records = Records::new(text, known);
    match records.header() {
        Ok(header) if header.is_empty() => None,
        Ok(_) => Some(bytes.len() - records.rest().len()),
        Err(_) => Some(bytes.len()),
    }
}

/// Adds a row to a column.
fn row(
    column: &mut Column<'_>,
    row: usize,
    cells: &[Cell<'_>],
    (text, known): (&str, &Known),
    memory: &mut Reservation,
) -> Result<(), Malformed> {
    let Column { name, dims, fields, reading, filling, kinds } = column;
    let own = || fields.iter().map(|(field, _)| &cells[*field]);
    let Some(first) = own().find(|cell| !known.is_missing(&cell.text)) else { return Ok(()) };
    let at = Place::new(first.at);
    let fault = Place::new(Fault::Other);
    let read = |builder: &mut Builder, memory: &mut Reservation| {
        let gap = own().find(|cell| known.is_missing(&cell.text));
        if let Some(gap) = gap.filter(|_| !builder.has_gaps()) {
            at.set(gap.at);
            fault.set(Fault::Gap);
            let cell = match &*gap.text {
                "" => "this cell is empty".to_owned(),
                text => format!("`{}` has no value", visible_name(text)),
            };
            return Err(Wrong::Shape(format!("some elements are absent here, others not: {cell}")));
        }
        for (place, (field, aspect)) in fields.iter().enumerate() {
            let cell = &cells[*field];
            at.set(cell.at);
            element(builder, (&cell.text, *aspect), (known, kinds, place), &fault, memory)?;
        }
        at.set(first.at);
        fault.set(Fault::Other);
        builder.end(row, dims, memory)
    };
    let cell = || own().find(|cell| cell.at == at.get()).map_or("", |cell| &*cell.text);
    reading.cell(name, memory, read, |why| {
        advised(why, filling, fault.get(), (cell(), known)).in_text(text, at.get())
    })
}

/// Adds the element of a cell.
fn element(
    builder: &mut Builder,
    (text, aspect): (&str, Option<Aspect>),
    (known, kinds, place): (&Known, &mut Kinds, usize),
    fault: &Place<Fault>,
    memory: &mut Reservation,
) -> Result<(), Wrong> {
    fault.set(Fault::Kind);
    if known.is_missing(text) {
        return builder.gap(memory);
    }
    if let Some(aspect) = aspect {
        fault.set(Fault::Date);
        return builder.element(aspect.of(date(text, known)?).into(), memory);
    }
    if builder.takes(truth(text).is_some() || value(text, known).is_some()) {
        return builder.label(text, memory);
    }
    fault.set(Fault::Cell);
    let value = scalar(text, known)?;
    fault.set(Fault::Kind);
    let value = kinds.value(place, value)?;
    if kinds.are_mixed {
        builder.count_truths(memory)?;
    }
    builder.element(value, memory)
}

/// The date of a cell: a text or a number.
fn date(text: &str, known: &Known) -> Result<Date, Wrong> {
    let date = match value(text, known) {
        Some(Ok(Scalar::Int(seconds))) => dates::integer(seconds),
        Some(Ok(Scalar::Num(seconds))) => dates::number(seconds),
        Some(Ok(Scalar::Bool(_)) | Err(_)) | None => dates::seconds(text),
    };
    date.ok_or_else(|| Wrong::Text(format!("`{}` is no date", visible_name(text))))
}

/// The kind of error in a row.
#[derive(Clone, Copy)]
enum Fault {
    /// A cell is empty, but others of the same value are not.
    Gap,
    /// A cell on its own is wrong.
    Cell,
    /// A cell should be a date.
    Date,
    /// A cell does not agree with the cells above it.
    Kind,
    Other,
}

/// The finding about a cell with this text, with advice on what it may contain.
fn advised(why: Malformed, filling: &Filling, fault: Fault, (text, known): (&str, &Known)) -> Malformed {
    if why.code != codes::DATA_TYPE {
        return match fault {
            Fault::Gap => {
                advice::gap(why.help("write a value into that cell, or leave the row out"), filling.clone())
            }
            Fault::Cell | Fault::Date | Fault::Kind | Fault::Other => why,
        };
    }
    if let Fault::Date = fault {
        let why = why.note(format!("{}; {}", dates::EXPECTED, dates::NUMBERS));
        return match dates::advice(text) {
            Some(help) => why.help(help),
            None => why,
        };
    }
    if why.what().contains(MIXED) {
        return why.help(ONE_WAY);
    }
    let why = why.note("a value is an integer, a number, `true` or `false`; an empty cell is absent");
    match fault {
        Fault::Cell if value(text, known).is_none() => advice::cell(why, text, known),
        Fault::Kind => {
            why.help("write all cells of a column in one way: as integers, as numbers or as truth values")
        }
        Fault::Gap | Fault::Cell | Fault::Date | Fault::Other => why,
    }
}

/// The number of a cell, in the file's notation.
fn value(text: &str, known: &Known) -> Option<Result<Scalar, String>> {
    number(&known.plain(text)?)
}

/// The truth value of a cell.
fn truth(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

fn scalar(text: &str, known: &Known) -> Result<Scalar, Wrong> {
    match truth(text) {
        Some(truth) => Ok(Scalar::Bool(truth)),
        None => match value(text, known) {
            Some(read) => read.map_err(Wrong::Text),
            None => Err(Wrong::Text(format!("`{}` is a text", visible_name(text)))),
        },
    }
}

/// Groups the names of the header: `x[0]`, `x[1]` are one column. Cells without a name are left out.
fn groups<'a>(header: &'a [Cell<'_>]) -> IndexMap<&'a str, Parts> {
    let mut groups: IndexMap<&str, Parts> = IndexMap::new();
    for (field, cell) in header.iter().enumerate().filter(|(_, cell)| !cell.text.is_empty()) {
        let (name, index) = element_name(&cell.text).unwrap_or((&cell.text, Vec::new()));
        groups.entry(name).or_default().push(((field, None), index));
    }
    groups
}

/// The cells of columns; the inputs whose columns the table lacks; the columns that feed other inputs, by name.
type Mapped<'a> = (IndexMap<&'a str, Parts>, Vec<(&'a str, Malformed)>, Named);

/// The same, with the columns that a mapping assigns to inputs.
fn mapped<'a>(
    mut groups: IndexMap<&'a str, Parts>,
    header: &'a [Cell<'_>],
    (mapping, own): (&'a ColumnMapping, &Selection),
) -> Result<Mapped<'a>, Malformed> {
    if mapping.is_empty() {
        return Ok((groups, Vec::new(), Named::new()));
    }
    let names: Vec<&str> = header.iter().map(|cell| &*cell.text).collect();
    let counts = counts(&names);
    let places = |name: &str| match counts.first(name) {
        Some(place) => vec![place],
        None => groups.get(name).map_or(Vec::new(), |parts| parts.iter().map(|part| part.0.0).collect()),
    };
    let Resolved { fed: resolved, lacking, named } = mapping.resolved(&names, places)?;
    for (input, fields, _) in &resolved {
        let twice = |(field, _): &&Field| {
            let name = names.get(*field).filter(|name| !name.is_empty());
            name.is_some_and(|name| !counts.is_one(&names, *field) && mapping.names_alone(name, input))
        };
        if let Some(name) = fields.iter().find(twice).and_then(|(field, _)| names.get(*field)) {
            return Err(twice_in_header(name, input, &names));
        }
    }
    // A column that only feeds an input under another name is not kept under its own name.
    let fed: BTreeSet<usize> =
        resolved.iter().flat_map(|(_, fields, _)| fields.iter().map(|field| field.0)).collect();
    groups.retain(|name, parts| own.has(name) || !parts.iter().all(|(field, _)| fed.contains(&field.0)));
    for (input, fields, is_one) in resolved {
        let index = |(i, field)| (field, if is_one { Vec::new() } else { vec![i] });
        groups.insert(input, fields.into_iter().enumerate().map(index).collect());
    }
    for (input, _) in &lacking {
        groups.shift_remove(input);
    }
    Ok((groups, lacking, named))
}

/// The finding that a column that feeds an input has the same name as others.
fn twice_in_header(name: &str, input: &str, names: &[&str]) -> Malformed {
    let places = names.iter().enumerate().filter(|(_, other)| **other == name);
    let places: Vec<String> = places.map(|(place, _)| (place + 1).to_string()).collect();
    let what = format!("the header has `{}` in columns {}", visible_name(name), places.join(" and "));
    Malformed::of_shape(what)
        .note(format!("input `{}` would get one of them", visible_name(input)))
        .help("rename one of them, or leave it out")
}

/// The name of a tensor and an index in it, as in `x[0]` and `x[0,1]`.
fn element_name(text: &str) -> Option<(&str, Vec<usize>)> {
    let (name, rest) = text.split_once('[')?;
    let index = rest.strip_suffix(']')?.split(',').map(|i| i.trim().parse().ok()).collect::<Option<_>>()?;
    (!name.is_empty()).then_some((name, index))
}

/// The shape that the parts fill, and their cells in row-major order. `Err` = why there is no shape, and a cell of the
/// header as an example.
fn layout(parts: &Parts) -> Result<(Vec<usize>, Vec<Field>), (usize, Malformed)> {
    let rank = parts.first().map_or(0, |p| p.1.len());
    let mut seen = BTreeSet::new();
    let other = |(_, index): &&(Field, Vec<usize>)| index.len() != rank || !seen.insert(index.clone());
    if let Some(((field, _), _)) = parts.iter().find(other) {
        let why = Malformed::of_shape("the header has this column twice");
        return Err((*field, why.help("leave out one of them, or give it another name")));
    }
    let dims: Vec<usize> = (0..rank)
        .map(|axis| parts.iter().map(|p| p.1[axis]).max().map_or(0, |m| m.saturating_add(1)))
        .collect();
    let full = dims.iter().try_fold(1_usize, |n, &d| n.checked_mul(d));
    if full != Some(parts.len()) {
        let why = Malformed::of_shape("some elements of this tensor have no cell in the header");
        let why = why
            .note(format!("its largest indices ask for the shape {}", Shape::new(&dims)))
            .help("indices count from 0, and each has a column: `x[0]`, `x[1]`, `x[2]`");
        return Err((parts.first().map_or(0, |p| p.0.0), why));
    }
    let mut sorted: Vec<_> = parts.iter().collect();
    sorted.sort_by(|a, b| a.1.cmp(&b.1));
    Ok((dims, sorted.into_iter().map(|p| p.0).collect()))
}

/// Writes a row of a table; texts are quoted if necessary.
pub fn write_row(out: &mut String, cells: impl IntoIterator<Item = impl AsRef<str>>) {
    let start = out.len();
    for (i, cell) in cells.into_iter().enumerate() {
        out.push_str(if i > 0 { "," } else { "" });
        out.push_str(&quoted(cell.as_ref()));
    }
    if out.len() == start {
        // An empty line would not be a row.
        out.push_str("\"\"");
    }
    out.push('\n');
}

/// All columns as a table with a header. Each element of a tensor has its own column, and an absent row has empty
/// cells.
pub(crate) fn write(columns: &Columns) -> Result<String, Malformed> {
    if let Some(name) = columns.lengths.keys().next() {
        let what = format!("column `{name}` has sequences of different lengths, which a table cannot store");
        return Err(Malformed::new(what).help("write JSON instead"));
    }
    let cells: Vec<_> = columns
        .columns
        .iter()
        .map(|(name, column)| {
            let shape = Shape::new(column.shape.dims().get(1..).unwrap_or_default());
            (column, column.elements.to_data(), shape, columns.shared_names(name))
        })
        .collect();
    let mut out = String::new();
    let header = columns.columns.keys().zip(&cells);
    write_row(&mut out, header.flat_map(|(name, (_, _, shape, _))| text::element_names(name, shape)));
    for row in 0..columns.most_rows() {
        let fields = cells.iter().flat_map(|(column, data, shape, names)| {
            let n = shape.len();
            let place = (row < column.rows()).then(|| column.place(row)).flatten();
            (0..n).map(move |i| place.map(|at| text::element(data, at * n + i, names.as_deref())))
        });
        write_row(&mut out, fields.map(Option::unwrap_or_default));
    }
    Ok(out)
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

    fn read(bytes: &[u8]) -> Result<(Columns, usize), Malformed> {
        let known = find(sample_of(bytes), &Default::default(), None)?;
        super::read(bytes, &Selection::all(), &known)
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        for text in ["x\n1e999\n", "x\n0.5\n-1e400\n", "x\n18446744073709551615\n"] {
            let why = unusable(text, "x");
            assert!(why.contains("double precision"), "{why}");
        }
        assert_eq!(get("x\n0.5\ninf\n", "x").elements, Elements::F64(vec![0.5, f64::INFINITY]));
    }

    fn get(text: &str, name: &str) -> Column {
        read(text.as_bytes()).unwrap().0.columns[name].clone()
    }

    fn unusable(text: &str, name: &str) -> String {
        read(text.as_bytes()).unwrap().0.unusable[name].to_string()
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
    fn columns_that_no_input_takes_are_unusable() {
        for (text, why) in [
            ("x,o\nhello,1\nyou,2\n", "line 2, column 1: `hello` is a text"),
            ("o,x\n1, true\n2,  3\n", "line 3, column 5: truth values and numbers are mixed"),
            ("x[0],x[1],o\n\"1\n\",2,1\n3,,2\n", "line 4, column 3: some elements are absent here"),
            ("x,o,x\n1,1,2\n3,2,4\n", "line 1, column 5: the header has this column twice"),
            ("x,o,x[0]\n1,1,2\n3,2,4\n", "line 1, column 5: the header has this column twice"),
            ("o,x[0],x[2]\n1,2,3\n2,2,3\n", "line 1, column 3: some elements of this tensor"),
            ("o,x[18446744073709551615]\n1,2\n2,2\n", "line 1, column 3: some elements of this tensor"),
        ] {
            assert!(unusable(text, "x").starts_with(why), "{}", unusable(text, "x"));
            assert_eq!(get(text, "o").elements, Elements::Int(vec![1, 2]));
        }
        let long = format!("x\n{}\n", "a".repeat(1 << 20));
        assert!(unusable(&long, "x").len() < 1000);
    }

    #[test]
    fn any_text_may_be_a_name() {
        let text = ",x [m],\"y[0\",[1],d[a],z,\n0,1,2,3,4,5,\n1,1,2,3,4,5,\n";
        let (table, rows) = read(text.as_bytes()).unwrap();
        assert_eq!(table.columns.keys().collect::<Vec<_>>(), ["x [m]", "y[0", "[1]", "d[a]", "z"]);
        assert_eq!((rows, &table.columns["z"].elements), (2, &Elements::Int(vec![5, 5])));
        assert_eq!(read(b",\n1,2\n").unwrap(), (Columns::default(), 1));
    }

    #[test]
    fn malformed_tables_are_errors() {
        for text in ["x,y\n1\n", "x\n1,2\n", "x\n\"1\n", "x\n\n1\n"] {
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
