//! Registers whose values slide: memories of what a stream was.
//!
//! ```text
//! state r0: num [1000, 4] "past"
//! over at first past: num [1000, 4] = r0 or k0
//! loop forward {
//!    at behind first rest: num [999, 4] = index{0:999:1, 0:4:1}(memory[t-1])
//!    at first rest: num [999, 4] = index{0:999:1, 0:4:1}(past)
//!    memory: num [1000, 4] = concat{axis=0}(x, rest)
//! }
//! commit r0 at last = memory
//! ```
//!
//! Each tick puts new entries before the others and drops as many at the end. If the values of successive ticks overlap
//! in memory, only the new entries are stored: 4 numbers here, not 4,000.

use rml_ir::Positions;
use rml_ir::op::{AxisIndex, Class, Op};

use super::{Atom, Case, Guard, Lifetime, Plan, Reader, Reg, Region, Rule, Start, Tape, Tick, Write};

/// A register whose value slides at each tick, or at each tick at which some conditions hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slide {
    /// The register.
    pub register: Reg,
    /// Its value before the first tick; before each tick, if a loop writes the register.
    pub before: Tape,
    /// What is left of it at each tick.
    pub rest: Tape,
    /// Its value after each tick: the rest and what is new.
    pub after: Tape,
    /// How many elements are new at each tick.
    pub fresh: usize,
    /// Whether what is new comes first.
    pub newest_first: bool,
    /// It slides at ticks at which all of these hold.
    pub when: Vec<Guard>,
    /// Whether a loop writes the register at each of these ticks; else it is written when all regions have run.
    pub in_turn: bool,
}

impl Plan {
    /// The registers whose values slide. Ticks that are run and not done slide, too: those that the plan looks ahead,
    /// or that wait.
    pub fn slides(&self) -> Vec<Slide> {
        let commits = self.commits.iter().filter_map(|commit| self.slide(commit, false));
        let loops = self.regions.iter().filter(|r| matches!(r, Region::Loop { backward: false, .. }));
        let writes = loops.flat_map(|region| region.writes());
        commits.chain(writes.filter_map(|write| self.slide(write, true))).collect()
    }

    fn slide(&self, write: &Write, in_turn: bool) -> Option<Slide> {
        let Atom::Tape(after, Tick::Now | Tick::Last) = write.value else { return None };
        let [Case { at: Positions::ALL, when, rule: Rule::Apply { op: Op::Concat { axis: 0 }, args } }] =
            &self.tapes[after].cases[..]
        else {
            return None;
        };
        let at = if in_turn { Positions::ALL } else { Positions::ENDS };
        let is_sure = write.at == at && write.when == *when && write.unless.is_empty();
        let is_alone = self.writes().filter(|other| other.register == write.register).count() == 1;
        if !is_sure || !is_alone || !in_turn && !when.is_empty() {
            return None;
        }
        let (Atom::Tape(first, Tick::Now), Atom::Tape(last, Tick::Now)) = (*args.first()?, *args.last()?)
        else {
            return None;
        };
        let sides = [(last, true), (first, false)];
        sides.into_iter().find_map(|(rest, newest_first)| {
            let before = self.left(rest, after, (newest_first, in_turn))?;
            let len = |tape: Tape| self.tapes[tape].ty.shape.len();
            let (register, when) = (write.register, when.clone());
            let fresh = len(after) - len(rest);
            let slide = Slide { register, before, rest, after, fresh, newest_first, when, in_turn };
            (fresh > 0 && len(rest) > 0 && self.is_kept(&slide)).then_some(slide)
        })
    }

    /// Whether a tick reads only a small part of a register that slides, or entries at positions from the data.
    pub fn is_read_in_part(&self, slide: &Slide) -> bool {
        let len = |tape: Tape| self.tapes[tape].ty.shape.len();
        let (mut whole, mut next) = (vec![slide.before, slide.rest, slide.after], 0);
        while let Some(of) = whole.get(next).copied() {
            next += 1;
            for read in self.reads().filter(|read| read.atom.tape() == Some(of)) {
                let tape = match read.by {
                    Reader::Commit(_) | Reader::Output => continue,
                    Reader::Write(register) if register == slide.register => continue,
                    Reader::Rule(tape) if whole.contains(&tape) => continue,
                    Reader::Rule(tape) => tape,
                    Reader::Guard(_) | Reader::Term(_) | Reader::Write(_) | Reader::End => return false,
                };
                let class = |case: &Case| match &case.rule {
                    Rule::Apply { op, .. } => Some(op.class()),
                    Rule::Copy(_) => Some(Class::Identity),
                    Rule::Product { .. } | Rule::Select { .. } | Rule::Restart { .. } | Rule::Sum { .. } => {
                        None
                    }
                    Rule::Read { .. } | Rule::Input(_) => None,
                };
                match self.tapes[tape].cases.iter().map(class).collect::<Option<Vec<_>>>() {
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

    /// The tape of whose value, or of that of `after` a tick ago, `rest` is what does not drop out.
    fn left(&self, rest: Tape, after: Tape, (newest_first, in_turn): (bool, bool)) -> Option<Tape> {
        let dims = self.tapes[after].ty.shape.dims();
        let starts = if in_turn { Positions::ALL } else { Positions::STARTS };
        let mut before = None;
        for Case { at, when, rule } in &self.tapes[rest].cases {
            let Rule::Apply { op: Op::Index { items }, args } = rule else { return None };
            let all =
                |(item, n): (&AxisIndex, &usize)| *item == AxisIndex::Slice { start: 0, len: *n, step: 1 };
            let AxisIndex::Slice { start, len, step: 1 } = *items.first()? else { return None };
            let is_side = if newest_first { start == 0 } else { start + len == dims[0] };
            if !is_side || !in_turn && !when.is_empty() || !items[1..].iter().zip(&dims[1..]).all(all) {
                return None;
            }
            match args[0] {
                Atom::Tape(of, Tick::Before) if of == after && !in_turn && *at == Positions::AFTER_START => {}
                Atom::Tape(of, Tick::Now | Tick::First) if *at == starts => before = Some(of),
                _ => return None, // the rest of something else
            }
        }
        before.filter(|_| self.tapes[rest].place() == Positions::ALL)
    }

    /// Whether the register keeps the value from window to window, starts with a constant, and is read there alone.
    fn is_kept(&self, slide: &Slide) -> bool {
        let starts = if slide.in_turn { Positions::ALL } else { Positions::STARTS };
        let cases =
            self.tapes.iter_enumerated().flat_map(|(id, tape)| tape.cases.iter().map(move |c| (id, c)));
        let mut reads = cases.filter(|(_, case)| case.rule.register() == Some(slide.register));
        let reads_it = |case: &Case| case.at == starts && (slide.in_turn || case.when.is_empty());
        self.registers[slide.register].kind != Lifetime::Local
            && matches!(self.starts()[slide.register], Start::Const(_))
            && self.tapes[slide.before].cases.len() == 1
            && reads.next().is_some_and(|(tape, case)| tape == slide.before && reads_it(case))
            && reads.next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use crate::parse;

    /// A memory that slides, whose newest entries come first or last.
    fn memory(rest: &str, joined: &str, commit: &str) -> String {
        format!(
            "plan \"main\" f32
in x: num [1, 2]
state r0: num [5, 2] \"past\"
const k0: num [5, 2] = fill 0.0
over x: num [1, 2] = in x
over at first past: num [5, 2] = r0 or k0
loop forward {{
   at behind first rest: num [4, 2] = index{{{rest}, 0:2:1}}(memory[t-1])
   at first rest: num [4, 2] = index{{{rest}, 0:2:1}}(past)
   memory: num [5, 2] = concat{{axis=0}}({joined})
}}
commit r0 at {commit}
out y: num [5, 2] = memory
"
        )
    }

    /// A memory on a sampled clock, which is written where some condition holds.
    fn sampled(write: &str) -> String {
        format!(
            "plan \"main\" f32
in x: num [1, 2]
in c: bool []
in d: bool []
state r0: num [5, 2] \"past\"
const k0: num [5, 2] = fill 0.0
over x: num [1, 2] = in x
over c: bool [] = in c
over d: bool [] = in d
loop forward {{
   past: num [5, 2] = r0 or k0 when c
   rest: num [4, 2] = index{{0:4:1, 0:2:1}}(past) when c
   memory: num [5, 2] = concat{{axis=0}}(x, rest) when c
   write r0 = memory {write}
}}
out y: num [5, 2] = memory when c
"
        )
    }

    fn found(text: &str) -> Vec<(usize, bool)> {
        let plan = parse(text).expect("a plan");
        crate::verify(&plan).expect("it is right");
        plan.slides().iter().map(|slide| (slide.fresh, slide.newest_first)).collect()
    }

    #[test]
    fn memories_slide_to_either_side() {
        assert_eq!(found(&memory("0:4:1", "x, rest", "last = memory")), [(2, true)]);
        assert_eq!(found(&memory("1:4:1", "rest, x", "last = memory")), [(2, false)]);
    }

    #[test]
    fn memories_slide_on_sampled_clocks() {
        assert_eq!(found(&sampled("when c")), [(2, true)]);
        assert_eq!(found(&sampled("when c and d")), []);
        assert_eq!(found(&sampled("unless d when c")), []);
    }

    /// What is dropped stands at the wrong end, every other cycle is kept, or the register keeps something else.
    #[test]
    fn other_memories_do_not_slide() {
        assert_eq!(found(&memory("1:4:1", "x, rest", "last = memory")), []);
        assert_eq!(found(&memory("0:4:1", "rest, x", "last = memory")), []);
        assert_eq!(found(&memory("0:4:1", "x, rest", "first = memory")), []);
        assert_eq!(found(&memory("0:4:1", "x, rest", "last = past[first]")), []);
    }
}
