//! Pooling, patches, and the windows of convolutions: `[batch.., n.., channels]`, channels last, one or two spatial
//! axes. Batch dimensions are flattened to one.

use rml_ir::Shape;
use rml_ir::op::{ConvAxis, Pool};

use super::text::{Ssa, Text, Ty, array, edges};

/// The operand with a single batch dimension before its last `rank` axes.
pub(super) fn flat(t: &mut Text, x: &Ssa, rank: usize) -> Ssa {
    let (batch, rest) = x.dims().split_at(x.dims().len() - rank);
    let dims: Vec<usize> = [batch.iter().product()].into_iter().chain(rest.iter().copied()).collect();
    t.reshape(x, &dims)
}

pub(super) fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Reduces every window of `x` by an operation with the neutral element `init`, which is also the padding.
fn windows(t: &mut Text, pool: &Pool, x: &Ssa, name: &str, init: f64, shape: &Shape) -> Ssa {
    let rank = pool.axes.len();
    let x = flat(t, x, rank + 1);
    let scalar = Ty::scalar(x.ty.elem);
    let init = t.splat(init, &scalar);
    let region = t.region(&[scalar.clone(), scalar], |t, p| vec![t.zip(name, &p[0], &p[1])]);
    let around = |f: &dyn Fn(usize) -> usize| array([1].into_iter().chain((0..rank).map(f)).chain([1]));
    let padding = pool.axes.iter().map(|a| (signed(a.lo), signed(a.hi)));
    let padding: Vec<(i64, i64)> = [(0, 0)].into_iter().chain(padding).chain([(0, 0)]).collect();
    let ones = array(vec![1; rank + 2]);
    let attributes = format!(
        "window_dimensions = {}, window_strides = {}, base_dilations = {ones}, window_dilations = {ones}, padding = {}",
        around(&|i| pool.axes[i].size),
        around(&|i| pool.axes[i].stride),
        edges(&padding)
    );
    let dims: Vec<usize> =
        [x.dims()[0]].into_iter().chain(shape.dims()[shape.rank() - rank - 1..].iter().copied()).collect();
    let out = t.op_with("reduce_window", &[&x, &init], &region, &attributes, Ty::new(x.ty.elem, &dims));
    t.reshape(&out, shape.dims())
}

/// Largest elements; NaN if one is NaN.
pub(super) fn max_pool(t: &mut Text, pool: &Pool, x: &Ssa, shape: &Shape) -> Ssa {
    windows(t, pool, x, "maximum", f64::NEG_INFINITY, shape)
}

/// Means, including the padding.
#[allow(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
pub(super) fn avg_pool(t: &mut Text, pool: &Pool, x: &Ssa, shape: &Shape) -> Ssa {
    let taps: usize = pool.axes.iter().map(|a| a.size).product();
    let (sums, n) = (
        windows(t, pool, x, "add", 0.0, shape),
        t.splat(taps as f64, &Ty { elem: x.ty.elem, shape: shape.clone() }),
    );
    t.zip("divide", &sums, &n)
}

/// The permutation of axes from `b, m, s, m, s, c` to `b, m, m, s, s, c`; it is its own inverse.
fn apart(rank: usize) -> Vec<usize> {
    if rank == 1 { vec![0, 1, 2, 3] } else { vec![0, 1, 3, 2, 4, 5] }
}

/// The windows of `x [b, n.., c]` with windows of `sizes`, `[b, m.., sizes.., c]`, with zeros as padding. One axis at a
/// time is split into an axis of windows and one of their elements.
pub(super) fn unfold(t: &mut Text, x: &Ssa, axes: &[ConvAxis], sizes: &[usize]) -> Ssa {
    let mut x = x.clone();
    for (i, (axis, &size)) in axes.iter().zip(sizes).enumerate() {
        let at = 1 + 2 * i;
        let mut pads = vec![(0, 0, 0); x.dims().len()];
        pads[at] = (signed(axis.lo), signed(axis.hi), 0);
        let padded = t.pad(&x, 0.0, &pads);
        let count = (padded.dims()[at] - (size - 1) * axis.dilation - 1) / axis.stride + 1;
        let taps: Vec<Ssa> = (0..size)
            .map(|tap| {
                let taken = t.slice_axis(&padded, at, tap * axis.dilation, count, axis.stride);
                let mut dims = taken.dims().to_vec();
                dims.insert(at + 1, 1);
                t.reshape(&taken, &dims)
            })
            .collect();
        x = t.concat(&taps, at + 1);
    }
    t.transpose(&x, &apart(axes.len()))
}

/// The transpose of [`unfold`]: adds up windows `[b, m.., sizes.., c]` to `[b, lengths.., c]`, last axis first.
pub(super) fn fold(t: &mut Text, d: &Ssa, axes: &[ConvAxis], lengths: &[usize]) -> Ssa {
    let mut d = t.transpose(d, &apart(axes.len()));
    for (i, (axis, &n)) in axes.iter().zip(lengths).enumerate().rev() {
        let at = 1 + 2 * i;
        let (count, size) = (d.dims()[at], d.dims()[at + 1]);
        let parts: Vec<Ssa> = (0..size)
            .map(|tap| {
                let taken = t.slice_axis(&d, at + 1, tap, 1, 1);
                let mut dims = taken.dims().to_vec();
                dims.remove(at + 1);
                let taken = t.reshape(&taken, &dims);
                let low = signed(tap * axis.dilation) - signed(axis.lo);
                let mut pads = vec![(0, 0, 0); dims.len()];
                pads[at] =
                    (low, signed(n) - low - signed((count - 1) * axis.stride + 1), signed(axis.stride - 1));
                t.pad(&taken, 0.0, &pads)
            })
            .collect();
        d = parts[1..].iter().fold(parts[0].clone(), |sum, part| t.zip("add", &sum, part));
    }
    d
}

/// The convolution axes of windows, and their sizes.
fn axes(pool: &Pool) -> (Vec<ConvAxis>, Vec<usize>) {
    let axis = |a: &rml_ir::op::PoolAxis| ConvAxis { stride: a.stride, lo: a.lo, hi: a.hi, dilation: 1 };
    (pool.axes.iter().map(axis).collect(), pool.axes.iter().map(|a| a.size).collect())
}

/// The windows themselves.
pub(super) fn patches(t: &mut Text, pool: &Pool, x: &Ssa, shape: &Shape) -> Ssa {
    let (axes, sizes) = axes(pool);
    let x = flat(t, x, axes.len() + 1);
    let windows = unfold(t, &x, &axes, &sizes);
    t.reshape(&windows, shape.dims())
}

/// Adds up windows, with a result of `shape`.
pub(super) fn unpatches(t: &mut Text, shape: &Shape, pool: &Pool, d: &Ssa) -> Ssa {
    if d.is_empty() {
        return t.splat(0.0, &Ty { elem: d.ty.elem, shape: shape.clone() });
    }
    let (axes, _) = axes(pool);
    let d = flat(t, d, 2 * axes.len() + 1);
    let lengths = &shape.dims()[shape.rank() - axes.len() - 1..shape.rank() - 1];
    let sums = fold(t, &d, &axes, lengths);
    t.reshape(&sums, shape.dims())
}
