//! Drops what nothing reads.

use rml_base::IndexVec;
use rml_plan::{Atom, Plan, Region, Tape};

/// The plan without tapes that neither outputs nor registers need.
///
/// Requires, ensures: P1 to P5.
pub(crate) fn compact(mut plan: Plan) -> Plan {
    let needed = needed(&mut plan);
    for region in &mut plan.regions {
        match region {
            Region::Over(parts) | Region::Loop { parts, .. } => parts.retain(|part| needed[part.tape]),
        }
    }
    plan.regions.retain(|region| !region.parts().is_empty());
    let mut number: IndexVec<Tape, Tape> = IndexVec::new();
    let mut next = 0;
    for needed in needed.iter() {
        number.push(Tape(next));
        next += u32::from(*needed);
    }
    let mut tapes = IndexVec::new();
    for (tape, needed) in plan.tapes.into_vec().into_iter().zip(needed.iter()) {
        if *needed {
            tapes.push(tape);
        }
    }
    plan.tapes = tapes;
    let renumber = |atom: &mut Atom| {
        if let Atom::Tape(tape, _) = atom {
            *tape = number[*tape];
        }
    };
    crate::atoms::for_each(&mut plan, renumber);
    for region in &mut plan.regions {
        let (Region::Over(parts) | Region::Loop { parts, .. }) = region;
        parts.iter_mut().for_each(|part| part.tape = number[part.tape]);
    }
    plan
}

/// What outputs and registers need.
fn needed(plan: &mut Plan) -> IndexVec<Tape, bool> {
    let mut needed = IndexVec::filled(false, plan.tapes.len());
    let mut pending: Vec<Tape> = Vec::new();
    crate::atoms::for_each_root(plan, |atom| {
        if let Atom::Tape(tape, _) = atom {
            pending.push(*tape);
        }
    });
    while let Some(tape) = pending.pop() {
        if std::mem::replace(&mut needed[tape], true) {
            continue;
        }
        for case in &mut plan.tapes[tape].cases {
            crate::atoms::for_each_of_case(case, &mut |atom| {
                if let Atom::Tape(tape, _) = atom {
                    pending.push(*tape);
                }
            });
        }
    }
    needed
}
