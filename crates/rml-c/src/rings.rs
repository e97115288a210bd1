//! Registers that slide: rings.
//!
//! The value of such a register is one array with room for it and for what is new in a call, and the position of its
//! first element. Only what is new is stored; elements wrap around at the end of the array. The values before and after
//! each tick of a call overlap in it, and none of their elements is overwritten before the call is done, which moves
//! the position. So a failed call changes nothing.

use rml_base::IndexVec;
use rml_nest::{NestProgram, Slide, Slot};
use rml_plan::{Plan, Reg};

use crate::layout::Layout;

/// A register that is a ring.
#[derive(Debug)]
pub(crate) struct Ring {
    pub(crate) slide: Slide,
    /// How many elements the array has.
    pub(crate) room: usize,
}

impl Ring {
    /// Whether the data decide at which ticks it slides. Then its positions are kept, for each tick of a call.
    pub(crate) fn is_guarded(&self) -> bool {
        !self.slide.when.is_empty()
    }

    /// How far the position moves at each tick, around the array.
    pub(crate) fn step(&self) -> usize {
        if self.slide.newest_first { self.room - self.slide.fresh } else { self.slide.fresh }
    }
}

/// The registers that are stored as rings: each sliding register, unless its ring needs more memory than copies.
pub(crate) fn rings(
    program: &NestProgram,
    plan: &Plan,
    layout: &Layout,
    cycles: usize,
) -> IndexVec<Reg, Option<Ring>> {
    let mut rings: IndexVec<Reg, Option<Ring>> = plan.registers.iter().map(|_| None).collect();
    let registers: Vec<Slot> = program.registers().collect();
    for slide in rml_nest::slides(program, plan) {
        let copies = if layout.one[slide.after] { 1 } else { cycles };
        if cycles * slide.fresh <= copies * slide.len
            && let Some(at) = registers.iter().position(|slot| *slot == slide.register)
        {
            let room = slide.len + cycles * slide.fresh;
            rings[rml_base::EntityId::from_index(at)] = Some(Ring { slide, room });
        }
    }
    rings
}

/// The rings whose positions are kept for each tick of a call.
pub(crate) fn guarded(rings: &IndexVec<Reg, Option<Ring>>) -> impl Iterator<Item = (Reg, &Ring)> {
    let rings = rings.iter_enumerated().filter_map(|(id, ring)| Some((id, ring.as_ref()?)));
    rings.filter(|(_, ring)| ring.is_guarded())
}
