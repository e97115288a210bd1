//! Small helpers for nodes in normal form.

use std::sync::Arc;

use rml_base::Span;
use rml_ir::Type;
use rml_ir::normal::{Init, Node, Rhs, Var, VarData};

/// Calls `f` on every variable that an equation reads.
pub(crate) fn for_each_operand(rhs: &mut Rhs, mut f: impl FnMut(&mut Var)) {
    match rhs {
        Rhs::Const(_) => {}
        Rhs::Apply { args, .. } => args.iter_mut().for_each(f),
        Rhs::If { cond, then, other } => [cond, then, other].into_iter().for_each(f),
        Rhs::When { value, cond } => [value, cond].into_iter().for_each(f),
        Rhs::Merge { cond, on_true, on_false } => [cond, on_true, on_false].into_iter().for_each(f),
        Rhs::Fby { init, next } | Rhs::FbyBack { init, next } => {
            if let Init::Stream(v) = init {
                f(v);
            }
            f(next);
        }
        Rhs::Post { next } => f(next),
        Rhs::Param { init, .. } => f(init),
        Rhs::ParamUpdate { init, bp, d, .. } => [init, bp, d].into_iter().for_each(f),
        Rhs::Call { args, every, .. } => args.iter_mut().chain(every).for_each(f),
    }
}

/// The variables that an equation reads, in order.
pub(crate) fn operands(rhs: &Rhs) -> Vec<Var> {
    let mut found = Vec::new();
    for_each_operand(&mut rhs.clone(), |v| found.push(*v));
    found
}

/// Adds a variable to a node.
pub(crate) fn push_var(node: &mut Node, name: Option<Arc<str>>, ty: Type, span: Span) -> Var {
    node.vars.push(VarData { name, ty, span, asserts: None, cases: None })
}
