//! Values as text. Numbers print so that they read back exactly, and a number always has a point.

use std::fmt;

use rml_ir::{Data, Value};

/// A number, shortest form that reads back; `1.0`, `1.0e-7`, `NaN`, `Infinity`, `-Infinity`.
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

/// Writes the element at position `i`, what is not finite in quotes.
fn json_element(out: &mut dyn fmt::Write, data: &Data, i: usize) -> fmt::Result {
    let text = element(data, i);
    if text.ends_with(['N', 'y']) { write!(out, "\"{text}\"") } else { out.write_str(&text) }
}

/// The element at position `i`.
pub fn element(data: &Data, i: usize) -> String {
    match data {
        Data::Bool(v) => v[i].to_string(),
        Data::Int(v) => v[i].to_string(),
        Data::F32(v) => number(v[i].into(), v[i]),
        Data::F64(v) => number(v[i], v[i]),
    }
}

/// Appends a value as JSON.
pub fn json_value(out: &mut String, value: &Value) {
    // Writing to memory does not fail.
    let _ = write_json(out, value);
}

/// Writes a value as JSON; tensors are nested arrays.
pub fn write_json(out: &mut dyn fmt::Write, value: &Value) -> fmt::Result {
    match value {
        Value::Tensor(t) => nested(out, t.shape().dims(), &mut 0, t.data()),
        scalar => json_element(out, &scalar.to_data(), 0),
    }
}

/// Writes nested brackets around the elements of a tensor.
fn nested(out: &mut dyn fmt::Write, dims: &[usize], at: &mut usize, data: &Data) -> fmt::Result {
    let Some((&n, rest)) = dims.split_first() else {
        *at += 1;
        return json_element(out, data, *at - 1);
    };
    out.write_str("[")?;
    for i in 0..n {
        out.write_str(if i > 0 { ", " } else { "" })?;
        nested(out, rest, at, data)?;
    }
    out.write_str("]")
}

/// What `write` writes.
pub fn written(write: impl FnOnce(&mut dyn fmt::Write) -> fmt::Result) -> String {
    let mut out = String::new();
    // Writing to memory does not fail.
    let _ = write(&mut out);
    out
}

/// A value for people: numbers at most six digits long where that is exact enough, large tensors cut.
pub fn brief(value: &Value) -> String {
    const SHOWN: usize = 6;
    let data = value.to_data();
    let one = |i: usize| match &data {
        Data::F32(v) => brief_number(v[i].into(), number(v[i].into(), v[i])),
        Data::F64(v) => brief_number(v[i], number(v[i], v[i])),
        _ => element(&data, i),
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
        json_value(&mut out, &Value::F32(0.1));
        assert_eq!(out, "0.1");
    }

    #[test]
    fn tensors_nest() {
        let mut out = String::new();
        let v = Value::new(Shape::new(&[2, 2]), Data::F64(vec![1.0, f64::NAN, f64::NEG_INFINITY, 0.5]));
        json_value(&mut out, &v);
        assert_eq!(out, r#"[[1.0, "NaN"], ["-Infinity", 0.5]]"#);
    }
}
