//! Convolutions, pooling and patches: windows that slide over the axes before the channels.

use rml_ir::DType;
use rml_ir::op::{Conv, Pool};

use super::{Array, positions};

/// The windows along one axis: size, stride, padding before it, dilation, and padding after it.
#[derive(Clone, Copy)]
struct Axis {
    size: usize,
    stride: usize,
    lo: usize,
    dilation: usize,
    hi: usize,
}

impl Axis {
    fn windows(self, n: usize) -> usize {
        (n + self.lo + self.hi - self.dilation * (self.size - 1) - 1) / self.stride + 1
    }

    /// The position of element `k` of window `w`; `None` in the padding.
    fn place(self, w: usize, k: usize, n: usize) -> Option<usize> {
        (w * self.stride + k * self.dilation).checked_sub(self.lo).filter(|i| *i < n)
    }
}

fn conv_axes(conv: &Conv, kernel: &[usize]) -> Vec<Axis> {
    let axis = |(a, size): (&rml_ir::op::ConvAxis, &usize)| Axis {
        size: *size,
        stride: a.stride,
        lo: a.lo,
        dilation: a.dilation,
        hi: a.hi,
    };
    conv.axes.iter().zip(kernel).map(axis).collect()
}

fn pool_axes(pool: &Pool) -> Vec<Axis> {
    pool.axes
        .iter()
        .map(|a| Axis { size: a.size, stride: a.stride, lo: a.lo, dilation: 1, hi: a.hi })
        .collect()
}

/// Calls `f` for each element of each window, with the batch, the window, the element, and its position in `x` (`None`
/// in the padding).
fn slide(axes: &[Axis], x: &[usize], mut f: impl FnMut(&[usize], &[usize], &[usize], Option<Vec<usize>>)) {
    let batch = &x[..x.len() - axes.len() - 1];
    let spatial = &x[batch.len()..x.len() - 1];
    let windows: Vec<usize> = axes.iter().zip(spatial).map(|(a, n)| a.windows(*n)).collect();
    let sizes: Vec<usize> = axes.iter().map(|a| a.size).collect();
    for b in positions(batch) {
        for w in positions(&windows) {
            for k in positions(&sizes) {
                let place = |i: usize| axes[i].place(w[i], k[i], spatial[i]);
                f(&b, &w, &k, (0..axes.len()).map(place).collect());
            }
        }
    }
}

/// The shape of results of windows over `x`; its last dimensions are `behind`.
fn windowed(axes: &[Axis], x: &[usize], behind: &[usize]) -> Vec<usize> {
    let batch = x.len() - axes.len() - 1;
    let windows: Vec<usize> = axes.iter().zip(&x[batch..]).map(|(a, n)| a.windows(*n)).collect();
    [&x[..batch], &windows, behind].concat()
}

/// Calls `f` for each product that a convolution adds up, with the positions in `x`, in the kernel and in the result.
fn products(conv: &Conv, x: &[usize], kernel: &[usize], mut f: impl FnMut(&[usize], &[usize], &[usize])) {
    let axes = conv_axes(conv, kernel);
    let filters = kernel[kernel.len() - 1];
    let (in_group, out_group) = (kernel[kernel.len() - 2], filters / conv.groups);
    slide(&axes, x, |b, w, k, place| {
        let Some(place) = place else { return };
        for filter in 0..filters {
            for c in 0..in_group {
                let channel = filter / out_group * in_group + c;
                f(
                    &[b, &place, &[channel]].concat(),
                    &[k, &[c, filter]].concat(),
                    &[b, w, &[filter]].concat(),
                );
            }
        }
    });
}

pub(super) fn conv(conv: &Conv, x: &Array, kernel: &Array) -> Array {
    let dims = windowed(&conv_axes(conv, &kernel.dims), &x.dims, &kernel.dims[kernel.dims.len() - 1..]);
    let mut made = Array::zeros(DType::Num, &dims);
    products(conv, &x.dims, &kernel.dims, |i, k, o| made.add(o, x.at(i) * kernel.at(k)));
    made
}

pub(super) fn conv_transpose(conv: &Conv, x: &[usize], d: &Array, kernel: &Array) -> Array {
    let mut made = Array::zeros(DType::Num, x);
    products(conv, x, &kernel.dims, |i, k, o| made.add(i, d.at(o) * kernel.at(k)));
    made
}

pub(super) fn conv_kernel(conv: &Conv, kernel: &[usize], x: &Array, d: &Array) -> Array {
    let mut made = Array::zeros(DType::Num, kernel);
    products(conv, &x.dims, kernel, |i, k, o| made.add(k, d.at(o) * x.at(i)));
    made
}

pub(super) fn pool(pool: &Pool, x: &Array, start: f64, f: impl Fn(f64, f64) -> f64) -> Array {
    let axes = pool_axes(pool);
    let channels = x.dims[x.dims.len() - 1];
    let mut made = Array::zeros(DType::Num, &windowed(&axes, &x.dims, &[channels]));
    made.data.fill(start);
    slide(&axes, &x.dims, |b, w, _, place| {
        let Some(place) = place else { return };
        for c in 0..channels {
            let offset = made.offset(&[b, w, &[c]].concat());
            made.data[offset] = f(made.data[offset], x.at(&[b, &place, &[c]].concat()));
        }
    });
    made
}

pub(super) fn patches(pool: &Pool, x: &Array) -> Array {
    let axes = pool_axes(pool);
    let channels = x.dims[x.dims.len() - 1];
    let behind: Vec<usize> = axes.iter().map(|a| a.size).chain([channels]).collect();
    let mut made = Array::zeros(x.dtype, &windowed(&axes, &x.dims, &behind));
    slide(&axes, &x.dims, |b, w, k, place| {
        let Some(place) = place else { return };
        (0..channels).for_each(|c| made.add(&[b, w, k, &[c]].concat(), x.at(&[b, &place, &[c]].concat())));
    });
    made
}

pub(super) fn unpatches(pool: &Pool, x: &[usize], d: &Array) -> Array {
    let mut made = Array::zeros(d.dtype, x);
    slide(&pool_axes(pool), x, |b, w, k, place| {
        let Some(place) = place else { return };
        (0..x[x.len() - 1])
            .for_each(|c| made.add(&[b, &place, &[c]].concat(), d.at(&[b, w, k, &[c]].concat())));
    });
    made
}
