//! Regions as groups: each becomes one C function.

use std::collections::BTreeSet;

use rml_base::IndexVec;
use rml_plan::{Atom, Case, Ends, Part, Plan, Region, Tape, Tick, Write};

/// What one C function computes.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) what: What,
    /// What is computed once, before all ticks.
    pub(crate) once: Vec<Part>,
    /// What is computed at each tick, in order.
    pub(crate) parts: Vec<Part>,
    /// What is written behind that at each tick.
    pub(crate) writes: Vec<Write>,
}

/// How a group goes through the ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Forward,
    Backward,
    /// Forward, until what so many parts compute says that the window ends.
    Search(usize),
}

/// The groups of a plan, in order.
pub(crate) fn groups(plan: &Plan, steady: &IndexVec<Tape, bool>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (i, region) in plan.regions.iter().enumerate() {
        match region {
            Region::Over(parts) => over(plan, steady, parts, &mut groups),
            Region::Loop { backward, parts, writes, .. } => {
                let what = match &plan.ends {
                    Ends::Found { head, .. } if i == 0 => What::Search(*head),
                    _ if *backward => What::Backward,
                    _ => What::Forward,
                };
                groups.push(Group { what, once: Vec::new(), parts: parts.clone(), writes: writes.clone() });
            }
        }
    }
    groups
}

/// What reads later ticks of what stands before it, as a sum does, waits for these.
fn over(plan: &Plan, steady: &IndexVec<Tape, bool>, parts: &[Part], groups: &mut Vec<Group>) {
    // What the open group computes at each tick.
    let mut own: Option<BTreeSet<Tape>> = None;
    for part in parts {
        let data = &plan.tapes[part.tape];
        let reads = || data.cases.iter().flat_map(Case::reads);
        let is_later = |atom: Atom, own: &BTreeSet<Tape>| matches!(atom, Atom::Tape(tape, Tick::After | Tick::Last) if own.contains(&tape));
        let waits = |own: &BTreeSet<Tape>| reads().any(|atom| is_later(atom, own));
        if data.is_sum() || own.as_ref().is_none_or(waits) {
            groups.push(Group {
                what: What::Forward,
                once: Vec::new(),
                parts: Vec::new(),
                writes: Vec::new(),
            });
            own = None;
        }
        let Some(group) = groups.last_mut() else { return };
        let computed = own.get_or_insert_default();
        let is_ready = |atom: Atom| atom.tape().is_none_or(|tape| !computed.contains(&tape));
        if steady[part.tape] && data.cases.iter().all(|case| case.when.is_empty()) && reads().all(is_ready) {
            group.once.push(*part);
        } else {
            computed.insert(part.tape);
            group.parts.push(*part);
        }
        if data.is_sum() {
            own = None;
        }
    }
}
