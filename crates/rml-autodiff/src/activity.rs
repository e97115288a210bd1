//! The tables of the activity analysis: which variables of a node have a gradient, which uses contribute to it, and
//! under which condition. [`analyse`](crate::analyse) fills them before any equation of the adjoint is made.

use std::collections::{BTreeMap, BTreeSet};

use rml_ir::normal::{Eq, NodeId, Var};

use crate::bp::{Bp, Guard};
use crate::node_clocks::Class;
use crate::signature::Adjoint;

/// The existing adjoints, by the nodes to which they belong.
pub(crate) type Adjoints = BTreeMap<NodeId, Adjoint>;

/// The adjoints that replace calls of nodes.
#[derive(Clone, Copy)]
pub(crate) struct Inner<'a> {
    /// The adjoints with one condition for all outputs.
    pub(crate) one: &'a Adjoints,
    /// The adjoints with a condition for each output.
    pub(crate) each: &'a Adjoints,
    /// The calls that use an adjoint with a condition for each output.
    pub(crate) apart: &'a BTreeSet<Eq>,
}

impl Inner<'_> {
    pub(crate) fn get(&self, eq: Eq, node: NodeId) -> Option<&Adjoint> {
        if self.apart.contains(&eq) { self.each.get(&node) } else { self.one.get(&node) }
    }
}

/// One use of a variable that has a gradient, by an equation whose result has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    /// The equation.
    pub(crate) eq: Eq,
    /// The index of the operand.
    pub(crate) position: usize,
    /// The variable used.
    pub(crate) target: Var,
    /// The condition under which the contribution is present.
    pub(crate) bp: Bp,
    /// The variable that already holds the contribution (results of calls).
    pub(crate) result: Option<Var>,
}

/// A num output with its gradient and the condition of the gradient.
pub(crate) struct Formal {
    /// The output.
    pub(crate) output: Var,
    /// The formal `d<output>`.
    pub(crate) d: Var,
    /// The condition.
    pub(crate) bp: Var,
    /// The samplings from the clock of the condition to that of the output.
    pub(crate) path: Vec<Guard>,
}

/// A gradient that comes from the interface (ADJ-2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed {
    /// The output.
    pub(crate) output: Var,
    /// The formal `d<output>`.
    pub(crate) d: Var,
    /// The condition under which the gradient is present.
    pub(crate) bp: Bp,
}

/// A call that is replaced by a call of the adjoint.
#[derive(Clone, Debug)]
pub(crate) struct ActiveCall {
    /// The equation.
    pub(crate) eq: Eq,
    /// The adjoint.
    pub(crate) adjoint: Adjoint,
    /// The conditions that the adjoint gets.
    pub(crate) bps: Vec<Bp>,
    /// For each num output of the callee: the condition under which its gradient must be present.
    pub(crate) outputs: Vec<(Var, Bp)>,
    /// The results that follow the callee's own.
    pub(crate) results: Vec<Var>,
}

/// The results of the analysis of one node.
#[derive(Default)]
pub(crate) struct Activity {
    /// For each formal `d<output>`: the condition under which it is present.
    pub(crate) formals: BTreeMap<Var, Bp>,
    /// The gradients from outside.
    pub(crate) seeds: Vec<Seed>,
    /// All uses, in the order of the equations.
    pub(crate) uses: Vec<Use>,
    /// The calls that are replaced.
    pub(crate) calls: Vec<ActiveCall>,
    /// For each delay with a stream as initial value: `true fby false`, or `true fby back false`.
    pub(crate) firsts: BTreeMap<Eq, Var>,
    /// The values of `firsts` by direction and clock: delays on the same clock share one.
    pub(crate) shared_firsts: BTreeMap<(bool, Class), Var>,
}
