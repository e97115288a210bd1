//! The help for an expression whose shape does not fit. Every proposed expression has been checked: its shape fits.

use rml_ir::op::{Op, result_type};
use rml_ir::typed::StaticValue;
use rml_ir::{DType, Shape, Type};
use rml_syntax::ast::Literal;

use crate::builtins::Builtin;
use crate::hir::{Call, ExprId, ExprKind, Index, Item, LocalKind, Node};
use crate::instance::InstanceId;
use crate::text;
use crate::typed::Typed;

/// The name of the dimension for stacked windows.
const BATCH: &str = "batch";

/// The help for an expression of type `found` that must have the shape `expected`.
pub(crate) fn fitted(
    typed: &Typed<'_>,
    (id, expr): (InstanceId, ExprId),
    found: &Type,
    expected: &Shape,
) -> Option<String> {
    let written = element(typed, id, expr, expected)
        .or_else(|| folded(typed, id, expr, expected))
        .or_else(|| resized(typed, id, expr, &found.shape, expected))
        .or_else(|| {
            let text = written(typed, id, expr)?;
            reshaped(&text, &found.shape, expected, has_dimensions(typed.tree.node(id)))
        });
    match written {
        Some(text) => Some(format!("write `{text}`")),
        None => of_batch(typed, id, expr)
            .or_else(|| classes(typed, id, expr, found, expected))
            .or_else(|| flattened(typed, id, &found.shape, expected)),
    }
}

/// The help for operands that do not fit each other.
pub(crate) fn operands(node: &Node, expr: ExprId, types: &[Type]) -> Option<String> {
    let kind = &node.exprs[expr].kind;
    if let (ExprKind::Builtin { which: Builtin::Reshape, args }, [ty]) = (kind, types) {
        let (count, text) = (ty.shape.checked_len()?, text::short(node, *args.get(1)?)?);
        let whole = (!has_dimensions(node)).then(|| format!(": `reshape([{count}], {text})`"));
        return Some(format!("`{text}` has {count} elements{}", whole.unwrap_or_default()));
    }
    let [a, b] = types else { return None };
    match kind {
        ExprKind::Fby { init, next } | ExprKind::FbyBack { init, next } => {
            initial(node, *init, *next, &b.shape)
        }
        ExprKind::Binary(_, x, y) => {
            let (x, y) = (text::operand(node, *x)?, text::operand(node, *y)?);
            let (first, second) = (widened(&x, &a.shape, &b.shape), widened(&y, &b.shape, &a.shape));
            first.or(second).map(|text| format!("write `{text}` there"))
        }
        ExprKind::Builtin { which: Builtin::MatMul, args } => {
            let [x, y] = args[..] else { return None };
            product((&text::short(node, x)?, a), (&text::short(node, y)?, b))
        }
        ExprKind::Builtin { which: Builtin::Concat, args } => {
            let [x, y] = args[..] else { return None };
            let (x, y) = (text::short(node, x)?, text::short(node, y)?);
            let fits = |axis: &usize| result_type(&Op::Concat { axis: *axis }, types).is_ok();
            let axis = (0..a.shape.rank()).rev().find(fits)?;
            Some(format!("to join them along axis {axis}, write `concat({x}, {y}, {axis})`"))
        }
        _ => None,
    }
}

/// A constant initial value with the shape that is needed.
fn initial(node: &Node, init: ExprId, next: ExprId, shape: &Shape) -> Option<String> {
    let ExprKind::Builtin { which: which @ (Builtin::Zeros | Builtin::Ones), .. } = node.exprs[init].kind
    else {
        return None;
    };
    match (has_dimensions(node), &node.exprs[next].kind) {
        (false, _) => Some(format!("write `{}({shape})` as the first value", which.name())),
        (true, ExprKind::Local(next)) => {
            Some(format!("write `{}(shape({}))` as the first value", which.name(), node.name_of(*next)))
        }
        (true, _) => None,
    }
}

/// The help for an expression that has one axis less than its declared type. The missing axis is the last one for which
/// the written sizes fit.
pub(crate) fn with_axis(
    typed: &Typed<'_>,
    (id, expr): (InstanceId, ExprId),
    found: &Shape,
    (node, declared): (&Node, &[Item]),
) -> Option<String> {
    let sizes: Vec<Option<i64>> =
        declared.iter().filter_map(|item| item.expr().map(|e| size(node, e))).collect();
    let rank = found.rank();
    let text = written(typed, id, expr).filter(|_| rank > 0 && rank + 1 == sizes.len())?;
    let fits = |axis: &usize| {
        if sizes[*axis].is_some_and(|size| size != 1) {
            return false;
        }
        let others = sizes.iter().enumerate().filter(|(i, _)| i != axis);
        let mut pairs = others.zip(found.dims());
        pairs.all(|((_, size), found)| size.is_none_or(|size| usize::try_from(size) == Ok(*found)))
    };
    let axis = (0..=rank).rev().find(fits)?;
    let place = match axis {
        0 => " at the beginning",
        axis if axis == rank => " at the end",
        _ => "",
    };
    Some(format!("an axis is missing: `expand_dims({text}, {axis})` has one of size 1{place}"))
}

/// The size, if a dimension is a literal.
fn size(node: &Node, dim: ExprId) -> Option<i64> {
    match node.exprs[dim].kind {
        ExprKind::Literal(Literal::Int(n)) => Some(n),
        _ => None,
    }
}

/// The declaration of a variable of the program with that type.
pub(crate) fn declaration(typed: &Typed<'_>, id: InstanceId, name: &str, ty: &Type) -> String {
    let node = typed.tree.node(id);
    let value = |local| {
        let value = typed.statics.name(&typed.tree, id, local, node.locals[local].span).ok()?;
        let StaticValue::Int(size) = value else { return None };
        usize::try_from(size).ok()
    };
    let dims: Vec<(&str, usize)> = node
        .locals
        .iter_enumerated()
        .filter(|(_, data)| data.kind == LocalKind::Dim)
        .filter_map(|(local, data)| Some((&*data.name, value(local)?)))
        .collect();
    let dim = |(axis, size): (usize, &usize)| {
        let mut named = dims.iter().filter(|(_, value)| value == size).map(|(name, _)| *name);
        let first = named.clone().find(|name| axis == 0 && *name == BATCH);
        let only = named.next().filter(|name| named.next().is_none() && *size > 1 && *name != BATCH);
        first.or(only).map_or_else(|| size.to_string(), str::to_owned)
    };
    let dims: Vec<String> = ty.shape.dims().iter().enumerate().map(dim).collect();
    format!("{name}: {} [{}]", ty.dtype, dims.join(", "))
}

/// The text of an expression, including calls of nodes.
fn written(typed: &Typed<'_>, id: InstanceId, expr: ExprId) -> Option<String> {
    let node = typed.tree.node(id);
    match &node.exprs[expr].kind {
        ExprKind::Call(call) if is_plain(call) => {
            let args: Option<Vec<String>> = call.args.iter().map(|arg| text::short(node, *arg)).collect();
            Some(format!("{}({})", typed.tree.program.nodes[call.callee].name, args?.join(", ")))
        }
        _ => text::operand(node, expr),
    }
}

/// Whether a call consists only of the name of the node and its arguments.
fn is_plain(call: &Call) -> bool {
    call.clauses.every.is_none() && call.clauses.along.is_none() && call.order.times == 0
}

fn has_dimensions(node: &Node) -> bool {
    node.locals.iter().any(|data| data.kind == LocalKind::Dim)
}

/// The shape of an operand that is a variable.
fn shape_of(typed: &Typed<'_>, id: InstanceId, expr: ExprId) -> Option<Shape> {
    match typed.tree.node(id).exprs[expr].kind {
        ExprKind::Local(local) if typed.tree.is_stream(id, local) => typed.shape(id, local).cloned(),
        _ => None,
    }
}

/// `x[.., 0]` for `x[0]`: an element along the last axis instead of the first one.
fn element(typed: &Typed<'_>, id: InstanceId, expr: ExprId, expected: &Shape) -> Option<String> {
    let node = typed.tree.node(id);
    let ExprKind::Index { base, indices } = &node.exprs[expr].kind else { return None };
    let [Index::At(at)] = indices[..] else { return None };
    let shape = shape_of(typed, id, *base)?;
    let (_, outer) = shape.dims().split_last()?;
    let text = format!("{}[.., {}]", text::operand(node, *base)?, text::short(node, at)?);
    (outer == expected.dims()).then_some(text)
}

/// The help for `x[0]` if the first axis of `x` is that of stacked windows.
fn of_batch(typed: &Typed<'_>, id: InstanceId, expr: ExprId) -> Option<String> {
    let node = typed.tree.node(id);
    let ExprKind::Index { base, indices } = &node.exprs[expr].kind else { return None };
    let [Index::At(at)] = indices[..] else { return None };
    let stacked = node.locals.iter().any(|data| data.kind == LocalKind::Dim && *data.name == *BATCH);
    let shape = shape_of(typed, id, *base).filter(|shape| stacked && shape.rank() > 1)?;
    let (text, at) = (text::operand(node, *base)?, text::short(node, at)?);
    Some(format!(
        "the first axis of `{text}` is `{BATCH}`: write `{text}[.., {at}]`, of rank {}, which is one value for each window",
        shape.rank() - 1
    ))
}

/// `sum(x, 1)` for `sum(x)`: a fold over the axes that must be removed.
fn folded(typed: &Typed<'_>, id: InstanceId, expr: ExprId, expected: &Shape) -> Option<String> {
    let node = typed.tree.node(id);
    let ExprKind::Builtin { which: which @ Builtin::Reduce(_), args } = &node.exprs[expr].kind else {
        return None;
    };
    let shape = shape_of(typed, id, *args.first()?)?;
    let text = text::short(node, *args.first()?)?;
    let kept = expected.rank();
    let axes: Vec<String> = match shape.dims().starts_with(expected.dims()) && kept > 0 {
        true => (kept..shape.rank()).map(|axis| axis.to_string()).collect(),
        false => vec![(0..shape.rank()).find(|axis| without(&shape, *axis) == *expected)?.to_string()],
    };
    Some(match &axes[..] {
        [] => return None,
        [axis] => format!("{}({text}, {axis})", which.name()),
        axes => format!("{}({text}, [{}])", which.name(), axes.join(", ")),
    })
}

/// `dense(8, x)` for `dense(4, x)`: the size of the last axis is an argument of the call.
fn resized(
    typed: &Typed<'_>,
    id: InstanceId,
    expr: ExprId,
    found: &Shape,
    expected: &Shape,
) -> Option<String> {
    let node = typed.tree.node(id);
    let ExprKind::Call(call) = &node.exprs[expr].kind else { return None };
    let ((last, outer), (wanted, rest)) = (found.dims().split_last()?, expected.dims().split_last()?);
    let is_size = |arg: &ExprId| matches!(node.exprs[*arg].kind, ExprKind::Literal(Literal::Int(n)) if usize::try_from(n) == Ok(*last));
    let position = call.args.iter().position(is_size)?;
    if outer != rest || !is_plain(call) {
        return None;
    }
    let arg = |(i, arg): (usize, &ExprId)| match i == position {
        true => Some(wanted.to_string()),
        false => text::short(node, *arg),
    };
    let args: Option<Vec<String>> = call.args.iter().enumerate().map(arg).collect();
    Some(format!("{}({})", typed.tree.program.nodes[call.callee].name, args?.join(", ")))
}

/// The same elements in another shape. If shapes depend on named dimensions (`open`), the first axis is kept, since it
/// may be one of these, and no size is written.
fn reshaped(text: &str, found: &Shape, expected: &Shape, open: bool) -> Option<String> {
    if found.rank() == 2 && found.dims().iter().rev().eq(expected.dims()) {
        return Some(format!("transpose({text})"));
    }
    let drops = |axis: &usize| found.dims()[*axis] == 1 && without(found, *axis) == *expected;
    if let Some(axis) = (usize::from(open)..found.rank()).rev().find(drops) {
        return Some(match axis {
            0 => format!("{text}[0]"),
            axis if axis + 1 == found.rank() => format!("{text}[.., 0]"),
            axis => format!("{text}[{}0]", ":, ".repeat(axis)),
        });
    }
    let adds = |axis: &usize| expected.dims()[*axis] == 1 && without(expected, *axis) == *found;
    if let Some(axis) = (usize::from(open)..expected.rank()).rev().find(adds) {
        return Some(format!("expand_dims({text}, {axis})"));
    }
    let same = found.checked_len() == expected.checked_len();
    (same && !open && !found.is_scalar()).then(|| format!("reshape({expected}, {text})"))
}

/// An operand with an additional axis of size 1, so that it broadcasts with the other one.
fn widened(text: &str, own: &Shape, other: &Shape) -> Option<String> {
    let wider = |axis: usize| {
        let (outer, inner) = own.dims().split_at(axis);
        outer.iter().chain(&[1]).chain(inner).copied().collect::<Shape>()
    };
    let fits = |axis: &usize| wider(*axis).broadcast(other).is_some_and(|shape| shape == *other);
    let mut axes = (1..=own.rank()).filter(fits);
    let axis = axes.next().filter(|_| own.rank() > 0 && axes.next().is_none())?;
    Some(format!("expand_dims({text}, {axis})"))
}

/// The help for a matrix product: transpose one of the operands, or exchange them.
fn product((x, a): (&str, &Type), (y, b): (&str, &Type)) -> Option<String> {
    let flat = |ty: &Type| Type { dtype: ty.dtype, shape: ty.shape.dims().iter().rev().copied().collect() };
    let turned = |text: &str| format!("transpose({text})");
    if a.shape.rank() != 2 || b.shape.rank() != 2 {
        return None;
    }
    let forms = [
        (x.to_owned(), a.clone(), turned(y), flat(b)),
        (turned(x), flat(a), y.to_owned(), b.clone()),
        (y.to_owned(), b.clone(), x.to_owned(), a.clone()),
        (y.to_owned(), b.clone(), turned(x), flat(a)),
    ];
    let mut ways = forms.into_iter().filter_map(|(left, a, right, b)| {
        let shape = result_type(&Op::MatMul, &[a, b]).ok()?.shape;
        Some(format!("`matmul({left}, {right})`, which has shape {shape}"))
    });
    let first = ways.next()?;
    Some(match ways.next() {
        Some(second) => format!("write {first}, or {second}"),
        None => format!("write {first}"),
    })
}

/// The help if the numbers of classes were given instead of one entry per class.
fn classes(
    typed: &Typed<'_>,
    id: InstanceId,
    expr: ExprId,
    found: &Type,
    expected: &Shape,
) -> Option<String> {
    let (size, outer) = found.shape.dims().split_last()?;
    if found.dtype != DType::Int || outer != expected.dims() || *size < 2 {
        return None;
    }
    let text = written(typed, id, expr)?;
    Some(format!(
        "a label is the number of a class: from one entry for each class, `argmax({text}, -1)` makes it"
    ))
}

/// `reshape([batch, 64], x)` for an input `x: num [batch, 8, 8]` whose axes were kept by a layer.
fn flattened(typed: &Typed<'_>, id: InstanceId, found: &Shape, expected: &Shape) -> Option<String> {
    let node = typed.tree.node(id);
    let outer = expected.rank().checked_sub(1).filter(|outer| *outer > 0)?;
    let kept = found.dims().get(..found.rank().checked_sub(1)?).filter(|kept| kept.len() > outer)?;
    if found.dims().last() != expected.dims().last() || kept.get(..outer) != expected.dims().get(..outer) {
        return None;
    }
    let is_kept = |shape: &Shape| shape.rank() == found.rank() && shape.dims().starts_with(kept);
    let input = node.formals.iter().find(|local| typed.shape(id, **local).is_some_and(is_kept))?;
    let (name, count) =
        (node.name_of(*input), typed.shape(id, *input)?.dims()[outer..].iter().product::<usize>());
    let declared = node.locals[*input].types.first()?.dims.get(..outer)?.iter();
    let texts = text::Texts { node, is_num: &|_| false };
    let dims = declared.map(|item| item.expr().map(|e| texts.expr(e))).chain([Some(count.to_string())]);
    let dims = dims.collect::<Option<Vec<_>>>()?.join(", ");
    Some(format!(
        "a layer works on the last axis and keeps the others: give it `reshape([{dims}], {name})` for `{name}`"
    ))
}

fn without(shape: &Shape, axis: usize) -> Shape {
    shape.dims().iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, d)| *d).collect()
}
