//! JSON: an object of arrays (or one that has such an object as its member `inputs`), an array of objects, or one object a line.
//! `null` = absent; numbers that are not finite are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`.

use indexmap::IndexMap;
use rml_ir::{Data, Shape, Value};
use serde_json::Value as Json;

use super::{Column, Columns, Elements, Malformed, unique};

/// Reads one document.
pub(super) fn read(bytes: &[u8]) -> Result<Columns, Malformed> {
    let document =
        unique::parse(bytes).map_err(|e| Malformed::new("not a JSON document").note(e.to_string()))?;
    let mut object = match document {
        Json::Object(object) => object,
        Json::Array(rows) => {
            let rows = rows.into_iter().enumerate().map(|(i, row)| match row {
                Json::Object(row) => Ok(row),
                _ => Err(Malformed::new(format!("row {i} is no object")).note(EXPECTED)),
            });
            return from_rows(rows.collect::<Result<_, _>>()?);
        }
        _ => return Err(Malformed::new("not a table").note(EXPECTED)),
    };
    if object.get("inputs").is_some_and(Json::is_object)
        && let Some(Json::Object(inner)) = object.remove("inputs")
    {
        object = inner;
    }
    let mut columns = Columns::default();
    for (name, cells) in object {
        let Json::Array(cells) = cells else {
            columns.unusable.insert(name, "it is no array of cells".into());
            continue;
        };
        let column = column(&name, &cells)?;
        columns.columns.insert(name, column);
    }
    Ok(columns)
}

const EXPECTED: &str = "expected {\"x\": [..], ..}, {\"inputs\": {\"x\": [..], ..}} or [{\"x\": .., ..}, ..]";

/// Reads one object a line; blank lines are nothing.
pub(super) fn read_lines(bytes: &[u8]) -> Result<Columns, Malformed> {
    let text = std::str::from_utf8(bytes).map_err(|_| Malformed::new("the text is not UTF-8"))?;
    let mut rows = Vec::new();
    for (i, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let bad = || Malformed::new(format!("line {}: not a JSON object", i + 1));
        match unique::parse(line.as_bytes()).map_err(|e| bad().note(e.to_string()))? {
            Json::Object(row) => rows.push(row),
            _ => return Err(bad().note("expected {\"x\": .., ..}")),
        }
    }
    from_rows(rows)
}

fn from_rows(rows: Vec<serde_json::Map<String, Json>>) -> Result<Columns, Malformed> {
    let count = rows.len();
    let mut cells: IndexMap<String, Vec<Json>> = IndexMap::new();
    for (i, row) in rows.into_iter().enumerate() {
        for (name, cell) in row {
            let column = cells.entry(name).or_default();
            column.resize(i, Json::Null);
            column.push(cell);
        }
    }
    let mut columns = Columns::default();
    for (name, mut cells) in cells {
        cells.resize(count, Json::Null);
        let column = column(&name, &cells)?;
        columns.columns.insert(name, column);
    }
    Ok(columns)
}

/// One scalar.
#[derive(Clone, Copy)]
enum Scalar {
    Bool(bool),
    Int(i64),
    Num(f64),
}

/// The elements of one cell with its shape; `Err` = why it is none.
fn flatten(cell: &Json, out: &mut Vec<Scalar>) -> Result<Vec<usize>, String> {
    match cell {
        Json::Bool(b) => out.push(Scalar::Bool(*b)),
        Json::Number(n) => match (n.as_i64(), n.as_f64()) {
            (Some(i), _) => out.push(Scalar::Int(i)),
            (None, Some(x)) => out.push(Scalar::Num(x)),
            (None, None) => return Err(format!("{n} is out of range")),
        },
        Json::String(s) => out.push(Scalar::Num(match s.as_str() {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            _ => return Err(format!("the text {s:?} is no value")),
        })),
        Json::Null => return Err("`null` inside a tensor".into()),
        Json::Object(_) => return Err("an object is no value".into()),
        Json::Array(items) => {
            let mut inner: Option<Vec<usize>> = None;
            for item in items {
                let shape = flatten(item, out)?;
                if inner.as_ref().is_some_and(|s| *s != shape) {
                    return Err("the rows of a tensor have different shapes".into());
                }
                inner = Some(shape);
            }
            let mut shape = vec![items.len()];
            shape.extend(inner.unwrap_or_default());
            return Ok(shape);
        }
    }
    Ok(Vec::new())
}

/// Elements of the narrowest type that all scalars have.
fn elements(scalars: &[Scalar]) -> Result<Elements, String> {
    let bools = scalars.iter().filter(|s| matches!(s, Scalar::Bool(_))).count();
    if bools > 0 {
        if bools < scalars.len() {
            return Err("truth values and numbers are mixed".into());
        }
        return Ok(Elements::Bool(scalars.iter().map(|s| matches!(s, Scalar::Bool(true))).collect()));
    }
    let ints: Option<Vec<i64>> =
        scalars.iter().map(|s| if let Scalar::Int(i) = s { Some(*i) } else { None }).collect();
    Ok(ints.map_or_else(
        || {
            Elements::F64(
                scalars
                    .iter()
                    .map(|s| match s {
                        #[allow(clippy::cast_precision_loss, reason = "integers among numbers are numbers")]
                        Scalar::Int(i) => *i as f64,
                        Scalar::Num(x) => *x,
                        Scalar::Bool(_) => 0.0,
                    })
                    .collect(),
            )
        },
        Elements::Int,
    ))
}

/// Absent rows may take this many elements in all, and more where the rows that are there are as many.
const MAX_GAPS: usize = 1 << 26;

fn column(name: &str, cells: &[Json]) -> Result<Column, Malformed> {
    let bad = |row: usize, why: String| Malformed::new(format!("column `{name}`, row {row}: {why}"));
    let mut shape: Option<Vec<usize>> = None;
    let mut scalars = Vec::new();
    for (row, cell) in cells.iter().enumerate().filter(|(_, c)| !c.is_null()) {
        let found = flatten(cell, &mut scalars).map_err(|why| bad(row, why))?;
        if let Some(s) = shape.replace(found)
            && shape.as_ref() != Some(&s)
        {
            return Err(bad(row, "its shape is another than in the rows before".into()).note(format!(
                "expected {}, found {}",
                Shape::new(&s),
                Shape::new(shape.as_deref().unwrap_or_default())
            )));
        }
    }
    let present: Vec<bool> = cells.iter().map(|c| !c.is_null()).collect();
    let shape = shape.unwrap_or_default();
    let per: usize = shape.iter().product();
    let elements = elements(&scalars).map_err(|why| Malformed::new(format!("column `{name}`: {why}")))?;
    let gaps = present.iter().filter(|p| !**p).count();
    if gaps.checked_mul(per).is_none_or(|n| n > MAX_GAPS.max(scalars.len())) {
        return Err(Malformed::too_large(format!(
            "column `{name}` has {gaps} absent rows of {per} elements"
        )));
    }
    let elements = match elements {
        Elements::Bool(v) => Elements::Bool(spread(v, &present, per)),
        Elements::Int(v) => Elements::Int(spread(v, &present, per)),
        Elements::F32(v) => Elements::F32(spread(v, &present, per)),
        Elements::F64(v) => Elements::F64(spread(v, &present, per)),
    };
    let shape = std::iter::once(cells.len()).chain(shape).collect();
    Ok(Column { shape, elements, present: (gaps > 0).then_some(present) })
}

/// The elements of rows that are there, with zeros for the others between them.
fn spread<T: Copy + Default>(there: Vec<T>, present: &[bool], per: usize) -> Vec<T> {
    if !present.contains(&false) {
        return there;
    }
    let mut rest = there.as_slice();
    let mut all = Vec::with_capacity(present.len() * per);
    for there in present {
        if let (true, Some((row, after))) = (*there, rest.split_at_checked(per)) {
            all.extend_from_slice(row);
            rest = after;
        } else {
            all.resize(all.len() + per, T::default());
        }
    }
    all
}

/// The columns as a document.
pub(super) fn write(columns: &Columns) -> String {
    let mut out = String::from("{");
    for (i, (name, column)) in columns.columns.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        out.push_str(&Json::from(name.as_str()).to_string());
        out.push_str(": [");
        let dims = column.shape.dims().get(1..).unwrap_or_default();
        let per: usize = dims.iter().product();
        for row in 0..column.rows() {
            out.push_str(if row > 0 { ", " } else { "" });
            if column.present.as_ref().is_some_and(|p| !p[row]) {
                out.push_str("null");
            } else {
                let range = row * per..(row + 1) * per;
                let data = match &column.elements {
                    Elements::Bool(v) => Data::Bool(v[range].to_vec()),
                    Elements::Int(v) => Data::Int(v[range].to_vec()),
                    Elements::F32(v) => Data::F32(v[range].to_vec()),
                    Elements::F64(v) => Data::F64(v[range].to_vec()),
                };
                crate::text::json_value(&mut out, &Value::new(Shape::new(dims), data));
            }
        }
        out.push(']');
    }
    out.push('}');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(text: &str, name: &str) -> Column {
        read(text.as_bytes()).unwrap().columns[name].clone()
    }

    #[test]
    fn cells_of_all_kinds() {
        let text = r#"{"inputs": {"i": [1, null, 3], "x": [null, 1, 2.5], "b": [true, null, false], "m": [null, [[1, 2], [3, 4.5]], null]},
            "cycles": 3}"#;
        assert_eq!(get(text, "i").elements, Elements::Int(vec![1, 0, 3]));
        assert_eq!(get(text, "x").elements, Elements::F64(vec![0.0, 1.0, 2.5]));
        assert_eq!(get(text, "b").elements, Elements::Bool(vec![true, false, false]));
        let m = get(text, "m");
        assert_eq!(m.shape, Shape::new(&[3, 2, 2]));
        assert_eq!(m.present, Some(vec![false, true, false]));
        assert_eq!(m.elements, Elements::F64(vec![0., 0., 0., 0., 1., 2., 3., 4.5, 0., 0., 0., 0.]));
    }

    #[test]
    fn objects_a_cycle() {
        let rows = read(br#"[{"x": 1}, {"y": true}, {"x": 3}]"#).unwrap();
        let lines = read_lines(b"{\"x\": 1}\n\n{\"y\": true}\n{\"x\": 3}\n").unwrap();
        assert_eq!(rows, lines);
        assert_eq!(rows.columns["x"].present, Some(vec![true, false, true]));
        assert_eq!(rows.columns["y"].present, Some(vec![false, true, false]));
    }

    #[test]
    fn what_is_written_reads_back() {
        let text =
            r#"{"b": [true, false, null], "m": [[1, 2], [3, 4], [5, 6]], "x": [1.0, null, "-Infinity"]}"#;
        let columns = read(text.as_bytes()).unwrap();
        assert_eq!(write(&columns), text);
    }

    #[test]
    fn malformed_documents_are_errors() {
        for text in [
            "",
            "[",
            "3",
            "\"x\"",
            r#"{"x": [1, true]}"#,
            r#"{"x": [1, [2]]}"#,
            r#"{"x": [[1, [2]]]}"#,
            r#"{"x": [[null]]}"#,
            r#"{"x": ["a"]}"#,
            r#"{"x": [{}]}"#,
            r#"[1, 2]"#,
            r#"{"x": [1e999]}"#,
        ] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
        let gaps = format!(r#"{{"x": [{}[{}]]}}"#, "null,".repeat(10_000), vec!["0"; 10_000].join(","));
        assert_eq!(read(gaps.as_bytes()).unwrap_err().code, rml_base::codes::run::DATA_TOO_LARGE);
        assert!(read("[".repeat(100_000).as_bytes()).is_err());
        assert!(read(format!("{{\"x\": {}}}", "[".repeat(100_000)).as_bytes()).is_err());
        assert!(read_lines(b"{\"x\": 1}\n{").is_err());
    }
}
