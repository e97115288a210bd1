//! Verifier of routines: the invariants R1 to R4.

use rml_base::EntityId;
use rml_ir::Type;

use super::{Body, Loop, Routine, Slot, Step, stacked};
use crate::function::Function;

/// Checks R1 to R4.
///
/// # Errors
/// An invariant is violated; there is one line for each violation.
pub fn verify(routine: &Routine) -> Result<(), Vec<String>> {
    let mut check = Check { routine, found: Vec::new(), known: routine.inputs };
    for step in &routine.steps {
        check.step(step);
    }
    if check.known != routine.slots.len() {
        check.found.push(format!("R1: {} slots, of which steps fill {}", routine.slots.len(), check.known));
    }
    for result in &routine.results {
        if result.index() >= routine.slots.len() {
            check.found.push(format!("R4: the result {result} is no slot"));
        }
    }
    if check.found.is_empty() { Ok(()) } else { Err(check.found) }
}

struct Check<'a> {
    routine: &'a Routine,
    found: Vec<String>,
    /// The number of slots before the step.
    known: usize,
}

impl Check<'_> {
    fn step(&mut self, step: &Step) {
        let late = step.reads().find(|slot| slot.index() >= self.known);
        if let Some(slot) = late {
            self.found.push(format!("R1: a step reads {slot}, which does not stand before it"));
            return;
        }
        if step.out().index() != self.known {
            self.found.push(format!("R1: the results of a step begin at {}", step.out()));
        }
        let slot = |slot: &Slot| self.routine.slots[*slot].clone();
        let ((args, takes), results): ((Vec<Type>, Vec<Type>), Vec<Type>) = match step {
            Step::Call { function, args, .. } => {
                self.function(function);
                let results = function.results.iter().filter_map(|r| function.values.get(*r));
                let results = results.map(|def| def.ty.clone()).collect();
                let takes = function.inputs().map(|(_, def)| def.ty.clone()).collect();
                ((args.iter().map(slot).collect(), takes), results)
            }
            Step::Loop(l) => {
                let Some(args) = self.loop_args(l) else { return };
                match &l.body {
                    Body::Function(function) => self.function(function),
                    Body::Routine(inner) => self.inner(inner),
                }
                ((args, l.body.input_types()), self.loop_results(l))
            }
        };
        if args != takes {
            self.found.push(format!("R2: the operands of a step for {} do not fit", step.out()));
        }
        for ty in results {
            if self.routine.slots.as_slice().get(self.known) != Some(&ty) {
                let slot = Slot::from_index(self.known);
                self.found.push(format!("R2: {slot} is filled with {ty}"));
            }
            self.known += 1;
        }
    }

    fn loop_args(&mut self, l: &Loop) -> Option<Vec<Type>> {
        let mut args: Vec<Type> = l.carried.iter().map(|s| self.routine.slots[*s].clone()).collect();
        for (slot, offset) in &l.rows {
            let ty = &self.routine.slots[*slot];
            match ty.shape.dims() {
                [n, rest @ ..] if offset + l.count <= *n => args.push(Type::new(ty.dtype, rest)),
                _ => {
                    self.found.push(format!("R3: rows {offset}..{} of {slot}, {ty}", offset + l.count));
                    return None;
                }
            }
        }
        if l.count == 0 {
            self.found.push("R3: a loop that never runs".to_owned());
        }
        args.extend(l.whole.iter().map(|s| self.routine.slots[*s].clone()));
        Some(args)
    }

    fn loop_results(&mut self, l: &Loop) -> Vec<Type> {
        let types = l.body.result_types();
        let carried = l.carried.len();
        if types.len() < carried {
            self.found.push(format!("R2: {} results of a loop that carries {carried}", types.len()));
        }
        for (slot, ty) in l.carried.iter().zip(&types) {
            if self.routine.slots[*slot] != *ty {
                self.found.push(format!("R2: a loop carries {slot} on as {ty}"));
            }
        }
        let kept = |(i, ty): (usize, Type)| if i < carried { ty } else { stacked(&ty, l.count) };
        types.into_iter().enumerate().map(kept).collect()
    }

    fn function(&mut self, function: &Function) {
        if function.precision != self.routine.precision {
            self.found.push(format!("R4: function {} has another precision", function.name));
        }
        if let Err(found) = crate::verify(function) {
            self.found.extend(found.into_iter().map(|line| format!("R4: {}: {line}", function.name)));
        }
    }

    fn inner(&mut self, routine: &Routine) {
        if routine.precision != self.routine.precision {
            self.found.push(format!("R4: routine {} has another precision", routine.name));
        }
        if let Err(found) = verify(routine) {
            self.found.extend(found.into_iter().map(|line| format!("R4: {}: {line}", routine.name)));
        }
    }
}
