//! Verifier of the table of clocks: it checks the form of the table (K1, K3 and K4) and its meaning (K2 and K5,
//! [`meaning`]).
//!
//! It accepts only facts that it can prove, and shares no code with inference: the table is the hypothesis of an
//! induction, and the verifier checks the step.

use rml_base::EntityId;
use rml_ir::Type;
use rml_ir::flat::{Flat, Var};

use super::{ClockData, ClockId, Clocks};

mod functions;
mod meaning;
mod terms;

/// Checks K1 to K5; returns one line for each violation. If the program is proved to be synchronous, every equation is
/// compared with the table.
///
/// # Errors
/// The violations.
pub fn verify(flat: &Flat, clocks: &Clocks, is_synchronous: bool) -> Result<(), Vec<String>> {
    let mut found = Vec::new();
    if clocks.of.len() != flat.vars.len() || clocks.same.len() != flat.vars.len() {
        return Err(vec![format!("K1: {} clocks for {} variables", clocks.of.len(), flat.vars.len())]);
    }
    if clocks.clocks.get(Clocks::BASE) != Some(&ClockData::Base) {
        found.push("K4: the first clock is not the base clock".to_owned());
    }
    for (v, clock) in clocks.of.iter_enumerated() {
        if clocks.clocks.get(*clock).is_none() {
            found.push(format!("K1: {v} has {clock}, which does not exist"));
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    for (id, data) in clocks.clocks.iter_enumerated() {
        if *data != ClockData::Unknown && !seen.insert(*data) {
            found.push(format!("K2: {id} stands there twice"));
        }
        if let ClockData::On { parent, cond, .. } = *data {
            on(flat, clocks, id, (parent, cond), &mut found);
        }
    }
    for (v, first) in clocks.same.iter_enumerated() {
        let fits = *first <= v
            && clocks.same[*first] == *first
            && clocks.of[*first] == clocks.of[v]
            && flat.vars[*first].ty == flat.vars[v].ty;
        if !fits {
            found.push(format!("K5: {v} is said to be the same as {first}"));
        }
    }
    // The meaning of the table can only be checked if its form is correct.
    if found.is_empty() {
        meaning::check(flat, clocks, is_synchronous, &mut found);
        for (id, data) in clocks.clocks.iter_enumerated() {
            if let ClockData::On { cond, .. } = *data
                && clocks.same[cond] != cond
            {
                found.push(format!("K3: the condition of {id} is not the first of those that are the same"));
            }
        }
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// Checks K3.
fn on(flat: &Flat, clocks: &Clocks, id: ClockId, (parent, cond): (ClockId, Var), found: &mut Vec<String>) {
    if parent.index() >= id.index() {
        found.push(format!("K3: the parent of {id} does not stand before it"));
    }
    if flat.vars.get(cond).is_none_or(|v| v.ty != Type::condition()) {
        found.push(format!("K3: the condition of {id} is not bool []"));
    } else if clocks.of[cond] != parent {
        found.push(format!("K3: the condition of {id} is not on its parent"));
    }
}
