//! Regions as groups: each becomes one C function.

use std::collections::BTreeSet;

use rml_base::IndexVec;
use rml_ir::DType;
use rml_ir::op::Op;
use rml_plan::{Atom, Case, Ends, Part, Plan, Reg, Region, Rule, Tape, Tick, Write};

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
pub(crate) fn groups(plan: &Plan, constant: &IndexVec<Tape, bool>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (i, region) in plan.regions.iter().enumerate() {
        match region {
            Region::Over(parts) => over(plan, constant, parts, &mut groups),
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
fn over(plan: &Plan, constant: &IndexVec<Tape, bool>, parts: &[Part], groups: &mut Vec<Group>) {
    let mut open = false;
    for part in parts {
        let is_sum = is_sum(plan, part.tape);
        let waits = open && groups.last().is_some_and(|group| reads_later(plan, part.tape, group));
        if !open || is_sum || waits {
            groups.push(Group {
                what: What::Forward,
                once: Vec::new(),
                parts: Vec::new(),
                writes: Vec::new(),
            });
        }
        open = !is_sum;
        let Some(group) = groups.last_mut() else { return };
        if constant[part.tape] { group.once.push(*part) } else { group.parts.push(*part) }
    }
}

/// Whether a tape reads later ticks of what a group computes.
fn reads_later(plan: &Plan, tape: Tape, group: &Group) -> bool {
    let later = |atom: Atom| match atom {
        Atom::Tape(x, Tick::After | Tick::Last) => group.parts.iter().any(|part| part.tape == x),
        _ => false,
    };
    let mut cases = plan.tapes[tape].cases.iter();
    cases.any(|case| case.when.iter().map(|guard| guard.cond).chain(case.rule.operands()).any(later))
}

fn is_sum(plan: &Plan, tape: Tape) -> bool {
    plan.tapes[tape].cases.iter().any(|case| matches!(case.rule, Rule::Sum { .. }))
}

/// Which tapes of regions over all ticks have the same value at all of them, and are never in error.
pub(crate) fn constant(plan: &Plan) -> IndexVec<Tape, bool> {
    let mut constant = IndexVec::filled(false, plan.tapes.len());
    let written: BTreeSet<Reg> =
        plan.regions.iter().flat_map(Region::writes).map(|write| write.register).collect();
    for region in &plan.regions {
        let Region::Over(parts) = region else { continue };
        for part in parts {
            let tape = &plan.tapes[part.tape];
            let [Case { when, rule, at }] = &tape.cases[..] else { continue };
            let stays = |atom: &Atom| match atom {
                Atom::Const(_) => true,
                Atom::Tape(x, _) => constant[*x],
            };
            constant[part.tape] = when.is_empty()
                && part.at == *at
                && tape.ahead == plan.ahead()
                && match rule {
                    Rule::Sum { .. } => true,
                    Rule::Read { register, init } => !written.contains(register) && init.iter().all(stays),
                    Rule::Apply { op, args } => {
                        tape.ty.dtype == DType::Num && !may_fail(op) && args.iter().all(stays)
                    }
                    Rule::Copy(a) => stays(a),
                    Rule::Product { start, args } => args.iter().chain([start]).all(stays),
                    Rule::Select { .. } | Rule::Restart { .. } | Rule::Input(_) => false,
                };
        }
    }
    constant
}

fn may_fail(op: &Op) -> bool {
    matches!(op, Op::Gather { .. } | Op::ScatterAdd { .. } | Op::Pick)
}
