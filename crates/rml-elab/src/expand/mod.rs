//! Copies of templates without structure: static names are replaced by their values, and an equation with an index by
//! one for each index ([ADR 44](../../../docs/adr/0044-structure.md)).
//!
//! A copy is made for each distinct template with its nodes and static values. It is an ordinary node, and the tree
//! of instances and all that follows treat it like any other. A node that is no template is not copied.
//!
//! What decides how many copies there are is evaluated here ([`early`]), before any shape is known.

mod advice;
mod along;
mod branches;
mod calls;
mod choose;
mod constants;
mod copy;
mod define;
mod early;
mod exprs;
mod flags;
mod kind_of;
mod kinds;
mod record;
mod restart;
mod rules;
mod share;
mod value;

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::typed::{Rule, StaticValue};

use crate::hir::{ExprId, Local, LocalKind, Node, Role, SourceId};
use crate::instance::{MAX_DEPTH, RootGiven, RootSpec};
use crate::lower::{callees, ordered, recursion};
use crate::options::Options;
use crate::report::Report;
use crate::scope::Program;
use crate::usage;
pub(crate) use advice::not_set;
use copy::Copy;
use early::Why;
pub(crate) use kinds::dimensions;
use rules::Updating;
use value::{Key, NodeValue};

/// The most copies of templates.
const MAX_COPIES: usize = 20_000;
/// The most equations with an index that all copies have together.
const MAX_EQUATIONS: usize = 200_000;

/// A program with the copies of its templates that were asked for.
#[derive(Debug)]
pub(crate) struct Expansion<'p> {
    /// The program as it is written.
    pub(crate) original: &'p Program,
    /// The program with its copies, which come after the nodes of the source.
    pub(crate) program: Program,
    /// Which node each copy is one of.
    templates: Vec<SourceId>,
    constants: IndexMap<SourceId, Result<StaticValue, Why>>,
    known: IndexMap<Key, SourceId>,
    queue: Vec<Job>,
    /// How many equations with an index all copies have.
    equations: usize,
    /// Whether nodes have delays.
    delayed: IndexMap<SourceId, bool>,
    /// The nodes that update parameters by `by`, from number 1 on.
    pub(crate) rules: Vec<Updating>,
    /// Whether nodes have parameters.
    training: IndexMap<SourceId, bool>,
}

/// A copy that is asked for.
#[derive(Debug)]
struct Job {
    id: SourceId,
    template: SourceId,
    env: Env,
    /// How many copies it stands in.
    depth: usize,
    /// The user's call that it is made for, and what that calls.
    via: Option<(Span, Arc<str>)>,
    /// The call of the template by another node.
    first: Option<Span>,
}

/// The meaning of the static names of a copy.
#[derive(Clone, Debug, Default)]
struct Env {
    /// By position of the formal.
    nodes: IndexMap<usize, NodeValue>,
    values: IndexMap<usize, Result<StaticValue, Why>>,
    /// Named dimensions of the node that runs.
    dims: IndexMap<String, StaticValue>,
    /// Whether it has one more input, by which its delays restart.
    restarts: bool,
    /// How many of its adjoints, the first ones, hold its parameters, and those of what it calls.
    held: u8,
    /// The rule that updates its parameters and those of nodes that it calls, if that is not `diff_param`.
    rule: Option<Rule>,
    /// Whether it is the node that runs, whose inputs may be anything.
    is_root: bool,
}

impl<'p> Expansion<'p> {
    /// A program without copies, whose constants have the values that the options give them unless `root` has a
    /// parameter of that name.
    pub(crate) fn new(
        original: &'p Program,
        options: &Options,
        root: Option<SourceId>,
        report: &mut Report,
    ) -> Self {
        let constants = constants::evaluate(original, options, root, report);
        Self {
            original,
            program: original.clone(),
            templates: Vec::new(),
            constants,
            known: IndexMap::new(),
            queue: Vec::new(),
            equations: 0,
            delayed: IndexMap::new(),
            rules: Vec::new(),
            training: IndexMap::new(),
        }
    }

    /// The node in the source of which a node is a copy; the node itself if it is none.
    pub(crate) fn written(&self, id: SourceId) -> SourceId {
        let copy = (id.0 as usize).checked_sub(self.original.nodes.len());
        copy.and_then(|copy| self.templates.get(copy).copied()).unwrap_or(id)
    }

    /// The root with its copies made. `None` if it cannot run, which is reported.
    pub(crate) fn root(&mut self, mut spec: RootSpec, report: &mut Report) -> Option<RootSpec> {
        let template = Arc::clone(&self.program.nodes[spec.source]);
        if !template.template {
            return Some(spec);
        }
        if takes_nodes(&template) && !spec.open {
            report.push(advice::root(&template));
            return None;
        }
        let spans = template.formals.iter().map(|formal| template.locals[*formal].span);
        let values = spec.givens.iter().zip(spans).enumerate().map(|(i, (given, span))| {
            let value = match given {
                RootGiven::Static(value) => Ok(value.clone()),
                RootGiven::Open => Err(Why::Unknown),
                RootGiven::Input(_) | RootGiven::Unshaped => Err(Why::Stream(span)),
            };
            (i, value)
        });
        let is_value = |formal: &Local| template.locals[*formal].kind != LocalKind::Node;
        let env = Env { values: values.collect(), dims: spec.dims.clone(), is_root: true, ..Env::default() };
        let givens = spec.givens.iter().zip(&template.formals).filter(|(_, formal)| is_value(formal));
        // a record is an input for each of its fields
        let size =
            |formal: &Local| kinds::declared(&template, *formal).map_or(1, |kind| kind.size(&self.program));
        spec.givens = givens.flat_map(|(given, formal)| vec![given.clone(); size(formal)]).collect();
        let open = spec.open;
        let id = self.request(spec.source, env, 0, None, None);
        let before = report.errors();
        let unknown = self.run(report)?;
        self.program.in_error |= report.errors() > before;
        spec.open |= unknown;
        spec.source = id;
        let copy = &self.program.nodes[id];
        for (given, &formal) in spec.givens.iter_mut().zip(&copy.formals) {
            let is_static = matches!(copy.roles[formal], Role::Static | Role::Both);
            if is_static && matches!(given, RootGiven::Input(None) | RootGiven::Unshaped) {
                if !open {
                    report.push(not_set(copy, formal));
                }
                *given = RootGiven::Open;
                spec.open = true;
            }
        }
        Some(spec)
    }

    /// The copy of a template; the node itself if it is none.
    fn request(
        &mut self,
        template: SourceId,
        env: Env,
        depth: usize,
        via: Option<(Span, Arc<str>)>,
        first: Option<Span>,
    ) -> SourceId {
        let node = &self.program.nodes[template];
        if !node.template && !env.restarts && env.held == 0 && env.rule.is_none() {
            return template;
        }
        let key = Key::new(template, &env);
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let id = self.program.nodes.push(Arc::clone(node));
        self.templates.push(template);
        self.known.insert(key, id);
        self.queue.push(Job { id, template, env, depth, via, first });
        id
    }

    /// Makes the copies that are asked for, and those that they ask for; whether something is missing because a value
    /// is not known. `None` if they do not end, which is reported.
    fn run(&mut self, report: &mut Report) -> Option<bool> {
        let mut made: IndexMap<SourceId, Node> = IndexMap::new();
        let mut unknown = false;
        while let Some(job) = self.queue.pop() {
            if job.depth > MAX_DEPTH || self.templates.len() > MAX_COPIES {
                report.push(advice::endless(&self.program.nodes[job.template], &job.env, job.first));
                self.queue.clear();
                return None;
            }
            let id = job.id;
            let (mut node, missing) = Copy::new(self, job, report).make();
            unknown |= missing;
            self.place(id, &mut node);
            made.insert(id, node);
        }
        self.finish(made, report);
        Some(unknown)
    }

    /// Finds the roles of the names of copies, callees first.
    fn finish(&mut self, mut made: IndexMap<SourceId, Node>, report: &mut Report) {
        let calls: IndexMap<SourceId, Vec<(SourceId, Span, ExprId)>> =
            made.iter().map(|(id, node)| (*id, callees(node))).collect();
        let of = |id: SourceId| calls.get(&id).cloned().unwrap_or_default();
        let (order, cycles) = ordered(calls.keys().copied(), &of);
        for cycle in cycles {
            report.push(recursion(&|id| made.get(&id).unwrap_or(&self.program.nodes[id]), &cycle));
            let (id, expr) = cycle.call;
            if let Some(node) = made.get_mut(&id) {
                let call = &mut node.exprs[expr].kind;
                *call = crate::hir::ExprKind::Error(call.children());
            }
        }
        for id in order {
            let Some(mut node) = made.swap_remove(&id) else { continue };
            let (roles, order) = usage::analyse(&|callee| &self.program.nodes[callee], &node, report);
            (node.roles, node.static_order) = (roles, order);
            self.program.nodes[id] = Arc::new(node);
        }
    }
}

/// Whether a node takes nodes, so that it cannot run by itself.
pub(crate) fn takes_nodes(node: &Node) -> bool {
    node.formals.iter().any(|formal| node.locals[*formal].kind == LocalKind::Node)
}

/// More copies than that are too many for one equation.
fn too_many(span: Span, found: i64) -> Diagnostic {
    Diagnostic::error(codes::STATIC_VALUE, "an equation is repeated too often")
        .label(span, format!("{found} times"))
        .note(format!("expected at most {MAX_COPIES} indices, and {MAX_EQUATIONS} in all copies together"))
}
