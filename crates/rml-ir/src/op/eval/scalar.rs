//! The quick path: operators on scalars, inline and without allocation. `None` = not a case of this path.

use super::EvalError;
use super::slices::{int_binary, int_unary};
use super::view::Float;
use crate::op::{Binary, Op, Reduction, Unary};
use crate::types::{DType, Precision};
use crate::value::Value;

type Scalar = Option<Result<Value, EvalError>>;

/// Operators of one scalar operand.
#[inline]
pub(super) fn unary(op: &Op, x: &Value, precision: Precision) -> Scalar {
    match *x {
        Value::Bool(x) => of_bool(op, x, precision),
        Value::Int(x) => of_int(op, x, precision),
        Value::F32(x) => of_float(op, x),
        Value::F64(x) => of_float(op, x),
        Value::Tensor(_) => None,
    }
}

fn of_bool(op: &Op, x: bool, precision: Precision) -> Scalar {
    let value = match op {
        Op::Not => Value::Bool(!x),
        Op::Convert(DType::Num) => Value::num(f64::from(u8::from(x)), precision),
        Op::Convert(DType::Int) => Value::Int(i64::from(x)),
        Op::Copy | Op::StopGradient | Op::Reduce(Reduction::Any | Reduction::All, _) => Value::Bool(x),
        _ => return None,
    };
    Some(Ok(value))
}

fn of_int(op: &Op, x: i64, precision: Precision) -> Scalar {
    match op {
        Op::Unary(f) => Some(int_unary(*f, x).map(Value::Int)),
        Op::Convert(DType::Num) => Some(Ok(int_to_num(x, precision))),
        Op::Convert(DType::Bool) => Some(Ok(Value::Bool(x != 0))),
        Op::Copy | Op::StopGradient => Some(Ok(Value::Int(x))),
        Op::Reduce(by, _) => folded(*by).map(|same| Ok(Value::Int(if same { x } else { 0 }))),
        _ => None,
    }
}

/// Whether a fold of one number is that number; otherwise it is its position, 0. None for other folds.
fn folded(by: Reduction) -> Option<bool> {
    match by {
        Reduction::Sum | Reduction::Mean | Reduction::Prod | Reduction::Max | Reduction::Min => Some(true),
        Reduction::ArgMax | Reduction::ArgMin => Some(false),
        // The logarithm of the exponential of -0 is 0.
        Reduction::LogSumExp | Reduction::Any | Reduction::All => None,
    }
}

/// Rounded once, from the integer to the chosen precision.
#[allow(clippy::cast_precision_loss, reason = "rounding to the nearest number is meant")]
fn int_to_num(x: i64, precision: Precision) -> Value {
    match precision {
        Precision::F32 => Value::F32(x as f32),
        Precision::F64 => Value::F64(x as f64),
    }
}

#[inline]
fn of_float<T: Float>(op: &Op, x: T) -> Scalar {
    let result = match op {
        Op::Copy | Op::StopGradient => x,
        Op::Unary(Unary::Neg) => -x,
        Op::Unary(f) => rml_kernels::unary_one(*f, x),
        Op::Convert(DType::Int) => {
            return Some(x.to_int().map(Value::Int).ok_or(EvalError::IntegerOverflow));
        }
        Op::Convert(DType::Bool) => return Some(Ok(Value::Bool(x != T::ZERO))),
        Op::Reduce(by, _) => match folded(*by)? {
            true => x,
            false => return Some(Ok(Value::Int(0))),
        },
        _ => return None,
    };
    Some(Ok(result.value()))
}

/// Operators of two scalar operands.
#[inline]
pub(super) fn binary(op: &Op, a: &Value, b: &Value) -> Scalar {
    match (op, a, b) {
        (Op::Binary(f), &Value::F32(a), &Value::F32(b)) => Some(Ok(of_floats(*f, a, b).value())),
        (Op::Binary(f), &Value::F64(a), &Value::F64(b)) => Some(Ok(of_floats(*f, a, b).value())),
        (Op::Binary(f), &Value::Int(a), &Value::Int(b)) => Some(int_binary(*f, a, b).map(Value::Int)),
        (Op::Compare(by), Value::F32(a), Value::F32(b)) => Some(Ok(Value::Bool(by.holds(a, b)))),
        (Op::Compare(by), Value::F64(a), Value::F64(b)) => Some(Ok(Value::Bool(by.holds(a, b)))),
        (Op::Compare(by), Value::Int(a), Value::Int(b)) => Some(Ok(Value::Bool(by.holds(a, b)))),
        (Op::Compare(by), Value::Bool(a), Value::Bool(b)) => Some(Ok(Value::Bool(by.holds(a, b)))),
        (Op::And, &Value::Bool(a), &Value::Bool(b)) => Some(Ok(Value::Bool(a && b))),
        (Op::Or, &Value::Bool(a), &Value::Bool(b)) => Some(Ok(Value::Bool(a || b))),
        // A tensor, or another operator.
        _ => None,
    }
}

#[inline]
fn of_floats<T: Float>(f: Binary, a: T, b: T) -> T {
    match f {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::Minimum => a.least(b),
        Binary::Maximum => a.greatest(b),
        Binary::Pow | Binary::Mod | Binary::Atan2 | Binary::LogAddExp => {
            let mut out = [a];
            rml_kernels::binary(f, &[a], &[b], &mut out);
            out[0]
        }
    }
}
