//! Operators that move, repeat or pick elements without computing with them.

use rml_ir::Shape;
use rml_ir::op::AxisIndex;

use super::text::{Elem, Ssa, Text, Ty};
use rml_ir::op::Compare;

/// Operands joined along an axis.
pub(super) fn concat(t: &mut Text, axis: usize, args: &[&Ssa]) -> Ssa {
    let parts: Vec<Ssa> = args.iter().filter(|x| !x.is_empty()).map(|x| (*x).clone()).collect();
    t.concat(&parts, axis)
}

/// Operands of one shape joined along a new axis.
pub(super) fn stack(t: &mut Text, axis: usize, args: &[&Ssa]) -> Ssa {
    let mut dims = args[0].dims().to_vec();
    dims.insert(axis, 1);
    let parts: Vec<Ssa> = args.iter().map(|x| t.reshape(x, &dims)).collect();
    t.concat(&parts, axis)
}

/// The positions that an entry of an index list selects, in ascending order: the first position, their number, their
/// distance, and whether the result is reversed.
struct Rising {
    first: usize,
    len: usize,
    step: usize,
    backwards: bool,
}

impl Rising {
    fn of(item: AxisIndex) -> Self {
        match item {
            AxisIndex::At(i) => Self { first: i, len: 1, step: 1, backwards: false },
            AxisIndex::Slice { start, len, step } => {
                let (size, backwards) = (step.unsigned_abs(), step < 0);
                let first = if backwards { start - (len - 1) * size } else { start };
                Self { first, len, step: size, backwards }
            }
        }
    }

    fn all(items: &[AxisIndex]) -> Vec<Self> {
        items.iter().map(|&item| Self::of(item)).collect()
    }

    fn backwards(all: &[Self]) -> Vec<usize> {
        (0..all.len()).filter(|&i| all[i].backwards).collect()
    }
}

/// Indexing and slicing that picks at least one element.
pub(super) fn index(t: &mut Text, items: &[AxisIndex], x: &Ssa, shape: &Shape) -> Ssa {
    let all = Rising::all(items);
    let starts: Vec<usize> = all.iter().map(|r| r.first).collect();
    let limits: Vec<usize> = all.iter().map(|r| r.first + (r.len - 1) * r.step + 1).collect();
    let strides: Vec<usize> = all.iter().map(|r| r.step).collect();
    let picked = t.slice(x, &starts, &limits, &strides);
    let turned = t.reverse(&picked, &Rising::backwards(&all));
    t.reshape(&turned, shape.dims())
}

/// Zeros with the operand at the places that `items` selects.
pub(super) fn unindex(t: &mut Text, shape: &Shape, items: &[AxisIndex], x: &Ssa) -> Ssa {
    if x.is_empty() {
        return t.splat(0.0, &Ty { elem: x.ty.elem, shape: shape.clone() });
    }
    let all = Rising::all(items);
    let dims: Vec<usize> = all.iter().map(|r| r.len).collect();
    let kept = t.reshape(x, &dims);
    let turned = t.reverse(&kept, &Rising::backwards(&all));
    let signed = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let pads: Vec<(i64, i64, i64)> = all
        .iter()
        .zip(shape.dims())
        .map(|(r, &d)| (signed(r.first), signed(d - r.first - (r.len - 1) * r.step - 1), signed(r.step - 1)))
        .collect();
    t.pad(&turned, 0.0, &pads)
}

/// Rows of zeros with a 1 at the operand's position, if it is within the row.
pub(super) fn one_hot(t: &mut Text, classes: usize, x: &Ssa, num: Elem) -> Ssa {
    let dims: Vec<usize> = x.dims().iter().copied().chain([classes]).collect();
    let axes: Vec<usize> = (0..x.dims().len()).collect();
    let classes = t.iota(&Ty::new(Elem::I64, &dims), axes.len());
    let x = t.broadcast_in(x, &axes, &dims);
    let hit = t.compare(Compare::Eq, &x, &classes);
    t.convert(&hit, num)
}
