//! Registers that [slide](rml_plan::Plan::slides), in nests: the slots that hold their values, and the stages that only
//! move what is already there.
//!
//! ```text
//! nest for i0<4 {
//!   v0 = load x(1)
//!   store memory(1) = v0                                           what is new
//! }
//! nest for i0<999, i1<4 {
//!   v0 = load memory@-1(4, 1) at behind first | r0(4, 1) at first
//!   store memory:4(4, 1) = v0                                      what is left
//! }
//! commit r0 at last = memory(4, 1)
//! ```
//!
//! If the values of successive ticks overlap in memory, the second nest has nothing to do.

use std::ops::Range;

use rml_base::EntityId;
use rml_plan::Plan;

use crate::{Access, Def, Guard, Home, Nest, NestProgram, NestStage, Slot, Tick, Val, Variant, Work, Write};

/// A register whose value slides.
#[derive(Clone, PartialEq, Debug)]
pub struct Slide {
    /// The register.
    pub register: Slot,
    /// The slot of its value after each tick.
    pub after: Slot,
    /// Slots that hold its value before each tick, or before the first one.
    pub before: Vec<Slot>,
    /// How many elements it has.
    pub len: usize,
    /// How many elements of an entry of its first axis.
    pub row: usize,
    /// How many elements are new at each tick.
    pub fresh: usize,
    /// Whether what is new comes first.
    pub newest_first: bool,
    /// It slides at ticks at which all of these hold.
    pub when: Vec<Guard>,
    /// Whether a node writes the register at each of these ticks; else it is written when all nodes have run.
    pub in_turn: bool,
}

/// The registers of a program that slide; it is that of the plan, fused or not. Those whose stages do more than to move
/// what is left are not among them.
pub fn slides(program: &NestProgram, plan: &Plan) -> Vec<Slide> {
    let registers: Vec<Slot> = program.registers().collect();
    let found = plan.slides().into_iter().filter_map(|slide| {
        let register = registers[slide.register.index()];
        let writes = program.nodes.iter().flat_map(|node| &node.writes).chain(&program.commits);
        let write = writes.into_iter().find(|write| write.register == register)?;
        let shape = &program.slots[register].ty.shape;
        let (len, rows) = (shape.len(), *shape.dims().first()?);
        let found = Slide {
            register,
            after: after(program, write)?,
            before: Vec::new(),
            len,
            row: len / rows.max(1),
            fresh: slide.fresh,
            newest_first: slide.newest_first,
            when: write.when.clone(),
            in_turn: slide.in_turn,
        };
        let before = program.slots.ids().filter(|slot| found.is_copied(program, *slot)).collect();
        let found = Slide { before, ..found };
        found.is_stored(program).then_some(found)
    });
    found.collect()
}

/// The slot that a write copies whole to its register.
fn after(program: &NestProgram, write: &Write) -> Option<Slot> {
    let [Variant { any, access, .. }] = &write.value[..] else { return None };
    let data = &program.slots[access.slot];
    let is_whole = *access == Access::whole(access.slot, access.tick, &data.ty.shape);
    let is_filled = matches!(data.home, Home::Tick { .. }) && data.ty == program.slots[write.register].ty;
    (any.is_empty() && is_whole && is_filled).then_some(access.slot)
}

/// The elements between the first and the last one that an access of a nest touches.
fn range(access: &Access, nest: &Nest) -> Range<usize> {
    let far = |(n, stride): (&usize, &isize)| n.saturating_sub(1).cast_signed() * stride;
    let far: Vec<isize> = nest.dims.iter().zip(&access.strides).map(far).collect();
    let at = |of: isize| access.offset.saturating_add_signed(of);
    let (down, up) = (far.iter().map(|far| *far.min(&0)).sum(), far.iter().map(|far| *far.max(&0)).sum());
    at(down)..at(up) + 1
}

fn stages(program: &NestProgram) -> impl Iterator<Item = &NestStage> {
    program.nodes.iter().flat_map(|node| &node.stages)
}

impl Slide {
    /// The elements of a value that are new.
    fn news(&self) -> Range<usize> {
        if self.newest_first { 0..self.fresh } else { self.len - self.fresh..self.len }
    }

    /// Whether a stage only moves entries that are stored already.
    pub fn is_moved(&self, stage: &NestStage) -> bool {
        let Work::Nest(nest) = &stage.work else { return false };
        let ([Def::Load(_)], [(to, _)]) = (nest.body.as_slice(), &nest.stores[..]) else { return false };
        let own = range(to, nest);
        let is_left = own.end <= self.news().start || own.start >= self.news().end;
        self.before.contains(&to.slot) || to.slot == self.after && is_left
    }

    /// Whether a stage is the first one that fills the value after a tick.
    pub fn opens(&self, program: &NestProgram, stage: &NestStage) -> bool {
        let fills = |stage: &&NestStage| stage.fills().any(|slot| slot == self.after);
        stages(program).find(fills) == Some(stage)
    }

    /// Whether stages fill the value after a tick such that each of them either computes what is new, or moves the
    /// rest.
    fn is_stored(&self, program: &NestProgram) -> bool {
        let fills = |stage: &&NestStage| stage.fills().any(|slot| slot == self.after);
        let is_new = |stage: &NestStage| match &stage.work {
            Work::Call(_) => false,
            Work::Nest(nest) => nest.stores.iter().filter(|(to, _)| to.slot == self.after).all(|(to, _)| {
                let own = range(to, nest);
                self.news().start <= own.start && own.end <= self.news().end
            }),
        };
        let mut filling = stages(program).filter(fills).peekable();
        filling.peek().is_some() && filling.all(|stage| self.is_moved(stage) || is_new(stage))
    }

    /// Whether a slot is a copy of the register, and of nothing else.
    fn is_copied(&self, program: &NestProgram, slot: Slot) -> bool {
        let fills = |stage: &&NestStage| stage.fills().any(|own| own == slot);
        let data = &program.slots[slot];
        if data.ty.shape.len() != self.len || !matches!(data.home, Home::Tick { .. }) {
            return false;
        }
        let mut filling = stages(program).filter(fills);
        let (Some(stage), None) = (filling.next(), filling.next()) else { return false };
        let Work::Nest(nest) = &stage.work else { return false };
        let ([Def::Load(source)], [(to, Val(0))]) = (nest.body.as_slice(), &nest.stores[..]) else {
            return false;
        };
        let [Variant { any, access, .. }] = &source[..] else { return false };
        let dims: Vec<usize> = nest.dims.iter().copied().collect();
        let is_whole = |access: &Access, slot| {
            access.slot == slot && access.offset == 0 && access.strides == crate::dense(&dims)
        };
        any.is_empty()
            && dims.iter().product::<usize>() == self.len
            && access.tick == Tick::Now
            && is_whole(access, self.register)
            && is_whole(to, slot)
    }
}
