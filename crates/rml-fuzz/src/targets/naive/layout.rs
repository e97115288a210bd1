//! Operators that move elements.

use rml_ir::op::{AxisIndex, Op};

use super::{Array, places, positions};

/// The shape to which two shapes broadcast: their dimensions are equal, 1, or missing on the left.
pub(super) fn broadcast_dims(a: &[usize], b: &[usize]) -> Vec<usize> {
    let rank = a.len().max(b.len());
    let dim = |d: &[usize], i: usize| (i + d.len()).checked_sub(rank).map_or(1, |at| d[at]);
    (0..rank).map(|i| if dim(a, i) == 1 { dim(b, i) } else { dim(a, i) }).collect()
}

fn concat(args: &[Array], axis: usize) -> Array {
    let mut dims = args[0].dims.clone();
    dims[axis] = args.iter().map(|a| a.dims[axis]).sum();
    Array::each(args[0].dtype, &dims, |at| {
        let mut own = at.to_vec();
        let mut part = 0;
        while own[axis] >= args[part].dims[axis] {
            own[axis] -= args[part].dims[axis];
            part += 1;
        }
        args[part].at(&own)
    })
}

fn stack(args: &[Array], axis: usize) -> Array {
    let mut dims = args[0].dims.clone();
    dims.insert(axis, args.len());
    Array::each(args[0].dtype, &dims, |at| {
        let mut own = at.to_vec();
        let part = own.remove(axis);
        args[part].at(&own)
    })
}

/// The shape of the elements that `items` pick, and a function from each of their positions to the position in the
/// operand.
fn picked(items: &[AxisIndex]) -> (Vec<usize>, impl Fn(&[usize]) -> Vec<usize>) {
    let kept: Vec<bool> = items.iter().map(|i| matches!(i, AxisIndex::Slice { .. })).collect();
    let places: Vec<Vec<usize>> = items.iter().map(|i| places(*i)).collect();
    let dims = places.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(p, _)| p.len()).collect();
    let from = move |at: &[usize]| {
        let mut next = at.iter();
        let place =
            |(p, kept): (&Vec<usize>, &bool)| if *kept { next.next().map_or(0, |i| p[*i]) } else { p[0] };
        places.iter().zip(&kept).map(place).collect()
    };
    (dims, from)
}

fn gather(x: &Array, i: &Array, axis: usize) -> Option<Array> {
    let size = x.dims[axis] as f64;
    if i.data.iter().any(|at| !(0.0..size).contains(at)) {
        return None;
    }
    let dims = [&x.dims[..axis], &i.dims, &x.dims[axis + 1..]].concat();
    Some(Array::each(x.dtype, &dims, |at| {
        let (left, rest) = at.split_at(axis);
        let (which, right) = rest.split_at(i.dims.len());
        x.at(&[left, &[i.at(which) as usize], right].concat())
    }))
}

fn scatter_add(dims: &[usize], axis: usize, i: &Array, d: &Array) -> Option<Array> {
    let size = dims[axis] as f64;
    if i.data.iter().any(|at| !(0.0..size).contains(at)) {
        return None;
    }
    let mut made = Array::zeros(d.dtype, dims);
    for at in positions(&d.dims) {
        let (left, rest) = at.split_at(axis);
        let (which, right) = rest.split_at(i.dims.len());
        made.add(&[left, &[i.at(which) as usize], right].concat(), d.at(&at));
    }
    Some(made)
}

fn pick(x: &Array, i: &Array) -> Option<Array> {
    let size = *x.dims.last()? as f64;
    let inside = i.data.iter().all(|at| (0.0..size).contains(at));
    inside.then(|| Array::each(x.dtype, &i.dims, |at| x.at(&[at, &[i.at(at) as usize]].concat())))
}

fn sum_to(x: &Array, dims: &[usize]) -> Array {
    let mut made = Array::zeros(x.dtype, dims);
    for at in positions(&x.dims) {
        let behind = &at[at.len() - dims.len()..];
        let own: Vec<usize> = behind.iter().zip(dims).map(|(i, d)| if *d == 1 { 0 } else { *i }).collect();
        made.add(&own, x.at(&at));
    }
    made
}

pub(super) fn apply(op: &Op, args: &[Array]) -> Option<Array> {
    let x = &args[0];
    match op {
        Op::Copy | Op::StopGradient => Some(x.clone()),
        Op::Transpose { perm } => {
            let dims: Vec<usize> = perm.iter().map(|p| x.dims[*p]).collect();
            Some(Array::each(x.dtype, &dims, |at| {
                let mut own = vec![0; at.len()];
                perm.iter().zip(at).for_each(|(p, i)| own[*p] = *i);
                x.at(&own)
            }))
        }
        Op::Reshape { shape } => Some(Array { dims: shape.dims().to_vec(), ..x.clone() }),
        Op::Broadcast { shape } => Some(Array::each(x.dtype, shape.dims(), |at| x.spread(at))),
        Op::SumTo { shape } => Some(sum_to(x, shape.dims())),
        Op::Concat { axis } => Some(concat(args, *axis)),
        Op::Stack { axis } => Some(stack(args, *axis)),
        Op::Index { items } => {
            let (dims, from) = picked(items);
            Some(Array::each(x.dtype, &dims, |at| x.at(&from(at))))
        }
        Op::Unindex { shape, items } => {
            let (dims, from) = picked(items);
            let mut made = Array::zeros(x.dtype, shape.dims());
            positions(&dims).for_each(|at| made.add(&from(&at), x.at(&at)));
            Some(made)
        }
        Op::Gather { axis } => gather(x, &args[1], *axis),
        Op::ScatterAdd { shape, axis } => scatter_add(shape.dims(), *axis, x, &args[1]),
        Op::Pick => pick(x, &args[1]),
        _ => None,
    }
}
