//! The constants of a flat program.

use std::sync::Arc;

use crate::normal::ConstId;
use crate::op::{Distribution, Op};
use crate::typed;
use crate::types::Type;
use crate::value::Value;

/// A constant stream.
#[derive(Clone, Debug)]
pub struct Constant {
    /// What it is.
    pub kind: ConstKind,
    /// Its type.
    pub ty: Type,
    /// As written (`zeros([units])`), for printing; `None` for one that a pass made.
    pub text: Option<Arc<str>>,
}

/// What a constant is.
#[derive(Clone, Debug)]
pub enum ConstKind {
    /// A value.
    Value(Value),
    /// Drawn from the seed and the key that [`Flat::random_keys`](super::Flat::random_keys) has for it.
    Random(Distribution),
    /// An operator on constants that stand before it, computed when they are drawn. It cannot fail ([`Op::may_fail`]).
    Apply {
        /// The operator.
        op: Op,
        /// Its operands.
        args: Vec<ConstId>,
    },
}

impl Constant {
    /// Its value, unless it has to be drawn or computed first.
    pub fn value(&self) -> Option<&Value> {
        if let ConstKind::Value(value) = &self.kind { Some(value) } else { None }
    }
}

impl Constant {
    /// The constants that it is computed from.
    pub fn operands(&self) -> &[ConstId] {
        if let ConstKind::Apply { args, .. } = &self.kind { args } else { &[] }
    }
}

impl From<Value> for Constant {
    fn from(value: Value) -> Self {
        Self { ty: value.ty(), kind: ConstKind::Value(value), text: None }
    }
}

impl From<typed::Constant> for Constant {
    fn from(constant: typed::Constant) -> Self {
        let typed::Constant { kind, ty, text } = constant;
        let kind = match kind {
            typed::ConstKind::Value(value) => ConstKind::Value(value),
            typed::ConstKind::Random(distribution) => ConstKind::Random(distribution),
        };
        Self { kind, ty, text }
    }
}
