//! V8 for plans that wait: reads are available by the definition of such plans. It remains to prove that nothing treats
//! a tick as the last one, since a block may end anywhere; and how many later ticks a proof may use.

use rml_base::IndexVec;
use rml_ir::{Position, Positions};
use rml_plan::{Atom, Case, Ends, Part, Plan, Region, Rule, Tape, Tick, Write};

pub(crate) fn check(plan: &Plan, found: &mut Vec<String>) {
    if plan.ends != Ends::Nothing || plan.ahead() > 0 {
        found.push("V8: the plan waits, and has ends, or says how far it looks ahead".to_owned());
    }
    for (tape, data) in plan.tapes.iter_enumerated() {
        for case in &data.cases {
            if !is_the_same_at_ends(case.at) {
                found.push(format!("V8: {tape} takes a tick for the last one, and the plan waits"));
            }
            if matches!(case.rule, Rule::Sum { .. }) {
                found.push(format!("V8: {tape} is a sum, and the plan waits"));
            }
            reads(case).for_each(|atom| edge(atom, &tape, found));
        }
    }
    let mut filled = IndexVec::filled(false, plan.tapes.len());
    for region in &plan.regions {
        for part in region.parts() {
            // How far it is filled is said for all of its positions.
            if std::mem::replace(&mut filled[part.tape], true) {
                found.push(format!("V8: {} is filled by several parts, and the plan waits", part.tape));
            }
        }
        let Region::Loop { backward, parts, writes, .. } = region else { continue };
        if !backward {
            forward(plan, parts, writes, found);
        }
        for write in writes {
            if !is_the_same_at_ends(write.at) {
                found.push(format!("V8: {} takes a tick for the last one", write.register));
            }
            written(write).for_each(|atom| edge(atom, &write.register, found));
        }
    }
    for output in &plan.outputs {
        if !output.cases.iter().all(|(at, ..)| is_the_same_at_ends(*at)) {
            found.push(format!("V8: the output {} takes a tick for the last one", output.name));
        }
        let taken =
            output.cases.iter().flat_map(|(_, when, atom)| when.iter().map(|g| g.cond).chain([*atom]));
        taken.for_each(|atom| edge(atom, &output.name, found));
    }
    for write in &plan.commits {
        written(write).for_each(|atom| edge(atom, &write.register, found));
    }
}

/// A loop forward runs if its elements can be put in a row: a part that stays `n` ticks after another one may read its
/// next `n` ticks. So no circle of reads may lead to the same tick, or to one after it.
fn forward(plan: &Plan, parts: &[Part], writes: &[Write], found: &mut Vec<String>) {
    let place = |tape: Tape| parts.iter().position(|part| part.tape == tape);
    let places: IndexVec<Tape, Option<usize>> = plan.tapes.ids().map(place).collect();
    let mut behind = vec![0_usize; parts.len()];
    for _ in 0..=parts.len() {
        let old = behind.clone();
        for (i, part) in parts.iter().enumerate() {
            for atom in plan.tapes[part.tape].cases.iter().flat_map(reads) {
                let Atom::Tape(tape, tick) = atom else { continue };
                let Some(j) = places[tape] else { continue };
                // In a row, parts of one tick stand in their order.
                let later = usize::from(j >= i);
                let needed = match tick {
                    Tick::Before => (behind[j] + later).saturating_sub(1),
                    Tick::After => behind[j] + later + 1,
                    _ => behind[j] + later,
                };
                behind[i] = behind[i].max(needed);
            }
        }
        if behind == old {
            if !writes.is_empty() && behind.iter().any(|n| *n > 0) {
                found.push("V8: a loop writes registers, and some of its parts lag behind others".to_owned());
            }
            return;
        }
    }
    found.push("V8: a tick of a loop needs itself".to_owned());
}

fn edge(atom: Atom, who: &dyn std::fmt::Display, found: &mut Vec<String>) {
    if matches!(atom, Atom::Tape(_, Tick::First | Tick::Last)) {
        found.push(format!("V8: {who} reads an edge, which no block has"));
    }
}

fn reads(case: &Case) -> impl Iterator<Item = Atom> + '_ {
    case.when.iter().map(|g| g.cond).chain(case.rule.operands())
}

fn written(write: &Write) -> impl Iterator<Item = Atom> + '_ {
    write.when.iter().map(|g| g.cond).chain(write.unless.iter().copied()).chain([write.value])
}

fn is_the_same_at_ends(at: Positions) -> bool {
    let alike = |a, b| at.contains(a) == at.contains(b);
    alike(Position::First, Position::Only) && alike(Position::Middle, Position::Last)
}

/// How many ticks of the block stand after each element of a tape that is filled: an operand that is read at the tick
/// after shows that there is one. By induction over the order in which elements are filled.
pub(crate) fn behind(plan: &Plan) -> IndexVec<Tape, u32> {
    let mut behind = IndexVec::filled(0, plan.tapes.len());
    for part in plan.regions.iter().filter(|_| plan.waits).flat_map(Region::parts) {
        let of = |case: &Case| {
            let decided: &[Atom] = &match &case.rule {
                // Which one of the others is read, only data tell.
                Rule::Select { cond, .. } => vec![*cond],
                Rule::Restart { ends, .. } => ends.clone(),
                Rule::Read { .. } => Vec::new(),
                rule => rule.operands(),
            };
            let all = case.when.iter().map(|g| g.cond).chain(decided.iter().copied());
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
