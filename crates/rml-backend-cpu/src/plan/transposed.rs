//! Products by a transposed matrix, such as recurrent weights in the loop backward. If only products use the transpose,
//! the matrix is packed for products directly from its place, without writing the transpose first.

#[cfg(test)]
mod tests;

use rml_ir::{DType, Positions};

use super::code::{At, Code, Instr, Kernel, Ref, Unit};
use super::operand::Arg;
use super::point::Turn;
use super::replace::replace;
use super::rows;

/// From that many columns on, at most half of a panel is padding.
const WIDE: usize = 32;

/// Finds matrices that are transposed for products alone, and has those read them where they are stored.
pub(super) fn fuse(code: &mut Code) {
    // Such plans do not run units by position, so fusing per position would be wrong.
    if code.waits || code.ahead > 0 || code.ending.is_some() {
        return;
    }
    let readers = readers(code);
    let mut gone = vec![Positions::NONE; code.units.len()];
    for (unit, gone) in gone.iter_mut().enumerate() {
        let Some((out, from)) = turn(code, unit) else { continue };
        let Some(readers) = &readers[code.refs[out].slot.0] else { continue };
        let lies = Ref { at: At::Here(0), transposed: true, ..code.refs[from] };
        readers.iter().for_each(|arg| code.refs[*arg] = lies);
        *gone = code.units[unit].at;
    }
    replace(code, &gone, Vec::new());
}

/// The result and the operand of a unit, if it turns round a matrix that stays the same in a window.
fn turn(code: &Code, unit: usize) -> Option<(Arg, Arg)> {
    let Unit { when, instrs, .. } = &code.units[unit];
    let [Instr { kernel: Kernel::Copy(DType::Num, walk), out, args, width }] = &code.instrs[instrs.clone()]
    else {
        return None;
    };
    Turn::of(walk).filter(|turn| turn.is_whole(*width) && turn.columns() >= WIDE)?;
    let (r, data) = code.data(args[0]);
    let is_written =
        || code.passes.iter().flat_map(|pass| &pass.puts).any(|put| code.register(put.register) == r.slot);
    (when.is_empty() && data.kept && !is_written()).then_some((*out, args[0]))
}

/// By slot: the operands that read it, if all are matrices of products that may be laid out, and one instruction fills
/// it.
fn readers(code: &mut Code) -> Vec<Option<Vec<Arg>>> {
    let mut readers = vec![Some(Vec::new()); code.slots.len()];
    let mut is_known = vec![false; code.refs.len()];
    let mut fills = vec![0; code.slots.len()];
    for i in code.units.iter().flat_map(|unit| unit.instrs.clone()).collect::<Vec<_>>() {
        let out = code.instrs[i].out;
        is_known[out] = true;
        fills[code.refs[out].slot.0] += 1;
        let columns = |arg: Arg| code.slots[code.refs[arg].slot.0].width;
        for (right, [k, n], _) in rows::matrices(&mut code.instrs[i], columns) {
            let r = code.refs[right];
            let is_whole = r.offset == 0 && !r.transposed && code.slots[r.slot.0].width == k * n;
            if let Some(readers) = readers[r.slot.0].as_mut().filter(|_| is_whole) {
                readers.push(right);
                is_known[right] = true;
            }
        }
    }
    for (r, _) in code.refs.iter().zip(is_known).filter(|(_, is_known)| !is_known) {
        readers[r.slot.0] = None;
    }
    readers.iter_mut().zip(fills).filter(|(_, fills)| *fills != 1).for_each(|(readers, _)| *readers = None);
    readers
}
