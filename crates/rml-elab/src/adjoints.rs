//! Nodes that differentiation needs beyond those that the program calls: the adjoints that the program itself defines
//! (overrides), and the update of each type of parameter (`diff_param`), for every node that may be differentiated.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::autodiff::NO_OPTIMISER;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, EntityId, IndexVec, Span, suggest};
use rml_ir::Type;
use rml_ir::typed::{Callee, ExprKind, Formal, NodeId, Rule};

use crate::emit::Builder;
use crate::expand::Expansion;
use crate::hir::{self, Node, Role, SourceId};
use crate::instance::{RootGiven, RootSpec};
use crate::instantiate::instantiate;
use crate::report::Report;
use crate::scope::Program;
use crate::shared;
use crate::text;

/// The name of the node that updates parameters.
const OPTIMISER: &str = "diff_param";

/// The tables of [`rml_ir::typed::Module`].
pub(crate) struct Adjoints {
    pub(crate) overrides: IndexMap<NodeId, NodeId>,
    pub(crate) optimisers: IndexMap<(Rule, Type), NodeId>,
}

pub(crate) struct Add<'p, 'b> {
    program: &'p Program,
    expansion: &'b mut Expansion<'p>,
    pub(crate) builder: &'b mut Builder,
    report: &'b mut Report,
    adjoints: Adjoints,
    /// The highest order to which each node may be differentiated.
    orders: IndexMap<NodeId, u8>,
    todo: Vec<Ordered>,
    sound: bool,
    /// Whether an unused optimiser of an imported file is reported.
    told_ignored: bool,
}

/// A node, and the order to which it is differentiated.
pub(crate) type Ordered = (NodeId, u8);

/// Resolves the shared instances of the nodes that `root` needs, and adds adjoints to the module. The nodes that `todo`
/// returns are differentiated even if nothing calls their adjoints. Returns the resolved root and the adjoints; `None`
/// if there are errors.
pub(crate) fn add(
    expansion: &mut Expansion<'_>,
    root: NodeId,
    todo: &dyn Fn(NodeId, &Builder) -> Vec<Ordered>,
    builder: &mut Builder,
    report: &mut Report,
) -> Option<(NodeId, Adjoints)> {
    let adjoints = Adjoints { overrides: IndexMap::new(), optimisers: IndexMap::new() };
    let program = expansion.original;
    let orders = IndexMap::new();
    let (todo_of, todo) = (todo, Vec::new());
    let mut add =
        Add { program, expansion, builder, report, adjoints, orders, todo, sound: true, told_ignored: false };
    let root = shared::resolve(&mut add, 0, root)?;
    add.todo = todo_of(root, add.builder);
    let mut scanned = 0;
    loop {
        while let Some((node, order)) = add.todo.pop() {
            add.differentiated(node, order);
        }
        // Nodes that were added for adjoints may call adjoints themselves.
        let Some(id) = add.builder.nodes.ids().nth(scanned) else { break };
        scanned += 1;
        for callee in calls(add.builder, id) {
            if let Callee::Diff { node, order } = callee {
                add.todo.push((node, order));
            }
        }
    }
    let sound = add.sound && !add.recursive();
    sound.then_some((root, add.adjoints))
}

/// The nodes that a node calls.
fn calls(builder: &Builder, id: NodeId) -> Vec<Callee> {
    let exprs = builder.nodes[id].exprs.iter();
    exprs
        .filter_map(|e| match e.kind {
            ExprKind::Call { callee, .. } => Some(callee),
            _ => None,
        })
        .collect()
}

impl Add<'_, '_> {
    /// Adds the nodes that the adjoint of a node will call.
    fn differentiated(&mut self, id: NodeId, order: u8) {
        let known = self.orders.get(&id).copied().unwrap_or(0);
        if order <= known || order > 8 {
            return;
        }
        self.orders.insert(id, order);
        // The program's own adjoint applies to the name `diff_f`, not to `grad_f`.
        if self.builder.nodes[id].held > 0
            && let Some(own) = self.override_of(id)
        {
            self.todo.extend((order > 1).then(|| (own, order - 1)));
            return;
        }
        let rule = |kind: &ExprKind| if let ExprKind::Param { by, .. } = kind { Some(*by) } else { None };
        let params: Vec<(Rule, Type, Span)> = self.builder.nodes[id]
            .exprs
            .iter()
            .filter_map(|e| Some((rule(&e.kind)?, e.ty.clone(), e.span)))
            .collect();
        // The first adjoints may hold the parameters instead of updating them.
        let trained = order.saturating_sub(self.builder.nodes[id].held);
        for (by, ty, parameter) in params.into_iter().filter(|_| trained > 0) {
            if let Some(optimiser) = self.optimiser(by, &ty, parameter)
                && trained > 1
            {
                self.todo.push((optimiser, trained - 1));
            }
        }
        for callee in calls(self.builder, id) {
            match callee {
                Callee::Diff { node, order: more } => self.todo.push((node, order.saturating_add(more))),
                Callee::Node(node) => match self.override_of(node) {
                    Some(adjoint) if order > 1 => self.todo.push((adjoint, order - 1)),
                    Some(_) => {}
                    None => self.todo.push((node, order)),
                },
            }
        }
    }

    /// The instance of the optimiser for parameters of type `ty`; `parameter` is the place of one of them.
    pub(crate) fn optimiser(&mut self, by: Rule, ty: &Type, parameter: Span) -> Option<NodeId> {
        let key = (by, ty.clone());
        if let Some(&known) = self.adjoints.optimisers.get(&key) {
            return Some(known);
        }
        let (source, name) = match by.index().checked_sub(1).and_then(|at| self.expansion.rules.get(at)) {
            Some(rule) => (rule.node, rule.name.clone()),
            None => (self.default_optimiser(parameter)?, OPTIMISER.into()),
        };
        let node = Arc::clone(&self.expansion.program.nodes[source]);
        let inputs = [ty.clone(), Type::condition(), ty.clone()];
        let givens = inputs.into_iter().map(|t| RootGiven::Input(Some(t))).collect();
        let spec = RootSpec { source, givens, dims: IndexMap::new(), open: false };
        let mut found = Report::default();
        let before = self.builder.nodes.len();
        let made = instantiate(self.expansion, spec, self.builder, &mut found);
        let made = made.and_then(|made| shared::resolve(self, before, made));
        let found = found.finish();
        self.sound &= made.is_some();
        match found.iter().find(|d| d.span().is_some_and(|s| is_within(s, node.span))) {
            Some(misfit) => self.fail(no_optimiser(&name, ty, misfit, parameter)),
            None => self.report.extend(found),
        }
        let made = made?;
        let output = self.output_type(made);
        if output.as_ref() != Some(ty) {
            self.fail(optimiser_interface(&name, &node, output.map(|o| (o, ty))));
            return None;
        }
        self.adjoints.optimisers.insert(key, made);
        Some(made)
    }

    /// The node `diff_param`, if its interface fits.
    fn default_optimiser(&mut self, parameter: Span) -> Option<SourceId> {
        let program = self.program;
        let found = program.scopes.node(program.main, OPTIMISER).ok().flatten();
        let Some(source) = found else {
            self.fail(Diagnostic::error(
                codes::UNKNOWN_NAME,
                "there is no node `diff_param` that says how a parameter is updated",
            ));
            return None;
        };
        self.ignored_optimiser(source, parameter);
        self.misspelt_optimiser(source);
        let node = &program.nodes[source];
        if let Some(d) = exchanged(program, node) {
            self.fail(d);
            return None;
        }
        let streams = node.formals.iter().all(|l| matches!(node.roles[*l], Role::Stream | Role::Unused));
        if node.formals.len() != 3 || node.outputs.len() != 1 || !streams || node.is_extern {
            self.fail(optimiser_interface(OPTIMISER, node, None));
            return None;
        }
        Some(source)
    }

    /// Warns about a `diff_param` of an imported file that is not used, because the library's `diff_param` updates the
    /// parameters.
    fn ignored_optimiser(&mut self, used: SourceId, parameter: Span) {
        let program = self.program;
        if self.told_ignored || !program.scopes.is_library(program.nodes[used].file) {
            return;
        }
        let files = program.scopes.files.values().filter(|file| file.library.is_none());
        for file in files {
            let Some(node) = file.own.get("diff_param").map(|node| &program.nodes[*node]) else { continue };
            if node.file == program.main {
                continue;
            }
            let (what, how, help) = if file.private.contains("diff_param") {
                let help = "remove `private`, and import the file as a whole or its `diff_param` by name";
                ("is private to it", "private", help)
            } else {
                (
                    "is not imported under this name",
                    "not in scope where the node is that trains",
                    "add `diff_param` to the names in the import of that file, `(.., diff_param)`",
                )
            };
            let message =
                format!("the node `diff_param` of an imported file {what}, and updates nothing here");
            let optimiser = node.name_span;
            self.told_ignored = true;
            self.report.push(
                Diagnostic::warning(codes::PRIVATE_NODE, message)
                    .label(parameter, "this parameter is updated by the `diff_param` of the library")
                    .label(optimiser, how)
                    .help(help)
                    .help("or write a `diff_param` beside the node that trains"),
            );
        }
    }

    /// Warns about an unused node of the main text whose name or inputs resemble those of `diff_param`, if the
    /// library's `diff_param` updates the parameters.
    fn misspelt_optimiser(&mut self, used: SourceId) {
        let program = self.program;
        if !program.scopes.is_library(program.nodes[used].file) {
            return;
        }
        let Some(scope) = program.scopes.files.get(&program.main) else { return };
        let calls = |node: &Node, id| {
            node.exprs.iter().any(|e| matches!(&e.kind, hir::ExprKind::Call(call) if call.callee == id))
        };
        let unused = |id| !program.nodes.iter().any(|node| calls(node, id));
        let is_slip = |name: &str| {
            !program.scopes.overrides(program.main, name)
                && suggest(&name.to_ascii_lowercase(), [OPTIMISER].into_iter()).is_some()
                || name.eq_ignore_ascii_case(OPTIMISER)
        };
        let has_inputs = |id: &SourceId| {
            let node = &program.nodes[*id];
            node.formals.iter().map(|formal| &**node.name_of(*formal)).eq(["init", "bp", "do"])
        };
        let slips = scope.own.iter().filter(|(name, id)| (is_slip(name) || has_inputs(id)) && unused(**id));
        for (name, id) in slips.filter(|(_, id)| program.nodes[**id].formals.len() == 3) {
            self.report.push(
                Diagnostic::warning(
                    codes::UNUSED_OPTIMISER,
                    format!("nothing calls `{name}`, so it updates no parameter"),
                )
                .label(
                    program.nodes[*id].name_span,
                    "the node that updates parameters is called `diff_param`",
                )
                .note(
                    "the library's `diff_param` updates the parameters: it adds the gradient that is passed",
                )
                .help("rename it to `diff_param`"),
            );
        }
    }

    fn output_type(&self, id: NodeId) -> Option<Type> {
        let node = &self.builder.nodes[id];
        node.outputs.first().map(|o| node.vars[*o].ty.clone())
    }

    fn instantiate(&mut self, spec: RootSpec) -> Option<NodeId> {
        let before = self.builder.nodes.len();
        let made = instantiate(self.expansion, spec, self.builder, self.report);
        let made = made.and_then(|made| shared::resolve(self, before, made));
        self.sound &= made.is_some();
        made
    }

    pub(crate) fn fail(&mut self, d: Diagnostic) {
        self.sound = false;
        self.report.push(d);
    }

    /// The instance of the program's own adjoint of a node, if it has one.
    fn override_of(&mut self, id: NodeId) -> Option<NodeId> {
        if let Some(&known) = self.adjoints.overrides.get(&id) {
            return Some(known);
        }
        let program = self.program;
        let source = self.builder.sources[id];
        let node = &program.nodes[source];
        let adjoint = program.scopes.override_of(program.main, node.file, source, &node.name)?;
        let own = &program.nodes[adjoint];
        if own.is_extern {
            let message = format!("nothing implements node `{}`", own.name);
            self.fail(
                Diagnostic::error(codes::EXTERN_NODE, message)
                    .label(own.span, "it has outputs, but no equations")
                    .label(node.span, "it is the adjoint of this node")
                    .help("add its equations, or remove it: then the adjoint is derived"),
            );
            return None;
        }
        let givens = match self.override_givens(id, node, &program.nodes[adjoint]) {
            Ok(givens) => givens,
            Err(d) => {
                self.fail(*d);
                return None;
            }
        };
        let made =
            self.instantiate(RootSpec { source: adjoint, givens, dims: IndexMap::new(), open: false })?;
        if self.builder.nodes[id].held > 0 && self.trains(made) {
            let own = &program.nodes[adjoint];
            self.fail(
                Diagnostic::error(
                    codes::HELD_TRAINING,
                    format!("`{}` updates parameters, so `grad_` cannot hold them", own.name),
                )
                .label(own.span, "the program's own adjoint")
                .label(node.span, "of this node, through which the gradient passes")
                .note("expected an adjoint that updates no parameter")
                .help("give the node its parameters as inputs, and update them where it is called"),
            );
            return None;
        }
        self.adjoints.overrides.insert(id, made);
        Some(made)
    }

    /// Whether a node, or a node that it calls, has parameters or calls an adjoint that updates some.
    fn trains(&self, id: NodeId) -> bool {
        let (mut seen, mut todo) = (vec![id], vec![id]);
        while let Some(id) = todo.pop() {
            let node = &self.builder.nodes[id];
            if &*node.name == OPTIMISER || node.exprs.iter().any(|e| matches!(e.kind, ExprKind::Param { .. }))
            {
                return true;
            }
            for callee in calls(self.builder, id) {
                let (Callee::Node(of) | Callee::Diff { node: of, .. }) = callee;
                if !seen.contains(&of) {
                    seen.push(of);
                    todo.push(of);
                }
            }
        }
        false
    }

    /// The arguments for an override: the inputs of the node, `bp`, and the gradients of the num outputs.
    fn override_givens(
        &self,
        id: NodeId,
        node: &Node,
        adjoint: &Node,
    ) -> Result<Vec<RootGiven>, Box<Diagnostic>> {
        let typed = &self.builder.nodes[id];
        let mut givens: Vec<RootGiven> = typed
            .formals
            .iter()
            .map(|formal| match formal {
                Formal::Static { value, .. } => RootGiven::Static(value.clone()),
                Formal::Stream(input) => RootGiven::Input(Some(typed.vars[input.var].ty.clone())),
            })
            .collect();
        givens.push(RootGiven::Input(Some(Type::condition())));
        let outputs = typed.outputs.iter().map(|o| typed.vars[*o].ty.clone()).filter(Type::is_num);
        givens.extend(outputs.map(|ty| RootGiven::Input(Some(ty))));
        let bad = |what: String| {
            Box::new(
                Diagnostic::error(
                    codes::OVERRIDE_INTERFACE,
                    format!("`{}` does not fit `{}`, whose adjoint it replaces", adjoint.name, node.name),
                )
                .label(adjoint.span, what)
                .label(node.span, "the node that is differentiated")
                .note("expected the inputs of the node, one bool, then the gradient of each num output")
                .help("rename it if it is not meant to be the adjoint of that node"),
            )
        };
        if givens.len() != adjoint.formals.len() {
            return Err(bad(format!("{} inputs, {} expected", adjoint.formals.len(), givens.len())));
        }
        for (&formal, given) in adjoint.formals.iter().zip(&givens) {
            let name = adjoint.name_of(formal);
            match (adjoint.roles[formal], given) {
                (Role::Stream, RootGiven::Static(_)) => {
                    return Err(bad(format!("`{name}` is a stream here, but static in the node")));
                }
                (Role::Static | Role::Both, RootGiven::Input(_)) => {
                    return Err(bad(format!("`{name}` is static here, but a stream in the node")));
                }
                _ => {}
            }
        }
        if adjoint.outputs.len() < node.outputs.len() {
            return Err(bad("it lacks outputs of the node".to_owned()));
        }
        Ok(givens)
    }

    /// Reports adjoints that would contain themselves: an override may call the adjoint of a node that calls the
    /// overridden node.
    fn recursive(&mut self) -> bool {
        // Vertices of the graph: an original node has an even number, its synthesised adjoint an odd one.
        let count = self.builder.nodes.len();
        let edges: Vec<Vec<usize>> = (0..2 * count).map(|v| self.edges(v)).collect();
        let mut state = vec![0_u8; 2 * count];
        for start in 0..2 * count {
            let mut stack = vec![(start, 0_usize)];
            if state[start] != 0 {
                continue;
            }
            state[start] = 1;
            while let Some(&mut (v, ref mut next)) = stack.last_mut() {
                let Some(&to) = edges[v].get(*next) else {
                    state[v] = 2;
                    stack.pop();
                    continue;
                };
                *next += 1;
                if state[to] == 0 {
                    state[to] = 1;
                    stack.push((to, 0));
                } else if state[to] == 1 {
                    let from = stack.iter().position(|(open, _)| *open == to).unwrap_or(0);
                    let chain: Vec<usize> = stack[from..].iter().map(|(v, _)| *v).chain([to]).collect();
                    let d = self.recursion(&chain);
                    self.fail(d);
                    return true;
                }
            }
        }
        false
    }

    fn edges(&self, vertex: usize) -> Vec<usize> {
        let id = NodeId(u32::try_from(vertex / 2).unwrap_or(u32::MAX));
        let adjoint = vertex % 2 == 1;
        let plain = |n: NodeId| 2 * n.0 as usize;
        let mut edges = Vec::new();
        for callee in calls(self.builder, id) {
            match callee {
                Callee::Diff { node, .. } => edges.push(plain(node) + 1),
                Callee::Node(node) => {
                    edges.push(plain(node));
                    if adjoint {
                        let replaced = self.adjoints.overrides.get(&node);
                        edges.push(replaced.map_or(plain(node) + 1, |o| plain(*o)));
                    }
                }
            }
        }
        edges
    }

    fn recursion(&self, chain: &[usize]) -> Diagnostic {
        let nodes: &IndexVec<_, _> = &self.builder.nodes;
        let names: Vec<String> = chain
            .iter()
            .map(|v| {
                let name = &nodes[NodeId(u32::try_from(v / 2).unwrap_or(u32::MAX))].name;
                if v % 2 == 1 { format!("diff_{name}") } else { name.to_string() }
            })
            .collect();
        let first = chain.first().copied().unwrap_or(0);
        let span = nodes[NodeId(u32::try_from(first / 2).unwrap_or(u32::MAX))].span;
        Diagnostic::error(codes::RECURSIVE_NODE, "an adjoint contains an instance of itself")
            .label(span, "through this node")
            .note(format!("the instances are nested: {}", names.join(" -> ")))
            .help("an adjoint that the program defines must not use an adjoint that calls it")
    }
}

fn is_within(inner: Span, outer: Span) -> bool {
    inner.to(outer) == outer
}

/// The error that the optimiser declares types which the parameter does not have; `misfit` says which.
fn no_optimiser(name: &str, ty: &Type, misfit: &Diagnostic, parameter: Span) -> Diagnostic {
    let mut d = Diagnostic::error(NO_OPTIMISER, format!("no node `{name}` updates parameters of type {ty}"));
    d.labels.clone_from(&misfit.labels);
    d.label(parameter, "this parameter is to be trained").note(misfit.message.clone()).help(format!(
        "leave the types away, `node {name}(init, bp, do) -> (o)`: then it serves every parameter"
    ))
}

/// The inputs of an optimiser, in their order.
const INPUTS: [&str; 3] = ["init", "bp", "do"];

/// The error that the inputs of `diff_param` are in another order, in its header or in a call of an optimiser of the
/// library.
fn exchanged(program: &Program, node: &Node) -> Option<Diagnostic> {
    let is_other = |names: &[&str]| {
        names.len() == INPUTS.len() && names != INPUTS && INPUTS.iter().all(|input| names.contains(input))
    };
    let own: Vec<&str> = node.formals.iter().map(|formal| node.name_of(*formal).as_ref()).collect();
    let wrong = |what: String| Diagnostic::error(codes::OVERRIDE_INTERFACE, what);
    if is_other(&own) {
        return Some(
            wrong("`diff_param` has its inputs in another order".to_owned())
                .label(node.span, format!("expected (init, bp, do), found ({})", own.join(", ")))
                .note("the inputs are told by their places: the initial value, when there is a gradient, and the gradient")
                .help("write `node diff_param(init, bp, do) -> (o)`"),
        );
    }
    node.exprs.iter().find_map(|expr| {
        let hir::ExprKind::Call(call) = &expr.kind else { return None };
        let callee = &program.nodes[call.callee];
        let first = callee.formals.len().checked_sub(INPUTS.len())?;
        let formals: Vec<&str> =
            callee.formals[first..].iter().map(|l| callee.name_of(*l).as_ref()).collect();
        let texts: Vec<String> =
            call.args.iter().map(|arg| text::short(node, *arg).unwrap_or_else(|| "..".to_owned())).collect();
        let last: Vec<&str> = texts.get(first..)?.iter().map(String::as_str).collect();
        let is_input = |text: &&str| INPUTS.contains(text);
        let given: Vec<&str> = texts.iter().map(String::as_str).collect();
        let has_all = INPUTS.iter().all(|input| given.contains(input)) && given.len() == callee.formals.len();
        if formals != INPUTS || last == INPUTS || !has_all {
            return None;
        }
        // Other names keep their order.
        let right: Vec<&str> = given.into_iter().filter(|text| !is_input(text)).chain(INPUTS).collect();
        let name = &callee.name;
        Some(
            wrong(format!("`{name}` gets the inputs of `diff_param` in another order"))
                .label(expr.span, format!("its last inputs are (init, bp, do), found ({})", last.join(", ")))
                .help(format!("write `{name}({})`", right.join(", "))),
        )
    })
}

fn optimiser_interface(name: &str, node: &Node, found: Option<(Type, &Type)>) -> Diagnostic {
    let message = format!("`{name}` does not have the interface of a parameter's update");
    let d = Diagnostic::error(codes::OVERRIDE_INTERFACE, message)
        .label(node.span, "this node updates parameters");
    let d = match found {
        Some((found, ty)) => d.note(format!("for a parameter of type {ty} it gives {found}")),
        None => {
            d.note("its inputs are streams: the initial value, a bool, and the gradient where that is true")
        }
    };
    d.help(format!("write `node {name}(init, bp, do) -> (o)`"))
}
