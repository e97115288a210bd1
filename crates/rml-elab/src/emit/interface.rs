//! Compares the types written in the source with those that inference found.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, IndexVec};
use rml_ir::Type;

use crate::hir::{Equation, ExprId, ExprKind, Item, Local, Node, TypeDecl};
use crate::instance::InstanceId;
use crate::statics::{Evaluated, Failure};
use crate::text;
use crate::typed::{Failed, Typed};
use crate::{paired, repair};

/// Checks the inputs of all instances against their written types. Returns for each instance whether it has an input
/// that does not fit, or is inside such an instance.
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

/// Checks the type of a variable of an instance against the types written for it. `from` is the expression that gives
/// the variable its value.
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
                if let Some(paired) = from.and_then(|from| paired::find(typed, from, &shape)) {
                    return Err(paired.told(d).into());
                }
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

/// The error for two fields of a record that have each other's shape, if the variable is one of the two. The inner
/// option is `None` for the second field, because both are reported together.
pub(super) fn exchanged_fields(
    typed: &Typed<'_>,
    id: InstanceId,
    local: Local,
) -> Option<Option<Diagnostic>> {
    let node = typed.tree.node(id);
    let (record, _) = node.name_of(local).rsplit_once('.')?;
    let defines = |equation: &&Equation| equation.lhs.iter().any(|(side, _)| *side == Some(local));
    let span = node.equations.iter().find(defines)?.span;
    let fields: Vec<(Local, ExprId)> = node
        .equations
        .iter()
        .filter(|equation| equation.span == span)
        .filter_map(|equation| match equation.lhs[..] {
            [(Some(field), _)] => Some((field, equation.rhs)),
            _ => None, // Several variables.
        })
        .filter(|(field, _)| node.name_of(*field).rsplit_once('.').is_some_and(|(of, _)| of == record))
        .collect();
    let declared = |field: Local| {
        let decl = node.locals[field].types.first()?;
        typed.statics.declared(&typed.tree, &typed.shapes, id, decl).ok()
    };
    let found = |rhs: ExprId| match node.exprs[rhs].kind {
        ExprKind::Local(local) => Some((typed.shape(id, local)?.clone(), node.name_of(local))),
        _ => None, // Only exchanged names are recognised.
    };
    let own = fields.iter().position(|(field, _)| *field == local)?;
    let (want, (shape, name)) = (declared(local)?, found(fields[own].1)?);
    let (other, (second, rhs)) = fields.iter().enumerate().find(|(at, (field, rhs))| {
        *at != own
            && declared(*field).as_ref() == Some(&shape)
            && found(*rhs).is_some_and(|(shape, _)| shape == want)
    })?;
    if other < own {
        return Some(None);
    }
    let (given, of) = (found(*rhs)?.1, |field: Local| node.name_of(field));
    let texts = fields.iter().enumerate().map(|(at, (_, rhs))| match at {
        _ if at == own => Some(given.to_string()),
        _ if at == other => Some(name.to_string()),
        _ => text::short(node, *rhs),
    });
    let texts: Option<Vec<String>> = texts.collect();
    let dtype = typed.dtype(id, local);
    let message = format!("the values of `{}` and `{}` are exchanged", of(local), of(*second));
    let d = Diagnostic::error(codes::SHAPE_MISMATCH, message)
        .label(
            node.exprs[fields[own].1].span,
            format!("this is {dtype} {shape}, but `{}` is {dtype} {want}", of(local)),
        )
        .label(
            node.exprs[*rhs].span,
            format!("this is {dtype} {want}, but `{}` is {dtype} {shape}", of(*second)),
        );
    Some(Some(match texts {
        Some(texts) => d.help(format!("exchange the two: `({})`", texts.join(", "))),
        None => d.help(format!("exchange `{name}` and `{given}`")),
    }))
}

/// A written shape.
fn shape_text(node: &Node, decl: &TypeDecl) -> String {
    let items = decl.dims.iter().map(|item| match *item {
        Item::Expr(e) => text::Texts { node, is_num: &|_| false }.expr(e),
        Item::Splice(local, _) => format!("{}..", node.name_of(local)),
    });
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}
