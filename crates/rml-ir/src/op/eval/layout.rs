//! Operators that move, repeat or pick elements without computing with them.

use super::CHECKED;
use super::strided::{self, Strides};
use super::view::{Element, Elements, View, for_each_type};
use crate::op::AxisIndex;
use crate::op::result::picked;
use crate::types::{Precision, Shape};
use crate::value::{Data, Value};

/// Axes in another order.
pub(super) fn transpose(perm: &[usize], x: &View<'_>) -> Value {
    let from = strided::dense(x.dims);
    let strides: Strides = perm.iter().map(|&i| from[i]).collect();
    let shape: Shape = perm.iter().map(|&i| x.dims[i]).collect();
    let data = for_each_type!(x.elements, xs => strided::gather(xs, 0, shape.dims(), &strides));
    Value::new(shape, data)
}

/// The same elements under another shape.
pub(super) fn reshape(shape: &Shape, x: &Value) -> Value {
    Value::new(shape.clone(), x.to_data())
}

/// Repeats the operand to a larger shape.
pub(super) fn broadcast(shape: &Shape, x: &View<'_>) -> Value {
    fn repeat<T: Copy>(shape: &Shape, dims: &[usize], xs: &[T]) -> Vec<T> {
        match *xs {
            [x] => vec![x; shape.len()],
            _ => strided::gather(xs, 0, shape.dims(), &strided::repeated(dims, shape.dims())),
        }
    }
    let data = for_each_type!(x.elements, xs => repeat(shape, x.dims, xs));
    Value::new(shape.clone(), data)
}

/// The operands cut into that many blocks each, one block of each in turn.
fn interleave(blocks: usize, views: &[View<'_>]) -> Data {
    fn join<T: Element>(blocks: usize, views: &[View<'_>]) -> Vec<T> {
        let parts: Vec<&[T]> = views.iter().map(|v| T::of(v.elements)).collect();
        let mut out = Vec::with_capacity(parts.iter().map(|p| p.len()).sum());
        for i in 0..blocks {
            for part in &parts {
                let n = part.len() / blocks;
                out.extend_from_slice(&part[i * n..][..n]);
            }
        }
        out
    }
    match views[0].elements {
        Elements::Bool(_) => Data::Bool(join(blocks, views)),
        Elements::Int(_) => Data::Int(join(blocks, views)),
        Elements::F32(_) => Data::F32(join(blocks, views)),
        Elements::F64(_) => Data::F64(join(blocks, views)),
    }
}

/// Joins operands along an axis.
pub(super) fn concat(axis: usize, args: &[&Value]) -> Value {
    let views: Vec<View<'_>> = args.iter().map(|v| View::of(v)).collect();
    let mut dims = views[0].dims.to_vec();
    dims[axis] = views.iter().map(|v| v.dims[axis]).sum();
    let blocks = dims[..axis].iter().product();
    Value::new(Shape::new(&dims), interleave(blocks, &views))
}

/// Stacks operands of one shape along a new axis.
pub(super) fn stack(axis: usize, args: &[&Value]) -> Value {
    let views: Vec<View<'_>> = args.iter().map(|v| View::of(v)).collect();
    let mut dims = views[0].dims.to_vec();
    let blocks = dims[..axis].iter().product();
    dims.insert(axis, views.len());
    Value::new(Shape::new(&dims), interleave(blocks, &views))
}

/// The walk over dense data of shape `dims` that meets what `items` picks: the offset and the strides of the
/// axes that are kept.
fn walk(items: &[AxisIndex], dims: &[usize]) -> (usize, Strides) {
    let mut offset = 0;
    let mut strides = Strides::new();
    for (item, stride) in items.iter().zip(strided::dense(dims)) {
        match *item {
            AxisIndex::At(i) => offset += i * stride,
            AxisIndex::Slice { start, step, .. } => {
                offset += start * stride;
                strides.push(step.cast_unsigned().wrapping_mul(stride));
            }
        }
    }
    (offset, strides)
}

/// Indexing and slicing.
pub(super) fn index(items: &[AxisIndex], x: &View<'_>) -> Value {
    let (offset, strides) = walk(items, x.dims);
    let shape = picked(items);
    if shape.is_scalar() {
        return x.elements.get(offset);
    }
    let data = for_each_type!(x.elements, xs => strided::gather(xs, offset, shape.dims(), &strides));
    Value::new(shape, data)
}

/// Zeros with the operand at the places that `items` picks.
pub(super) fn unindex(shape: &Shape, items: &[AxisIndex], x: &View<'_>) -> Value {
    fn place<T: Copy + Default>(shape: &Shape, items: &[AxisIndex], dims: &[usize], xs: &[T]) -> Vec<T> {
        let mut out = vec![T::default(); shape.len()];
        let (offset, strides) = walk(items, shape.dims());
        strided::scatter(xs, &mut out, offset, dims, &strides);
        out
    }
    let data = for_each_type!(x.elements, xs => place(shape, items, x.dims, xs));
    Value::new(shape.clone(), data)
}

/// Rows of zeros with a 1 at the operand's position, if it has one.
pub(super) fn one_hot(classes: usize, x: &View<'_>, precision: Precision) -> Value {
    fn rows<T: Copy + Default>(classes: usize, xs: &[i64], one: T) -> Vec<T> {
        let mut out = vec![T::default(); classes * xs.len()];
        for (i, &x) in xs.iter().enumerate() {
            if let Some(k) = usize::try_from(x).ok().filter(|&k| k < classes) {
                out[i * classes + k] = one;
            }
        }
        out
    }
    let xs = i64::of(x.elements);
    let data = match precision {
        Precision::F32 => Data::F32(rows(classes, xs, 1.0)),
        Precision::F64 => Data::F64(rows(classes, xs, 1.0)),
    };
    Value::new(x.dims.iter().copied().chain([classes]).collect(), data)
}

/// Element by element, the first where the condition is true, else the second.
pub(super) fn choose(cond: &Value, a: &Value, b: &Value) -> Value {
    fn pick<T: Element>(cond: &[bool], a: Elements<'_>, b: Elements<'_>) -> Vec<T> {
        let pairs = T::of(a).iter().zip(T::of(b));
        cond.iter().zip(pairs).map(|(&c, (&a, &b))| if c { a } else { b }).collect()
    }
    let shape = cond.shape().broadcast(&a.shape()).and_then(|s| s.broadcast(&b.shape())).expect(CHECKED);
    let [cond, a, b] = [cond, a, b].map(|v| broadcast(&shape, &View::of(v)));
    let (cond, a, b) = (View::of(&cond), View::of(&a), View::of(&b));
    let mask = bool::of(cond.elements);
    let data = match a.elements {
        Elements::Bool(_) => Data::Bool(pick(mask, a.elements, b.elements)),
        Elements::Int(_) => Data::Int(pick(mask, a.elements, b.elements)),
        Elements::F32(_) => Data::F32(pick(mask, a.elements, b.elements)),
        Elements::F64(_) => Data::F64(pick(mask, a.elements, b.elements)),
    };
    Value::new(shape, data)
}
