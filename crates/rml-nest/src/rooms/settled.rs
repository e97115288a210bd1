//! Reads of the last value that a loop fills under a condition.
//!
//! A backward loop that accumulates a gradient where `c` is true has its final value at the first tick where `c` is
//! true: in its order, that is the last one. The program recognises this tick by a register that is true when the
//! window begins, and becomes false where `c` is true.

use crate::{
    Access, Def, Guard, Home, Lifetime, NestNode, NestProgram, NestStage, Order, Positions, Slot, Tick, Work,
    Write,
};
use rml_ir::Value;

/// A truth value that a loop fills where its conditions hold, and that tells whether they hold for the first time.
#[derive(Debug)]
pub struct First {
    cond: Guard,
    /// The conditions.
    when: Vec<Guard>,
    order: Order,
}

/// All truth values that report when conditions hold for the first time in a window. `starts` gives the constants that
/// registers hold while they are not set.
pub fn firsts(program: &NestProgram, starts: &[Option<Value>]) -> Vec<First> {
    let mut all = Vec::new();
    let registers: Vec<Slot> = program.registers().collect();
    for node in program.nodes.iter().filter(|node| node.order != Order::Over && node.by.is_empty()) {
        for write in &node.writes {
            let number = registers.iter().position(|own| *own == write.register);
            let start = number.and_then(|number| starts[number].as_ref()).and_then(Value::as_bool);
            let Some(start) = start.filter(|start| turns(program, write, *start)) else { continue };
            all.extend(node.stages.iter().filter_map(|stage| told(node, stage, write, start)));
        }
    }
    all
}

/// Whether a register lives within a window and has a single write, which gives it the opposite of its start value.
fn turns(program: &NestProgram, write: &Write, start: bool) -> bool {
    let writes = program.nodes.iter().flat_map(|node| &node.writes).chain(&program.commits);
    let [variant] = &write.value[..] else { return false };
    let opposite = match &program.slots[variant.access.slot].home {
        Home::Const(value) => value.as_bool() == Some(!start),
        Home::Input | Home::Register { .. } | Home::Tick { .. } => false,
    };
    let local = matches!(program.slots[write.register].home, Home::Register { kind: Lifetime::Local, .. });
    let count = writes.filter(|other| other.register == write.register).count();
    local && opposite && count == 1 && write.at == Positions::ALL && write.unless.is_empty()
}

/// The truth value that a stage fills, if it copies the register before it is written.
fn told(node: &NestNode, stage: &NestStage, write: &Write, start: bool) -> Option<First> {
    let Work::Nest(nest) = &stage.work else { return None };
    let ([Def::Load(source)], [(to, _)]) = (nest.body.as_slice(), &nest.stores[..]) else { return None };
    let [variant] = &source[..] else { return None };
    let is_copy = variant.access.slot == write.register && variant.any.is_empty();
    let cond = Guard { cond: Access::scalar(to.slot, Tick::Now), value: start };
    (is_copy && same(&stage.when, &write.when)).then(|| First {
        cond,
        when: write.when.clone(),
        order: node.order,
    })
}

/// Whether two lists have the same conditions.
pub fn same(a: &[Guard], b: &[Guard]) -> bool {
    a.iter().all(|guard| b.contains(guard)) && b.iter().all(|guard| a.contains(guard))
}

/// Whether a read, at these positions and under these conditions, sees the final value of a slot that a loop of this
/// order fills where `when` holds.
pub(super) fn is_last(
    firsts: &[First],
    (order, when): (Order, &[Guard]),
    (at, read_when): (Positions, &[Guard]),
) -> bool {
    let edge = match order {
        Order::Over => return false,
        Order::Forward => Positions::ENDS,
        Order::Backward => Positions::STARTS,
    };
    let opposite = |other: Order| other != order && other != Order::Over;
    at.is_within(edge)
        || firsts
            .iter()
            .any(|first| opposite(first.order) && same(&first.when, when) && read_when.contains(&first.cond))
}

/// The conditions under which all stages of a node fill a slot; none if they differ.
pub fn filled_when(node: &NestNode, slot: Slot) -> Option<&[Guard]> {
    let mut fillers = node.stages.iter().filter(|stage| stage.fills().any(|own| own == slot));
    let first = &fillers.next()?.when;
    fillers.all(|stage| same(&stage.when, first)).then_some(first)
}
