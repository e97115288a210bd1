//! Units that are replaced by others at some positions.

use std::ops::Range;

use rml_ir::Positions;

use super::code::{Code, Instr, Unit};

/// The replacement of a unit at some positions.
pub(super) type Found = (usize, Positions, Instr);

/// Puts what was found where the units stood that it is for, and leaves out all units where they are gone.
pub(super) fn replace(code: &mut Code, gone: &[Positions], mut found: Vec<Found>) {
    let old = std::mem::take(&mut code.units);
    found.sort_by_key(|(unit, ..)| *unit);
    let mut found = found.into_iter().peekable();
    let mut starts = Vec::with_capacity(old.len() + 1);
    for (i, unit) in old.into_iter().enumerate() {
        starts.push(code.units.len());
        while let Some((_, at, instr)) = found.next_if(|(of, ..)| *of == i) {
            code.instrs.push(instr);
            let instrs = code.instrs.len() - 1..code.instrs.len();
            code.units.push(Unit { at, instrs, ..unit.clone() });
        }
        let at = gone[i].iter().fold(unit.at, Positions::without);
        if !at.is_empty() {
            code.units.push(Unit { at, ..unit });
        }
    }
    starts.push(code.units.len());
    for pass in &mut code.passes {
        let Range { start, end } = pass.units;
        pass.units = starts[start]..starts[end];
    }
}
