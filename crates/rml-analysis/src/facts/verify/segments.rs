//! A1: the divisions of time.

use std::collections::BTreeSet;

use super::super::{Facts, Segments};
use super::view::Program;
use crate::clocks::{ClockData, Clocks};
use crate::conditions::Guard;

pub(super) fn check(program: &Program<'_>, facts: &Facts, found: &mut Vec<String>) {
    let Some(trace) = facts.segments.get(Segments::TRACE) else {
        return found.push("A1: the trace is missing".to_owned());
    };
    let is_trace = trace.cut.ends.is_empty() && trace.windows.is_empty() && trace.parent.is_none();
    if !is_trace || trace.clock != Clocks::BASE {
        found.push("A1: the first segments are not the trace".to_owned());
    }
    for (id, data) in facts.segments.iter_enumerated().skip(1) {
        let cut = &data.cut;
        if cut.ends.is_empty() || (cut.ends.len() == 1 && !cut.all) {
            found.push(format!("A1: {id} has no ends, or one that stands for others"));
        }
        let in_order = cut.ends.windows(2).all(|l| l[0] < l[1]);
        let known = cut.ends.iter().all(|l| program.flat.vars.get(l.cond).is_some());
        if !in_order || !known || program.clocks.clocks.get(data.clock).is_none() {
            found.push(format!("A1: the ends of {id} are no set"));
            continue;
        }
        let twin = |(other, s): (Segments, &super::super::SegmentsData)| {
            other < id && s.cut.ends == cut.ends && s.cut.all == cut.all
        };
        if facts.segments.iter_enumerated().any(twin) {
            found.push(format!("A1: {id} stands there twice"));
        }
        clock(program, facts, id, found);
        parent(facts, id, found);
    }
    windows(program, facts, found);
}

/// Checks that the clock of the segments is known, and that all ends are on clocks within it.
fn clock(program: &Program<'_>, facts: &Facts, id: Segments, found: &mut Vec<String>) {
    let data = &facts.segments[id];
    let of = |l: &Guard| program.clocks.of[l.cond];
    let within = data.cut.ends.iter().all(|l| program.between(data.clock, of(l)).is_some());
    let rooted = matches!(program.clocks.clocks[program.clocks.root(data.clock)], ClockData::Base)
        && data.cut.ends.iter().all(|l| program.clocks.root(of(l)) == Clocks::BASE);
    if !within || !rooted {
        found.push(format!("A1: an end of {id} is not on {}", data.clock));
    }
}

fn parent(facts: &Facts, id: Segments, found: &mut Vec<String>) {
    let cut = &facts.segments[id].cut;
    let Some(parent) = facts.segments[id].parent else {
        return found.push(format!("A1: {id} is in no segments, not even the trace"));
    };
    let fits = parent < id && {
        let outer = &facts.segments[parent].cut;
        let one_is_enough = |c: &crate::causality::CutData| !c.all || c.ends.len() == 1;
        outer.ends.iter().all(|l| cut.ends.contains(l))
            && (outer.ends.is_empty() || (one_is_enough(outer) && one_is_enough(cut)))
    };
    if !fits {
        found.push(format!("A1: {id} does not end where {parent} does"));
    }
}

/// Checks that each window has one entry, which ends where the window does; a window with an unknown clock has no
/// entry.
fn windows(program: &Program<'_>, facts: &Facts, found: &mut Vec<String>) {
    for w in program.flat.windows.ids() {
        let mut of = facts.segments.iter_enumerated().filter(|(_, s)| s.windows.contains(&w));
        let ends: Vec<Guard> =
            program.ends(Some(w)).into_iter().map(|cond| Guard { cond, value: true }).collect();
        let unknown = ends.iter().any(|l| program.clocks.root(program.clocks.of[l.cond]) != Clocks::BASE);
        match (of.next(), of.next()) {
            (None, _) if unknown => {}
            (Some((id, data)), None) => {
                let same =
                    |a: &[Guard], b: &[Guard]| a.iter().all(|l| b.iter().any(|m| program.is_same(*l, *m)));
                let one_is_enough = !data.cut.all || data.cut.ends.len() == 1;
                if !one_is_enough || !same(&ends, &data.cut.ends) || !same(&data.cut.ends, &ends) {
                    found.push(format!("A1: {id} does not end where {w} does"));
                }
            }
            _ => found.push(format!("A1: {w} has no segments, or two")),
        }
    }
    let exists = |w: &rml_ir::flat::Window| program.flat.windows.get(*w).is_some();
    let all: Vec<_> = facts.segments.iter().flat_map(|s| &s.windows).collect();
    let distinct: BTreeSet<_> = all.iter().collect();
    if distinct.len() != all.len() || !all.into_iter().all(exists) {
        found.push("A1: a window stands there twice, or does not exist".to_owned());
    }
}
