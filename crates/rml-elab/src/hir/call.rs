//! Calls of nodes.

use std::sync::Arc;

use rml_base::Span;

use super::{ExprId, Local, Order, Share, SourceId};

/// A call of a node or of an adjoint.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) callee: SourceId,
    /// The order to which the callee is differentiated.
    pub(crate) order: Order,
    pub(crate) name_span: Span,
    pub(crate) args: Vec<ExprId>,
    pub(crate) clauses: Clauses,
    /// The variable of a family with which the path of the instance begins.
    pub(crate) member: Option<Arc<str>>,
    /// In copies: the shared instance that is called.
    pub(crate) share: Option<Share>,
    /// In copies: the flags that restart the delays of the callee, whose last input is the flag.
    pub(crate) restarts: Vec<Local>,
}

/// The clauses of a call after its arguments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clauses {
    /// `every end`
    pub(crate) every: Option<ExprId>,
    /// `restart r`, in templates only.
    pub(crate) restart: Option<ExprId>,
    /// `by g`, in templates only.
    pub(crate) by: Option<ExprId>,
    /// `along 0`
    pub(crate) along: Option<Along>,
}

impl Clauses {
    /// The expressions in the clauses, except axes.
    pub(crate) fn values(&self) -> impl Iterator<Item = ExprId> {
        self.every.into_iter().chain(self.restart).chain(self.by)
    }

    /// The axes.
    pub(crate) fn axes(&self) -> impl Iterator<Item = ExprId> {
        self.along.iter().flat_map(Along::exprs)
    }
}

/// The axes that a call runs along: `along 0`, `along back (0, _)`.
#[derive(Clone, Debug)]
pub(crate) struct Along {
    /// For each argument, the axis of its entries; none if all entries get the whole argument. In templates, a single
    /// axis applies to all arguments.
    pub(crate) axes: Vec<Option<ExprId>>,
    /// Whether the call runs from the last entry to the first one.
    pub(crate) back: bool,
}
