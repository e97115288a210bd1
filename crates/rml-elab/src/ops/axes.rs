//! Static axes, and operations on several of them.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::Shape;
use rml_ir::op::{Op, Reduction};
use rml_ir::typed::StaticValue;

use super::{Operand, Partial, Rule, Step, apply, steps};
use crate::builtins::Builtin;
use crate::hir::{ExprId, ExprKind, Item};
use crate::instance::InstanceId;
use crate::statics::{Evaluated, Failure, expected};
use crate::typed::Typed;

impl Typed<'_> {
    /// A static axis of a shape; a negative axis counts from the end.
    pub(super) fn axis(&self, id: InstanceId, expr: ExprId, shape: &Shape) -> Evaluated<usize> {
        let axis = self.statics.int(&self.tree, &self.shapes, id, expr)?;
        in_range(axis, shape.rank(), shape, self.tree.node(id).exprs[expr].span)
    }

    /// A static axis, or an array of distinct axes, in order. They are axes of the shape; if `new`, they are axes of
    /// the shape with the new axes inserted.
    fn axes(&self, id: InstanceId, expr: ExprId, shape: &Shape, new: bool) -> Evaluated<Vec<usize>> {
        let node = self.tree.node(id);
        let span = node.exprs[expr].span;
        let value = match self.statics.eval(&self.tree, &self.shapes, id, expr)? {
            StaticValue::Array(items) => items,
            _ => vec![StaticValue::Int(self.statics.int(&self.tree, &self.shapes, id, expr)?)],
        };
        let spans: Vec<Span> = match &node.exprs[expr].kind {
            ExprKind::Array(items) => items
                .iter()
                .map(|item| match item {
                    Item::Expr(e) => node.exprs[*e].span,
                    Item::Splice(_, span) => *span,
                })
                .collect(),
            _ => Vec::new(),
        };
        let rank = shape.rank() + if new { value.len() } else { 0 };
        let mut found: Vec<usize> = Vec::with_capacity(value.len());
        for (i, item) in value.iter().enumerate() {
            let span = if spans.len() == value.len() { spans[i] } else { span };
            let StaticValue::Int(axis) = item else {
                return Err(expected("an axis, or an array of axes", item, span).into());
            };
            let axis = in_range(*axis, rank, shape, span)?;
            if found.contains(&axis) {
                return Err(Diagnostic::error(codes::STATIC_VALUE, format!("axis {axis} is named twice"))
                    .label(span, format!("this is axis {axis} again"))
                    .note("expected different axes; a negative one counts from the end")
                    .into());
            }
            found.push(axis);
        }
        if found.is_empty() {
            return Err(Diagnostic::error(codes::STATIC_VALUE, "no axis is named")
                .label(span, "this array is empty")
                .note("expected an axis, or an array of axes, such as `[0, 2]`")
                .into());
        }
        found.sort_unstable();
        Ok(found)
    }

    /// A fold over all elements, or over one or more axes; these are dropped or kept with length 1.
    ///
    /// Several axes are combined into one: they are moved to the position of the first one, and merged.
    pub(super) fn reduce(
        &self,
        id: InstanceId,
        by: Reduction,
        args: &[ExprId],
        operands: &[Operand],
        span: Span,
    ) -> Evaluated<(Rule, Partial)> {
        let keep = args.get(2).map_or(Ok(false), |&arg| self.flag(id, arg))?;
        let Some(&axes) = args.get(1) else { return apply(Op::Reduce(by, None), by.name(), operands, span) };
        let Some(shape) = operands.first().and_then(|o| o.0.shape.as_ref()) else {
            return Ok(super::unknown(Builtin::Reduce(by), operands));
        };
        let axes = self.axes(id, axes, shape, false).map_err(|failure| of_two(by, failure))?;
        let dims = shape.dims();
        let (mut ops, all) = (Vec::new(), axes.len() == dims.len());
        let fold = Op::Reduce(by, if all && dims.len() > 1 { None } else { Some(axes[0]) });
        if axes.len() > 1 && !all {
            let kept = (0..dims.len()).filter(|axis| !axes.contains(axis));
            let (before, behind): (Vec<usize>, Vec<usize>) = kept.partition(|axis| *axis < axes[0]);
            let perm = [&before[..], &axes, &behind].concat();
            if !perm.is_sorted() {
                ops.push(Op::Transpose { perm });
            }
            let len = |axes: &[usize]| axes.iter().map(|axis| dims[*axis]).collect::<Vec<usize>>();
            let merged = len(&axes).iter().product();
            ops.push(Op::Reshape { shape: Shape::new(&[len(&before), vec![merged], len(&behind)].concat()) });
        }
        if ops.is_empty() && !keep {
            return apply(fold, by.name(), operands, span);
        }
        ops.push(fold);
        if keep {
            let one = |(axis, len): (usize, &usize)| if axes.contains(&axis) { 1 } else { *len };
            ops.push(Op::Reshape { shape: dims.iter().enumerate().map(one).collect() });
        }
        let in_turn = ops.into_iter().enumerate().map(|(i, op)| Step { op, args: vec![i] });
        steps(in_turn.collect(), by.name(), operands, span)
    }

    /// The operand with new axes of length 1 inserted.
    pub(super) fn expand_dims(
        &self,
        id: InstanceId,
        args: &[ExprId],
        operands: &[Operand],
        span: Span,
    ) -> Evaluated<(Rule, Partial)> {
        let axes = *args.get(1).ok_or(Failure::Unknown)?;
        let Some(shape) = operands.first().and_then(|o| o.0.shape.as_ref()) else {
            return Ok(super::unknown(Builtin::ExpandDims, operands));
        };
        let axes = self.axes(id, axes, shape, true)?;
        let mut old = shape.dims().iter();
        let len = |axis| if axes.contains(&axis) { Some(1) } else { old.next().copied() };
        let shape: Shape = (0..shape.rank() + axes.len()).filter_map(len).collect();
        steps(vec![Step { op: Op::Reshape { shape }, args: vec![0] }], "expand_dims", operands, span)
    }

    /// The order of all axes. The argument may give the order of the last axes only.
    pub(super) fn permutation(&self, id: InstanceId, expr: ExprId, shape: &Shape) -> Evaluated<Vec<usize>> {
        let span = self.tree.node(id).exprs[expr].span;
        let value = self.statics.eval(&self.tree, &self.shapes, id, expr)?;
        let bad = || {
            Failure::from(expected("a permutation of the axes, or of the last ones", &value, span).note(
                format!("the operand has {} axes; those that are permuted are numbered from 0", shape.rank()),
            ))
        };
        let StaticValue::Array(items) = &value else { return Err(bad()) };
        let mut perm = Vec::with_capacity(items.len());
        for item in items {
            match item {
                StaticValue::Int(i) => perm.push(usize::try_from(*i).map_err(|_| bad())?),
                _ => return Err(bad()),
            }
        }
        let mut sorted = perm.clone();
        sorted.sort_unstable();
        let stay = shape.rank().checked_sub(perm.len()).ok_or_else(bad)?;
        if !sorted.into_iter().eq(0..perm.len()) {
            return Err(bad());
        }
        Ok((0..stay).chain(perm.iter().map(|axis| stay + axis)).collect())
    }
}

/// A non-negative axis, out of `axes` axes; `shape` is that of the operand.
pub(super) fn in_range(axis: i64, axes: usize, shape: &Shape, span: Span) -> Evaluated<usize> {
    let rank = i64::try_from(axes).unwrap_or(i64::MAX);
    let from_start = if axis < 0 { axis.saturating_add(rank) } else { axis };
    usize::try_from(from_start).ok().filter(|a| *a < axes).ok_or_else(|| {
        let expected = match rank {
            0 => "an operand with axes: a scalar has none".to_owned(),
            _ => format!("an axis from -{rank} to {}, found {axis}", rank - 1),
        };
        Diagnostic::error(codes::SHAPE_MISMATCH, format!("there is no axis {axis}"))
            .label(span, format!("the operand has shape {shape}"))
            .note(format!("expected {expected}"))
            .into()
    })
}

/// The error about the axis of a fold; `max(a, b)` means the larger of two values in other languages.
fn of_two(by: Reduction, failure: Failure) -> Failure {
    let (name, elementwise) = match by {
        Reduction::Max => ("max", "maximum"),
        Reduction::Min => ("min", "minimum"),
        Reduction::Sum | Reduction::Mean | Reduction::Prod | Reduction::LogSumExp => return failure,
        Reduction::ArgMax | Reduction::ArgMin => return failure,
        Reduction::Any | Reduction::All => return failure,
    };
    match failure {
        Failure::Bad(mut found) if found.code != codes::SHAPE_MISMATCH => {
            let help = format!("`{name}(x, axis)` is along an axis; of two values: `{elementwise}(a, b)`");
            found.help = vec![help];
            Failure::Bad(found)
        }
        failure => failure,
    }
}
