//! Registers that slide: only what is new at a tick is stored.
//!
//! The value after a tick overlaps the one before it in memory, some elements to the side. So a register moves through
//! its room, tick by tick and window by window; at the end of the room it moves back, which takes one copy for as many
//! new elements as the register has.

use rml_ir::Data;
use rml_ir::op::{Class, Number};
use rml_plan::{Case, Plan, Reader, Rule, Slide, Tape};

use super::arena::Arena;
use super::bind::Bound;
use super::code::{Code, Slot};
use super::link::Linked;
use super::listed::{Listed, Moving};
use super::place::sliding_room;

/// To copy fewer elements is quicker than to move places.
const SHORT: usize = 512;

/// The registers that are stored so: those of which a tick reads some entries. What reads all of one takes as long as
/// a copy, and is quicker where the values of all ticks are stored one after the other.
pub(super) fn of(plan: &Plan) -> Vec<Slide> {
    let mut slides = plan.slides();
    slides.retain(|slide| {
        let len = plan.registers[slide.register].ty.shape.len();
        len >= SHORT && step(slide).is_some() && is_read_in_part(plan, slide)
    });
    slides
}

/// Whether a tick reads only a small part of a register, or entries at positions from the data.
fn is_read_in_part(plan: &Plan, slide: &Slide) -> bool {
    let len = |tape: Tape| plan.tapes[tape].ty.shape.len();
    let (mut whole, mut next) = (vec![slide.before, slide.rest, slide.after], 0);
    while let Some(of) = whole.get(next).copied() {
        next += 1;
        for read in plan.reads().filter(|read| read.atom.tape() == Some(of)) {
            let tape = match read.by {
                Reader::Commit(_) | Reader::Output => continue,
                Reader::Rule(tape) if whole.contains(&tape) => continue,
                Reader::Rule(tape) => tape,
                Reader::Guard(_) | Reader::Term(_) | Reader::Write(_) | Reader::End => return false,
            };
            let class = |case: &Case| match &case.rule {
                Rule::Apply { op, .. } => Some(op.class()),
                Rule::Copy(_) => Some(Class::Identity),
                Rule::Product { .. } | Rule::Select { .. } | Rule::Restart { .. } | Rule::Sum { .. } => None,
                Rule::Read { .. } | Rule::Input(_) => None,
            };
            match plan.tapes[tape].cases.iter().map(class).collect::<Option<Vec<_>>>() {
                Some(all) if all.iter().all(|class| *class == Class::Lookup) => {}
                Some(all) if all.iter().all(|class| matches!(class, Class::Identity | Class::Layout)) => {
                    if len(tape) > len(slide.after) / 2 {
                        whole.push(tape);
                    }
                }
                _ => return false, // computes with all of it
            }
        }
    }
    true
}

/// How many elements a value moves on at each tick; none if these are too many.
pub(super) fn step(slide: &Slide) -> Option<i32> {
    let fresh = i32::try_from(slide.fresh).ok()?;
    Some(if slide.newest_first { -fresh } else { fresh })
}

/// The offset in its room at which a register begins, in windows of `ticks` ticks.
fn start(width: usize, step: isize, ticks: usize) -> usize {
    if step < 0 { sliding_room(width, step).at(ticks) - width } else { 0 }
}

impl Bound {
    /// Puts registers that slide where they begin in windows of that many ticks.
    pub(super) fn begin_slides(&mut self, code: &Code, ticks: usize) {
        self.heads.clear();
        for register in &code.sliding {
            let slot = code.register(*register);
            let data = code.slot(slot);
            let head = start(data.width, data.slide(), ticks);
            self.heads.push(head);
            self.bases[slot.0] += head;
        }
    }

    /// Moves registers on by the ticks of a window that is done, and gives the moves of values that this takes: from
    /// where, and to where.
    pub(super) fn slide(&mut self, code: &Listed, moves: &mut Vec<(Slot, usize, usize)>) {
        let ticks = self.ticks;
        for (i, moving) in code.moving.iter().enumerate() {
            let data = code.slot(moving.slot);
            let far = data.slide() * ticks.cast_signed();
            let (head, room) = (self.heads[i], sliding_room(data.width, data.slide()).at(ticks));
            let next = head.wrapping_add_signed(far);
            // The next window needs as much again.
            let end = next.checked_add_signed(far).filter(|end| end + data.width <= room);
            let to = if end.is_some() { next } else { start(data.width, data.slide(), ticks) };
            let base = self.bases[moving.slot.0];
            if to != next {
                moves.push((moving.slot, base.wrapping_add_signed(far), base - head + to));
            }
            self.heads[i] = to;
            self.shift(code, moving, to.wrapping_sub(head));
        }
    }

    /// Moves a register and what reads or writes it.
    fn shift(&mut self, code: &Listed, moving: &Moving, far: usize) {
        let base = &mut self.bases[moving.slot.0];
        *base = base.wrapping_add(far);
        for arg in &moving.refs {
            self.spots[*arg].at = self.spots[*arg].at.wrapping_add(far);
        }
        for i in &moving.scalars {
            self.steps[*i] = self.step(&code.scalars[*i]);
        }
        for i in &moving.links {
            self.links[*i] = Linked::new(&code.links[*i], &self.spots);
        }
    }
}

/// The values of registers that slide, taken out while windows get another length.
#[derive(Debug, Default)]
pub(super) struct Lifted(Vec<Data>);

impl Lifted {
    pub(super) fn of<N: Number>(code: &Code, bound: &Bound, arena: &Arena<N>) -> Self {
        let one = |register: &usize| {
            let slot = code.register(*register);
            let (data, mut value) = (code.slot(slot), Data::Bool(Vec::new()));
            arena.append(data.dtype, bound.base(slot), data.width, &mut value);
            value
        };
        Self(if bound.ticks == 0 { Vec::new() } else { code.sliding.iter().map(one).collect() })
    }

    pub(super) fn put<N: Number>(self, code: &Code, bound: &Bound, arena: &mut Arena<N>) {
        for (register, value) in code.sliding.iter().zip(&self.0) {
            let slot = code.register(*register);
            let data = code.slot(slot);
            arena.set_data(data.dtype, bound.base(slot), value, 0, data.width);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rml_ir::{Data, Shape, Type, Value};
    use rml_plan::{Plan, Reg, reference};

    use crate::plan::Machine;

    /// A memory whose newest entries come first, one whose newest come last, and several ways to read them.
    const MEMORIES: &str = include_str!("slides/memories.plan");

    fn plan() -> Arc<Plan> {
        let plan = rml_plan::parse(MEMORIES).expect("a plan");
        rml_plan::verify(&plan).expect("it is right");
        assert_eq!(super::of(&plan).len(), 2);
        Arc::new(plan)
    }

    fn value(ty: &Type, mut next: impl FnMut() -> f32) -> Value {
        Value::new(ty.shape.clone(), Data::F32((0..ty.shape.len()).map(|_| next()).collect()))
    }

    fn same(a: &Option<Value>, b: &Option<Value>) -> bool {
        match (a, b) {
            (Some(a), Some(b)) => a.same(b),
            (a, b) => a.is_none() && b.is_none(),
        }
    }

    /// What the reference and machines of one and of three threads put out and keep, in windows of those lengths.
    fn compare(lengths: &[usize], between: impl Fn(usize, &mut reference::Machine, &mut [Machine<f32>])) {
        let plan = plan();
        let mut expected = reference::Machine::new(Arc::clone(&plan));
        let one = Machine::<f32>::new(Arc::clone(&plan)).expect("there is memory");
        let three = Machine::<f32>::sharing_all(Arc::clone(&plan), 3).expect("there is memory");
        let mut machines = [one, three];
        let mut count = 0;
        let mut next = || {
            count += 1;
            (count * 37 % 1009) as f32 / 100.0
        };
        for (window, ticks) in lengths.iter().copied().enumerate() {
            let columns: Vec<reference::Column> = plan
                .inputs
                .iter()
                .map(|(_, ty)| (0..ticks).map(|_| Some(value(ty, &mut next))).collect())
                .collect();
            let (outputs, done) = expected.window(ticks, &columns).expect("it has a result");
            for machine in &mut machines {
                for (input, column) in columns.iter().enumerate() {
                    for (t, value) in column.iter().enumerate() {
                        machine.set_input(input, ticks, t, value.as_ref().expect("it is present"));
                    }
                }
                assert_eq!(machine.window(ticks), Ok(done), "window {window}");
                for (output, column) in outputs.iter().enumerate() {
                    for (t, value) in column.iter().enumerate() {
                        let found = machine.output(output, t);
                        assert!(same(&found, value), "output {output}, window {window}, tick {t}");
                    }
                }
                for register in 0..plan.registers.len() {
                    let wanted = expected.register(Reg(register as u32)).cloned();
                    assert!(
                        same(&machine.register(register), &wanted),
                        "register {register} after window {window}"
                    );
                }
            }
            between(window, &mut expected, &mut machines);
        }
    }

    #[test]
    fn memories_have_the_bits_of_the_reference() {
        compare(&[1; 300], |_, _, _| {});
        compare(&[1, 5, 1, 1, 64, 2, 200, 200, 3, 1, 1, 7, 130, 1, 130, 1], |_, _, _| {});
    }

    /// States of a checkpoint, and a state that is not set.
    #[test]
    fn memories_are_set_between_windows() {
        compare(&[1, 1, 3, 1, 1, 200, 1], |window, expected, machines| {
            let shape = Shape::new(&[128, 4]);
            if window == 1 || window == 4 {
                let x = Value::new(shape, Data::F32((0..512).map(|i| i as f32 + window as f32).collect()));
                expected.set_register(Reg(0), x.clone());
                machines.iter_mut().for_each(|machine| machine.set_register(0, &x));
            } else if window == 2 {
                expected.unset_register(Reg(1));
                machines.iter_mut().for_each(|machine| rml_executor::Running::unset_register(machine, 1));
            }
        });
    }

    /// It stores what is new: a memory a hundred times as long takes as many instructions a tick.
    #[test]
    fn what_is_left_is_not_copied() {
        let (code, _) = crate::plan::compiled(&plan());
        let widest =
            code.instrs.iter().filter(|instr| matches!(instr.kernel, crate::plan::code::Kernel::Copy(..)));
        let elements = widest.map(|instr| match &instr.kernel {
            crate::plan::code::Kernel::Copy(_, walk) => {
                walk.row.n * walk.outer.iter().map(|dim| dim.n).product::<usize>()
            }
            _ => 0,
        });
        assert_eq!(elements.max(), Some(8));
        assert!(code.commits.is_empty());
    }
}
