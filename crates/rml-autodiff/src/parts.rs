//! Combines the gradients of the parts of one variable.
//!
//! The gradient of `z[.., 0:n]` is zero outside that slice. If several slices cover `z` without overlapping, the sum of
//! their gradients is a concatenation; if every position of an axis is selected, it is a stack.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rml_ir::Shape;
use rml_ir::normal::Var;
use rml_ir::op::{AxisIndex, Binary, Op};

use crate::build::Builder;

/// The sum of the gradients of one variable.
pub(crate) fn sum(b: &mut Builder, parts: Vec<Var>) -> Option<Var> {
    let parts = joined(b, parts);
    parts.into_iter().reduce(|sum, part| b.apply(Op::Binary(Binary::Add), &[sum, part]))
}

/// The given gradients. Gradients that together cover an axis are combined in the place of the first one.
fn joined(b: &mut Builder, parts: Vec<Var>) -> Vec<Var> {
    let mut by_axis: BTreeMap<usize, Vec<Var>> = BTreeMap::new();
    for &part in &parts {
        if let Some(axis) = b.placed.get(&part).and_then(|placed| divided(&b.ty(part).shape, &placed.items)) {
            by_axis.entry(axis).or_default().push(part);
        }
    }
    let mut replaced: BTreeMap<Var, Option<Var>> = BTreeMap::new();
    for (axis, group) in by_axis {
        if let Some(whole) = join(b, axis, &group) {
            replaced.extend(group.iter().map(|&part| (part, None)));
            replaced.insert(group[0], Some(whole));
        }
    }
    parts.into_iter().filter_map(|part| replaced.get(&part).copied().unwrap_or(Some(part))).collect()
}

/// The axis of which some entries are not selected, if there is exactly one.
fn divided(shape: &Shape, items: &[AxisIndex]) -> Option<usize> {
    let mut axes = items.iter().zip(shape.dims()).enumerate();
    let mut partial = axes.by_ref().filter(|(_, (item, size))| **item != AxisIndex::whole(**size));
    let (axis, _) = partial.next()?;
    partial.next().is_none().then_some(axis)
}

/// The combined gradient, if the entries of the group cover the axis without overlapping.
fn join(b: &mut Builder, axis: usize, group: &[Var]) -> Option<Var> {
    let (first, distinct) = (*group.first()?, group.iter().collect::<BTreeSet<_>>().len());
    let size = *b.ty(first).shape.dims().get(axis)?;
    let mut entries: Vec<(AxisIndex, Var)> = group
        .iter()
        .filter_map(|v| b.placed.get(v))
        .map(|placed| (placed.items[axis], placed.part))
        .collect();
    let start = |item: &AxisIndex| match *item {
        AxisIndex::At(at) => (at, 1, true),
        AxisIndex::Slice { start, len, .. } => (start, len, false),
    };
    entries.sort_by_key(|(item, _)| start(item));
    let is_slice = |(item, _): &(AxisIndex, Var)| matches!(item, AxisIndex::Slice { step: 1, .. });
    let is_position = |(item, _): &(AxisIndex, Var)| matches!(item, AxisIndex::At(_));
    let mut end = 0;
    let adjacent = entries.iter().all(|(item, _)| {
        let (start, len, _) = start(item);
        let fits = start == end;
        end = start + len;
        fits
    });
    if distinct < 2 || !adjacent || end != size {
        return None;
    }
    let op = if entries.iter().all(is_slice) {
        Op::Concat { axis }
    } else if entries.iter().all(is_position) {
        Op::Stack { axis }
    } else {
        return None;
    };
    let from_the_end = matches!(op, Op::Concat { .. }) && b.placed.get(&first)?.from_the_end;
    let rank = b.ty(first).shape.rank();
    let statics = from_the_end.then(|| Arc::from(format!("-{}", rank - axis)));
    let parts: Vec<Var> = entries.iter().map(|(_, part)| *part).collect();
    Some(b.apply_written(op, &parts, statics.into_iter().collect()))
}
