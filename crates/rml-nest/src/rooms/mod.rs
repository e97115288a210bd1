//! How much space a slot needs: for one tick, or for all ticks of a window.
//!
//! A value that is read only at its own tick needs space for one tick, which the next tick reuses. So does a value that
//! its loop reads one tick later, before it is filled again, and a value that is read after the loop, at the last tick
//! at which the loop filled it. All other values need space for each tick of a window.

mod settled;

use rml_base::IndexVec;

use crate::{
    Access, Def, Ends, Guard, NestNode, NestProgram, Order, Positions, Slot, Tick, Val, Variants, Work,
    Write, accesses,
};
pub use settled::{First, filled_when, firsts, same};

/// How much space a slot needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// For one value, which all ticks share.
    One,
    /// For one value, provided that a tick ends before the next one begins: only its own node reads it, at its own
    /// tick.
    Tick,
    /// For a value at each tick of a window.
    Ticks,
}

/// A read of a slot: the node and the stage that read, the tick, the positions and the conditions. Reads by writes of a
/// node, or by the end of a window, count as a stage after all others; reads after all nodes count as a node after the
/// last one.
#[derive(Clone, Debug)]
pub struct SlotRead {
    /// The node.
    pub node: usize,
    /// The stage of the node.
    pub stage: usize,
    /// The tick that is read, relative to the reader.
    pub tick: Tick,
    at: Positions,
    when: Vec<Guard>,
}

/// What reads each slot, and the nodes and stages that fill it.
#[derive(Debug)]
pub struct Uses {
    /// All reads of a slot.
    pub reads: IndexVec<Slot, Vec<SlotRead>>,
    /// The node and the number of each stage that fills a slot.
    pub fills: IndexVec<Slot, Vec<(usize, usize)>>,
}

impl Uses {
    /// The uses of all slots of a program.
    pub fn of(program: &NestProgram) -> Uses {
        let mut reads: IndexVec<Slot, Vec<SlotRead>> = program.slots.ids().map(|_| Vec::new()).collect();
        let mut fills = IndexVec::filled(Vec::new(), program.slots.len());
        let mut put = |(node, stage): (usize, usize), at: Positions, when: &[Guard], access: &Access| {
            let when = when.to_vec();
            reads[access.slot].push(SlotRead { node, stage, tick: access.tick, at, when });
        };
        for (node, own) in program.nodes.iter().enumerate() {
            for (stage, work) in own.stages.iter().enumerate() {
                let id = (node, stage);
                work.when.iter().for_each(|guard| put(id, work.at, &[], &guard.cond));
                for (at, access) in work.sources().into_iter().flat_map(accesses) {
                    put(id, work.at.and(at), &work.when, &access);
                }
                work.fills().for_each(|slot| fills[slot].push(id));
            }
            for write in &own.writes {
                let id = (node, own.stages.len());
                write_reads(write).iter().for_each(|access| put(id, write.at, &[], access));
            }
        }
        end_reads(program).iter().for_each(|access| put((0, usize::MAX), Positions::ALL, &[], access));
        let id = (program.nodes.len(), 0);
        for write in &program.commits {
            let conds = write.when.iter().map(|guard| &guard.cond).chain(&write.unless);
            conds.for_each(|access| put(id, write.at, &[], access));
            for (at, access) in accesses(&write.value) {
                put(id, write.at.and(at), &write.when, &access);
            }
        }
        for (at, when, source) in program.outputs.iter().flat_map(|output| &output.cases) {
            when.iter().for_each(|guard| put(id, *at, &[], &guard.cond));
            accesses(source).iter().for_each(|(own, access)| put(id, at.and(*own), when, access));
        }
        Uses { reads, fills }
    }

    /// How much space a slot that stages fill needs.
    pub fn room(&self, program: &NestProgram, slot: Slot, firsts: &[First]) -> Room {
        let fills = &self.fills[slot];
        // A slot that is filled at only one tick of a window has a single value.
        let filled = fills.iter().map(|(node, stage)| program.nodes[*node].stages[*stage].at);
        let Some((own, _)) = fills.first().copied() else { return Room::One };
        if filled.fold(Positions::NONE, Positions::or).is_edge() {
            return Room::One;
        }
        if fills.iter().any(|(node, _)| *node != own) {
            return Room::Ticks;
        }
        let reads = &self.reads[slot];
        if reads.iter().all(|read| read.node == own && read.tick == Tick::Now) {
            return Room::Tick;
        }
        let is_passed = |read: &SlotRead| self.is_passed(program, (own, slot), read, firsts);
        if program.ahead == 0 && reads.iter().all(is_passed) { Room::One } else { Room::Ticks }
    }

    /// Whether a read sees the latest value: at the same tick; by its own loop at the next tick, before the slot is
    /// filled again; or after the loop, at the last tick that filled it.
    fn is_passed(
        &self,
        program: &NestProgram,
        (own, slot): (usize, Slot),
        read: &SlotRead,
        firsts: &[First],
    ) -> bool {
        let node = &program.nodes[own];
        let (before, edge) = match node.order {
            Order::Over => return false,
            Order::Forward => (Tick::Before, Tick::Last),
            Order::Backward => (Tick::After, Tick::First),
        };
        let is_read_first = |s: usize| {
            let own = node.stages.get(s);
            let is_apart = |f: usize| own.is_some_and(|stage| stage.at.and(node.stages[f].at).is_empty());
            let is_added = |f: usize| s == f && is_added(&node.stages[f].work, slot, slot);
            self.fills[slot].iter().all(|(_, f)| s < *f || is_apart(*f) || is_added(*f))
        };
        let is_last = |when| settled::is_last(firsts, (node.order, when), (read.at, &read.when));
        match read.node == own {
            true => read.tick == Tick::Now || read.tick == before && is_read_first(read.stage),
            false if read.node < own => false,
            false => {
                read.tick == edge || read.tick == Tick::Now && filled_when(node, slot).is_some_and(is_last)
            }
        }
    }
}

/// Splits a node over all ticks into nodes of the given order, such that no stage reads a tick of its own node that has
/// not run yet.
pub fn parted(node: NestNode, order: Order) -> Vec<NestNode> {
    if node.order != Order::Over {
        return vec![node];
    }
    let is_passed = |tick: Tick| match (order, tick) {
        (_, Tick::Now) => true,
        (Order::Forward, Tick::Before | Tick::First) | (Order::Backward, Tick::After | Tick::Last) => true,
        (Order::Over, _) | (Order::Forward | Order::Backward, _) => false,
    };
    let mut nodes: Vec<NestNode> = Vec::new();
    for stage in node.stages {
        let reads_elsewhere = |own: &NestNode| {
            let fills =
                |access: &Access| own.stages.iter().any(|s| s.fills().any(|slot| slot == access.slot));
            stage.reads().iter().any(|(_, access)| !is_passed(access.tick) && fills(access))
        };
        match nodes.last_mut().filter(|own| !reads_elsewhere(own)) {
            Some(own) => own.stages.push(stage),
            None => nodes.push(NestNode { order, by: Vec::new(), stages: vec![stage], writes: Vec::new() }),
        }
    }
    nodes
}

/// Everything that a write of a register reads.
pub fn write_reads(write: &Write) -> Vec<Access> {
    let guards = write.when.iter().map(|guard| guard.cond.clone());
    let values = accesses(&write.value).into_iter().map(|(_, access)| access);
    guards.chain(write.unless.iter().cloned()).chain(values).collect()
}

/// The conditions by which the program finds the end of a window; the first node reads them.
pub fn end_reads(program: &NestProgram) -> Vec<Access> {
    match &program.ends {
        Ends::Nothing | Ends::Given(_) => Vec::new(),
        Ends::Found { conds, .. } => conds.iter().map(|guard| guard.cond.clone()).collect(),
    }
}

/// What is read when all nodes have run.
pub fn last_reads(program: &NestProgram) -> Vec<Access> {
    let commits = program.commits.iter().flat_map(write_reads);
    let outputs = program.outputs.iter().flat_map(|output| &output.cases).flat_map(|(_, when, source)| {
        let guards = when.iter().map(|guard| guard.cond.clone());
        guards.chain(accesses(source).into_iter().map(|(_, access)| access)).collect::<Vec<_>>()
    });
    commits.chain(outputs).collect()
}

/// Whether a stage fills `slot`, and reads each element of `slot` or `other` only once, before it stores the element at
/// the same index.
pub fn is_added(work: &Work, slot: Slot, other: Slot) -> bool {
    let is_own = |source: &Variants| source.iter().any(|v| v.access.slot == slot || v.access.slot == other);
    let nest = match work {
        Work::Call(call) => {
            return call.start.is_some() && !call.operands.iter().any(|operand| is_own(&operand.source));
        }
        Work::Nest(nest) => nest,
    };
    let stores: Vec<_> = nest.stores.iter().filter(|(access, _)| access.slot == slot).collect();
    let [(store, stored)] = stores[..] else { return false };
    let mut loads = nest.body.iter_enumerated().filter_map(|(val, def)| match def {
        Def::Load(source) if is_own(source) => Some((val, source)),
        Def::Load(_) | Def::Take { .. } | Def::Apply(..) | Def::Fold(..) | Def::Chain { .. } => None,
    });
    let takes = nest.body.iter().any(|def| matches!(def, Def::Take { source, .. } if is_own(source)));
    let (Some((val, source)), None) = (loads.next(), loads.next()) else { return false };
    let is_same = |a: &Access| {
        a.slot != slot && a.slot != other || (a.offset, &a.strides) == (store.offset, &store.strides)
    };
    let uses: usize =
        nest.body.iter().map(|def| def.operands().iter().filter(|arg| **arg == val).count()).sum();
    let is_stored = nest.stores.iter().any(|(_, stored)| *stored == val);
    let is_copied = *stored == val && uses == 0;
    let feeds = uses == 1 && !is_stored && is_made_of(&nest.body, *stored, val);
    !takes && (is_copied || feeds) && source.iter().all(|variant| is_same(&variant.access))
}

/// Whether a value is computed from another one, directly or through others.
fn is_made_of(body: &IndexVec<Val, Def>, val: Val, of: Val) -> bool {
    let mut made: IndexVec<Val, bool> = IndexVec::new();
    for (own, def) in body.iter_enumerated() {
        let is_made = def.operands().iter().any(|operand| *operand == of || made[*operand]);
        let _: Val = made.push(own != of && is_made);
    }
    made[val]
}
