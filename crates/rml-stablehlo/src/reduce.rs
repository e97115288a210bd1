//! Reductions along one axis or over everything, running sums, and the normalisations over the last axis.

use rml_ir::Shape;

use super::text::{Elem, Ssa, Text, Ty, array};
use rml_ir::op::{Compare, Reduction};

/// The axes that are dropped.
fn axes(axis: Option<usize>, x: &Ssa) -> Vec<usize> {
    axis.map_or_else(|| (0..x.dims().len()).collect(), |axis| vec![axis])
}

/// The type without the reduced axes.
fn reduced(axis: Option<usize>, x: &Ssa) -> Ty {
    let gone = axes(axis, x);
    let kept: Shape = (0..x.dims().len()).filter(|i| !gone.contains(i)).map(|i| x.dims()[i]).collect();
    Ty { elem: x.ty.elem, shape: kept }
}

/// Reduces an axis, which is dropped, or all elements.
pub(super) fn reduce(t: &mut Text, by: Reduction, axis: Option<usize>, x: &Ssa) -> Ssa {
    match by {
        Reduction::Sum => sum(t, axis, x),
        Reduction::Mean => mean(t, axis, x),
        Reduction::Prod => prod(t, axis, x),
        Reduction::LogSumExp => logsumexp(t, axis, x),
        Reduction::Max => extreme(t, axis, x, true),
        Reduction::Min => extreme(t, axis, x, false),
        Reduction::ArgMax => position(t, axis, x, true),
        Reduction::ArgMin => position(t, axis, x, false),
        Reduction::Any => quantify(t, axis, x, false),
        Reduction::All => quantify(t, axis, x, true),
    }
}

/// The sum; 0 for no elements.
fn sum(t: &mut Text, axis: Option<usize>, x: &Ssa) -> Ssa {
    if x.is_empty() {
        return t.splat(0.0, &reduced(axis, x));
    }
    t.sum(x, &axes(axis, x))
}

/// The mean; NaN for no elements.
#[allow(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
pub(super) fn mean(t: &mut Text, axis: Option<usize>, x: &Ssa) -> Ssa {
    let ty = reduced(axis, x);
    if x.is_empty() {
        return t.splat(f64::NAN, &ty);
    }
    let n: usize = axes(axis, x).iter().map(|&i| x.dims()[i]).product();
    let (sum, n) = (sum(t, axis, x), t.splat(n as f64, &ty));
    t.zip("divide", &sum, &n)
}

/// The product; 1 for no elements.
fn prod(t: &mut Text, axis: Option<usize>, x: &Ssa) -> Ssa {
    if x.is_empty() {
        return t.splat(1.0, &reduced(axis, x));
    }
    let init = t.splat(1.0, &Ty::scalar(x.ty.elem));
    t.reduce("multiply", x, &init, &axes(axis, x))
}

/// The logarithm of the sum of exponentials; -inf for no elements. The largest element is subtracted first, unless it
/// is infinite.
fn logsumexp(t: &mut Text, axis: Option<usize>, x: &Ssa) -> Ssa {
    let ty = reduced(axis, x);
    if x.is_empty() {
        return t.splat(f64::NEG_INFINITY, &ty);
    }
    let gone = axes(axis, x);
    let kept: Vec<usize> = (0..x.dims().len()).filter(|i| !gone.contains(i)).collect();
    let largest = extreme(t, axis, x, true);
    let size = t.map("abs", &largest);
    let infinite = t.compare_to(Compare::Eq, &size, f64::INFINITY);
    let zero = t.splat(0.0, &ty);
    let shift = t.select(&infinite, &zero, &largest);
    let shifts = t.broadcast_in(&shift, &kept, x.dims());
    let below = t.zip("subtract", x, &shifts);
    let exp = t.map("exponential", &below);
    let sums = t.sum(&exp, &gone);
    let log = t.map("log", &sums);
    t.zip("add", &log, &shift)
}

/// The start value of a search for the largest (or smallest) element.
fn start(t: &mut Text, largest: bool, ty: &Ty) -> Ssa {
    match (ty.elem == Elem::I64, largest) {
        (true, true) => t.int(i64::MIN, ty),
        (true, false) => t.int(i64::MAX, ty),
        (false, true) => t.splat(f64::NEG_INFINITY, ty),
        (false, false) => t.splat(f64::INFINITY, ty),
    }
}

/// The largest or smallest element; NaN if one is NaN.
pub(super) fn extreme(t: &mut Text, axis: Option<usize>, x: &Ssa, largest: bool) -> Ssa {
    if x.is_empty() {
        return start(t, largest, &reduced(axis, x));
    }
    let init = start(t, largest, &Ty::scalar(x.ty.elem));
    t.reduce(if largest { "maximum" } else { "minimum" }, x, &init, &axes(axis, x))
}

/// The position of the first largest or smallest element; the first NaN if there is one.
pub(super) fn position(t: &mut Text, axis: Option<usize>, x: &Ssa, largest: bool) -> Ssa {
    let ty = reduced(axis, x).with(Elem::I64);
    if x.is_empty() {
        return t.int(0, &ty);
    }
    let (x, axis) = match axis {
        Some(axis) => (x.clone(), axis),
        None => (t.reshape(x, &[x.ty.shape.len()]), 0),
    };
    let positions = t.iota(&x.ty.with(Elem::I64), axis);
    let (value, at) = (Ty::scalar(x.ty.elem), Ty::scalar(Elem::I64));
    let init = [start(t, largest, &value), t.int(0, &at)];
    let region = t.region(&[value.clone(), at.clone(), value, at], |t, p| {
        let second = better(t, [&p[2], &p[3]], [&p[0], &p[1]], largest);
        vec![t.select(&second, &p[2], &p[0]), t.select(&second, &p[3], &p[1])]
    });
    let types = [ty.with(x.ty.elem), ty];
    let attributes = format!("dimensions = {}", array([axis]));
    t.ops("reduce", &[&x, &positions, &init[0], &init[1]], &region, &attributes, &types).remove(1)
}

/// Whether the candidate `a` (value and position) replaces `b`: NaN precedes all numbers, and of equal values the first
/// is kept.
fn better(t: &mut Text, a: [&Ssa; 2], b: [&Ssa; 2], largest: bool) -> Ssa {
    let beats = |t: &mut Text, a: &Ssa, b: &Ssa| {
        let beyond = t.compare(if largest { Compare::Gt } else { Compare::Lt }, a, b);
        if !a.ty.elem.is_float() {
            return beyond;
        }
        let (odd, fine) = (t.compare(Compare::Ne, a, a), t.compare(Compare::Eq, b, b));
        let nan = t.zip("and", &odd, &fine);
        t.zip("or", &beyond, &nan)
    };
    let (a_beats, b_beats) = (beats(t, a[0], b[0]), beats(t, b[0], a[0]));
    let earlier = t.compare(Compare::Lt, a[1], b[1]);
    let not_worse = t.map("not", &b_beats);
    let tie = t.zip("and", &not_worse, &earlier);
    t.zip("or", &a_beats, &tie)
}

/// Whether any element, or all of them, are true.
pub(super) fn quantify(t: &mut Text, axis: Option<usize>, x: &Ssa, all: bool) -> Ssa {
    let neutral = f64::from(u8::from(all));
    if x.is_empty() {
        return t.splat(neutral, &reduced(axis, x));
    }
    let init = t.splat(neutral, &Ty::scalar(Elem::I1));
    t.reduce(if all { "and" } else { "or" }, x, &init, &axes(axis, x))
}

/// Running sums: each step adds the element 1, 2, 4, .. positions earlier.
pub(super) fn cumsum(t: &mut Text, axis: usize, reverse: bool, x: &Ssa) -> Ssa {
    let n = x.dims()[axis];
    let mut sums = x.clone();
    let mut step = 1;
    while step < n {
        let from = if reverse { step } else { 0 };
        let others = t.slice_axis(&sums, axis, from, n - step, 1);
        let mut pads = vec![(0, 0, 0); x.dims().len()];
        let width = i64::try_from(step).unwrap_or(i64::MAX);
        pads[axis] = if reverse { (0, width, 0) } else { (width, 0, 0) };
        let shifted = t.pad(&others, 0.0, &pads);
        sums = t.zip("add", &sums, &shifted);
        step *= 2;
    }
    sums
}

/// Sums the axes that broadcasting from `shape` repeats.
pub(super) fn sum_to(t: &mut Text, shape: &Shape, x: &Ssa) -> Ssa {
    if x.is_empty() {
        return t.splat(0.0, &Ty { elem: x.ty.elem, shape: shape.clone() });
    }
    let missing = x.dims().len() - shape.rank();
    let repeated = |i: &usize| i.checked_sub(missing).is_none_or(|k| shape.dims()[k] != x.dims()[*i]);
    let axes: Vec<usize> = (0..x.dims().len()).filter(repeated).collect();
    let sums = t.sum(x, &axes);
    t.reshape(&sums, shape.dims())
}

/// Softmax, or its logarithm, over the last axis. The largest element is subtracted first.
pub(super) fn softmax(t: &mut Text, x: &Ssa, log: bool) -> Ssa {
    let last = x.dims().len() - 1;
    let rows: Vec<usize> = (0..last).collect();
    let largest = extreme(t, Some(last), x, true);
    let largest = t.broadcast_in(&largest, &rows, x.dims());
    let below = t.zip("subtract", x, &largest);
    let exp = t.map("exponential", &below);
    let sums = t.sum(&exp, &[last]);
    if log {
        let sums = t.map("log", &sums);
        let sums = t.broadcast_in(&sums, &rows, x.dims());
        t.zip("subtract", &below, &sums)
    } else {
        let sums = t.broadcast_in(&sums, &rows, x.dims());
        t.zip("divide", &exp, &sums)
    }
}
