//! Operators that move, repeat or pick elements without computing with them.

use ndarray::{ArrayViewMutD, IxDyn, Slice};

use super::CHECKED;
use super::view::{Element, Elements, View, array, for_each_type};
use crate::op::AxisIndex;
use crate::op::result::picked;
use crate::types::{Precision, Shape};
use crate::value::{Data, Value};

/// Axes in another order.
pub(super) fn transpose(perm: &[usize], x: &View<'_>) -> Value {
    fn matrix<T: Copy>(xs: &[T], rows: usize, columns: usize) -> Vec<T> {
        let mut out = Vec::with_capacity(xs.len());
        for j in 0..columns {
            out.extend((0..rows).map(|i| xs[i * columns + j]));
        }
        out
    }
    let shape = perm.iter().map(|&i| x.dims[i]).collect();
    let data = match (perm, x.dims) {
        (&[1, 0], &[rows, columns]) => for_each_type!(x.elements, xs => matrix(xs, rows, columns)),
        _ => for_each_type!(x.elements, xs => {
            array(x.dims, xs).permuted_axes(IxDyn(perm)).iter().copied().collect()
        }),
    };
    Value::new(shape, data)
}

/// The same elements under another shape.
pub(super) fn reshape(shape: &Shape, x: &Value) -> Value {
    Value::new(shape.clone(), x.to_data())
}

/// Repeats the operand to a larger shape.
pub(super) fn broadcast(shape: &Shape, x: &View<'_>) -> Value {
    fn repeat<T: Copy>(shape: &Shape, dims: &[usize], xs: &[T]) -> Vec<T> {
        let n = shape.len();
        if let [x] = *xs {
            return vec![x; n];
        }
        if shape.dims().ends_with(dims) && !xs.is_empty() {
            return xs.repeat(n / xs.len());
        }
        let view = array(dims, xs);
        view.broadcast(IxDyn(shape.dims())).expect(CHECKED).iter().copied().collect()
    }
    let data = for_each_type!(x.elements, xs => repeat(shape, x.dims, xs));
    Value::new(shape.clone(), data)
}

/// Joins operands along an axis.
pub(super) fn concat(axis: usize, args: &[&Value]) -> Value {
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
    let views: Vec<View<'_>> = args.iter().map(|v| View::of(v)).collect();
    let mut dims = views[0].dims.to_vec();
    dims[axis] = views.iter().map(|v| v.dims[axis]).sum();
    let blocks = dims[..axis].iter().product();
    let data = match views[0].elements {
        Elements::Bool(_) => Data::Bool(join(blocks, &views)),
        Elements::Int(_) => Data::Int(join(blocks, &views)),
        Elements::F32(_) => Data::F32(join(blocks, &views)),
        Elements::F64(_) => Data::F64(join(blocks, &views)),
    };
    Value::new(Shape::new(&dims), data)
}

/// Stacks operands of one shape along a new axis 0.
pub(super) fn stack(args: &[&Value]) -> Value {
    fn join<T: Element>(views: &[View<'_>]) -> Vec<T> {
        let mut out = Vec::with_capacity(views.len() * T::of(views[0].elements).len());
        views.iter().for_each(|v| out.extend_from_slice(T::of(v.elements)));
        out
    }
    let views: Vec<View<'_>> = args.iter().map(|v| View::of(v)).collect();
    let shape = [views.len()].into_iter().chain(views[0].dims.iter().copied()).collect();
    let data = match views[0].elements {
        Elements::Bool(_) => Data::Bool(join(&views)),
        Elements::Int(_) => Data::Int(join(&views)),
        Elements::F32(_) => Data::F32(join(&views)),
        Elements::F64(_) => Data::F64(join(&views)),
    };
    Value::new(shape, data)
}

/// What `items` tells an axis to keep; a picked position stays as an axis of length 1, which leaves the order of elements as it is.
fn slice(item: AxisIndex) -> Slice {
    let (start, len, step) = match item {
        AxisIndex::At(i) => (i, 1, 1),
        AxisIndex::Slice { start, len, step } => (start, len, step),
    };
    let end = if len == 0 { start } else { start + (len - 1) * step + 1 };
    Slice::new(start.cast_signed(), Some(end.cast_signed()), step.cast_signed())
}

/// Where the picked elements start, if they are contiguous: positions first, then at most one dense slice, then whole axes.
fn contiguous(items: &[AxisIndex], dims: &[usize]) -> Option<usize> {
    let block = |axis: usize| dims[axis + 1..].iter().product::<usize>();
    let mut offset = 0;
    let mut open = true;
    for (axis, (item, &size)) in items.iter().zip(dims).enumerate() {
        match *item {
            AxisIndex::At(i) if open => offset += i * block(axis),
            AxisIndex::Slice { start, len, step } if open && (step == 1 || len <= 1) => {
                offset += start * block(axis);
                open = false;
            }
            AxisIndex::Slice { start: 0, len, step: 1 } if len == size => {}
            _ => return None,
        }
    }
    Some(offset)
}

/// Indexing and slicing.
pub(super) fn index(items: &[AxisIndex], x: &View<'_>) -> Value {
    fn pick<T: Copy>(items: &[AxisIndex], dims: &[usize], n: usize, xs: &[T]) -> Vec<T> {
        if let Some(offset) = contiguous(items, dims) {
            return xs[offset..][..n].to_vec();
        }
        let mut view = array(dims, xs);
        view.slice_each_axis_inplace(|axis| slice(items[axis.axis.index()]));
        view.iter().copied().collect()
    }
    let shape = picked(items);
    if shape.is_scalar() {
        let offset = contiguous(items, x.dims).expect(CHECKED);
        return x.elements.get(offset);
    }
    let n = shape.len();
    let data = for_each_type!(x.elements, xs => pick(items, x.dims, n, xs));
    Value::new(shape, data)
}

/// Zeros with the operand at the places that `items` picks.
pub(super) fn unindex(shape: &Shape, items: &[AxisIndex], x: &View<'_>) -> Value {
    fn place<T: Copy + Default>(shape: &Shape, items: &[AxisIndex], xs: &[T]) -> Vec<T> {
        let mut out = vec![T::default(); shape.len()];
        let mut view = ArrayViewMutD::from_shape(IxDyn(shape.dims()), &mut out).expect(CHECKED);
        view.slice_each_axis_inplace(|axis| slice(items[axis.axis.index()]));
        view.iter_mut().zip(xs).for_each(|(place, x)| *place = *x);
        out
    }
    let data = for_each_type!(x.elements, xs => place(shape, items, xs));
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
