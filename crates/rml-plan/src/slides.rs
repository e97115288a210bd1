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
use rml_ir::op::{AxisIndex, Op};

use super::{Atom, Case, Ends, Kind, Plan, Reg, Rule, Start, Tape, Tick, Write};

/// A register whose value slides at each tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slide {
    /// The register.
    pub register: Reg,
    /// Its value before the first tick.
    pub before: Tape,
    /// What is left of it at each tick.
    pub rest: Tape,
    /// Its value after each tick: the rest and what is new.
    pub after: Tape,
    /// How many elements are new at each tick.
    pub fresh: usize,
    /// Whether what is new comes first.
    pub newest_first: bool,
}

impl Plan {
    /// The registers whose values slide at each tick. None if the plan finds the end of its windows, looks ahead or
    /// waits: then ticks are run that are not done.
    pub fn slides(&self) -> Vec<Slide> {
        if matches!(self.ends, Ends::Found { .. }) || self.waits || self.ahead() > 0 {
            return Vec::new();
        }
        self.commits.iter().filter_map(|commit| self.slide(commit)).collect()
    }

    fn slide(&self, commit: &Write) -> Option<Slide> {
        let Write { register, at, when, unless, value } = commit;
        let is_sure = when.is_empty() && unless.is_empty() && *at == Positions::ENDS;
        let Atom::Tape(after, Tick::Now | Tick::Last) = *value else { return None };
        let [Case { at: Positions::ALL, when, rule: Rule::Apply { op: Op::Concat { axis: 0 }, args } }] =
            &self.tapes[after].cases[..]
        else {
            return None;
        };
        if !is_sure || !when.is_empty() || self.writes().filter(|w| w.register == *register).count() > 1 {
            return None;
        }
        let (Atom::Tape(first, Tick::Now), Atom::Tape(last, Tick::Now)) = (*args.first()?, *args.last()?)
        else {
            return None;
        };
        let sides = [(last, true), (first, false)];
        sides.into_iter().find_map(|(rest, newest_first)| {
            let before = self.left(rest, after, newest_first)?;
            let fresh = self.tapes[after].ty.shape.len() - self.tapes[rest].ty.shape.len();
            let slide = Slide { register: *register, before, rest, after, fresh, newest_first };
            (fresh > 0 && self.is_kept(&slide)).then_some(slide)
        })
    }

    /// The tape of whose value, or of that of `after` a tick ago, `rest` is what does not drop out.
    fn left(&self, rest: Tape, after: Tape, newest_first: bool) -> Option<Tape> {
        let dims = self.tapes[after].ty.shape.dims();
        let mut before = None;
        for Case { at, when, rule } in &self.tapes[rest].cases {
            let Rule::Apply { op: Op::Index { items }, args } = rule else { return None };
            let all =
                |(item, n): (&AxisIndex, &usize)| *item == AxisIndex::Slice { start: 0, len: *n, step: 1 };
            let AxisIndex::Slice { start, len, step: 1 } = *items.first()? else { return None };
            let is_side = if newest_first { start == 0 } else { start + len == dims[0] };
            if !is_side || !when.is_empty() || !items[1..].iter().zip(&dims[1..]).all(all) {
                return None;
            }
            match (*at, args[0]) {
                (Positions::AFTER_START, Atom::Tape(of, Tick::Before)) if of == after => {}
                (Positions::STARTS, Atom::Tape(of, Tick::Now | Tick::First)) => before = Some(of),
                _ => return None, // the rest of something else
            }
        }
        before.filter(|_| self.tapes[rest].place() == Positions::ALL)
    }

    /// Whether the register keeps the value from window to window, starts with a constant, and is read there alone.
    fn is_kept(&self, slide: &Slide) -> bool {
        let cases =
            self.tapes.iter_enumerated().flat_map(|(id, tape)| tape.cases.iter().map(move |c| (id, c)));
        let mut reads = cases.filter(|(_, case)| case.rule.register() == Some(slide.register));
        let reads_it = |case: &Case| case.at == Positions::STARTS && case.when.is_empty();
        self.registers[slide.register].kind != Kind::Local
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

    /// What is dropped stands at the wrong end, every other cycle is kept, or the register keeps something else.
    #[test]
    fn other_memories_do_not_slide() {
        assert_eq!(found(&memory("1:4:1", "x, rest", "last = memory")), []);
        assert_eq!(found(&memory("0:4:1", "rest, x", "last = memory")), []);
        assert_eq!(found(&memory("0:4:1", "x, rest", "first = memory")), []);
        assert_eq!(found(&memory("0:4:1", "x, rest", "last = past[first]")), []);
    }
}
