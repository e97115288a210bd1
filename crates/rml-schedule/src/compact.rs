//! Drops unread tapes, and renumbers the others in the order of the text.

use rml_base::IndexVec;
use rml_ir::Value;
use rml_plan::{Atom, Case, Const, Ends, Plan, Region, Tape};
use rml_validate::Witness;

/// Removes tapes and constants that no output, register or operator that may fail needs. Tapes are numbered in the
/// order in which regions first fill them; tensor constants come before other constants.
///
/// Requires, ensures: P1 to P8.
pub(crate) fn compact(mut plan: Plan, mut witness: Witness) -> (Plan, Witness) {
    let needed = needed(&plan);
    if let (Ends::Found { head, .. }, Some(first)) = (&mut plan.ends, plan.regions.first()) {
        *head = first.parts()[..*head].iter().filter(|part| needed[part.tape]).count();
    }
    for region in &mut plan.regions {
        region.parts_mut().retain(|part| needed[part.tape]);
    }
    plan.regions.retain(|region| !region.parts().is_empty());
    let mut number = IndexVec::filled(None, plan.tapes.len());
    let (mut tapes, mut claims) = (IndexVec::new(), IndexVec::new());
    for part in plan.regions.iter().flat_map(Region::parts) {
        if number[part.tape].is_none() {
            number[part.tape] = Some(tapes.push(plan.tapes[part.tape].clone()));
            claims.push(witness.tapes[part.tape]);
        }
    }
    (plan.tapes, witness.tapes) = (tapes, claims);
    let fresh = |tape: Tape| number[tape].unwrap_or(tape);
    crate::atoms::for_each(&mut plan, |atom| {
        if let Atom::Tape(tape, _) = atom {
            *tape = fresh(*tape);
        }
    });
    for region in &mut plan.regions {
        region.parts_mut().iter_mut().for_each(|part| part.tape = fresh(part.tape));
    }
    constants(&mut plan);
    (plan, witness)
}

fn constants(plan: &mut Plan) {
    let mut read = IndexVec::filled(false, plan.consts.len());
    for atom in plan.reads().map(|read| read.atom) {
        if let Atom::Const(k) = atom {
            read[k] = true;
        }
    }
    let is_tensor = |k: &Const| matches!(plan.consts[*k], Value::Tensor(_));
    let (tensors, scalars): (Vec<Const>, Vec<Const>) =
        plan.consts.ids().filter(|k| read[*k]).partition(is_tensor);
    let mut number = IndexVec::filled(Const(0), plan.consts.len());
    let mut consts = IndexVec::new();
    for k in tensors.into_iter().chain(scalars) {
        number[k] = consts.push(plan.consts[k].clone());
    }
    plan.consts = consts;
    crate::atoms::for_each(plan, |atom| {
        if let Atom::Const(k) = atom {
            *k = number[*k];
        }
    });
}

/// The tapes that outputs and registers need, and those of operators that may fail, which are always computed.
fn needed(plan: &Plan) -> IndexVec<Tape, bool> {
    let mut needed = IndexVec::filled(false, plan.tapes.len());
    let mut pending: Vec<Tape> = plan.root_reads().filter_map(|read| read.atom.tape()).collect();
    let may_fail = |tape: &Tape| plan.tapes[*tape].cases.iter().any(|case| plan.may_fail(case));
    pending.extend(plan.tapes.ids().filter(may_fail));
    while let Some(tape) = pending.pop() {
        if std::mem::replace(&mut needed[tape], true) {
            continue;
        }
        pending.extend(plan.tapes[tape].cases.iter().flat_map(Case::all_reads).filter_map(Atom::tape));
    }
    needed
}
