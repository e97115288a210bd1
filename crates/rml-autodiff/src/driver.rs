//! Drives the differentiation of a module: resolves and differentiates its nodes, callees before callers.

use std::collections::{BTreeMap, BTreeSet};

use rml_base::{Diagnostics, IndexVec};
use rml_ir::normal::{Callee, Equation, Module, Node, NodeId, Rhs, Var};
use rml_ir::surface::Origins;

use crate::activity::{Adjoints, Inner};
use crate::analyse;
use crate::feedback::{self, Reach};
use crate::gating::{self, Gating};
use crate::node_clocks::{Known, NodeClocks, Summary};
use crate::resolve;
use crate::signature::{self, Adjoint, num_outputs};
use crate::synthesise::{self, Synthesised};

/// A unit of work on a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Task {
    /// Replace the node's calls of adjoints by name.
    Resolve(NodeId),
    /// Summarise the node's clocks.
    Summarise(NodeId),
    /// Make the node's adjoint.
    Adjoint(NodeId),
    /// Make the adjoint that other adjoints call.
    Inner(NodeId),
    /// Make the adjoint with a condition for each output.
    Each(NodeId),
}

/// The work on one module.
pub(crate) struct Driver {
    pub(crate) module: Module,
    pub(crate) adjoints: Adjoints,
    /// The adjoints that other adjoints call: those with one condition if this is enough for callers, otherwise those
    /// in `each`.
    inner: Adjoints,
    /// The adjoints with a condition for each output.
    each: Adjoints,
    /// For each node with an adjoint: the flow of values from its inputs to its outputs.
    reach: BTreeMap<NodeId, Reach>,
    /// The synthesised nodes, callees first.
    pub(crate) synthesised: Vec<NodeId>,
    /// For each synthesised node: the equations that its equations transpose.
    pub(crate) origins: BTreeMap<NodeId, Origins>,
    /// Whether the nodes are made to be shown, and therefore get more names.
    readable: bool,
    summaries: BTreeMap<NodeId, Summary>,
    /// For each adjoint: facts about the clocks of conditions and gradients that do not follow from its equations.
    known: BTreeMap<NodeId, Known>,
    /// For each node whose adjoints hold parameters: the same node with one adjoint fewer that holds them.
    lowered: BTreeMap<NodeId, NodeId>,
    done: BTreeSet<Task>,
}

impl Driver {
    pub(crate) fn new(module: Module, readable: bool) -> Self {
        Self {
            module,
            readable,
            adjoints: Adjoints::new(),
            inner: Adjoints::new(),
            each: Adjoints::new(),
            reach: BTreeMap::new(),
            synthesised: Vec::new(),
            origins: BTreeMap::new(),
            summaries: BTreeMap::new(),
            known: BTreeMap::new(),
            lowered: BTreeMap::new(),
            done: BTreeSet::new(),
        }
    }

    /// Replaces every [`Callee::Diff`] in `node`.
    pub(crate) fn resolve(&mut self, node: NodeId) -> Result<(), Diagnostics> {
        self.run(Task::Resolve(node))
    }

    /// The adjoint of `node`; made if it does not exist yet.
    pub(crate) fn adjoint(&mut self, node: NodeId) -> Result<Option<&Adjoint>, Diagnostics> {
        self.run(Task::Adjoint(node))?;
        Ok(self.adjoints.get(&node))
    }

    /// Records that `copy` is a copy of `node` that is already resolved.
    pub(crate) fn copied(&mut self, node: NodeId, copy: NodeId) {
        self.done.insert(Task::Resolve(copy));
        if let Some(known) = self.known.get(&node) {
            self.known.insert(copy, known.clone());
        }
    }

    /// The synthesised adjoints, with the nodes to which they belong.
    pub(crate) fn made(&self) -> impl Iterator<Item = (NodeId, &Adjoint)> {
        let all = self.adjoints.iter().chain(&self.inner).chain(&self.each);
        all.filter(|(_, adjoint)| !adjoint.is_own).map(|(&id, adjoint)| (id, adjoint))
    }

    fn run(&mut self, task: Task) -> Result<(), Diagnostics> {
        let mut stack = vec![task];
        while let Some(&task) = stack.last() {
            if self.done.contains(&task) {
                stack.pop();
                continue;
            }
            let before = stack.len();
            // Reversed, so that callees are made first.
            let mut wanted = Vec::new();
            match task {
                Task::Resolve(node) => self.prerequisites_of_resolution(node, &mut wanted),
                Task::Summarise(node) => self.prerequisites_of_clocks(node, &mut wanted),
                Task::Adjoint(node) => self.prerequisites_of_adjoint(node, &mut wanted),
                Task::Inner(node) => self.prerequisites_of_inner(node, &mut wanted),
                Task::Each(node) => self.prerequisites_of_each(node, &mut wanted),
            }
            stack.extend(wanted.into_iter().rev());
            if stack.len() > before {
                continue;
            }
            match task {
                Task::Resolve(node) => self.resolve_now(node)?,
                Task::Summarise(node) => {
                    let summary = self.clocks(node).summary(&self.module.nodes[node]);
                    self.summaries.insert(node, summary);
                }
                Task::Adjoint(node) => self.differentiate_now(node)?,
                Task::Inner(node) => self.inner_now(node),
                Task::Each(node) => self.each_now(node)?,
            }
            self.done.insert(task);
            stack.pop();
        }
        Ok(())
    }

    fn want(&self, task: Task, wanted: &mut Vec<Task>) {
        if !self.done.contains(&task) {
            wanted.push(task);
        }
    }

    /// Adds the adjoints, of every order, that the node calls; stops where a lower order does not exist yet.
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
        if !self.done.contains(&Task::Resolve(node)) {
            wanted.push(Task::Resolve(node));
            return;
        }
        for eq in self.module.nodes[node].equations.iter() {
            if let Rhs::Call { callee: Callee::Node(callee), .. } = &eq.rhs {
                self.want(Task::Summarise(*callee), wanted);
            }
        }
        let callees = self.callees(node);
        for &callee in &callees {
            self.want(Task::Inner(callee), wanted);
        }
        if callees.iter().all(|callee| self.inner.contains_key(callee)) {
            for eq in feedback::calls(&self.module.nodes[node], &self.inner, &self.reach) {
                if let Rhs::Call { callee: Callee::Node(callee), .. } =
                    &self.module.nodes[node].equations[eq].rhs
                {
                    self.want(Task::Each(*callee), wanted);
                }
            }
        }
    }

    /// Callers use the adjoint with one condition, unless a single condition cannot gate all outputs.
    fn prerequisites_of_inner(&self, node: NodeId, wanted: &mut Vec<Task>) {
        self.want(Task::Adjoint(node), wanted);
        if self.adjoints.get(&node).is_some_and(|a| !a.is_own && !a.is_open()) {
            self.want(Task::Each(node), wanted);
        }
    }

    /// The callees need a condition for each output as well; with a single condition, their outputs would wait for each
    /// other.
    fn prerequisites_of_each(&self, node: NodeId, wanted: &mut Vec<Task>) {
        self.want(Task::Adjoint(node), wanted);
        for callee in self.callees(node) {
            self.want(Task::Each(callee), wanted);
        }
    }

    /// The callees whose adjoints the adjoint of `node` calls.
    fn callees(&self, node: NodeId) -> Vec<NodeId> {
        let callee = |eq: &Equation| match &eq.rhs {
            Rhs::Call { callee: Callee::Node(callee), .. } if self.passes_gradients(node, *callee) => {
                Some(*callee)
            }
            _ => None,
        };
        self.module.nodes[node].equations.iter().filter_map(callee).collect()
    }

    fn prerequisites_of_clocks(&self, node: NodeId, wanted: &mut Vec<Task>) {
        self.want(Task::Resolve(node), wanted);
        for eq in self.module.nodes[node].equations.iter() {
            if let Rhs::Call { callee: Callee::Node(callee), .. } = &eq.rhs {
                self.want(Task::Summarise(*callee), wanted);
            }
        }
    }

    /// Whether the adjoint of `caller` may need the adjoint of `callee`.
    fn passes_gradients(&self, caller: NodeId, callee: NodeId) -> bool {
        !self.module.overrides.contains_key(&caller) && !num_outputs(&self.module.nodes[callee]).is_empty()
    }

    fn resolve_now(&mut self, id: NodeId) -> Result<(), Diagnostics> {
        let has_diff = |eq: &Equation| matches!(&eq.rhs, Rhs::Call { callee: Callee::Diff { .. }, .. });
        if self.module.nodes[id].equations.iter().any(has_diff) {
            self.check_calls(id)?;
            resolve::resolve(&mut self.module, id, &self.adjoints, !self.readable)?;
        }
        Ok(())
    }

    /// Checks for each adjoint that the node calls by name that one condition can gate all its outputs.
    fn check_calls(&self, id: NodeId) -> Result<(), Diagnostics> {
        let mut problems = Diagnostics::new();
        for eq in self.module.nodes[id].equations.iter() {
            let Rhs::Call { callee: Callee::Diff { node, order }, .. } = &eq.rhs else { continue };
            let mut primal = *node;
            for _ in 0..*order {
                let Some(adjoint) = self.adjoints.get(&primal) else { break };
                if adjoint.is_unclear {
                    problems.push(analyse::hidden_clock(&self.module, primal, eq));
                }
                primal = adjoint.node;
            }
        }
        if problems.has_errors() { Err(problems) } else { Ok(()) }
    }

    /// The adjoints that have a condition for each output.
    pub(crate) fn each(&self) -> Vec<NodeId> {
        self.each.values().filter(|a| a.conditions() > 1).map(|a| a.node).collect()
    }

    /// The adjoint of `node` to show: the one with one condition, unless a single condition cannot gate all outputs.
    pub(crate) fn shown(&mut self, node: NodeId) -> Result<NodeId, Diagnostics> {
        if self.adjoint(node)?.is_some_and(|a| a.is_unclear) {
            self.run(Task::Each(node))?;
            return Ok(self.each.get(&node).map_or(node, |a| a.node));
        }
        Ok(self.adjoints.get(&node).map_or(node, |a| a.node))
    }

    fn differentiate_now(&mut self, id: NodeId) -> Result<(), Diagnostics> {
        let adjoint = match self.module.overrides.get(&id) {
            Some(&own) => {
                let source = &self.module.nodes[id];
                let gates = gating::of_own(source, &self.inner, &self.clocks(id));
                signature::of_override(&self.module, id, own, gates)?
            }
            None => {
                let made = self.synthesised_with(id, Gating::One)?;
                self.added(id, made)
            }
        };
        self.adjoints.insert(id, adjoint);
        let reach = feedback::reach(&self.module.nodes[id], &self.inner, &self.reach);
        self.reach.insert(id, reach);
        Ok(())
    }

    fn inner_now(&mut self, id: NodeId) {
        let inner = self.each.get(&id).filter(|_| self.adjoints.get(&id).is_some_and(|a| !a.is_open()));
        if let Some(inner) = inner.or_else(|| self.adjoints.get(&id)).cloned() {
            self.inner.insert(id, inner);
        }
    }

    fn each_now(&mut self, id: NodeId) -> Result<(), Diagnostics> {
        let Some(one) = self.adjoints.get(&id) else { return Ok(()) };
        let each = if one.is_own || one.gates.len() < 2 {
            one.clone()
        } else {
            let made = self.synthesised_with(id, Gating::Each)?;
            self.added(id, made)
        };
        self.each.insert(id, each);
        Ok(())
    }

    fn synthesised_with(&self, id: NodeId, gating: Gating) -> Result<Synthesised, Diagnostics> {
        let source = &self.module.nodes[id];
        let apart = match gating {
            Gating::One => feedback::calls(source, &self.inner, &self.reach),
            Gating::Each => source.equations.ids().collect(),
        };
        let inner = Inner { one: &self.inner, each: &self.each, apart: &apart };
        synthesise::synthesise(&self.module, source, inner, &self.clocks(id), gating, self.readable)
    }

    /// Adds a synthesised node to the module.
    fn added(&mut self, id: NodeId, made: Synthesised) -> Adjoint {
        let primal = &self.module.nodes[id];
        let (inputs, primal_outputs) = (primal.inputs().count(), primal.outputs.len());
        let own = self.with_callees(made.node);
        let node = self.module.nodes.push(own);
        self.synthesised.push(node);
        self.origins.insert(node, made.origins);
        self.done.insert(Task::Resolve(node));
        let Synthesised { gradients, gates, trains, is_unclear, .. } = made;
        let adjoint = Adjoint {
            node,
            gradients,
            gates,
            trains,
            parameter: None,
            primal_outputs,
            is_own: false,
            is_unclear,
        };
        self.known.insert(node, known(&self.module.nodes[node], inputs, &adjoint));
        adjoint
    }

    /// Replaces callees such that no callee has more adjoints that hold parameters than the node itself. Calls through
    /// which no gradient passes then call the same nodes as in the differentiated node.
    fn with_callees(&mut self, mut node: Node) -> Node {
        let held = node.held;
        for eq in node.equations.iter_mut() {
            if let Rhs::Call { callee: Callee::Node(callee), .. } = &mut eq.rhs {
                while self.module.nodes[*callee].held > held {
                    *callee = self.lowered(*callee);
                }
            }
        }
        node
    }

    /// A copy of a node with one adjoint fewer that holds parameters.
    fn lowered(&mut self, id: NodeId) -> NodeId {
        if let Some(&known) = self.lowered.get(&id) {
            return known;
        }
        let mut node = self.module.nodes[id].clone();
        node.held = node.held.saturating_sub(1);
        let node = self.with_callees(node);
        let copy = self.module.nodes.push(node);
        if let Some(&own) = self.module.overrides.get(&id) {
            self.module.overrides.insert(copy, own);
        }
        self.copied(id, copy);
        self.lowered.insert(id, copy);
        copy
    }

    fn clocks(&self, id: NodeId) -> NodeClocks {
        let nothing = Known::default();
        NodeClocks::of(&self.module.nodes[id], &self.summaries, self.known.get(&id).unwrap_or(&nothing))
    }
}

/// The facts about clocks that follow from the interface of an adjoint: a condition is present together with the
/// outputs that it gates, and a gradient is present where its condition is true.
fn known(node: &Node, inputs: usize, adjoint: &Adjoint) -> Known {
    let mut known = Known::default();
    let formals: Vec<Var> = node.inputs().skip(inputs).map(|i| i.var).collect();
    let Some(&first) = formals.first() else { return known };
    let outputs: Vec<Var> = node.outputs.iter().take(adjoint.primal_outputs).copied().collect();
    let num = outputs.iter().filter(|&&o| node.vars[o].ty.is_num());
    let ds = formals.iter().skip(adjoint.conditions());
    for ((&o, &d), gate) in num.zip(ds).zip(&adjoint.gates) {
        let Some(&bp) = formals.get(gate.condition) else { continue };
        if gate.path.is_empty() {
            known.together.push((bp, o));
            known.sampled.push((d, bp));
        }
    }
    for gradient in adjoint.gradients.iter().filter(|g| !g.zero) {
        let output = |k: usize| node.outputs.get(adjoint.primal_outputs + k).copied();
        let Some(d) = gradient.d.and_then(output) else { continue };
        known.sampled.push((d, gradient.bp.and_then(output).unwrap_or(first)));
    }
    known
}

/// Removes the unused nodes from `first` on, and renumbers the others.
///
/// Returns the new ids of the remaining nodes.
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

/// `from` and all nodes that it calls, directly or through others; callees first.
pub(crate) fn reachable(module: &Module, from: NodeId) -> Vec<NodeId> {
    let mut order = Vec::new();
    let (mut entered, mut left) = (BTreeSet::new(), BTreeSet::new());
    let mut stack = vec![from];
    while let Some(&id) = stack.last() {
        if !entered.insert(id) {
            stack.pop();
            if left.insert(id) {
                order.push(id);
            }
            continue;
        }
        let callees = module.nodes[id].equations.iter().filter_map(|eq| match &eq.rhs {
            Rhs::Call { callee: Callee::Node(callee), .. } => Some(*callee),
            Rhs::ParamUpdate { optimiser, .. } => Some(*optimiser),
            _ => None,
        });
        let fresh: Vec<NodeId> = callees.filter(|id| !entered.contains(id)).collect();
        stack.extend(fresh.into_iter().rev());
    }
    order
}
