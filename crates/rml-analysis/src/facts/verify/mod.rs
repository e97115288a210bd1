//! Verifier of the facts: A1 to A10 of [`facts`](super), a file for each group.
//!
//! It reads the program, its clocks and the tables, and takes nothing else from what makes the tables: it has its own view of the program
//! ([`view`]), its own rules and its own search for circles. Each entry is checked against the entries of the operands, one step deep.

use rml_base::EntityId;
use rml_ir::flat::Flat;

use super::{Facts, Segments};
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

/// Checks A1 to A10; one line for each violation.
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
    // What follows relies on the segments.
    if !found.is_empty() {
        return Err(found);
    }
    for id in facts.segments.ids() {
        let view = View::new(&program, facts, id);
        values::check(&view, &mut found);
        place::check(&view, &mut found);
        known::check(&view, &mut found);
        order::check(&view, &mut found);
    }
    for slow in &facts.slow {
        if slow.segments == Segments::TRACE || slow.segments.index() >= facts.segments.len() {
            found.push(format!("A7: {} changes at most once in {}", slow.equation, slow.segments));
        } else {
            states::check(&View::new(&program, facts, slow.segments), slow, &mut found);
        }
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}
