//! The help for an expression in error, chosen by the form of the expression.

use rml_base::Diagnostic;
use rml_base::codes::elab as codes;
use rml_ir::Type;
use rml_syntax::ast::Literal;

use super::Operand;
use crate::builtins::Builtin;
use crate::hir::{ExprId, ExprKind, Index, Item, LocalKind, Node};
use crate::repair;
use crate::statics::Failure;
use crate::text;

/// Adds the help for the form of an expression to its failure.
pub(crate) fn given(node: &Node, expr: ExprId, operands: &[Operand], failure: Failure) -> Failure {
    let Failure::Bad(mut d) = failure else { return failure };
    match &node.exprs[expr].kind {
        ExprKind::Index { base, indices } if d.code == codes::NOT_STATIC => {
            if let Some(help) = gathered(node, *base, indices, &d) {
                d.help = vec![help];
            }
        }
        ExprKind::Builtin { which, args } if d.code == codes::NOT_STATIC || d.code == codes::STATIC_VALUE => {
            d.notes.push(format!("expected {}{}", which.name(), which.arity().2));
            if let (Builtin::Concat, [a, b, c]) = (which, &args[..])
                && d.code == codes::NOT_STATIC
                && let [Some(a), Some(b), Some(c)] = [a, b, c].map(|e| text::short(node, *e))
            {
                d.help = vec![format!("it joins two operands at a time: `concat(concat({a}, {b}), {c})`")];
            }
        }
        ExprKind::Builtin { which: Builtin::Conv(..) | Builtin::Pool(..), .. } if channels_first(&d) => {
            d.help.push(
                "channels come last: declare `image: num [batch, height, width, channels]`; in NumPy, `np.moveaxis(image, 1, -1)`"
                    .to_owned(),
            );
        }
        ExprKind::If { cond, then, other } if d.code == codes::CONDITION_TYPE => {
            let texts = [cond, then, other].map(|part| text::short(node, *part));
            if let [Some(cond), Some(then), Some(other)] = texts {
                d.help = vec![format!("write `where({cond}, {then}, {other})` to choose element by element")];
            }
        }
        kind if d.code == codes::SHAPE_MISMATCH => {
            let types: Option<Vec<Type>> = operands.iter().map(|operand| operand.0.ty()).collect();
            let advice = types.and_then(|types| repair::operands(node, expr, &types));
            *d = advice.into_iter().fold(*d, Diagnostic::help);
            for operand in kind.children() {
                *d = of_parameter(node, operand, *d);
            }
        }
        _ => {}
    }
    Failure::Bad(d)
}

/// Whether an operand has its channels before height and width.
fn channels_first(d: &Diagnostic) -> bool {
    d.notes.iter().any(|note| note.contains("with the channels last"))
}

/// The help for a stream as a position: `gather(x, i)` for `x[i]`.
fn gathered(node: &Node, base: ExprId, indices: &[Index], d: &Diagnostic) -> Option<String> {
    let at = d.labels.first()?.span;
    let holds = |e: &ExprId| {
        let span = node.exprs[*e].span;
        span.start <= at.start && at.end <= span.end
    };
    let axis = indices.iter().position(|index| index.exprs().iter().any(holds))?;
    let mut base = text::short(node, base).unwrap_or_else(|| "x".to_owned());
    let fixed = indices[..axis].iter().map(|index| match index {
        Index::At(e) => text::short(node, *e),
        _ => None,
    });
    let (mut indices, mut axis) = (indices, axis);
    if let (true, Some(fixed)) = (axis > 0, fixed.collect::<Option<Vec<String>>>()) {
        base = format!("{base}[{}]", fixed.join(", "));
        (indices, axis) = (&indices[axis..], 0);
    }
    let behind_ellipsis = indices[..axis].iter().any(|i| matches!(i, Index::Ellipsis(_)));
    let behind = match axis {
        _ if behind_ellipsis => format!(", -{}", indices.len() - axis),
        0 => String::new(),
        axis => format!(", {axis}"),
    };
    Some(match indices[axis] {
        Index::At(e) => {
            let i = text::short(node, e).unwrap_or_else(|| "i".to_owned());
            format!("`gather({base}, {i}{behind})` takes what stands at a position that is a stream")
        }
        _ => format!(
            "the length of a slice is fixed: `gather({base}, i + range(n){behind})` takes `n` elements from position `i` on"
        ),
    })
}

/// Adds the help for a parameter whose initial value is a list of sizes, which was meant as its shape.
fn of_parameter(node: &Node, operand: ExprId, d: Diagnostic) -> Diagnostic {
    let (name, init) = match &node.exprs[operand].kind {
        ExprKind::Local(local) => match node.locals[*local].kind {
            LocalKind::Defined { equation } => (Some(node.name_of(*local)), node.equations[equation].rhs),
            _ => return d,
        },
        _ => (None, operand),
    };
    let ExprKind::Builtin { which: Builtin::Param, args } = &node.exprs[init].kind else { return d };
    let sizes = args.first().map(|arg| &node.exprs[*arg].kind);
    let Some(ExprKind::Array(items)) = sizes else { return d };
    let is_size = |item: &Item| {
        item.expr().is_some_and(|e| matches!(node.exprs[e].kind, ExprKind::Literal(Literal::Int(n)) if n > 0))
    };
    let Some(shape) = args.first().and_then(|arg| text::short(node, *arg)) else { return d };
    if !items.iter().all(is_size) {
        return d;
    }
    let what = name.map_or_else(|| "the parameter".to_owned(), |name| format!("`{name}`"));
    d.label(
        node.exprs[init].span,
        format!("{what} begins with these {} numbers, not with this shape", items.len()),
    )
    .help(format!("give it a shape and values: `param(glorot_uniform({shape}))`, or `param(zeros({shape}))`"))
}
