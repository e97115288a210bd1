//! Verifier of the facts: A1 to A10 of [`facts`](super), with one file for each group.
//!
//! It reads the program, its clocks and the tables, and shares no code with the analysis that makes the tables: it has
//! its own view of the program ([`view`]), its own rules and its own search for circles. Each entry is checked against
//! the entries of the operands, one step deep.

use rml_base::EntityId;
use rml_ir::flat::Flat;

use super::Facts;
use crate::clocks::Clocks;

mod circles;
mod known;
mod needs;
mod order;
mod place;
mod segments;
mod states;
mod values;
mod view;

use view::{Program, View};

/// Checks A1 to A10; returns one line for each violation.
///
/// Requires: the clocks verify.
///
/// # Errors
/// The violations.
pub fn verify(flat: &Flat, clocks: &Clocks, facts: &Facts) -> Result<(), Vec<String>> {
    let program = Program::new(flat, clocks);
    let mut found = Vec::new();
    segments::check(&program, facts, &mut found);
    let fits =
        facts.tables.len() == facts.segments.len() && facts.tables.iter().all(|t| t.len() == flat.vars.len());
    if !fits {
        found.push("A1: the tables do not fit the program".to_owned());
    }
    // The further checks rely on correct segments.
    if !found.is_empty() {
        return Err(found);
    }
    let views: Vec<View<'_, '_>> = facts.segments.ids().map(|id| View::new(&program, facts, id)).collect();
    for view in &views {
        values::check(view, &mut found);
        place::check(view, &mut found);
        known::check(view, &mut found);
        order::check(&views, view, &mut found);
    }
    for slow in &facts.slow {
        match views.get(slow.segments.index()) {
            Some(view) if !view.is_trace() => states::check(view, slow, &mut found),
            _ => found.push(format!("A7: {} changes at most once in {}", slow.equation, slow.segments)),
        }
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}
