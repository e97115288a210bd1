//! The table of clocks, interned by meaning.

use std::collections::BTreeMap;

use rml_base::IndexVec;
use rml_ir::flat::{Flat, Rhs, Var};
use rml_ir::op::Op;

use super::infer::{Inferred, Term, TermId};
use super::values::{Label, Presence, Values};
use super::{ClockData, ClockId, Clocks};

/// The maximum number of negations that are removed from a condition.
const MAX_NEGATIONS: usize = 100;

/// Interns the clocks of all variables.
pub(super) fn table(flat: &Flat, inferred: &Inferred, values: &Values) -> Clocks {
    let mut ids: BTreeMap<Presence, ClockId> = BTreeMap::new();
    let mut clocks = IndexVec::new();
    let mut of_term: IndexVec<TermId, ClockId> = IndexVec::new();
    for (id, term) in inferred.terms.iter_enumerated() {
        let clock = *ids.entry(values.presences[id]).or_insert_with(|| {
            clocks.push(match *term {
                Term::Base => ClockData::Base,
                Term::Unknown(_) => ClockData::Unknown,
                Term::On { parent, cond, positive } => {
                    ClockData::On { parent: of_term[parent], cond, positive }
                }
            })
        });
        of_term.push(clock);
    }
    let of: IndexVec<Var, ClockId> = inferred.of.iter().map(|t| of_term[*t]).collect();
    let mut first: BTreeMap<(Label, ClockId), Var> = BTreeMap::new();
    let same: IndexVec<Var, Var> =
        flat.vars.ids().map(|v| *first.entry((values.labels[v], of[v])).or_insert(v)).collect();
    let negated = negations(flat);
    for data in clocks.iter_mut() {
        if let ClockData::On { cond, positive, .. } = data {
            for _ in 0..MAX_NEGATIONS {
                let Some(inner) = negated[*cond].filter(|v| of[*v] == of[*cond]) else { break };
                (*cond, *positive) = (inner, !*positive);
            }
            *cond = same[*cond];
        }
    }
    Clocks { of, clocks, same }
}

/// For each variable that is a negation, the variable that it negates.
fn negations(flat: &Flat) -> IndexVec<Var, Option<Var>> {
    let mut result = IndexVec::filled(None, flat.vars.len());
    for equation in &flat.equations {
        if let Rhs::Apply { op: Op::Not, args } = &equation.rhs {
            result[equation.lhs] = args.first().copied();
        }
    }
    result
}
