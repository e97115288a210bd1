//! The order of elements along an axis.

use crate::net::{Attr, Elem, Net, V, signed};

/// The elements of `x` in the order of the keys.
pub(super) fn by(net: &mut Net, axis: usize, descending: bool, keys: &V, x: &V) -> V {
    let order = order(net, axis, descending, keys);
    taken(net, axis, x, &order)
}

/// The positions of the keys in sorted order, stable, with NaN last.
pub(super) fn order(net: &mut Net, axis: usize, descending: bool, keys: &V) -> V {
    if !keys.elem.is_float() {
        return ranked(net, axis, descending, keys);
    }
    // The position of NaN in `TopK` is not specified. So NaN is sorted as the last number, and then moved after the
    // others.
    let nan = net.compare_one("IsNaN", keys);
    let last = net.scalar(if descending { f64::NEG_INFINITY } else { f64::INFINITY }, keys.elem);
    let numbers = net.select(&nan, &last, keys);
    let order = ranked(net, axis, descending, &numbers);
    let nan = net.cast(&nan, Elem::I64);
    let nan = taken(net, axis, &nan, &order);
    let behind = ranked(net, axis, false, &nan);
    taken(net, axis, &order, &behind)
}

/// Elements at positions along an axis.
fn taken(net: &mut Net, axis: usize, x: &V, at: &V) -> V {
    net.node("GatherElements", &[x, at], &[Attr::Int("axis", signed(axis))], x.elem, &x.dims)
}

/// The positions of numbers in sorted order; for equal numbers, `TopK` gives the lower position first.
fn ranked(net: &mut Net, axis: usize, descending: bool, x: &V) -> V {
    let count = net.ints([signed(x.dims[axis])]);
    let (values, positions) = (net.fresh(x.elem, &x.dims), net.fresh(Elem::I64, &x.dims));
    let attrs = [
        Attr::Int("axis", signed(axis)),
        Attr::Int("largest", i64::from(descending)),
        Attr::Int("sorted", 1),
    ];
    net.push("TopK", &[Some(x), Some(&count)], &attrs, &[values, positions.clone()]);
    positions
}
