//! Reference evaluation of every operator: operands to one fresh value.
//!
//! Written to be read, and quick where a simulator needs it: scalars are computed inline, without allocation
//! ([`scalar`]); tensors go through borrowed [`view`]s, one file for each family of operators. All results
//! are deterministic: reductions run in one fixed order, sums are accumulated one element after the other in
//! the element type, and a row of a matrix product has the same bits whatever the number of rows. Nothing
//! here is threaded, fused or planned.

use std::fmt;

use super::Op;
use crate::types::Precision;
use crate::value::Value;

mod layout;
mod linear;
mod pointwise;
mod reduce;
mod scalar;
mod strided;
mod view;

use view::View;

/// Why an operator has no result although its operands have the right types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EvalError {
    /// An integer result does not fit 64 bits.
    IntegerOverflow,
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvalError::IntegerOverflow => f.write_str("an integer result does not fit 64 bits"),
        }
    }
}

impl std::error::Error for EvalError {}

/// Evaluates `op`; operands have types that [`result_type`](super::result_type) accepts, and their numbers
/// are stored in `precision`.
///
/// # Errors
/// If an integer result does not fit 64 bits.
///
/// # Panics
/// If `result_type` does not accept the operands.
pub fn eval(op: &Op, args: &[&Value], precision: Precision) -> Result<Value, EvalError> {
    // What is not scalar stays out of line, so that the quick path has a small frame.
    match args {
        [x] => match scalar::unary(op, x, precision) {
            Some(result) => result,
            None => unary(op, x, precision),
        },
        [a, b] => match scalar::binary(op, a, b) {
            Some(result) => result,
            None => binary(op, a, b),
        },
        _ => several(op, args),
    }
}

#[inline(never)]
fn unary(op: &Op, x: &Value, precision: Precision) -> Result<Value, EvalError> {
    let view = View::of(x);
    match op {
        Op::Copy | Op::StopGradient => Ok(x.clone()),
        Op::Neg | Op::Not | Op::Abs | Op::Sign => pointwise::unary(op, &view, precision),
        Op::Exp | Op::Log | Op::Sqrt | Op::Sigmoid | Op::Tanh | Op::Relu => {
            pointwise::unary(op, &view, precision)
        }
        Op::ToNum | Op::ToInt | Op::ToBool => pointwise::unary(op, &view, precision),
        Op::Reshape { shape } | Op::Broadcast { shape } if shape.dims() == view.dims => Ok(x.clone()),
        Op::Transpose { perm } => Ok(layout::transpose(perm, &view)),
        Op::Reshape { shape } => Ok(layout::reshape(shape, x)),
        Op::Broadcast { shape } => Ok(layout::broadcast(shape, &view)),
        Op::Index { items } => Ok(layout::index(items, &view)),
        Op::Unindex { shape, items } => Ok(layout::unindex(shape, items, &view)),
        Op::SumTo { shape } => reduce::sum_to(shape, x),
        Op::Sum { axis } => reduce::sum(*axis, &view),
        Op::Mean { axis } => Ok(reduce::mean(*axis, &view)),
        Op::Max { axis } => Ok(reduce::max(*axis, &view)),
        Op::ArgMax { axis } => Ok(reduce::argmax(*axis, &view)),
        Op::Softmax => Ok(reduce::softmax(&view, false)),
        Op::LogSoftmax => Ok(reduce::softmax(&view, true)),
        Op::OneHot { classes } => Ok(layout::one_hot(*classes, &view, precision)),
        Op::Concat { .. } | Op::Stack => several(op, &[x]),
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::And | Op::Or => {
            unreachable!("an operator of two operands")
        }
        Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => unreachable!("an operator of two operands"),
        Op::MatMul => unreachable!("an operator of two operands"),
    }
}

#[inline(never)]
fn binary(op: &Op, a: &Value, b: &Value) -> Result<Value, EvalError> {
    match op {
        Op::MatMul => Ok(linear::matmul(&View::of(a), &View::of(b))),
        Op::Concat { .. } | Op::Stack => several(op, &[a, b]),
        _ => pointwise::binary(op, &View::of(a), &View::of(b)),
    }
}

#[inline(never)]
fn several(op: &Op, args: &[&Value]) -> Result<Value, EvalError> {
    match op {
        Op::Concat { axis } => Ok(layout::concat(*axis, args)),
        Op::Stack => Ok(layout::stack(args)),
        _ => unreachable!("an operator of one or two operands"),
    }
}

/// The message of a panic that only operands of a wrong type can cause.
const CHECKED: &str = "operands have types that `result_type` accepts";
