//! The nodes of a program in the form in which C runs them, and the lifetime of each slot.
//!
//! C runs nodes tick by tick. A node over all ticks becomes a loop over the ticks; it is split where a stage reads a
//! later tick of its own node. So a value that is read only at its own tick needs space for only one tick.

use std::collections::BTreeSet;

use rml_base::IndexVec;
use rml_ir::Value;
use rml_nest::rooms::{Room, Uses, parted, write_reads};
use rml_nest::{
    Access, Ends, Home, NestNode, NestProgram, NestStage, Order, Positions, Slot, Test, Tick, Work,
};

/// The most elements that the stages of one function fill in a program of one tick; a single stage may fill more.
const LARGE: usize = 32;

/// The nodes for C: none of them runs over all ticks at once.
pub(crate) fn nodes(program: &NestProgram, cycles: usize) -> Vec<NestNode> {
    let searches = matches!(program.ends, Ends::Found { .. });
    let mut all = program.nodes.iter().cloned();
    let first = if searches { all.next() } else { None };
    let rest: Vec<NestNode> =
        late(program, all.collect()).into_iter().flat_map(|node| parted(node, Order::Forward)).collect();
    let rest =
        if cycles > 1 { rest } else { rest.into_iter().flat_map(|node| small(program, node)).collect() };
    first.into_iter().chain(rest).collect()
}

fn forward(stages: Vec<NestStage>) -> NestNode {
    NestNode { order: Order::Forward, by: Vec::new(), stages, writes: Vec::new() }
}

/// Moves a stage over all ticks directly before its first reader, if its values take more memory than the operands that
/// have to be kept for it.
fn late(program: &NestProgram, nodes: Vec<NestNode>) -> Vec<NestNode> {
    let mut units: Vec<NestNode> = Vec::new();
    for node in nodes {
        match node.order {
            Order::Over => units.extend(node.stages.into_iter().map(over)),
            Order::Forward | Order::Backward => units.push(node),
        }
    }
    for i in (0..units.len()).rev() {
        if units[i].order != Order::Over || units[i].stages.iter().any(|stage| stage.may_fail) {
            continue;
        }
        let filled: Vec<Slot> = units[i].stages.iter().flat_map(NestStage::fills).collect();
        let reads =
            |node: &NestNode, slots: &[Slot]| of_node(node).iter().any(|access| slots.contains(&access.slot));
        let Some(reader) = (i + 1..units.len()).find(|k| reads(&units[*k], &filled)) else { continue };
        let size = |slot: &Slot| program.slots[*slot].ty.shape.len();
        let is_held = |slot: &Slot| {
            !matches!(program.slots[*slot].home, Home::Tick { .. })
                || units[reader..].iter().any(|node| reads(node, &[*slot]))
        };
        let read: BTreeSet<Slot> = of_node(&units[i]).iter().map(|access| access.slot).collect();
        let longer: usize = read.iter().filter(|slot| !is_held(slot)).map(size).sum();
        if filled.iter().map(size).sum::<usize>() > longer {
            let unit = units.remove(i);
            units.insert(reader - 1, unit);
        }
    }
    let mut nodes: Vec<NestNode> = Vec::new();
    for unit in units {
        match nodes.last_mut() {
            Some(last) if unit.order == Order::Over && last.order == Order::Over => {
                last.stages.extend(unit.stages)
            }
            _ => nodes.push(unit),
        }
    }
    nodes
}

/// Everything that a node reads.
fn of_node(node: &NestNode) -> Vec<Access> {
    let stages = node.stages.iter().flat_map(NestStage::reads).map(|(_, access)| access);
    stages.chain(node.writes.iter().flat_map(write_reads)).chain(node.by.iter().cloned()).collect()
}

fn over(stage: NestStage) -> NestNode {
    NestNode { order: Order::Over, ..forward(vec![stage]) }
}

/// Splits a node of a program of one tick into several nodes: values used within one of them can share memory with
/// those of the next.
fn small(program: &NestProgram, node: NestNode) -> Vec<NestNode> {
    let (mut nodes, mut last, mut filled) = (Vec::new(), forward(Vec::new()), 0);
    for stage in node.stages {
        let own = stage.fills().map(|slot| program.slots[slot].ty.shape.len()).sum::<usize>();
        if filled > 0 && filled + own > LARGE {
            nodes.push(std::mem::replace(&mut last, forward(Vec::new())));
            filled = 0;
        }
        filled += own;
        last.stages.push(stage);
    }
    last.writes = node.writes;
    nodes.push(last);
    nodes
}

/// The first and the last node that need a slot.
pub(crate) type Span = (usize, usize);

/// The facts about the slots of a program.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Whether a slot has space for only one tick.
    pub(crate) one: IndexVec<Slot, bool>,
    /// Whether a slot has the same value at all ticks, and may be filled before them.
    pub(crate) steady: IndexVec<Slot, bool>,
    /// For each slot, the nodes during which it is needed; none if nothing reads it, or it is stored elsewhere.
    pub(crate) spans: IndexVec<Slot, Option<Span>>,
    /// The registers that nodes write.
    pub(crate) in_turn: BTreeSet<Slot>,
}

impl Layout {
    /// The layout of a program that runs at most `cycles` ticks per call. `starts` are the values of registers while
    /// they are not set, if constant.
    pub(crate) fn new(program: &NestProgram, cycles: usize, starts: &[Option<Value>]) -> Layout {
        let (uses, firsts) = (Uses::of(program), rml_nest::rooms::firsts(program, starts));
        let called = called(program);
        let writes = program.nodes.iter().flat_map(|node| &node.writes);
        let in_turn: BTreeSet<Slot> = writes.map(|write| write.register).collect();
        let steady = steady(program, &uses, &in_turn, cycles);
        let is_filled = |slot: &Slot| matches!(program.slots[*slot].home, Home::Tick { .. });
        let one = |slot: Slot| {
            is_filled(&slot)
                && (cycles == 1 || steady[slot] || uses.room(program, slot, &firsts) != Room::Ticks)
        };
        let span = |slot: Slot| {
            let is_needed = !uses.reads[slot].is_empty() || called.contains(&slot);
            let filled = uses.fills[slot].iter().map(|(node, _)| *node);
            let used: Vec<usize> = filled.chain(uses.reads[slot].iter().map(|read| read.node)).collect();
            let span = used.iter().min().copied().zip(used.iter().max().copied());
            span.filter(|_| is_needed && is_filled(&slot))
        };
        Layout {
            one: program.slots.ids().map(one).collect(),
            spans: program.slots.ids().map(span).collect(),
            steady,
            in_turn,
        }
    }
}

/// Slots that calls fill, which need memory even if nothing reads them.
fn called(program: &NestProgram) -> BTreeSet<Slot> {
    let stages = program.nodes.iter().flat_map(|node| &node.stages);
    let out = |stage: &NestStage| if let Work::Call(call) = &stage.work { Some(call.out) } else { None };
    stages.filter_map(out).collect()
}

fn steady(
    program: &NestProgram,
    uses: &Uses,
    in_turn: &BTreeSet<Slot>,
    cycles: usize,
) -> IndexVec<Slot, bool> {
    let mut steady = IndexVec::filled(false, program.slots.len());
    if cycles == 1 {
        return steady;
    }
    let first = usize::from(matches!(program.ends, Ends::Found { .. }));
    for (k, node) in program.nodes.iter().enumerate().skip(first) {
        for stage in &node.stages {
            let stays = |access: &Access| match (&program.slots[access.slot].home, access.tick) {
                (Home::Const(_), _) => true,
                (Home::Register { .. }, _) => !in_turn.contains(&access.slot),
                (Home::Input, tick) => is_edge(program, tick),
                (Home::Tick { .. }, Tick::Now) => steady[access.slot],
                (Home::Tick { .. }, tick) => {
                    is_edge(program, tick) && uses.fills[access.slot].iter().all(|(node, _)| *node < k)
                }
            };
            let is_same = stage.sources().iter().all(|source| {
                let test = |test: &Test| match test {
                    Test::Is(guard) => stays(&guard.cond),
                    Test::IsSet(register) => !in_turn.contains(register),
                };
                source.iter().all(|v| v.at == Positions::ALL && v.any.iter().all(test) && stays(&v.access))
            });
            let is_alone = stage.fills().all(|slot| uses.fills[slot].len() == 1);
            if is_same && is_alone && stage.at == Positions::ALL && stage.when.is_empty() && !stage.may_fail {
                stage.fills().for_each(|slot| steady[slot] = true);
            }
        }
    }
    steady
}

/// Whether a tick is the first or the last one of a window, and this is known before the ticks run.
fn is_edge(program: &NestProgram, tick: Tick) -> bool {
    match tick {
        Tick::First => true,
        Tick::Last => program.ahead == 0,
        Tick::Now | Tick::Before | Tick::After => false,
    }
}
