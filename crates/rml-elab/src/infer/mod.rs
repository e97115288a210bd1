//! Inference over the tree of instances: element types by unification ([`dtype`]), then shapes as a least fixpoint ([`shape`]).

mod adjoint;
mod dtype;
mod feedback;
mod flow;
mod hint;
mod independent;
mod shape;

use indexmap::{IndexMap, IndexSet};
use rml_ir::{DType, Precision, Shape};

use crate::hir::{ExprId, Local};
use crate::instance::{InstanceId, Tree};
use crate::report::Report;
use crate::statics::Statics;

pub(crate) use adjoint::{Adjoint, Port};
pub(crate) use flow::Failed;
pub(crate) use independent::independent;

/// A tree of instances with the types of all its variables.
#[derive(Debug)]
pub(crate) struct Typed<'p> {
    pub(crate) tree: Tree<'p>,
    /// By number of variable.
    pub(crate) dtypes: Vec<DType>,
    /// By number of variable; `None` where an error keeps the shape from being known.
    pub(crate) shapes: Vec<Option<Shape>>,
    pub(crate) statics: Statics,
    /// The interfaces of the adjoints that are called.
    pub(crate) adjoints: IndexMap<(InstanceId, ExprId), Adjoint>,
    /// By number of variable: whether its element type is not known because of an error.
    pub(crate) lost: Vec<bool>,
    /// Whether something in error is reported already.
    pub(crate) in_error: bool,
    /// Expressions whose element types are in error, which is reported.
    pub(crate) broken: IndexSet<(InstanceId, ExprId)>,
    /// What was wrong when shapes had settled; it may be a consequence of something else.
    pub(crate) bad: Vec<Failed>,
}

impl Typed<'_> {
    /// The shape of a variable.
    pub(crate) fn shape(&self, id: InstanceId, local: Local) -> Option<&Shape> {
        self.shapes[self.tree.slot(id, local)].as_ref()
    }

    /// The shape of an output, which may be a static formal.
    fn output_shape(&self, id: InstanceId, local: Local) -> Option<Shape> {
        if self.tree.is_stream(id, local) {
            return self.shape(id, local).cloned();
        }
        let span = self.tree.node(id).locals[local].span;
        self.named_constant(id, local, span, Precision::F64).ok().map(|c| c.ty.shape)
    }

    /// The element type of a variable.
    pub(crate) fn dtype(&self, id: InstanceId, local: Local) -> DType {
        self.dtypes[self.tree.slot(id, local)]
    }
}

/// Infers all types.
pub(crate) fn infer<'p>(tree: Tree<'p>, report: &mut Report) -> Typed<'p> {
    let before = report.errors();
    let dtypes = dtype::infer(&tree, report);
    let in_error =
        tree.program.in_error || tree.in_error || report.errors() > before || dtypes.lost.contains(&true);
    let statics = Statics::new(&tree, dtypes.nums, &dtypes.of);
    let shapes = vec![None; tree.slots];
    let mut typed = Typed {
        tree,
        dtypes: dtypes.of,
        shapes,
        statics,
        adjoints: dtypes.adjoints,
        lost: dtypes.lost,
        in_error,
        broken: dtypes.broken,
        bad: Vec::new(),
    };
    shape::infer(&mut typed, report);
    typed
}
