//! Which variables of a node are known to be present together, and which are another one sampled.
//!
//! Only what the equations say structurally: enough to know on which clock `bp` of a node with outputs on several clocks
//! lives. It rejects nothing; two clocks that it does not relate may still be equal when the program runs.

use std::collections::BTreeMap;

use rml_ir::Sample;
use rml_ir::normal::{Callee, Equation, Node, NodeId, Rhs, Var};
use rml_ir::op::Op;

use crate::bp::Guard;

/// A class of variables present together; an index that has a meaning only in its [`NodeClocks`].
pub(crate) type Class = usize;

/// The clocks of one node.
pub(crate) struct NodeClocks {
    parents: Vec<usize>,
    /// Class of a sampled variable → class it is sampled from, and by what.
    sampled: BTreeMap<Class, (Class, Guard)>,
    bases: Vec<Guard>,
    /// Results of calls that are sampled by something inside the callee.
    inside: Vec<Var>,
}

/// What is known of the clocks of a node although no equation says it.
#[derive(Clone, Default)]
pub(crate) struct Known {
    /// Variables that are present together.
    pub(crate) together: Vec<(Var, Var)>,
    /// Variables that are present where another is true.
    pub(crate) sampled: Vec<(Var, Var)>,
}

/// What a caller may know of the clocks of a node: classes of its inputs, then outputs, and how they are sampled.
#[derive(Clone, Default)]
pub(crate) struct Summary {
    classes: Vec<Class>,
    sampled: Vec<(Class, Class, usize, bool)>,
    /// The classes that are sampled by something that is not in the interface.
    hidden: Vec<Class>,
}

/// One step down from a clock to a slower one, as a caller sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// By the input or output at that position (inputs, then outputs), as it is or negated.
    Interface(usize, bool),
    /// By a variable that is not in the interface.
    Inside,
}

impl NodeClocks {
    /// Analyses a node whose callees are summarised, with what is known of it besides.
    pub(crate) fn of(node: &Node, summaries: &BTreeMap<NodeId, Summary>, known: &Known) -> Self {
        let mut clocks = Self {
            parents: (0..node.vars.len()).collect(),
            sampled: BTreeMap::new(),
            bases: bases(node),
            inside: Vec::new(),
        };
        known.together.iter().for_each(|&(a, b)| clocks.unite(a, b));
        let mut relations: Vec<(Var, Var, Guard)> = Vec::new();
        for &(v, cond) in &known.sampled {
            relations.push((v, cond, clocks.guard(cond, true)));
        }
        for input in node.inputs() {
            if let Some((cond, positive)) = input.clock {
                relations.push((input.var, cond, clocks.guard(cond, positive)));
            }
        }
        for eq in node.equations.iter() {
            clocks.equation(eq, summaries, &mut relations);
        }
        clocks.close(&relations);
        clocks
    }

    fn guard(&self, cond: Var, positive: bool) -> Guard {
        let base = self.bases[cond.0 as usize];
        if positive { base } else { base.negated() }
    }

    fn equation(
        &mut self,
        equation: &Equation,
        summaries: &BTreeMap<NodeId, Summary>,
        relations: &mut Vec<(Var, Var, Guard)>,
    ) {
        if let Rhs::Call { callee, args, .. } = &equation.rhs {
            if let Callee::Node(id) = callee
                && let Some(summary) = summaries.get(id)
            {
                self.call(summary, args, &equation.lhs, relations);
            }
            return;
        }
        let synchrony = equation.synchrony();
        synchrony.pairs().for_each(|(a, b)| self.unite(a, b));
        let sampled = |s: &Sample| (s.var, s.cond, self.guard(s.cond, s.positive));
        relations.extend(synchrony.samples.iter().map(sampled));
    }

    fn call(&mut self, summary: &Summary, args: &[Var], lhs: &[Var], relations: &mut Vec<(Var, Var, Guard)>) {
        let actuals: Vec<Var> = args.iter().chain(lhs).copied().collect();
        let mut first: BTreeMap<Class, Var> = BTreeMap::new();
        for (&class, &actual) in summary.classes.iter().zip(&actuals) {
            let other = *first.entry(class).or_insert(actual);
            self.unite(actual, other);
        }
        self.inside.extend(summary.hidden.iter().filter_map(|class| first.get(class)));
        for &(class, parent, cond, positive) in &summary.sampled {
            if let (Some(&v), Some(&p), Some(&c)) = (first.get(&class), first.get(&parent), actuals.get(cond))
            {
                self.unite(p, c);
                relations.push((v, c, self.guard(c, positive)));
            }
        }
    }

    /// Equal samplings of one clock are one clock.
    fn close(&mut self, relations: &[(Var, Var, Guard)]) {
        loop {
            let mut changed = false;
            self.sampled.clear();
            let mut known: BTreeMap<(Class, Guard), Var> = BTreeMap::new();
            for &(v, from, guard) in relations {
                let class = self.class(from);
                let other = *known.entry((class, guard)).or_insert(v);
                if self.class(other) != self.class(v) {
                    self.unite(v, other);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        for &(v, from, guard) in relations {
            let (class, parent) = (self.class(v), self.class(from));
            if class != parent {
                self.sampled.entry(class).or_insert((parent, guard));
            }
        }
    }

    fn find(&self, mut i: usize) -> usize {
        while self.parents[i] != i {
            i = self.parents[i];
        }
        i
    }

    fn unite(&mut self, a: Var, b: Var) {
        let (a, b) = (self.find(a.0 as usize), self.find(b.0 as usize));
        self.parents[a.max(b)] = a.min(b);
    }

    /// The class of a variable.
    pub(crate) fn class(&self, v: Var) -> Class {
        self.find(v.0 as usize)
    }

    /// How to come from `top` down to the class of `v`; `None` if it is not sampled from `top`. NodeClocks that are no sampling
    /// of any other are taken to be one, the node's base clock.
    pub(crate) fn path(&self, top: Class, v: Var) -> Option<Vec<Guard>> {
        let mut path = Vec::new();
        let mut class = self.class(v);
        while class != top {
            let Some(&(parent, guard)) = self.sampled.get(&class) else {
                if self.sampled.contains_key(&top) {
                    return None;
                }
                break;
            };
            path.push(guard);
            class = parent;
            if path.len() > self.parents.len() {
                return None;
            }
        }
        path.reverse();
        Some(path)
    }

    /// Whether a variable is known to be on the clock `top`, or sampled from it.
    pub(crate) fn is_below(&self, top: Class, v: Var) -> bool {
        self.upward(self.class(v)).any(|class| class == top)
    }

    /// A class, the one that it is sampled from, and so on.
    fn upward(&self, class: Class) -> impl Iterator<Item = Class> + '_ {
        let up = |class: &Class| self.sampled.get(class).map(|&(parent, _)| parent);
        std::iter::successors(Some(class), up).take(self.sampled.len() + 1)
    }

    /// The slowest clock of which all the outputs are samplings; where they have none in common, that of the first.
    pub(crate) fn top(&self, outputs: &[Var]) -> Option<Class> {
        let first = self.class(*outputs.first()?);
        let known = |top: &Class| outputs.iter().all(|&o| self.is_below(*top, o));
        let taken = |top: &Class| outputs.iter().all(|&o| self.path(*top, o).is_some());
        self.upward(first)
            .find(known)
            .or_else(|| outputs.iter().map(|&o| self.class(o)).find(taken))
            .or_else(|| self.upward(first).find(taken))
            .or(Some(first))
    }

    /// Whether a variable is sampled by something inside an instance.
    pub(crate) fn is_hidden(&self, v: Var) -> bool {
        self.inside.iter().any(|&of| self.class(of) == self.class(v))
    }

    /// What a clock is a sampling by.
    pub(crate) fn sampled_by(&self, class: Class) -> Option<Guard> {
        self.sampled.get(&class).map(|&(_, guard)| guard)
    }

    /// What callers may know.
    pub(crate) fn summary(&self, node: &Node) -> Summary {
        let interface: Vec<Var> = node.inputs().map(|i| i.var).chain(node.outputs.iter().copied()).collect();
        let classes: Vec<Class> = interface.iter().map(|&v| self.class(v)).collect();
        let (mut sampled, mut hidden) = (Vec::new(), Vec::new());
        for (&class, &v) in classes.iter().zip(&interface) {
            match self.sampled.get(&class).map(|&(parent, by)| (parent, self.step(&interface, by))) {
                Some((parent, Step::Interface(position, positive))) if classes.contains(&parent) => {
                    sampled.push((class, parent, position, positive));
                }
                Some(_) => hidden.push(class),
                None if self.is_hidden(v) => hidden.push(class),
                None => {}
            }
        }
        Summary { classes, sampled, hidden }
    }

    /// A guard as a caller sees it.
    pub(crate) fn step(&self, interface: &[Var], guard: Guard) -> Step {
        interface
            .iter()
            .enumerate()
            .map(|(i, &v)| (i, self.bases[v.0 as usize]))
            .find(|(_, base)| base.var == guard.var)
            .map_or(Step::Inside, |(i, base)| Step::Interface(i, base.positive == guard.positive))
    }
}

/// For each variable, what it is a copy or negation of.
fn bases(node: &Node) -> Vec<Guard> {
    let mut bases: Vec<Guard> = node.vars.ids().map(|var| Guard { var, positive: true }).collect();
    let mut definition: BTreeMap<Var, Guard> = BTreeMap::new();
    for eq in node.equations.iter() {
        if let (Rhs::Apply { op: op @ (Op::Not | Op::Copy), args, .. }, [v]) = (&eq.rhs, eq.lhs.as_slice())
            && let [of] = args.as_slice()
        {
            definition.insert(*v, Guard { var: *of, positive: *op == Op::Copy });
        }
    }
    for base in &mut bases {
        for _ in 0..=definition.len() {
            let Some(next) = definition.get(&base.var) else { break };
            *base = Guard { var: next.var, positive: next.positive == base.positive };
        }
    }
    bases
}
