//! How far ahead the tapes of blocks are filled: as far as any reader needs, and one tick farther for readers of the
//! tick after.

use rml_base::IndexVec;
use rml_plan::{Atom, Plan, Positions, Region, Tape};

use crate::Declined;

/// Fills the tapes as far as they are needed.
pub(crate) fn ahead(mut plan: Plan) -> Result<Plan, Declined> {
    let mut reach = Reach { ahead: IndexVec::filled(0, plan.tapes.len()) };
    plan.root_reads().for_each(|read| reach.read(read.atom, 0));
    // Readers of a tape come after it.
    for region in plan.regions.iter().rev() {
        match region {
            Region::Over(parts) => parts.iter().rev().for_each(|part| reach.tape(&plan, part.tape)),
            Region::Loop { backward: true, parts, .. } => {
                let span = plan.tapes[parts[0].tape].span;
                let why = Declined::at("a value looks ahead without a bound", span);
                return Err(why.help("call the node that looks ahead with `every end`"));
            }
            Region::Loop { parts, writes, .. } => loop {
                // In a forward loop no part reads the tick after, so two or three rounds are enough.
                let before = reach.ahead.clone();
                parts.iter().rev().for_each(|part| reach.tape(&plan, part.tape));
                for write in writes {
                    let ahead = parts.iter().filter(|part| reads(&plan, part.tape, write.register));
                    let ahead = ahead.map(|part| reach.ahead[part.tape]).max().unwrap_or(0);
                    write.reads().for_each(|atom| reach.read(atom, ahead));
                }
                if reach.ahead == before {
                    break;
                }
            },
        }
    }
    for (tape, ahead) in reach.ahead.iter_enumerated() {
        plan.tapes[tape].ahead = *ahead;
    }
    Ok(plan)
}

fn reads(plan: &Plan, tape: Tape, register: rml_plan::Reg) -> bool {
    plan.tapes[tape].cases.iter().any(|case| case.rule.register() == Some(register))
}

struct Reach {
    ahead: IndexVec<Tape, u32>,
}

impl Reach {
    fn tape(&mut self, plan: &Plan, tape: Tape) {
        for case in &plan.tapes[tape].cases {
            // The first tick is always finished.
            let ahead = if case.at.is_within(Positions::STARTS) { 0 } else { self.ahead[tape] };
            case.reads().for_each(|atom| self.read(atom, ahead));
        }
    }

    /// Records that an operand is read at all finished ticks and at `ahead` more.
    fn read(&mut self, atom: Atom, ahead: u32) {
        let Atom::Tape(tape, tick) = atom else { return };
        let by = i32::try_from(tick.offset().unwrap_or(0)).unwrap_or(0);
        let needed = ahead.saturating_add_signed(by);
        self.ahead[tape] = self.ahead[tape].max(needed);
    }
}
