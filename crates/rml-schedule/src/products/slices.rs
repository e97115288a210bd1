//! Products of which only some columns or rows are read.

use std::collections::{BTreeMap, BTreeSet};

use rml_ir::op::{AxisIndex, Op};
use rml_plan::{Atom, Case, Region, Rule, Tape, Tick};
use rml_validate::AxisRange;

use super::edit::Edit;

/// Computes only those elements of the products of a region that are read.
pub(super) fn slices(edit: &mut Edit, region: usize) {
    let is_loop = matches!(edit.plan.regions[region], Region::Loop { .. });
    for part in edit.plan.regions[region].parts().to_vec() {
        let Some(found) = find(edit, part.tape, is_loop.then_some(region)) else { continue };
        let inside = found.keys().filter(|tape| edit.region(**tape) == Some(region)).count();
        // Slices that other regions read are then computed over all ticks.
        if if is_loop { inside == 1 } else { found.len() == 1 } {
            for (slice, cut) in found {
                compute(edit, part.tape, slice, cut, is_loop.then_some(region));
            }
        }
    }
}

/// The slices of a product, and the part that each takes; none if something reads the product in another way. For a
/// loop, the parts of the factors that they need must be available before it.
fn find(edit: &Edit, product: Tape, in_loop: Option<usize>) -> Option<BTreeMap<Tape, AxisRange>> {
    let (data, readers) = (&edit.plan.tapes[product], &edit.readers[product]);
    if readers.others || edit.region(product).is_none() {
        return None;
    }
    let dims = data.ty.shape.dims();
    let mut found = BTreeMap::new();
    for reader in readers.tapes.iter().copied() {
        let cut = sliced(edit, reader, product, dims)?;
        let is_there = |case: &Case| {
            let (_, atom, _) = factor(edit, case, cut)?;
            let is_whole = matches!(atom, Atom::Tape(tape, _) if edit.witness.tapes[tape].whole().is_some());
            (is_whole && in_loop.is_none_or(|region| edit.is_before(atom, region))).then_some(())
        };
        data.cases.iter().try_for_each(is_there)?;
        found.insert(reader, cut);
    }
    let distinct: BTreeSet<AxisRange> = found.values().copied().collect();
    (distinct.len() == found.len()).then_some(found)
}

/// The part of a product that a tape takes, if the tape is a slice of it along one axis.
fn sliced(edit: &Edit, reader: Tape, product: Tape, dims: &[usize]) -> Option<AxisRange> {
    edit.region(reader)?;
    let mut all = edit.plan.tapes[reader].cases.iter().map(|case| match &case.rule {
        Rule::Apply { op: Op::Index { items }, args } if args[0] == Atom::Tape(product, Tick::Now) => {
            Some(items)
        }
        _ => None,
    });
    let items = all.next()??;
    if !all.all(|other| other == Some(items)) {
        return None;
    }
    let axis = (0..dims.len()).find(|axis| items[*axis] != AxisIndex::whole(dims[*axis]))?;
    let AxisIndex::Slice { start, len, step: 1 } = items[axis] else { return None };
    let cut = AxisRange { axis, start, len };
    (*items == cut.items(dims)).then_some(cut)
}

/// For some rows or columns of a product: the factor that they come from, and the corresponding part of it.
fn factor(edit: &Edit, case: &Case, cut: AxisRange) -> Option<(usize, Atom, AxisRange)> {
    let Rule::Apply { op: Op::MatMul, args } = &case.rule else { return None };
    let rank = |atom: Atom| edit.plan.ty(atom).shape.rank();
    let rows = rank(args[0]) - 1;
    if rank(args[1]) > 2 {
        return None;
    }
    Some(match cut.axis.checked_sub(rows) {
        None => (0, args[0], cut),
        Some(column) => (1, args[1], AxisRange { axis: column + 1, ..cut }),
    })
}

/// Computes a slice of a product from slices of a factor.
fn compute(edit: &mut Edit, product: Tape, slice: Tape, cut: AxisRange, in_loop: Option<usize>) {
    let mut cases = Vec::new();
    for of in edit.plan.tapes[product].cases.clone() {
        let Some((side, Atom::Tape(tape, tick), own)) = factor(edit, &of, cut) else { return };
        let (Some(v), Rule::Apply { op, mut args }) = (edit.witness.tapes[tape].whole(), of.rule) else {
            return;
        };
        let (taken, is_new) = edit.cut((tape, v), own, tick, of.at);
        match in_loop {
            Some(region) if is_new => edit.fill_before(taken, region),
            None if is_new => edit.fill_within(taken, product),
            _ => {}
        }
        args[side] = Atom::Tape(taken, tick);
        for case in &edit.plan.tapes[slice].cases {
            let (at, when) = (case.at.and(of.at), case.when.clone());
            let (op, args) = (op.clone(), args.clone());
            cases.push(Case { at, when, rule: Rule::Apply { op, args } });
        }
    }
    cases.retain(|case: &Case| !case.at.is_empty());
    edit.refill(slice, cases);
}
