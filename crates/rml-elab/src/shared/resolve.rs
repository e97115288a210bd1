//! Makes the parameters of shared instances inputs of the nodes that are called, and equations of the node that shares
//! them.
//!
//! A node has up to two variants: the original one, and an *open* one, whose parameters are inputs. Both get the
//! parameters of instances that are shared further out as inputs. If a call of an adjoint would update a parameter that
//! is now an input, its gradient becomes a result of the call; the node that shares the instance updates the parameter
//! by the sum of these gradients.

use std::rc::Rc;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, IndexVec, Span};
use rml_ir::op::Op;
use rml_ir::typed::{
    Callee, Equation, Expr, ExprId, ExprKind, Formal, Input, Node, NodeId, Rule, Var, VarData,
};
use rml_ir::{Shape, Type};

use super::names::{self, Part};
use crate::adjoints::Add;
use crate::chains::{self, Chain, Clocks, Interface};
use crate::hir::{Share, SourceId};

/// References of a typed node to shared instances.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tags {
    /// The calls of shared instances.
    pub(crate) calls: IndexMap<ExprId, Share>,
    /// The expressions that are parameters of a shared instance: the one at that path, or all of them.
    pub(crate) params: Vec<(ExprId, Share, Arc<str>)>,
    /// For each delay and call: the flags that restart it, until [`restarts`](crate::restarts) resolves them.
    pub(crate) restarts: IndexMap<ExprId, Vec<Var>>,
    /// The copy of which the node is an instance, if that has shared instances.
    pub(crate) owner: Option<SourceId>,
    /// The names of the shared instances, by their numbers.
    pub(crate) shares: Vec<(Arc<str>, Span)>,
}

impl Tags {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.params.is_empty() && self.owner.is_none()
    }
}

/// A parameter of a shared instance: the instance, and the path in it.
pub(super) type Key = (Share, Arc<str>);

/// The gradient of a parameter from one call.
pub(super) struct Contribution {
    pub(super) bp: Var,
    pub(super) d: Var,
    /// The clock of the call.
    pub(super) chain: Chain,
    /// The condition of `every`, if there is one.
    pub(super) every: Option<ExprId>,
}

/// A node with parameters as inputs.
#[derive(Debug)]
pub(super) struct Variant {
    pub(super) id: NodeId,
    /// The parameters of the variant, which are inputs after those of the node; empty unless the variant is open.
    pub(super) own: Vec<Own>,
    /// Parameters of instances that are shared further out; they are inputs after its own parameters.
    pub(super) free: Vec<Free>,
    /// The free parameters whose gradients are results of the variant: a condition and a gradient for each.
    pub(super) trained: Vec<Key>,
}

/// A parameter that is an input of the open variant.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub(super) path: Arc<str>,
    pub(super) ty: Type,
    pub(super) origin: Origin,
    /// The rule that updates the parameter.
    pub(super) by: Rule,
    /// The place of the parameter in the source.
    pub(super) span: Span,
}

/// A parameter of an instance that is shared further out.
#[derive(Clone, Debug)]
pub(super) struct Free {
    pub(super) key: Key,
    pub(super) ty: Type,
    pub(super) origin: Origin,
    pub(super) by: Rule,
    pub(super) span: Span,
}

/// The origin of a parameter.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// A parameter of the node itself, with this initial value.
    Here(ExprId),
    /// A parameter of the node called by this call.
    Inside(ExprId, NodeId, Slot),
}

/// The position of a parameter in a variant. A parameter that is shared further out occurs in both variants.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    Own(usize),
    /// The number of the parameter, and whether the variant is open.
    Free(usize, bool),
}

/// Resolves the shared instances of the nodes from number `start` on; `root` is the root of the module. `None` if there
/// are errors.
pub(crate) fn resolve(add: &mut Add<'_, '_>, start: usize, root: NodeId) -> Option<NodeId> {
    if add.builder.tags.is_empty() {
        return Some(root);
    }
    let all = std::mem::take(&mut add.builder.nodes).into_vec();
    let sources = std::mem::take(&mut add.builder.sources).into_vec();
    let mut old = Vec::new();
    for (i, (node, source)) in all.into_iter().zip(sources).enumerate() {
        if i < start {
            add.builder.nodes.push(node);
            add.builder.sources.push(source);
        } else {
            old.push((node, source));
        }
    }
    let is_old = |id: &NodeId| (id.0 as usize) < start;
    let known = std::mem::take(&mut add.builder.known);
    add.builder.known =
        known.iter().filter(|(_, id)| is_old(id)).map(|(key, id)| (key.clone(), *id)).collect();
    let tags = std::mem::take(&mut add.builder.tags);
    let names = tags.values().filter_map(|tags| Some((tags.owner?, tags.shares.clone()))).collect();
    let mut resolver = Resolver {
        add,
        start,
        old,
        tags,
        names,
        variants: IndexMap::new(),
        interfaces: IndexMap::new(),
        sound: true,
    };
    let made = resolver.variant(root, false);
    let (sound, variants) = (resolver.sound, resolver.variants);
    for (key, id) in known.into_iter().filter(|(_, id)| !is_old(id)) {
        if let Some(variant) = variants.get(&(id, false)).filter(|variant| variant.free.is_empty()) {
            add.builder.known.entry(key).or_insert(variant.id);
        }
    }
    sound.then_some(made.id)
}

pub(super) struct Resolver<'a, 'p, 'b> {
    pub(super) add: &'a mut Add<'p, 'b>,
    start: usize,
    /// The original nodes, from number `start` on.
    old: Vec<(Node, SourceId)>,
    tags: IndexMap<NodeId, Tags>,
    /// The names of shared instances, by the copy that contains them.
    names: IndexMap<SourceId, Vec<(Arc<str>, Span)>>,
    /// The variants by node, and by whether the variant is open.
    pub(super) variants: IndexMap<(NodeId, bool), Rc<Variant>>,
    /// The clocks of the inputs and outputs of the original nodes.
    interfaces: IndexMap<NodeId, Interface>,
    pub(super) sound: bool,
}

/// A variant under construction.
pub(super) struct Work {
    /// The original node.
    pub(super) of: NodeId,
    pub(super) node: Node,
    pub(super) tags: Tags,
    /// The clocks of the variant's expressions.
    pub(super) clocks: Clocks,
    pub(super) open: bool,
    pub(super) own: Vec<(Own, Var)>,
    pub(super) keys: IndexMap<Key, Known>,
    /// The gradients of parameters, in the order of the calls.
    pub(super) contributions: IndexMap<Key, Vec<Contribution>>,
    /// The parameters whose equations are defined.
    pub(super) defined: IndexSet<Key>,
    /// For a node of parameters: the variables of the surrounding node that it receives, with the inputs for them.
    pub(super) taken: Option<IndexMap<Var, Var>>,
    /// The calls of each shared instance.
    pub(super) calls: IndexMap<Share, Vec<Shared>>,
}

/// A call of a shared instance, the paths of the parameters that it has, and its place.
pub(super) type Shared = (ExprId, Vec<Arc<str>>, Span);

/// A parameter of a shared instance in a node.
pub(super) struct Known {
    pub(super) var: Var,
    pub(super) ty: Type,
    pub(super) origin: Origin,
    /// The rule that updates the parameter.
    pub(super) by: Rule,
    /// The place of the parameter in the source.
    pub(super) span: Span,
    /// The first call that needs the parameter.
    pub(super) call: Span,
}

impl Resolver<'_, '_, '_> {
    /// The original node.
    pub(super) fn node(&self, id: NodeId) -> &Node {
        match (id.0 as usize).checked_sub(self.start) {
            Some(i) => &self.old[i].0,
            None => &self.add.builder.nodes[id],
        }
    }

    pub(super) fn share_name(&self, share: Share) -> Arc<str> {
        let names = self.names.get(&share.owner);
        names.and_then(|names| names.get(share.number)).map_or_else(|| "".into(), |(name, _)| name.clone())
    }

    pub(super) fn fail(&mut self, d: Diagnostic) {
        self.sound = false;
        self.add.fail(d);
    }

    /// The clocks of the inputs and outputs of a node.
    fn interface(&mut self, id: NodeId) -> Interface {
        if let Some(known) = self.interfaces.get(&id) {
            return known.clone();
        }
        let node = self.node(id).clone();
        let clocks = Clocks::of(&node, &mut |callee| self.interface(callee));
        let found = chains::interface(&node, &clocks);
        self.interfaces.insert(id, found.clone());
        found
    }

    /// The conditions that sample the clock of an expression.
    pub(super) fn chain(&mut self, work: &Work, expr: ExprId) -> Option<Chain> {
        let chain = work.clocks.chain(expr);
        if chain.is_none() {
            self.fail(hidden(work.node.exprs[expr].span));
        }
        chain
    }

    /// The variant of a node; made when it is first needed.
    pub(super) fn variant(&mut self, id: NodeId, open: bool) -> Rc<Variant> {
        if let Some(known) = self.variants.get(&(id, open)) {
            return Rc::clone(known);
        }
        let made = Rc::new(self.make(id, open));
        self.variants.insert((id, open), Rc::clone(&made));
        made
    }

    fn make(&mut self, id: NodeId, open: bool) -> Variant {
        let closed = |id| Variant { id, own: Vec::new(), free: Vec::new(), trained: Vec::new() };
        let is_done = (id.0 as usize) < self.start;
        if is_done && !open {
            return closed(id);
        }
        let node = self.node(id).clone();
        let source = match (id.0 as usize).checked_sub(self.start) {
            Some(i) => self.old[i].1,
            None => self.add.builder.sources[id],
        };
        let tags = self.tags.get(&id).cloned().unwrap_or_default();
        let mut work = Work { tags, open, ..Work::new(id, node) };
        work.name_conditions();
        work.clocks = Clocks::of(&work.node, &mut |callee| self.interface(callee));
        self.parts(&mut work);
        self.named_parameters(&mut work);
        let (free, trained) = self.define(&mut work);
        if is_done && work.own.is_empty() && free.is_empty() {
            return closed(id); // The node contains no parameters.
        }
        let own: Vec<Own> = work.own.iter().map(|(own, _)| own.clone()).collect();
        let inputs = work.own.iter().map(|(_, var)| *var);
        let inputs = inputs.chain(free.iter().filter_map(|free| Some(work.keys.get(&free.key)?.var)));
        let formals: Vec<Formal> = inputs.map(|var| Formal::Stream(Input { var, clock: None })).collect();
        work.node.formals.extend(formals);
        compact(&mut work.node);
        let made = self.add.builder.nodes.push(work.node);
        self.add.builder.sources.push(source);
        Variant { id: made, own, free, trained }
    }

    /// Replaces parameters by inputs, and calls by calls of variants, in textual order.
    fn parts(&mut self, work: &mut Work) {
        let called = |callee| match callee {
            Callee::Node(id) => (self.node(id).name.clone(), 0),
            Callee::Diff { node, order } => (self.node(node).name.clone(), order),
        };
        for (name, part) in names::of_node(&work.node, &called) {
            match part {
                Part::Parameter(expr) => {
                    if let (true, ExprKind::Param { init, by }) = (work.open, &work.node.exprs[expr].kind) {
                        let (ty, span) = (work.node.exprs[expr].ty.clone(), work.node.exprs[expr].span);
                        let (path, origin, by) = (name.into(), Origin::Here(*init), *by);
                        let own = Own { path, ty, origin, by, span };
                        let var = work.input(own);
                        let Some(chain) = self.chain(work, expr) else { continue };
                        let read = work.sampled(var, &chain, span);
                        work.node.exprs[expr].kind = work.node.exprs[read].kind.clone();
                    }
                }
                Part::Call(expr) => self.call(work, &name, expr),
            }
        }
    }

    /// The variables of the parameters that a call passes on: first those of the callee, then those that are shared
    /// further out.
    pub(super) fn passed(
        &mut self,
        work: &mut Work,
        name: &str,
        expr: ExprId,
        callee: NodeId,
        variant: &Variant,
    ) -> Vec<(Option<Key>, Var)> {
        let share = work.tags.calls.get(&expr).copied();
        let call = work.node.exprs[expr].span;
        let mut passed = Vec::new();
        for (i, own) in variant.own.iter().enumerate() {
            let origin = Origin::Inside(expr, callee, Slot::Own(i));
            match share {
                Some(share) => {
                    let key = (share, own.path.clone());
                    let (ty, by, span) = (own.ty.clone(), own.by, own.span);
                    let free = Free { key: key.clone(), ty, origin, by, span };
                    let var = self.need(work, free, call);
                    passed.push((Some(key), var));
                }
                None => {
                    let path = format!("{name}.{}", own.path).into();
                    let (ty, by, span) = (own.ty.clone(), own.by, own.span);
                    let var = work.input(Own { path, ty, origin, by, span });
                    passed.push((None, var));
                }
            }
        }
        for (i, free) in variant.free.iter().enumerate() {
            let origin = Origin::Inside(expr, callee, Slot::Free(i, share.is_some() || work.open));
            let var = self.need(work, Free { origin, ..free.clone() }, call);
            passed.push((Some(free.key.clone()), var));
        }
        if let Some(share) = share {
            let paths = variant.own.iter().map(|own| own.path.clone()).collect();
            self.compare(work, share, (expr, paths, call));
        }
        passed
    }

    /// The variable of a parameter of a shared instance.
    fn need(&mut self, work: &mut Work, free: Free, call: Span) -> Var {
        let Free { key, ty, origin, by, span } = free;
        let name = format!("{}.{}", self.share_name(key.0), key.1);
        if let Some(known) = work.keys.get(&key) {
            let var = known.var;
            if known.ty != ty {
                let d = differ(&name, (&known.ty, known.call), (&ty, call), span);
                self.fail(d);
            }
            return var;
        }
        let var = work.variable(&name, ty.clone(), span);
        work.keys.insert(key, Known { var, ty, origin, by, span, call });
        var
    }

    /// Checks that all calls of a shared instance have the same parameters.
    fn compare(&mut self, work: &mut Work, share: Share, call: Shared) {
        let calls = work.calls.entry(share).or_default();
        let first = calls.first().map(|(_, paths, span)| (paths.clone(), *span));
        let (paths, span) = (call.1.clone(), call.2);
        calls.push(call);
        let Some((known, first)) = first else { return };
        let missing = |all: &[Arc<str>], of: &[Arc<str>]| all.iter().find(|path| !of.contains(path)).cloned();
        let (lacking, more) = (missing(&known, &paths), missing(&paths, &known));
        let Some(path) = lacking.clone().or(more) else { return };
        let name = self.share_name(share);
        let (has, lacks) = if lacking.is_some() { (first, span) } else { (span, first) };
        self.fail(
            Diagnostic::error(
                codes::SHARED_INSTANCE,
                format!("the calls of the shared instance `{name}` have different parameters"),
            )
            .label(lacks, format!("there is no parameter `{path}` here"))
            .label(has, format!("`{path}` is a parameter here"))
            .help("give what decides this where the instance is shared: `share u = net(3, _);`"),
        );
    }

    /// Replaces the expressions that name parameters.
    fn named_parameters(&mut self, work: &mut Work) {
        for (expr, share, path) in std::mem::take(&mut work.tags.params) {
            let of = |key: &Key| key.0 == share && (path.is_empty() || key.1 == path);
            let found: Vec<(Var, Type)> = work
                .keys
                .iter()
                .filter(|(key, _)| of(key))
                .map(|(_, known)| (known.var, known.ty.clone()))
                .collect();
            let span = work.node.exprs[expr].span;
            let Some(chain) = self.chain(work, expr) else { continue };
            let made = match &found[..] {
                [(var, _)] if !path.is_empty() => ExprKind::Var(*var),
                [] => {
                    // The shapes of the parameters are known, so this error was reported before.
                    self.sound = false;
                    continue;
                }
                _ => work.joined(&found, span),
            };
            let ty = work.node.exprs[expr].ty.clone();
            let read = work.push(made, ty, span);
            let sampled = chains::sampled(&mut work.node, read, &chain, span);
            work.node.exprs[expr].kind = work.node.exprs[sampled].kind.clone();
        }
    }
}

impl Work {
    /// A node for which nothing is resolved yet.
    pub(super) fn new(of: NodeId, node: Node) -> Self {
        Self {
            of,
            node,
            tags: Tags::default(),
            clocks: Clocks::default(),
            open: false,
            own: Vec::new(),
            keys: IndexMap::new(),
            contributions: IndexMap::new(),
            defined: IndexSet::new(),
            taken: None,
            calls: IndexMap::new(),
        }
    }

    /// Defines a variable for each condition of a sampling. Conditions that contain calls or parameters are left in
    /// place, because their position determines the names in them.
    fn name_conditions(&mut self) {
        for cond in chains::unnamed(&self.node) {
            if chains::is_plain(&self.node, cond) {
                let (ty, span) = (self.node.exprs[cond].ty.clone(), self.node.exprs[cond].span);
                let rhs = self.node.exprs.push(self.node.exprs[cond].clone());
                let var = self.unnamed(ty, span);
                self.node.equations.push(Equation { lhs: vec![Some(var)], rhs, span });
                self.node.exprs[cond].kind = ExprKind::Var(var);
            }
        }
    }

    pub(super) fn push(&mut self, kind: ExprKind, ty: Type, span: Span) -> ExprId {
        self.node.exprs.push(Expr { kind, ty, span })
    }

    pub(super) fn read(&mut self, var: Var, span: Span) -> ExprId {
        let ty = self.node.vars[var].ty.clone();
        self.push(ExprKind::Var(var), ty, span)
    }

    /// Adds a variable with that name, or with a similar name if that is in use.
    pub(super) fn variable(&mut self, name: &str, ty: Type, span: Span) -> Var {
        let taken = |name: &str| self.node.vars.iter().any(|data| data.name.as_deref() == Some(name));
        let name = match taken(name) {
            false => Arc::from(name),
            true => {
                let mut others = (2_u64..).map(|n| format!("{name}_{n}"));
                others.find(|name| !taken(name)).map_or_else(|| Arc::from(name), Arc::from)
            }
        };
        self.node.vars.push(VarData { name: Some(name), ty, span, asserts: None, cases: None })
    }

    /// Adds an input for a parameter.
    pub(super) fn input(&mut self, own: Own) -> Var {
        let var = self.variable(&own.path.clone(), own.ty.clone(), own.span);
        self.own.push((own, var));
        var
    }

    /// The elements of all these parameters, as one vector.
    fn joined(&mut self, parts: &[(Var, Type)], span: Span) -> ExprKind {
        let mut args = Vec::with_capacity(parts.len());
        for (var, ty) in parts {
            let value = self.read(*var, span);
            let shape = Shape::new(&[ty.shape.len()]);
            let flat = Type { shape: shape.clone(), ..ty.clone() };
            let op = Op::Reshape { shape };
            args.push(match ty.shape.rank() {
                1 => value,
                _ => self.push(ExprKind::Apply { op, args: vec![value], statics: Vec::new() }, flat, span),
            });
        }
        match args[..] {
            [one] => self.node.exprs[one].kind.clone(),
            _ => ExprKind::Apply { op: Op::Concat { axis: 0 }, args, statics: vec!["0".into()] },
        }
    }
}

/// The error that two calls of a shared instance give a parameter different types.
fn differ(name: &str, (first, at): (&Type, Span), (found, call): (&Type, Span), param: Span) -> Diagnostic {
    Diagnostic::error(
        codes::SHARED_INSTANCE,
        format!("the parameter `{name}` has another type in another call"),
    )
    .label(call, format!("it is {found} here"))
    .label(at, format!("it is {first} here"))
    .label(param, "the parameter")
    .note(format!("expected {first}, found {found}"))
    .help("all calls of a shared instance have one set of parameters: pass inputs of the same size to it")
}

/// The error that the clock of a call cannot be expressed.
fn hidden(span: Span) -> Diagnostic {
    Diagnostic::error(
        codes::SHARED_INSTANCE,
        "parameters of a shared instance are needed on a clock without a name",
    )
    .label(span, "what is on this clock is sampled by a condition that has no name here")
    .help("write the condition as an equation of its own, `c = ..;`, and sample by it: `x when c`")
}

/// Removes unused expressions; returns the new ids of the others.
pub(crate) fn compact(node: &mut Node) -> IndexMap<ExprId, ExprId> {
    let mut exprs: IndexVec<ExprId, Expr> = IndexVec::new();
    let mut new: IndexMap<ExprId, ExprId> = IndexMap::new();
    for equation in &node.equations {
        // An operand comes after the expression that uses it; ids are replaced once all are assigned.
        let mut todo = vec![equation.rhs];
        while let Some(expr) = todo.pop() {
            new.insert(expr, exprs.push(node.exprs[expr].clone()));
            todo.extend(node.exprs[expr].kind.operands());
        }
    }
    let renamed = |id: &mut ExprId| {
        if let Some(new) = new.get(id) {
            *id = *new;
        }
    };
    for expr in exprs.iter_mut() {
        expr.kind.operands_mut().into_iter().for_each(renamed);
    }
    for equation in &mut node.equations {
        renamed(&mut equation.rhs);
    }
    node.exprs = exprs;
    new
}
