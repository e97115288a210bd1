//! The shape of a root input that has no type and that forward inference leaves open: what a matrix product asks for.

use rml_ir::Shape;

use super::Typed;
use crate::builtins::Builtin;
use crate::hir::{ExprId, ExprKind, Local, LocalKind};
use crate::instance::{Given, InstanceId};

/// The shape that a use of root input `formal` asks for: `[k]` where it is the right operand of a matrix product with a matrix
/// `[n, k]`, or the left operand of one with a matrix `[k, n]`.
pub(super) fn of_root_input(typed: &Typed<'_>, formal: Local) -> Option<Shape> {
    typed.tree.instances.ids().find_map(|id| {
        let node = typed.tree.node(id);
        node.exprs.iter().find_map(|expr| match &expr.kind {
            ExprKind::Builtin { which: Builtin::MatMul, args, .. } => product(typed, id, args, formal),
            _ => None,
        })
    })
}

fn product(typed: &Typed<'_>, id: InstanceId, args: &[ExprId], formal: Local) -> Option<Shape> {
    let &[a, b] = args else { return None };
    if origin(typed, id, b) == Some(formal) {
        let last = known(typed, id, a)?.dims().last().copied()?;
        return Some(Shape::new(&[last]));
    }
    if origin(typed, id, a) == Some(formal) {
        let first = known(typed, id, b)?.dims().first().copied()?;
        return Some(Shape::new(&[first]));
    }
    None
}

/// The shape of a variable.
fn known<'a>(typed: &'a Typed<'_>, id: InstanceId, expr: ExprId) -> Option<&'a Shape> {
    match typed.tree.node(id).exprs[expr].kind {
        ExprKind::Local(local) => typed.shape(id, local),
        _ => None,
    }
}

/// The root input that an expression is a name for.
fn origin(typed: &Typed<'_>, id: InstanceId, expr: ExprId) -> Option<Local> {
    let (mut id, mut expr) = (id, expr);
    loop {
        let node = typed.tree.node(id);
        let ExprKind::Local(local) = node.exprs[expr].kind else { return None };
        if node.locals[local].kind != LocalKind::Formal {
            return None;
        }
        let instance = &typed.tree.instances[id];
        let Some((parent, ..)) = instance.parent else { return Some(local) };
        let position = node.formals.iter().position(|l| *l == local)?;
        let Some(Given::Stream(arg)) = instance.givens.get(position) else { return None };
        (id, expr) = (parent, *arg);
    }
}
