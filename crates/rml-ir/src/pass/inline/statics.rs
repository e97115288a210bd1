//! Compile-time values as values of streams.

use crate::typed::StaticValue;
use crate::types::{Precision, Shape};
use crate::value::{Data, Value};

/// The value of a constant stream; `None` for an array that is empty, ragged or of mixed elements.
pub(super) fn value(value: &StaticValue, precision: Precision) -> Option<Value> {
    let mut dims = Vec::new();
    let mut first = value;
    while let StaticValue::Array(items) = first {
        dims.push(items.len());
        first = items.first()?;
    }
    let mut data = match first {
        StaticValue::Bool(_) => Data::Bool(Vec::new()),
        StaticValue::Int(_) => Data::Int(Vec::new()),
        StaticValue::Num(_) | StaticValue::Array(_) => Data::F64(Vec::new()),
    };
    collect(value, &dims, &mut data)?;
    Some(Value::new(Shape::new(&dims), data).to_precision(precision))
}

/// Appends the elements of a value with those dimensions.
fn collect(value: &StaticValue, dims: &[usize], data: &mut Data) -> Option<()> {
    match (value, dims.split_first(), data) {
        (StaticValue::Array(items), Some((len, rest)), data) if items.len() == *len => {
            return items.iter().try_for_each(|item| collect(item, rest, data));
        }
        (StaticValue::Bool(x), None, Data::Bool(v)) => v.push(*x),
        (StaticValue::Int(x), None, Data::Int(v)) => v.push(*x),
        (StaticValue::Num(x), None, Data::F64(v)) => v.push(*x),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(items: &[StaticValue]) -> StaticValue {
        StaticValue::Array(items.to_vec())
    }

    #[test]
    fn regular_arrays_are_tensors() {
        use StaticValue::{Int, Num};
        let nested = array(&[array(&[Int(1), Int(2)]), array(&[Int(3), Int(4)]), array(&[Int(5), Int(6)])]);
        let found = value(&nested, Precision::F32).expect("regular");
        assert!(found.same(&Value::new(Shape::new(&[3, 2]), Data::Int(vec![1, 2, 3, 4, 5, 6]))));
        assert!(value(&Num(0.1), Precision::F32).is_some_and(|v| v.same(&Value::F32(0.1))));
        for odd in [array(&[]), array(&[Int(1), Num(1.0)]), array(&[Int(1), array(&[Int(1)])])] {
            assert!(value(&odd, Precision::F32).is_none(), "{odd}");
        }
        let ragged = array(&[array(&[Int(1), Int(2)]), array(&[Int(3)])]);
        assert!(value(&ragged, Precision::F64).is_none());
    }
}
