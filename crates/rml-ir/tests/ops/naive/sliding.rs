//! Convolutions, pooling and patches, one sum for each element, from the definitions.

use rml_ir::op::{Conv, Pool};

use super::{Nd, indices};

/// The position of element `tap` of window `window`; `None` = padding.
fn along(
    n: usize,
    window: usize,
    tap: usize,
    (stride, lo, dilation): (usize, usize, usize),
) -> Option<usize> {
    let at = (window * stride + tap * dilation) as i64 - lo as i64;
    usize::try_from(at).ok().filter(|&at| at < n)
}

/// The positions on all spatial axes.
fn place(
    dims: &[usize],
    window: &[usize],
    tap: &[usize],
    axes: &[(usize, usize, usize)],
) -> Option<Vec<usize>> {
    (0..axes.len()).map(|i| along(dims[i], window[i], tap[i], axes[i])).collect()
}

fn conv_axes(conv: &Conv) -> Vec<(usize, usize, usize)> {
    conv.axes.iter().map(|axis| (axis.stride, axis.lo, axis.dilation)).collect()
}

fn pool_axes(pool: &Pool) -> Vec<(usize, usize, usize)> {
    pool.axes.iter().map(|axis| (axis.stride, axis.lo, 1)).collect()
}

/// Calls `f` with the indices of an element of `x [b.., n.., c]`, of the kernel and of the result, for every product
/// that a convolution sums.
fn products(
    conv: &Conv,
    x: &[usize],
    kernel: &[usize],
    result: &[usize],
    mut f: impl FnMut(&[usize], &[usize], &[usize]),
) {
    let rank = conv.axes.len();
    let batch = x.len() - rank - 1;
    let filters = kernel[rank + 1] / conv.groups;
    for to in indices(result) {
        for tap in indices(&kernel[..rank]) {
            let window = &to[batch..batch + rank];
            let Some(at) = place(&x[batch..], window, &tap, &conv_axes(conv)) else { continue };
            let filter = to[batch + rank];
            for c in 0..kernel[rank] {
                let channel = filter / filters * kernel[rank] + c;
                let from = [&to[..batch], &at, &[channel]].concat();
                f(&from, &[&tap[..], &[c, filter]].concat(), &to);
            }
        }
    }
}

fn position(dims: &[usize], index: &[usize]) -> usize {
    index.iter().zip(dims).fold(0, |n, (i, d)| n * d + i)
}

fn zeros(dims: &[usize]) -> Nd {
    Nd { dims: dims.to_vec(), xs: vec![0.0; dims.iter().product()] }
}

pub(super) fn conv(conv: &Conv, x: &Nd, kernel: &Nd, result: &[usize]) -> Nd {
    let mut out = zeros(result);
    products(conv, &x.dims, &kernel.dims, result, |from, tap, to| {
        out.xs[position(result, to)] += x.at(from) * kernel.at(tap);
    });
    out
}

pub(super) fn conv_transpose(conv: &Conv, d: &Nd, kernel: &Nd, result: &[usize]) -> Nd {
    let mut out = zeros(result);
    products(conv, result, &kernel.dims, &d.dims, |from, tap, to| {
        out.xs[position(result, from)] += d.at(to) * kernel.at(tap);
    });
    out
}

pub(super) fn conv_kernel(conv: &Conv, x: &Nd, d: &Nd, result: &[usize]) -> Nd {
    let mut out = zeros(result);
    products(conv, &x.dims, result, &d.dims, |from, tap, to| {
        out.xs[position(result, tap)] += x.at(from) * d.at(to);
    });
    out
}

/// Folds the elements of each window that are no padding.
pub(super) fn pool(pool: &Pool, x: &Nd, result: &[usize], f: &dyn Fn(&[f64]) -> f64) -> Nd {
    let rank = pool.axes.len();
    let sizes: Vec<usize> = pool.axes.iter().map(|axis| axis.size).collect();
    Nd::from(result, |to| {
        let batch = to.len() - rank - 1;
        let window = &to[batch..batch + rank];
        let taps = indices(&sizes);
        let inside = taps.iter().filter_map(|tap| place(&x.dims[batch..], window, tap, &pool_axes(pool)));
        let xs: Vec<f64> =
            inside.map(|at| x.at(&[&to[..batch], &at, &to[batch + rank..]].concat())).collect();
        f(&xs)
    })
}

pub(super) fn patches(pool: &Pool, x: &Nd, result: &[usize]) -> Nd {
    let rank = pool.axes.len();
    Nd::from(result, |to| {
        let batch = to.len() - 2 * rank - 1;
        let (window, tap) = to[batch..batch + 2 * rank].split_at(rank);
        let at = place(&x.dims[batch..], window, tap, &pool_axes(pool));
        at.map_or(0.0, |at| x.at(&[&to[..batch], &at, &to[batch + 2 * rank..]].concat()))
    })
}

pub(super) fn unpatches(pool: &Pool, d: &Nd, result: &[usize]) -> Nd {
    let rank = pool.axes.len();
    let mut out = zeros(result);
    for from in indices(&d.dims) {
        let batch = from.len() - 2 * rank - 1;
        let (window, tap) = from[batch..batch + 2 * rank].split_at(rank);
        if let Some(at) = place(&result[batch..], window, tap, &pool_axes(pool)) {
            let to = [&from[..batch], &at, &from[batch + 2 * rank..]].concat();
            out.xs[position(result, &to)] += d.at(&from);
        }
    }
    out
}
