//! The clock classes of one node in normal form, and the samplings between them.
//!
//! Variables are in the same class if the form of the equations puts them in the same cycles, as `+` does with its
//! operands and its result. After `y = x when c`, the class of `y` is sampled from the class of `x` by `c`.
//! [`gating`](crate::gating) uses this to choose the clock of `bp` for a node whose outputs are on several clocks.
//!
//! The analysis rejects nothing. Classes that it does not relate may still turn out to be equal at run time.

use std::collections::BTreeMap;

use rml_base::Sets;
use rml_ir::Sample;
use rml_ir::normal::{Callee, Equation, Node, NodeId, Rhs, Var};
use rml_ir::op::Op;

use crate::bp::Guard;

/// A clock class; an index into the tables of its [`NodeClocks`].
pub(crate) type Class = usize;

/// The clock classes of one node.
pub(crate) struct NodeClocks {
    /// The classes, as sets of variables.
    sets: Sets,
    /// For each sampled class: the class from which it is sampled, and the guard.
    sampled: BTreeMap<Class, (Class, Guard)>,
    /// For each variable: its guard, with negations and copies followed.
    bases: Vec<Guard>,
    /// Results of calls whose clock is determined by a variable inside the callee.
    inside: Vec<Var>,
}

/// Facts about the clocks of a node that do not follow from its equations.
#[derive(Clone, Default)]
pub(crate) struct Known {
    /// Variables that are present together.
    pub(crate) together: Vec<(Var, Var)>,
    /// Pairs of a variable and a condition: the variable is present where the condition is true.
    pub(crate) sampled: Vec<(Var, Var)>,
}

/// The clock classes of a node's interface, for its callers.
#[derive(Clone, Default)]
pub(crate) struct Summary {
    /// The classes of the inputs, followed by those of the outputs.
    classes: Vec<Class>,
    /// A sampled class, the class from which it is sampled, the position of the condition in the interface, and its
    /// value.
    sampled: Vec<(Class, Class, usize, bool)>,
    /// The classes that are sampled by a variable that is not in the interface.
    hidden: Vec<Class>,
}

/// One sampling on the path from a clock to a slower one, in terms of the interface of the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// A sampling by the input or output at this position (inputs first), where it has this value.
    Interface(usize, bool),
    /// A sampling by a variable inside the node.
    Inside,
}

impl NodeClocks {
    /// Analyses a node. `summaries` describes its callees, and `known` adds facts that its equations do not show.
    pub(crate) fn of(node: &Node, summaries: &BTreeMap<NodeId, Summary>, known: &Known) -> Self {
        let mut clocks = Self {
            sets: Sets::new(node.vars.len()),
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

    /// Unites classes that are sampled from the same class by the same guard, until there are none left, and fills
    /// `sampled`.
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

    fn unite(&mut self, a: Var, b: Var) {
        self.sets.join(a.0 as usize, b.0 as usize);
    }

    /// The class of a variable.
    pub(crate) fn class(&self, v: Var) -> Class {
        self.sets.root(v.0 as usize)
    }

    /// The guards by which the class of `v` is sampled from `top`, outermost first; `None` if it is not sampled from
    /// `top`. All classes that are not sampled from another class count as one class, the base clock of the node.
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
            if path.len() > self.bases.len() {
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

    /// A class, the class from which it is sampled, and so on.
    fn upward(&self, class: Class) -> impl Iterator<Item = Class> + '_ {
        let up = |class: &Class| self.sampled.get(class).map(|&(parent, _)| parent);
        std::iter::successors(Some(class), up).take(self.sampled.len() + 1)
    }

    /// The slowest class from which all outputs are sampled; if there is none, the class of the first output.
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

    /// Whether the clock of `v` is determined by a variable inside a callee.
    pub(crate) fn is_hidden(&self, v: Var) -> bool {
        self.inside.iter().any(|&of| self.class(of) == self.class(v))
    }

    /// The guard by which a class is sampled from another class.
    pub(crate) fn sampled_by(&self, class: Class) -> Option<Guard> {
        self.sampled.get(&class).map(|&(_, guard)| guard)
    }

    /// The summary for callers.
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

    /// The sampling by a guard, in terms of the interface.
    pub(crate) fn step(&self, interface: &[Var], guard: Guard) -> Step {
        interface
            .iter()
            .enumerate()
            .map(|(i, &v)| (i, self.bases[v.0 as usize]))
            .find(|(_, base)| base.var == guard.var)
            .map_or(Step::Inside, |(i, base)| Step::Interface(i, base.positive == guard.positive))
    }
}

/// For each variable: its guard, with negations and copies followed.
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
