//! Values as text. Printed numbers read back exactly, and a number always has a decimal point. An integer that has a
//! name prints as its name.

use std::fmt;
use std::sync::Arc;

use rml_base::visible_name;
use rml_ir::{Data, Shape, Value};

/// The names of the integers of a value, numbered from 0, if they have names. An integer beyond them prints as a
/// number.
pub type Named<'n> = Option<&'n [Arc<str>]>;

/// The name of an integer.
fn name(i: i64, names: Named<'_>) -> Option<&str> {
    names?.get(usize::try_from(i).ok()?).map(|name| &**name)
}

/// A number in the shortest form that reads back exactly; `1.0`, `1.0e-7`, `NaN`, `Infinity`, `-Infinity`.
pub fn number(x: f64, short: impl std::fmt::Debug) -> String {
    if x.is_nan() {
        "NaN".into()
    } else if x.is_infinite() {
        if x > 0.0 { "Infinity".into() } else { "-Infinity".into() }
    } else {
        let text = format!("{short:?}");
        if text.contains('.') { text } else { text.replacen('e', ".0e", 1) }
    }
}

/// Writes the element at position `i`; names, and numbers that are not finite, are quoted.
fn json_element(out: &mut dyn fmt::Write, data: &Data, i: usize, names: Named<'_>) -> fmt::Result {
    if let Data::Int(v) = data
        && let Some(name) = name(v[i], names)
    {
        return write!(out, "{}", serde_json::Value::from(name));
    }
    let text = element(data, i, None);
    if text.ends_with(['N', 'y']) { write!(out, "\"{text}\"") } else { out.write_str(&text) }
}

/// The element at position `i`.
pub fn element(data: &Data, i: usize, names: Named<'_>) -> String {
    match data {
        Data::Bool(v) => v[i].to_string(),
        Data::Int(v) => name(v[i], names).map_or_else(|| v[i].to_string(), str::to_owned),
        Data::F32(v) => number(v[i].into(), v[i]),
        Data::F64(v) => number(v[i], v[i]),
    }
}

/// Appends a value as JSON.
pub fn json_value(out: &mut String, value: &Value, names: Named<'_>) {
    // Writing to a string cannot fail.
    let _ = write_json(out, value, names);
}

/// Writes a value as JSON; tensors are nested arrays.
pub fn write_json(out: &mut dyn fmt::Write, value: &Value, names: Named<'_>) -> fmt::Result {
    match value {
        Value::Tensor(t) => nested(out, t.shape().dims(), &mut 0, (t.data(), names)),
        scalar => json_element(out, &scalar.to_data(), 0, names),
    }
}

/// Writes nested brackets around the elements of a tensor.
fn nested(out: &mut dyn fmt::Write, dims: &[usize], at: &mut usize, data: (&Data, Named<'_>)) -> fmt::Result {
    let Some((&n, rest)) = dims.split_first() else {
        *at += 1;
        return json_element(out, data.0, *at - 1, data.1);
    };
    out.write_str("[")?;
    for i in 0..n {
        out.write_str(if i > 0 { ", " } else { "" })?;
        nested(out, rest, at, data)?;
    }
    out.write_str("]")
}

/// The text that `write` writes.
pub fn written(write: impl FnOnce(&mut dyn fmt::Write) -> fmt::Result) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out);
    out
}

/// A value for people: numbers with at most six digits if they are exact enough, large tensors shortened.
pub fn brief(value: &Value, names: Named<'_>) -> String {
    const SHOWN: usize = 6;
    let data = value.to_data();
    let one = |i: usize| match &data {
        Data::F32(v) => brief_number(v[i].into(), number(v[i].into(), v[i])),
        Data::F64(v) => brief_number(v[i], number(v[i], v[i])),
        // A name may come from an untrusted source.
        Data::Int(_) if names.is_some() => visible_name(&element(&data, i, names)).into_owned(),
        Data::Bool(_) | Data::Int(_) => element(&data, i, None),
    };
    let shape = value.shape();
    if shape.is_scalar() {
        return one(0);
    }
    if shape.rank() == 1 && shape.len() <= SHOWN {
        let items: Vec<String> = (0..shape.len()).map(one).collect();
        return format!("[{}]", items.join(", "));
    }
    let items: Vec<String> = (0..shape.len().min(2)).map(one).collect();
    let more = if shape.len() > items.len() { ", .." } else { "" };
    format!("{shape} {}{more}", items.join(", "))
}

/// The names of the elements of a tensor in a table of scalars: `m[0,0]`, `m[0,1]`, ..; the name itself for a scalar.
pub fn element_names(name: &str, shape: &Shape) -> Vec<String> {
    if shape.is_scalar() {
        return vec![name.to_owned()];
    }
    let one = |i: usize| {
        let mut rest = i;
        let mut index: Vec<String> = Vec::new();
        for d in shape.dims().iter().rev() {
            index.push((rest % d).to_string());
            rest /= d;
        }
        index.reverse();
        format!("{name}[{}]", index.join(","))
    };
    (0..shape.len()).map(one).collect()
}

fn brief_number(x: f64, exact: String) -> String {
    if exact.len() <= 8 {
        return exact;
    }
    if x != 0.0 && !(1e-3..1e6).contains(&x.abs()) { format!("{x:.3e}") } else { format!("{x:.4}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rml_ir::Shape;

    #[test]
    fn numbers_read_back_and_have_a_point() {
        for (x, text) in [(1.0, "1.0"), (0.1, "0.1"), (1e-7, "1.0e-7"), (-0.0, "-0.0"), (1e300, "1.0e300")] {
            assert_eq!(number(x, x), text);
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), x.to_bits());
        }
        let mut out = String::new();
        json_value(&mut out, &Value::F32(0.1), None);
        assert_eq!(out, "0.1");
    }

    #[test]
    fn integers_with_names_print_as_these() {
        let names: Vec<Arc<str>> = ["a \"b\"", "c"].map(Arc::from).to_vec();
        let v = Value::new(Shape::new(&[3]), Data::Int(vec![1, 0, 2]));
        let mut out = String::new();
        json_value(&mut out, &v, Some(&names));
        assert_eq!(out, r#"["c", "a \"b\"", 2]"#);
        assert_eq!(brief(&v, Some(&names)), "[c, a \"b\", 2]");
        assert_eq!(brief(&Value::Int(0), Some(&["a\nb".into()])), "a\u{240a}b");
        assert_eq!(element(&Data::Int(vec![-1, 1]), 0, Some(&names)), "-1");
        assert_eq!(element_names("m", &Shape::new(&[1, 2])), ["m[0,0]", "m[0,1]"]);
    }

    #[test]
    fn tensors_nest() {
        let mut out = String::new();
        let v = Value::new(Shape::new(&[2, 2]), Data::F64(vec![1.0, f64::NAN, f64::NEG_INFINITY, 0.5]));
        json_value(&mut out, &v, None);
        assert_eq!(out, r#"[[1.0, "NaN"], ["-Infinity", 0.5]]"#);
    }
}
