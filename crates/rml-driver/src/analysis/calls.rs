//! The places where instances are called.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::Span;
use rml_ir::flat::{Flat, Rhs};
use rml_ir::op::Op;

/// The place where each instance is called, by its path.
pub(crate) type Calls = IndexMap<Arc<str>, Span>;

/// The calls in an inlined program with all variables. An instance is called at the place where its inputs are copied,
/// so instances without inputs are missing.
pub(crate) fn calls(flat: &Flat) -> Calls {
    let mut calls = Calls::new();
    for copy in flat.equations.iter().filter(|e| matches!(e.rhs, Rhs::Apply { op: Op::Copy, .. })) {
        if let Some(instance) = flat.instance(copy.lhs).filter(|path| !path.is_empty())
            && !calls.contains_key(instance)
        {
            calls.insert(instance.into(), copy.span);
        }
    }
    calls
}
