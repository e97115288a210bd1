//! Static indices: the entries of `x[..]`, `unindex` and `split`, resolved against the axes.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::Shape;
use rml_ir::op::AxisIndex;
use rml_ir::typed::StaticValue;

use crate::hir::{ExprId, Index};
use crate::infer::Typed;
use crate::instance::InstanceId;
use crate::statics::{Evaluated, Failure, expected};

impl Typed<'_> {
    /// One entry for each axis of `shape`.
    pub(super) fn index_items(
        &self,
        id: InstanceId,
        indices: &[Index],
        shape: &Shape,
        base: Span,
        span: Span,
    ) -> Evaluated<Vec<AxisIndex>> {
        let ellipses = indices.iter().filter(|i| matches!(i, Index::Ellipsis(_))).count();
        let named = indices.len() - ellipses;
        if ellipses > 1 || named > shape.rank() {
            let message = if ellipses > 1 { "`..` stands once in an index" } else { "too many indices" };
            return Err(Diagnostic::error(codes::SHAPE_MISMATCH, message)
                .label(span, format!("{named} of the axes are named here"))
                .label(base, format!("this has shape {shape}"))
                .note(format!("expected at most {} entries, found {named}", shape.rank()))
                .into());
        }
        let mut items = Vec::with_capacity(shape.rank());
        let mut sizes = shape.dims().iter();
        let mut rest = shape.rank() - named;
        for index in indices {
            if matches!(index, Index::Ellipsis(_)) {
                items.extend(sizes.by_ref().take(rest).map(|&d| AxisIndex::whole(d)));
                rest = 0;
            } else if let Some(&size) = sizes.next() {
                items.push(self.statics.axis_index(&self.tree, &self.shapes, id, index, size)?);
            }
        }
        items.extend(sizes.map(|&d| AxisIndex::whole(d)));
        Ok(items)
    }

    /// The entries of `unindex(shape, x, ..)`: `k`, or `[start, len, step]`.
    pub(super) fn unindex_items(
        &self,
        id: InstanceId,
        args: &[ExprId],
        shape: &Shape,
        span: Span,
    ) -> Evaluated<Vec<AxisIndex>> {
        let mut items = Vec::with_capacity(args.len());
        for (&arg, &size) in args.iter().zip(shape.dims()) {
            let value = self.statics.eval(&self.tree, &self.shapes, id, arg)?;
            let at = self.tree.node(id).exprs[arg].span;
            let natural = |v: &StaticValue| match v {
                StaticValue::Int(i) => usize::try_from(*i).ok(),
                _ => None,
            };
            let item = match &value {
                StaticValue::Int(_) => natural(&value).filter(|i| *i < size).map(AxisIndex::At),
                StaticValue::Array(parts) => match parts[..] {
                    [ref a, ref b, StaticValue::Int(step)] => {
                        let step = isize::try_from(step).ok().filter(|&step| step != 0);
                        let slice = |((start, len), step)| AxisIndex::Slice { start, len, step };
                        natural(a).zip(natural(b)).zip(step).map(slice)
                    }
                    _ => None,
                },
                _ => None,
            };
            items.push(item.ok_or_else(|| {
                Failure::from(expected("a position or `[start, len, step]` within the axis", &value, at))
            })?);
        }
        if args.len() > shape.rank() {
            return Err(Diagnostic::error(codes::SHAPE_MISMATCH, "too many entries for `unindex`")
                .label(span, format!("the shape is {shape}"))
                .into());
        }
        items.extend(shape.dims().iter().skip(args.len()).map(|&d| AxisIndex::whole(d)));
        Ok(items)
    }
}

/// The entries that pick part `part` of `of` equal ones.
pub(super) fn split_items(
    part: usize,
    of: usize,
    axis: usize,
    shape: &Shape,
    span: Span,
) -> Evaluated<Vec<AxisIndex>> {
    let size = shape.dims().get(axis).copied();
    let Some(size) = size.filter(|size| of > 0 && size % of == 0) else {
        let d = match (of, size) {
            (0, _) => Diagnostic::error(codes::NOT_A_CALL, "`split` gives several values")
                .label(span, "this stands where one value is asked for")
                .help("let it stand alone on the right of an equation: `a, b = split(x);`"),
            (_, None) => Diagnostic::error(codes::SHAPE_MISMATCH, "a scalar cannot be split").label(span, ""),
            (_, Some(size)) => Diagnostic::error(
                codes::SHAPE_MISMATCH,
                format!("an axis of size {size} cannot be split into {of} equal parts"),
            )
            .label(span, format!("the operand has shape {shape}"))
            .help("parts of different sizes are slices: `x[0:2]`, `x[2:]`"),
        };
        return Err(d.into());
    };
    let mut items: Vec<AxisIndex> = shape.dims().iter().map(|&d| AxisIndex::whole(d)).collect();
    items[axis] = AxisIndex::Slice { start: part * (size / of), len: size / of, step: 1 };
    Ok(items)
}
