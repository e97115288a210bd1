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

/// The conditions at which a loop restarts all delays through which it reads itself at other ticks.
fn ends(plan: &Plan, region: &Region) -> BTreeSet<Tape> {
    let Region::Loop { backward, parts, writes, .. } = region else { return BTreeSet::new() };
    if !writes.is_empty() {
        return BTreeSet::new();
    }
    let own: BTreeSet<Tape> = parts.iter().map(|part| part.tape).collect();
    let mut common: Option<BTreeSet<Tape>> = None;
    for part in parts {
        for case in plan.cases_of(*part) {
            let Some(cut) = cut(case, case.at.and(part.at), &own, *backward) else { continue };
            common = Some(match common {
                Some(known) => known.intersection(&cut).copied().collect(),
                None => cut,
            });
        }
    }
    common.unwrap_or_default()
}

/// The conditions at which a case restarts; none if it does not read its loop at another tick.
fn cut(case: &Case, at: Positions, own: &BTreeSet<Tape>, backward: bool) -> Option<BTreeSet<Tape>> {
    let carried = |atom: Atom| match atom {
        Atom::Const(_) => false,
        Atom::Tape(tape, tick) => !tick.is_here_at(at) && own.contains(&tape),
    };
    if !case.reads().any(carried) {
        return None;
    }
    let Rule::Restart { ends, init, next } = &case.rule else { return Some(BTreeSet::new()) };
    let (neighbour, tick) = if backward { (Tick::After, Tick::Now) } else { (Tick::Before, Tick::Before) };
    let is_next = matches!(next, Atom::Tape(_, tick) if *tick == neighbour);
    let mut others = case.when.iter().map(|g| g.cond).chain(ends.iter().copied()).chain([*init]);
    if !is_next || others.any(carried) {
        return Some(BTreeSet::new());
    }
    let of = |end: &Atom| match *end {
        Atom::Tape(tape, at) if at == tick => Some(tape),
        _ => None,
    };
    Some(ends.iter().filter_map(of).collect())
}
