//! Checks P8: the sequences of a loop are independent.

use std::collections::BTreeSet;

use rml_ir::{Positions, Type};

use super::{Atom, Ends, Part, Plan, Region, Rule, Tape, Tick};

/// Adds every violation.
pub(crate) fn check(plan: &Plan, found: &mut Vec<String>) {
    let mut fail = |what: String| found.push(format!("P8: {what}"));
    for (i, region) in plan.regions.iter().enumerate() {
        let Region::Loop { backward, by, parts, writes } = region else { continue };
        if by.is_empty() {
            continue;
        }
        let searches = i == 0 && matches!(plan.ends, Ends::Found { .. });
        if !writes.is_empty() || searches || plan.ahead() > 0 || plan.waits {
            fail("a loop by conditions writes a register, finds an end, looks ahead or waits".to_owned());
        }
        for tape in by {
            if !is_known_before(plan, *tape, &plan.regions[..i]) {
                fail(format!("{tape} ends sequences, but is no condition that is known before"));
            }
        }
        let own: BTreeSet<Tape> = parts.iter().map(|part| part.tape).collect();
        for part in parts {
            if !reads_its_sequence_alone(plan, *part, &own, by, *backward) {
                fail(format!("{} reads another sequence", part.tape));
            }
        }
    }
}

/// Whether a tape is a condition that these regions fill without guards, at all ticks except perhaps the last one.
fn is_known_before(plan: &Plan, tape: Tape, regions: &[Region]) -> bool {
    let data = &plan.tapes[tape];
    let parts = regions.iter().flat_map(Region::parts).filter(|part| part.tape == tape);
    let filled = parts.fold(Positions::NONE, |all, part| all.or(part.at));
    data.ty == Type::condition()
        && data.cases.iter().all(|case| case.when.is_empty())
        && Positions::BEFORE_END.is_within(filled.and(data.place()))
}

/// Whether a part reads its loop at other ticks only through delays that restart with every condition.
fn reads_its_sequence_alone(
    plan: &Plan,
    part: Part,
    own: &BTreeSet<Tape>,
    by: &[Tape],
    backward: bool,
) -> bool {
    let (neighbour, end) = if backward { (Tick::After, Tick::Now) } else { (Tick::Before, Tick::Before) };
    plan.cases_of(part).all(|case| {
        let at = case.at.and(part.at);
        let crosses = |atom: &Atom| match *atom {
            Atom::Const(_) => false,
            Atom::Tape(tape, tick) => !tick.is_here_at(at) && own.contains(&tape),
        };
        if case.when.iter().any(|g| crosses(&g.cond)) {
            return false;
        }
        match &case.rule {
            Rule::Restart { ends, init, next } => {
                let is_cut = by.iter().all(|tape| ends.contains(&Atom::Tape(*tape, end)));
                let reads_on = is_cut && matches!(next, Atom::Tape(_, tick) if *tick == neighbour);
                !ends.iter().chain([init]).any(crosses) && (reads_on || !crosses(next))
            }
            rule => !rule.operands().iter().any(crosses),
        }
    })
}
