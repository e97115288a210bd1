//! The quick path: operators on scalars, inline and without allocation. `None` = not a case of this path.

use super::EvalError;
use rml_kernels::Binary;

use super::slices::{function, int_div, int_mod};
use super::view::Float;
use crate::op::Op;
use crate::types::Precision;
use crate::value::Value;

type Scalar = Option<Result<Value, EvalError>>;

fn exact(result: Option<i64>) -> Scalar {
    Some(result.map(Value::Int).ok_or(EvalError::IntegerOverflow))
}

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
        Op::ToNum => Value::num(f64::from(u8::from(x)), precision),
        Op::ToInt => Value::Int(i64::from(x)),
        Op::Copy | Op::StopGradient | Op::Any { .. } | Op::All { .. } => Value::Bool(x),
        _ => return None,
    };
    Some(Ok(value))
}

fn of_int(op: &Op, x: i64, precision: Precision) -> Scalar {
    match op {
        Op::Neg => exact(x.checked_neg()),
        Op::Abs => exact(x.checked_abs()),
        Op::Sign => Some(Ok(Value::Int(x.signum()))),
        Op::ToNum => Some(Ok(int_to_num(x, precision))),
        Op::ToBool => Some(Ok(Value::Bool(x != 0))),
        Op::Copy | Op::StopGradient => Some(Ok(Value::Int(x))),
        Op::Sum { .. } | Op::Max { .. } | Op::Min { .. } => Some(Ok(Value::Int(x))),
        Op::ArgMax { .. } | Op::ArgMin { .. } => Some(Ok(Value::Int(0))),
        _ => None,
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
        Op::Neg => -x,
        Op::ToInt => return exact(x.to_int()),
        Op::ToBool => return Some(Ok(Value::Bool(x != T::ZERO))),
        Op::Sum { .. } | Op::Mean { .. } | Op::Max { .. } | Op::Min { .. } => x,
        Op::ArgMax { .. } | Op::ArgMin { .. } => return Some(Ok(Value::Int(0))),
        _ => rml_kernels::unary_one(function(op)?, x),
    };
    Some(Ok(result.value()))
}

/// Operators of two scalar operands.
#[inline]
pub(super) fn binary(op: &Op, a: &Value, b: &Value) -> Scalar {
    match (a, b) {
        (&Value::F32(a), &Value::F32(b)) => of_floats(op, a, b),
        (&Value::F64(a), &Value::F64(b)) => of_floats(op, a, b),
        (&Value::Int(a), &Value::Int(b)) => match op {
            Op::Add => exact(a.checked_add(b)),
            Op::Sub => exact(a.checked_sub(b)),
            Op::Mul => exact(a.checked_mul(b)),
            Op::Div => exact(int_div(a, b)),
            Op::Mod => Some(Ok(Value::Int(int_mod(a, b)))),
            Op::Minimum => Some(Ok(Value::Int(a.min(b)))),
            Op::Maximum => Some(Ok(Value::Int(a.max(b)))),
            _ => compare(op, &a, &b),
        },
        (&Value::Bool(a), &Value::Bool(b)) => match op {
            Op::And => Some(Ok(Value::Bool(a && b))),
            Op::Or => Some(Ok(Value::Bool(a || b))),
            _ => compare(op, &a, &b),
        },
        // A tensor, or operands of different types.
        _ => None,
    }
}

#[inline]
fn of_floats<T: Float>(op: &Op, a: T, b: T) -> Scalar {
    let result = match op {
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::Mul => a * b,
        Op::Div => a / b,
        Op::Pow => {
            let mut out = [a];
            rml_kernels::binary(Binary::Pow, &[a], &[b], &mut out);
            out[0]
        }
        Op::Minimum => a.least(b),
        Op::Maximum => a.greatest(b),
        _ => return compare(op, &a, &b),
    };
    Some(Ok(result.value()))
}

#[inline]
fn compare<T: PartialOrd>(op: &Op, a: &T, b: &T) -> Scalar {
    let result = match op {
        Op::Eq => a == b,
        Op::Ne => a != b,
        Op::Lt => a < b,
        Op::Le => a <= b,
        Op::Gt => a > b,
        Op::Ge => a >= b,
        _ => return None,
    };
    Some(Ok(Value::Bool(result)))
}
