//! The shape of a root input that has no type and that forward inference does not determine: the shape that a matrix
//! product requires.

use rml_ir::Shape;

use crate::builtins::Builtin;
use crate::hir::{ExprId, ExprKind, Local, LocalKind};
use crate::instance::{Given, InstanceId};
use crate::typed::Typed;

/// The shape that a use of root input `formal` requires: `[k]` if it is the right operand of a matrix product with a
/// matrix `[n, k]`, or the left operand of one with a matrix `[k, n]`; `[k - m]` if that operand concatenates it with a
/// vector `[m]`.
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
    let right = || {
        let length = known(typed, id, a)?.dims().last().copied()?;
        vector(typed, id, b, formal, length)
    };
    let left = || {
        let length = known(typed, id, b)?.dims().first().copied()?;
        vector(typed, id, a, formal, length)
    };
    right().or_else(left)
}

/// The shape of `formal`, if `expr` must be a vector of that length and depends on `formal` directly.
fn vector(typed: &Typed<'_>, id: InstanceId, expr: ExprId, formal: Local, length: usize) -> Option<Shape> {
    match origin(typed, id, expr)? {
        Origin::RootInput(local) => (local == formal).then(|| Shape::new(&[length])),
        Origin::Expr(id, expr) => {
            let ExprKind::Builtin { which: Builtin::Concat, args, .. } =
                &typed.tree.node(id).exprs[expr].kind
            else {
                return None;
            };
            let &[a, b, ..] = args.as_slice() else { return None };
            let joined = |x, other| {
                let taken = known(typed, id, other).filter(|s| s.rank() == 1)?.len();
                vector(typed, id, x, formal, length.checked_sub(taken)?)
            };
            joined(a, b).or_else(|| joined(b, a))
        }
    }
}

/// The shape of a variable.
fn known<'a>(typed: &'a Typed<'_>, id: InstanceId, expr: ExprId) -> Option<&'a Shape> {
    match typed.tree.node(id).exprs[expr].kind {
        ExprKind::Local(local) => typed.shape(id, local),
        _ => None,
    }
}

/// The origin of an expression, with formals of instances replaced by their actuals.
enum Origin {
    /// An input of the root.
    RootInput(Local),
    /// An expression other than the name of a formal.
    Expr(InstanceId, ExprId),
}

fn origin(typed: &Typed<'_>, id: InstanceId, expr: ExprId) -> Option<Origin> {
    let (mut id, mut expr) = (id, expr);
    loop {
        let node = typed.tree.node(id);
        let ExprKind::Local(local) = node.exprs[expr].kind else { return Some(Origin::Expr(id, expr)) };
        if node.locals[local].kind != LocalKind::Formal {
            return None;
        }
        let instance = &typed.tree.instances[id];
        let Some((parent, call, _)) = instance.parent else { return Some(Origin::RootInput(local)) };
        if typed.tree.node(parent).as_call(call).is_some_and(|call| call.clauses.along.is_some()) {
            return None; // An entry of an argument.
        }
        let position = node.formals.iter().position(|l| *l == local)?;
        let Some(Given::Stream(arg)) = instance.givens.get(position) else { return None };
        (id, expr) = (parent, *arg);
    }
}
