//! Registers that slide: only what is new at a tick is stored.
//!
//! The value after a tick overlaps the one before it in memory, some elements to the side. So a register moves through
//! its room, tick by tick and window by window; at the end of the room it moves back, which takes one copy for as many
//! new elements as the register has.

use rml_ir::op::Number;
use rml_ir::{DType, Data};
use rml_plan::{Ends, Plan, Slide};

use super::arena::Arena;
use super::bind::Bound;
use super::code::{Code, Slot};
use super::link::Linked;
use super::listed::{Listed, Moving};
use super::place::sliding_room;

/// To copy fewer elements is quicker than to move places.
const SHORT: usize = 512;

/// The registers that are stored so: those of which a tick reads some entries. What reads all of one takes as long as a
/// copy, and is quicker where the values of all ticks are stored one after the other. None if the plan waits, looks
/// ahead or finds the ends of its windows: then ticks are run that are not done. Registers that slide only at some
/// ticks move in windows of one tick (`at_some`): in longer ones the values of ticks would not be equally far apart.
pub(super) fn of(plan: &Plan, at_some: bool) -> Vec<Slide> {
    if plan.waits || plan.ahead() > 0 || matches!(plan.ends, Ends::Found { .. }) {
        return Vec::new();
    }
    let mut slides = plan.slides();
    slides.retain(|slide| {
        let len = plan.registers[slide.register].ty.shape.len();
        let is_steady = (at_some || !slide.in_turn) && len >= SHORT && step(slide).is_some();
        is_steady && plan.is_read_in_part(slide)
    });
    slides
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

    /// Moves the registers that have moved (`moved`) on by the ticks of a window that are done, and gives the moves of
    /// values that this takes: from where, and to where.
    pub(super) fn slide(
        &mut self,
        code: &Listed,
        (done, moved): (usize, &[bool]),
        moves: &mut Vec<(Slot, usize, usize)>,
    ) {
        let ticks = self.ticks;
        let all = code.moving.iter().zip(&code.sliding).enumerate();
        for (i, (moving, _)) in all.filter(|(_, (_, register))| moved[**register]) {
            let data = code.slot(moving.slot);
            let far = data.slide() * done.cast_signed();
            let most = data.slide() * ticks.cast_signed();
            let (head, room) = (self.heads[i], sliding_room(data.width, data.slide()).at(ticks));
            let next = head.wrapping_add_signed(far);
            // The next window needs as much again.
            let end = next.checked_add_signed(most).filter(|end| end + data.width <= room);
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

/// The values of registers, taken out while windows get another length: their numbers, and elements, with those that
/// are new at the ticks that a search has run.
#[derive(Debug, Default)]
pub(super) struct Lifted {
    values: Vec<(usize, Data)>,
    ticks: usize,
}

impl Lifted {
    /// Those of registers that slide.
    pub(super) fn of<N: Number>(code: &Code, bound: &Bound, arena: &Arena<N>, ticks: usize) -> Self {
        let sliding = code.sliding.iter().copied().filter(|_| bound.ticks > 0);
        Self { values: sliding.map(|r| (r, lifted(code, bound, arena, (r, ticks)))).collect(), ticks }
    }

    /// Those of all registers.
    pub(super) fn all<N: Number>(code: &Code, bound: &Bound, arena: &Arena<N>) -> Self {
        let all = 0..code.registers();
        Self { values: all.map(|r| (r, lifted(code, bound, arena, (r, 0)))).collect(), ticks: 0 }
    }

    pub(super) fn put<N: Number>(self, code: &Code, bound: &Bound, arena: &mut Arena<N>) {
        for (register, value) in &self.values {
            let (dtype, at, len) = stored(code, bound, (*register, self.ticks));
            arena.set_data(dtype, at, value, 0, len);
        }
    }
}

/// Where a register is, with what is new at some ticks, and how many elements these are.
fn stored(code: &Code, bound: &Bound, (register, ticks): (usize, usize)) -> (DType, usize, usize) {
    let slot = code.register(register);
    let (data, base) = (code.slot(slot), bound.base(slot));
    let far = data.slide() * ticks.cast_signed();
    (data.dtype, base.wrapping_add_signed(far.min(0)), data.width + far.unsigned_abs())
}

fn lifted<N: Number>(code: &Code, bound: &Bound, arena: &Arena<N>, some: (usize, usize)) -> Data {
    let ((dtype, at, len), mut value) = (stored(code, bound, some), Data::Bool(Vec::new()));
    arena.append(dtype, at, len, &mut value);
    value
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rml_ir::{DType, Data, Shape, Type, Value};
    use rml_plan::{Plan, Reg, reference};

    use crate::plan::Machine;
    use crate::plan::code::Kernel;

    /// A memory whose newest entries come first, one whose newest come last, and several ways to read them.
    const MEMORIES: &str = include_str!("slides/memories.plan");

    /// Memories that slide at some ticks, beside one that does so at all.
    const SAMPLED: &str = include_str!("slides/sampled.plan");

    /// A memory, and a loop whose rows threads share.
    const BESIDE: &str = include_str!("slides/beside.plan");

    /// A plan, and the number of its registers that slide in all windows, and in windows of one tick.
    fn plan(text: &str, counts: [usize; 2]) -> Arc<Plan> {
        let plan = rml_plan::parse(text).expect("a plan");
        rml_plan::verify(&plan).expect("it is right");
        assert_eq!([false, true].map(|at_some| super::of(&plan, at_some).len()), counts);
        Arc::new(plan)
    }

    fn value(ty: &Type, mut next: impl FnMut() -> f32) -> Value {
        let data = match ty.dtype {
            DType::Bool => Data::Bool((0..ty.shape.len()).map(|_| next() < 6.0).collect()),
            DType::Num => Data::F32((0..ty.shape.len()).map(|_| next()).collect()),
            DType::Int => unreachable!("no input is of ints"),
        };
        Value::new(ty.shape.clone(), data)
    }

    fn same(a: &Option<Value>, b: &Option<Value>) -> bool {
        match (a, b) {
            (Some(a), Some(b)) => a.same(b),
            (a, b) => a.is_none() && b.is_none(),
        }
    }

    /// What the reference and machines of one and of three threads put out and keep, in windows of those lengths.
    fn compare(
        plan: &Arc<Plan>,
        lengths: &[usize],
        between: impl Fn(usize, &mut reference::Machine, &mut [Machine<f32>]),
    ) {
        let mut expected = reference::Machine::new(Arc::clone(plan));
        let one = Machine::<f32>::new(Arc::clone(plan)).expect("there is memory");
        let three = Machine::<f32>::sharing_all(Arc::clone(plan), 3).expect("there is memory");
        let mut machines = [one, three];
        let mut count = 0;
        let mut next = || {
            count += 1;
            (count * 37 % 1009) as f32 / 100.0
        };
        for (window, ticks) in lengths.iter().copied().enumerate() {
            let columns: Vec<reference::Cells> = plan
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

    /// The places that threads have for themselves are apart from those of each tick.
    #[test]
    fn threads_share_a_loop_beside_a_memory() {
        compare(&plan(BESIDE, [1, 1]), &[1, 2, 3, 1, 30, 5, 1, 1], |_, _, _| {});
    }

    #[test]
    fn memories_have_the_bits_of_the_reference() {
        for plan in [plan(MEMORIES, [2, 2]), plan(SAMPLED, [1, 3])] {
            compare(&plan, &[1; 300], |_, _, _| {});
            compare(&plan, &[1, 5, 1, 1, 64, 2, 200, 200, 3, 1, 1, 7, 130, 1, 130, 1], |_, _, _| {});
        }
    }

    /// States of a checkpoint, and a state that is not set.
    #[test]
    fn memories_are_set_between_windows() {
        for plan in [plan(MEMORIES, [2, 2]), plan(SAMPLED, [1, 3])] {
            compare(&plan, &[1, 1, 3, 1, 1, 200, 1], set);
        }
    }

    fn set(window: usize, expected: &mut reference::Machine, machines: &mut [Machine<f32>]) {
        let shape = Shape::new(&[128, 4]);
        if window == 1 || window == 4 {
            let x = Value::new(shape, Data::F32((0..512).map(|i| i as f32 + window as f32).collect()));
            expected.set_register(Reg(0), x.clone());
            machines.iter_mut().for_each(|machine| machine.set_register(0, &x));
        } else if window == 2 {
            expected.unset_register(Reg(1));
            machines.iter_mut().for_each(|machine| rml_executor::Running::unset_register(machine, 1));
        }
    }

    /// It stores what is new: a memory a hundred times as long takes as many instructions a tick.
    #[test]
    fn what_is_left_is_not_copied() {
        let (memories, sampled) = (plan(MEMORIES, [2, 2]), plan(SAMPLED, [1, 3]));
        for (plan, at_some) in [(memories, false), (sampled, true)] {
            let slides = super::of(&plan, at_some);
            let (code, _) = crate::plan::stages::compiled_with(&plan, &slides);
            let widest = code.instrs.iter().filter_map(|instr| match &instr.kernel {
                Kernel::Copy(_, walk) => {
                    Some(walk.row.n * walk.outer.iter().map(|dim| dim.n).product::<usize>())
                }
                _ => None,
            });
            assert_eq!(widest.max(), Some(8));
            assert!(code.commits.is_empty() && code.backups.is_empty());
        }
    }
}
