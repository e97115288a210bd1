//! Determines the conditions that gate the gradients of a node's outputs, and the facts about them that callers need.

use std::collections::BTreeSet;

use rml_ir::normal::{Node, Var};

use crate::activity::Adjoints;
use crate::analyse::active;
use crate::bp::Guard;
use crate::node_clocks::{Class, NodeClocks, Step};
use crate::signature::{Gate, num_outputs};

/// The conditions that gate the gradients of the outputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gating {
    /// One condition `bp`, on the slowest clock from which all outputs are sampled.
    One,
    /// A condition for each output. Then callers need not know how the clocks of the outputs are related, and no
    /// gradient waits for another.
    Each,
}

/// The clock of a condition that gates all outputs. It is determined by all outputs if their clocks are known to be
/// related, and otherwise by the outputs with a gradient.
pub(crate) fn top(outputs: &[Var], active: &BTreeSet<Var>, clocks: &NodeClocks) -> Option<Class> {
    let known =
        |outputs: &[Var]| clocks.top(outputs).filter(|&top| outputs.iter().all(|&o| clocks.is_below(top, o)));
    let live: Vec<Var> = outputs.iter().copied().filter(|o| active.contains(o)).collect();
    known(outputs).or_else(|| known(&live)).or_else(|| clocks.top(&live)).or_else(|| clocks.top(outputs))
}

/// The gate of each num output.
pub(crate) fn gates(
    gating: Gating,
    outputs: &[Var],
    active: &BTreeSet<Var>,
    clocks: &NodeClocks,
) -> Vec<Gate<Guard>> {
    let is_any_active = outputs.iter().any(|o| active.contains(o));
    let is_dead = |o: &Var| !active.contains(o) && is_any_active;
    let top = top(outputs, active, clocks);
    let mut next = 0..;
    let gate_of = |o: &Var| match gating {
        Gating::Each if is_dead(o) => Gate { condition: 0, path: Vec::new() },
        Gating::One => {
            Gate { condition: 0, path: top.and_then(|top| clocks.path(top, *o)).unwrap_or_default() }
        }
        Gating::Each => Gate { condition: next.next().unwrap_or(0), path: Vec::new() },
    };
    outputs.iter().map(gate_of).collect()
}

/// The gates in terms of the node's interface, for callers. A clock without a known relation to the clock of the
/// condition is treated as hidden.
pub(crate) fn for_callers(
    source: &Node,
    clocks: &NodeClocks,
    outputs: &[Var],
    gates: &[Gate<Guard>],
    active: &BTreeSet<Var>,
) -> Vec<Gate<Step>> {
    let interface: Vec<Var> = source.inputs().map(|i| i.var).chain(source.outputs.iter().copied()).collect();
    // If no output is on that clock, the caller cannot name it either.
    let top = top(outputs, active, clocks).filter(|&top| outputs.iter().any(|&o| clocks.class(o) == top));
    let is_single = gates.iter().all(|gate| gate.condition == 0);
    let seen = |(o, gate): (&Var, &Gate<Guard>)| {
        // The clock of an unused gradient does not matter.
        if !active.contains(o) {
            return Gate { condition: gate.condition, path: Vec::new() };
        }
        let is_known = !is_single || top.is_some_and(|top| clocks.is_below(top, *o));
        let steps = gate.path.iter().map(|&guard| clocks.step(&interface, guard));
        let path = steps.chain((!is_known).then_some(Step::Inside)).collect();
        Gate { condition: gate.condition, path }
    };
    outputs.iter().zip(gates).map(seen).collect()
}

/// Whether the outputs are on different clocks and an instance inside the node determines how these are related.
pub(crate) fn is_unclear(clocks: &NodeClocks, outputs: &[Var], active: &BTreeSet<Var>) -> bool {
    let live = || outputs.iter().copied().filter(|o| active.contains(o));
    let Some(top) = top(outputs, active, clocks) else { return false };
    !live().all(|o| clocks.is_below(top, o)) && live().any(|o| clocks.is_hidden(o))
}

/// The gates, for callers, of a node whose adjoint is defined by the program: it has one condition.
pub(crate) fn of_own(source: &Node, adjoints: &Adjoints, clocks: &NodeClocks) -> Vec<Gate<Step>> {
    let (num, active) = (num_outputs(source), active(source, adjoints));
    for_callers(source, clocks, &num, &gates(Gating::One, &num, &active, clocks), &active)
}
