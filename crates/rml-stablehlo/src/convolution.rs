//! Convolutions and their two transposes.
//!
//! XLA has kernels for them in single precision; for results and for gradients in the operand only without groups. In
//! other cases its loops on CPUs take tens of times longer than products of matrices, one for each element of a window
//! and each group.

use rml_ir::Shape;
use rml_ir::op::Conv;

use super::CHECKED;
use super::product::{Axes, PRECISE, dot};
use super::text::{Elem, Ssa, Text, Ty, array, edges, list};
use super::windows::{flat, signed};

/// A convolution, with the lengths of its operand's spatial axes and of a window, and the number of windows.
struct Sizes<'a> {
    conv: &'a Conv,
    lengths: &'a [usize],
    window: &'a [usize],
    count: &'a [usize],
}

/// The spatial dimensions of an operand or a result.
fn spatial(dims: &[usize], rank: usize) -> &[usize] {
    &dims[dims.len() - rank - 1..dims.len() - 1]
}

/// Whether XLA has a kernel for the result and for the gradient in the operand.
fn has_kernel(conv: &Conv, x: &Ssa) -> bool {
    conv.groups == 1 && x.ty.elem == Elem::F32
}

/// The convolution of `x [b.., n.., c]` with `kernel [k.., c / groups, f]`; the result has the shape `shape`.
pub(super) fn conv(t: &mut Text, conv: &Conv, x: &Ssa, kernel: &Ssa, shape: &Shape) -> Ssa {
    if x.is_empty() || kernel.is_empty() {
        return t.splat(0.0, &Ty { elem: x.ty.elem, shape: shape.clone() });
    }
    let rank = conv.axes.len();
    let native = has_kernel(conv, x);
    let x = flat(t, x, rank + 1);
    let (window, count) = (&kernel.dims()[..rank], spatial(shape.dims(), rank));
    let sizes = Sizes { conv, lengths: spatial(x.dims(), rank), window, count };
    let out = if native { sizes.kernel_forward(t, &x, kernel) } else { sizes.product_forward(t, &x, kernel) };
    t.reshape(&out, shape.dims())
}

/// The gradient in `x`, of shape `shape`, from the result's gradient and the kernel.
pub(super) fn conv_transpose(t: &mut Text, conv: &Conv, d: &Ssa, kernel: &Ssa, shape: &Shape) -> Ssa {
    if d.is_empty() || kernel.is_empty() {
        return t.splat(0.0, &Ty { elem: d.ty.elem, shape: shape.clone() });
    }
    let rank = conv.axes.len();
    let native = has_kernel(conv, d);
    let d = flat(t, d, rank + 1);
    let (window, count) = (&kernel.dims()[..rank], spatial(d.dims(), rank));
    let sizes = Sizes { conv, lengths: spatial(shape.dims(), rank), window, count };
    let out =
        if native { sizes.kernel_transpose(t, &d, kernel) } else { sizes.product_transpose(t, &d, kernel) };
    t.reshape(&out, shape.dims())
}

/// The gradient in the kernel, of shape `shape`, from `x` and the result's gradient.
pub(super) fn conv_kernel(t: &mut Text, conv: &Conv, x: &Ssa, d: &Ssa, shape: &Shape) -> Ssa {
    if x.is_empty() || d.is_empty() {
        return t.splat(0.0, &Ty { elem: x.ty.elem, shape: shape.clone() });
    }
    let rank = conv.axes.len();
    let native = x.ty.elem == Elem::F32;
    let (x, d) = (flat(t, x, rank + 1), flat(t, d, rank + 1));
    let (window, count) = (&shape.dims()[..rank], spatial(d.dims(), rank));
    let sizes = Sizes { conv, lengths: spatial(x.dims(), rank), window, count };
    let out = if native { sizes.kernel_kernel(t, &x, &d) } else { sizes.product_kernel(t, &x, &d) };
    t.reshape(&out, shape.dims())
}

/// The attributes of XLA's convolution: those of each spatial axis, and the names of the axes of both operands and of
/// the result, before and after the spatial axes.
struct Slide {
    stride: Vec<usize>,
    padding: Vec<(i64, i64)>,
    spread: Vec<usize>,
    dilation: Vec<usize>,
    names: [[&'static str; 2]; 3],
    /// The number of groups of the axis that has the role of the batch.
    groups: usize,
}

impl Slide {
    fn apply(&self, t: &mut Text, x: &Ssa, kernel: &Ssa, dims: &[usize]) -> Ssa {
        let n = self.stride.len();
        let spatial = list(0..n);
        let [left, right, result] = self.names.map(|[before, behind]| {
            let parts = [before, &spatial, behind];
            format!("[{}]", list(parts.into_iter().filter(|p| !p.is_empty())))
        });
        let attributes = format!(
            "batch_group_count = {} : i64, feature_group_count = 1 : i64, \
             dimension_numbers = #stablehlo.conv<{left}x{right}->{result}>, window_strides = {}, padding = {}, lhs_dilation = {}, \
             rhs_dilation = {}, window_reversal = array<i1: {}>, {PRECISE}",
            self.groups,
            array(&self.stride),
            edges(&self.padding),
            array(&self.spread),
            array(&self.dilation),
            list(vec![false; n])
        );
        t.op_attr("convolution", &[x, kernel], &attributes, Ty::new(x.ty.elem, dims))
    }
}

/// Convolutions by XLA's kernels.
impl Sizes<'_> {
    fn strides(&self) -> Vec<usize> {
        self.conv.axes.iter().map(|a| a.stride).collect()
    }

    fn dilations(&self) -> Vec<usize> {
        self.conv.axes.iter().map(|a| a.dilation).collect()
    }

    fn ones(&self) -> Vec<usize> {
        vec![1; self.conv.axes.len()]
    }

    fn kernel_forward(&self, t: &mut Text, x: &Ssa, kernel: &Ssa) -> Ssa {
        let slide = Slide {
            stride: self.strides(),
            padding: self.conv.axes.iter().map(|a| (signed(a.lo), signed(a.hi))).collect(),
            spread: self.ones(),
            dilation: self.dilations(),
            names: [["b", "f"], ["", "i, o"], ["b", "f"]],
            groups: 1,
        };
        let filters = kernel.dims().last().copied().unwrap_or(1);
        slide.apply(t, x, kernel, &[&[x.dims()[0]], self.count, &[filters]].concat())
    }

    /// The gradient is dilated by the stride; the kernel is reversed, with its channels and filters exchanged.
    fn kernel_transpose(&self, t: &mut Text, d: &Ssa, kernel: &Ssa) -> Ssa {
        let rank = self.window.len();
        let turned = t.reverse(kernel, &(0..rank).collect::<Vec<_>>());
        let padding = self.conv.axes.iter().enumerate().map(|(i, a)| {
            let reach = signed((self.window[i] - 1) * a.dilation);
            let spread = signed((self.count[i] - 1) * a.stride + 1);
            (reach - signed(a.lo), signed(self.lengths[i]) - spread + signed(a.lo))
        });
        let slide = Slide {
            stride: self.ones(),
            padding: padding.collect(),
            spread: self.strides(),
            dilation: self.dilations(),
            names: [["b", "f"], ["", "o, i"], ["b", "f"]],
            groups: 1,
        };
        slide.apply(t, d, &turned, &[&[d.dims()[0]], self.lengths, &[kernel.dims()[rank]]].concat())
    }

    /// The batch axis is summed over, so it has the role of channels, and channels have the role of the batch.
    fn kernel_kernel(&self, t: &mut Text, x: &Ssa, d: &Ssa) -> Ssa {
        let rank = self.window.len();
        let padding = self.conv.axes.iter().enumerate().map(|(i, a)| {
            let taps = signed((self.window[i] - 1) * a.dilation);
            let spread = signed((self.count[i] - 1) * a.stride + 1);
            (signed(a.lo), taps + spread - signed(self.lengths[i]) - signed(a.lo))
        });
        let slide = Slide {
            stride: self.dilations(),
            padding: padding.collect(),
            spread: self.ones(),
            dilation: self.strides(),
            names: [["f", "b"], ["i", "o"], ["", "b, f"]],
            groups: self.conv.groups,
        };
        slide.apply(
            t,
            x,
            d,
            &[self.window, &[x.dims()[rank + 1] / self.conv.groups, d.dims()[rank + 1]]].concat(),
        )
    }
}

/// Convolutions tap by tap: for each element of a window, the elements of the operand at this position are multiplied
/// by the kernel's matrix for it, group by group.
impl Sizes<'_> {
    /// The elements of a window, row-major.
    fn taps(&self) -> Vec<Vec<usize>> {
        self.window.iter().fold(vec![Vec::new()], |taps, &n| {
            taps.iter().flat_map(|tap| (0..n).map(move |i| [&tap[..], &[i]].concat())).collect()
        })
    }

    /// The total number of windows.
    fn rows(&self, x: &Ssa) -> usize {
        x.dims()[0] * self.count.iter().product::<usize>()
    }

    /// `x` with its padding.
    fn padded(&self, t: &mut Text, x: &Ssa) -> Ssa {
        let inner = self.conv.axes.iter().map(|a| (signed(a.lo), signed(a.hi), 0));
        let pads: Vec<_> = [(0, 0, 0)].into_iter().chain(inner).chain([(0, 0, 0)]).collect();
        t.pad(x, 0.0, &pads)
    }

    /// One element of every window of a padded operand, `[rows, groups, channels]`.
    fn taken(&self, t: &mut Text, padded: &Ssa, tap: &[usize]) -> Ssa {
        let mut x = padded.clone();
        for (i, axis) in self.conv.axes.iter().enumerate() {
            x = t.slice_axis(&x, i + 1, tap[i] * axis.dilation, self.count[i], axis.stride);
        }
        let channels = x.dims()[self.window.len() + 1] / self.conv.groups;
        t.reshape(&x, &[self.rows(padded), self.conv.groups, channels])
    }

    /// The kernel's matrix at an element of the window, `[channels, groups, filters]`.
    fn matrix(&self, t: &mut Text, kernel: &Ssa, tap: &[usize]) -> Ssa {
        let rank = self.window.len();
        let (channels, filters) = (kernel.dims()[rank], kernel.dims()[rank + 1]);
        let starts = [tap, &[0, 0]].concat();
        let limits = [&tap.iter().map(|i| i + 1).collect::<Vec<_>>()[..], &[channels, filters]].concat();
        let at = t.slice(kernel, &starts, &limits, &vec![1; rank + 2]);
        t.reshape(&at, &[channels, self.conv.groups, filters / self.conv.groups])
    }

    /// A result or its gradient, `[rows, groups, filters]`.
    fn grouped(&self, t: &mut Text, d: &Ssa) -> Ssa {
        let filters = d.dims()[self.window.len() + 1];
        t.reshape(d, &[self.rows(d), self.conv.groups, filters / self.conv.groups])
    }

    fn product_forward(&self, t: &mut Text, x: &Ssa, kernel: &Ssa) -> Ssa {
        let padded = self.padded(t, x);
        let mut terms = Vec::new();
        for tap in self.taps() {
            let (taken, matrix) = (self.taken(t, &padded, &tap), self.matrix(t, kernel, &tap));
            terms.push(rows_by_matrix(t, &taken, &matrix));
        }
        sum(t, terms)
    }

    fn product_transpose(&self, t: &mut Text, d: &Ssa, kernel: &Ssa) -> Ssa {
        let rows = self.grouped(t, d);
        let channels = self.conv.groups * kernel.dims()[self.window.len()];
        let mut terms = Vec::new();
        for tap in self.taps() {
            let matrix = self.matrix(t, kernel, &tap);
            let matrix = t.transpose(&matrix, &[2, 1, 0]);
            let parts = rows_by_matrix(t, &rows, &matrix);
            let parts = t.reshape(&parts, &[&[d.dims()[0]], self.count, &[channels]].concat());
            terms.push(self.placed(t, &parts, &tap));
        }
        sum(t, terms)
    }

    /// Zeros of the operand's size with one element of every window at its position.
    fn placed(&self, t: &mut Text, parts: &Ssa, tap: &[usize]) -> Ssa {
        let mut pads = vec![(0, 0, 0); parts.dims().len()];
        for (i, axis) in self.conv.axes.iter().enumerate() {
            let low = signed(tap[i] * axis.dilation) - signed(axis.lo);
            let spread = signed((self.count[i] - 1) * axis.stride + 1);
            pads[i + 1] = (low, signed(self.lengths[i]) - low - spread, signed(axis.stride - 1));
        }
        t.pad(parts, 0.0, &pads)
    }

    fn product_kernel(&self, t: &mut Text, x: &Ssa, d: &Ssa) -> Ssa {
        let (padded, d) = (self.padded(t, x), self.grouped(t, d));
        let mut matrices = Vec::new();
        for tap in self.taps() {
            let taken = self.taken(t, &padded, &tap);
            let matrix = dot(t, &taken, &d, &Axes::new(&[1], &[1]), &Axes::new(&[0], &[0]));
            matrices.push(t.reshape(&matrix, &[&[1], matrix.dims()].concat()));
        }
        let all = t.concat(&matrices, 0);
        t.transpose(&all, &[0, 2, 1, 3])
    }
}

/// `[rows, groups, inner]` by `[inner, groups, columns]`, to `[rows, groups, columns]`.
fn rows_by_matrix(t: &mut Text, rows: &Ssa, matrix: &Ssa) -> Ssa {
    if let [1, _, 1] = *matrix.dims() {
        let matrix = t.broadcast(matrix, &rows.ty.shape);
        return t.zip("multiply", rows, &matrix);
    }
    let product = dot(t, rows, matrix, &Axes::new(&[1], &[1]), &Axes::new(&[2], &[0]));
    t.transpose(&product, &[1, 0, 2])
}

/// The sum of at least one value.
fn sum(t: &mut Text, terms: Vec<Ssa>) -> Ssa {
    terms.into_iter().reduce(|a, b| t.zip("add", &a, &b)).expect(CHECKED)
}
