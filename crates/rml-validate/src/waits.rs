//! Blocks that wait: which later ticks a proof about a value may use.

use rml_base::IndexVec;
use rml_plan::{Atom, Case, Plan, Region, Rule, Tape, Tick};

/// How many ticks of the block stand after each element of a tape that is filled: an operand that is read at the tick
/// after shows that there is one. By induction over the order in which elements are filled.
pub(crate) fn behind(plan: &Plan) -> IndexVec<Tape, u32> {
    let mut behind = IndexVec::filled(0, plan.tapes.len());
    for part in plan.regions.iter().filter(|_| plan.waits).flat_map(Region::parts) {
        let of = |case: &Case| {
            let decided = match &case.rule {
                // Which one of the others is read, only data tell.
                Rule::Select { cond, .. } => vec![*cond],
                Rule::Restart { ends, .. } => ends.clone(),
                Rule::Read { .. } => Vec::new(),
                rule => rule.operands(),
            };
            let all = case.when.iter().map(|g| g.cond).chain(decided);
            all.map(|atom| sight(&behind, atom)).max().unwrap_or(0)
        };
        let found = plan.tapes[part.tape].cases.iter().map(of).min().unwrap_or(0);
        behind[part.tape] = found;
    }
    behind
}

/// The same for an operand, at the tick that reads it.
pub(crate) fn sight(behind: &IndexVec<Tape, u32>, atom: Atom) -> u32 {
    match atom {
        Atom::Const(_) | Atom::Tape(_, Tick::First | Tick::Last) => 0,
        Atom::Tape(tape, Tick::Now) => behind[tape],
        Atom::Tape(tape, Tick::Before) => behind[tape].saturating_sub(1),
        Atom::Tape(tape, Tick::After) => behind[tape] + 1,
    }
}
