//! The invariants of code, stage by stage.
//!
//! - **C1** An operand is of a place that exists, and begins within it.
//! - **C2** Units have instructions, those exist, and an instruction has operands that exist, as many as its kernel
//!   takes.
//! - **C3** The passes have all units, one after the other; a loop that searches for the end of a window knows it after
//!   some of the first pass.
//! - **C4** Conditions are truth values.
//! - **C5** Before code is listed, no product has a matrix that it shares, and afterwards each such matrix exists.
//! - **C6** The list of a position has each unit of the pass that runs there exactly once, in their order: by itself,
//!   or as its scalars or links.
//! - **C7** A step that skips others stays within its list.

use std::ops::Range;

use rml_ir::{DType, Position};

use super::code::{Added, Code, Instr, Kernel};
use super::listed::{Do, Entry, Listed};
use super::operand::Arg;

/// The stages of code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Stage {
    Lowered,
    Placed,
    Listed,
}

/// Panics in debug builds if code breaks an invariant.
pub(super) fn debug(code: &Code, stage: Stage) {
    if cfg!(debug_assertions) {
        let verified = verify(code, stage);
        assert!(verified.is_ok(), "{stage:?}: {verified:?}");
    }
}

/// The same for lists.
pub(super) fn debug_lists(code: &Listed) {
    if cfg!(debug_assertions) {
        let verified = verify_lists(code);
        assert!(verified.is_ok(), "{verified:?}");
    }
}

/// The first invariant from C1 to C5 that code breaks.
pub(super) fn verify(code: &Code, stage: Stage) -> Result<(), String> {
    for (arg, r) in code.refs.iter().enumerate() {
        let slot = code.slots.get(r.slot.0).ok_or(format!("C1: operand {arg} is of no place"))?;
        if r.offset > slot.width {
            return Err(format!("C1: operand {arg} begins at {} of {}", r.offset, slot.width));
        }
    }
    verify_units(code, stage)?;
    verify_passes(code)
}

fn verify_units(code: &Code, stage: Stage) -> Result<(), String> {
    for (id, unit) in code.units.iter().enumerate() {
        if unit.instrs.is_empty() || unit.instrs.end > code.instrs.len() {
            return Err(format!(
                "C2: unit {id} has the instructions {:?} of {}",
                unit.instrs,
                code.instrs.len()
            ));
        }
        unit.when.iter().try_for_each(|guard| truth(code, guard.cond, id))?;
        for i in unit.instrs.clone() {
            verify_instr(code, i, stage).map_err(|why| format!("{why} in instruction {i} of unit {id}"))?;
        }
    }
    Ok(())
}

fn truth(code: &Code, cond: Arg, of: usize) -> Result<(), String> {
    match code.refs.get(cond) {
        Some(r) if code.slot(r.slot).dtype == DType::Bool => Ok(()),
        _ => Err(format!("C4: the condition {cond} of unit {of} is no truth value")),
    }
}

fn verify_instr(code: &Code, i: usize, stage: Stage) -> Result<(), String> {
    let Instr { kernel, out, args, .. } = &code.instrs[i];
    if args.iter().chain([out]).any(|arg| *arg >= code.refs.len()) {
        return Err("C2: no such operand".to_owned());
    }
    if operands(kernel).is_some_and(|range| !range.contains(&args.len())) {
        return Err(format!("C2: {} operands", args.len()));
    }
    if let Kernel::Sum { terms, .. } = kernel {
        for term in terms {
            term.when.iter().try_for_each(|guard| truth(code, guard.cond, i))?;
            if let Added::Made(made, _) = &term.added {
                made.clone().try_for_each(|i| verify_instr(code, i, stage))?;
            }
        }
    }
    if stage < Stage::Listed && pack(kernel).is_some() {
        return Err("C5: a matrix that is shared already".to_owned());
    }
    Ok(())
}

/// How many operands a kernel takes, as far as the kernel alone says so.
fn operands(kernel: &Kernel) -> Option<Range<usize>> {
    let exactly = |n: usize| Some(n..n + 1);
    match kernel {
        Kernel::Copy(..)
        | Kernel::Reduce(..)
        | Kernel::Position(..)
        | Kernel::Softmax(..)
        | Kernel::OneHot(_) => exactly(1),
        Kernel::Clear(_) => exactly(0),
        Kernel::Read(..) => Some(1..3),
        Kernel::Product(..) | Kernel::Products(..) => exactly(2),
        Kernel::Pick(..) | Kernel::Gather(..) => exactly(2),
        Kernel::Further(..) => exactly(3),
        Kernel::General(_, types, _) => exactly(types.len()),
        Kernel::Point(..)
        | Kernel::Choose(_)
        | Kernel::ScatterAdd(..)
        | Kernel::Convolve(_)
        | Kernel::Draw(_)
        | Kernel::Sum { .. } => None,
    }
}

/// The matrix that the product of a kernel shares with others.
fn pack(kernel: &Kernel) -> Option<usize> {
    match kernel {
        Kernel::Product(_, pack) | Kernel::Further(_, pack) => *pack,
        _ => None,
    }
}

fn verify_passes(code: &Code) -> Result<(), String> {
    let mut next = 0;
    for (k, pass) in code.passes.iter().enumerate() {
        if pass.units.start != next || pass.units.end < next {
            return Err(format!("C3: pass {k} has the units {:?}, not those from {next} on", pass.units));
        }
        next = pass.units.end;
        for put in &pass.puts {
            put.when.iter().map(|guard| guard.cond).chain(put.unless.iter().copied()).try_for_each(
                |cond| truth(code, cond, k).map_err(|why| format!("{why}, of a register of pass {k}")),
            )?;
        }
    }
    let ends = code.ending.as_ref().map_or(0, |ending| ending.head);
    if next != code.units.len() || ends > code.passes.first().map_or(0, |pass| pass.units.end) {
        return Err(format!("C3: the passes have {next} of {} units", code.units.len()));
    }
    Ok(())
}

/// The first invariant of lists that code breaks.
pub(super) fn verify_lists(code: &Listed) -> Result<(), String> {
    for unit in &code.units {
        for i in unit.instrs.clone() {
            if pack(&code.instrs[i].kernel).is_some_and(|pack| pack >= code.packs.len()) {
                return Err(format!("C5: instruction {i} shares no matrix that exists"));
            }
        }
    }
    for (k, (pass, lists)) in code.passes.iter().zip(&code.lists).enumerate() {
        for p in Position::ALL {
            if pass.over && p != Position::Only {
                continue;
            }
            let wanted: Vec<usize> =
                pass.units.clone().filter(|unit| code.units[*unit].at.contains(p)).collect();
            let found = units(code, &lists.at[p.index()])?;
            if found != wanted {
                return Err(format!("C6: pass {k} runs the units {found:?} at {p:?}, not {wanted:?}"));
            }
        }
    }
    Ok(())
}

/// The units of a list, in order.
fn units(code: &Listed, entries: &[Entry]) -> Result<Vec<usize>, String> {
    let mut units = Vec::new();
    for entry in entries {
        match entry {
            Entry::Unit(unit) => units.push(*unit),
            Entry::Chain(links) => units.extend(code.links[links.clone()].iter().map(|link| link.unit)),
            Entry::Scalars(range) => {
                for (i, scalar) in range.clone().zip(&code.scalars[range.clone()]) {
                    match scalar.what {
                        Do::Skip(_, n) if i + n >= range.end => {
                            return Err(format!("C7: step {i} skips {n} in {range:?}"));
                        }
                        _ => units.push(scalar.unit),
                    }
                }
            }
        }
    }
    units.dedup();
    Ok(units)
}
