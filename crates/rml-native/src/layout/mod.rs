//! Where slots are in memory.

mod in_place;
mod settled;

use rml_base::{EntityId, IndexVec};
use rml_ir::{DType, Value};
use rml_nest::{Access, Ends, Guard, Home, Order, Positions, Program, Slot, Tick, accesses};

use in_place::is_added;
use settled::First;

/// How many elements a slot has in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Room {
    /// Those of one value: of a constant, a register, or of what is read at the same tick alone, or added up.
    One,
    /// Those of as many ticks as a block of its node has.
    Block,
    /// Those of all ticks.
    Ticks,
}

/// The rooms of all slots.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) rooms: IndexVec<Slot, Room>,
    /// The ticks of a block, for each node.
    pub(crate) blocks: Vec<usize>,
    /// From the first node that uses a slot to the last one; none of what lives longer than a window.
    lives: IndexVec<Slot, Option<(usize, usize)>>,
    widths: IndexVec<Slot, usize>,
    dtypes: IndexVec<Slot, DType>,
    /// The ticks of the block of the node that fills a slot.
    block_of: IndexVec<Slot, usize>,
    /// How many threads have memory of their own for blocks.
    shards: usize,
    /// The registers whose places slots take.
    taken: IndexVec<Slot, Option<Slot>>,
}

/// Places of all slots for a window: where each begins, and how many elements there are of each type.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    pub(crate) at: Vec<usize>,
    pub(crate) sizes: [usize; 3],
}

/// Bytes that the values of a block may take.
const BLOCK: usize = 96 << 10;

/// The most ticks of a block.
const LONGEST: usize = 64;

/// Elements that places are multiples of.
const ALIGNED: usize = 16;

/// A read of a slot: by which stage of which node, at which tick, at which positions and under which conditions.
struct Read {
    node: usize,
    stage: usize,
    tick: Tick,
    at: Positions,
    when: Vec<Guard>,
}

/// For each slot: what reads it, and the node of each stage that fills it.
struct Uses {
    reads: IndexVec<Slot, Vec<Read>>,
    fills: IndexVec<Slot, Vec<usize>>,
}

impl Uses {
    fn of(program: &Program) -> Uses {
        let n = program.slots.len();
        let mut reads: IndexVec<Slot, Vec<Read>> = program.slots.ids().map(|_| Vec::new()).collect();
        let mut fills: IndexVec<Slot, Vec<usize>> = IndexVec::filled(Vec::new(), n);
        let mut put = |(node, stage): (usize, usize), at: Positions, when: &[Guard], access: &Access| {
            let when = when.to_vec();
            reads[access.slot].push(Read { node, stage, tick: access.tick, at, when });
        };
        for (node, own) in program.nodes.iter().enumerate() {
            for (stage, work) in own.stages.iter().enumerate() {
                let id = (node, stage);
                work.when.iter().for_each(|guard| put(id, work.at, &[], &guard.cond));
                for (at, access) in work.sources().into_iter().flat_map(accesses) {
                    put(id, work.at.and(at), &work.when, &access);
                }
                work.fills().for_each(|slot| fills[slot].push(node));
            }
            for write in &own.writes {
                let id = (node, own.stages.len());
                write_reads(write).iter().for_each(|access| put(id, write.at, &[], access));
            }
        }
        end_reads(program).iter().for_each(|access| put((0, 0), Positions::ALL, &[], access));
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
}

impl Layout {
    /// For that many threads. `starts` is what registers hold when they are not set, if that is a constant.
    pub(crate) fn new(program: &Program, starts: &[Option<Value>], threads: usize) -> Layout {
        let Uses { reads, fills } = Uses::of(program);
        let firsts = settled::firsts(program, starts);
        let end = program.nodes.len();
        let room = |slot: Slot| match program.slots[slot].home {
            Home::Const(_) | Home::Register { .. } => Room::One,
            Home::Input => Room::Ticks,
            Home::Tick { .. } => room(program, slot, &reads[slot], &fills[slot], &firsts),
        };
        let rooms: IndexVec<Slot, Room> = program.slots.ids().map(room).collect();
        let taken = in_place::taken(program, &rooms);
        let live = |slot: Slot| match program.slots[slot].home {
            Home::Const(_) | Home::Register { .. } => None,
            Home::Tick { .. } if taken[slot].is_some() => None,
            Home::Input => Some((0, reads[slot].iter().map(|read| read.node).max().unwrap_or(0))),
            Home::Tick { .. } => {
                let used = || fills[slot].iter().copied().chain(reads[slot].iter().map(|read| read.node));
                Some((used().min().unwrap_or(0), used().max().unwrap_or(0)))
            }
        };
        let lives = program.slots.ids().map(live).collect();
        let widths: IndexVec<Slot, usize> = program.slots.iter().map(|data| data.ty.shape.len()).collect();
        let dtypes: IndexVec<Slot, DType> = program.slots.iter().map(|data| data.ty.dtype).collect();
        let bytes = |k: usize| -> usize {
            let own = program.slots.ids().filter(|slot| fills[*slot].contains(&k));
            own.map(|slot| widths[slot] * 4).sum()
        };
        let block = |k: usize| (BLOCK / bytes(k).max(1)).clamp(1, LONGEST);
        let blocks: Vec<usize> = (0..end).map(block).collect();
        let block_of = fills.iter().map(|nodes| nodes.first().map_or(1, |k| blocks[*k])).collect();
        let shards = if program.ahead == 0 { threads } else { 1 };
        Layout { rooms, blocks, lives, widths, dtypes, block_of, shards, taken }
    }

    /// The elements of a slot for a window of that many ticks.
    fn len(&self, slot: Slot, ticks: usize) -> usize {
        let values = match self.rooms[slot] {
            Room::One => 1,
            Room::Block if self.shards == 1 => self.block_of[slot].min(ticks),
            Room::Block => self.shards * self.block_of[slot],
            Room::Ticks => ticks,
        };
        (self.widths[slot] * values).next_multiple_of(ALIGNED)
    }

    /// Places for a window of that many ticks: slots that are never needed at once may share them.
    pub(crate) fn places(&self, ticks: usize) -> Places {
        let mut places = Places { at: vec![0; self.rooms.len()], sizes: [0; 3] };
        let kind = |slot: Slot| kind(self.dtypes[slot]);
        let own = |slot: &Slot| self.lives[*slot].is_none() && self.taken[*slot].is_none();
        for slot in self.rooms.ids().filter(own) {
            let size = &mut places.sizes[kind(slot)];
            places.at[slot.index()] = *size;
            *size += self.len(slot, ticks);
        }
        for slot in self.rooms.ids() {
            places.at[slot.index()] = places.at[self.place(slot).index()];
        }
        let kept = places.sizes;
        let mut slots: Vec<Slot> = self.rooms.ids().filter(|slot| self.lives[*slot].is_some()).collect();
        slots.sort_by_key(|slot| (std::cmp::Reverse(self.len(*slot, ticks)), *slot));
        let mut placed: Vec<Slot> = Vec::new();
        for slot in slots {
            let len = self.len(slot, ticks);
            let at_once = |other: &&Slot| {
                let lives = self.lives[slot].zip(self.lives[**other]);
                let is_met = lives.is_some_and(|((from, to), (first, last))| from <= last && first <= to);
                kind(**other) == kind(slot) && is_met
            };
            let mut taken: Vec<(usize, usize)> = placed
                .iter()
                .filter(at_once)
                .map(|other| (places.at[other.index()], self.len(*other, ticks)))
                .collect();
            taken.sort_unstable();
            let mut at = kept[kind(slot)];
            for (from, size) in taken {
                if at + len <= from {
                    break;
                }
                at = at.max(from + size);
            }
            places.at[slot.index()] = at;
            places.sizes[kind(slot)] = places.sizes[kind(slot)].max(at + len);
            placed.push(slot);
        }
        places
    }

    /// The slot in whose place the elements of a slot are: itself, or the register that it is committed to.
    pub(crate) fn place(&self, slot: Slot) -> Slot {
        self.taken[slot].unwrap_or(slot)
    }

    /// How many elements are between two ticks.
    pub(crate) fn step(&self, slot: Slot) -> usize {
        if self.rooms[slot] == Room::One { 0 } else { self.widths[slot] }
    }

    pub(crate) fn width(&self, slot: Slot) -> usize {
        self.widths[slot]
    }

    pub(crate) fn dtype(&self, slot: Slot) -> DType {
        self.dtypes[slot]
    }
}

/// Which of the three arrays of elements a type is in.
pub(crate) fn kind(dtype: DType) -> usize {
    match dtype {
        DType::Num => 0,
        DType::Int => 1,
        DType::Bool => 2,
    }
}

/// What a write of a register reads.
pub(crate) fn write_reads(write: &rml_nest::Write) -> Vec<Access> {
    let guards = write.when.iter().map(|guard| guard.cond.clone());
    let values = accesses(&write.value).into_iter().map(|(_, access)| access);
    guards.chain(write.unless.iter().cloned()).chain(values).collect()
}

/// What tells the end of a window that the program finds: it is read in the first node.
pub(crate) fn end_reads(program: &Program) -> Vec<Access> {
    match &program.ends {
        Ends::Nothing | Ends::Given(_) => Vec::new(),
        Ends::Found { conds, .. } => conds.iter().map(|guard| guard.cond.clone()).collect(),
    }
}

/// What is read when all nodes have run.
pub(crate) fn last_reads(program: &Program) -> Vec<Access> {
    let commits = program.commits.iter().flat_map(write_reads);
    let outputs = program.outputs.iter().flat_map(|output| &output.cases).flat_map(|(_, when, source)| {
        let guards = when.iter().map(|guard| guard.cond.clone());
        guards.chain(accesses(source).into_iter().map(|(_, access)| access)).collect::<Vec<_>>()
    });
    commits.chain(outputs).collect()
}

fn room(program: &Program, slot: Slot, reads: &[Read], fills: &[usize], firsts: &[First]) -> Room {
    // What is filled at one tick of a window is read there, or seen from other ticks.
    let fillers = program.nodes.iter().flat_map(|node| &node.stages);
    let fillers = fillers.filter(|stage| stage.fills().any(|own| own == slot));
    let filled = fillers.fold(Positions::NONE, |at, stage| at.or(stage.at));
    if filled.is_within(Positions::STARTS) || filled.is_within(Positions::ENDS) {
        return Room::One;
    }
    let Some(own) = fills.first().copied().filter(|k| fills.iter().all(|other| other == k)) else {
        return Room::Ticks;
    };
    let order = program.nodes[own].order;
    if reads.iter().all(|read| read.node == own && read.tick == Tick::Now) {
        return if order == Order::Over { Room::Block } else { Room::One };
    }
    let (before, edge) = match order {
        Order::Over => return Room::Ticks,
        Order::Forward => (Tick::Before, Tick::Last),
        Order::Backward => (Tick::After, Tick::First),
    };
    // What is read in its loop at the tick that the loop has passed, before it is filled again; and outside of it after
    // the last one.
    let stages = &program.nodes[own].stages;
    let is_read_first = |s: usize| {
        let fillers =
            stages.iter().enumerate().filter(|(_, stage)| stage.fills().any(|filled| filled == slot));
        let is_apart = |f: usize| stages.get(s).is_some_and(|stage| stage.at.and(stages[f].at).is_empty());
        fillers
            .into_iter()
            .all(|(f, stage)| s < f || is_apart(f) || s == f && is_added(&stage.work, slot, slot))
    };
    let is_passed = |read: &Read| match read.node == own {
        true => read.tick == Tick::Now || read.tick == before && is_read_first(read.stage),
        false if read.node < own => false,
        false => {
            let node = &program.nodes[own];
            let is_last = |when| settled::is_last(firsts, (order, when), (read.at, &read.when));
            read.tick == edge
                || read.tick == Tick::Now && settled::filled_when(node, slot).is_some_and(is_last)
        }
    };
    if reads.iter().all(is_passed) { Room::One } else { Room::Ticks }
}
