//! Result types.
use super::Op;
use crate::types::Type;

/// Why operands do not fit an operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeError {
    /// What the operator expects.
    pub expected: String,
    /// What it was given.
    pub found: String,
    /// Which operand is to blame, if one is.
    pub operand: Option<usize>,
}

/// The type of `op` applied to operands of those types.
pub fn result_type(op: &Op, args: &[Type]) -> Result<Type, TypeError> {
    let _ = (op, args);
    unimplemented!()
}
