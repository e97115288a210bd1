//! Finds the calls that need a condition for each result: those whose results come back to the same instance as
//! arguments.
//!
//! An instance behaves as if its body were copied in place. A result may therefore come back as an argument in the same
//! cycle, or one result may be needed in later cycles and another one in earlier cycles. If a single condition gated
//! all results of such a call, each of them would wait for the others.

use std::collections::{BTreeMap, BTreeSet};

use rml_base::EntityId;
use rml_ir::normal::{Callee, Eq, Node, NodeId, Rhs, Var};

use crate::activity::Adjoints;
use crate::analyse::flows;

/// The direction of time in which an equation carries a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Now,
    Later,
    Earlier,
}

const STEPS: [Step; 3] = [Step::Now, Step::Later, Step::Earlier];

/// For each input and output of a node: whether values flow from the input to the output within a cycle, to later
/// cycles, and to earlier cycles.
pub(crate) type Reach = BTreeMap<(usize, usize), [bool; 3]>;

/// Computes how values flow through a node. A flow in both directions of time counts as a flow within a cycle.
pub(crate) fn reach(node: &Node, adjoints: &Adjoints, callees: &BTreeMap<NodeId, Reach>) -> Reach {
    let graph = Graph::of(node, adjoints, callees);
    let mut reach = Reach::new();
    for (k, input) in node.inputs().enumerate().filter(|(_, i)| node.vars[i.var].ty.is_num()) {
        let mut seen = vec![[false; 3]; graph.next.len()];
        let mut stack = vec![(input.var.index(), Step::Now)];
        while let Some((v, so_far)) = stack.pop() {
            if std::mem::replace(&mut seen[v][so_far as usize], true) {
                continue;
            }
            let then = |&(to, step): &(usize, Step)| match (so_far, step) {
                (Step::Now, step) => (to, step),
                (step, Step::Now) => (to, step),
                (a, b) if a == b => (to, a),
                _ => (to, Step::Now),
            };
            stack.extend(graph.next[v].iter().map(then).filter(|&(to, step)| !seen[to][step as usize]));
        }
        for (j, o) in node.outputs.iter().enumerate() {
            if seen[o.index()] != [false; 3] {
                reach.insert((k, j), seen[o.index()]);
            }
        }
    }
    reach
}

/// The edges of differentiable flow, from operands to results.
struct Graph {
    next: Vec<Vec<(usize, Step)>>,
}

/// The calls of `node` whose results come back to them in another way than through delays of one direction.
pub(crate) fn calls(node: &Node, adjoints: &Adjoints, callees: &BTreeMap<NodeId, Reach>) -> BTreeSet<Eq> {
    let is_call = |id: &Eq| matches!(node.equations[*id].rhs, Rhs::Call { .. });
    let calls: Vec<Eq> = node.equations.ids().filter(is_call).collect();
    if calls.is_empty() {
        return BTreeSet::new();
    }
    let graph = Graph::of(node, adjoints, callees);
    let component = graph.components(|_| true);
    let mut directions = vec![[false; 2]; graph.next.len()];
    for (from, to, step) in graph.edges() {
        if component[from] == component[to] {
            match step {
                Step::Now => {}
                Step::Later => directions[component[from]][0] = true,
                Step::Earlier => directions[component[from]][1] = true,
            }
        }
    }
    let at_once = graph.components(|step| step == Step::Now);
    let meets = |of: &[usize], id: Eq, both: bool| {
        let eq = &node.equations[id];
        let inner = |(_, v): (usize, Var)| {
            eq.lhs.iter().any(|o| {
                let class = of[v.index()];
                class == of[o.index()] && (!both || directions[class] == [true, true])
            })
        };
        flows(eq, adjoints).into_iter().any(inner)
    };
    calls.into_iter().filter(|&id| meets(&at_once, id, false) || meets(&component, id, true)).collect()
}

impl Graph {
    fn of(node: &Node, adjoints: &Adjoints, callees: &BTreeMap<NodeId, Reach>) -> Self {
        let mut next = vec![Vec::new(); node.vars.len()];
        for eq in node.equations.iter() {
            let known = match &eq.rhs {
                Rhs::Call { callee: Callee::Node(id), .. } => callees.get(id),
                _ => None,
            };
            for (position, v) in flows(eq, adjoints) {
                let step = match &eq.rhs {
                    Rhs::Fby { .. } if position == 1 => Step::Later,
                    Rhs::FbyBack { .. } if position == 1 => Step::Earlier,
                    Rhs::Post { .. } => Step::Earlier,
                    _ => Step::Now,
                };
                // With one condition for all outputs, an input may get contributions that any of the outputs causes.
                let through = |known: &Reach| {
                    let ways = (0..eq.lhs.len()).filter_map(|j| known.get(&(position, j)));
                    ways.fold([false; 3], |all, ways| [0, 1, 2].map(|k| all[k] || ways[k]))
                };
                let ways = known.map_or_else(|| STEPS.map(|way| way == step), through);
                for o in &eq.lhs {
                    let steps = STEPS.into_iter().zip(ways).filter(|(_, way)| *way);
                    next[v.index()].extend(steps.map(|(step, _)| (o.index(), step)));
                }
            }
        }
        Self { next }
    }

    fn edges(&self) -> impl Iterator<Item = (usize, usize, Step)> + '_ {
        let from = |(v, next): (usize, &Vec<(usize, Step)>)| {
            next.iter().map(move |&(to, step)| (v, to, step)).collect::<Vec<_>>()
        };
        self.next.iter().enumerate().flat_map(from)
    }

    /// For each variable, a number that it shares with the variables on a common circle of edges for which `wanted`
    /// returns true (Kosaraju's algorithm, with explicit stacks).
    fn components(&self, wanted: impl Fn(Step) -> bool) -> Vec<usize> {
        let n = self.next.len();
        let mut order = Vec::with_capacity(n);
        let mut seen = vec![false; n];
        for root in 0..n {
            let mut stack =
                if std::mem::replace(&mut seen[root], true) { Vec::new() } else { vec![(root, 0)] };
            while let Some((v, at)) = stack.last_mut() {
                match self.next[*v].get(*at) {
                    Some(&(to, step)) => {
                        *at += 1;
                        if wanted(step) && !std::mem::replace(&mut seen[to], true) {
                            stack.push((to, 0));
                        }
                    }
                    None => {
                        order.push(*v);
                        stack.pop();
                    }
                }
            }
        }
        let mut back = vec![Vec::new(); n];
        for (from, to, step) in self.edges() {
            if wanted(step) {
                back[to].push(from);
            }
        }
        let mut component = vec![usize::MAX; n];
        for root in order.into_iter().rev() {
            let mut stack = vec![root];
            while let Some(v) = stack.pop() {
                if component[v] == usize::MAX {
                    component[v] = root;
                    stack.extend(back[v].iter().copied());
                }
            }
        }
        component
    }
}
