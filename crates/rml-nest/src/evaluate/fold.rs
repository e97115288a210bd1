//! Folds, term by term: their definition.

use std::ops::Add;

use rml_ir::op::EvalError;
use rml_ir::{DType, Precision, Value};

use crate::Fold;

/// The fold of some terms of that type.
pub(super) fn fold(
    by: Fold,
    dtype: DType,
    terms: &[Value],
    precision: Precision,
) -> Result<Value, EvalError> {
    let ints = || terms.iter().filter_map(Value::as_int);
    let truths = || terms.iter().filter_map(Value::as_bool);
    let float = |x: &Value| if let Value::F32(x) = x { *x } else { 0.0 };
    let double = |x: &Value| if let Value::F64(x) = x { *x } else { 0.0 };
    let singles = || terms.iter().map(float);
    let doubles = || terms.iter().map(double);
    Ok(match (by, dtype, precision) {
        (Fold::Lanes, _, Precision::F32) => Value::F32(lanes(singles(), 0.0)),
        (Fold::Lanes, _, Precision::F64) => Value::F64(lanes(doubles(), 0.0)),
        (Fold::Serial, ..) => {
            let sum = ints().try_fold(0_i64, i64::checked_add);
            Value::Int(sum.ok_or(EvalError::IntegerOverflow)?)
        }
        (Fold::Product, _, Precision::F32) => Value::F32(singles().fold(1.0, |product, x| product * x)),
        (Fold::Product, _, Precision::F64) => Value::F64(doubles().fold(1.0, |product, x| product * x)),
        (Fold::Any, ..) => Value::Bool(truths().any(|x| x)),
        (Fold::All, ..) => Value::Bool(truths().all(|x| x)),
        (Fold::Largest | Fold::Smallest, ..) => best(by, worst(by, dtype, precision), terms).0,
        (Fold::LargestAt | Fold::SmallestAt, ..) => {
            Value::Int(best(by, worst(by, dtype, precision), terms).1)
        }
    })
}

/// The best term and its position; the start and 0 if no term beats it.
fn best(by: Fold, start: Value, terms: &[Value]) -> (Value, i64) {
    (0_i64..)
        .zip(terms)
        .fold((start, 0), |best, (i, x)| if beats(x, &best.0, by) { (x.clone(), i) } else { best })
}

/// What the search for the best term begins with.
fn worst(by: Fold, dtype: DType, precision: Precision) -> Value {
    let largest = matches!(by, Fold::Largest | Fold::LargestAt);
    match dtype {
        DType::Int => Value::Int(if largest { i64::MIN } else { i64::MAX }),
        DType::Num | DType::Bool => {
            Value::num(if largest { f64::NEG_INFINITY } else { f64::INFINITY }, precision)
        }
    }
}

/// Whether a later term replaces the best one so far: NaN beats all numbers, and of equal terms the first one stays.
fn beats(x: &Value, best: &Value, by: Fold) -> bool {
    let largest = matches!(by, Fold::Largest | Fold::LargestAt);
    if let (Value::Int(x), Value::Int(best)) = (x, best) {
        return if largest { x > best } else { x < best };
    }
    let (Some(x), Some(best)) = (x.as_num(), best.as_num()) else { return false };
    (if largest { x > best } else { x < best }) || x.is_nan() && !best.is_nan()
}

/// A sum in sixteen lanes.
fn lanes<T: Copy + Add<Output = T>>(terms: impl Iterator<Item = T>, zero: T) -> T {
    let mut lanes = [zero; 16];
    for (i, x) in terms.enumerate() {
        lanes[i % 16] = lanes[i % 16] + x;
    }
    for half in [8, 4, 2, 1] {
        for l in 0..half {
            lanes[l] = lanes[l] + lanes[l + half];
        }
    }
    lanes[0]
}
