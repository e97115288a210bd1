//! Parts of a value: static indices, and positions that come as ints.

use super::{ARITHMETIC, Checked, element, refuse};
use crate::op::AxisIndex;
use crate::types::{DType, Shape, Type};

/// The shape that an index picks.
pub(in crate::op) fn picked(items: &[AxisIndex]) -> Shape {
    items
        .iter()
        .filter_map(|item| if let AxisIndex::Slice { len, .. } = item { Some(*len) } else { None })
        .collect()
}

/// Whether an index has one entry for each axis of `shape`, all inside it.
pub(super) fn check_items(items: &[AxisIndex], shape: &Shape, expected: impl Fn() -> String) -> Checked<()> {
    if items.len() != shape.rank() {
        return refuse(Some(0), expected(), format!("{} indices for the shape {shape}", items.len()));
    }
    for (axis, (item, &size)) in items.iter().zip(shape.dims()).enumerate() {
        let inside = match *item {
            AxisIndex::At(i) => i < size,
            AxisIndex::Slice { step: 0, .. } => false,
            AxisIndex::Slice { start, len: 0, .. } => start <= size,
            AxisIndex::Slice { start, len, step } => {
                let way = (len - 1).checked_mul(step.unsigned_abs());
                let last =
                    way.and_then(|n| if step > 0 { start.checked_add(n) } else { start.checked_sub(n) });
                start < size && last.is_some_and(|last| last < size)
            }
        };
        if !inside {
            return refuse(Some(0), expected(), format!("index {item} on axis {axis} of size {size}"));
        }
    }
    Ok(())
}

/// `[l.., n, r..]` with the axis replaced by what is picked.
fn replaced(dims: &[usize], axis: usize, by: &[usize]) -> Shape {
    dims[..axis].iter().chain(by).chain(&dims[axis + 1..]).copied().collect()
}

/// Entries of `x` at the positions `i`.
pub(super) fn gather(axis: usize, x: &Type, i: &Type) -> Checked<Type> {
    element(1, i, &[DType::Int])?;
    if axis >= x.shape.rank() {
        return refuse(Some(0), format!("an operand with an axis {axis}"), x);
    }
    Ok(Type { dtype: x.dtype, shape: replaced(x.shape.dims(), axis, i.shape.dims()) })
}

/// Entries `d` added at the positions `i`.
pub(super) fn scatter_add(shape: &Shape, axis: usize, i: &Type, d: &Type) -> Checked<Type> {
    element(0, i, &[DType::Int])?;
    element(1, d, ARITHMETIC)?;
    if axis >= shape.rank() {
        return refuse(None, format!("a result with an axis {axis}"), shape);
    }
    let from = replaced(shape.dims(), axis, i.shape.dims());
    if d.shape != from {
        return refuse(
            Some(1),
            format!("the shape {from}, of what the positions pick from {shape}"),
            &d.shape,
        );
    }
    Ok(Type { dtype: d.dtype, shape: shape.clone() })
}

/// One element of each row.
pub(super) fn pick(x: &Type, i: &Type) -> Checked<Type> {
    element(1, i, &[DType::Int])?;
    let Some((_, rows)) = x.shape.dims().split_last() else {
        return refuse(Some(0), "at least one dimension (an element of the last axis is picked)", x);
    };
    if i.shape.dims() != rows {
        return refuse(Some(1), format!("a position for each row, int {}", Shape::new(rows)), i);
    }
    Ok(Type { dtype: x.dtype, shape: Shape::new(rows) })
}
