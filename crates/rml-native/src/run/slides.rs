//! Registers that slide, between windows.

use rml_base::EntityId;
use rml_ir::Data;
use rml_ir::op::Number;

use super::view::put;
use super::{Machine, c_long};

/// Where registers that slide are.
#[derive(Clone, Debug, Default)]
pub(super) struct Slid {
    /// Where the room of each begins.
    rooms: Vec<usize>,
    /// Where in its room each begins.
    at: Vec<usize>,
    /// How far each has moved in the window that ran last. Its outputs are read before the register is moved.
    moved: Vec<isize>,
}

impl<N: Number> Machine<N> {
    /// Moves registers that slide on to where they are after the last window. Where the room ends, a value goes back to
    /// the other end.
    pub(super) fn settle(&mut self) {
        for i in 0..self.slid.moved.len() {
            let moved = std::mem::take(&mut self.slid.moved[i]);
            if moved == 0 {
                continue;
            }
            let own = &self.module.layout.slides[i];
            let (next, len) = (self.slid.at[i].wrapping_add_signed(moved), own.slide.len);
            let dtype = self.module.layout.dtype(own.slide.register);
            self.slid.at[i] = next;
            if !own.fits(next, self.room) {
                let (room, start) = (self.slid.rooms[i], own.start(self.room));
                self.memory.copy(dtype, room + next, room + start, len);
                self.slid.at[i] = start;
            }
            self.aim(i);
        }
    }

    /// Tells where the slots of a register that slides are.
    fn aim(&mut self, i: usize) {
        let at = c_long::try_from(self.slid.rooms[i] + self.slid.at[i]).unwrap_or(c_long::MAX);
        let slide = &self.module.layout.slides[i].slide;
        for slot in slide.before.iter().chain([&slide.register, &slide.after]) {
            self.memory.at[slot.index()] = at;
        }
    }

    /// The values of registers that slide, before they get another room.
    pub(super) fn lifted(&self) -> Vec<Data> {
        let slides = self.module.layout.slides.iter().filter(|_| self.room > 0);
        slides.map(|own| self.elements(own.slide.register)).collect()
    }

    /// Gives registers that slide rooms, and puts their values there.
    pub(super) fn put_lifted(&mut self, lifted: Vec<Data>, rooms: Vec<usize>) {
        let slides = &self.module.layout.slides;
        let at = slides.iter().map(|own| own.start(self.room)).collect();
        self.slid = Slid { rooms, at, moved: vec![0; slides.len()] };
        (0..self.slid.at.len()).for_each(|i| self.aim(i));
        for (i, value) in lifted.iter().enumerate() {
            let register = self.module.layout.slides[i].slide.register;
            let at = self.at(register);
            put(self.memory.lent(), self.module.layout.dtype(register), at, value);
        }
    }

    /// Lets the tables of positions begin.
    pub(super) fn begin_slides(&mut self) {
        let layout = &self.module.layout;
        for i in (0..layout.slides.len()).filter(|i| layout.slides[*i].is_guarded()) {
            let at = usize::try_from(self.memory.at[layout.table(i)]).unwrap_or_default();
            self.memory.ints[at] = 0;
        }
    }

    /// Notes how far registers have moved in the ticks that are done.
    pub(super) fn end_slides(&mut self, done: usize) {
        let module = std::sync::Arc::clone(&self.module);
        for (i, own) in module.layout.slides.iter().enumerate() {
            let register = module.register(own.slide.register);
            self.slid.moved[i] = module.slots().slid(self.memory.lent(), i, done);
            if !own.slide.in_turn && done > 0 {
                self.memory.set[register] = 1;
            }
            self.versions.registers[register] += 1;
        }
    }

    /// How far a register has moved in the window that ran last.
    pub(super) fn moved(&self, register: rml_nest::Slot) -> isize {
        let slide = self.module.layout.sliding(register);
        slide.and_then(|i| self.slid.moved.get(i)).copied().unwrap_or_default()
    }
}
