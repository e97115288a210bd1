//! The tree of node instances under a root. Its structure does not depend on types or values, because nodes do not
//! recurse (NODE-3). It only depends on the actual of an unused formal whether that formal is static.

use indexmap::IndexMap;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, IndexVec, entity_id};
use rml_ir::Type;
use rml_ir::typed::StaticValue;

use crate::builtins::Builtin;
use crate::hir::{Call, ExprId, ExprKind, Index, Item, Local, LocalKind, Node, Role, SourceId};
use crate::report::Report;
use crate::scope::Program;

entity_id!(
    /// A node instance.
    InstanceId,
    "i"
);

/// The maximum nesting depth of instances.
pub(crate) const MAX_DEPTH: usize = 200;
/// The number of names that are followed to find out whether a static expression is an array.
const MAX_CHAIN: usize = 64;
/// The maximum number of instances.
const MAX_INSTANCES: usize = 100_000;

/// The root node, and the values and types of its formals.
#[derive(Clone, Debug)]
pub(crate) struct RootSpec {
    pub(crate) source: SourceId,
    /// One entry for each formal.
    pub(crate) givens: Vec<RootGiven>,
    /// Sizes of named dimensions; sizes that are missing follow from the types of the inputs.
    pub(crate) dims: IndexMap<String, StaticValue>,
    /// Whether a value is missing that only a caller can give; then no node can be emitted.
    pub(crate) open: bool,
}

/// The meaning of a formal of the root.
#[derive(Clone, Debug)]
pub(crate) enum RootGiven {
    /// A compile-time value.
    Static(StaticValue),
    /// An input of this type; `None` if its type is to be inferred.
    Input(Option<Type>),
    /// A compile-time value that is unknown.
    Open,
    /// An input whose element type is to be inferred; nothing determines its shape.
    Unshaped,
}

/// The meaning of a formal of an instance.
#[derive(Clone, Debug)]
pub(crate) enum Given {
    /// A static expression of the parent.
    Static(ExprId),
    /// An expression of the parent.
    Stream(ExprId),
    /// A value or input of the root.
    Root(RootGiven),
}

/// A node instance.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) source: SourceId,
    /// The instance that contains this instance, the call, and the equation of the call.
    pub(crate) parent: Option<(InstanceId, ExprId, usize)>,
    depth: usize,
    /// The number of the instance's first variable, among the variables of all instances.
    pub(crate) base: usize,
    pub(crate) givens: Vec<Given>,
    /// The instances inside this instance, by call, in textual order.
    pub(crate) calls: IndexMap<ExprId, InstanceId>,
}

/// All instances; parents come before children.
#[derive(Debug)]
pub(crate) struct Tree<'p> {
    pub(crate) program: &'p Program,
    pub(crate) instances: IndexVec<InstanceId, Instance>,
    pub(crate) dims: IndexMap<String, StaticValue>,
    /// The number of variables in all instances.
    pub(crate) slots: usize,
    /// Whether there are too many instances, so that some are omitted.
    pub(crate) truncated: bool,
    /// Whether some calls could not be instantiated, which is reported.
    pub(crate) in_error: bool,
}

impl<'p> Tree<'p> {
    /// Builds the tree under `root`. A call that cannot be instantiated is reported and has no instance.
    pub(crate) fn build(program: &'p Program, root: RootSpec, report: &mut Report) -> Self {
        let mut tree = Tree {
            program,
            instances: IndexVec::new(),
            dims: root.dims,
            slots: 0,
            truncated: false,
            in_error: root.open,
        };
        let givens = root.givens.into_iter().map(Given::Root).collect();
        tree.push(root.source, None, givens);
        let mut next = 0;
        while next < tree.instances.len() && !tree.truncated {
            let id = InstanceId(u32::try_from(next).unwrap_or(u32::MAX));
            tree.calls(id, report);
            next += 1;
        }
        tree
    }

    fn push(
        &mut self,
        source: SourceId,
        parent: Option<(InstanceId, ExprId, usize)>,
        givens: Vec<Given>,
    ) -> InstanceId {
        let depth = parent.map_or(0, |(p, ..)| self.instances[p].depth + 1);
        let base = self.slots;
        self.slots += self.program.nodes[source].locals.len();
        self.instances.push(Instance { source, parent, depth, base, givens, calls: IndexMap::new() })
    }

    /// The node of an instance.
    pub(crate) fn node(&self, id: InstanceId) -> &'p Node {
        &self.program.nodes[self.instances[id].source]
    }

    /// The number of a variable, among the variables of all instances.
    pub(crate) fn slot(&self, id: InstanceId, local: Local) -> usize {
        self.instances[id].base + local.0 as usize
    }

    /// The role of a name in an instance; never [`Role::Unused`].
    pub(crate) fn role(&self, id: InstanceId, local: Local) -> Role {
        let node = self.node(id);
        let given = || node.position(local).and_then(|i| self.instances[id].givens.get(i));
        match node.roles[local] {
            Role::Unused => match given() {
                Some(Given::Static(_) | Given::Root(RootGiven::Static(_) | RootGiven::Open)) => Role::Static,
                _ => Role::Stream,
            },
            // An input of the root that is set from outside.
            Role::Stream => match given() {
                Some(Given::Root(RootGiven::Static(_))) => Role::Both,
                _ => Role::Stream,
            },
            role => role,
        }
    }

    /// Whether the instance has a variable with that name, and not only a static value.
    pub(crate) fn is_stream(&self, id: InstanceId, local: Local) -> bool {
        let node = self.node(id);
        let defined = matches!(node.locals[local].kind, LocalKind::Defined { .. });
        match self.role(id, local) {
            Role::Stream => defined || node.locals[local].kind == LocalKind::Formal,
            Role::Both => defined,
            Role::Static | Role::Unused => false,
        }
    }

    /// Makes the instances of the calls in the stream positions of an instance.
    fn calls(&mut self, id: InstanceId, report: &mut Report) {
        let node = self.node(id);
        for (index, equation) in node.equations.iter().enumerate() {
            if let [(Some(local), _)] = equation.lhs[..]
                && !self.is_stream(id, local)
            {
                continue;
            }
            let mut todo = vec![equation.rhs];
            while let Some(expr) = todo.pop() {
                if let ExprKind::Call(call) = &node.exprs[expr].kind {
                    self.call(id, expr, index, call, report);
                }
                let mut operands = self.operands(id, expr);
                operands.reverse();
                todo.extend(operands);
            }
        }
    }

    fn call(&mut self, id: InstanceId, expr: ExprId, equation: usize, call: &Call, report: &mut Report) {
        let node = self.node(id);
        let callee = &self.program.nodes[call.callee];
        let span = node.exprs[expr].span;
        if call.args.len() < callee.formals.len() {
            self.in_error = true;
            report.push(too_few(callee, call, span));
            return;
        }
        if callee.is_extern {
            self.in_error = true;
            report.push(
                Diagnostic::error(codes::EXTERN_NODE, format!("nothing implements node `{}`", callee.name))
                    .label(call.name_span, "instantiated here")
                    .label(callee.span, "it has outputs, but no equations")
                    .help("add its equations"),
            );
            return;
        }
        if self.instances[id].depth >= MAX_DEPTH || self.instances.len() >= MAX_INSTANCES {
            self.truncated = true;
            report.push(
                Diagnostic::error(codes::INSTANCE_LIMIT, "the program has too many node instances")
                    .label(call.name_span, "no further instance is made here")
                    .note(format!(
                        "expected at most {MAX_INSTANCES} instances, nested at most {MAX_DEPTH} deep; the program has more"
                    )),
            );
            return;
        }
        let mut givens = Vec::with_capacity(callee.formals.len());
        for (&formal, &arg) in callee.formals.iter().zip(&call.args) {
            givens.push(match callee.roles[formal] {
                Role::Static | Role::Both => Given::Static(arg),
                Role::Unused if self.is_static(id, arg) => Given::Static(arg),
                Role::Stream | Role::Unused => Given::Stream(arg),
            });
        }
        let child = self.push(call.callee, Some((id, expr, equation)), givens);
        self.instances[id].calls.insert(expr, child);
    }

    /// Whether an expression can be evaluated at compile time, judged by its form. Arithmetic on arrays, and indices
    /// along several axes, are allowed only for streams.
    fn is_static(&self, id: InstanceId, expr: ExprId) -> bool {
        let node = self.node(id);
        let all = |exprs: Vec<ExprId>| exprs.into_iter().all(|e| self.is_static(id, e));
        match &node.exprs[expr].kind {
            ExprKind::Index { indices, .. } if indices.len() > 1 => false,
            ExprKind::Binary(_, a, b) if [a, b].into_iter().any(|e| self.is_array(id, *e)) => false,
            ExprKind::Literal(_) => true,
            ExprKind::Local(local) => matches!(self.role(id, *local), Role::Static | Role::Both),
            ExprKind::Array(items) => items.iter().all(|item| match *item {
                Item::Expr(e) => self.is_static(id, e),
                Item::Splice(local, _) => matches!(self.role(id, local), Role::Static | Role::Both),
            }),
            ExprKind::Builtin { which, .. } => *which == Builtin::Shape,
            kind @ (ExprKind::Index { .. }
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::If { .. }) => all(kind.children()),
            _ => false,
        }
    }

    /// Whether a static expression may be an array.
    fn is_array(&self, id: InstanceId, expr: ExprId) -> bool {
        let mut at = (id, expr);
        // The number of times that the array is indexed.
        let mut level = 0;
        // Names may refer to other names. If a chain is too long to follow, the expression counts as an array.
        for _ in 0..MAX_CHAIN {
            let (id, expr) = at;
            let node = self.node(id);
            at = match &node.exprs[expr].kind {
                ExprKind::Local(local) => match self.meaning(id, *local) {
                    Meaning::Expr(id, expr) => (id, expr),
                    Meaning::Nested(depth) => return depth > level,
                },
                ExprKind::Index { base, indices } => {
                    level += indices.iter().filter(|index| matches!(index, Index::At(_))).count();
                    (id, *base)
                }
                ExprKind::Array(items) if level > 0 => match items.first() {
                    Some(Item::Expr(first)) => {
                        level -= 1;
                        (id, *first)
                    }
                    Some(Item::Splice(local, _)) => match self.meaning(id, *local) {
                        Meaning::Expr(id, expr) => (id, expr),
                        Meaning::Nested(depth) => return depth > level,
                    },
                    None => return false,
                },
                ExprKind::Unary(_, inner) => (id, *inner),
                ExprKind::If { then, .. } => (id, *then),
                ExprKind::Literal(_) | ExprKind::Binary(..) => return false,
                _ => return level == 0,
            };
        }
        true
    }

    /// The meaning of a static name.
    fn meaning(&self, id: InstanceId, local: Local) -> Meaning {
        let node = self.node(id);
        match node.locals[local].kind {
            LocalKind::Defined { equation } => Meaning::Expr(id, node.equations[equation].rhs),
            LocalKind::Formal => {
                let position = node.position(local);
                let instance = &self.instances[id];
                match (position.and_then(|i| instance.givens.get(i)), instance.parent) {
                    (Some(Given::Static(expr)), Some((parent, ..))) => Meaning::Expr(parent, *expr),
                    (Some(Given::Root(RootGiven::Static(value))), _) => Meaning::Nested(depth(value)),
                    _ => Meaning::Nested(0),
                }
            }
            LocalKind::Dim => {
                let mut dims = node.locals.iter().flat_map(|data| &data.types).flat_map(|ty| &ty.dims);
                let is_splice = |item: &Item| matches!(item, Item::Splice(of, _) if *of == local);
                Meaning::Nested(usize::from(dims.any(is_splice)))
            }
            LocalKind::Undefined
            | LocalKind::Node
            | LocalKind::Family
            | LocalKind::Index
            | LocalKind::Constant(_) => Meaning::Nested(0),
        }
    }

    /// The operands of an expression that are streams, in textual order. The instance of a call must exist.
    pub(crate) fn operands(&self, id: InstanceId, expr: ExprId) -> Vec<ExprId> {
        let node = self.node(id);
        match &node.exprs[expr].kind {
            ExprKind::Index { base, .. } => vec![*base],
            ExprKind::Builtin { which, .. } if which.takes_type() => Vec::new(),
            ExprKind::Builtin { which, args, .. } => {
                args.iter().enumerate().filter(|(i, _)| !which.is_static(*i)).map(|(_, a)| *a).collect()
            }
            ExprKind::Call(call) => {
                let Some(&child) = self.instances[id].calls.get(&expr) else { return call_parts(call) };
                let givens = &self.instances[child].givens;
                let args = call
                    .args
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| !matches!(givens.get(*i), Some(Given::Static(_))));
                args.map(|(_, a)| *a).chain(call.clauses.every).collect()
            }
            kind => kind.children(),
        }
    }
}

/// The meaning of a static name.
enum Meaning {
    /// The value of an expression.
    Expr(InstanceId, ExprId),
    /// A value that is an array nested to this depth.
    Nested(usize),
}

/// The nesting depth of the first elements of a value.
fn depth(value: &StaticValue) -> usize {
    let mut depth = 0;
    let mut at = Some(value);
    while let Some(StaticValue::Array(items)) = at {
        depth += 1;
        at = items.first();
    }
    depth
}

/// The operands of a call that has no instance because of an error.
fn call_parts(call: &Call) -> Vec<ExprId> {
    call.args.iter().copied().chain(call.clauses.every).collect()
}

/// The error that an adjoint has fewer arguments than the node itself.
fn too_few(callee: &Node, call: &Call, span: rml_base::Span) -> Diagnostic {
    let names: Vec<&str> = callee.formals.iter().map(|l| callee.name_of(*l).as_ref()).collect();
    let prefix = call.order.prefix();
    Diagnostic::error(codes::ARITY, format!("too few arguments for `{prefix}{}`", callee.name))
        .label(span, format!("{} given here", crate::lower::arguments(call.args.len())))
        .label(callee.span, "the node that is differentiated")
        .note(format!(
            "expected the inputs of the node ({}), then `bp` and the gradient of each num output",
            names.join(", ")
        ))
}
