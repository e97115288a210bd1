//! Checks P7: a plan that looks ahead fills its tapes exactly as far as they are read.

use rml_base::IndexVec;
use rml_ir::Position;

use super::{Atom, Ends, Output, Plan, Region, Tape, Write};

/// Adds every violation.
pub(crate) fn check(plan: &Plan, found: &mut Vec<String>) {
    if plan.ahead() == 0 {
        return;
    }
    let mut reach = Reach { needed: IndexVec::filled(0, plan.tapes.len()), found };
    if plan.ends != Ends::Nothing {
        reach.fail(&"a window that has an end", "looks ahead");
    }
    for (tape, data) in plan.tapes.iter_enumerated() {
        if data.is_sum() {
            reach.fail(&tape, "is a sum");
        }
        for case in &data.cases {
            if !case.at.ignores_end() {
                reach.fail(&tape, "is something else where a tick is the last one");
            }
            // The first tick is always finished.
            let last = if case.at.contains(Position::Middle) { data.ahead } else { 0 };
            case.reads().for_each(|atom| reach.read(atom, last));
        }
    }
    let reaches = plan.reaches();
    for region in &plan.regions {
        if matches!(region, Region::Loop { backward: true, .. }) {
            reach.fail(&"a loop", "is backward");
        }
        for write in region.writes() {
            write.reads().for_each(|atom| reach.read(atom, reaches[write.register]));
        }
    }
    plan.commits.iter().flat_map(Write::reads).for_each(|atom| reach.read(atom, 0));
    plan.outputs.iter().flat_map(Output::reads).for_each(|(_, atom)| reach.read(atom, 0));
    for (tape, data) in plan.tapes.iter_enumerated() {
        let (ahead, needed) = (data.ahead, reach.needed[tape]);
        if i64::from(ahead) != needed {
            reach.fail(&tape, &format!("is filled at {ahead} ticks ahead, and read at {needed}"));
        }
    }
}

/// For each tape: how many ticks past the last finished one it is read.
struct Reach<'a> {
    needed: IndexVec<Tape, i64>,
    found: &'a mut Vec<String>,
}

impl Reach<'_> {
    fn fail(&mut self, who: &dyn std::fmt::Display, what: &str) {
        self.found.push(format!("P7: {who} {what}"));
    }

    /// Records that an operand is read at all ticks up to `last` ticks past the last finished one.
    fn read(&mut self, atom: Atom, last: u32) {
        let Atom::Tape(tape, tick) = atom else { return };
        match tick.offset() {
            Some(by) => self.needed[tape] = self.needed[tape].max(i64::from(last) + by as i64),
            None => self.fail(&tape, "is read at an edge, which no block has"),
        }
    }
}
