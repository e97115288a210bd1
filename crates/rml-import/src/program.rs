//! The program that an import makes, before it is text: nodes of equations, one primitive each, with known types.
//!
//! Invariants: a variable is an input or defined by one equation; equations stand after those that they read, except
//! that the right operand of a delay may come later; nodes stand before those that call them.

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
    /// The name that the source suggests.
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
    /// A parameter that is made of a weight, as `source` says in the mapping.
    Param {
        ty: Type,
        weight: usize,
        source: String,
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
            Rhs::Apply(_, args) | Rhs::Call { args, .. } => args.clone(),
            Rhs::Fold { of, .. } => vec![*of],
            Rhs::If { cond, then, other } => vec![*cond, *then, *other],
            Rhs::Fby { init, next } => vec![*init, *next],
        }
    }
}

impl Program {
    /// The instances of nodes below the one that runs, with their paths: each node and what stands before the names of
    /// its parameters.
    pub(crate) fn instances(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        let mut todo = vec![(self.nodes.len().saturating_sub(1), String::new())];
        while let Some((id, path)) = todo.pop() {
            let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
            for equation in &self.nodes[id].equations {
                if let Rhs::Call { node, .. } = &equation.rhs {
                    let count = counts.entry(*node).or_default();
                    todo.push((*node, format!("{path}{}_{count}.", self.nodes[*node].name)));
                    *count += 1;
                }
            }
            found.push((id, path));
        }
        found.sort_by(|a, b| a.1.cmp(&b.1));
        found
    }
}
