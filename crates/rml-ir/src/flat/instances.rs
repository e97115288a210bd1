//! The instances that a flat program was inlined from, which the names of its variables are paths of.

use rml_base::Span;

use super::{Flat, Rhs, Var};
use crate::op::Op;

/// The path of the instance around that name or instance; empty for the root.
pub fn around(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(instance, _)| instance)
}

impl Flat {
    /// The path of the instance of a variable; empty for the root. A variable without a name has none.
    pub fn instance(&self, v: Var) -> Option<&str> {
        self.vars[v].name.as_deref().map(around)
    }

    /// Where an instance is called: there its inputs are copied. None if it has no inputs.
    pub fn call(&self, instance: &str) -> Option<Span> {
        let is_copy = |rhs: &Rhs| matches!(rhs, Rhs::Apply { op: Op::Copy, .. });
        let mut copies = self.equations.iter().filter(|equation| is_copy(&equation.rhs));
        copies.find(|copy| self.instance(copy.lhs) == Some(instance)).map(|copy| copy.span)
    }
}
