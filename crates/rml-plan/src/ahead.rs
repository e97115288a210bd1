//! Checks P7: what a plan that looks ahead reads is available.

use rml_ir::{Position, Positions};

use super::{Atom, Case, Ends, Plan, Region, Rule, Tape, TapeData, Tick, Write};

/// Adds every violation.
pub(crate) fn check(plan: &Plan, found: &mut Vec<String>) {
    if plan.ahead() == 0 {
        return;
    }
    let reaches = plan.reaches();
    if plan.ends != Ends::Nothing {
        found.push("P7: a window that has an end looks ahead".to_owned());
    }
    let mut fail = |who: &dyn std::fmt::Display, what: &str| found.push(format!("P7: {who} {what}"));
    for region in &plan.regions {
        if let Region::Loop { backward, writes, .. } = region {
            if *backward {
                fail(&"a loop", "is backward");
            }
            for write in writes {
                let reads =
                    |atom: Atom| is_there(plan, atom, reaches.get(write.register).copied().unwrap_or(0));
                if !atoms(write).all(reads) {
                    fail(&write.register, "is written farther than what it is written with");
                }
            }
        }
    }
    for (tape, data) in plan.tapes.iter_enumerated() {
        if data.cases.iter().any(|c| matches!(c.rule, Rule::Sum { .. })) {
            fail(&tape, "is a sum");
        }
        if !is_alike(data) {
            fail(&tape, "is something else where a tick is the last one");
        }
        let filled = |case: &Case| {
            // The first tick is done.
            let ahead = if case.at.is_within(Positions::STARTS) { 0 } else { data.ahead };
            case.when
                .iter()
                .map(|g| g.cond)
                .chain(case.rule.operands())
                .all(|atom| is_there(plan, atom, ahead))
        };
        if !data.cases.iter().all(filled) {
            fail(&tape, "is filled farther than what it is filled with");
        }
    }
    let put_out = plan.outputs.iter().flat_map(|o| &o.cases);
    let mut put_out = put_out.flat_map(|(_, when, atom)| when.iter().map(|g| g.cond).chain([*atom]));
    if !put_out.all(|atom| is_there(plan, atom, 0))
        || !plan.commits.iter().flat_map(atoms).all(|atom| is_there(plan, atom, 0))
    {
        fail(&"what is put out or committed", "is not filled as far");
    }
}

pub(crate) fn atoms(write: &Write) -> impl Iterator<Item = Atom> + '_ {
    write.when.iter().map(|g| g.cond).chain(write.unless.iter().copied()).chain([write.value])
}

/// Whether an operand is available at all ticks that are done, and at that many more.
fn is_there(plan: &Plan, atom: Atom, ahead: u32) -> bool {
    let of = |tape: Tape| plan.tapes[tape].ahead;
    match atom {
        Atom::Const(_) => true,
        Atom::Tape(tape, Tick::Now) => of(tape) >= ahead,
        Atom::Tape(tape, Tick::Before) => of(tape) + 1 >= ahead,
        Atom::Tape(tape, Tick::After) => of(tape) > ahead,
        // A block has no edges.
        Atom::Tape(_, Tick::First | Tick::Last) => false,
    }
}

/// Whether it makes no difference whether a tick is the last one.
pub(crate) fn is_alike(tape: &TapeData) -> bool {
    tape.cases.iter().all(|case| are_alike(case.at))
}

/// Whether positions are the same where a tick is the last one.
pub(crate) fn are_alike(at: Positions) -> bool {
    let twins = [(Position::First, Position::Only), (Position::Middle, Position::Last)];
    twins.iter().all(|(a, b)| at.contains(*a) == at.contains(*b))
}
