//! A2 to A4: recurrences and the order of evaluation.

use std::collections::{BTreeMap, BTreeSet};

use rml_base::EntityId;
use rml_ir::flat::Var;

use super::super::{MemberOrder, Rec, RecData};
use super::circles::{all_negative, some_circle};
use super::needs::{Need, Way, cell, needs, variable};
use super::view::{Delay, Neighbour, View};
use crate::clocks::ClockId;

pub(super) fn check(views: &[View<'_, '_>], view: &View<'_, '_>, found: &mut Vec<String>) {
    let flat = view.program.flat;
    let needs = needs(view);
    let mut part_of: BTreeMap<usize, Rec> = BTreeMap::new();
    for (id, rec) in view.facts.recurrences.iter_enumerated().filter(|(_, r)| r.segments == view.id) {
        if !rec.members.windows(2).all(|m| m[0].0 < m[1].0) {
            found.push(format!("A4: the members of {id} are in no order"));
        }
        for (eq, positions) in &rec.members {
            let Some(equation) = flat.equations.get(*eq) else {
                found.push(format!("A4: {id} names {eq}, which does not exist"));
                continue;
            };
            for p in positions.iter() {
                if part_of.insert(cell(equation.lhs, p), id).is_some() {
                    found.push(format!("A4: {eq} at {p} is in two recurrences of {}", view.id));
                }
            }
        }
    }
    let mut inside: BTreeMap<Rec, Vec<Need>> = BTreeMap::new();
    let mut outside: Vec<(usize, usize)> = Vec::new();
    // After all cells, there is one node for each recurrence; it represents the cells of the recurrence.
    let cells = 4 * flat.vars.len();
    let stands_for = |c: usize| part_of.get(&c).map_or(c, |id| cells + id.0 as usize);
    for need in needs {
        match (part_of.get(&need.from), part_of.get(&need.to)) {
            (Some(a), Some(b)) if a == b => inside.entry(*a).or_default().push(need),
            _ => outside.push((stands_for(need.from), stands_for(need.to))),
        }
    }
    if let Some(c) = some_circle(&outside) {
        let name =
            if c < cells { view.place(variable(c).0, variable(c).1) } else { format!("rec{}", c - cells) };
        found.push(format!("A4: {name} needs itself, and no recurrence says so"));
    }
    for (id, needs) in &inside {
        recurrence(views, view, *id, needs, found);
    }
}

fn recurrence(views: &[View<'_, '_>], view: &View<'_, '_>, id: Rec, needs: &[Need], found: &mut Vec<String>) {
    let rec = &view.facts.recurrences[id];
    let runs = |ways: &[Way]| needs.iter().any(|n| ways.contains(&n.way));
    let fits = match rec.order {
        MemberOrder::Forward => !runs(&[Way::Ahead, Way::FarAhead]),
        MemberOrder::Backward => !runs(&[Way::Back]),
        MemberOrder::Mixed => leads_back(view, needs),
        MemberOrder::BySegments(smaller) => {
            view.divides_into(smaller) && needs_nothing_later(&views[smaller.index()], rec)
        }
        // An unknown order claims nothing.
        MemberOrder::Unknown => return,
    };
    if !fits {
        found.push(format!("A2: {id} does not run {:?}", rec.order));
    }
    if let MemberOrder::BySegments(_) = rec.order {
        return;
    }
    let now: Vec<(usize, usize)> =
        needs.iter().filter(|n| n.way == Way::Now).map(|n| (n.from, n.to)).collect();
    if let Some(c) = some_circle(&now) {
        let (v, p) = variable(c);
        found.push(format!("A3: within a tick, {} of {id} needs itself", view.place(v, p)));
    }
}

/// Whether no member needs another one in a later segment, or at ticks outside segments.
fn needs_nothing_later(smaller: &View<'_, '_>, rec: &RecData) -> bool {
    let flat = smaller.program.flat;
    let members: BTreeSet<Var> =
        rec.members.iter().filter_map(|(eq, _)| Some(flat.equations.get(*eq)?.lhs)).collect();
    let never_leads_on = |v: Var, delay: &Delay<'_>| {
        let mut at = smaller.of(v).place.iter().flat_map(|p| smaller.neighbours(v, delay, p));
        at.all(|n| !matches!(n, Neighbour::Later | Neighbour::Anywhere))
    };
    members.iter().all(|v| {
        let delay = smaller.program.rhs(*v).and_then(Delay::of);
        smaller.samplings(*v).is_some()
            && delay.is_none_or(|d| !members.contains(&d.next) || never_leads_on(*v, &d))
    })
}

/// Whether every circle leads back more ticks than ahead. All ticks ahead must be counted on one clock, and every tick
/// back must be a tick of that clock.
fn leads_back(view: &View<'_, '_>, needs: &[Need]) -> bool {
    let program = view.program;
    let clocks_of = |way: Way| -> BTreeSet<ClockId> {
        needs.iter().filter(|n| n.way == way).map(|n| program.clocks.of[variable(n.from).0]).collect()
    };
    let ahead = clocks_of(Way::Ahead);
    let [clock] = ahead.iter().copied().collect::<Vec<_>>()[..] else { return false };
    let weight = |way: Way| match way {
        Way::Now => 0,
        Way::Back => -1,
        Way::Ahead | Way::FarAhead => 1,
    };
    let edges: Vec<(usize, usize, i64)> = needs.iter().map(|n| (n.from, n.to, weight(n.way))).collect();
    clocks_of(Way::FarAhead).is_empty()
        && clocks_of(Way::Back).into_iter().all(|ck| program.between(clock, ck).is_some())
        && all_negative(&edges)
}
