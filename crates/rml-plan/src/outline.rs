//! The shape of a plan in a few numbers.

use rml_ir::Precision;

use crate::{Plan, Region, Rule, TapeData};

/// The shape of a plan, and the memory of its values.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Outline {
    /// Whether it runs blocks that wait.
    pub waits: bool,
    /// How many loops run from the first tick on.
    pub forward: usize,
    /// How many loops run from the last tick back.
    pub backward: usize,
    /// How many tapes are sums over ticks.
    pub sums: usize,
    /// How many tapes are computed over all ticks at once, without inputs and sums.
    pub over: usize,
    /// The bytes of values that exist once: registers, constants, and tapes with one element per window.
    pub bytes: u64,
    /// The bytes of one tick of all other tapes.
    pub bytes_per_tick: u64,
}

impl Outline {
    /// The outline of a plan.
    pub fn of(plan: &Plan) -> Self {
        let mut outline = Self { waits: plan.waits, ..Self::default() };
        for region in &plan.regions {
            match region {
                Region::Loop { backward: false, .. } => outline.forward += 1,
                Region::Loop { backward: true, .. } => outline.backward += 1,
                Region::Over(_) => {}
            }
        }
        let mut looped = vec![false; plan.tapes.len()];
        for part in plan.regions.iter().filter(|r| matches!(r, Region::Loop { .. })).flat_map(Region::parts) {
            looped[part.tape.0 as usize] = true;
        }
        for (tape, looped) in plan.tapes.iter().zip(looped) {
            outline.add(tape, looped, plan.precision);
        }
        let registers = plan.registers.iter().map(|r| r.ty.bytes(plan.precision));
        let consts = plan.consts.iter().map(|k| k.ty().bytes(plan.precision));
        outline.bytes = registers.chain(consts).fold(outline.bytes, u64::saturating_add);
        outline
    }

    fn add(&mut self, tape: &TapeData, looped: bool, precision: Precision) {
        if tape.is_sum() {
            self.sums += 1;
        } else if !looped && !tape.cases.iter().any(|c| matches!(c.rule, Rule::Input(_))) {
            self.over += 1;
        }
        let bytes = tape.ty.bytes(precision);
        let total = if tape.place().is_edge() { &mut self.bytes } else { &mut self.bytes_per_tick };
        *total = total.saturating_add(bytes);
    }
}
