//! Reference evaluation of every operator.
use super::Op;
use crate::types::Precision;
use crate::value::Value;

/// Why an operator has no result although its operands have the right types.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EvalError {
    /// An integer result does not fit 64 bits.
    IntegerOverflow,
}

/// Evaluates `op`; operands have types that [`result_type`](super::result_type) accepts.
pub fn eval(op: &Op, args: &[&Value], precision: Precision) -> Result<Value, EvalError> {
    let _ = (op, args, precision);
    unimplemented!()
}
