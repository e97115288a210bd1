//! The entries of the arguments of a call along an axis, and the results of the call.

use rml_base::Span;
use rml_ir::{Shape, Type};

use super::axes::in_range;
use crate::hir::{Call, ExprId};
use crate::instance::InstanceId;
use crate::statics::{Evaluated, Failure, limited};
use crate::typed::Typed;

impl Typed<'_> {
    /// The axis of an argument along which a call runs; `None` if all entries get the whole argument.
    pub(crate) fn along(&self, call: &Call, child: InstanceId, position: usize) -> Option<ExprId> {
        let axis = call.clauses.along.as_ref()?.axes.get(position).copied().flatten();
        let formal = *self.tree.node(child).formals.get(position)?;
        axis.filter(|_| self.tree.is_stream(child, formal))
    }

    /// The axis of an argument with that shape, the number of its entries, and the shape of one entry.
    pub(crate) fn entry(
        &self,
        id: InstanceId,
        axis: ExprId,
        shape: &Shape,
    ) -> Evaluated<(usize, usize, Shape)> {
        let axis = self.axis(id, axis, shape)?;
        let mut dims = shape.dims().to_vec();
        let count = dims.remove(axis);
        Ok((axis, count, Shape::new(&dims)))
    }

    /// The axis of the results of a call, as written: that of the first argument with an axis.
    pub(crate) fn along_results(&self, call: &Call, child: InstanceId) -> Option<ExprId> {
        (0..call.args.len()).find_map(|position| self.along(call, child, position))
    }

    /// The axis of a stacked result whose entries have that shape, and the shape of the result.
    pub(crate) fn stacked(
        &self,
        id: InstanceId,
        axis: ExprId,
        count: usize,
        shape: &Shape,
    ) -> Evaluated<(usize, Shape)> {
        let at = self.statics.int(&self.tree, &self.shapes, id, axis)?;
        let span = self.tree.node(id).exprs[axis].span;
        let axis = in_range(at, shape.rank() + 1, shape, span).map_err(|_| no_axis(at, shape, span))?;
        let mut dims = shape.dims().to_vec();
        dims.insert(axis, count);
        Ok((axis, limited(Shape::new(&dims), span)?))
    }

    /// The axis and the type of a stacked result whose entries have the type `ty`.
    pub(crate) fn stacked_type(
        &self,
        id: InstanceId,
        (axis, count): (ExprId, usize),
        ty: &Type,
    ) -> Evaluated<(usize, Type)> {
        let (axis, shape) = self.stacked(id, axis, count, &ty.shape)?;
        Ok((axis, Type { dtype: ty.dtype, shape }))
    }
}

/// The error that the results of the entries have too few axes to be stacked along that axis.
fn no_axis(axis: i64, shape: &Shape, span: Span) -> Failure {
    use rml_base::Diagnostic;
    use rml_base::codes::elab as codes;
    let rank = shape.rank();
    Diagnostic::error(
        codes::SHAPE_MISMATCH,
        format!("results of shape {shape} cannot be stacked along axis {axis}"),
    )
    .label(span, format!("expected an axis from -{} to {rank}", rank + 1))
    .help("run along an earlier axis: `transpose` moves one")
    .into()
}
