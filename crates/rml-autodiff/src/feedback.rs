//! Which calls stand in a circle of equations that goes through the instance in two ways at once.
//!
//! An instance behaves as its body copied in place, so a result may come back as an argument in the same instant, or go
//! forward in time from one result and backward from another. One condition for all results of such a call would make each
//! wait for the others; it gets one for each.

use std::collections::BTreeSet;

use rml_base::EntityId;
use rml_ir::normal::{Eq, Node, Rhs, Var};

use crate::plan::{Adjoints, flows};

/// How far in time an equation carries a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Now,
    Later,
    Earlier,
}

/// The edges of differentiable flow, operand to result.
struct Graph {
    next: Vec<Vec<(usize, Step)>>,
}

/// The calls of `node` whose results come back to them otherwise than through delays of one direction.
pub(crate) fn calls(node: &Node, adjoints: &Adjoints) -> BTreeSet<Eq> {
    let is_call = |id: &Eq| matches!(node.equations[*id].rhs, Rhs::Call { .. });
    let calls: Vec<Eq> = node.equations.ids().filter(is_call).collect();
    if calls.is_empty() {
        return BTreeSet::new();
    }
    let graph = Graph::of(node, adjoints);
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
    fn of(node: &Node, adjoints: &Adjoints) -> Self {
        let mut next = vec![Vec::new(); node.vars.len()];
        for eq in node.equations.iter() {
            for (position, v) in flows(eq, adjoints) {
                let step = match &eq.rhs {
                    Rhs::Fby { .. } if position == 1 => Step::Later,
                    Rhs::FbyBack { .. } if position == 1 => Step::Earlier,
                    Rhs::Post { .. } => Step::Earlier,
                    _ => Step::Now,
                };
                next[v.index()].extend(eq.lhs.iter().map(|o| (o.index(), step)));
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

    /// For each variable a number that it shares with those on a common circle of the edges that are wanted
    /// (Kosaraju's algorithm, with stacks of its own).
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
