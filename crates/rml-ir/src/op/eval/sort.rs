//! The order of elements along an axis.

use std::cmp::Ordering;

use super::CHECKED;
use super::reduce::Around;
use super::view::{Elements, View, for_each_type};
use crate::types::Shape;
use crate::value::{Data, Value};

/// For each line along an axis, its first element and the order of its elements: the positions in it, in turn.
fn orders<T: Copy>(
    around: Around,
    xs: &[T],
    compare: impl Fn(&T, &T) -> Ordering,
    mut each: impl FnMut(usize, &[usize]),
) {
    let Around { outer, n, inner } = around;
    let mut order = Vec::with_capacity(n);
    for start in (0..outer).flat_map(|block| (0..inner).map(move |column| block * n * inner + column)) {
        order.clear();
        order.extend(0..n);
        order.sort_by(|&i, &j| compare(&xs[start + i * inner], &xs[start + j * inner]));
        each(start, &order);
    }
}

/// The order of numbers; NaN comes last in both directions, and zeros are equal.
fn numbers<T: Copy + PartialOrd>(descending: bool) -> impl Fn(&T, &T) -> Ordering {
    #[allow(clippy::eq_op, reason = "only NaN is not itself")]
    let odd = |x: &T| x != x;
    move |a, b| match a.partial_cmp(b) {
        Some(order) if descending => order.reverse(),
        Some(order) => order,
        None => odd(a).cmp(&odd(b)),
    }
}

/// Calls `each` with every line of the keys.
fn lines(axis: usize, descending: bool, keys: &View<'_>, each: impl FnMut(usize, &[usize])) {
    let around = Around::axis(keys.dims, Some(axis));
    match keys.elements {
        Elements::Int(xs) => orders(around, xs, numbers(descending), each),
        Elements::F32(xs) => orders(around, xs, numbers(descending), each),
        Elements::F64(xs) => orders(around, xs, numbers(descending), each),
        Elements::Bool(_) => unreachable!("{CHECKED}"),
    }
}

/// The elements of `x` in the order of the keys.
pub(super) fn sort_by(axis: usize, descending: bool, keys: &View<'_>, x: &View<'_>) -> Value {
    let inner = Around::axis(x.dims, Some(axis)).inner;
    let data = for_each_type!(x.elements, xs => {
        let mut out = xs.to_vec();
        lines(axis, descending, keys, |start, order| {
            for (i, from) in order.iter().enumerate() {
                out[start + i * inner] = xs[start + from * inner];
            }
        });
        out
    });
    Value::new(Shape::new(x.dims), data)
}

/// The positions of the elements in order.
#[allow(clippy::cast_possible_wrap, reason = "a position in memory")]
pub(super) fn positions(axis: usize, descending: bool, x: &View<'_>) -> Value {
    let Around { outer, n, inner } = Around::axis(x.dims, Some(axis));
    let mut out = vec![0; outer * n * inner];
    lines(axis, descending, x, |start, order| {
        for (i, from) in order.iter().enumerate() {
            out[start + i * inner] = *from as i64;
        }
    });
    Value::new(Shape::new(x.dims), Data::Int(out))
}
