//! The placement of slots in memory.

mod in_place;
mod slides;

use rml_base::{EntityId, IndexVec};
use rml_ir::{DType, Value};
use rml_nest::rooms::{self, Uses};
use rml_nest::{Contraction, Home, NestProgram, NestStage, Order, Slot, Work};

pub(crate) use slides::{InSlide, Sliding, slid};

/// How much memory a slot needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Room {
    /// One value: of a constant, a register, a slot that is read only at its own tick, or an accumulator.
    One,
    /// A value for each tick of a block of its node.
    Block,
    /// A value for each tick of the window.
    Ticks,
    /// The memory of a register that slides.
    Slides(InSlide),
}

/// The rooms of all slots.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) rooms: IndexVec<Slot, Room>,
    /// The ticks of a block, for each node.
    pub(crate) blocks: Vec<usize>,
    /// The first and the last node that use a slot; none for slots that outlive the window.
    lives: IndexVec<Slot, Option<(usize, usize)>>,
    widths: IndexVec<Slot, usize>,
    dtypes: IndexVec<Slot, DType>,
    /// The ticks of the block of the node that fills a slot.
    block_of: IndexVec<Slot, usize>,
    /// How many threads have their own memory for blocks.
    shards: usize,
    /// For each slot, the register whose memory it uses, if it does.
    taken: IndexVec<Slot, Option<Slot>>,
    /// The registers that slide.
    pub(crate) slides: Vec<Sliding>,
    /// The registers that exchange their memory with the committed slot at the end of each window, and these slots.
    pub(crate) exchanged: Vec<(Slot, Slot)>,
}

/// The placement of all slots for a window length: the first element of each, and the number of elements of each type.
/// After those of slots come the tables of registers that slide.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    pub(crate) at: Vec<usize>,
    pub(crate) sizes: [usize; 3],
    /// The first elements of the rooms of registers that slide.
    pub(crate) rooms: Vec<usize>,
}

/// The bytes that the values of a block may take. Products with large matrices may need longer blocks.
const BLOCK: usize = 96 << 10;

/// With this many rows, a product takes longer than reading its matrix from memory.
const ROWS: usize = 64;

/// The most ticks of a block.
const LONGEST: usize = 64;

/// Slots begin at multiples of this many elements.
const ALIGNED: usize = 16;

impl Layout {
    /// The layout for `threads` threads of a program in which these registers slide. `starts` gives the constants that
    /// registers hold while they are not set.
    pub(crate) fn new(
        program: &NestProgram,
        slides: Vec<Sliding>,
        starts: &[Option<Value>],
        threads: usize,
    ) -> Layout {
        let uses = Uses::of(program);
        let firsts = rooms::firsts(program, starts);
        let end = program.nodes.len();
        let is_over = |uses: &Uses, slot: Slot| {
            uses.fills[slot].iter().all(|(k, _)| program.nodes[*k].order == Order::Over)
        };
        let room = |slot: Slot| match program.slots[slot].home {
            Home::Const(_) | Home::Register { .. } => Room::One,
            Home::Input => Room::Ticks,
            Home::Tick { .. } => match uses.room(program, slot, &firsts) {
                rooms::Room::One => Room::One,
                rooms::Room::Ticks => Room::Ticks,
                rooms::Room::Tick if is_over(&uses, slot) => Room::Block,
                rooms::Room::Tick => Room::One,
            },
        };
        let rooms: IndexVec<Slot, Room> = program.slots.ids().map(room).collect();
        let Uses { reads, fills } = &uses;
        let fills = |slot: Slot| fills[slot].iter().map(|(node, _)| *node);
        let taken = in_place::taken(program, &rooms);
        let live = |slot: Slot| match program.slots[slot].home {
            Home::Const(_) | Home::Register { .. } => None,
            Home::Tick { .. } if taken[slot].is_some() => None,
            Home::Input => Some((0, reads[slot].iter().map(|read| read.node).max().unwrap_or(0))),
            Home::Tick { .. } => {
                let used = || fills(slot).chain(reads[slot].iter().map(|read| read.node));
                Some((used().min().unwrap_or(0), used().max().unwrap_or(0)))
            }
        };
        let lives = program.slots.ids().map(live).collect();
        let widths: IndexVec<Slot, usize> = program.slots.iter().map(|data| data.ty.shape.len()).collect();
        let dtypes: IndexVec<Slot, DType> = program.slots.iter().map(|data| data.ty.dtype).collect();
        let bytes = |k: usize| -> usize {
            let own = program.slots.ids().filter(|slot| fills(*slot).any(|own| own == k));
            own.map(|slot| widths[slot] * 4).sum()
        };
        let block = |k: usize| {
            let bytes = bytes(k).max(1);
            let matrices = program.nodes[k].stages.iter().filter_map(|stage| matrix(stage, &rooms, &widths));
            let wanted = matrices.map(|(rows, len)| ROWS.div_ceil(rows).min(len * 4 / bytes));
            (BLOCK / bytes).max(wanted.max().unwrap_or(0)).clamp(1, LONGEST)
        };
        let blocks: Vec<usize> = (0..end).map(block).collect();
        let block_of = program.slots.ids().map(|slot| fills(slot).next().map_or(1, |k| blocks[k])).collect();
        let shards = if program.ahead == 0 { threads } else { 1 };
        let exchanged = Vec::new();
        let mut layout =
            Layout { rooms, blocks, lives, widths, dtypes, block_of, shards, taken, slides, exchanged };
        layout.slide();
        layout.exchanged = in_place::exchanged(program, &layout);
        for (_, slot) in &layout.exchanged {
            layout.lives[*slot] = None; // the next window reads it as the register
        }
        layout
    }

    /// How many elements a slot has in a window of `ticks` ticks.
    fn len(&self, slot: Slot, ticks: usize) -> usize {
        let values = match self.rooms[slot] {
            Room::One => 1,
            Room::Block if self.shards == 1 => self.block_of[slot].min(ticks),
            Room::Block => self.shards * self.block_of[slot],
            Room::Ticks => ticks,
            Room::Slides(_) => 0, // it has its room beside
        };
        (self.widths[slot] * values).next_multiple_of(ALIGNED)
    }

    /// Places all slots for a window of `ticks` ticks. Slots that are never needed at the same time may share memory.
    pub(crate) fn places(&self, ticks: usize) -> Places {
        let mut places = Places { at: vec![0; self.rooms.len()], ..Places::default() };
        let kind = |slot: Slot| kind(self.dtypes[slot]);
        let own = |slot: &Slot| {
            self.lives[*slot].is_none() && self.taken[*slot].is_none() && self.sliding(*slot).is_none()
        };
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
        self.place_slides(&mut places, ticks);
        places
    }

    /// The slot whose memory a slot uses: its own, or that of the register that it is committed to.
    pub(crate) fn place(&self, slot: Slot) -> Slot {
        self.taken[slot].unwrap_or(slot)
    }

    pub(crate) fn width(&self, slot: Slot) -> usize {
        self.widths[slot]
    }

    pub(crate) fn dtype(&self, slot: Slot) -> DType {
        self.dtypes[slot]
    }
}

/// The largest matrix of a product that all ticks share, as a factor or as the sum: the number of rows that each tick
/// contributes, and the number of elements of the matrix.
fn matrix(
    stage: &NestStage,
    rooms: &IndexVec<Slot, Room>,
    widths: &IndexVec<Slot, usize>,
) -> Option<(usize, usize)> {
    let Work::Call(call) = &stage.work else { return None };
    let [a, b] = &call.operands[..] else { return None };
    let product = Contraction::of(&call.op, [&a.dims, &b.dims])?;
    let columns = product.columns();
    let columns = b.dims.iter().zip(&product.right).filter(|(_, label)| columns.contains(label));
    let terms = a.dims.iter().chain(columns.map(|(n, _)| n)).product::<usize>();
    let slots = [a, b].into_iter().flat_map(|operand| operand.source.iter().map(|v| v.access.slot));
    let shared = slots.chain([call.out]).filter(|slot| rooms[*slot] == Room::One);
    let len = shared.map(|slot| widths[slot]).max().filter(|len| *len > 0)?;
    Some(((terms / len).max(1), len))
}

/// Which of the three arrays of elements a type is in.
pub(crate) fn kind(dtype: DType) -> usize {
    match dtype {
        DType::Num => 0,
        DType::Int => 1,
        DType::Bool => 2,
    }
}
