//! V9: a loop with `by` conditions consists of independent sequences.
//!
//! What such a loop computes at a tick depends on the ticks before it (after it, if it is backward) through the loop's
//! own tapes. If each such operand is used only where none of the conditions holds between the two ticks, no value
//! passes from one sequence to another, and the order of sequences makes no difference.

use std::collections::BTreeSet;

use rml_base::IndexVec;
use rml_ir::{Position, Positions, Type};
use rml_plan::{Atom, Case, Ends, Plan, Region, Rule, Tape, Tick};

pub(crate) fn check(plan: &Plan, found: &mut Vec<String>) {
    let mut known = IndexVec::filled(Positions::NONE, plan.tapes.len());
    for (i, region) in plan.regions.iter().enumerate() {
        if let Region::Loop { backward, by, parts, writes } = region
            && !by.is_empty()
        {
            let is_search = i == 0 && matches!(plan.ends, Ends::Found { .. });
            if is_search || !writes.is_empty() || plan.ahead() > 0 || plan.waits {
                found.push("V9: a loop falls into sequences, but its ticks have an order".to_owned());
            }
            let looped =
                Looped { by, backward: *backward, own: parts.iter().map(|part| part.tape).collect() };
            looped.ends(plan, &known, found);
            for part in parts {
                let cases = plan.tapes[part.tape].cases.iter();
                if !cases
                    .clone()
                    .all(|case| case.at.and(part.at).iter().all(|p| looped.stays_within(case, p)))
                {
                    found.push(format!("V9: {} needs another sequence", part.tape));
                }
            }
        }
        for part in region.parts() {
            known[part.tape] = known[part.tape].or(part.at);
        }
    }
}

/// A loop by conditions.
struct Looped<'a> {
    by: &'a [Tape],
    backward: bool,
    /// The tapes that it fills.
    own: BTreeSet<Tape>,
}

impl Looped<'_> {
    /// The conditions are known before the loop at each tick that has another one after it.
    fn ends(&self, plan: &Plan, known: &IndexVec<Tape, Positions>, found: &mut Vec<String>) {
        for tape in self.by {
            let Some(data) = plan.tapes.get(*tape) else {
                found.push(format!("V9: {tape} is not in the plan"));
                continue;
            };
            let is_there = |p: Position| {
                known[*tape].contains(p) && data.case(p).is_some_and(|case| case.when.is_empty())
            };
            if data.ty != Type::condition() || !is_there(Position::First) || !is_there(Position::Middle) {
                found.push(format!("V9: sequences end with {tape}, which is not known before them"));
            }
        }
    }

    /// Whether an operand, as seen from a position, is an element that the loop fills at another tick.
    fn is_far(&self, atom: Atom, p: Position) -> bool {
        let Atom::Tape(tape, tick) = atom else { return false };
        let is_here = match tick {
            Tick::Now => true,
            Tick::First => p.is_start(),
            Tick::Last => p.is_end(),
            Tick::Before | Tick::After => false,
        };
        !is_here && self.own.contains(&tape)
    }

    /// Whether a case reads nothing of another sequence.
    fn stays_within(&self, case: &Case, p: Position) -> bool {
        let conds = case.when.iter().map(|g| g.cond);
        let Rule::Restart { ends, init, next } = &case.rule else {
            return !conds.chain(case.rule.operands()).any(|atom| self.is_far(atom, p));
        };
        if conds.chain(ends.iter().copied()).chain([*init]).any(|atom| self.is_far(atom, p)) {
            return false;
        }
        // Between a tick and the one before it stands an end if a condition holds at the one before.
        let between = if self.backward { Tick::Now } else { Tick::Before };
        let beside = if self.backward { Tick::After } else { Tick::Before };
        let starts_anew = self.by.iter().all(|tape| ends.contains(&Atom::Tape(*tape, between)));
        !self.is_far(*next, p) || starts_anew && matches!(*next, Atom::Tape(_, tick) if tick == beside)
    }
}
