//! Types written in the source against those that were found.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, IndexVec};
use rml_ir::Type;

use crate::hir::{ExprId, Item, Local, Node, TypeDecl};
use crate::instance::InstanceId;
use crate::repair;
use crate::statics::{Evaluated, Failure};
use crate::text;
use crate::typed::{Failed, Typed};

/// Checks the inputs of all instances against the types written for them. Says which instances have inputs that do not
/// fit, or stand inside such an instance.
pub(super) fn check(typed: &mut Typed<'_>, failed: &mut Vec<Failed>) -> IndexVec<InstanceId, bool> {
    let mut misfits: IndexVec<InstanceId, bool> = IndexVec::filled(false, typed.tree.instances.len());
    for id in typed.tree.instances.ids() {
        let parent = typed.tree.instances[id].parent;
        if parent.is_some_and(|(parent, ..)| misfits[parent]) {
            misfits[id] = true;
            continue;
        }
        typed.statics.refresh(&typed.tree, &typed.shapes, id);
        let node = typed.tree.node(id);
        for (position, &formal) in node.formals.iter().enumerate() {
            let Some(shape) = typed.shape(id, formal).filter(|_| typed.tree.is_stream(id, formal)) else {
                continue;
            };
            let ty = Type { dtype: typed.dtype(id, formal), shape: shape.clone() };
            let argument = parent.and_then(|(parent, call, _)| {
                let caller = typed.tree.node(parent);
                let arg = *caller.as_call(call)?.args.get(position)?;
                Some((parent, arg))
            });
            if let Err(failure) = check_declared(typed, id, formal, &ty, argument) {
                misfits[id] = true;
                if let Failure::Bad(d) = failure {
                    let (id, expr) = argument.map_or((id, None), |(parent, arg)| (parent, Some(arg)));
                    failed.push(Failed { id, expr, diagnostic: *d });
                }
            }
        }
    }
    misfits
}

/// Checks the type of a variable of an instance against those written for it. `from` = the expression that it comes
/// from.
pub(super) fn check_declared(
    typed: &Typed<'_>,
    id: InstanceId,
    local: Local,
    ty: &Type,
    from: Option<(InstanceId, ExprId)>,
) -> Evaluated<()> {
    let node = typed.tree.node(id);
    let found = from.map(|(id, expr)| typed.tree.node(id).exprs[expr].span);
    let is_known = |l: &Local| !typed.tree.is_stream(id, *l) || typed.shape(id, *l).is_some();
    for decl in &node.locals[local].types {
        let name = node.name_of(local);
        let written = format!("{} {}", ty.dtype, shape_text(node, decl));
        let bad = |expected: String| {
            Diagnostic::error(codes::SHAPE_MISMATCH, format!("`{name}` is declared {written}, but is {ty}"))
                .label(found.unwrap_or(node.locals[local].span), format!("this is {ty}"))
                .label(decl.span, format!("declared here: {expected}"))
                .note(format!("expected {expected}, found {ty}"))
        };
        match typed.statics.declared(&typed.tree, &typed.shapes, id, decl) {
            Ok(shape) if shape == ty.shape => {}
            Ok(shape) => {
                let d = bad(format!("{} {shape}", ty.dtype));
                let advice = from.and_then(|from| repair::fitted(typed, from, ty, &shape));
                return Err(advice.into_iter().fold(d, Diagnostic::help).into());
            }
            Err(Failure::Unknown) if node.formals.iter().all(is_known) => {
                let declared = (node, &decl.dims[..]);
                let advice = from.and_then(|from| repair::with_axis(typed, from, &ty.shape, declared));
                return Err(advice.into_iter().fold(bad(written.clone()), Diagnostic::help).into());
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(())
}

/// A written shape.
fn shape_text(node: &Node, decl: &TypeDecl) -> String {
    let items = decl.dims.iter().map(|item| match *item {
        Item::Expr(e) => text::Texts { node, is_num: &|_| false }.expr(e),
        Item::Splice(local, _) => format!("{}..", node.name_of(local)),
    });
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}
