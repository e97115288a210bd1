//! Reductions along one axis or over everything, and running sums.

use rml_ir::op::Reduction;

use super::layout::slice;
use crate::net::{Attr, Elem, Net, V, signed};

/// The axes that are dropped.
fn axes(axis: Option<usize>, x: &V) -> Vec<usize> {
    axis.map_or_else(|| (0..x.dims.len()).collect(), |axis| vec![axis])
}

/// Reduces an axis, which is dropped, or all elements.
pub(super) fn reduce(net: &mut Net, by: Reduction, axis: Option<usize>, x: &V, dims: &[usize]) -> V {
    match by {
        Reduction::Sum => sum(net, axis, x),
        Reduction::Mean => mean(net, axis, x, dims),
        Reduction::Prod => prod(net, axis, x, dims),
        Reduction::LogSumExp => logsumexp(net, axis, x, dims),
        Reduction::Max => extreme(net, axis, x, true, dims),
        Reduction::Min => extreme(net, axis, x, false, dims),
        Reduction::ArgMax => position(net, axis, x, true, dims),
        Reduction::ArgMin => position(net, axis, x, false, dims),
        Reduction::Any => quantify(net, axis, x, false, dims),
        Reduction::All => quantify(net, axis, x, true, dims),
    }
}

/// The sum; 0 for no elements.
fn sum(net: &mut Net, axis: Option<usize>, x: &V) -> V {
    let axes = axes(axis, x);
    if x.is_empty() {
        let kept: Vec<usize> = (0..x.dims.len()).filter(|i| !axes.contains(i)).map(|i| x.dims[i]).collect();
        return net.splat(0.0, x.elem, &kept);
    }
    net.reduce("ReduceSum", x, &axes, false)
}

/// The mean; NaN for no elements.
pub(super) fn mean(net: &mut Net, axis: Option<usize>, x: &V, dims: &[usize]) -> V {
    if x.is_empty() {
        return net.splat(f64::NAN, x.elem, dims);
    }
    let axes = axes(axis, x);
    net.reduce("ReduceMean", x, &axes, false)
}

/// The product; 1 for no elements. It is computed by halves, since ONNX Runtime has no `ReduceProd` in double
/// precision.
fn prod(net: &mut Net, axis: Option<usize>, x: &V, dims: &[usize]) -> V {
    if x.is_empty() {
        return net.splat(1.0, x.elem, dims);
    }
    let (mut x, axis) = match axis {
        Some(axis) => (x.clone(), axis),
        None => (net.reshape(x, &[x.len()]), 0),
    };
    while x.dims[axis] > 1 {
        let (n, half) = (x.dims[axis], x.dims[axis] / 2);
        let mut part = |from: usize, len: usize| {
            let mut dims = x.dims.clone();
            dims[axis] = len;
            slice(net, &x, &[(axis, from, len, 1)], &dims)
        };
        let (first, second) = (part(0, half), part(half, half));
        let last = (n % 2 == 1).then(|| part(n - 1, 1));
        let product = net.zip("Mul", &first, &second);
        x = match last {
            Some(last) => {
                let mut dims = product.dims.clone();
                dims[axis] += 1;
                let along = [Attr::Int("axis", signed(axis))];
                net.node("Concat", &[&product, &last], &along, x.elem, &dims)
            }
            None => product,
        };
    }
    net.reshape(&x, dims)
}

/// The logarithm of the sum of exponentials; -inf for no elements. The largest element is subtracted first, unless it
/// is infinite.
fn logsumexp(net: &mut Net, axis: Option<usize>, x: &V, dims: &[usize]) -> V {
    if x.is_empty() {
        return net.splat(f64::NEG_INFINITY, x.elem, dims);
    }
    let axes = axes(axis, x);
    let (zero, most) = (net.scalar(0.0, x.elem), net.scalar(f64::INFINITY, x.elem));
    let largest = net.reduce("ReduceMax", x, &axes, true);
    let size = net.map("Abs", &largest);
    let infinite = net.compare("Equal", &size, &most);
    let shift = net.select(&infinite, &zero, &largest);
    let below = net.zip("Sub", x, &shift);
    let exp = net.map("Exp", &below);
    let sums = net.reduce("ReduceSum", &exp, &axes, false);
    let (log, shift) = (net.map("Log", &sums), net.reshape(&shift, dims));
    net.zip("Add", &log, &shift)
}

/// The largest or smallest element; NaN if one is NaN.
pub(super) fn extreme(net: &mut Net, axis: Option<usize>, x: &V, largest: bool, dims: &[usize]) -> V {
    if x.is_empty() {
        let start = match (x.elem, largest) {
            (Elem::I64, true) => net.int(i64::MIN),
            (Elem::I64, false) => net.int(i64::MAX),
            (elem, true) => net.scalar(f64::NEG_INFINITY, elem),
            (elem, false) => net.scalar(f64::INFINITY, elem),
        };
        return net.expand(&start, dims);
    }
    let axes = axes(axis, x);
    most(net, x, &axes, largest)
}

/// The largest or smallest element over axes, which are dropped; NaN if one is NaN, for which `ReduceMax` is not
/// specified.
pub(super) fn most(net: &mut Net, x: &V, axes: &[usize], largest: bool) -> V {
    let found = net.reduce(if largest { "ReduceMax" } else { "ReduceMin" }, x, axes, false);
    if !x.elem.is_float() {
        return found;
    }
    let nan = net.compare_one("IsNaN", x);
    let nans = net.cast(&nan, Elem::I32);
    let nans = net.reduce("ReduceMax", &nans, axes, false);
    let odd = net.cast(&nans, Elem::Bool);
    let nan = net.scalar(f64::NAN, x.elem);
    net.select(&odd, &nan, &found)
}

/// The position of the first largest or smallest element; the first NaN if there is one.
pub(super) fn position(net: &mut Net, axis: Option<usize>, x: &V, largest: bool, dims: &[usize]) -> V {
    if x.is_empty() {
        let zero = net.int(0);
        return net.expand(&zero, dims);
    }
    let (x, axis) = match axis {
        Some(axis) => (x.clone(), axis),
        None => (net.reshape(x, &[x.len()]), 0),
    };
    let found = net.reduce(if largest { "ReduceMax" } else { "ReduceMin" }, &x, &[axis], true);
    let equal = net.compare("Equal", &x, &found);
    let mut rank = net.cast(&equal, Elem::I32);
    if x.elem.is_float() {
        let nan = net.compare_one("IsNaN", &x);
        let nan = net.cast(&nan, Elem::I32);
        let twice = net.zip("Add", &nan, &nan);
        rank = net.zip("Add", &rank, &twice);
    }
    let attrs = [Attr::Int("axis", signed(axis)), Attr::Int("keepdims", 0)];
    net.node("ArgMax", &[&rank], &attrs, Elem::I64, dims)
}

/// Whether any element, or all of them, are true.
pub(super) fn quantify(net: &mut Net, axis: Option<usize>, x: &V, all: bool, dims: &[usize]) -> V {
    if x.is_empty() {
        return net.splat(f64::from(u8::from(all)), Elem::Bool, dims);
    }
    let axes = axes(axis, x);
    let counted = net.cast(x, Elem::I32);
    let found = net.reduce(if all { "ReduceMin" } else { "ReduceMax" }, &counted, &axes, false);
    net.cast(&found, Elem::Bool)
}

/// The logarithm of softmax over the last axis. `LogSoftmax` is not used, because ONNX Runtime computes it differently
/// in double precision for infinite elements.
pub(super) fn log_softmax(net: &mut Net, x: &V) -> V {
    let last = x.dims.len() - 1;
    let largest = net.reduce("ReduceMax", x, &[last], true);
    let below = net.zip("Sub", x, &largest);
    let exp = net.map("Exp", &below);
    let sums = net.reduce("ReduceSum", &exp, &[last], true);
    let log = net.map("Log", &sums);
    net.zip("Sub", &below, &log)
}

/// Running sums.
pub(super) fn cumsum(net: &mut Net, axis: usize, reverse: bool, x: &V) -> V {
    let axis = net.int(signed(axis));
    net.node("CumSum", &[x, &axis], &[Attr::Int("reverse", i64::from(reverse))], x.elem, &x.dims)
}

/// Sums the axes that broadcasting from the shape `dims` repeats.
pub(super) fn sum_to(net: &mut Net, x: &V, dims: &[usize]) -> V {
    if x.is_empty() {
        return net.splat(0.0, x.elem, dims);
    }
    let missing = x.dims.len() - dims.len();
    let repeated = |i: &usize| i.checked_sub(missing).is_none_or(|k| dims[k] != x.dims[*i]);
    let axes: Vec<usize> = (0..x.dims.len()).filter(repeated).collect();
    let sums = net.reduce("ReduceSum", x, &axes, false);
    net.reshape(&sums, dims)
}
