//! Operators with integer positions that are data.

use crate::net::{Attr, Net, V, signed};

/// Clamps positions into an axis of `n`: a position outside selects an arbitrary element instead of causing an error.
fn inside(net: &mut Net, i: &V, n: usize) -> V {
    let (zero, last) = (net.int(0), net.int(signed(n) - 1));
    let low = net.node("Max", &[i, &zero], &[], i.elem, &i.dims);
    net.node("Min", &[&low, &last], &[], i.elem, &i.dims)
}

/// `x [l.., n, r..]` at `i [s..]`.
pub(super) fn gather(net: &mut Net, axis: usize, x: &V, i: &V, dims: &[usize]) -> V {
    if x.is_empty() {
        return net.splat(0.0, x.elem, dims);
    }
    let i = inside(net, i, x.dims[axis]);
    net.node("Gather", &[x, &i], &[Attr::Int("axis", signed(axis))], x.elem, dims)
}

/// One element of each row of `x [s.., n]`, at `i [s..]`.
pub(super) fn pick(net: &mut Net, x: &V, i: &V) -> V {
    if x.is_empty() {
        return net.splat(0.0, x.elem, &i.dims);
    }
    let axis = i.dims.len();
    let row: Vec<usize> = i.dims.iter().copied().chain([1]).collect();
    let at = inside(net, i, x.dims[axis]);
    let at = net.reshape(&at, &row);
    let found = net.node("GatherElements", &[x, &at], &[Attr::Int("axis", signed(axis))], x.elem, &row);
    net.reshape(&found, &i.dims)
}

/// Zeros with `d [l.., s.., r..]` added at the positions `i [s..]` of an axis.
pub(super) fn scatter_add(net: &mut Net, axis: usize, i: &V, d: &V, dims: &[usize]) -> V {
    if d.is_empty() {
        return net.splat(0.0, d.elem, dims);
    }
    let (left, right) = (dims[..axis].iter().product::<usize>(), dims[axis + 1..].iter().product::<usize>());
    let (n, count) = (dims[axis], i.len());
    let rows = net.reshape(d, &[left, count, right]);
    let rows = net.transpose(&rows, &[1, 0, 2]);
    let at = inside(net, i, n);
    let at = net.reshape(&at, &[count, 1]);
    let sums = added(net, &at, &rows, &[n, left, right]);
    let sums = net.transpose(&sums, &[1, 0, 2]);
    net.reshape(&sums, dims)
}

/// Zeros with rows added at positions of the first axis.
pub(super) fn added(net: &mut Net, at: &V, rows: &V, dims: &[usize]) -> V {
    let zeros = net.splat(0.0, rows.elem, dims);
    net.node("ScatterND", &[&zeros, at, rows], &[Attr::Text("reduction", "add")], rows.elem, dims)
}
