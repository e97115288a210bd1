//! Static indices: the entries of `x[..]`, `unindex` and `split`, resolved against the axes.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::Shape;
use rml_ir::op::AxisIndex;

use crate::hir::Index;
use crate::instance::InstanceId;
use crate::statics::Evaluated;
use crate::typed::Typed;

impl Typed<'_> {
    /// One entry for each axis of `shape`, which is the shape of the expression at `base`.
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
            let message = if ellipses > 1 { "`..` occurs only once in an index" } else { "too many indices" };
            let d = Diagnostic::error(codes::SHAPE_MISMATCH, message)
                .label(span, format!("{named} of the axes are named here"))
                .label(base, format!("this has shape {shape}"))
                .note(format!("expected at most {} entries, found {named}", shape.rank()));
            return Err(d
                .help("an index picks elements of a tensor; the `x` of the cycle before is `0.0 fby x`")
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
}

/// The entries that select part number `part` of `of` equal parts.
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
                .label(span, "this is used where one value is expected")
                .help("write it alone on the right of an equation: `a, b = split(x);`"),
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
