//! Convolutions, pooling and patches: `[batch.., n.., channels]`, channels last, one or two spatial axes. Batch dimensions are brought
//! to one.

use rml_ir::Shape;
use rml_ir::op::{Conv, Pool};

use super::product::PRECISE;
use super::text::{Ssa, Text, Ty, array, edges, list};

/// One batch dimension, then the spatial and the channel axes.
fn flat(t: &mut Text, x: &Ssa, rank: usize) -> Ssa {
    let (batch, rest) = x.dims().split_at(x.dims().len() - rank - 1);
    let dims: Vec<usize> = [batch.iter().product()].into_iter().chain(rest.iter().copied()).collect();
    t.reshape(x, &dims)
}

fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// What a convolution of the text is told along each spatial axis, and how axes are named.
struct Slide {
    stride: Vec<usize>,
    padding: Vec<(i64, i64)>,
    spread: Vec<usize>,
    dilation: Vec<usize>,
    /// First and last axes of both operands and the result, `(x, kernel, result)`, `_` for the spatial ones.
    names: [[&'static str; 2]; 3],
    groups: (usize, usize),
}

impl Slide {
    fn attributes(&self) -> String {
        let n = self.stride.len();
        let spatial = list(0..n);
        let [x, kernel, result] = self.names;
        let named = |[before, after]: [&str; 2]| {
            let parts = [before, &spatial, after];
            format!("[{}]", list(parts.into_iter().filter(|p| !p.is_empty())))
        };
        format!(
            "batch_group_count = {} : i64, feature_group_count = {} : i64, \
             dimension_numbers = #stablehlo.conv<{}x{}->{}>, window_strides = {}, padding = {}, lhs_dilation = {}, rhs_dilation = {}, \
             window_reversal = array<i1: {}>, {PRECISE}",
            self.groups.0,
            self.groups.1,
            named(x),
            named(kernel),
            named(result),
            array(&self.stride),
            edges(&self.padding),
            array(&self.spread),
            array(&self.dilation),
            list(vec![false; n])
        )
    }
}

/// `x [b.., n.., c]` with `kernel [k.., c / groups, f]`, to `shape`.
pub(super) fn conv(t: &mut Text, conv: &Conv, x: &Ssa, kernel: &Ssa, shape: &Shape) -> Ssa {
    if x.is_empty() || kernel.is_empty() {
        return t.splat(0.0, &Ty { elem: x.ty.elem, shape: shape.clone() });
    }
    let rank = conv.axes.len();
    let x = flat(t, x, rank);
    let dims: Vec<usize> =
        [x.dims()[0]].into_iter().chain(shape.dims()[shape.rank() - rank - 1..].iter().copied()).collect();
    let slide = Slide {
        stride: conv.axes.iter().map(|a| a.stride).collect(),
        padding: conv.axes.iter().map(|a| (signed(a.lo), signed(a.hi))).collect(),
        spread: vec![1; rank],
        dilation: conv.axes.iter().map(|a| a.dilation).collect(),
        names: [["b", "f"], ["", "i, o"], ["b", "f"]],
        groups: (1, conv.groups),
    };
    let out = t.op_attr("convolution", &[&x, kernel], &slide.attributes(), Ty::new(x.ty.elem, &dims));
    t.reshape(&out, shape.dims())
}

/// The gradient in `x`, of shape `shape`: of the result's gradient and the kernel. The gradient is spread by the stride, and the kernel
/// turned around, with its channels and filters exchanged within each group.
pub(super) fn conv_transpose(t: &mut Text, conv: &Conv, d: &Ssa, kernel: &Ssa, shape: &Shape) -> Ssa {
    if d.is_empty() || kernel.is_empty() {
        return t.splat(0.0, &Ty { elem: d.ty.elem, shape: shape.clone() });
    }
    let rank = conv.axes.len();
    let d = flat(t, d, rank);
    let n = &shape.dims()[shape.rank() - rank - 1..];
    let (sizes, [own, filters]) = (&kernel.dims()[..rank], [kernel.dims()[rank], kernel.dims()[rank + 1]]);
    let spatial: Vec<usize> = (0..rank).collect();
    let turned = t.reverse(kernel, &spatial);
    let grouped = t.reshape(&turned, &[sizes, &[own, conv.groups, filters / conv.groups]].concat());
    let exchanged = t.transpose(&grouped, &[&spatial[..], &[rank + 2, rank + 1, rank]].concat());
    let kernel = t.reshape(&exchanged, &[sizes, &[filters / conv.groups, conv.groups * own]].concat());
    let padding = conv.axes.iter().enumerate().map(|(i, a)| {
        let reach = signed((sizes[i] - 1) * a.dilation);
        let spread = signed((d.dims()[i + 1] - 1) * a.stride + 1);
        (reach - signed(a.lo), signed(n[i]) - spread + signed(a.lo))
    });
    let slide = Slide {
        stride: vec![1; rank],
        padding: padding.collect(),
        spread: conv.axes.iter().map(|a| a.stride).collect(),
        dilation: conv.axes.iter().map(|a| a.dilation).collect(),
        names: [["b", "f"], ["", "i, o"], ["b", "f"]],
        groups: (1, conv.groups),
    };
    let dims: Vec<usize> = [d.dims()[0]].into_iter().chain(n.iter().copied()).collect();
    let out = t.op_attr("convolution", &[&d, &kernel], &slide.attributes(), Ty::new(d.ty.elem, &dims));
    t.reshape(&out, shape.dims())
}

/// The gradient in the kernel, of shape `shape`: of `x` and the result's gradient. Examples are what is summed over, channels take the
/// place of examples.
pub(super) fn conv_kernel(t: &mut Text, conv: &Conv, x: &Ssa, d: &Ssa, shape: &Shape) -> Ssa {
    let ty = Ty { elem: x.ty.elem, shape: shape.clone() };
    if x.is_empty() || d.is_empty() {
        return t.splat(0.0, &ty);
    }
    let rank = conv.axes.len();
    let (x, d) = (flat(t, x, rank), flat(t, d, rank));
    let padding = conv.axes.iter().enumerate().map(|(i, a)| {
        let taps = signed((shape.dims()[i] - 1) * a.dilation);
        let spread = signed((d.dims()[i + 1] - 1) * a.stride + 1);
        (signed(a.lo), taps + spread - signed(x.dims()[i + 1]) - signed(a.lo))
    });
    let slide = Slide {
        stride: conv.axes.iter().map(|a| a.dilation).collect(),
        padding: padding.collect(),
        spread: vec![1; rank],
        dilation: conv.axes.iter().map(|a| a.stride).collect(),
        names: [["f", "b"], ["i", "o"], ["", "b, f"]],
        groups: (conv.groups, 1),
    };
    t.op_attr("convolution", &[&x, &d], &slide.attributes(), ty)
}

/// Folds every window of `x` by an operation that has `init` as its neutral element, which is also what is padded.
fn windows(t: &mut Text, pool: &Pool, x: &Ssa, name: &str, init: f64, shape: &Shape) -> Ssa {
    let rank = pool.axes.len();
    let x = flat(t, x, rank);
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

/// Largest elements; NaN wins.
pub(super) fn max_pool(t: &mut Text, pool: &Pool, x: &Ssa, shape: &Shape) -> Ssa {
    windows(t, pool, x, "maximum", f64::NEG_INFINITY, shape)
}

/// Means, of which padding is a part.
#[allow(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
pub(super) fn avg_pool(t: &mut Text, pool: &Pool, x: &Ssa, shape: &Shape) -> Ssa {
    let taps: usize = pool.axes.iter().map(|a| a.size).product();
    let (sums, n) = (
        windows(t, pool, x, "add", 0.0, shape),
        t.splat(taps as f64, &Ty { elem: x.ty.elem, shape: shape.clone() }),
    );
    t.zip("divide", &sums, &n)
}

/// The order of axes that brings `b, m, s, m, s, c` to `b, m, m, s, s, c`; its own inverse.
fn apart(rank: usize) -> Vec<usize> {
    if rank == 1 { vec![0, 1, 2, 3] } else { vec![0, 1, 3, 2, 4, 5] }
}

/// The windows themselves, one axis after the other: each becomes an axis of windows and one of their elements.
pub(super) fn patches(t: &mut Text, pool: &Pool, x: &Ssa, shape: &Shape) -> Ssa {
    let rank = pool.axes.len();
    let mut x = flat(t, x, rank);
    for (i, axis) in pool.axes.iter().enumerate() {
        let at = 1 + 2 * i;
        let mut pads = vec![(0, 0, 0); x.dims().len()];
        pads[at] = (signed(axis.lo), signed(axis.hi), 0);
        let padded = t.pad(&x, 0.0, &pads);
        let count = (padded.dims()[at] - axis.size) / axis.stride + 1;
        let taps: Vec<Ssa> = (0..axis.size)
            .map(|tap| {
                let taken = t.slice_axis(&padded, at, tap, count, axis.stride);
                let mut dims = taken.dims().to_vec();
                dims.insert(at + 1, 1);
                t.reshape(&taken, &dims)
            })
            .collect();
        x = t.concat(&taps, at + 1);
    }
    let ordered = t.transpose(&x, &apart(rank));
    t.reshape(&ordered, shape.dims())
}

/// Windows added up, to `shape`: the steps of [`patches`] transposed, last to first.
pub(super) fn unpatches(t: &mut Text, shape: &Shape, pool: &Pool, d: &Ssa) -> Ssa {
    let rank = pool.axes.len();
    if d.is_empty() {
        return t.splat(0.0, &Ty { elem: d.ty.elem, shape: shape.clone() });
    }
    let (batch, rest) = d.dims().split_at(d.dims().len() - 2 * rank - 1);
    let dims: Vec<usize> = [batch.iter().product()].into_iter().chain(rest.iter().copied()).collect();
    let d = t.reshape(d, &dims);
    let mut d = t.transpose(&d, &apart(rank));
    for (i, axis) in pool.axes.iter().enumerate().rev() {
        let at = 1 + 2 * i;
        let n = shape.dims()[shape.rank() - rank - 1 + i];
        let count = d.dims()[at];
        let parts: Vec<Ssa> = (0..axis.size)
            .map(|tap| {
                let taken = t.slice_axis(&d, at + 1, tap, 1, 1);
                let mut dims = taken.dims().to_vec();
                dims.remove(at + 1);
                let taken = t.reshape(&taken, &dims);
                let low = signed(tap) - signed(axis.lo);
                let mut pads = vec![(0, 0, 0); dims.len()];
                pads[at] =
                    (low, signed(n) - low - signed((count - 1) * axis.stride + 1), signed(axis.stride - 1));
                t.pad(&taken, 0.0, &pads)
            })
            .collect();
        d = parts[1..].iter().fold(parts[0].clone(), |sum, part| t.zip("add", &sum, part));
    }
    t.reshape(&d, shape.dims())
}
