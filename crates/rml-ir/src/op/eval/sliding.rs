//! Convolutions, pooling and patches. One spatial axis is two, the first of length 1.
//!
//! A convolution is a matrix product of the windows (rows) with the kernel, one product for each example and
//! group; so an example has the same bits whatever the batch is.

use std::borrow::Cow;
use std::ops::Range;

use rml_kernels::{Matrix, MatrixMut, Packed, product, product_packed};

use super::CHECKED;
use super::depthwise::{self, Places};
use super::view::{Elements, Float, View, floats};
use crate::op::{Conv, ConvAxis, Op, Pool};
use crate::types::Shape;
use crate::value::{Data, Value};

/// Fewer elements are copied one by one.
const SHORT: usize = 8;

/// Two spatial axes and the windows on them.
#[derive(Clone, Debug)]
struct Geometry {
    axes: [ConvAxis; 2],
    /// Lengths of the operand.
    input: [usize; 2],
    /// Sizes of a window.
    size: [usize; 2],
    /// How many windows.
    output: [usize; 2],
}

impl Geometry {
    fn new(axes: &[ConvAxis], input: &[usize], size: &[usize]) -> Geometry {
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

    fn windows(&self) -> usize {
        self.output[0] * self.output[1]
    }

    fn taps(&self) -> usize {
        self.size[0] * self.size[1]
    }

    fn positions(&self) -> usize {
        self.input[0] * self.input[1]
    }

    /// The position that element `tap` of window `window` has along an axis; `None` = padding.
    fn along(&self, axis: usize, window: usize, tap: usize) -> Option<usize> {
        let ConvAxis { stride, lo, dilation, .. } = self.axes[axis];
        (window * stride + tap * dilation).checked_sub(lo).filter(|&i| i < self.input[axis])
    }

    /// Calls `f` with the numbers of the window, of the element in it and of the operand's position, for every
    /// element that is no padding; windows and elements in order.
    fn each(&self, mut f: impl FnMut(usize, usize, usize)) {
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

    /// As [`each`](Self::each), in the same order, with elements at once that are neighbours in the window and in the
    /// operand; and how many they are.
    fn runs(&self, mut f: impl FnMut(usize, usize, usize, usize)) {
        let ConvAxis { stride, lo, dilation, .. } = self.axes[1];
        let (size, input) = (self.size[1], self.input[1]);
        if dilation != 1 {
            return self.each(|window, tap, at| f(window, tap, at, 1));
        }
        for y in 0..self.output[0] {
            for x in 0..self.output[1] {
                let (from, to) = (x * stride, (input + lo).saturating_sub(x * stride).min(size));
                let first = lo.saturating_sub(from);
                if first >= to {
                    continue;
                }
                for v in 0..self.size[0] {
                    let Some(row) = self.along(0, y, v) else { continue };
                    let window = y * self.output[1] + x;
                    f(window, v * size + first, row * input + from + first - lo, to - first);
                }
            }
        }
    }

    /// The windows of one example over `channels` of its `all` channels, from `first` on: a row for each window, in
    /// `out`, which has zeros where there is padding. Only the columns `some` are needed.
    fn rows<T: Float>(
        &self,
        xs: &[T],
        (all, first, channels): (usize, usize, usize),
        some: &Range<usize>,
        out: &mut [T],
    ) {
        self.runs(|window, tap, at, n| {
            if tap * channels >= some.end || (tap + n) * channels <= some.start {
                return;
            }
            let to = &mut out[(window * self.taps() + tap) * channels..][..n * channels];
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

    /// The transpose of [`rows`](Self::rows): adds rows to an example.
    fn add_rows<T: Float>(&self, rows: &[T], (all, first, channels): (usize, usize, usize), out: &mut [T]) {
        let add = |to: &mut [T], from: &[T]| to.iter_mut().zip(from).for_each(|(to, &x)| *to += x);
        self.runs(|window, tap, at, n| {
            let from = &rows[(window * self.taps() + tap) * channels..][..n * channels];
            if channels == all {
                return add(&mut out[at * all..][..n * all], from);
            }
            for (to, from) in out[at * all..].chunks_mut(all).zip(from.chunks_exact(channels.max(1))) {
                add(&mut to[first..][..channels], from);
            }
        });
    }
}

/// A convolution with all sizes.
#[derive(Clone, Debug)]
struct Shaped {
    geometry: Geometry,
    batch: usize,
    groups: usize,
    /// Channels of a group.
    channels: usize,
    /// Filters of a group.
    filters: usize,
}

impl Shaped {
    fn new(conv: &Conv, x: &[usize], kernel: &[usize]) -> Shaped {
        let rank = conv.axes.len();
        let [sizes @ .., channels, filters] = kernel else { unreachable!("{CHECKED}") };
        let (batch, rest) = x.split_at(x.len() - rank - 1);
        Shaped {
            geometry: Geometry::new(&conv.axes, &rest[..rank], sizes),
            batch: batch.iter().product(),
            groups: conv.groups,
            channels: *channels,
            filters: filters / conv.groups,
        }
    }

    /// Where the elements of windows are, if each group has one channel and one filter.
    fn depthwise(&self) -> Option<Places> {
        if self.groups == 1 || self.channels != 1 || self.filters != 1 {
            return None;
        }
        let taps = self.geometry.taps();
        let mut at = vec![None; self.geometry.windows() * taps];
        self.geometry.each(|window, tap, from| at[window * taps + tap] = u32::try_from(from).ok());
        Some(Places { taps, channels: self.groups, at })
    }

    /// Columns of a row of windows.
    fn depth(&self) -> usize {
        self.geometry.taps() * self.channels
    }

    /// Elements of an example of the operand, and of the result.
    fn example(&self) -> (usize, usize) {
        let all = self.channels * self.groups;
        (self.geometry.positions() * all, self.geometry.windows() * self.filters * self.groups)
    }

    /// Columns `group * filters ..` of a matrix with all filters as columns.
    fn of_group<'m, T: Float>(&self, matrix: &'m [T], group: usize) -> Cow<'m, [T]> {
        if self.groups == 1 {
            return Cow::Borrowed(matrix);
        }
        let all = self.filters * self.groups;
        let rows = matrix.chunks_exact(all.max(1));
        rows.flat_map(|row| &row[group * self.filters..][..self.filters]).copied().collect()
    }

    /// Adds the columns of a group to the elements that they were copied from.
    fn to_group<T: Float>(&self, columns: &[T], group: usize, matrix: &mut [T]) {
        let add = |to: &mut [T], from: &[T]| to.iter_mut().zip(from).for_each(|(to, &x)| *to += x);
        if self.groups == 1 {
            return add(matrix, columns);
        }
        let all = self.filters * self.groups;
        let rows = matrix.chunks_exact_mut(all.max(1)).zip(columns.chunks_exact(self.filters.max(1)));
        rows.for_each(|(row, from)| add(&mut row[group * self.filters..][..self.filters], from));
    }

    /// All channels of an example, the first one of a group, and how many the group has.
    fn of_channels(&self, group: usize) -> (usize, usize, usize) {
        (self.channels * self.groups, group * self.channels, self.channels)
    }

    /// Room for the windows of an example over the channels of a group. Padding is at the same places in all examples,
    /// and stays zero.
    fn room<T: Float>(&self) -> Vec<T> {
        vec![T::ZERO; self.geometry.windows() * self.depth()]
    }

    fn forward<T: Float>(&self, xs: &[T], kernel: &[T], out: &mut [T]) {
        let (of_x, of_out) = self.example();
        let (windows, depth, filters) = (self.geometry.windows(), self.depth(), self.filters);
        if let Some(places) = self.depthwise() {
            return (0..self.batch).for_each(|i| {
                let (x, out) = (&xs[i * of_x..][..of_x], &mut out[i * of_out..][..of_out]);
                places.run(depthwise::Forward, x, kernel, out);
            });
        }
        let mut columns = vec![T::ZERO; if self.groups == 1 { 0 } else { windows * filters }];
        out.fill(T::ZERO);
        for group in 0..self.groups {
            let kernel = Packed::new(Matrix::new(depth, filters, &self.of_group(kernel, group)));
            let mut rows = self.room();
            for (i, out) in out.chunks_exact_mut(of_out.max(1)).enumerate() {
                self.geometry.rows(&xs[i * of_x..][..of_x], self.of_channels(group), &(0..depth), &mut rows);
                let rows = Matrix::new(windows, depth, &rows);
                if self.groups == 1 {
                    product_packed(rows, &kernel, false, MatrixMut::new(windows, filters, out));
                    // As where groups are added: no zero is negative.
                    out.iter_mut().for_each(|x| *x += T::ZERO);
                } else {
                    product_packed(rows, &kernel, false, MatrixMut::new(windows, filters, &mut columns));
                    self.to_group(&columns, group, out);
                }
            }
        }
    }

    fn transpose<T: Float>(&self, d: &[T], kernel: &[T], out: &mut [T]) {
        let (of_x, of_out) = self.example();
        let (windows, depth, filters) = (self.geometry.windows(), self.depth(), self.filters);
        out.fill(T::ZERO);
        if let Some(places) = self.depthwise() {
            return (0..self.batch).for_each(|i| {
                let (d, out) = (&d[i * of_out..][..of_out], &mut out[i * of_x..][..of_x]);
                places.run(depthwise::Operand, d, kernel, out);
            });
        }
        let mut rows = vec![T::ZERO; windows * depth];
        for group in 0..self.groups {
            let kernel = Packed::new(Matrix::new(depth, filters, &self.of_group(kernel, group)).transposed());
            for (i, out) in out.chunks_exact_mut(of_x.max(1)).enumerate() {
                let d = self.of_group(&d[i * of_out..][..of_out], group);
                let d = Matrix::new(windows, filters, &d);
                product_packed(d, &kernel, false, MatrixMut::new(windows, depth, &mut rows));
                self.geometry.add_rows(&rows, self.of_channels(group), out);
            }
        }
    }

    /// The rows `some` of the gradient of the kernel.
    fn kernel<T: Float>(&self, some: &Range<usize>, xs: &[T], d: &[T], out: &mut [T]) {
        let (of_x, of_out) = self.example();
        let (windows, depth, filters) = (self.geometry.windows(), self.depth(), self.filters);
        out.fill(T::ZERO);
        if let Some(places) = self.depthwise() {
            return (0..self.batch).for_each(|i| {
                let (x, d) = (&xs[i * of_x..][..of_x], &d[i * of_out..][..of_out]);
                places.run(depthwise::Kernel, x, d, out);
            });
        }
        let mut columns = vec![T::ZERO; some.len() * filters];
        for group in 0..self.groups {
            let mut rows = self.room();
            for i in 0..self.batch {
                self.geometry.rows(&xs[i * of_x..][..of_x], self.of_channels(group), some, &mut rows);
                let d = self.of_group(&d[i * of_out..][..of_out], group);
                let rows = rows.get(some.start..).unwrap_or_default();
                let rows = Matrix::strided(windows, some.len(), depth, rows).transposed();
                let d = Matrix::new(windows, filters, &d);
                product(rows, d, false, MatrixMut::new(some.len(), filters, &mut columns));
                self.to_group(&columns, group, out);
            }
        }
    }
}

/// The result of a convolution, or one of its two gradients.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Part {
    Result,
    /// The gradient in its operand.
    Operand,
    /// The gradient in its kernel.
    Kernel,
}

/// A convolution or a gradient of one, between slices: the numbers of [`eval`](super::eval()), without a fresh value,
/// and in parts.
#[derive(Clone, Debug)]
pub struct Convolution {
    shaped: Shaped,
    part: Part,
}

impl Convolution {
    /// That of an operator with two operands of these shapes, which it accepts; none if it is no convolution.
    pub fn new(op: &Op, [a, b]: [&Shape; 2]) -> Option<Self> {
        let (conv, x, kernel, part) = match op {
            Op::Conv(conv) => (conv, a, b, Part::Result),
            Op::ConvTranspose { shape, conv } => (conv, shape, b, Part::Operand),
            Op::ConvKernel { shape, conv } => (conv, a, shape, Part::Kernel),
            _ => return None,
        };
        Some(Self { shaped: Shaped::new(conv, x.dims(), kernel.dims()), part })
    }

    /// How many examples there are, if each has a result of its own; they follow each other in result and first
    /// operand.
    pub fn examples(&self) -> Option<usize> {
        (self.part != Part::Kernel).then_some(self.shaped.batch)
    }

    /// The same with that many examples.
    pub fn set_examples(&mut self, examples: usize) {
        self.shaped.batch = examples;
    }

    /// How many rows the result has, and how many elements each, if it can be computed by rows: the gradient of a
    /// kernel without groups.
    pub fn rows(&self) -> Option<(usize, usize)> {
        let Shaped { groups, filters, .. } = self.shaped;
        (self.part == Part::Kernel && groups == 1).then(|| (self.shaped.depth(), filters))
    }

    /// How many elements the result and the operands have.
    pub fn sizes(&self) -> [usize; 3] {
        let Shaped { batch, groups, filters, .. } = self.shaped;
        let (of_x, of_out) = self.shaped.example();
        let (x, out, kernel) = (batch * of_x, batch * of_out, self.shaped.depth() * filters * groups);
        match self.part {
            Part::Result => [out, x, kernel],
            Part::Operand => [x, out, kernel],
            Part::Kernel => [kernel, x, out],
        }
    }

    /// How many products of two numbers are added.
    pub fn work(&self) -> f64 {
        let Shaped { batch, groups, filters, ref geometry, .. } = self.shaped;
        (batch * geometry.windows()) as f64 * (self.shaped.depth() * filters * groups) as f64
    }

    /// How many elements are needed beside operands and result.
    pub fn scratch(&self) -> usize {
        let Shaped { groups, filters, ref geometry, .. } = self.shaped;
        let (windows, depth) = (geometry.windows(), self.shaped.depth());
        let of_groups = if groups == 1 { 0 } else { filters * (windows + depth) };
        // A packed kernel has whole panels.
        windows * depth + 2 * depth * (filters + 64) + of_groups
    }

    /// Computes it; `some` are the [rows](Self::rows) of the result that are computed, if it is.
    pub(super) fn run<T: Float>(&self, some: Option<&Range<usize>>, a: &[T], b: &[T], out: &mut [T]) {
        match self.part {
            Part::Result => self.shaped.forward(a, b, out),
            Part::Operand => self.shaped.transpose(a, b, out),
            Part::Kernel => {
                let all = 0..self.shaped.depth();
                self.shaped.kernel(some.unwrap_or(&all), a, b, out);
            }
        }
    }

    fn values<T: Float>(&self, a: &[T], b: &[T]) -> Vec<T> {
        let mut out = vec![T::ZERO; self.sizes()[0]];
        self.run(None, a, b, &mut out);
        out
    }

    fn data(&self, a: &View<'_>, b: &View<'_>) -> Data {
        floats(a, b, |a, b| self.values(a, b), |a, b| self.values(a, b))
    }
}

/// `x [b.., n.., c]` with `kernel [k.., c / groups, f]`.
pub(super) fn conv(conv: &Conv, x: &View<'_>, kernel: &View<'_>) -> Value {
    let shaped = Shaped::new(conv, x.dims, kernel.dims);
    let [.., filters] = kernel.dims else { unreachable!("{CHECKED}") };
    let shape = output(x.dims, &shaped.geometry, conv.axes.len(), &[*filters]);
    Value::new(shape, Convolution { shaped, part: Part::Result }.data(x, kernel))
}

/// Batch dimensions, numbers of windows of the `rank` axes, and `last`.
fn output(x: &[usize], geometry: &Geometry, rank: usize, last: &[usize]) -> Shape {
    let batch = &x[..x.len() - rank - 1];
    batch.iter().chain(&geometry.output[2 - rank..]).chain(last).copied().collect()
}

/// The gradient of a convolution in its operand.
pub(super) fn conv_transpose(shape: &Shape, conv: &Conv, d: &View<'_>, kernel: &View<'_>) -> Value {
    let shaped = Shaped::new(conv, shape.dims(), kernel.dims);
    Value::new(shape.clone(), Convolution { shaped, part: Part::Operand }.data(d, kernel))
}

/// The gradient of a convolution in its kernel.
pub(super) fn conv_kernel(shape: &Shape, conv: &Conv, x: &View<'_>, d: &View<'_>) -> Value {
    let shaped = Shaped::new(conv, x.dims, shape.dims());
    Value::new(shape.clone(), Convolution { shaped, part: Part::Kernel }.data(x, d))
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
            geometry.rows(xs, (channels, 0, channels), &(0..usize::MAX), out);
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
            geometry.add_rows(d, (channels, 0, channels), out);
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
