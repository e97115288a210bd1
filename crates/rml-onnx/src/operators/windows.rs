//! Convolutions, pooling and patches: `[batch.., n.., channels]`, channels last, one or two spatial axes. Batch
//! dimensions are flattened to one.
//!
//! Windows are gathered: `x` is padded, its spatial axes are flattened, and a table has the position of each element of
//! each window. Transposed operators add elements at these positions. Convolutions in single precision use the operator
//! `Conv`.

use rml_ir::op::{Conv, ConvAxis, Pool};

use super::gather::added;
use super::product::contraction;
use super::reduce::most;
use crate::net::{Attr, Elem, Net, V, signed};

/// Windows over the spatial axes of an operand.
struct Windows {
    axes: Vec<ConvAxis>,
    /// The lengths of the spatial axes of the operand and of a window, and the number of windows.
    lengths: Vec<usize>,
    sizes: Vec<usize>,
    counts: Vec<usize>,
}

/// The spatial dimensions of an operand or a result.
fn spatial(dims: &[usize], rank: usize) -> Vec<usize> {
    dims[dims.len() - rank - 1..dims.len() - 1].to_vec()
}

fn product(dims: &[usize]) -> usize {
    dims.iter().product()
}

/// The operand with a single batch dimension before its last `rank` axes.
fn flat(net: &mut Net, x: &V, rank: usize) -> V {
    let (batch, rest) = x.dims.split_at(x.dims.len() - rank);
    let dims = [&[product(batch)], rest].concat();
    net.reshape(x, &dims)
}

impl Windows {
    fn of(conv: &Conv, lengths: &[usize], sizes: &[usize], counts: &[usize]) -> Self {
        let rank = conv.axes.len();
        Self {
            axes: conv.axes.clone(),
            lengths: spatial(lengths, rank),
            sizes: sizes[..rank].to_vec(),
            counts: spatial(counts, rank),
        }
    }

    fn of_pool(pool: &Pool, lengths: &[usize]) -> Self {
        let axes: Vec<ConvAxis> = pool
            .axes
            .iter()
            .map(|a| ConvAxis { stride: a.stride, lo: a.lo, hi: a.hi, dilation: 1 })
            .collect();
        let sizes: Vec<usize> = pool.axes.iter().map(|a| a.size).collect();
        let lengths = spatial(lengths, axes.len());
        let count = |((a, n), s): ((&ConvAxis, &usize), &usize)| (n + a.lo + a.hi - s) / a.stride + 1;
        let counts = axes.iter().zip(&lengths).zip(&sizes).map(count).collect();
        Self { axes, lengths, sizes, counts }
    }

    /// The lengths of the padded axes.
    fn padded(&self) -> Vec<usize> {
        self.axes.iter().zip(&self.lengths).map(|(a, n)| n + a.lo + a.hi).collect()
    }

    /// The positions of the elements of windows on the padded axes: window by window, row-major.
    fn places(&self) -> Vec<i64> {
        let mut places = Vec::new();
        let padded = self.padded();
        for window in positions(&self.counts) {
            for tap in positions(&self.sizes) {
                let at = |i: usize| window[i] * self.axes[i].stride + tap[i] * self.axes[i].dilation;
                places.push(signed((0..padded.len()).fold(0, |place, i| place * padded[i] + at(i))));
            }
        }
        places
    }

    /// `[batch, windows, taps, channels]` of `x [b.., n.., c]`.
    fn taken(&self, net: &mut Net, x: &V, fill: f64) -> V {
        let x = flat(net, x, self.axes.len() + 1);
        let (batch, channels) = (x.dims[0], x.dims[x.dims.len() - 1]);
        let padded = self.padded();
        let mut y = x;
        if self.axes.iter().any(|a| (a.lo, a.hi) != (0, 0)) {
            let edges = |f: &dyn Fn(&ConvAxis) -> usize| {
                let inner = self.axes.iter().map(|a| signed(f(a)));
                [0].into_iter().chain(inner).chain([0]).collect::<Vec<i64>>()
            };
            let pads = net.ints([edges(&|a| a.lo), edges(&|a| a.hi)].concat());
            let fill = net.scalar(fill, y.elem);
            let dims = [&[batch], &padded[..], &[channels]].concat();
            y = net.node("Pad", &[&y, &pads, &fill], &[], y.elem, &dims);
        }
        let y = net.reshape(&y, &[batch, product(&padded), channels]);
        let (windows, taps) = (product(&self.counts), product(&self.sizes));
        let places = net.ints(self.places());
        let places = net.reshape(&places, &[windows, taps]);
        let dims = [batch, windows, taps, channels];
        net.node("Gather", &[&y, &places], &[Attr::Int("axis", 1)], y.elem, &dims)
    }

    /// The transpose: adds `[batch, windows, taps, channels]` at their positions.
    fn placed(&self, net: &mut Net, d: &V, dims: &[usize]) -> V {
        let (batch, channels) = (d.dims[0], d.dims[3]);
        let padded = self.padded();
        let rows = net.transpose(d, &[1, 2, 0, 3]);
        let count = d.dims[1] * d.dims[2];
        let rows = net.reshape(&rows, &[count, batch, channels]);
        let places = net.ints(self.places());
        let places = net.reshape(&places, &[count, 1]);
        let sums = added(net, &places, &rows, &[product(&padded), batch, channels]);
        let sums = net.transpose(&sums, &[1, 0, 2]);
        let sums = net.reshape(&sums, &[&[batch], &padded[..], &[channels]].concat());
        let rank = self.axes.len();
        let starts = net.ints(self.axes.iter().map(|a| signed(a.lo)));
        let ends = net.ints(self.axes.iter().zip(&self.lengths).map(|(a, n)| signed(a.lo + n)));
        let axes = net.ints((1..=rank).map(signed));
        let kept = [&[batch], &self.lengths[..], &[channels]].concat();
        let cut = net.node("Slice", &[&sums, &starts, &ends, &axes], &[], d.elem, &kept);
        net.reshape(&cut, dims)
    }
}

/// All positions in a box, row by row.
fn positions(dims: &[usize]) -> Vec<Vec<usize>> {
    dims.iter().fold(vec![Vec::new()], |all, n| {
        all.iter().flat_map(|p| (0..*n).map(move |i| [&p[..], &[i]].concat())).collect()
    })
}

/// `x [b.., n.., c]` with `kernel [k.., c / groups, f]`.
pub(super) fn conv(net: &mut Net, conv: &Conv, x: &V, kernel: &V, dims: &[usize]) -> V {
    if x.is_empty() || kernel.is_empty() {
        return net.splat(0.0, x.elem, dims);
    }
    if x.elem == Elem::F32 {
        return single(net, conv, x, kernel, dims);
    }
    let windows = Windows::of(conv, &x.dims, &kernel.dims, dims);
    let taken = windows.taken(net, x, 0.0);
    let (taken, matrix) = (grouped(net, &taken, conv.groups), matrices(net, kernel, conv.groups));
    let d = [taken.dims[0], taken.dims[1], conv.groups, matrix.dims[3]];
    let out = contraction(net, "bmkgc,kcgf->bmgf", &[&taken, &matrix], &d);
    net.reshape(&out, dims)
}

/// A convolution by the operator `Conv`, channels first.
fn single(net: &mut Net, conv: &Conv, x: &V, kernel: &V, dims: &[usize]) -> V {
    let rank = conv.axes.len();
    let x = flat(net, x, rank + 1);
    let first: Vec<usize> = [0, rank + 1].into_iter().chain(1..=rank).collect();
    let last: Vec<usize> = [0].into_iter().chain(2..rank + 2).chain([1]).collect();
    let x = net.transpose(&x, &first);
    let filters: Vec<usize> = [rank + 1, rank].into_iter().chain(0..rank).collect();
    let filters = net.transpose(kernel, &filters);
    let all = |f: &dyn Fn(&ConvAxis) -> usize| conv.axes.iter().map(|a| signed(f(a))).collect::<Vec<i64>>();
    let attrs = [
        Attr::Ints("strides", all(&|a| a.stride)),
        Attr::Ints("dilations", all(&|a| a.dilation)),
        Attr::Ints("pads", [all(&|a| a.lo), all(&|a| a.hi)].concat()),
        Attr::Int("group", signed(conv.groups)),
    ];
    let counts = spatial(dims, rank);
    let made = [&[x.dims[0], filters.dims[0]], &counts[..]].concat();
    let out = net.node("Conv", &[&x, &filters], &attrs, x.elem, &made);
    let out = net.transpose(&out, &last);
    net.reshape(&out, dims)
}

/// `[batch, windows, taps, groups, channels]` of `[batch, windows, taps, all channels]`.
fn grouped(net: &mut Net, x: &V, groups: usize) -> V {
    let (last, front) = x.dims.split_last().map_or((1, &[][..]), |(l, f)| (*l, f));
    let dims = [front, &[groups, last / groups]].concat();
    net.reshape(x, &dims)
}

/// `[taps, channels, groups, filters]` of a kernel.
fn matrices(net: &mut Net, kernel: &V, groups: usize) -> V {
    let [front @ .., channels, filters] = &kernel.dims[..] else { return kernel.clone() };
    let dims = [product(front), *channels, groups, filters / groups];
    net.reshape(kernel, &dims)
}

/// A result's gradient as `[batch, windows, groups, filters]`.
fn gradient(net: &mut Net, d: &V, windows: &Windows, groups: usize) -> V {
    let filters = d.dims[d.dims.len() - 1];
    let count = product(&windows.counts);
    let batch = d.len() / (count * filters);
    net.reshape(d, &[batch, count, groups, filters / groups])
}

/// The gradient in `x`, from the result's gradient and the kernel.
pub(super) fn conv_transpose(net: &mut Net, conv: &Conv, d: &V, kernel: &V, dims: &[usize]) -> V {
    if d.is_empty() || kernel.is_empty() {
        return net.splat(0.0, d.elem, dims);
    }
    let windows = Windows::of(conv, dims, &kernel.dims, &d.dims);
    let (d, matrix) = (gradient(net, d, &windows, conv.groups), matrices(net, kernel, conv.groups));
    let made = [d.dims[0], d.dims[1], matrix.dims[0], conv.groups, matrix.dims[1]];
    let taps = contraction(net, "bmgf,kcgf->bmkgc", &[&d, &matrix], &made);
    let taps = net.reshape(&taps, &[made[0], made[1], made[2], made[3] * made[4]]);
    windows.placed(net, &taps, dims)
}

/// The gradient in the kernel, from `x` and the result's gradient.
pub(super) fn conv_kernel(net: &mut Net, conv: &Conv, x: &V, d: &V, dims: &[usize]) -> V {
    if x.is_empty() || d.is_empty() {
        return net.splat(0.0, x.elem, dims);
    }
    let windows = Windows::of(conv, &x.dims, dims, &d.dims);
    let taken = windows.taken(net, x, 0.0);
    let (taken, d) = (grouped(net, &taken, conv.groups), gradient(net, d, &windows, conv.groups));
    let made = [taken.dims[2], taken.dims[4], conv.groups, d.dims[3]];
    let kernel = contraction(net, "bmkgc,bmgf->kcgf", &[&taken, &d], &made);
    net.reshape(&kernel, dims)
}

/// Largest elements; NaN if one is NaN.
pub(super) fn max_pool(net: &mut Net, pool: &Pool, x: &V, dims: &[usize]) -> V {
    let taken = Windows::of_pool(pool, &x.dims).taken(net, x, f64::NEG_INFINITY);
    let found = most(net, &taken, &[2], true);
    net.reshape(&found, dims)
}

/// Means, including the padding.
pub(super) fn avg_pool(net: &mut Net, pool: &Pool, x: &V, dims: &[usize]) -> V {
    let taken = Windows::of_pool(pool, &x.dims).taken(net, x, 0.0);
    let means = net.reduce("ReduceMean", &taken, &[2], false);
    net.reshape(&means, dims)
}

/// The windows themselves.
pub(super) fn patches(net: &mut Net, pool: &Pool, x: &V, dims: &[usize]) -> V {
    let taken = Windows::of_pool(pool, &x.dims).taken(net, x, 0.0);
    net.reshape(&taken, dims)
}

/// Adds up windows at their positions.
pub(super) fn unpatches(net: &mut Net, pool: &Pool, d: &V, dims: &[usize]) -> V {
    if d.is_empty() {
        return net.splat(0.0, d.elem, dims);
    }
    let windows = Windows::of_pool(pool, dims);
    let (count, taps) = (product(&windows.counts), product(&windows.sizes));
    let channels = dims[dims.len() - 1];
    let batch = d.len() / (count * taps * channels);
    let d = net.reshape(d, &[batch, count, taps, channels]);
    windows.placed(net, &d, dims)
}
