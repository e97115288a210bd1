//! Convolutions and their two transposes.
//!
//! The layout of the operators is `x [b.., n.., c]`, `kernel [k.., c / groups, f]`; libtorch's is `[b, c, n..]` and
//! `[f, c / groups, k..]`. Reordering axes gives a view. Nothing is rounded to fewer bits than the precision has.

use rml_ir::Shape;
use rml_ir::op::Conv;
use tch::{TchError, Tensor};

use super::windows::{Along, batched, padded, windows};
use crate::kernel::{Context, Kernel, dim, size, two};

/// A convolution with known shapes.
struct Geometry {
    axes: Vec<Along>,
    groups: i64,
    /// `[b, n.., c]`.
    x: Vec<i64>,
    /// `[b, m.., f]`.
    out: Vec<i64>,
    /// `[k.., c / groups, f]`.
    kernel: Vec<i64>,
}

impl Geometry {
    fn new(conv: &Conv, x: &Shape, kernel: &Shape, out: &Shape) -> Geometry {
        let along = |(axis, size): (&rml_ir::op::ConvAxis, &i64)| Along {
            size: *size,
            stride: dim(axis.stride),
            dilation: dim(axis.dilation),
            pad: [dim(axis.lo), dim(axis.hi)],
        };
        let (rank, kernel) = (conv.axes.len(), size(kernel));
        Geometry {
            axes: conv.axes.iter().zip(&kernel).map(along).collect(),
            groups: dim(conv.groups),
            x: batched(x, rank + 1),
            out: batched(out, rank + 1),
            kernel,
        }
    }

    fn rank(&self) -> usize {
        self.axes.len()
    }

    /// Whether there is nothing to add up, or the result has no elements; libtorch refuses some of these cases.
    fn is_empty(&self) -> bool {
        [&self.x, &self.out, &self.kernel].into_iter().any(|dims| dims.contains(&0))
    }

    /// `[b, n.., c]` to `[b, c, n..]`.
    fn channels_first(&self, x: &Tensor) -> Result<Tensor, TchError> {
        x.f_movedim(-1, 1)
    }

    /// `[b, c, n..]` to `[b, n.., c]`.
    fn channels_last(&self, x: &Tensor) -> Result<Tensor, TchError> {
        x.f_movedim(1, -1)
    }

    /// Transposes a kernel `[k.., c / groups, f]` to `[f, c / groups, k..]`.
    fn filters_first(&self, kernel: &Tensor) -> Result<Tensor, TchError> {
        let rank = dim(self.rank());
        let perm: Vec<i64> = [rank + 1, rank].into_iter().chain(0..rank).collect();
        kernel.f_permute(&perm)
    }

    /// libtorch's convolution, or its transpose, without padding; always with the same algorithm and in full precision.
    fn convolution(&self, x: &Tensor, weight: &Tensor, more: Option<&[i64]>) -> Result<Tensor, TchError> {
        let strides: Vec<i64> = self.axes.iter().map(|along| along.stride).collect();
        let dilations: Vec<i64> = self.axes.iter().map(|along| along.dilation).collect();
        let none = vec![0; self.rank()];
        let (transposed, more) = (more.is_some(), more.unwrap_or(&none));
        let [benchmark, deterministic, cudnn, low_precision] = [false, true, true, false];
        x.f_internal_convolution(
            weight,
            None::<&Tensor>,
            &strides,
            &none,
            &dilations,
            transposed,
            more,
            self.groups,
            benchmark,
            deterministic,
            cudnn,
            low_precision,
        )
    }

    fn forward(&self, x: &Tensor, kernel: &Tensor) -> Result<Tensor, TchError> {
        let pads: Vec<[i64; 2]> = self.axes.iter().map(|along| along.pad).collect();
        let x = self.channels_first(&padded(&x.f_reshape(&self.x)?, &pads, 0.0)?)?;
        self.channels_last(&self.convolution(&x, &self.filters_first(kernel)?, None)?)
    }

    fn transpose(&self, d: &Tensor, kernel: &Tensor) -> Result<Tensor, TchError> {
        let d = self.channels_first(&d.f_reshape(&self.out)?)?;
        // The elements at the end of the padded axis that no window covers.
        let over = |(i, along): (usize, &Along)| {
            let reached = (self.out[i + 1] - 1) * along.stride + (along.size - 1) * along.dilation + 1;
            self.x[i + 1] + along.pad[0] + along.pad[1] - reached
        };
        let over: Vec<i64> = self.axes.iter().enumerate().map(over).collect();
        let mut x = self.convolution(&d, &self.filters_first(kernel)?, Some(&over))?;
        for (i, along) in self.axes.iter().enumerate() {
            x = x.f_narrow(dim(i) + 2, along.pad[0], self.x[i + 1])?;
        }
        self.channels_last(&x)
    }

    /// The windows of `x` as the columns of a matrix, times the gradient as rows: one product for each group.
    fn kernel(&self, x: &Tensor, d: &Tensor) -> Result<Tensor, TchError> {
        let (rank, groups) = (self.rank(), self.groups);
        let [taps @ .., channels, filters] = &self.kernel[..] else {
            unreachable!("a kernel has two axes more")
        };
        let (taps_len, rows): (i64, i64) = (taps.iter().product(), self.out[..=rank].iter().product());
        let pads: Vec<[i64; 2]> = self.axes.iter().map(|along| along.pad).collect();
        let x = padded(&x.f_reshape(&self.x)?, &pads, 0.0)?;
        // `[b, m.., c, k..]` to `[rows, groups, c / groups, taps]` to `[groups, taps * c / groups, rows]`.
        let columns = windows(&x, &self.axes)?.f_reshape([rows, groups, *channels, taps_len])?;
        let columns = columns.f_permute([1, 3, 2, 0])?.f_reshape([groups, taps_len * channels, rows])?;
        let d = d.f_reshape([rows, groups, filters / groups])?.f_permute([1, 0, 2])?;
        let kernel = columns.f_bmm(&d)?.f_permute([1, 0, 2])?;
        kernel.f_reshape(&self.kernel)
    }
}

/// A kernel for a convolution without work.
fn zeros(cx: &Context<'_>) -> Kernel {
    let (size, options) = (cx.size(), cx.options());
    Box::new(move |_, _| Tensor::f_zeros(&size, options))
}

/// The convolution of `x` with `kernel`.
pub(super) fn forward(conv: &Conv, cx: &Context<'_>) -> Kernel {
    let geometry = Geometry::new(conv, &cx.args[0].shape, &cx.args[1].shape, &cx.ty.shape);
    let size = cx.size();
    if geometry.is_empty() {
        return zeros(cx);
    }
    two(move |x, kernel| geometry.forward(x, kernel)?.f_reshape(&size))
}

/// The transpose in `x`, from the result's gradient and the kernel.
pub(super) fn transpose(conv: &Conv, cx: &Context<'_>) -> Kernel {
    let geometry = Geometry::new(conv, &cx.ty.shape, &cx.args[1].shape, &cx.args[0].shape);
    let size = cx.size();
    if geometry.is_empty() {
        return zeros(cx);
    }
    two(move |d, kernel| geometry.transpose(d, kernel)?.f_reshape(&size))
}

/// The transpose in `kernel`, from `x` and the result's gradient.
pub(super) fn kernel(conv: &Conv, cx: &Context<'_>) -> Kernel {
    let geometry = Geometry::new(conv, &cx.args[0].shape, &cx.ty.shape, &cx.args[1].shape);
    if geometry.is_empty() {
        return zeros(cx);
    }
    two(move |x, d| geometry.kernel(x, d))
}
