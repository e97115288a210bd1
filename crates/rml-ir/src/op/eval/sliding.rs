//! Windows on one or two spatial axes, pooling and patches. One spatial axis is two, the first of length 1.

use std::ops::Range;

use super::CHECKED;
use super::view::{Elements, Float, View};
use crate::op::{ConvAxis, Pool};
use crate::types::Shape;
use crate::value::{Data, Value};

/// Fewer elements are copied one by one.
const SHORT: usize = 8;

/// Two spatial axes and the windows on them.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    axes: [ConvAxis; 2],
    /// Lengths of the operand.
    input: [usize; 2],
    /// Sizes of a window.
    size: [usize; 2],
    /// How many windows.
    pub(super) output: [usize; 2],
}

impl Geometry {
    pub(super) fn new(axes: &[ConvAxis], input: &[usize], size: &[usize]) -> Geometry {
        let two = |of: &[usize]| match *of {
            [n] => [1, n],
            [a, b] => [a, b],
            _ => unreachable!("{CHECKED}"),
        };
        let axes = match *axes {
            [axis] => [ConvAxis::PLAIN, axis],
            [a, b] => [a, b],
            _ => unreachable!("{CHECKED}"),
        };
        let (input, size) = (two(input), two(size));
        let output = [0, 1].map(|i| axes[i].windows(input[i], size[i]).expect(CHECKED));
        Geometry { axes, input, size, output }
    }

    pub(super) fn windows(&self) -> usize {
        self.output[0] * self.output[1]
    }

    pub(super) fn taps(&self) -> usize {
        self.size[0] * self.size[1]
    }

    pub(super) fn positions(&self) -> usize {
        self.input[0] * self.input[1]
    }

    /// The position that element `tap` of window `window` has along an axis; `None` = padding.
    fn along(&self, axis: usize, window: usize, tap: usize) -> Option<usize> {
        let ConvAxis { stride, lo, dilation, .. } = self.axes[axis];
        (window * stride + tap * dilation).checked_sub(lo).filter(|&i| i < self.input[axis])
    }

    /// Calls `f` with the numbers of the window, of the element in it and of the operand's position, for every
    /// element that is no padding; windows and elements in order.
    pub(super) fn each(&self, mut f: impl FnMut(usize, usize, usize)) {
        for y in 0..self.output[0] {
            for x in 0..self.output[1] {
                for v in 0..self.size[0] {
                    let Some(row) = self.along(0, y, v) else { continue };
                    for u in 0..self.size[1] {
                        let Some(column) = self.along(1, x, u) else { continue };
                        let window = y * self.output[1] + x;
                        f(window, v * self.size[1] + u, row * self.input[1] + column);
                    }
                }
            }
        }
    }

    /// Calls `f` for the elements of some windows, windows and elements in order. Neighbours in the window that are also
    /// neighbours in the operand, or padding, are one call: the number of the window, of the first element in it, the
    /// operand's position of this element (`None` = padding), and how many elements there are.
    fn runs(&self, windows: Range<usize>, mut f: impl FnMut(usize, usize, Option<usize>, usize)) {
        let ConvAxis { stride, lo, dilation, .. } = self.axes[1];
        let (size, input) = (self.size[1], self.input[1]);
        for window in windows {
            let (y, x) = (window / self.output[1], window % self.output[1]);
            let from = x * stride;
            let to = (input + lo).saturating_sub(from).min(size);
            let first = lo.saturating_sub(from).min(to);
            for v in 0..self.size[0] {
                let tap = v * size;
                let Some(row) = self.along(0, y, v) else {
                    f(window, tap, None, size);
                    continue;
                };
                if dilation != 1 {
                    let at = |u| self.along(1, x, u).map(|column| row * input + column);
                    (0..size).for_each(|u| f(window, tap + u, at(u), 1));
                    continue;
                }
                if first > 0 {
                    f(window, tap, None, first);
                }
                if first < to {
                    f(window, tap + first, Some(row * input + from + first - lo), to - first);
                }
                if to < size {
                    f(window, tap + to, None, size - to);
                }
            }
        }
    }

    /// Some windows of one example over `channels` of its `all` channels, from `first` on: a row for each window in
    /// `out`, with zeros where there is padding. Only the columns `some` are needed.
    pub(super) fn rows<T: Float>(
        &self,
        xs: &[T],
        (all, first, channels): (usize, usize, usize),
        (windows, some): (Range<usize>, &Range<usize>),
        out: &mut [T],
    ) {
        let begin = windows.start;
        self.runs(windows, |window, tap, at, n| {
            if tap * channels >= some.end || (tap + n) * channels <= some.start {
                return;
            }
            let to = &mut out[((window - begin) * self.taps() + tap) * channels..][..n * channels];
            let Some(at) = at else { return to.fill(T::ZERO) };
            if channels == all {
                let from = &xs[at * all..][..n * all];
                if to.len() < SHORT {
                    (0..to.len()).for_each(|i| to[i] = from[i]);
                } else {
                    to.copy_from_slice(from);
                }
                return;
            }
            for (to, from) in to.chunks_exact_mut(channels.max(1)).zip(xs[at * all..].chunks(all)) {
                to.copy_from_slice(&from[first..][..channels]);
            }
        });
    }

    /// The transpose of [`rows`](Self::rows): adds the rows of some windows to an example.
    pub(super) fn add_rows<T: Float>(
        &self,
        rows: &[T],
        (all, first, channels): (usize, usize, usize),
        windows: Range<usize>,
        out: &mut [T],
    ) {
        let add = |to: &mut [T], from: &[T]| to.iter_mut().zip(from).for_each(|(to, &x)| *to += x);
        let begin = windows.start;
        self.runs(windows, |window, tap, at, n| {
            let Some(at) = at else { return };
            let from = &rows[((window - begin) * self.taps() + tap) * channels..][..n * channels];
            if channels == all {
                return add(&mut out[at * all..][..n * all], from);
            }
            for (to, from) in out[at * all..].chunks_mut(all).zip(from.chunks_exact(channels.max(1))) {
                add(&mut to[first..][..channels], from);
            }
        });
    }
}

/// Batch dimensions, numbers of windows of the `rank` axes, and `last`.
pub(super) fn output(x: &[usize], geometry: &Geometry, rank: usize, last: &[usize]) -> Shape {
    let batch = &x[..x.len() - rank - 1];
    batch.iter().chain(&geometry.output[2 - rank..]).chain(last).copied().collect()
}

/// Windows of an operand of shape `x`: the geometry and the channels.
fn pooled(pool: &Pool, x: &[usize]) -> (Geometry, usize) {
    let rank = pool.axes.len();
    let axes: Vec<ConvAxis> = pool.axes.iter().map(|axis| axis.conv()).collect();
    let sizes: Vec<usize> = pool.axes.iter().map(|axis| axis.size).collect();
    let rest = &x[x.len() - rank - 1..];
    (Geometry::new(&axes, &rest[..rank], &sizes), rest[rank])
}

/// One number for each window and channel: `start` and every element that is no padding, folded in order.
fn fold<T: Float>(geometry: &Geometry, channels: usize, xs: &[T], start: T, f: impl Fn(T, T) -> T) -> Vec<T> {
    let (of_x, of_out) = (geometry.positions() * channels, geometry.windows() * channels);
    let batch = xs.len().checked_div(of_x).unwrap_or(0);
    let mut out = vec![start; batch * of_out];
    for (xs, out) in xs.chunks_exact(of_x.max(1)).zip(out.chunks_exact_mut(of_out.max(1))) {
        geometry.each(|window, _, at| {
            let from = &xs[at * channels..][..channels];
            let to = &mut out[window * channels..][..channels];
            to.iter_mut().zip(from).for_each(|(to, &x)| *to = f(*to, x));
        });
    }
    out
}

/// Largest elements.
pub(super) fn max_pool(pool: &Pool, x: &View<'_>) -> Value {
    let (geometry, channels) = pooled(pool, x.dims);
    let data = match x.elements {
        Elements::F32(xs) => Data::F32(fold(&geometry, channels, xs, f32::NEG_INFINITY, Float::greatest)),
        Elements::F64(xs) => Data::F64(fold(&geometry, channels, xs, f64::NEG_INFINITY, Float::greatest)),
        _ => unreachable!("{CHECKED}"),
    };
    Value::new(output(x.dims, &geometry, pool.axes.len(), &[channels]), data)
}

/// Means, of which padding is a part.
pub(super) fn avg_pool(pool: &Pool, x: &View<'_>) -> Value {
    fn means<T: Float>(geometry: &Geometry, channels: usize, xs: &[T]) -> Vec<T> {
        let n = T::from_count(geometry.taps());
        fold(geometry, channels, xs, T::ZERO, |a, b| a + b).into_iter().map(|sum| sum / n).collect()
    }
    let (geometry, channels) = pooled(pool, x.dims);
    let data = match x.elements {
        Elements::F32(xs) => Data::F32(means(&geometry, channels, xs)),
        Elements::F64(xs) => Data::F64(means(&geometry, channels, xs)),
        _ => unreachable!("{CHECKED}"),
    };
    Value::new(output(x.dims, &geometry, pool.axes.len(), &[channels]), data)
}

/// The windows themselves.
pub(super) fn patches(pool: &Pool, x: &View<'_>) -> Value {
    fn rows<T: Float>(geometry: &Geometry, channels: usize, xs: &[T]) -> Vec<T> {
        let (of_x, of_out) =
            (geometry.positions() * channels, geometry.windows() * geometry.taps() * channels);
        let mut out = vec![T::ZERO; xs.len() / of_x.max(1) * of_out];
        for (xs, out) in xs.chunks_exact(of_x.max(1)).zip(out.chunks_exact_mut(of_out.max(1))) {
            let all = (0..geometry.windows(), &(0..usize::MAX));
            geometry.rows(xs, (channels, 0, channels), all, out);
        }
        out
    }
    let (geometry, channels) = pooled(pool, x.dims);
    let data = match x.elements {
        Elements::F32(xs) => Data::F32(rows(&geometry, channels, xs)),
        Elements::F64(xs) => Data::F64(rows(&geometry, channels, xs)),
        _ => unreachable!("{CHECKED}"),
    };
    let last: Vec<usize> = pool.axes.iter().map(|axis| axis.size).chain([channels]).collect();
    Value::new(output(x.dims, &geometry, pool.axes.len(), &last), data)
}

/// Windows added up.
pub(super) fn unpatches(shape: &Shape, pool: &Pool, d: &View<'_>) -> Value {
    fn add<T: Float>(geometry: &Geometry, channels: usize, d: &[T], len: usize) -> Vec<T> {
        let mut out = vec![T::ZERO; len];
        let examples = d.chunks_exact((geometry.windows() * geometry.taps() * channels).max(1));
        for (d, out) in examples.zip(out.chunks_exact_mut((geometry.positions() * channels).max(1))) {
            geometry.add_rows(d, (channels, 0, channels), 0..geometry.windows(), out);
        }
        out
    }
    let (geometry, channels) = pooled(pool, shape.dims());
    let data = match d.elements {
        Elements::F32(d) => Data::F32(add(&geometry, channels, d, shape.len())),
        Elements::F64(d) => Data::F64(add(&geometry, channels, d, shape.len())),
        _ => unreachable!("{CHECKED}"),
    };
    Value::new(shape.clone(), data)
}
