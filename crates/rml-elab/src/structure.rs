//! What a template has beyond a plain node: families of variables, nodes as arguments, choices that are made when the
//! program is compiled.

use rml_base::Span;

use crate::builtins::Builtin;
use crate::hir::{ExprId, Index, Local, Node, SourceId, TypeDecl};

/// What an equation defines of families, and for which indices.
#[derive(Debug)]
pub(crate) struct Family {
    /// By left side: which member of a family, unless it is a variable of its own.
    pub(crate) members: Vec<Option<Member>>,
    /// `for k < n`.
    pub(crate) range: Option<Range>,
}

/// A member of a family on the left of an equation.
#[derive(Debug)]
pub(crate) struct Member {
    /// Its index.
    pub(crate) index: ExprId,
    /// The types written for it.
    pub(crate) types: Vec<TypeDecl>,
}

/// The indices of an equation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) index: Local,
    /// The first one, 0 if missing.
    pub(crate) first: Option<ExprId>,
    /// One past the last.
    pub(crate) end: ExprId,
    pub(crate) span: Span,
}

/// The forms that only templates have.
#[derive(Debug)]
pub(crate) enum Structure {
    /// `h[k]`: a member of a family.
    Member { family: Local, index: ExprId },
    /// `h[1:3]`: some members of a family, stacked.
    Members { family: Local, part: Index },
    /// A call of a node that is an argument.
    Apply(Apply),
    /// A node as an argument.
    Node(Passed),
    /// An `if` that is decided when the program is compiled.
    Choose { cond: ExprId, then: ExprId, other: ExprId },
}

/// A call of a node that is an argument: `f(x)`, `diff_f(x, true, d)`.
#[derive(Debug)]
pub(crate) struct Apply {
    pub(crate) formal: Local,
    /// How often it is differentiated.
    pub(crate) order: u8,
    pub(crate) name_span: Span,
    pub(crate) args: Vec<ExprId>,
    /// `every end`.
    pub(crate) every: Option<ExprId>,
}

/// A node as an argument: `dense(64, _)`, `lstm_layer`, `diff_f`.
#[derive(Debug)]
pub(crate) struct Passed {
    pub(crate) target: Target,
    /// How often it is differentiated.
    pub(crate) order: u8,
    /// The arguments that are given; `None` = left open. All are open if only the name is written.
    pub(crate) given: Option<Vec<Option<ExprId>>>,
}

/// What a name before a parenthesis, or a name in the place of a node, stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    Source(SourceId),
    /// An argument of the node.
    Formal(Local),
    Builtin(Builtin),
}

impl Structure {
    /// The expressions directly inside, in textual order.
    pub(crate) fn children(&self) -> Vec<ExprId> {
        match self {
            Structure::Member { index, .. } => vec![*index],
            Structure::Members { part, .. } => part.exprs(),
            Structure::Apply(apply) => apply.args.iter().copied().chain(apply.every).collect(),
            Structure::Node(passed) => passed.given.iter().flatten().flatten().copied().collect(),
            Structure::Choose { cond, then, other } => vec![*cond, *then, *other],
        }
    }
}

impl Family {
    /// The expressions that say which variables an equation defines.
    pub(crate) fn exprs(&self) -> Vec<ExprId> {
        let members = self.members.iter().flatten().map(|member| member.index);
        let bounds = self.range.iter().flat_map(|range| range.first.into_iter().chain([range.end]));
        members.chain(bounds).collect()
    }
}

/// Whether a node itself has structure.
pub(crate) fn has_own(node: &Node) -> bool {
    use crate::hir::{ExprKind, LocalKind};
    let special = |kind: LocalKind| match kind {
        LocalKind::Node | LocalKind::Family | LocalKind::Index | LocalKind::Constant(_) => true,
        LocalKind::Formal | LocalKind::Defined { .. } | LocalKind::Dim | LocalKind::Undefined => false,
    };
    node.locals.iter().any(|data| special(data.kind))
        || node.exprs.iter().any(|e| matches!(e.kind, ExprKind::Structure(_)))
}
