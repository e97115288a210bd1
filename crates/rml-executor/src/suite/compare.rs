//! Compares values with those of the reference.

use rml_ir::Data;

use crate::contract::Accuracy;

/// The bits of each element; numbers keep their own precision.
pub(super) fn bits(data: &Data) -> Vec<u64> {
    match data {
        Data::F32(x) => x.iter().map(|x| u64::from(x.to_bits())).collect(),
        Data::F64(x) => x.iter().map(|x| x.to_bits()).collect(),
        Data::Int(x) => x.iter().map(|x| x.cast_unsigned()).collect(),
        Data::Bool(x) => x.iter().map(|x| u64::from(*x)).collect(),
    }
}

fn numbers(data: &Data) -> Option<Vec<f64>> {
    match data {
        Data::F32(x) => Some(x.iter().map(|x| f64::from(*x)).collect()),
        Data::F64(x) => Some(x.clone()),
        Data::Int(_) | Data::Bool(_) => None,
    }
}

/// Whether `got` is equal to `want` within the declared accuracy.
pub(super) fn is_same(got: &Data, want: &Data, accuracy: Accuracy) -> bool {
    if bits(got) == bits(want) {
        return got.is_empty() || std::mem::discriminant(got) == std::mem::discriminant(want);
    }
    let (Accuracy::Near(part), Some(a), Some(b)) = (accuracy, numbers(got), numbers(want)) else {
        return false;
    };
    let largest = b.iter().filter(|x| x.is_finite()).fold(1.0_f64, |m, x| m.max(x.abs()));
    let near = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= part * largest;
    a.len() == b.len() && a.iter().zip(&b).all(near)
}
