//! Finds loops over consecutive sequences in a window that do not depend on each other.

use std::collections::BTreeSet;

use rml_base::IndexVec;
use rml_plan::{Atom, Case, Ends, Plan, Positions, Region, Rule, Tape, Tick};

/// The plan with loops by the ends of their sequences.
///
/// Requires, ensures: P1 to P8.
pub(crate) fn sequences(mut plan: Plan) -> Plan {
    if plan.ahead() > 0 || plan.waits {
        return plan;
    }
    let mut filled = IndexVec::filled(Positions::NONE, plan.tapes.len());
    for i in 0..plan.regions.len() {
        let searches = i == 0 && matches!(plan.ends, Ends::Found { .. });
        let ends = if searches { BTreeSet::new() } else { ends(&plan, &plan.regions[i]) };
        let is_known = |tape: &Tape| {
            let is_certain = plan.tapes[*tape].cases.iter().all(|case| case.when.is_empty());
            is_certain && Positions::BEFORE_END.is_within(filled[*tape])
        };
        let ends = ends.into_iter().filter(is_known).collect();
        if let Region::Loop { by, .. } = &mut plan.regions[i] {
            *by = ends;
        }
        for part in plan.regions[i].parts() {
            filled[part.tape] = filled[part.tape].or(part.at);
        }
    }
    plan
}

/// The conditions that cut everything that a loop reads of its own at other ticks.
fn ends(plan: &Plan, region: &Region) -> BTreeSet<Tape> {
    let Region::Loop { backward, parts, writes, .. } = region else { return BTreeSet::new() };
    if !writes.is_empty() {
        return BTreeSet::new();
    }
    let own: BTreeSet<Tape> = parts.iter().map(|part| part.tape).collect();
    let mut common: Option<BTreeSet<Tape>> = None;
    for part in parts {
        for case in plan.tapes[part.tape].cases.iter().filter(|case| !case.at.and(part.at).is_empty()) {
            let Some(cut) = cut(case, case.at.and(part.at), &own, *backward) else { continue };
            common = Some(match common {
                Some(known) => known.intersection(&cut).copied().collect(),
                None => cut,
            });
        }
    }
    common.unwrap_or_default()
}

/// The conditions with which a case restarts, rather than to read its loop at another tick; none if it reads only
/// what is available.
fn cut(case: &Case, at: Positions, own: &BTreeSet<Tape>, backward: bool) -> Option<BTreeSet<Tape>> {
    let carried = |atom: &Atom| match *atom {
        Atom::Const(_) | Atom::Tape(_, Tick::Now) => false,
        Atom::Tape(_, Tick::First) if at.is_within(Positions::STARTS) => false,
        Atom::Tape(_, Tick::Last) if at.is_within(Positions::ENDS) => false,
        Atom::Tape(tape, _) => own.contains(&tape),
    };
    let when: Vec<Atom> = case.when.iter().map(|g| g.cond).collect();
    let operands = case.rule.operands();
    if !when.iter().chain(&operands).any(carried) {
        return None;
    }
    let Rule::Restart { ends, init, next } = &case.rule else { return Some(BTreeSet::new()) };
    let (neighbour, tick) = if backward { (Tick::After, Tick::Now) } else { (Tick::Before, Tick::Before) };
    let is_next = matches!(next, Atom::Tape(_, tick) if *tick == neighbour);
    if !is_next || when.iter().chain(ends).chain([init]).any(carried) {
        return Some(BTreeSet::new());
    }
    let of = |end: &Atom| match *end {
        Atom::Tape(tape, at) if at == tick => Some(tape),
        _ => None,
    };
    Some(ends.iter().filter_map(of).collect())
}
