//! Values at the edges of their type.

use rml_ir::{DType, Data, Precision, Shape, Value};

/// Special numbers of the precision: its extremes, and numbers at which functions change their behaviour.
pub(super) fn nums(precision: Precision) -> Vec<f64> {
    let (tiny, max, eps) = match precision {
        Precision::F32 => (f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX), f64::from(f32::EPSILON)),
        Precision::F64 => (f64::MIN_POSITIVE, f64::MAX, f64::EPSILON),
    };
    let positive = [
        0.0,
        tiny / 4.0,
        tiny,
        eps / 4.0,
        1e-3,
        0.5,
        1.0 - eps,
        1.0,
        1.0 + eps,
        1.5,
        2.5,
        20.0,
        80.0,
        104.5,
        700.0,
        1e6,
        2_147_483_648.0,
        4_503_599_627_370_496.0,
        9_223_372_036_854_775_808.0,
        max / 4.0,
        max,
        f64::INFINITY,
    ];
    positive.into_iter().flat_map(|x| [x, -x]).chain([f64::NAN]).collect()
}

/// Ints near the limits of 64, 53 and 32 bits, near 0, and near the square root of the largest int.
pub(super) fn ints() -> Vec<i64> {
    let large = [2_147_483_648, 3_037_000_499, 3_037_000_500, 4_294_967_296, (1 << 53) + 1, 1 << 62];
    let around = [i64::MIN, i64::MIN + 1, -3, -2, -1, 0, 1, 2, 3, i64::MAX - 1, i64::MAX];
    around.into_iter().chain(large).chain(large.map(|x| -x)).collect()
}

/// All special values of one element type, as a vector.
pub(super) fn vector(dtype: DType, precision: Precision) -> Value {
    let data = match dtype {
        DType::Bool => Data::Bool(vec![false, true]),
        DType::Int => Data::Int(ints()),
        DType::Num => Data::F64(nums(precision)),
    };
    Value::new(Shape::new(&[data.len()]), data).to_precision(precision)
}
