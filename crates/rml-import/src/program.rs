//! The program that an import makes, before it is text: nodes of equations, one primitive each, with known types.
//!
//! Invariants: a variable is an input or defined by one equation; equations stand after those that they read, except
//! that the right operand of a delay may come later; nodes stand before those that call them.
//!
//! A node that is called several times has parameters of its own in each call. So a parameter has a *slot*, a number in
//! its node; a call says which slots of the caller are those of the node that it calls, and the slots of the node that
//! runs are the sources.

use std::collections::BTreeMap;

use rml_ir::op::{Op, Reduction};
use rml_ir::{Type, Value};

/// A variable of a node: its position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Var(pub(crate) usize);

/// A program; the last node is the one that runs.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) nodes: Vec<Node>,
    /// What makes the parameters of the node that runs, those of the instances in it among them.
    pub(crate) sources: Vec<Source>,
}

/// What a parameter is made of.
#[derive(Debug)]
pub(crate) struct Source {
    /// The number of the weight.
    pub(crate) weight: usize,
    /// What the mapping says.
    pub(crate) text: String,
}

/// A node of the program as it is called by one path.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) node: usize,
    /// What stands before the names of its parameters.
    pub(crate) path: String,
    /// For each slot of the node the source of the parameter.
    pub(crate) sources: Vec<usize>,
}

/// A node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// What is said above it.
    pub(crate) comment: String,
    pub(crate) inputs: Vec<Var>,
    pub(crate) outputs: Vec<Var>,
    pub(crate) vars: Vec<VarData>,
    pub(crate) equations: Vec<Equation>,
}

/// A variable.
#[derive(Clone, Debug)]
pub(crate) struct VarData {
    pub(crate) ty: Type,
    /// The words of a name that the source suggests.
    pub(crate) name: Option<String>,
}

/// An equation.
#[derive(Clone, Debug)]
pub(crate) struct Equation {
    pub(crate) lhs: Vec<Var>,
    pub(crate) rhs: Rhs,
}

/// The primitives.
#[derive(Clone, Debug)]
pub(crate) enum Rhs {
    Const(Value),
    Apply(Op, Vec<Var>),
    /// Folds axes, which stay with length 1 if `keep` says so.
    Fold {
        by: Reduction,
        axes: Vec<usize>,
        keep: bool,
        of: Var,
    },
    /// A parameter; `frozen` if training leaves it alone.
    Param {
        ty: Type,
        slot: usize,
        frozen: bool,
    },
    /// The first operand where the condition is true.
    If {
        cond: Var,
        then: Var,
        other: Var,
    },
    Fby {
        init: Var,
        next: Var,
    },
    /// A call of a node of the program; with `along`, over an axis of each argument that has one.
    Call {
        node: usize,
        args: Vec<Var>,
        along: Option<Along>,
        slots: Vec<usize>,
    },
    /// Calls of a node one after the other, each with the result of the one before in place of argument `at`. The left
    /// side has the results of all.
    Chain {
        node: usize,
        args: Vec<Var>,
        at: usize,
        slots: Vec<Vec<usize>>,
    },
}

/// How a call goes over the entries of an axis.
#[derive(Clone, Debug)]
pub(crate) struct Along {
    /// The axis of each argument; `None` for one that all entries read as it is.
    pub(crate) axes: Vec<Option<usize>>,
    /// Whether it begins at the last entry.
    pub(crate) back: bool,
}

impl Node {
    /// A new variable.
    pub(crate) fn var(&mut self, ty: Type, name: Option<String>) -> Var {
        self.vars.push(VarData { ty, name });
        Var(self.vars.len() - 1)
    }

    /// A new variable with its equation.
    pub(crate) fn define(&mut self, ty: Type, rhs: Rhs) -> Var {
        let var = self.var(ty, None);
        self.equations.push(Equation { lhs: vec![var], rhs });
        var
    }

    /// Drops equations that no output needs.
    pub(crate) fn prune(&mut self) {
        let mut definition = vec![None; self.vars.len()];
        for (k, equation) in self.equations.iter().enumerate() {
            equation.lhs.iter().for_each(|v| definition[v.0] = Some(k));
        }
        let mut needed = vec![false; self.equations.len()];
        let mut todo: Vec<Var> = self.outputs.clone();
        while let Some(var) = todo.pop() {
            if let Some(k) = definition[var.0].filter(|k| !needed[*k]) {
                needed[k] = true;
                todo.extend(self.equations[k].rhs.operands());
            }
        }
        let mut needed = needed.into_iter();
        self.equations.retain(|_| needed.next() == Some(true));
    }

    /// Numbers the slots of its parameters and calls in the order of the equations; gives what each was before.
    pub(crate) fn number_slots(&mut self) -> Vec<usize> {
        let slots = self.equations.iter_mut().flat_map(|equation| equation.rhs.slots_mut());
        slots.enumerate().map(|(number, slot)| std::mem::replace(slot, number)).collect()
    }

    /// The type of a variable.
    pub(crate) fn ty(&self, var: Var) -> &Type {
        &self.vars[var.0].ty
    }
}

impl Rhs {
    /// The variables that it reads.
    pub(crate) fn operands(&self) -> Vec<Var> {
        match self {
            Rhs::Const(_) | Rhs::Param { .. } => Vec::new(),
            Rhs::Apply(_, args) | Rhs::Call { args, .. } | Rhs::Chain { args, .. } => args.clone(),
            Rhs::Fold { of, .. } => vec![*of],
            Rhs::If { cond, then, other } => vec![*cond, *then, *other],
            Rhs::Fby { init, next } => vec![*init, *next],
        }
    }

    /// The same, to be changed.
    pub(crate) fn operands_mut(&mut self) -> Vec<&mut Var> {
        match self {
            Rhs::Const(_) | Rhs::Param { .. } => Vec::new(),
            Rhs::Apply(_, args) | Rhs::Call { args, .. } | Rhs::Chain { args, .. } => {
                args.iter_mut().collect()
            }
            Rhs::Fold { of, .. } => vec![of],
            Rhs::If { cond, then, other } => vec![cond, then, other],
            Rhs::Fby { init, next } => vec![init, next],
        }
    }

    /// The node that it calls, and the slots of the caller that are those of the node, call by call.
    pub(crate) fn calls(&self) -> Option<(usize, Vec<&[usize]>)> {
        match self {
            Rhs::Call { node, slots, .. } => Some((*node, vec![slots])),
            Rhs::Chain { node, slots, .. } => Some((*node, slots.iter().map(Vec::as_slice).collect())),
            Rhs::Const(_)
            | Rhs::Apply(..)
            | Rhs::Fold { .. }
            | Rhs::Param { .. }
            | Rhs::If { .. }
            | Rhs::Fby { .. } => None,
        }
    }

    /// The slots that it has, in order.
    pub(crate) fn slots_mut(&mut self) -> Vec<&mut usize> {
        match self {
            Rhs::Param { slot, .. } => vec![slot],
            Rhs::Call { slots, .. } => slots.iter_mut().collect(),
            Rhs::Chain { slots, .. } => slots.iter_mut().flatten().collect(),
            Rhs::Const(_) | Rhs::Apply(..) | Rhs::Fold { .. } | Rhs::If { .. } | Rhs::Fby { .. } => {
                Vec::new()
            }
        }
    }
}

impl Program {
    /// The instances of nodes, with the node that runs; `names` are those of the variables of each node.
    pub(crate) fn instances(&self, names: &[Vec<String>]) -> Vec<Instance> {
        let mut found = Vec::new();
        let root = self.nodes.len().saturating_sub(1);
        let sources = (0..self.sources.len()).collect();
        let mut todo = vec![Instance { node: root, path: String::new(), sources }];
        while let Some(instance) = todo.pop() {
            let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
            for equation in &self.nodes[instance.node].equations {
                let Some((node, calls)) = equation.rhs.calls() else { continue };
                let is_chain = matches!(equation.rhs, Rhs::Chain { .. });
                for (slots, var) in calls.into_iter().zip(&equation.lhs) {
                    // The path of a member of a family begins with its name.
                    let (member, count) = if is_chain {
                        (format!("{}.", names[instance.node][var.0]), 0)
                    } else {
                        let count = counts.entry(node).or_default();
                        *count += 1;
                        (String::new(), *count - 1)
                    };
                    let path = format!("{}{member}{}_{count}.", instance.path, self.nodes[node].name);
                    let sources = slots.iter().map(|&slot| instance.sources[slot]).collect();
                    todo.push(Instance { node, path, sources });
                }
            }
            found.push(instance);
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found
    }
}
