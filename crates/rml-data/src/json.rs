//! JSON: an object of arrays (or an object with such an object as its member `inputs`), an array of objects, or one
//! object per line. `null` = absent; numbers that are not finite are the strings `"NaN"`, `"Infinity"` and
//! `"-Infinity"`. Rows may have different keys: a column whose key is missing in a row is absent there.

use std::borrow::Cow;

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::memory::Reservation;
use rml_base::visible_name;
use rml_ir::{Data, Shape, Value};
use serde_json::Value as Json;

use crate::advice;
use crate::builder::{Builder, MIXED, ONE_WAY, Reading, Scalar, number};
use crate::columns::{Column, Columns, Elements};
use crate::ill::{CUT_OFF, advice, is_open_list};
use crate::labels::Texts;
use crate::malformed::{self, GAP, MAX_COLUMNS, Malformed, Wrong, too_many_columns};
use crate::recipe::Preparation;
use crate::scan::{Ill, Scan, said};
use crate::selection::Selection;

/// The most dimensions of a tensor, as in NumPy.
const MAX_RANK: usize = 64;

const EXPECTED: &str = "expected {\"x\": [..], ..}, {\"inputs\": {\"x\": [..], ..}} or [{\"x\": .., ..}, ..]";

/// Reads one document.
pub(crate) fn read(bytes: &[u8], selection: &Selection) -> Result<Columns, Malformed> {
    let text = malformed::text(bytes)?;
    let mut scan = Scan::new(text).map_err(|ill| malformed("not a JSON document", ill, text))?;
    if scan.sees('{') {
        return arrays(scan, selection);
    }
    let start = scan;
    if !scan.accept('[') {
        return Err(start.place(Malformed::new("not a table").note(EXPECTED)));
    }
    let mut rows = Rows::new(selection, 0);
    while !scan.accept(']') {
        rows.row(&mut scan, EXPECTED)?;
        scan.accept(',');
    }
    Ok(rows.columns())
}

/// Reads one object per line; blank lines are ignored.
pub(crate) fn read_lines(bytes: &[u8], selection: &Selection) -> Result<Columns, Malformed> {
    Ok(lines(bytes, selection, 0)?.0)
}

/// As [`read_lines`], for lines that follow `before` rows. Returns the number of rows.
pub(crate) fn lines(
    bytes: &[u8],
    selection: &Selection,
    before: usize,
) -> Result<(Columns, usize), Malformed> {
    let mut rows = Rows::new(selection, before);
    let text = malformed::text(bytes)?;
    for line in Scan::lines(text) {
        let mut line = line.map_err(|ill| match &*ill.why {
            "trailing characters" => {
                Malformed::new("not a JSON object").in_line(ill.line, ill.column).note(ill.why).help(
                    "each line is one object: leave out the comma at its end, or what else follows the `}`",
                )
            }
            _ if ill.why.starts_with(CUT_OFF) && text.lines().nth(ill.line - 1).is_some_and(is_open_list) => {
                Malformed::new("not a JSON object").in_line(ill.line, ill.column).note(ill.why).help(
                    "a list over several lines is a JSON document: name the file `.json`, or write one object a line, without the list around them",
                )
            }
            _ => malformed("not a JSON object", ill, text),
        })?;
        rows.row(&mut line, "expected {\"x\": .., ..}")?;
    }
    let count = rows.rows;
    Ok((rows.columns(), count))
}

fn malformed(what: &str, ill: Ill, text: &str) -> Malformed {
    let help = advice(&ill, text);
    let why = Malformed::new(what).in_line(ill.line, ill.column).note(ill.why);
    match help {
        Some(help) => why.help(help),
        None => why,
    }
}

/// Reads an object of arrays.
fn arrays(mut scan: Scan<'_>, selection: &Selection) -> Result<Columns, Malformed> {
    let mut entries = scan.entries()?;
    if let Some(mut inputs) = entries.get("inputs").filter(|inputs| inputs.sees('{')).copied() {
        entries = inputs.entries()?;
    }
    if entries.len() > MAX_COLUMNS {
        return Err(too_many_columns());
    }
    let mut columns = Columns::default();
    for (name, mut scan) in entries {
        if !scan.accept('[') {
            let why = Malformed::of_shape("it is not an array of cells");
            let why = match scan.sees('{') {
                true => why
                    .note("it is an object, as pandas writes a column by the numbers of its rows")
                    .help("write a list for each column: in pandas, `df.to_json(FILE, orient=\"list\")`")
                    .help("or an object for each row: `df.to_json(FILE, orient=\"records\")`"),
                false => why.help("write `[..]`, a value for each row"),
            };
            columns.unusable.insert(name.into_owned(), scan.place(why).into());
            continue;
        }
        let mut reading = selection.reading(&name, Builder::default);
        let mut rows = 0;
        while !scan.accept(']') {
            cell((&name, selection), (rows, 0), &mut reading, &mut scan, &mut columns.memory)?;
            rows += 1;
            scan.accept(',');
        }
        columns.insert(name.into_owned(), reading.built(rows));
    }
    Ok(columns)
}

/// A table that is being read row by row.
struct Rows<'s> {
    selection: &'s Selection,
    /// The columns; each with the number of rows at the time when its key was last read.
    columns: IndexMap<String, (Reading, usize)>,
    rows: usize,
    /// The number of rows before this table, which messages count.
    before: usize,
    memory: Reservation,
}

impl<'s> Rows<'s> {
    /// A table without rows, after this many other rows.
    fn new(selection: &'s Selection, before: usize) -> Self {
        Self { selection, columns: IndexMap::new(), rows: 0, before, memory: Reservation::default() }
    }

    /// Reads the next row.
    fn row(&mut self, scan: &mut Scan<'_>, expected: &str) -> Result<(), Malformed> {
        let start = *scan;
        let row = self.rows;
        if !scan.accept('{') {
            return Err(
                start.place(Malformed::new(format!("row {} is no object", self.before + row)).note(expected))
            );
        }
        self.rows += 1;
        while !scan.accept('}') {
            let start = *scan;
            let key = scan.key()?;
            if !self.columns.contains_key(&*key) {
                if self.columns.len() == MAX_COLUMNS {
                    return Err(too_many_columns());
                }
                let bytes = key.len() + size_of::<(String, Reading, usize)>();
                let taken = self.memory.grow(bytes as u64);
                taken.map_err(|short| {
                    start
                        .place(Malformed::short(short.diagnostic(format!("column `{}`", visible_name(&key)))))
                })?;
                let reading = self.selection.reading(&key, Builder::default);
                self.columns.insert(key.to_string(), (reading, 0));
            }
            let Some((reading, last)) = self.columns.get_mut(&*key) else { continue };
            if std::mem::replace(last, self.rows) == self.rows {
                return Err(start.twice(&key).into());
            }
            cell((&key, self.selection), (row, self.before), reading, scan, &mut self.memory)?;
            scan.accept(',');
        }
        Ok(())
    }

    fn columns(self) -> Columns {
        let mut columns = Columns { memory: self.memory, ..Columns::default() };
        for (name, (reading, _)) in self.columns {
            columns.insert(name, reading.built(self.rows));
        }
        columns
    }
}

/// Reads the next cell of a row, if it is present. Messages count the rows before this table, too.
fn cell(
    (name, selection): (&str, &Selection),
    (row, before): (usize, usize),
    reading: &mut Reading,
    scan: &mut Scan<'_>,
    memory: &mut Reservation,
) -> Result<(), Malformed> {
    let start = *scan;
    if scan.is_null() {
        return Ok(());
    }
    let read = |builder: &mut Builder, memory: &mut Reservation| {
        let mut extent = Extent::default();
        tensor(scan, 0, &mut extent, &mut |said| put(builder, said, memory))?;
        builder.end(row, &extent.shape(), memory)
    };
    reading
        .cell(name, memory, read, |why| start.place(advised(why, name, selection).in_row(before + row)))?;
    if reading.is_refused() {
        *scan = start;
        scan.skip();
    }
    Ok(())
}

/// The finding about a cell, with advice on what it may contain.
fn advised(why: Malformed, name: &str, selection: &Selection) -> Malformed {
    if why.what() == GAP {
        return advice::null(why, selection.filling(name));
    }
    if why.code != codes::DATA_TYPE {
        return why;
    }
    if why.what().contains(MIXED) {
        return why.help(ONE_WAY);
    }
    why.note("a value is an integer, a number, `true` or `false`, or a list of such; `null` is absent")
        .help("write numbers for categories and dates, and `null` where there is no value")
}

/// A cell as a column of one row, with the texts of its numbers if it contains texts; none if it is absent, an error if
/// it is not a value. A `null` among its elements becomes NaN.
pub type JsonCell = Result<Option<(Column, Option<Vec<String>>)>, Wrong>;

/// An element in the text.
enum Said<'s> {
    Value(Scalar),
    Text(Cow<'s, str>),
    Null,
}

/// Adds an element to a column.
fn put(builder: &mut Builder, said: Said<'_>, memory: &mut Reservation) -> Result<(), Wrong> {
    match said {
        Said::Value(scalar) => builder.element(scalar, memory),
        Said::Text(text) if builder.takes(false) => builder.label(&text, memory),
        Said::Text(text) => Err(format!("the text {:?} is no value", visible_name(&text)).into()),
        Said::Null => builder.null(memory),
    }
}

/// Reads an object of cells from a single line, with this preparation. A byte order mark at its start is ignored.
///
/// # Errors
/// A line that is not a JSON object.
pub fn cells(line: &str, preparation: &Preparation) -> Result<IndexMap<String, JsonCell>, Ill> {
    let mut scan = Scan::new(line.strip_prefix('\u{feff}').unwrap_or(line))?;
    if !scan.sees('{') {
        return Err(Ill { line: 1, column: 1, why: "expected {\"x\": .., ..}".to_owned() });
    }
    let mut memory = Reservation::default();
    let mut one = |name: &str, mut scan: Scan<'_>| {
        if scan.is_null() {
            return Ok(None);
        }
        let texts = if preparation.classes.contains_key(name) { Texts::Names } else { Texts::Refused };
        let mut builder = Builder::default().taking(texts, preparation.fills(name));
        let mut extent = Extent::default();
        tensor(&mut scan, 0, &mut extent, &mut |said| put(&mut builder, said, &mut memory))?;
        builder.end(0, &extent.shape(), &mut memory)?;
        Ok(Some(builder.named_column(1)))
    };
    Ok(scan
        .entries()?
        .into_iter()
        .map(|(name, scan)| {
            let cell = one(&name, scan);
            (name.into_owned(), cell)
        })
        .collect())
}

/// The shape of a tensor that is being read.
#[derive(Default)]
struct Extent {
    /// The number of entries in each dimension, once an array has been read to its end.
    lengths: Vec<Option<usize>>,
    /// The depth of the arrays around the elements, once there was an element.
    rank: Option<usize>,
}

impl Extent {
    fn shape(&self) -> Vec<usize> {
        self.lengths.iter().map(|n| n.unwrap_or(0)).collect()
    }
}

fn uneven() -> Wrong {
    Wrong::Shape("the rows of a tensor have different shapes".to_owned())
}

/// Reads the elements of the next value, within `depth` arrays.
fn tensor(
    scan: &mut Scan<'_>,
    depth: usize,
    extent: &mut Extent,
    push: &mut dyn FnMut(Said<'_>) -> Result<(), Wrong>,
) -> Result<(), Wrong> {
    if scan.accept('[') {
        if depth == MAX_RANK {
            return Err(format!("a tensor has at most {MAX_RANK} dimensions").into());
        }
        if extent.rank.is_some_and(|rank| rank <= depth) {
            return Err(uneven());
        }
        if extent.lengths.len() == depth {
            extent.lengths.push(None);
        }
        let mut entries = 0;
        while !scan.accept(']') {
            tensor(scan, depth + 1, extent, push)?;
            entries += 1;
            scan.accept(',');
        }
        let length = &mut extent.lengths[depth];
        return if length.replace(entries).is_some_and(|n| n != entries) { Err(uneven()) } else { Ok(()) };
    }
    if extent.lengths.len() > depth {
        return Err(uneven());
    }
    extent.rank = Some(depth);
    push(element(scan)?)
}

/// Reads the next element.
fn element<'s>(scan: &mut Scan<'s>) -> Result<Said<'s>, Wrong> {
    if scan.sees('{') {
        return Err("an object is not a value".into());
    }
    match scan.token() {
        "true" => Ok(Said::Value(Scalar::Bool(true))),
        "false" => Ok(Said::Value(Scalar::Bool(false))),
        "null" => Ok(Said::Null),
        token if token.starts_with('"') => {
            let text = said(token)?;
            Ok(match &*text {
                "NaN" => Said::Value(Scalar::Num(f64::NAN)),
                "Infinity" => Said::Value(Scalar::Num(f64::INFINITY)),
                "-Infinity" => Said::Value(Scalar::Num(f64::NEG_INFINITY)),
                _ => Said::Text(text),
            })
        }
        token => {
            let read =
                number(token).unwrap_or_else(|| Err(format!("`{}` is no number", visible_name(token))));
            Ok(Said::Value(read?))
        }
    }
}

/// The columns as a document.
pub(crate) fn write(columns: &Columns) -> String {
    let mut out = String::from("{");
    for (i, (name, column)) in columns.columns.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        out.push_str(&Json::from(name.as_str()).to_string());
        out.push_str(": [");
        let cell = column.shape.dims().get(1..).unwrap_or_default();
        let per: usize = cell.iter().product();
        let lengths = columns.lengths(name);
        let names = columns.shared_names(name);
        let (rows, mut start) = (lengths.map_or(column.rows(), <[usize]>::len), 0);
        for row in 0..rows {
            out.push_str(if row > 0 { ", " } else { "" });
            let (place, cells, dims) = match lengths {
                None => (column.place(row), 1, cell.to_vec()),
                Some(lengths) => (Some(start), lengths[row], [&[lengths[row]], cell].concat()),
            };
            start += cells;
            let Some(place) = place else {
                out.push_str("null");
                continue;
            };
            let range = place * per..(place + cells) * per;
            let data = match &column.elements {
                Elements::Bool(v) => Data::Bool(v[range].to_vec()),
                Elements::Int(v) => Data::Int(v[range].to_vec()),
                Elements::F32(v) => Data::F32(v[range].to_vec()),
                Elements::F64(v) => Data::F64(v[range].to_vec()),
            };
            crate::text::json_value(&mut out, &Value::new(Shape::new(&dims), data), names.as_deref());
        }
        out.push(']');
    }
    out.push('}');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Columns, Malformed> {
        super::read(bytes, &Selection::all())
    }

    fn read_lines(bytes: &[u8]) -> Result<Columns, Malformed> {
        super::read_lines(bytes, &Selection::all())
    }

    fn get(text: &str, name: &str) -> Column {
        read(text.as_bytes()).unwrap().columns[name].clone()
    }

    #[test]
    fn cells_of_all_kinds() {
        let text = r#"{"inputs": {"i": [1, null, 3], "x": [null, 1, 2.5], "b": [true, null, false], "m": [null, [[1, 2], [3, 4.5]], null]},
            "cycles": 3}"#;
        assert_eq!(get(text, "i").elements, Elements::Int(vec![1, 3]));
        assert_eq!(get(text, "x").elements, Elements::F64(vec![1.0, 2.5]));
        assert_eq!(get(text, "b").elements, Elements::Bool(vec![true, false]));
        let m = get(text, "m");
        assert_eq!(m.shape, Shape::new(&[3, 2, 2]));
        assert_eq!(m.present, Some(vec![1]));
        assert_eq!(m.elements, Elements::F64(vec![1., 2., 3., 4.5]));
    }

    #[test]
    fn objects_a_cycle() {
        let rows = read(br#"[{"x": 1}, {"y": true}, {"x": 3}]"#).unwrap();
        let lines = read_lines(b"{\"x\": 1}\n\n{\"y\": true}\n{\"x\": 3}\n").unwrap();
        assert_eq!(rows, lines);
        assert_eq!(rows.columns["x"].present, Some(vec![0, 2]));
        assert_eq!(rows.columns["y"].present, Some(vec![1]));
        assert_eq!((rows.columns["x"].rows(), rows.columns["y"].rows()), (3, 3));
    }

    #[test]
    fn cells_of_a_line() {
        let one = |text: &str| {
            cells(&format!("{{\"x\": {text}}}"), &Preparation::default()).unwrap().swap_remove("x").unwrap()
        };
        let value =
            |text: &str| one(text).unwrap().map(|c| (c.0.shape.dims().to_vec(), c.0.elements)).unwrap();
        assert_eq!(value("3"), (vec![1], Elements::Int(vec![3])));
        assert_eq!(value("[[true], [false]]"), (vec![1, 2, 1], Elements::Bool(vec![true, false])));
        assert_eq!(value("[1, 2, 3.5, 4]"), (vec![1, 4], Elements::F64(vec![1.0, 2.0, 3.5, 4.0])));
        let large = Elements::F64(vec![f64::NEG_INFINITY, 2_f64.powi(63)]);
        assert_eq!(value("[\"-Infinity\", 9223372036854775808]").1, large);
        assert_eq!(value("[[], []]"), (vec![1, 2, 0], Elements::Int(vec![])));
        assert_eq!(one("null"), Ok(None));
        for (text, why) in [
            ("{\"a\": [1]}", "an object is not a value"),
            ("[true, 1.5]", "truth values and numbers are mixed"),
            ("\"x\"", "the text \"x\" is no value"),
            ("[0, 1e999]", "`1e999` is beyond the range of double precision"),
        ] {
            assert_eq!(one(text), Err(Wrong::Text(why.to_owned())), "{text}");
        }
        assert_eq!(one("[1, null]"), Err(Wrong::Shape(GAP.to_owned())));
        for text in ["[[1], [1, 2]]", "[1, [1]]"] {
            assert_eq!(one(text), Err(uneven()), "{text}");
        }
        for (text, why) in [
            ("", "EOF"),
            ("[1]", "expected {\"x\": .., ..}"),
            ("{\"x\": 1} 2", "trailing"),
            ("{\"x\": 1, \"x\": 2}", "the key `x` occurs twice"),
        ] {
            let found = cells(text, &Preparation::default()).unwrap_err().why;
            assert!(found.contains(why), "{text}: {found}");
        }
        assert_eq!(cells("\u{feff}{}", &Preparation::default()).unwrap(), IndexMap::new());
    }

    /// Gaps take no memory: these would take 40 GB.
    #[test]
    fn gaps_are_not_filled() {
        let rows: Vec<String> = (0..60_000).map(|i| format!("{{\"x\": 1.5, \"k{i}\": 1}}")).collect();
        let before = rml_base::memory::used();
        let table = read(format!("[{}]", rows.join(",")).as_bytes()).unwrap();
        assert_eq!((table.columns.len(), table.columns["x"].rows()), (60_001, 60_000));
        assert_eq!(table.columns["k9"].present, Some(vec![9]));
        assert!(rml_base::memory::used().saturating_sub(before) < 100 << 20);
        let seldom = format!(r#"{{"x": [{}[{}]]}}"#, "null,".repeat(10_000), vec!["0"; 10_000].join(","));
        assert_eq!(get(&seldom, "x").elements.len(), 10_000);
        let wide: Vec<String> = (0..=MAX_COLUMNS).map(|i| format!("{{\"k{i}\": 1}}")).collect();
        let code = |text: String, read: &dyn Fn(&[u8]) -> Result<Columns, Malformed>| {
            read(text.as_bytes()).unwrap_err().code
        };
        for text in [wide.join("\n"), wide.join("\n").replace("}\n{", ",")] {
            assert_eq!(code(text, &read_lines), rml_base::codes::run::DATA_TOO_LARGE);
        }
        let arrays: Vec<String> = (0..=MAX_COLUMNS).map(|i| format!("\"k{i}\": [1]")).collect();
        assert_eq!(code(format!("{{{}}}", arrays.join(",")), &read), rml_base::codes::run::DATA_TOO_LARGE);
    }

    #[test]
    fn columns_that_no_input_takes_are_unusable() {
        let unusable = |columns: Columns| (columns.columns["o"].clone(), columns.unusable["x"].to_string());
        for (x, why) in [
            ("1,\n  true", "line 2, column 3: row 1: truth values and numbers are mixed"),
            ("1, [2]", "line 1, column 24: row 1: its shape differs from the rows before"),
            ("[1, [2]], 0", "line 1, column 21: row 0: the rows of a tensor have different shapes"),
            (
                "[null], 0",
                "line 1, column 21: row 0: some elements are absent here, others not: `null` in a list",
            ),
            ("\"a]\", 0", "line 1, column 21: row 0: the text \"a]\" is no value"),
            ("{\"a\": [1]}, 0", "line 1, column 21: row 0: an object is not a value"),
            ("1e999, 0", "line 1, column 21: row 0: `1e999` is beyond the range"),
            ("0.5, 18446744073709551615", "line 1, column 26: row 1: the integer 18446744073709551615"),
            ("\"\\ud800\", 0", "line 1, column 21: row 0: an escape in this text"),
        ] {
            let (o, found) = unusable(read(format!(r#"{{"o": [1, 2], "x": [{x}]}}"#).as_bytes()).unwrap());
            assert!(found.starts_with(why), "{found}");
            assert_eq!(o.elements, Elements::Int(vec![1, 2]));
        }
        let rows = read(b"[{\"x\": 1, \"o\": 1},\n {\"x\": [1], \"o\": 2}, {\"x\": 3, \"o\": 3}]").unwrap();
        let (o, found) = unusable(rows);
        assert!(found.starts_with("line 2, column 8: row 1: its shape"), "{found}");
        assert_eq!(o.elements, Elements::Int(vec![1, 2, 3]));
        let long = format!(r#"{{"o": [1], "x": ["{}"]}}"#, "a b ".repeat(1 << 20));
        assert!(unusable(read(long.as_bytes()).unwrap()).1.len() < 1000);
    }

    #[test]
    fn errors_name_their_place() {
        let found = read(b"{\"x\": [1,\n 2}").unwrap_err();
        assert!(found.what().starts_with("line 2, column 3: not a JSON document"), "{found:?}");
        let found = read_lines(b"{\"x\": 1}\n\n{\"x\": 1, \"x\": 2}\n").unwrap_err();
        assert_eq!(found.what(), "line 3, column 10: the key `x` occurs twice");
        for (text, help) in [
            ("{\"x\": 1,}\n", "no comma stands after the last value of an object"),
            ("{x: 1}\n", "a name stands in double quotes"),
            ("[\n{\"x\": 1}\n]\n", "name the file `.json`"),
        ] {
            let found = read_lines(text.as_bytes()).unwrap_err().at("f");
            assert!(found.help.join(" ").contains(help), "{text}: {:?}", found.help);
        }
        let found = read(b"{\"x\": [1],}").unwrap_err().at("f");
        assert!(found.help.join(" ").contains("no comma"), "{:?}", found.help);
    }

    #[test]
    fn what_is_written_reads_back() {
        let text =
            r#"{"b": [true, false, null], "m": [[1, 2], [3, 4], [5, 6]], "x": [1.0, null, "-Infinity"]}"#;
        let columns = read(text.as_bytes()).unwrap();
        assert_eq!(write(&columns), text);
        let text = r#"{"x": [[1], [], [2, 3]], "y": [[[1.5, 2.0]], [[3.0, 4.0], [5.0, 6.0]]]}"#;
        let columns = read(text.as_bytes()).unwrap();
        assert_eq!((columns.lengths("x"), columns.lengths("y")), (Some(&[1, 0, 2][..]), Some(&[1, 2][..])));
        assert_eq!(columns.columns["y"].shape.dims(), [3, 2]);
        assert_eq!(write(&columns), text);
    }

    #[test]
    fn malformed_documents_are_errors() {
        for text in [
            "",
            "[",
            "3",
            "\"x\"",
            r#"[1, 2]"#,
            r#"{"x": [1], "x": [2]}"#,
            r#"[{"x": 1}, {"x": 2, "x": null}]"#,
        ] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
        let deep = |n: usize| format!("{{\"x\": [{}1{}]}}", "[".repeat(n), "]".repeat(n));
        assert_eq!(get(&deep(MAX_RANK), "x").shape.rank(), MAX_RANK + 1);
        for n in [MAX_RANK + 1, 1_000_000] {
            let deep = read(deep(n).as_bytes()).unwrap();
            assert!(deep.unusable["x"].to_string().contains("at most 64 dimensions"), "{deep:?}");
        }
        for uneven in [r#"{"x": [[], [[1]]]}"#, r#"{"x": [[[], 1]]}"#, r#"{"x": [[1, []]]}"#] {
            assert!(read(uneven.as_bytes()).unwrap().unusable.contains_key("x"), "{uneven}");
        }
        assert!(read("[".repeat(100_000).as_bytes()).is_err());
        assert!(read_lines(b"{\"x\": 1}\n{").is_err());
    }
}
