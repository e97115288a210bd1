//! Which variables nothing drives: no input, and no `when` and no branch of a `merge` by a condition of another class, decides when
//! they are present, so that they are present in every cycle (CLOCK-2, CLOCK-3).

use rml_base::{EntityId, IndexVec};
use rml_ir::flat::{Flat, Var};

use super::constraint::Constraint;

/// What decides when a variable, and all that equations force to be present with it, is present.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Driver {
    /// Nothing.
    Nobody,
    /// Inputs alone.
    Input,
    /// A sampling, a merge or a declared clock.
    Sampling,
}

/// The driver of each variable.
pub(super) fn drivers(flat: &Flat, constraints: &[Constraint]) -> IndexVec<Var, Driver> {
    let mut parent: Vec<usize> = (0..flat.vars.len()).collect();
    for constraint in constraints {
        for pair in constraint.together.windows(2) {
            let (a, b) = (find(&mut parent, pair[0].index()), find(&mut parent, pair[1].index()));
            parent[a.max(b)] = a.min(b);
        }
    }
    let mut of_class = vec![Driver::Nobody; flat.vars.len()];
    for input in &flat.inputs {
        of_class[find(&mut parent, input.var.index())] = Driver::Input;
    }
    for sample in constraints.iter().filter(|c| c.claim.is_none()).flat_map(|c| &c.samples) {
        let (sampled, by) = (find(&mut parent, sample.var.index()), find(&mut parent, sample.cond.index()));
        if sampled != by {
            of_class[sampled] = Driver::Sampling;
        }
    }
    flat.vars.ids().map(|v| of_class[find(&mut parent, v.index())]).collect()
}

fn find(parent: &mut [usize], mut i: usize) -> usize {
    while parent[i] != i {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    i
}
