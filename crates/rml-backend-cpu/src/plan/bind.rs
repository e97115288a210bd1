//! Code for a window of a known length: every operand as a place.

use rml_ir::op::Number;

use super::arena::Arena;
use super::code::{At, Code, Slot};
use super::link::Linked;
use super::listed::{Listed, Scalar};
use super::operand::Arg;
use super::place::{Placement, Room};
use super::scalar::{Spot, Step};
use super::single::Single;

/// The addresses of all values in windows of one length.
#[derive(Debug, Default)]
pub(super) struct Bound {
    pub(super) ticks: usize,
    /// The ticks that are bound: all, or those of a segment.
    pub(super) part: (usize, usize),
    /// If the window runs in segments: the ticks per segment, and whether values for later sweeps are stored.
    pub(super) cut: Option<(usize, bool)>,
    /// The address of each value; at the first tick, if it has one for each tick.
    pub(super) bases: Vec<usize>,
    /// Where each operand is stored.
    pub(super) spots: Vec<Spot>,
    pub(super) steps: Vec<Step>,
    pub(super) links: Vec<Linked>,
    /// The code for windows of one tick.
    pub(super) single: Single,
    /// How far each register that slides is from where its room begins.
    pub(super) heads: Vec<usize>,
}

/// How the code of a thread differs from that of the window.
#[derive(Clone, Debug)]
pub(super) struct Mine {
    /// For each operand of the thread's code: the operand of the window's code that it comes from. It is another one if
    /// the thread computes only some rows.
    pub(super) origins: Vec<Arg>,
    /// For each place that belongs to this thread alone: its offset among all such places of its type.
    pub(super) places: Vec<Option<usize>>,
}

impl Bound {
    /// Where a value is stored that is the same at all ticks.
    pub(super) fn base(&self, slot: Slot) -> usize {
        self.bases[slot.0]
    }

    /// Where a value is at a tick.
    pub(super) fn at(&self, code: &Code, slot: Slot, t: usize) -> usize {
        let data = code.slot(slot);
        self.bases[slot.0].wrapping_add(data.step().wrapping_mul(t))
    }

    /// Moves the values of the first `done` ticks to their addresses in windows of `ticks` ticks. `self` is still bound
    /// to the old length, which gives their current addresses.
    pub(super) fn relocate<N: Number>(
        &self,
        code: &Code,
        placement: &Placement,
        arena: &mut Arena<N>,
        (ticks, done): (usize, usize),
    ) {
        let mut go = |slot: &usize| {
            let (data, room) = (&code.slots[*slot], placement.rooms[*slot]);
            arena.copy(data.dtype, room.at(ticks), room.at(self.ticks), done.min(ticks) * data.width);
        };
        // In this order, no move overwrites a value that still has to be moved.
        if ticks > self.ticks {
            placement.early.iter().rev().for_each(&mut go);
        } else {
            placement.early.iter().for_each(&mut go);
        }
    }

    /// Binds code to windows of `ticks` ticks. The addresses of constants and registers do not depend on the length.
    pub(super) fn bind(&mut self, code: &Listed, placement: &Placement, ticks: usize) {
        (self.ticks, self.part, self.cut) = (ticks, (0, ticks), None);
        self.bases.clear();
        self.bases.extend(placement.rooms.iter().map(|room: &Room| room.at(ticks)));
        self.begin_slides(code, ticks);
        self.spots.clear();
        for r in &code.refs {
            let (data, base) = (code.slot(r.slot), self.bases[r.slot.0] + r.offset);
            let far = |n: isize| n.cast_unsigned().wrapping_mul(data.step());
            self.spots.push(match r.at {
                At::Here(n) => Spot { at: base.wrapping_add(far(n)), step: data.step() },
                At::First(n) => Spot { at: base.wrapping_add(far(n)), step: 0 },
                At::Last(n) => Spot { at: base.wrapping_add(far(n + (ticks - 1).cast_signed())), step: 0 },
            });
        }
        self.steps.clear();
        for scalar in &code.scalars {
            self.steps.push(self.step(scalar));
        }
        self.links.clear();
        self.links.extend(code.links.iter().map(|link| Linked::new(link, &self.spots)));
        if ticks == 1 {
            self.single.bind(code, &self.bases);
        }
    }

    pub(super) fn step(&self, scalar: &Scalar) -> Step {
        let [out, a, b, c] = scalar.args.map(|arg| arg.map_or_else(Spot::default, |arg| self.spots[arg]));
        Step { what: scalar.what, out, a, b, c }
    }
}
