//! V8 for plans that look ahead: how many ticks past the finished ones each tape is filled.
//!
//! A window of `n` ticks of which `n - a` are done fills a tape that is `k` ahead at its first `n - a + k` ticks. What
//! is read at the tick after has to be filled one tick farther, so a recurrence through `post` has no such plan. And no
//! tape is filled farther than it is read, so nothing waits without need.

use rml_base::IndexVec;
use rml_ir::Position;
use rml_plan::{Atom, Case, Plan, Region, Rule, Tape, Tick, Write};

pub(crate) fn check(plan: &Plan, found: &mut Vec<String>) {
    let mut needed = IndexVec::filled(0_i64, plan.tapes.len());
    for (tape, data) in plan.tapes.iter_enumerated() {
        for case in &data.cases {
            if !is_the_same_at_ends(case) {
                found.push(format!("V8: {tape} takes a tick for the last one, and the plan looks ahead"));
            }
            if matches!(case.rule, Rule::Sum { .. }) {
                found.push(format!("V8: {tape} is a sum, and the plan looks ahead"));
            }
            // The first tick is always done.
            let last = if case.at.contains(Position::Middle) { i64::from(data.ahead) } else { 0 };
            let reads = case.when.iter().map(|g| g.cond).chain(case.rule.operands());
            reads.for_each(|atom| read(atom, last, &mut needed, found));
        }
    }
    for region in &plan.regions {
        let Region::Loop { backward, writes, .. } = region else { continue };
        if *backward {
            found.push("V8: a loop is backward, and the plan looks ahead".to_owned());
        }
        for write in writes {
            // It continues as long as the register is read.
            let reads =
                |case: &Case| matches!(case.rule, Rule::Read { register, .. } if register == write.register);
            let readers = plan.tapes.iter().filter(|tape| tape.cases.iter().any(reads));
            let last = readers.map(|tape| i64::from(tape.ahead)).max().unwrap_or(0);
            written(write).for_each(|atom| read(atom, last, &mut needed, found));
        }
    }
    plan.commits.iter().flat_map(written).for_each(|atom| read(atom, 0, &mut needed, found));
    for (_, when, atom) in plan.outputs.iter().flat_map(|output| &output.cases) {
        let conds = when.iter().map(|g| g.cond);
        conds.chain([*atom]).for_each(|atom| read(atom, 0, &mut needed, found));
    }
    for (tape, needed) in needed.iter_enumerated() {
        let ahead = plan.tapes[tape].ahead;
        if i64::from(ahead) != *needed {
            found.push(format!("V8: {tape} is filled at {ahead} ticks ahead, and read at {needed}"));
        }
    }
}

fn written(write: &Write) -> impl Iterator<Item = Atom> + '_ {
    write.when.iter().map(|g| g.cond).chain(write.unless.iter().copied()).chain([write.value])
}

fn is_the_same_at_ends(case: &Case) -> bool {
    let alike = |a, b| case.at.contains(a) == case.at.contains(b);
    alike(Position::First, Position::Only) && alike(Position::Middle, Position::Last)
}

/// An operand is read from the tick on that is `last` after the last one that is done, and from all before.
fn read(atom: Atom, last: i64, needed: &mut IndexVec<Tape, i64>, found: &mut Vec<String>) {
    let Atom::Tape(tape, tick) = atom else { return };
    let behind = match tick {
        Tick::Before => last - 1,
        Tick::Now => last,
        Tick::After => last + 1,
        Tick::First | Tick::Last => {
            return found.push(format!("V8: {tape} is read at an edge, which no block has"));
        }
    };
    needed[tape] = needed[tape].max(behind);
}
