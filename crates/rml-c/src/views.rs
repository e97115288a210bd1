//! Values that are a part of another one, element after element, and so need neither room nor time.

use rml_base::IndexVec;
use rml_ir::op::{AxisIndex, Op};
use rml_plan::{Atom, Plan, Reg, Rule, Tape, Tick};

use crate::operand::strides;
use crate::registers::Register;

/// A part of a value: of which one, and from which element on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct View {
    pub(crate) of: Tape,
    pub(crate) from: usize,
}

/// Which tapes are parts of others.
pub(crate) fn views(plan: &Plan, registers: &IndexVec<Reg, Register>) -> IndexVec<Tape, Option<View>> {
    let mut views: IndexVec<Tape, Option<View>> = IndexVec::filled(None, plan.tapes.len());
    for (id, tape) in plan.tapes.iter_enumerated() {
        let [case] = &tape.cases[..] else { continue };
        let Rule::Apply { op: Op::Index { items }, args } = &case.rule else { continue };
        let [Atom::Tape(of, Tick::Now)] = args[..] else { continue };
        if !case.when.is_empty() || tape.ty.shape.is_empty() || !stays(plan, registers, of) {
            continue;
        }
        let Some(from) = first(items, plan.tapes[of].ty.shape.dims()) else { continue };
        views[id] = Some(match views[of] {
            Some(view) => View { of: view.of, from: view.from + from },
            None => View { of, from },
        });
    }
    views
}

/// Whether a value is there for as long as it is read: a register may be written before that.
fn stays(plan: &Plan, registers: &IndexVec<Reg, Register>, tape: Tape) -> bool {
    let mut read = plan.tapes[tape].cases.iter().filter_map(|case| case.rule.register());
    read.all(|register| registers[register].fixed)
}

/// The first of the elements that are picked, if they lie one after the other.
fn first(items: &[AxisIndex], dims: &[usize]) -> Option<usize> {
    let (mut from, mut open) = (0, false);
    for ((item, n), stride) in items.iter().zip(dims).zip(strides(dims)) {
        let (start, len) = match *item {
            AxisIndex::At(i) => (i, 1),
            AxisIndex::Slice { start, len, step } if step == 1 || len == 1 => (start, len),
            AxisIndex::Slice { .. } => return None,
        };
        // Behind an axis of which there is more than one element, all of every other axis have to be there.
        if open && len != *n {
            return None;
        }
        open |= len > 1;
        from += start * stride;
    }
    Some(from)
}
