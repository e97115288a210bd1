//! Comma-separated values: a header row of names, a row a cycle; an empty cell is absent. The elements of a tensor stand in
//! columns of their own, named `x[0]`, `x[1]` or `m[0,0]`, `m[0,1]`, and so on.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use rml_ir::Shape;

use super::{Column, Columns, Elements, Malformed};

/// A table may have this many columns.
const MAX_FIELDS: usize = 1 << 16;

/// The fields that make up one column: for each the index in the header, and its place in the tensor.
type Parts = Vec<(usize, Vec<usize>)>;

/// Reads a table.
pub(super) fn read(bytes: &[u8]) -> Result<Columns, Malformed> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
    let header = reader.headers().map_err(|e| malformed(&e))?.clone();
    if header.len() > MAX_FIELDS {
        return Err(Malformed::too_large(format!("the table has {} columns", header.len()))
            .note(format!("expected at most {MAX_FIELDS}")));
    }
    let groups = groups(&header)?;
    let mut cells: Vec<Vec<String>> = vec![Vec::new(); header.len()];
    let mut lines = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| malformed(&e))?;
        lines.push(record.position().map_or(0, csv::Position::line));
        for (column, cell) in cells.iter_mut().zip(&record) {
            column.push(cell.to_owned());
        }
    }
    let mut columns = Columns::default();
    for (name, parts) in groups {
        let column = column(&name, &parts, &cells, &lines)?;
        columns.columns.insert(name, column);
    }
    Ok(columns)
}

fn malformed(e: &csv::Error) -> Malformed {
    Malformed::new("not a table of comma-separated values").note(e.to_string())
}

/// Groups the names of the header: `x[0]`, `x[1]` are one column.
fn groups(header: &csv::StringRecord) -> Result<IndexMap<String, Parts>, Malformed> {
    let mut groups: IndexMap<String, Parts> = IndexMap::new();
    let mut seen = BTreeSet::new();
    for (field, text) in header.iter().enumerate() {
        let (name, index) = split_name(text).ok_or_else(|| {
            Malformed::new(format!("`{text}` is no name of a column"))
                .note("a name is `x`, `x[0]` or `x[0,1]`")
        })?;
        let parts = groups.entry(name.to_owned()).or_default();
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

/// The shape that the parts fill, and their fields in row-major order.
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

fn column(name: &str, parts: &Parts, cells: &[Vec<String>], lines: &[u64]) -> Result<Column, Malformed> {
    let (dims, fields) = layout(name, parts)?;
    let mut present = Vec::with_capacity(lines.len());
    for (row, line) in lines.iter().enumerate() {
        let filled = fields.iter().filter(|f| !cells[**f][row].is_empty()).count();
        if filled != 0 && filled != fields.len() {
            return Err(Malformed::new(format!(
                "line {line}: some elements of `{name}` are absent, others not"
            )));
        }
        present.push(filled != 0);
    }
    let texts: Vec<&str> =
        (0..lines.len()).flat_map(|row| fields.iter().map(move |f| cells[*f][row].as_str())).collect();
    let elements = elements(&texts).ok_or_else(|| {
        let at = texts.iter().position(|t| !t.is_empty() && number(t).is_none() && truth(t).is_none());
        let bad = Malformed::new(format!("column `{name}` mixes truth values and numbers"));
        at.map_or(bad, |at| {
            let line = lines.get(at / fields.len().max(1)).copied().unwrap_or(0);
            Malformed::new(format!("line {line}: `{}` in column `{name}` is no value", texts[at])).note(
                match texts[at].parse::<f64>() {
                    Ok(_) => "it is beyond the range of double precision",
                    Err(_) => "a value is an integer, a number, `true` or `false`; an empty cell is absent",
                },
            )
        })
    })?;
    let shape = std::iter::once(lines.len()).chain(dims).collect();
    let present = present.contains(&false).then_some(present);
    Ok(Column { shape, elements, present })
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// The narrowest type that all texts have; empty ones are zeros.
fn elements(texts: &[&str]) -> Option<Elements> {
    fn all<T: Default>(texts: &[&str], f: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
        texts.iter().map(|t| if t.is_empty() { Some(T::default()) } else { f(t) }).collect()
    }
    all(texts, |t| t.parse().ok())
        .map(Elements::Int)
        .or_else(|| all(texts, number).map(Elements::F64))
        .or_else(|| all(texts, truth).map(Elements::Bool))
}

/// A number; what would only be infinite because it is too large is none.
fn number(text: &str) -> Option<f64> {
    let x: f64 = text.parse().ok()?;
    (x.is_finite() || !text.contains(|c: char| c.is_ascii_digit())).then_some(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_refused() {
        for text in ["x\n1e999\n", "x\n0.5\n-1e400\n"] {
            let e = read(text.as_bytes()).unwrap_err();
            assert!(e.what.contains("is no value"), "{}", e.what);
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
        assert_eq!(i.elements, Elements::Int(vec![1, 0, 3]));
        assert_eq!(i.present, Some(vec![true, false, true]));
        let Elements::F64(x) = get(text, "x").elements else { panic!("x holds numbers") };
        assert!(x[0] == 0.5 && x[1] == 2.0 && x[2].is_nan());
        assert_eq!(get(text, "b").elements, Elements::Bool(vec![true, false, false]));
    }

    #[test]
    fn tensors_are_spread_over_fields() {
        let m = get("\"m[0,1]\",\"m[0,0]\",\"m[1,0]\",\"m[1,1]\"\n2,1,3,4\n6,5,7,8\n", "m");
        assert_eq!(m.shape, Shape::new(&[2, 2, 2]));
        assert_eq!(m.elements, Elements::Int(vec![1, 2, 3, 4, 5, 6, 7, 8]));
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
    }
}
