//! Resolved nodes: names are bound, calls are distinguished from operands, merges are grouped. There is one [`Node`]
//! for each node of the source, shared by all its instances; it contains no types and no values.
//!
//! A node with structure ([`Structure`]), or that calls a node with structure, is a *template*: `expand` makes copies
//! of it without structure, and all later stages see only the copies.

mod call;
mod order;

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::{FileId, IndexVec, Span, entity_id};
use rml_ir::DType;
use rml_ir::typed::Rule;
use rml_syntax::ast::{BinaryOp, DefinitionForm, Literal, UnaryOp};

use crate::builtins::Builtin;

pub(crate) use call::{Along, Call, Clauses};
pub(crate) use order::Order;

entity_id!(
    /// A node of the source.
    SourceId,
    "s"
);
entity_id!(
    /// A name of one node: a formal, a defined variable or a named dimension.
    Local,
    "l"
);
entity_id!(
    /// An expression of one node.
    ExprId,
    "x"
);

/// A resolved node.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: Arc<str>,
    pub(crate) file: FileId,
    /// The place of the interface.
    pub(crate) span: Span,
    pub(crate) name_span: Span,
    /// The formals, in the order of their ids.
    pub(crate) formals: Vec<Local>,
    pub(crate) outputs: Vec<Local>,
    pub(crate) locals: IndexVec<Local, LocalData>,
    pub(crate) exprs: IndexVec<ExprId, Expr>,
    pub(crate) equations: Vec<Equation>,
    /// Whether the node is an extern node: it has no equations, and an output that is not an input.
    pub(crate) is_extern: bool,
    /// The nodes that the node's text names, including calls with errors.
    pub(crate) names: Vec<SourceId>,
    /// The role of each name, determined by the positions in which it is used; set by `usage`.
    pub(crate) roles: IndexVec<Local, Role>,
    /// The static names that equations define, each after the names that it uses.
    pub(crate) static_order: Vec<Local>,
    /// The form of the node's definition. A constant or case has no input and one output; an enumeration has neither;
    /// the outputs of a record are its inputs.
    pub(crate) form: DefinitionForm,
    /// Whether `expand` makes copies of the node.
    pub(crate) template: bool,
    /// In a copy: the number of the node's first adjoints that read parameters and do not update them.
    pub(crate) held: u8,
    /// In a copy: the ranges of expressions that belong to equations of families, each with its place as text.
    pub(crate) members: Vec<(ExprId, ExprId, Arc<str>)>,
    /// In a copy: the literals that are cases, with their enumerations.
    pub(crate) cases: Option<Box<IndexMap<ExprId, SourceId>>>,
    /// In a copy: the rules that update the node's parameters, if that is not `diff_param`.
    pub(crate) rules: Option<Box<IndexMap<ExprId, Rule>>>,
    /// In a copy: the flags that restart each delay.
    pub(crate) restarts: Option<Box<IndexMap<ExprId, Vec<Local>>>>,
    /// In a copy: the names of the node's shared instances, by their numbers.
    pub(crate) shares: Vec<(Arc<str>, Span)>,
    /// In templates with automata only: the states, and the equations in each of them.
    pub(crate) states: Option<Box<States>>,
    /// For variables that are the number of a state: the names of their values.
    pub(crate) numbered: IndexMap<Local, Arc<[Arc<str>]>>,
}

impl Node {
    /// The state in which an equation runs.
    pub(crate) fn state_of(&self, equation: usize) -> Option<usize> {
        self.states.as_ref()?.of.get(&equation).copied()
    }

    /// The equations that run in states, each with its state.
    pub(crate) fn states(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.states.iter().flat_map(|states| states.of.iter().map(|(at, state)| (*at, *state)))
    }

    /// The state at an index.
    pub(crate) fn state(&self, at: usize) -> &State {
        &self.states.as_ref().expect("an equation of a state has said so").all[at]
    }
}

/// The states of the automata of a node.
#[derive(Default, Debug)]
pub(crate) struct States {
    pub(crate) all: Vec<State>,
    /// The state in which each of these equations runs.
    pub(crate) of: IndexMap<usize, usize>,
}

/// A state of an automaton: its equations run in the cycles in which a variable has a given number.
#[derive(Debug)]
pub(crate) struct State {
    /// The state that contains the automaton.
    pub(crate) outer: Option<usize>,
    /// The variable.
    pub(crate) value: Local,
    pub(crate) number: usize,
    /// The names of all states of the automaton.
    pub(crate) names: Arc<[Arc<str>]>,
    /// The flag that is true where the delays in this state restart.
    pub(crate) restart: Option<Local>,
    /// The prefix of the paths of instances.
    pub(crate) path: Arc<str>,
}

/// A shared instance: `share u = net;`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Share {
    /// The copy that contains the shared instance.
    pub(crate) owner: SourceId,
    /// The number of the shared instance within this copy.
    pub(crate) number: usize,
}

/// The role of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// A stream.
    Stream,
    /// A compile-time value.
    Static,
    /// A compile-time value that is also used as a constant stream.
    Both,
    /// A formal that is not used; its role depends on the actual.
    Unused,
}

/// A name of a node.
#[derive(Debug)]
pub(crate) struct LocalData {
    pub(crate) name: Arc<str>,
    /// The place of the name's declaration or definition.
    pub(crate) span: Span,
    pub(crate) kind: LocalKind,
    /// The types written for the name, in the interface and at its equation.
    pub(crate) types: Vec<TypeDecl>,
    /// The declared clock.
    pub(crate) clock: Option<Clock>,
    /// In copies: the element type of a field whose shape is not written for this variable, and the place of the type.
    pub(crate) element: Option<(Element, Span)>,
}

/// The origin of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LocalKind {
    /// A formal.
    Formal,
    /// A result of an equation.
    Defined {
        /// The index of the equation.
        equation: usize,
    },
    /// A dimension bound by the shape of a formal.
    Dim,
    /// A name without a definition, which is reported.
    Undefined,
    /// A formal that is a node, or a shared instance. This kind and the following ones occur in templates only.
    Node,
    /// The variables with this name and an index.
    Family,
    /// The index of an equation.
    Index,
    /// A constant.
    Constant(SourceId),
}

/// A declared clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) cond: Local,
    pub(crate) positive: bool,
    pub(crate) span: Span,
}

/// A type as written.
#[derive(Debug)]
pub(crate) struct TypeDecl {
    pub(crate) element: Element,
    pub(crate) dims: Vec<Item>,
    pub(crate) span: Span,
}

/// The part of a type before the shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Element {
    Plain(DType),
    /// A case of an enumeration.
    Case(SourceId),
    /// A record, which has no shape; in templates only.
    Record(SourceId),
}

impl Element {
    /// The element type of the values; none for a record.
    pub(crate) fn dtype(self) -> Option<DType> {
        match self {
            Element::Plain(dtype) => Some(dtype),
            Element::Case(_) => Some(DType::Int),
            Element::Record(_) => None,
        }
    }
}

/// An entry of a shape or array.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    /// One element.
    Expr(ExprId),
    /// All elements of a static array.
    Splice(Local, Span),
}

/// An equation.
#[derive(Debug)]
pub(crate) struct Equation {
    /// The defined variables; `None` if a result is discarded.
    pub(crate) lhs: Vec<(Option<Local>, Span)>,
    pub(crate) rhs: ExprId,
    pub(crate) span: Span,
    /// In templates only: the members of families that the equation defines, and their indices.
    pub(crate) family: Option<Box<Family>>,
}

/// An expression.
#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
}

impl Along {
    /// The subexpressions, in textual order.
    pub(crate) fn exprs(&self) -> Vec<ExprId> {
        let mut axes: Vec<ExprId> = self.axes.iter().flatten().copied().collect();
        axes.dedup();
        axes
    }
}

/// The forms of expressions.
#[derive(Debug)]
pub(crate) enum ExprKind {
    Literal(Literal),
    /// The labels of `einsum`.
    Text(Arc<str>),
    Local(Local),
    Array(Vec<Item>),
    /// An argument of `unindex` that is a slice or `..`.
    Entry(Index),
    Index {
        base: ExprId,
        indices: Vec<Index>,
    },
    Unary(UnaryOp, ExprId),
    Binary(BinaryOp, ExprId, ExprId),
    If {
        cond: ExprId,
        then: ExprId,
        other: ExprId,
    },
    Fby {
        init: ExprId,
        next: ExprId,
    },
    FbyBack {
        init: ExprId,
        next: ExprId,
    },
    Post(ExprId),
    When {
        value: ExprId,
        cond: ExprId,
    },
    Merge {
        cond: ExprId,
        on_true: ExprId,
        on_false: ExprId,
    },
    Builtin {
        which: Builtin,
        args: Vec<ExprId>,
    },
    Call(Box<Call>),
    /// In copies: the parameter of a shared instance of the node at this path, or all its parameters as a vector.
    Params(Share, Arc<str>),
    /// A form that occurs in templates only.
    Structure(Structure),
    /// An expression in error, which is reported; its parts are still checked for their own errors.
    Error(Vec<ExprId>),
}

/// An entry of an index list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Index {
    At(ExprId),
    Slice { lo: Option<ExprId>, hi: Option<ExprId>, step: Option<ExprId>, span: Span },
    Ellipsis(Span),
}

impl Node {
    /// The position of a formal.
    pub(crate) fn position(&self, formal: Local) -> Option<usize> {
        self.formals.binary_search(&formal).ok()
    }

    /// The names of the static parameters.
    pub(crate) fn statics(&self) -> impl Iterator<Item = &str> {
        let is_static = |formal: &&Local| matches!(self.roles[**formal], Role::Static | Role::Both);
        self.formals.iter().filter(is_static).map(|formal| &**self.name_of(*formal))
    }

    /// The name of a local.
    pub(crate) fn name_of(&self, local: Local) -> &Arc<str> {
        &self.locals[local].name
    }

    /// Whether a formal has a written type, which makes it a stream.
    pub(crate) fn is_typed(&self, local: Local) -> bool {
        !self.locals[local].types.is_empty()
    }

    /// The named dimension, if an entry of a shape is one.
    pub(crate) fn dim(&self, item: &Item) -> Option<Local> {
        let local = match *item {
            Item::Splice(local, _) => local,
            Item::Expr(e) => match self.exprs[e].kind {
                ExprKind::Local(local) => local,
                _ => return None,
            },
        };
        (self.locals[local].kind == LocalKind::Dim).then_some(local)
    }

    /// Whether the shape written for a formal binds a named dimension.
    pub(crate) fn binds(&self, formal: Local) -> bool {
        let mut dims = self.locals[formal].types.iter().flat_map(|ty| &ty.dims);
        dims.any(|item| self.dim(item).is_some())
    }

    /// The call, if an expression is one.
    pub(crate) fn as_call(&self, expr: ExprId) -> Option<&Call> {
        if let ExprKind::Call(call) = &self.exprs[expr].kind { Some(call) } else { None }
    }
}

impl ExprKind {
    /// The direct subexpressions that are evaluated as streams or statics, in textual order.
    pub(crate) fn children(&self) -> Vec<ExprId> {
        match self {
            ExprKind::Literal(_) | ExprKind::Text(_) | ExprKind::Local(_) | ExprKind::Params(..) => {
                Vec::new()
            }
            ExprKind::Error(parts) => parts.clone(),
            ExprKind::Array(items) => items.iter().filter_map(Item::expr).collect(),
            ExprKind::Entry(index) => index.exprs(),
            ExprKind::Index { base, indices } => {
                let mut all = vec![*base];
                indices.iter().for_each(|i| all.extend(i.exprs()));
                all
            }
            ExprKind::Unary(_, a) | ExprKind::Post(a) => vec![*a],
            ExprKind::Binary(_, a, b) => vec![*a, *b],
            ExprKind::If { cond, then, other } => vec![*cond, *then, *other],
            ExprKind::Fby { init, next } | ExprKind::FbyBack { init, next } => vec![*init, *next],
            ExprKind::When { value, cond } => vec![*value, *cond],
            ExprKind::Merge { cond, on_true, on_false } => vec![*cond, *on_true, *on_false],
            ExprKind::Builtin { args, .. } => args.clone(),
            ExprKind::Call(call) => {
                call.args.iter().copied().chain(call.clauses.values()).chain(call.clauses.axes()).collect()
            }
            ExprKind::Structure(structure) => structure.children(),
        }
    }
}

impl Item {
    /// The expression, unless the entry is a splice.
    pub(crate) fn expr(&self) -> Option<ExprId> {
        if let Item::Expr(e) = self { Some(*e) } else { None }
    }
}

impl Index {
    /// The expressions in the entry.
    pub(crate) fn exprs(&self) -> Vec<ExprId> {
        match *self {
            Index::At(e) => vec![e],
            Index::Slice { lo, hi, step, .. } => [lo, hi, step].into_iter().flatten().collect(),
            Index::Ellipsis(_) => Vec::new(),
        }
    }
}

/// The members of families that an equation defines, and its indices.
#[derive(Debug)]
pub(crate) struct Family {
    /// For each left side: the member of a family, unless it is a plain variable.
    pub(crate) members: Vec<Option<Member>>,
    /// `for k < n`.
    pub(crate) range: Option<Range>,
}

/// A member of a family on the left of an equation.
#[derive(Debug)]
pub(crate) struct Member {
    /// The index of the member.
    pub(crate) index: ExprId,
    /// The types written for the member.
    pub(crate) types: Vec<TypeDecl>,
}

/// The indices of an equation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) index: Local,
    /// The first index; 0 if missing.
    pub(crate) first: Option<ExprId>,
    /// The position after the last index.
    pub(crate) end: ExprId,
    pub(crate) span: Span,
}

/// Forms that only templates have: families of variables, nodes as arguments, choices that are made at compile time.
#[derive(Debug)]
pub(crate) enum Structure {
    /// `h[k]`: a member of a family.
    Member { family: Local, index: ExprId },
    /// `h[1:3]`: some members of a family, stacked.
    Members { family: Local, part: Index },
    /// A call of a node that is an argument.
    Apply(Box<Apply>),
    /// A node as an argument.
    Node(Box<Passed>),
    /// An `if` that is decided at compile time.
    Choose { cond: ExprId, then: ExprId, other: ExprId },
    /// `s.h`: a field of a record.
    Field { base: ExprId, field: Arc<str>, span: Span },
    /// `match p (Idle -> a, ..)`, with all cases of the enumeration in its order.
    Match { value: ExprId, cases: Vec<(SourceId, ExprId)> },
    /// The value in the current state of an automaton, by the number of the state.
    States { value: ExprId, names: Arc<[Arc<str>]>, cases: Vec<ExprId> },
    /// `share u = net by g;`, the right side of an equation that defines no variable.
    Share { name: Local, node: ExprId, by: Option<ExprId> },
    /// `param(k) by g`.
    By { param: ExprId, rule: ExprId },
    /// `u.params.h[1].kernel`, with the path after `params`.
    Params { of: Local, path: Vec<Segment> },
}

/// A part of the path of a parameter.
#[derive(Clone, Debug)]
pub(crate) enum Segment {
    Name(Arc<str>),
    /// `[1]`
    Index(ExprId),
}

/// A call of a node that is an argument: `f(x)`, `diff_f(x, true, d)`.
#[derive(Debug)]
pub(crate) struct Apply {
    pub(crate) formal: Local,
    /// The order to which the node is differentiated.
    pub(crate) order: Order,
    pub(crate) name_span: Span,
    pub(crate) args: Vec<ExprId>,
    pub(crate) clauses: Clauses,
}

/// A node as an argument: `dense(64, _)`, `lstm_layer`, `diff_f`.
#[derive(Debug)]
pub(crate) struct Passed {
    pub(crate) target: Target,
    /// The order to which the node is differentiated.
    pub(crate) order: Order,
    /// The arguments that are given; `None` for an open one. If only the name is written, all arguments are open.
    pub(crate) given: Option<Vec<Option<ExprId>>>,
}

/// The meaning of a name before a parenthesis, or of a name in the place of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    Source(SourceId),
    /// A node formal.
    Formal(Local),
    Builtin(Builtin),
}

impl Structure {
    /// The direct subexpressions, in textual order.
    pub(crate) fn children(&self) -> Vec<ExprId> {
        match self {
            Structure::Member { index, .. } => vec![*index],
            Structure::Members { part, .. } => part.exprs(),
            Structure::Apply(apply) => {
                apply.args.iter().copied().chain(apply.clauses.values()).chain(apply.clauses.axes()).collect()
            }
            Structure::Node(passed) => passed.given.iter().flatten().flatten().copied().collect(),
            Structure::Choose { cond, then, other } => vec![*cond, *then, *other],
            Structure::Field { base, .. } => vec![*base],
            Structure::Share { node, by, .. } => std::iter::once(*node).chain(*by).collect(),
            Structure::By { param, rule } => vec![*param, *rule],
            Structure::Params { path, .. } => {
                let index = |segment: &Segment| if let Segment::Index(e) = segment { Some(*e) } else { None };
                path.iter().filter_map(index).collect()
            }
            Structure::States { value, cases, .. } => std::iter::once(value).chain(cases).copied().collect(),
            Structure::Match { value, cases } => {
                std::iter::once(*value).chain(cases.iter().map(|(_, value)| *value)).collect()
            }
        }
    }
}

impl Family {
    /// The expressions that determine which variables an equation defines.
    pub(crate) fn exprs(&self) -> Vec<ExprId> {
        let members = self.members.iter().flatten().map(|member| member.index);
        let bounds = self.range.iter().flat_map(|range| range.first.into_iter().chain([range.end]));
        members.chain(bounds).collect()
    }
}

/// Whether a node itself contains structure.
pub(crate) fn has_own(node: &Node) -> bool {
    let special = |kind: LocalKind| match kind {
        LocalKind::Node | LocalKind::Family | LocalKind::Index | LocalKind::Constant(_) => true,
        LocalKind::Formal | LocalKind::Defined { .. } | LocalKind::Dim | LocalKind::Undefined => false,
    };
    let is_named = |ty: &TypeDecl| !matches!(ty.element, Element::Plain(_));
    let restarts = |kind: &ExprKind| match kind {
        ExprKind::Structure(_) => true,
        ExprKind::Call(call) => {
            let Clauses { every: _, restart, by, along } = &call.clauses;
            restart.is_some() || along.is_some() || by.is_some() || call.order.held > 0
        }
        _ => false,
    };
    node.form == DefinitionForm::Record
        || node.locals.iter().any(|data| special(data.kind) || data.types.iter().any(is_named))
        || node.exprs.iter().any(|e| restarts(&e.kind))
}
