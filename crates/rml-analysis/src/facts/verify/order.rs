//! A2 to A4: recurrences and the order of evaluation.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Rec, RecData};
use super::circles::{all_negative, some_circle};
use super::needs::{Need, Way, cell, needs, variable};
use super::view::View;
use crate::causality::Direction;
use crate::clocks::ClockId;

pub(super) fn check(view: &View<'_, '_>, found: &mut Vec<String>) {
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
    // A recurrence stands for all its cells.
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
        recurrence(view, *id, &view.facts.recurrences[*id], needs, found);
    }
}

fn recurrence(view: &View<'_, '_>, id: Rec, rec: &RecData, needs: &[Need], found: &mut Vec<String>) {
    let runs = |ways: &[Way]| needs.iter().any(|n| ways.contains(&n.way));
    let fits = match rec.direction {
        Direction::Forward => !runs(&[Way::Ahead, Way::FarAhead]),
        Direction::Backward => !runs(&[Way::Back]),
        Direction::Mixed => leads_back(view, needs),
        // Nothing is said.
        Direction::Unknown => return,
    };
    if !fits {
        found.push(format!("A2: {id} does not run {:?}", rec.direction));
    }
    let now: Vec<(usize, usize)> =
        needs.iter().filter(|n| n.way == Way::Now).map(|n| (n.from, n.to)).collect();
    if let Some(c) = some_circle(&now) {
        let (v, p) = variable(c);
        found.push(format!("A3: within a tick, {} of {id} needs itself", view.place(v, p)));
    }
}

/// Whether every circle leads back more ticks than ahead. All ticks ahead have to be counted on one clock, and every tick back has to
/// be one of it.
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
