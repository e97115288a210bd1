//! Which nodes are resolved and differentiated, in which order: callees first, whatever the order in the module.

use std::collections::BTreeMap;

use rml_base::{Diagnostics, IndexVec};
use rml_ir::normal::{Callee, Equation, Module, Node, NodeId, Rhs, Var};

use crate::clocks::{Clocks, Summary};
use crate::plan::Adjoints;
use crate::signature::{self, Adjoint, num_outputs};
use crate::{resolve, synthesise};

/// Something to be done to a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Task {
    /// Replace its calls of adjoints that are still to be made.
    Resolve(NodeId),
    /// Summarise its clocks.
    Clocks(NodeId),
    /// Make its adjoint.
    Adjoint(NodeId),
}

/// The work on one module.
pub(crate) struct Driver {
    pub(crate) module: Module,
    pub(crate) adjoints: Adjoints,
    /// The nodes that were made, callees first.
    pub(crate) synthesised: Vec<NodeId>,
    /// Whether the made nodes are to be read rather than run.
    readable: bool,
    summaries: BTreeMap<NodeId, Summary>,
    /// Of adjoints: `bp` and the outputs that it is present with, which no equation says.
    together: BTreeMap<NodeId, Vec<(Var, Var)>>,
    done: BTreeMap<Task, ()>,
}

impl Driver {
    pub(crate) fn new(module: Module, readable: bool) -> Self {
        Self {
            module,
            readable,
            adjoints: Adjoints::new(),
            synthesised: Vec::new(),
            summaries: BTreeMap::new(),
            together: BTreeMap::new(),
            done: BTreeMap::new(),
        }
    }

    /// Leaves no [`Callee::Diff`] in `node`.
    pub(crate) fn resolve(&mut self, node: NodeId) -> Result<(), Diagnostics> {
        self.run(Task::Resolve(node))
    }

    /// The adjoint of `node`.
    pub(crate) fn adjoint(&mut self, node: NodeId) -> Result<Option<&Adjoint>, Diagnostics> {
        self.run(Task::Adjoint(node))?;
        Ok(self.adjoints.get(&node))
    }

    fn run(&mut self, task: Task) -> Result<(), Diagnostics> {
        let mut stack = vec![task];
        while let Some(&task) = stack.last() {
            if self.done.contains_key(&task) {
                stack.pop();
                continue;
            }
            let before = stack.len();
            // Reversed, so that what is called first is made first.
            let mut wanted = Vec::new();
            match task {
                Task::Resolve(node) => self.prerequisites_of_resolution(node, &mut wanted),
                Task::Clocks(node) => self.prerequisites_of_clocks(node, &mut wanted),
                Task::Adjoint(node) => self.prerequisites_of_adjoint(node, &mut wanted),
            }
            stack.extend(wanted.into_iter().rev());
            if stack.len() > before {
                continue;
            }
            match task {
                Task::Resolve(node) => self.resolve_now(node),
                Task::Clocks(node) => {
                    let summary = self.clocks(node).summary(&self.module.nodes[node]);
                    self.summaries.insert(node, summary);
                }
                Task::Adjoint(node) => self.differentiate_now(node)?,
            }
            self.done.insert(task, ());
            stack.pop();
        }
        Ok(())
    }

    fn want(&self, task: Task, wanted: &mut Vec<Task>) {
        if !self.done.contains_key(&task) {
            wanted.push(task);
        }
    }

    /// The adjoints, of every order, that the node calls; nothing where a lower order is missing yet.
    fn prerequisites_of_resolution(&self, node: NodeId, wanted: &mut Vec<Task>) {
        for eq in self.module.nodes[node].equations.iter() {
            let Rhs::Call { callee: Callee::Diff { node, order }, .. } = &eq.rhs else { continue };
            let mut primal = *node;
            for _ in 0..*order {
                self.want(Task::Adjoint(primal), wanted);
                match self.adjoints.get(&primal) {
                    Some(adjoint) => primal = adjoint.node,
                    None => break,
                }
            }
        }
    }

    fn prerequisites_of_adjoint(&self, node: NodeId, wanted: &mut Vec<Task>) {
        if !self.done.contains_key(&Task::Resolve(node)) {
            wanted.push(Task::Resolve(node));
            return;
        }
        for eq in self.module.nodes[node].equations.iter() {
            if let Rhs::Call { callee: Callee::Node(callee), .. } = &eq.rhs {
                self.want(Task::Clocks(*callee), wanted);
                if self.passes_gradients(node, *callee) {
                    self.want(Task::Adjoint(*callee), wanted);
                }
            }
        }
    }

    fn prerequisites_of_clocks(&self, node: NodeId, wanted: &mut Vec<Task>) {
        self.want(Task::Resolve(node), wanted);
        for eq in self.module.nodes[node].equations.iter() {
            if let Rhs::Call { callee: Callee::Node(callee), .. } = &eq.rhs {
                self.want(Task::Clocks(*callee), wanted);
            }
        }
    }

    /// Whether the adjoint of `caller` may need that of `callee`.
    fn passes_gradients(&self, caller: NodeId, callee: NodeId) -> bool {
        !self.module.overrides.contains_key(&caller) && !num_outputs(&self.module.nodes[callee]).is_empty()
    }

    fn resolve_now(&mut self, id: NodeId) {
        let has_diff = |eq: &Equation| matches!(&eq.rhs, Rhs::Call { callee: Callee::Diff { .. }, .. });
        if self.module.nodes[id].equations.iter().any(has_diff) {
            resolve::resolve(&mut self.module, id, &self.adjoints);
        }
    }

    fn differentiate_now(&mut self, id: NodeId) -> Result<(), Diagnostics> {
        let source = &self.module.nodes[id];
        let clocks = self.clocks(id);
        let paths = synthesise::output_paths(source, &clocks);
        let with_bp: Vec<bool> = paths.iter().map(Vec::is_empty).collect();
        let adjoint = match self.module.overrides.get(&id) {
            Some(&own) => signature::of_override(&self.module, id, own, paths)?,
            None => {
                let primal_outputs = source.outputs.len();
                let made =
                    synthesise::synthesise(&self.module, source, &self.adjoints, &clocks, self.readable)?;
                let node = self.module.nodes.push(made.node);
                self.synthesised.push(node);
                self.done.insert(Task::Resolve(node), ());
                let (gradients, trains) = (made.gradients, made.trains);
                // Where a gradient that nothing reads is present does not matter.
                let paths = paths.into_iter().zip(made.live);
                let paths = paths.map(|(path, live)| if live { path } else { Vec::new() }).collect();
                Adjoint { node, gradients, paths, trains, parameter: None, primal_outputs }
            }
        };
        let node = &self.module.nodes[adjoint.node];
        let bp = node.inputs().nth(self.module.nodes[id].inputs().count());
        if let Some(bp) = bp {
            let outputs = num_outputs(node).into_iter().zip(with_bp);
            let together = outputs.filter(|&(_, with_bp)| with_bp).map(|(o, _)| (bp.var, o));
            self.together.insert(adjoint.node, together.collect());
        }
        self.adjoints.insert(id, adjoint);
        Ok(())
    }

    fn clocks(&self, id: NodeId) -> Clocks {
        let together = self.together.get(&id).map_or(&[][..], Vec::as_slice);
        Clocks::of(&self.module.nodes[id], &self.summaries, together)
    }
}

/// Removes the nodes from `first` on that nothing calls, and renumbers the others.
///
/// Returns the new numbers of those that are left.
pub(crate) fn drop_unused(module: &mut Module, first: NodeId, keep: &[NodeId]) -> BTreeMap<NodeId, NodeId> {
    let mut used: Vec<bool> = module.nodes.ids().map(|id| id < first || keep.contains(&id)).collect();
    let mut todo: Vec<NodeId> = module.nodes.ids().filter(|id| used[id.0 as usize]).collect();
    todo.extend(module.overrides.values());
    while let Some(id) = todo.pop() {
        for eq in module.nodes[id].equations.iter() {
            let callee = match &eq.rhs {
                Rhs::Call { callee: Callee::Node(callee), .. } => *callee,
                Rhs::ParamUpdate { optimiser, .. } => *optimiser,
                _ => continue,
            };
            if !std::mem::replace(&mut used[callee.0 as usize], true) {
                todo.push(callee);
            }
        }
    }
    let mut new_ids: BTreeMap<NodeId, NodeId> = BTreeMap::new();
    let mut nodes: IndexVec<NodeId, Node> = IndexVec::new();
    for (id, node) in module.nodes.iter_enumerated() {
        if used[id.0 as usize] {
            new_ids.insert(id, nodes.push(node.clone()));
        }
    }
    for eq in nodes.iter_mut().flat_map(|node| node.equations.iter_mut()) {
        match &mut eq.rhs {
            Rhs::Call { callee: Callee::Node(callee), .. } => *callee = new_ids[callee],
            Rhs::ParamUpdate { optimiser, .. } => *optimiser = new_ids[optimiser],
            _ => {}
        }
    }
    module.nodes = nodes;
    new_ids
}

/// The nodes of `module` that `from` calls, callees first, itself last.
pub(crate) fn reachable(module: &Module, from: NodeId) -> Vec<NodeId> {
    let mut order = Vec::new();
    let mut entered = BTreeMap::new();
    let mut stack = vec![from];
    while let Some(&id) = stack.last() {
        if entered.insert(id, ()).is_some() {
            stack.pop();
            if !order.contains(&id) {
                order.push(id);
            }
            continue;
        }
        let callees = module.nodes[id].equations.iter().filter_map(|eq| match &eq.rhs {
            Rhs::Call { callee: Callee::Node(callee), .. } => Some(*callee),
            Rhs::ParamUpdate { optimiser, .. } => Some(*optimiser),
            _ => None,
        });
        let fresh: Vec<NodeId> = callees.filter(|id| !entered.contains_key(id)).collect();
        stack.extend(fresh.into_iter().rev());
    }
    order
}

/// A variable of a node under change.
pub(crate) fn push_var(
    node: &mut Node,
    name: Option<std::sync::Arc<str>>,
    ty: rml_ir::Type,
    span: rml_base::Span,
) -> Var {
    node.vars.push(rml_ir::normal::VarData { name, ty, span })
}
