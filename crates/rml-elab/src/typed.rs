//! The result of inference: a tree of instances with element types and shapes.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::Diagnostic;
use rml_ir::{DType, Names, Shape};

use crate::hir::{ExprId, Local, SourceId};
use crate::infer::adjoint::Adjoint;
use crate::instance::{InstanceId, Tree};
use crate::statics::Statics;

/// An error, and the expression in error, unless the error concerns an interface.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) id: InstanceId,
    pub(crate) expr: Option<ExprId>,
    pub(crate) diagnostic: Diagnostic,
}

/// A tree of instances with the types of all its variables.
#[derive(Debug)]
pub(crate) struct Typed<'p> {
    pub(crate) tree: Tree<'p>,
    /// The element types, by the numbers of variables.
    pub(crate) dtypes: Vec<DType>,
    /// The variables whose type is an enumeration, by their numbers, with the enumeration.
    pub(crate) enumerations: IndexMap<usize, SourceId>,
    /// The shapes, by the numbers of variables; `None` if a shape is unknown because of an error.
    pub(crate) shapes: Vec<Option<Shape>>,
    pub(crate) statics: Statics,
    /// The interfaces of the adjoints that are called.
    pub(crate) adjoints: IndexMap<(InstanceId, ExprId), Adjoint>,
    /// For each variable: whether its element type is unknown because of an error.
    pub(crate) lost: Vec<bool>,
    /// The shapes of expressions that name parameters of shared instances.
    pub(crate) params: IndexMap<(InstanceId, ExprId), Shape>,
    /// Whether an error has been reported already.
    pub(crate) in_error: bool,
    /// Expressions whose element types are in error, which is reported.
    pub(crate) broken: IndexSet<(InstanceId, ExprId)>,
    /// The errors that remain at the fixpoint of shapes; some may follow from other errors.
    pub(crate) bad: Vec<Failed>,
}

impl Typed<'_> {
    /// The shape of a variable.
    pub(crate) fn shape(&self, id: InstanceId, local: Local) -> Option<&Shape> {
        self.shapes[self.tree.slot(id, local)].as_ref()
    }

    /// The element type of a variable.
    pub(crate) fn dtype(&self, id: InstanceId, local: Local) -> DType {
        self.dtypes[self.tree.slot(id, local)]
    }

    /// The enumeration of a variable.
    pub(crate) fn enumeration(&self, id: InstanceId, local: Local) -> Option<SourceId> {
        self.enumerations.get(&self.tree.slot(id, local)).copied()
    }

    /// The names of the cases, if the type of a variable is an enumeration.
    pub(crate) fn cases(&self, id: InstanceId, local: Local) -> Option<Names> {
        let program = self.tree.program;
        if let Some(names) = self.tree.node(id).numbered.get(&local) {
            return Some(names.iter().map(Arc::clone).collect());
        }
        let of = self.enumeration(id, local).or_else(|| self.checked(id, local))?;
        let cases = program.scopes.enums.get(&of)?;
        Some(cases.iter().map(|case| Arc::clone(&program.nodes[*case].name)).collect())
    }

    /// The enumeration of an input of the root that is an int and is checked to be a case.
    fn checked(&self, id: InstanceId, local: Local) -> Option<SourceId> {
        let node = self.tree.node(id);
        if !node.formals.contains(&local) {
            return None;
        }
        let name = format!("{}.case", node.name_of(local));
        let (checked, _) = node.locals.iter_enumerated().find(|(_, data)| *data.name == *name)?;
        self.enumeration(id, checked)
    }
}
