//! Entries at int positions that come with the data.

use super::view::{Element, Elements, View};
use super::{CHECKED, EvalError};
use crate::types::Shape;
use crate::value::{Data, Value};

/// The positions, all within `0..size`.
fn positions(i: &View<'_>, size: usize) -> Result<Vec<usize>, EvalError> {
    let position = |&index: &i64| {
        let outside = EvalError::PositionOutside { index, size };
        usize::try_from(index).ok().filter(|&at| at < size).ok_or(outside)
    };
    i64::of(i.elements).iter().map(position).collect()
}

/// `[l.., n, r..]` at `[s..]` -> `[l.., s.., r..]`.
pub(super) fn gather(axis: usize, x: &View<'_>, i: &View<'_>) -> Result<Value, EvalError> {
    fn pick<T: Copy>(xs: &[T], outer: usize, n: usize, inner: usize, at: &[usize]) -> Vec<T> {
        let mut out = Vec::with_capacity(outer * at.len() * inner);
        for block in 0..outer {
            for &k in at {
                out.extend_from_slice(&xs[(block * n + k) * inner..][..inner]);
            }
        }
        out
    }
    let (outer, n, inner) = around(x.dims, axis);
    let at = positions(i, n)?;
    let shape = x.dims[..axis].iter().chain(i.dims).chain(&x.dims[axis + 1..]).copied().collect();
    let data = match x.elements {
        Elements::Bool(xs) => Data::Bool(pick(xs, outer, n, inner, &at)),
        Elements::Int(xs) => Data::Int(pick(xs, outer, n, inner, &at)),
        Elements::F32(xs) => Data::F32(pick(xs, outer, n, inner, &at)),
        Elements::F64(xs) => Data::F64(pick(xs, outer, n, inner, &at)),
    };
    Ok(Value::new(shape, data))
}

fn around(dims: &[usize], axis: usize) -> (usize, usize, usize) {
    (dims[..axis].iter().product(), dims[axis], dims[axis + 1..].iter().product())
}

/// Zeros of `shape` with the entries of `d` added at their positions, first to last.
pub(super) fn scatter_add(
    shape: &Shape,
    axis: usize,
    i: &View<'_>,
    d: &View<'_>,
) -> Result<Value, EvalError> {
    fn add<T: Copy + Default>(
        (outer, n, inner): (usize, usize, usize),
        at: &[usize],
        d: &[T],
        mut plus: impl FnMut(T, T) -> T,
    ) -> Vec<T> {
        let mut out = vec![T::default(); outer * n * inner];
        let mut rows = d.chunks_exact(inner.max(1));
        for block in 0..outer {
            for &k in at {
                let to = &mut out[(block * n + k) * inner..][..inner];
                let row = rows.next().unwrap_or_default();
                to.iter_mut().zip(row).for_each(|(to, &x)| *to = plus(*to, x));
            }
        }
        out
    }
    let around = around(shape.dims(), axis);
    let at = positions(i, around.1)?;
    let mut overflow = false;
    let data = match d.elements {
        Elements::F32(d) => Data::F32(add(around, &at, d, |a, b| a + b)),
        Elements::F64(d) => Data::F64(add(around, &at, d, |a, b| a + b)),
        Elements::Int(d) => Data::Int(add(around, &at, d, |a: i64, b| {
            let (sum, over) = a.overflowing_add(b);
            overflow |= over;
            sum
        })),
        Elements::Bool(_) => unreachable!("{CHECKED}"),
    };
    if overflow { Err(EvalError::IntegerOverflow) } else { Ok(Value::new(shape.clone(), data)) }
}

/// One element of each row.
pub(super) fn pick(x: &View<'_>, i: &View<'_>) -> Result<Value, EvalError> {
    fn of<T: Copy>(xs: &[T], n: usize, at: &[usize]) -> Vec<T> {
        at.iter().enumerate().map(|(row, &k)| xs[row * n + k]).collect()
    }
    let n = x.dims.last().copied().expect(CHECKED);
    let at = positions(i, n)?;
    let data = match x.elements {
        Elements::Bool(xs) => Data::Bool(of(xs, n, &at)),
        Elements::Int(xs) => Data::Int(of(xs, n, &at)),
        Elements::F32(xs) => Data::F32(of(xs, n, &at)),
        Elements::F64(xs) => Data::F64(of(xs, n, &at)),
    };
    Ok(Value::new(Shape::new(i.dims), data))
}
