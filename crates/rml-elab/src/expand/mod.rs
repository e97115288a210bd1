//! Makes copies of templates that have no structure: static names are replaced by their values, and an equation with an
//! index becomes one equation for each index ([ADR 44](../../../docs/adr/0044-structure.md)).
//!
//! There is one copy for each distinct combination of a template, its node arguments and its static values. A copy is
//! an ordinary node; the tree of instances and all later stages treat it as such. Nodes that are not templates are not
//! copied.
//!
//! Values that determine the number of copies are evaluated here ([`early`]), before any shape is known.

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

/// The maximum number of copies of templates in a program.
const MAX_COPIES: usize = 20_000;
/// The maximum number of equations with an index in all copies together.
const MAX_EQUATIONS: usize = 200_000;

/// A program with the copies of its templates that were requested.
#[derive(Debug)]
pub(crate) struct Expansion<'p> {
    /// The program as written.
    pub(crate) original: &'p Program,
    /// The program with its copies, which come after the nodes of the source.
    pub(crate) program: Program,
    /// The template of each copy.
    templates: Vec<SourceId>,
    constants: IndexMap<SourceId, Result<StaticValue, Why>>,
    known: IndexMap<Key, SourceId>,
    queue: Vec<Job>,
    /// The number of equations with an index in all copies.
    equations: usize,
    /// Whether a node has delays, for nodes checked so far.
    delayed: IndexMap<SourceId, bool>,
    /// The nodes given after `by`, which update parameters; numbered from 1.
    pub(crate) rules: Vec<Updating>,
    /// Whether a node has parameters, for nodes checked so far.
    training: IndexMap<SourceId, bool>,
}

/// A copy that has been requested.
#[derive(Debug)]
struct Job {
    id: SourceId,
    template: SourceId,
    env: Env,
    /// The depth of nesting of copies.
    depth: usize,
    /// The user's call that needs the copy, and the name of the callee there.
    via: Option<(Span, Arc<str>)>,
    /// The call of the template by another node.
    first: Option<Span>,
}

/// The meaning of the static names of a copy.
#[derive(Clone, Debug, Default)]
struct Env {
    /// The values of node formals, by position.
    nodes: IndexMap<usize, NodeValue>,
    values: IndexMap<usize, Result<StaticValue, Why>>,
    /// The named dimensions of the root node.
    dims: IndexMap<String, StaticValue>,
    /// Whether the copy has an additional input by which its delays restart.
    restarts: bool,
    /// The number of the copy's first adjoints that hold its parameters and those of nodes that it calls, instead of
    /// updating them.
    held: u8,
    /// The rule that updates the parameters of the copy and of nodes that it calls, if that is not `diff_param`.
    rule: Option<Rule>,
    /// Whether the copy is the root node, whose inputs may be any values.
    is_root: bool,
}

impl<'p> Expansion<'p> {
    /// A program without copies. Its constants have the values given by the options, unless `root` has a parameter with
    /// the same name.
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

    /// The source node of which a node is a copy; the node itself if it is not a copy.
    pub(crate) fn written(&self, id: SourceId) -> SourceId {
        let copy = (id.0 as usize).checked_sub(self.original.nodes.len());
        copy.and_then(|copy| self.templates.get(copy).copied()).unwrap_or(id)
    }

    /// Makes the copies that the root needs, and returns the root in terms of them. `None` if it cannot run, which is
    /// reported.
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
        // A record is one input for each of its fields.
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

    /// The id of the copy of a template; the node itself if no copy is needed.
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

    /// Makes the requested copies, and those that they request in turn. Returns whether parts are missing because a
    /// value is not known; `None` if the requests do not end, which is reported.
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

    /// Determines the roles of names in the copies, callees first.
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

/// Whether a node has node formals, so that it cannot run by itself.
pub(crate) fn takes_nodes(node: &Node) -> bool {
    node.formals.iter().any(|formal| node.locals[*formal].kind == LocalKind::Node)
}

/// The error that an equation would be repeated too often.
fn too_many(span: Span, found: i64) -> Diagnostic {
    Diagnostic::error(codes::STATIC_VALUE, "an equation is repeated too often")
        .label(span, format!("{found} times"))
        .note(format!("expected at most {MAX_COPIES} indices, and {MAX_EQUATIONS} in all copies together"))
}
