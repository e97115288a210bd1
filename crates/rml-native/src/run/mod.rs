//! Runs a compiled program, window after window.

use std::ffi::c_long;
use std::sync::Arc;

use rml_backend::Held;
use rml_base::memory::{self, Shortage};
use rml_base::{Diagnostic, EntityId};
use rml_executor::{Fault, Running, TooLong};
use rml_ir::op::Number;
use rml_ir::{DType, Data, Position, Shape, Value};
use rml_nest::{Home, Lifetime, NestProgram, Slot, Write};

use crate::Module;
use crate::ffi::{Lent, Memory};

mod calls;
mod slides;
mod switch;
mod threads;
mod view;

pub(crate) use calls::Ready;
use calls::Versions;
use slides::Slid;
pub(crate) use switch::Switch;
use threads::Threads;
use view::{At, Slots, gathered, put};

/// A running program.
#[derive(Debug)]
pub(crate) struct Machine<N: Number> {
    module: Arc<Module>,
    memory: Memory<N>,
    threads: Threads<N>,
    versions: Versions,
    /// The number of ticks for which memory is placed.
    room: usize,
    search: Search,
    /// Whether registers that exchange their memory with a slot are in the memory of that slot now.
    is_exchanged: bool,
    /// Where registers that slide are.
    slid: Slid,
    /// The values, from before the window, of the registers that nodes write.
    saved: Kept,
    /// For each output that reads registers, its values at each tick, saved before the registers changed.
    early: Vec<(usize, Vec<Option<Data>>)>,
}

/// Registers: their numbers, whether each is set, and its elements.
type Kept = Vec<(usize, u8, Data)>;

/// The progress of the search for the end of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Search {
    None,
    /// The end is not among the first ticks; this many were tried.
    Past(usize),
    /// The window has this many ticks.
    Found(usize),
}

/// Appends a copy of registers.
fn keep<N: Number>(module: &Module, memory: Lent<'_, N>, registers: &[usize], to: &mut Kept) {
    to.extend(registers.iter().map(|register| {
        let slot = module.registers[*register];
        // A register that slides is not overwritten.
        let data = match module.layout.sliding(slot) {
            Some(_) => Data::Bool(Vec::new()),
            None => elements(module, memory, slot),
        };
        (*register, memory.sets(*register, 1)[0], data)
    }));
}

/// Sets registers back to saved values.
fn put_kept<N: Number>(module: &Module, memory: Lent<'_, N>, kept: &Kept) {
    for (register, set, value) in kept {
        let slot = module.registers[*register];
        put(memory, value.dtype(), memory.at(slot.index()), value);
        memory.sets_mut(*register, 1)[0] = *set;
    }
}

/// The elements of a register.
fn elements<N: Number>(module: &Module, memory: Lent<'_, N>, slot: Slot) -> Data {
    let ty = &module.program.slots[slot].ty;
    let at = memory.at(slot.index());
    gathered(memory, ty.dtype, at, &[1], &[ty.shape.len()])
}

/// Stores the start value of a register in its place, and makes it unset.
fn put_start<N: Number>(module: &Module, memory: Lent<'_, N>, register: usize) {
    memory.sets_mut(register, 1)[0] = 0;
    if let Some(start) = &module.starts[register] {
        let slot = module.registers[register];
        put(memory, start.dtype(), memory.at(slot.index()), start);
    }
}

/// Whether the value of a write, or a condition of it, is read from a register.
pub(crate) fn reads_register(program: &NestProgram, write: &Write) -> bool {
    let guards = write.when.iter().map(|guard| guard.cond.slot);
    let sources = rml_nest::accesses(&write.value).into_iter().map(|(_, access)| access.slot);
    guards
        .chain(write.unless.iter().map(|cond| cond.slot))
        .chain(sources)
        .any(|slot| matches!(program.slots[slot].home, Home::Register { .. }))
}

impl<N: Number> Machine<N> {
    pub(crate) fn new(module: Arc<Module>) -> Result<Self, Shortage> {
        memory::ask(module.footprint.at(1))?;
        let registers = module.registers.len();
        let threads = Threads::new(&module);
        let versions = Versions { registers: vec![1; registers], windows: 0 };
        let memory = Memory { set: vec![0; registers], ..Memory::default() };
        let (search, saved, early) = (Search::None, Vec::new(), Vec::new());
        let slid = Slid::default();
        let is_exchanged = false;
        let mut machine =
            Machine { module, memory, threads, versions, room: 0, search, is_exchanged, slid, saved, early };
        machine.bind(1);
        let module = Arc::clone(&machine.module);
        for (slot, data) in module.program.slots.iter_enumerated() {
            if let Home::Const(value) = &data.home {
                let at = machine.at(slot);
                put(machine.memory.lent(), data.ty.dtype, at, &value.to_data());
            }
        }
        (0..registers).for_each(|register| put_start(&module, machine.memory.lent(), register));
        Ok(machine)
    }

    /// The elements of a register.
    fn elements(&self, slot: Slot) -> Data {
        let at = self.at(slot).wrapping_add_signed(self.moved(slot));
        let n = self.module.program.slots[slot].ty.shape.len();
        let memory = &self.memory;
        match self.module.layout.dtype(slot) {
            DType::Num => N::data(memory.nums[at..at + n].to_vec()),
            DType::Int => Data::Int(memory.ints[at..at + n].to_vec()),
            DType::Bool => Data::Bool(memory.bools[at..at + n].iter().map(|x| *x != 0).collect()),
        }
    }

    fn at(&self, slot: Slot) -> usize {
        usize::try_from(self.memory.at[slot.index()]).unwrap_or_default()
    }

    /// Places a window of `ticks` ticks. Values that outlive windows stay where they are. If the end of the window is
    /// searched for, there may be space for more ticks, so that the search can continue without a new placement.
    fn bind(&mut self, ticks: usize) {
        self.settle();
        let room = if self.module.code.finds() { ticks.next_power_of_two() } else { ticks };
        self.memory.ticks = ticks;
        if self.room == room || self.search != Search::None && ticks <= self.room {
            return;
        }
        self.give_up();
        let lifted = self.lifted();
        let places = self.module.layout.places(room);
        let [nums, ints, bools] = places.sizes;
        let grow = |len: usize, wanted: usize| len.max(wanted);
        let memory = &mut self.memory;
        memory.nums.resize(grow(memory.nums.len(), nums), N::default());
        memory.ints.resize(grow(memory.ints.len(), ints), 0);
        memory.bools.resize(grow(memory.bools.len(), bools), 0);
        memory.at = places.at.iter().map(|at| c_long::try_from(*at).unwrap_or(c_long::MAX)).collect();
        if self.is_exchanged {
            self.exchange();
        }
        self.room = room;
        self.put_lifted(lifted, places.rooms);
    }

    /// Lets registers and the slots that are committed to them exchange their memory.
    fn exchange(&mut self) {
        for (register, slot) in &self.module.layout.exchanged {
            self.memory.at.swap(register.index(), slot.index());
        }
    }

    /// Commits slots to registers by an exchange of their memory.
    fn commit_exchanged(&mut self) {
        self.exchange();
        self.is_exchanged = !self.is_exchanged;
        let module = Arc::clone(&self.module);
        for (slot, _) in &module.layout.exchanged {
            let register = module.register(*slot);
            self.memory.set[register] = 1;
            self.versions.registers[register] += 1;
        }
    }

    /// Prepares for the first tick of a window.
    fn begin(&mut self) {
        let module = Arc::clone(&self.module);
        for (register, slot) in module.registers.iter().enumerate() {
            if let Home::Register { kind: Lifetime::Local, .. } = module.program.slots[*slot].home {
                put_start(&module, self.memory.lent(), register);
            }
        }
        self.begin_slides();
        self.saved.clear();
        for written in &module.written {
            keep(&module, self.memory.lent(), written, &mut self.saved);
        }
        self.versions.windows += 1;
    }

    /// Sets registers back to their values before the window.
    fn undo(&mut self) {
        let saved = std::mem::take(&mut self.saved);
        put_kept(&Arc::clone(&self.module), self.memory.lent(), &saved);
        saved.iter().for_each(|(register, ..)| self.versions.registers[*register] += 1);
        self.search = Search::None;
    }

    /// Abandons the search for the end of a window.
    fn give_up(&mut self) {
        if self.search != Search::None {
            self.undo();
        }
    }

    /// The value of a register from before the window, while the end of the window is searched for.
    fn before(&self, register: usize) -> Option<&(usize, u8, Data)> {
        let is_own = |(own, ..): &&(usize, u8, Data)| *own == register;
        (self.search != Search::None).then(|| self.saved.iter().find(is_own)).flatten()
    }

    fn here(&self, t: usize) -> At {
        At { t, ticks: self.memory.ticks, block: 0 }
    }

    /// Writes registers after all nodes have run.
    fn commit(&mut self) {
        let module = Arc::clone(&self.module);
        match module.commits_read {
            true => self.commit_copies(&module),
            false => self.commit_in_place(&module),
        }
        self.commit_exchanged();
    }

    /// Writes registers after all values that are written have been copied.
    fn commit_copies(&mut self, module: &Module) {
        let slots = module.slots();
        let mut written: Vec<(Slot, Option<Data>)> = Vec::new();
        for t in 0..self.memory.ticks {
            let p = Position::of(t, self.memory.ticks);
            for write in module.program.commits.iter().filter(|write| write.at.contains(p)) {
                written.extend(self.written(&slots, write, t));
            }
        }
        for (slot, value) in written {
            let register = module.register(slot);
            match value {
                Some(value) => {
                    let at = self.at(slot);
                    put(self.memory.lent(), module.layout.dtype(slot), at, &value);
                    self.memory.set[register] = 1;
                }
                None => put_start(module, self.memory.lent(), register),
            }
            self.versions.registers[register] += 1;
        }
    }

    /// Writes registers without intermediate copies; no write reads a register.
    fn commit_in_place(&mut self, module: &Module) {
        let slots = module.slots();
        for t in 0..self.memory.ticks {
            let at = self.here(t);
            for write in module.program.commits.iter().filter(|write| write.at.contains(at.position())) {
                let register = module.register(write.register);
                if write.unless.iter().any(|cond| slots.truth(self.memory.lent(), cond, at)) {
                    put_start(module, self.memory.lent(), register);
                } else if slots.holds(self.memory.lent(), &write.when, at) {
                    let ty = &module.program.slots[write.register].ty;
                    let (first, strides) = slots.find(self.memory.lent(), &write.value, at);
                    let to = self.at(write.register);
                    view::copy(self.memory.lent(), ty.dtype, (first, strides), ty.shape.dims(), to);
                    self.memory.set[register] = 1;
                } else {
                    continue;
                }
                self.versions.registers[register] += 1;
            }
        }
    }

    fn written(&mut self, slots: &Slots<'_>, write: &Write, t: usize) -> Option<(Slot, Option<Data>)> {
        let (at, memory) = (self.here(t), self.memory.lent());
        if write.unless.iter().any(|cond| slots.truth(memory, cond, at)) {
            return Some((write.register, None));
        }
        if !slots.holds(memory, &write.when, at) {
            return None;
        }
        let ty = &self.module.program.slots[write.register].ty;
        let (first, strides) = slots.find(memory, &write.value, at);
        Some((write.register, Some(gathered(memory, ty.dtype, first, strides, ty.shape.dims()))))
    }

    /// The elements of an output at a tick; none if it is absent.
    fn output(&mut self, output: usize, t: usize) -> Option<Data> {
        let (module, at) = (Arc::clone(&self.module), self.here(t));
        let slots = module.slots();
        let output = &module.program.outputs[output];
        let (_, when, source) = output.cases.iter().find(|(own, ..)| own.contains(at.position()))?;
        if !slots.holds(self.memory.lent(), when, at) {
            return None;
        }
        let (first, strides) = slots.find(self.memory.lent(), source, at);
        Some(gathered(self.memory.lent(), output.ty.dtype, first, strides, output.ty.shape.dims()))
    }
}

impl<N: Number> Running for Machine<N> {
    fn set_rows(
        &mut self,
        input: usize,
        ticks: usize,
        present: &dyn Fn(usize) -> bool,
        data: &Data,
        mut row: usize,
    ) -> usize {
        self.bind(ticks);
        let slot = self.module.inputs[input];
        let width = self.module.layout.width(slot);
        let at = self.at(slot);
        for t in (0..ticks).filter(|t| present(*t)) {
            let (to, from) = (at + t * width, row * width);
            match data {
                Data::Int(all) => self.memory.ints[to..to + width].copy_from_slice(&all[from..from + width]),
                Data::Bool(all) => {
                    let to = &mut self.memory.bools[to..to + width];
                    to.iter_mut().zip(&all[from..]).for_each(|(to, x)| *to = u8::from(*x));
                }
                Data::F32(_) | Data::F64(_) => {
                    if let Some(all) = N::of(data) {
                        self.memory.nums[to..to + width].copy_from_slice(&all[from..from + width]);
                    }
                }
            }
            row += 1;
        }
        row
    }

    fn window(&mut self, ticks: usize) -> Result<usize, Fault> {
        self.bind(ticks);
        let module = Arc::clone(&self.module);
        let is_found = self.search == Search::Found(ticks);
        if !is_found {
            self.give_up();
            self.begin();
        }
        let Some(kept) = self.threads.window(&module, self.memory.lent(), &self.versions, is_found) else {
            self.undo();
            return Err(Fault::Suspect);
        };
        put_kept(&module, self.memory.lent(), &kept);
        self.search = Search::None;
        module.written.iter().flatten().for_each(|register| self.versions.registers[*register] += 1);
        let done = ticks.saturating_sub(module.program.ahead as usize);
        self.memory.ticks = done;
        self.early = module
            .early
            .iter()
            .map(|output| (*output, (0..done).map(|t| self.output(*output, t)).collect()))
            .collect();
        self.commit();
        self.end_slides(done);
        Ok(done)
    }

    fn find(&mut self, ticks: usize) -> Result<Option<usize>, Fault> {
        let module = Arc::clone(&self.module);
        if !module.code.finds() {
            return Ok(None);
        }
        self.bind(ticks);
        let from = match self.search {
            Search::Found(found) => return Ok(Some(found)),
            Search::Past(from) => from,
            Search::None => {
                self.begin();
                0
            }
        };
        // Until the end is found, no tick counts as the last one.
        self.memory.ticks = ticks + 1;
        let found = self.threads.find(&module, self.memory.lent(), &self.versions, from..ticks);
        self.memory.ticks = ticks;
        match found {
            None => {
                self.undo();
                Err(Fault::Suspect)
            }
            Some(0) => {
                self.search = Search::Past(from.max(ticks));
                Ok(None)
            }
            Some(found) => {
                self.search = Search::Found(found);
                Ok(Some(found))
            }
        }
    }

    fn abandon(&mut self) {
        self.give_up();
    }

    fn add_output(&mut self, output: usize, t: usize, to: &mut Data) -> Result<bool, Diagnostic> {
        let early = self.early.iter().find(|(own, _)| *own == output);
        let data = match early {
            Some((_, column)) => column[t].clone(),
            None => self.output(output, t),
        };
        let there = data.is_some();
        data.into_iter().for_each(|data| rml_executor::append(to, data));
        Ok(there)
    }

    fn register(&self, register: usize) -> Option<Held> {
        let (module, slot) = (&self.module, self.module.registers[register]);
        let (set, data) = match self.before(register) {
            Some((_, set, _)) if module.layout.sliding(slot).is_some() => (*set, self.elements(slot)),
            Some((_, set, data)) => (*set, data.clone()),
            None => (self.memory.set[register], self.elements(slot)),
        };
        let shape = || Shape::new(module.program.slots[slot].ty.shape.dims());
        (set != 0).then(|| Held::Host(Value::new(shape(), data)))
    }

    fn is_set(&self, register: usize) -> Result<bool, Diagnostic> {
        Ok(self.before(register).map_or(self.memory.set[register], |(_, set, _)| *set) != 0)
    }

    fn unset_register(&mut self, register: usize) {
        self.give_up();
        self.settle();
        put_start(&Arc::clone(&self.module), self.memory.lent(), register);
        self.versions.registers[register] += 1;
    }

    fn set_register(&mut self, register: usize, value: &Held) -> Result<(), Diagnostic> {
        self.give_up();
        self.settle();
        let slot = self.module.registers[register];
        let value = value.to_host()?.to_precision(self.module.program.precision);
        let at = self.at(slot);
        put(self.memory.lent(), value.dtype(), at, &value.to_data());
        self.memory.set[register] = 1;
        self.versions.registers[register] += 1;
        Ok(())
    }

    fn ask(&mut self, ticks: usize) -> Result<(), TooLong> {
        let least = Err("compiled programs keep all values of a window");
        memory::ask(self.module.footprint.at(ticks)).map_err(|short| TooLong { short, least })
    }
}
