//! Convolutions and their gradients.
//!
//! A convolution is a matrix product of the windows (rows) with the kernel, one product for each example and group. So
//! an example has the same bits whatever the batch is. Windows are copied in parts that stay in the cache: a part
//! continues the sums of the last one, which has the bits of a single product.

use std::borrow::Cow;
use std::ops::Range;

use rml_kernels::{Matrix, MatrixMut, Packed, product, product_packed};

use super::CHECKED;
use super::depthwise::{self, Places};
use super::sliding::{Geometry, output};
use super::view::{Float, View, floats};
use crate::op::{Conv, Op};
use crate::types::Shape;
use crate::value::{Data, Value};

/// The most elements of windows that are copied at once, and the fewest windows: products of few rows are slow.
const ROOM: u64 = 1 << 15;
const LEAST: u64 = 48;

/// How many of an example's windows, of `depth` elements each, are copied at once.
pub(super) fn together(windows: u64, depth: u64) -> u64 {
    (ROOM / depth.max(1)).max(LEAST).min(windows)
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

    /// How many windows are copied at once.
    fn together(&self) -> usize {
        let windows = self.geometry.windows();
        usize::try_from(together(windows as u64, self.depth() as u64)).unwrap_or(windows)
    }

    /// All windows of an example, in the groups that are copied at once.
    fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        let (all, together) = (self.geometry.windows(), self.together());
        (0..all).step_by(together.max(1)).map(move |from| from..all.min(from + together))
    }

    /// Room for windows that are copied at once, over the channels of a group.
    fn room<T: Float>(&self) -> Vec<T> {
        vec![T::ZERO; self.together() * self.depth()]
    }

    fn forward<T: Float>(&self, xs: &[T], kernel: &[T], out: &mut [T]) {
        let (of_x, of_out) = self.example();
        let (depth, filters) = (self.depth(), self.filters);
        if let Some(places) = self.depthwise() {
            return (0..self.batch).for_each(|i| {
                let (x, out) = (&xs[i * of_x..][..of_x], &mut out[i * of_out..][..of_out]);
                places.run(depthwise::Forward, x, kernel, out);
            });
        }
        let several = self.groups > 1;
        let mut columns = vec![T::ZERO; if several { self.together() * filters } else { 0 }];
        if several {
            out.fill(T::ZERO);
        }
        for group in 0..self.groups {
            let kernel = Packed::new(Matrix::new(depth, filters, &self.of_group(kernel, group)));
            let mut rows = self.room();
            for (i, out) in out.chunks_exact_mut(of_out.max(1)).enumerate() {
                let x = &xs[i * of_x..][..of_x];
                for part in self.parts() {
                    let n = part.len();
                    let out = &mut out[part.start * filters * self.groups..][..n * filters * self.groups];
                    self.geometry.rows(x, self.of_channels(group), (part, &(0..depth)), &mut rows);
                    let rows = Matrix::new(n, depth, &rows[..n * depth]);
                    if several {
                        let columns = &mut columns[..n * filters];
                        product_packed(rows, &kernel, false, MatrixMut::new(n, filters, columns));
                        self.to_group(columns, group, out);
                    } else {
                        product_packed(rows, &kernel, false, MatrixMut::new(n, filters, out));
                        // As where groups are added: no zero is negative.
                        out.iter_mut().for_each(|x| *x += T::ZERO);
                    }
                }
            }
        }
    }

    fn transpose<T: Float>(&self, d: &[T], kernel: &[T], out: &mut [T]) {
        let (of_x, of_out) = self.example();
        let (depth, filters) = (self.depth(), self.filters);
        out.fill(T::ZERO);
        if let Some(places) = self.depthwise() {
            return (0..self.batch).for_each(|i| {
                let (d, out) = (&d[i * of_out..][..of_out], &mut out[i * of_x..][..of_x]);
                places.run(depthwise::Operand, d, kernel, out);
            });
        }
        let mut rows = self.room();
        for group in 0..self.groups {
            let kernel = Packed::new(Matrix::new(depth, filters, &self.of_group(kernel, group)).transposed());
            for (i, out) in out.chunks_exact_mut(of_x.max(1)).enumerate() {
                let d = &d[i * of_out..][..of_out];
                for part in self.parts() {
                    let n = part.len();
                    let rows = &mut rows[..n * depth];
                    let d = self.of_group(self.results(d, &part), group);
                    product_packed(
                        Matrix::new(n, filters, &d),
                        &kernel,
                        false,
                        MatrixMut::new(n, depth, rows),
                    );
                    self.geometry.add_rows(rows, self.of_channels(group), part, out);
                }
            }
        }
    }

    /// The results of some windows of an example.
    fn results<'d, T>(&self, d: &'d [T], part: &Range<usize>) -> &'d [T] {
        let each = self.filters * self.groups;
        &d[part.start * each..part.end * each]
    }

    /// The rows `some` of the gradient of the kernel.
    fn kernel<T: Float>(&self, some: &Range<usize>, xs: &[T], d: &[T], out: &mut [T]) {
        let (of_x, of_out) = self.example();
        let (depth, filters) = (self.depth(), self.filters);
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
                let (x, d) = (&xs[i * of_x..][..of_x], &d[i * of_out..][..of_out]);
                for part in self.parts() {
                    let n = part.len();
                    self.geometry.rows(x, self.of_channels(group), (part.clone(), some), &mut rows);
                    let rows = rows[..n * depth].get(some.start..).unwrap_or_default();
                    let rows = Matrix::strided(n, some.len(), depth, rows).transposed();
                    let further = part.start > 0;
                    let d = self.of_group(self.results(d, &part), group);
                    let d = Matrix::new(n, filters, &d);
                    product(rows, d, further, MatrixMut::new(some.len(), filters, &mut columns));
                }
                self.to_group(&columns, group, out);
            }
        }
    }
}

/// The result of a convolution, or one of its two gradients.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Part {
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
        let Shaped { groups, filters, .. } = self.shaped;
        let (windows, depth) = (self.shaped.together(), self.shaped.depth());
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
