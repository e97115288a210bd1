//! Checks the placement of values by running code on the names of values instead of numbers: the value that an operand
//! is meant to read must still be at its place. The check looks only at instructions and shares no code with the
//! placement.

use std::ops::Range;

use rml_ir::{DType, Position, Positions};

use super::bind::Bound;
use super::code::{Added, Addend, At, Code, Kernel, Pass, Put, Slot, Unit};
use super::listed::Listed;
use super::operand::Arg;
use super::place::Placement;

/// The name of a value: its place and, if it has a value for each tick, the tick.
type Name = Option<(usize, usize)>;

/// Checks windows of up to `ticks` ticks. The error names the first operand whose value has been overwritten.
pub(super) fn check(code: &Listed, placement: &Placement, ticks: usize) -> Result<(), String> {
    for ticks in 1 + code.ahead..=ticks + code.ahead {
        let mut bound = Bound::default();
        bound.bind(code, placement, ticks);
        let lens = placement.sizes.map(|size| size.at(ticks));
        let memory = lens.map(|len| vec![None; len]);
        let mut shadow = Shadow { code, bound: &bound, ticks, memory, stale: None };
        shadow.window();
        if let Some(stale) = shadow.stale {
            return Err(format!("with {ticks} ticks, {stale}"));
        }
    }
    Ok(())
}

struct Shadow<'a> {
    code: &'a Code,
    bound: &'a Bound,
    ticks: usize,
    /// The values at each place, by type.
    memory: [Vec<Name>; 3],
    stale: Option<String>,
}

impl Shadow<'_> {
    fn window(&mut self) {
        let code = self.code;
        for (i, slot) in code.slots.iter().enumerate().filter(|(_, s)| s.kept) {
            debug_assert!(!slot.per_tick);
            let (of, range) = self.range(Slot(i), 0);
            self.fill(Slot(i), of, range, self.name(Slot(i), 0));
        }
        for given in &code.inputs {
            (0..self.ticks).for_each(|t| self.write(given.slot, t));
        }
        for pass in &code.passes {
            if pass.over {
                for unit in &code.units[pass.units.clone()] {
                    (0..self.ticks).for_each(|t| self.unit(unit, t));
                }
                continue;
            }
            if pass.lag > 0 {
                self.staggered(pass);
                continue;
            }
            for i in 0..self.ticks {
                let t = if pass.backward { self.ticks - 1 - i } else { i };
                code.units[pass.units.clone()].iter().for_each(|unit| self.unit(unit, t));
                self.puts(&pass.puts, t);
            }
        }
        for (_, slot) in &code.done {
            self.is_there(*slot, 0, "a register");
        }
        self.ticks -= code.ahead;
        for t in 0..self.ticks {
            for pass in code.passes.iter().filter(|pass| code.waits && !pass.backward) {
                self.puts(&pass.puts, t);
            }
            self.puts(&code.commits, t);
            let taken = code.outputs.iter().flatten().filter(|taken| self.is_at(taken.at, t));
            for taken in taken.collect::<Vec<_>>() {
                let conds = taken.when.iter().map(|g| g.cond);
                conds.chain([taken.value]).for_each(|a| self.read(a, t, "an output"));
            }
        }
        self.ticks += code.ahead;
        for given in &code.inputs {
            (0..self.ticks).for_each(|t| self.is_there(given.slot, t, "the next window"));
        }
        for (i, _) in code.slots.iter().enumerate().filter(|(_, s)| s.kept) {
            self.is_there(Slot(i), 0, "the next window");
        }
    }

    fn staggered(&mut self, pass: &Pass) {
        for step in 0..self.ticks + pass.lag {
            for part in &pass.parts {
                let Some(t) = step.checked_sub(part.lag).filter(|t| *t < self.ticks) else { continue };
                self.code.units[part.units.clone()].iter().for_each(|unit| self.unit(unit, t));
            }
        }
    }

    fn is_at(&self, at: Positions, t: usize) -> bool {
        at.contains(Position::of(t, self.ticks))
    }

    fn unit(&mut self, unit: &Unit, t: usize) {
        if !self.is_at(unit.at, t) || t + unit.short >= self.ticks {
            return;
        }
        let who = format!("tape {}", unit.tape);
        unit.when.iter().for_each(|g| self.read(g.cond, t, &who));
        unit.instrs.clone().for_each(|i| self.instr(i, t, &who));
    }

    fn instr(&mut self, i: usize, t: usize, who: &str) {
        let instr = &self.code.instrs[i];
        instr.args.iter().for_each(|a| self.read(*a, t, who));
        if let Kernel::Sum { terms, .. } = &instr.kernel {
            let out = self.code.refs[instr.out].slot;
            self.write(out, t);
            for t in 0..self.ticks {
                let here = terms.iter().filter(|addend| self.is_at(addend.at, t));
                for Addend { when, added, .. } in here.collect::<Vec<_>>() {
                    when.iter().for_each(|g| self.read(g.cond, t, who));
                    match added {
                        Added::Rows(a, _) => self.read(*a, t, who),
                        Added::Outer(_, args) => args.iter().for_each(|a| self.read(*a, t, who)),
                        Added::Made(instrs, a) => {
                            instrs.clone().for_each(|i| self.instr(i, t, who));
                            self.read(*a, t, who);
                        }
                    }
                }
            }
            self.is_there(out, t, who);
            return;
        }
        // Operands are read before the result is written, but not from its place.
        let out = self.code.refs[instr.out].slot;
        self.write(out, t);
        for arg in instr.args.iter().filter(|a| self.code.refs[**a].slot != out) {
            self.read(*arg, t, who);
        }
    }

    fn puts(&mut self, puts: &[Put], t: usize) {
        let here = puts.iter().filter(|put| self.is_at(put.at, t) && t + put.short < self.ticks);
        for put in here.collect::<Vec<_>>() {
            let conds = put.when.iter().map(|g| g.cond).chain(put.unless.iter().copied());
            conds.chain([put.value]).for_each(|a| self.read(a, t, "a register"));
        }
    }

    fn range(&self, slot: Slot, t: usize) -> (usize, Range<usize>) {
        let data = self.code.slot(slot);
        let of = match data.dtype {
            DType::Num => 0,
            DType::Int => 1,
            DType::Bool => 2,
        };
        let at = self.bound.at(self.code, slot, t);
        (of, at..at.saturating_add(data.width))
    }

    fn name(&self, slot: Slot, t: usize) -> Name {
        Some((slot.0, if self.code.slot(slot).per_tick { t } else { 0 }))
    }

    fn write(&mut self, slot: Slot, t: usize) {
        let (of, mut range) = self.range(slot, t);
        // Of a register that slides, only what is new after the tick is written.
        let slides = self.code.slot(slot).slide();
        if slides != 0 {
            let moved = |at: usize| at.wrapping_add_signed(slides);
            let fresh = slides.unsigned_abs();
            range = if slides < 0 { moved(range.start)..range.start } else { range.end..range.end + fresh };
        }
        self.fill(slot, of, range, self.name(slot, t));
    }

    fn fill(&mut self, slot: Slot, of: usize, range: Range<usize>, name: Name) {
        match self.memory[of].get_mut(range) {
            Some(cells) => cells.fill(name),
            None => self.fail(format!("{slot:?} is outside")),
        }
    }

    fn read(&mut self, arg: Arg, t: usize, who: &str) {
        let r = self.code.refs[arg];
        let far = |t: usize, n: isize| t.wrapping_add_signed(n);
        let t = match r.at {
            At::Here(n) => far(t, n),
            At::First(n) => far(0, n),
            At::Last(n) => far(self.ticks - 1, n),
        };
        // Values that wait for more ticks are not read.
        if self.code.waits && t >= self.ticks {
            return;
        }
        self.is_there(r.slot, t, who);
    }

    /// Checks that the place of a value holds that value. Some values are absent at some ticks; conditions then prevent
    /// their reads, so an empty place is no error.
    fn is_there(&mut self, slot: Slot, t: usize, who: &str) {
        let (of, range) = self.range(slot, if self.code.slot(slot).moves() { t } else { 0 });
        let name = self.name(slot, t);
        let cells = self.memory[of].get(range).unwrap_or_default();
        if cells.len() != self.code.slot(slot).width || cells.iter().any(|cell| *cell != name) {
            self.fail(format!("{who} reads {slot:?} at tick {t}, which is not there any more"));
        }
    }

    fn fail(&mut self, what: String) {
        self.stale.get_or_insert(what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::place::Room;
    use crate::plan::stages::lower;

    /// An LSTM in training.
    const LSTM: &str = include_str!("lstm.plan");

    fn placed() -> (Listed, Placement) {
        let plan = rml_plan::parse(LSTM).expect("a plan");
        rml_plan::verify(&plan).expect("it is right");
        lower(&plan).place().list()
    }

    #[test]
    fn what_is_placed_is_there_when_it_is_read() {
        let (code, placement) = placed();
        check(&code, &placement, 5).expect("all is available");
        // Most values share memory: those of the backward loop are stored where those of the forward loop were.
        let of = |per_tick: bool| -> usize {
            let nums = code.slots.iter().filter(|s| s.dtype == DType::Num && s.per_tick == per_tick);
            nums.map(|s| s.width).sum()
        };
        let size = placement.sizes[0];
        assert!(size.per_tick < of(true) && size.fixed < of(false), "{size:?}");
    }

    /// Moves values onto others that are needed at the same time, or past the end of the memory: the check must notice.
    #[test]
    fn values_in_the_way_of_others_are_found() {
        let (code, placement) = placed();
        let (mut mutants, mut found) = (0, 0);
        let mut test = |slot: usize, room: Room| {
            let mut mutant = placement.clone();
            mutant.rooms[slot] = room;
            mutants += 1;
            found += usize::from(check(&code, &mutant, 4).is_err());
        };
        let used: Vec<usize> = (0..code.slots.len())
            .filter(|i| code.slots[*i].width > 0 && placement.rooms[*i].per_tick > 0)
            .collect();
        let kept: Vec<usize> = (0..code.slots.len()).filter(|i| code.slots[*i].kept).collect();
        for slot in used.iter().chain(&kept) {
            // Constants, registers and inputs are needed all the time.
            for other in &kept {
                if other != slot && code.slots[*slot].dtype == code.slots[*other].dtype {
                    test(*slot, placement.rooms[*other]);
                }
            }
            let room = placement.rooms[*slot];
            test(*slot, Room { per_tick: placement.sizes[0].per_tick + 1, ..room });
        }
        assert!(mutants > 200, "{mutants}");
        assert_eq!(found, mutants);
    }
}
