//! Which conditions gate the gradients of a node's outputs, and what its callers have to know of them.

use std::collections::BTreeSet;

use rml_ir::normal::{Node, Var};

use crate::activity::Adjoints;
use crate::analyse::active;
use crate::bp::Guard;
use crate::node_clocks::{Class, NodeClocks, Step};
use crate::signature::num_outputs;

/// What gates the gradients of the outputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gating {
    /// One condition `bp`, on the slowest clock that all outputs are sampled from.
    One,
    /// A condition for each output, so that callers need not know how their clocks are related, and no gradient waits for
    /// another.
    Each,
}

/// The clock of a condition that gates all outputs. It is found from all outputs if their clocks are known to be related, and from
/// those with a gradient otherwise.
pub(crate) fn top(outputs: &[Var], active: &BTreeSet<Var>, clocks: &NodeClocks) -> Option<Class> {
    let known =
        |outputs: &[Var]| clocks.top(outputs).filter(|&top| outputs.iter().all(|&o| clocks.is_below(top, o)));
    let live: Vec<Var> = outputs.iter().copied().filter(|o| active.contains(o)).collect();
    known(outputs).or_else(|| known(&live)).or_else(|| clocks.top(&live)).or_else(|| clocks.top(outputs))
}

/// For each num output the number of its condition, and how its clock is sampled from that of the condition.
pub(crate) fn gated(
    gating: Gating,
    outputs: &[Var],
    active: &BTreeSet<Var>,
    clocks: &NodeClocks,
) -> Vec<(usize, Vec<Guard>)> {
    let is_any_active = outputs.iter().any(|o| active.contains(o));
    let is_dead = |o: &Var| !active.contains(o) && is_any_active;
    let top = top(outputs, active, clocks);
    let mut next = 0..;
    let gate_of = |o: &Var| match gating {
        Gating::Each if is_dead(o) => (0, Vec::new()),
        Gating::One => (0, top.and_then(|top| clocks.path(top, *o)).unwrap_or_default()),
        Gating::Each => (next.next().unwrap_or(0), Vec::new()),
    };
    outputs.iter().map(gate_of).collect()
}

/// For each num output the number of its condition, and how its clock is sampled from that of the condition, in terms of the node's
/// interface. A clock that is not known to be related to that of the condition counts as hidden.
pub(crate) fn steps(
    source: &Node,
    clocks: &NodeClocks,
    outputs: &[Var],
    gated: &[(usize, Vec<Guard>)],
    active: &BTreeSet<Var>,
) -> Vec<(usize, Vec<Step>)> {
    let interface: Vec<Var> = source.inputs().map(|i| i.var).chain(source.outputs.iter().copied()).collect();
    // If no output is on that clock, the caller cannot name it either.
    let top = top(outputs, active, clocks).filter(|&top| outputs.iter().any(|&o| clocks.class(o) == top));
    let is_single = gated.iter().all(|(gate, _)| *gate == 0);
    let step = |(o, (gate, path)): (&Var, &(usize, Vec<Guard>))| {
        // Where a gradient that nothing reads is present does not matter.
        if !active.contains(o) {
            return (*gate, Vec::new());
        }
        let is_known = !is_single || top.is_some_and(|top| clocks.is_below(top, *o));
        let steps = path.iter().map(|&guard| clocks.step(&interface, guard));
        (*gate, steps.chain((!is_known).then_some(Step::Inside)).collect())
    };
    outputs.iter().zip(gated).map(step).collect()
}

/// Whether the outputs are on different clocks and an instance inside the node decides how these are related.
pub(crate) fn is_unclear(clocks: &NodeClocks, outputs: &[Var], active: &BTreeSet<Var>) -> bool {
    let live = || outputs.iter().copied().filter(|o| active.contains(o));
    let Some(top) = top(outputs, active, clocks) else { return false };
    !live().all(|o| clocks.is_below(top, o)) && live().any(|o| clocks.is_hidden(o))
}

/// The [`steps`] of a node whose adjoint the program defines: it has one condition.
pub(crate) fn of_own(source: &Node, adjoints: &Adjoints, clocks: &NodeClocks) -> Vec<(usize, Vec<Step>)> {
    let (num, active) = (num_outputs(source), active(source, adjoints));
    steps(source, clocks, &num, &gated(Gating::One, &num, &active, clocks), &active)
}
