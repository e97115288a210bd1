//! All operands of a plan, to change them.

use rml_plan::{Atom, Ends, Plan, Region, Write};

/// Calls `f` on every operand.
pub(crate) fn for_each(plan: &mut Plan, mut f: impl FnMut(&mut Atom)) {
    for case in plan.tapes.iter_mut().flat_map(|t| &mut t.cases) {
        case.when.iter_mut().for_each(|g| f(&mut g.cond));
        case.rule.for_each_operand_mut(&mut f);
    }
    if let Ends::Found { conds, .. } = &mut plan.ends {
        conds.iter_mut().for_each(|g| f(&mut g.cond));
    }
    for (_, when, atom) in plan.outputs.iter_mut().flat_map(|o| &mut o.cases) {
        when.iter_mut().for_each(|g| f(&mut g.cond));
        f(atom);
    }
    let written = plan.regions.iter_mut().flat_map(|region| match region {
        Region::Loop { writes, .. } => writes.as_mut_slice(),
        Region::Over(_) => &mut [],
    });
    for Write { when, unless, value, .. } in plan.commits.iter_mut().chain(written) {
        when.iter_mut().for_each(|g| f(&mut g.cond));
        unless.iter_mut().chain([value]).for_each(&mut f);
    }
}
