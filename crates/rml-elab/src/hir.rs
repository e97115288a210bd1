//! Resolved nodes: names are bound, calls are told from operands, merges are grouped. There is one [`Node`] for each
//! node of the source, shared by all its instances; it holds no types and no values.
//!
//! A node that has structure ([`Structure`]), or calls one that has, is a *template*: `expand` makes copies of
//! it without structure, and everything after it sees only these.

mod call;
mod order;

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::{FileId, IndexVec, Span, entity_id};
use rml_ir::DType;
use rml_ir::typed::Rule;
use rml_syntax::ast::{BinaryOp, Form, Literal, UnaryOp};

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
    /// The interface.
    pub(crate) span: Span,
    pub(crate) name_span: Span,
    /// In the order of their numbers.
    pub(crate) formals: Vec<Local>,
    pub(crate) outputs: Vec<Local>,
    pub(crate) locals: IndexVec<Local, LocalData>,
    pub(crate) exprs: IndexVec<ExprId, Expr>,
    pub(crate) equations: Vec<Equation>,
    /// No equation, and an output that is no input.
    pub(crate) is_extern: bool,
    /// The nodes that its text names, those in calls with errors included.
    pub(crate) names: Vec<SourceId>,
    /// What each name is, by the positions it is used in; set by `usage`.
    pub(crate) roles: IndexVec<Local, Role>,
    /// Static names that equations define, each after those that it uses.
    pub(crate) static_order: Vec<Local>,
    /// What it is. A constant or case has no input, and one output; an enumeration has neither; the outputs of a record
    /// are its inputs.
    pub(crate) form: Form,
    /// Whether `expand` makes copies of it.
    pub(crate) template: bool,
    /// In a copy: how many of its adjoints, the first ones, read parameters and do not update them.
    pub(crate) held: u8,
    /// In a copy, the expressions of equations of families: from which one on, up to which, and where they belong.
    pub(crate) members: Vec<(ExprId, ExprId, Arc<str>)>,
    /// In a copy, the literals that are cases, with their enumerations.
    pub(crate) cases: Option<Box<IndexMap<ExprId, SourceId>>>,
    /// In a copy, what updates its parameters, if that is not `diff_param`.
    pub(crate) rules: Option<Box<IndexMap<ExprId, Rule>>>,
    /// In a copy, what restarts its delays.
    pub(crate) restarts: Option<Box<IndexMap<ExprId, Vec<Local>>>>,
    /// In a copy, the names of its shared instances, by their numbers.
    pub(crate) shares: Vec<(Arc<str>, Span)>,
    /// In templates with automata only: which equations run in their states.
    pub(crate) states: Option<Box<States>>,
    /// The names of the values of variables that are the number of a state.
    pub(crate) numbered: IndexMap<Local, Arc<[Arc<str>]>>,
}

impl Node {
    /// The state that an equation runs in.
    pub(crate) fn state_of(&self, equation: usize) -> Option<usize> {
        self.states.as_ref()?.of.get(&equation).copied()
    }

    /// The states that equations run in, by their numbers.
    pub(crate) fn states(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.states.iter().flat_map(|states| states.of.iter().map(|(at, state)| (*at, *state)))
    }

    /// A state that an equation runs in, or one around it.
    pub(crate) fn state(&self, at: usize) -> &State {
        &self.states.as_ref().expect("an equation of a state has said so").all[at]
    }
}

/// The states of the automata of a node.
#[derive(Default, Debug)]
pub(crate) struct States {
    pub(crate) all: Vec<State>,
    /// The states that equations run in, by their numbers.
    pub(crate) of: IndexMap<usize, usize>,
}

/// Where equations of an automaton run: in the cycles in which a variable has a number.
#[derive(Debug)]
pub(crate) struct State {
    /// The state that contains the automaton.
    pub(crate) outer: Option<usize>,
    /// The variable, and its number here.
    pub(crate) value: Local,
    pub(crate) number: usize,
    /// The names of all numbers.
    pub(crate) names: Arc<[Arc<str>]>,
    /// The flag that is true where the delays in this state restart.
    pub(crate) restart: Option<Local>,
    /// The prefix of the paths of instances.
    pub(crate) path: Arc<str>,
}

/// A shared instance: `share u = net;`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Share {
    /// The copy that it stands in.
    pub(crate) owner: SourceId,
    /// Which one of that copy.
    pub(crate) number: usize,
}

/// What a name is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// A stream.
    Stream,
    /// A compile-time value.
    Static,
    /// A compile-time value that is used as a constant stream too.
    Both,
    /// A formal that nothing uses: what it is depends on the actual.
    Unused,
}

/// A name of a node.
#[derive(Debug)]
pub(crate) struct LocalData {
    pub(crate) name: Arc<str>,
    /// Where it is declared or defined.
    pub(crate) span: Span,
    pub(crate) kind: LocalKind,
    /// Types written for it: in the interface, at its equation.
    pub(crate) types: Vec<TypeDecl>,
    /// Its declared clock.
    pub(crate) clock: Option<Clock>,
    /// In copies: the element type of a field whose shape is not written for this variable, and where it is written.
    pub(crate) element: Option<(Element, Span)>,
}

/// Where a name comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LocalKind {
    /// The formal of that position.
    Formal,
    /// A result of an equation.
    Defined {
        /// Which equation.
        equation: usize,
    },
    /// A dimension bound by the shape of a formal.
    Dim,
    /// Nothing defines it, which is reported.
    Undefined,
    /// A formal that takes a node, or a shared instance of one. This kind and those below occur in templates only.
    Node,
    /// The variables of that name with an index.
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

/// What a type says beside the shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Element {
    Plain(DType),
    /// A case of that enumeration.
    Case(SourceId),
    /// That record, which has no shape of its own. In templates only.
    Record(SourceId),
}

impl Element {
    /// The element type of the values, unless this is a record.
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
    /// What it defines; `None` = discarded.
    pub(crate) lhs: Vec<(Option<Local>, Span)>,
    pub(crate) rhs: ExprId,
    pub(crate) span: Span,
    /// In templates only: what it defines of families, and for which indices.
    pub(crate) family: Option<Box<Family>>,
}

/// An expression.
#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
}

impl Along {
    /// The expressions inside, in textual order.
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
    /// In copies: the parameters of a shared instance of the node: the one of that path, or all of them as a vector.
    Params(Share, Arc<str>),
    /// In templates only.
    Structure(Structure),
    /// Reported already; its parts are still looked at, for errors of their own.
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
    /// Which formal a local is.
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

    /// The named dimension that an entry of a shape is.
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

    /// The call at the top of an expression.
    pub(crate) fn as_call(&self, expr: ExprId) -> Option<&Call> {
        if let ExprKind::Call(call) = &self.exprs[expr].kind { Some(call) } else { None }
    }
}

impl ExprKind {
    /// The expressions directly inside that are evaluated as streams or statics, in textual order.
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
    /// The expression, unless this is a splice.
    pub(crate) fn expr(&self) -> Option<ExprId> {
        if let Item::Expr(e) = self { Some(*e) } else { None }
    }
}

impl Index {
    /// The expressions inside.
    pub(crate) fn exprs(&self) -> Vec<ExprId> {
        match *self {
            Index::At(e) => vec![e],
            Index::Slice { lo, hi, step, .. } => [lo, hi, step].into_iter().flatten().collect(),
            Index::Ellipsis(_) => Vec::new(),
        }
    }
}

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

/// What only templates have: families of variables, nodes as arguments, choices that are made when the program is
/// compiled.
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
    /// An `if` that is decided when the program is compiled.
    Choose { cond: ExprId, then: ExprId, other: ExprId },
    /// `s.h`: a field of a record.
    Field { base: ExprId, field: Arc<str>, span: Span },
    /// `match p (Idle -> a, ..)`: all cases of the enumeration, in its order.
    Match { value: ExprId, cases: Vec<(SourceId, ExprId)> },
    /// The value of the state that an automaton is in, by the number of the state.
    States { value: ExprId, names: Arc<[Arc<str>]>, cases: Vec<ExprId> },
    /// `share u = net by g;`, the right side of an equation that defines no variable.
    Share { name: Local, node: ExprId, by: Option<ExprId> },
    /// `param(k) by g`.
    By { param: ExprId, rule: ExprId },
    /// `u.params.h[1].kernel`: what follows `params`.
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
    /// How often it is differentiated.
    pub(crate) order: Order,
    pub(crate) name_span: Span,
    pub(crate) args: Vec<ExprId>,
    pub(crate) clauses: Clauses,
}

/// A node as an argument: `dense(64, _)`, `lstm_layer`, `diff_f`.
#[derive(Debug)]
pub(crate) struct Passed {
    pub(crate) target: Target,
    /// How often it is differentiated.
    pub(crate) order: Order,
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
    /// The expressions that say which variables an equation defines.
    pub(crate) fn exprs(&self) -> Vec<ExprId> {
        let members = self.members.iter().flatten().map(|member| member.index);
        let bounds = self.range.iter().flat_map(|range| range.first.into_iter().chain([range.end]));
        members.chain(bounds).collect()
    }
}

/// Whether a node itself has structure.
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
    node.form == Form::Record
        || node.locals.iter().any(|data| special(data.kind) || data.types.iter().any(is_named))
        || node.exprs.iter().any(|e| restarts(&e.kind))
}
