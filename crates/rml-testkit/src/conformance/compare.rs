//! Comparison of cells.

use rml_ir::{Data, Value};
use rml_sim::Status;
use serde_json::Value as Json;

use super::Expected;

/// The allowed relative difference of numbers: the factor of the larger one.
const RELATIVE: f64 = 1e-9;
/// The allowed absolute difference of numbers, for sums that cancel.
const ABSOLUTE: f64 = 1e-12;

/// Whether a cell is as expected. Errors are compared separately, by their cycles.
pub(super) fn agrees(expected: &Expected, got: &Status) -> bool {
    match (expected, got) {
        (Expected::Absent, Status::Absent)
        | (Expected::Undetermined, Status::Unknown | Status::Bottom)
        | (Expected::Error, _) => true,
        (Expected::Value(json), Status::Value(value)) => same(json, value),
        _ => false,
    }
}

/// Whether a JSON value and a value are the same. A decimal point distinguishes numbers from integers.
pub(super) fn same(json: &Json, value: &Value) -> bool {
    let shape = value.shape();
    let data = value.to_data();
    let mut next = 0;
    elements(json, shape.dims(), &data, &mut next) && next == data.len()
}

fn elements(json: &Json, dims: &[usize], data: &Data, next: &mut usize) -> bool {
    match dims.split_first() {
        None => {
            *next += 1;
            *next <= data.len() && scalar(json, &data.get(*next - 1))
        }
        Some((&length, rest)) => json.as_array().is_some_and(|items| {
            items.len() == length && items.iter().all(|item| elements(item, rest, data, next))
        }),
    }
}

fn scalar(json: &Json, value: &Value) -> bool {
    match value {
        Value::Bool(b) => json.as_bool() == Some(*b),
        Value::Int(i) => json.as_i64() == Some(*i),
        Value::F32(_) | Value::F64(_) => value.as_num().zip(number(json)).is_some_and(|(a, b)| close(a, b)),
        Value::Tensor(_) => false,
    }
}

/// The value of a number with a decimal point, or of a word for a value that is not finite.
pub(super) fn number(json: &Json) -> Option<f64> {
    match json.as_str() {
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        _ => json.as_f64().filter(|_| json.is_f64()),
    }
}

fn close(a: f64, b: f64) -> bool {
    let tolerance = ABSOLUTE.max(RELATIVE * a.abs().max(b.abs()));
    a == b || (a.is_nan() && b.is_nan()) || (tolerance.is_finite() && (a - b).abs() <= tolerance)
}

/// A cell in the notation of the vectors.
pub(super) fn show(status: &Status) -> String {
    match status {
        Status::Bottom => "\"bot\"".to_owned(),
        Status::Absent => "null".to_owned(),
        Status::Unknown => "\"?\"".to_owned(),
        Status::Error => "\"error\"".to_owned(),
        Status::Value(value) => show_value(value.shape().dims(), &value.to_data(), &mut 0),
    }
}

fn show_value(dims: &[usize], data: &Data, next: &mut usize) -> String {
    let Some((&length, rest)) = dims.split_first() else {
        *next += 1;
        return match data.get(*next - 1) {
            Value::Bool(b) => b.to_string(),
            Value::Int(i) => i.to_string(),
            other => other.as_num().map_or_else(String::new, |x| format!("{x:?}")),
        };
    };
    let items: Vec<String> = (0..length).map(|_| show_value(rest, data, next)).collect();
    format!("[{}]", items.join(", "))
}

/// An expected cell in the notation of the vectors.
pub(super) fn show_expected(expected: &Expected) -> String {
    match expected {
        Expected::Absent => "null".to_owned(),
        Expected::Undetermined => "\"?\"".to_owned(),
        Expected::Error => "\"error\"".to_owned(),
        Expected::Value(json) => json.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use rml_ir::Shape;
    use serde_json::json;

    use super::*;

    #[test]
    fn types_are_told_apart() {
        assert!(same(&json!(1), &Value::Int(1)) && !same(&json!(1.0), &Value::Int(1)));
        assert!(same(&json!(1.0), &Value::F64(1.0)) && !same(&json!(1), &Value::F64(1.0)));
        assert!(same(&json!(true), &Value::Bool(true)) && !same(&json!(1), &Value::Bool(true)));
        assert!(same(&json!("NaN"), &Value::F64(f64::NAN)) && !same(&json!("NaN"), &Value::F64(1.0)));
        assert!(same(&json!("-Infinity"), &Value::F64(f64::NEG_INFINITY)));
        assert!(
            !same(&json!("Infinity"), &Value::F64(1e308)) && !same(&json!(1.0), &Value::F64(f64::INFINITY))
        );
    }

    #[test]
    fn numbers_may_differ_a_little() {
        assert!(same(&json!(3.0), &Value::F64(3.0 + 2e-9)) && !same(&json!(3.0), &Value::F64(3.0 + 4e-9)));
        assert!(same(&json!(0.0), &Value::F64(1e-13)) && !same(&json!(0.0), &Value::F64(1e-11)));
    }

    #[test]
    fn tensors_have_the_same_shape_and_elements() {
        let value = Value::new(Shape::new(&[2, 2]), Data::F64(vec![1.0, 2.0, 3.0, 4.0]));
        assert!(same(&json!([[1.0, 2.0], [3.0, 4.0]]), &value));
        for wrong in
            [json!([[1.0, 2.0], [3.0, 5.0]]), json!([1.0, 2.0, 3.0, 4.0]), json!([[1.0, 2.0]]), json!(1.0)]
        {
            assert!(!same(&wrong, &value), "{wrong}");
        }
        assert_eq!(show(&Status::Value(value)), "[[1.0, 2.0], [3.0, 4.0]]");
        assert!(same(&json!([]), &Value::new(Shape::new(&[0]), Data::Int(vec![]))));
    }

    #[test]
    fn question_mark_and_bottom_are_alike() {
        for status in [Status::Unknown, Status::Bottom] {
            assert!(agrees(&Expected::Undetermined, &status));
        }
        assert!(
            !agrees(&Expected::Undetermined, &Status::Absent) && !agrees(&Expected::Absent, &Status::Unknown)
        );
        assert!(!agrees(&Expected::Absent, &Status::Error));
    }
}
