//! Registers that slide: the values of successive ticks overlap in memory.
//!
//! The value before tick `t` begins `t * step` elements after that before the first tick, or, if conditions decide at
//! which ticks it slides, as many as a table says. All of them are in the room of the register, which moves through it
//! window by window, and is copied back where the room ends.

use rml_base::EntityId;
use rml_nest::{Ends, NestProgram, Slide, Slot, Tick};
use rml_plan::Plan;

use super::{ALIGNED, Layout, Places, Room, kind};

/// A register that slides.
#[derive(Clone, Debug)]
pub(crate) struct Sliding {
    pub(crate) slide: Slide,
    /// How many elements its value moves on at each tick; backward where the newest entries come first.
    pub(crate) step: isize,
}

impl Sliding {
    fn new(slide: Slide) -> Option<Self> {
        let fresh = isize::try_from(slide.fresh).ok()?;
        let step = if slide.newest_first { -fresh } else { fresh };
        Some(Sliding { slide, step })
    }

    /// Whether the data decide at which ticks it slides.
    pub(crate) fn is_guarded(&self) -> bool {
        !self.slide.when.is_empty()
    }

    /// How many elements its room has in windows of that many ticks: two values, and what is new.
    pub(crate) fn room(&self, ticks: usize) -> usize {
        2 * self.slide.len + ticks * self.slide.fresh
    }

    /// Where in its room it begins.
    pub(crate) fn start(&self, ticks: usize) -> usize {
        if self.step < 0 { self.room(ticks) - self.slide.len } else { 0 }
    }

    /// Whether a window of that many ticks fits into its room, from an element on.
    pub(crate) fn fits(&self, from: usize, ticks: usize) -> bool {
        let far = ticks * self.slide.fresh;
        if self.step < 0 { far <= from } else { from + self.slide.len + far <= self.room(ticks) }
    }
}

/// The registers that slide in a program, which then has no stages that only move what is left of them, and no commits
/// of them. Of each, a tick reads a part: what reads all of it is quicker where the values of ticks are one after the
/// other.
pub(crate) fn slid(program: &mut NestProgram, plan: &Plan) -> Vec<Sliding> {
    let registers: Vec<Slot> = program.registers().collect();
    let parts: Vec<Slot> = plan
        .slides()
        .iter()
        .filter(|slide| plan.is_read_in_part(slide))
        .map(|slide| registers[slide.register.index()])
        .collect();
    let all = rml_nest::slides(program, plan).into_iter().filter(|slide| parts.contains(&slide.register));
    let all: Vec<Sliding> = all.filter_map(Sliding::new).collect();
    let is_moved = |stage: &_| all.iter().any(|own| own.slide.is_moved(stage));
    if let Ends::Found { head, .. } = &mut program.ends {
        *head -= program.nodes[0].stages[..*head].iter().filter(|stage| is_moved(stage)).count();
    }
    program.nodes.iter_mut().for_each(|node| node.stages.retain(|stage| !is_moved(stage)));
    program.commits.retain(|write| all.iter().all(|own| own.slide.register != write.register));
    all
}

/// Where a slot is in a register that slides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InSlide {
    /// The number of the register among those that slide.
    pub(crate) slide: usize,
    /// Whether it is the value after a tick, and not before it.
    pub(crate) later: bool,
}

impl Layout {
    /// Lets the slots of registers that slide use the memory of these.
    pub(super) fn slide(&mut self) {
        for (i, Sliding { slide, .. }) in self.slides.iter().enumerate() {
            let before = slide.before.iter().chain([&slide.register]).map(|slot| (*slot, false));
            for (slot, later) in before.chain([(slide.after, true)]) {
                let moves = later || slide.in_turn;
                self.rooms[slot] = if moves { Room::Slides(InSlide { slide: i, later }) } else { Room::One };
                self.lives[slot] = None;
                self.taken[slot] = (slot != slide.register).then_some(slide.register);
            }
        }
    }

    /// Which register that slides a slot is; none if it is no such register.
    pub(crate) fn sliding(&self, register: Slot) -> Option<usize> {
        self.slides.iter().position(|own| own.slide.register == register)
    }

    /// Places registers that slide after all others, and their tables of positions.
    pub(super) fn place_slides(&self, places: &mut Places, ticks: usize) {
        for own in &self.slides {
            let Slide { register, before, after, .. } = &own.slide;
            let size = &mut places.sizes[kind(self.dtypes[*register])];
            places.rooms.push(*size);
            before.iter().chain([register, after]).for_each(|slot| places.at[slot.index()] = *size);
            *size += own.room(ticks).next_multiple_of(ALIGNED);
        }
        for own in &self.slides {
            places.at.push(places.sizes[1]);
            let len = if own.is_guarded() { ticks + 1 } else { 0 };
            places.sizes[1] += len.next_multiple_of(ALIGNED);
        }
    }

    /// Where the table of positions of a register is stated.
    pub(crate) fn table(&self, slide: usize) -> usize {
        self.rooms.len() + slide
    }

    /// The distance between the values of successive ticks, in elements; none if the data decide it.
    pub(crate) fn far(&self, slot: Slot, tick: Tick) -> Option<isize> {
        match (self.rooms[slot], tick) {
            (Room::One, _) | (_, Tick::First | Tick::Last) => Some(0),
            (Room::Slides(InSlide { slide, .. }), _) => {
                let own = &self.slides[slide];
                (!own.is_guarded()).then_some(own.step)
            }
            (Room::Block | Room::Ticks, _) => Some(self.widths[slot].cast_signed()),
        }
    }
}
