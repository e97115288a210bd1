//! Sliding windows over one or two spatial axes: pooling and patches.
//!
//! Operands are `[b.., n.., c]`; here all batch dimensions are joined to one.

use rml_ir::Shape;
use rml_ir::op::{Pool, PoolAxis};
use tch::{TchError, Tensor};

use crate::kernel::{Context, Kernel, dim, dims, one};

/// The placement of windows along one axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Along {
    /// The number of elements of a window.
    pub(super) size: i64,
    /// The distance between windows.
    pub(super) stride: i64,
    /// The distance between elements of a window.
    pub(super) dilation: i64,
    /// Padding before and after.
    pub(super) pad: [i64; 2],
}

impl Along {
    fn pool(axis: &PoolAxis) -> Along {
        let pad = [dim(axis.lo), dim(axis.hi)];
        Along { size: dim(axis.size), stride: dim(axis.stride), dilation: 1, pad }
    }
}

fn axes(pool: &Pool) -> Vec<Along> {
    pool.axes.iter().map(Along::pool).collect()
}

/// `[b.., rest..]` as `[b, rest..]` with `rank` axes in `rest`, as libtorch integers.
pub(super) fn batched(shape: &Shape, rank: usize) -> Vec<i64> {
    let (batch, rest) = shape.dims().split_at(shape.rank() - rank);
    std::iter::once(dim(batch.iter().product())).chain(dims(rest)).collect()
}

/// `x [b, n.., c]` with its spatial axes padded.
pub(super) fn padded(x: &Tensor, pads: &[[i64; 2]], with: f64) -> Result<Tensor, TchError> {
    if pads.iter().all(|pad| *pad == [0, 0]) {
        return Ok(x.shallow_clone());
    }
    // libtorch expects the last axis first.
    let list: Vec<i64> = [[0, 0]].iter().chain(pads.iter().rev()).flatten().copied().collect();
    x.f_pad(&list, "constant", with)
}

/// The windows of `x [b, n.., c]`, which is padded already, as a view `[b, m.., c, size..]`.
pub(super) fn windows(x: &Tensor, axes: &[Along]) -> Result<Tensor, TchError> {
    let mut view = x.shallow_clone();
    for (axis, along) in (1..).zip(axes) {
        let extent = (along.size - 1) * along.dilation + 1;
        view = view.f_unfold(axis, extent, along.stride)?;
        if along.dilation > 1 {
            view = view.f_slice(-1, None, None, along.dilation)?;
        }
    }
    Ok(view)
}

/// A kernel that reduces each window, padded with a number, over its last axes.
fn fold(
    pool: &Pool,
    cx: &Context<'_>,
    with: f64,
    f: impl Fn(&Tensor, &[i64]) -> Result<Tensor, TchError> + Send + Sync + 'static,
) -> Kernel {
    let axes = axes(pool);
    let (from, size) = (batched(&cx.args[0].shape, axes.len() + 1), cx.size());
    let pads: Vec<[i64; 2]> = axes.iter().map(|along| along.pad).collect();
    let last: Vec<i64> = (1..=dim(axes.len())).map(|i| -i).collect();
    one(move |x| {
        let x = padded(&x.f_reshape(&from)?, &pads, with)?;
        f(&windows(&x, &axes)?, &last)?.f_reshape(&size)
    })
}

/// The largest element of each window; NaN if one is NaN.
pub(super) fn max_pool(pool: &Pool, cx: &Context<'_>) -> Kernel {
    fold(pool, cx, f64::NEG_INFINITY, |windows, last| windows.f_amax(last, false))
}

/// The mean of each window, including the padding.
pub(super) fn avg_pool(pool: &Pool, cx: &Context<'_>) -> Kernel {
    fold(pool, cx, 0.0, |windows, last| windows.f_mean_dim(last, false, None))
}

/// The windows themselves.
pub(super) fn patches(pool: &Pool, cx: &Context<'_>) -> Kernel {
    let axes = axes(pool);
    let (rank, from, size) = (dim(axes.len()), batched(&cx.args[0].shape, axes.len() + 1), cx.size());
    let pads: Vec<[i64; 2]> = axes.iter().map(|along| along.pad).collect();
    // `[b, m.., c, size..]` to `[b, m.., size.., c]`.
    let perm: Vec<i64> = (0..=rank).chain(rank + 2..2 * rank + 2).chain([rank + 1]).collect();
    one(move |x| {
        let x = padded(&x.f_reshape(&from)?, &pads, 0.0)?;
        windows(&x, &axes)?.f_permute(&perm)?.f_reshape(&size)
    })
}

/// Adds up windows. libtorch has this operation for two axes, the first of which may have length 1.
pub(super) fn unpatches(pool: &Pool, cx: &Context<'_>) -> Kernel {
    let mut axes = axes(pool);
    let rank = axes.len();
    let (size, options) = (cx.size(), cx.options());
    if cx.ty.shape.is_empty() || cx.args[0].shape.is_empty() {
        return Box::new(move |_, _| Tensor::f_zeros(&size, options));
    }
    let from = batched(&cx.args[0].shape, 2 * rank + 1);
    // `[b, m.., size.., c]` to `[b, c, size.., m..]`, and then to `[b, c * taps, windows]`.
    let (low, high) = (1..=dim(rank), dim(rank) + 1..=2 * dim(rank));
    let perm: Vec<i64> = [0, 2 * dim(rank) + 1].into_iter().chain(high).chain(low).collect();
    let (taps, windows) =
        (from[rank + 1..=2 * rank].iter().product::<i64>(), from[1..=rank].iter().product::<i64>());
    let columns = [from[0], from[2 * rank + 1] * taps, windows];
    let mut spatial = batched(&cx.ty.shape, rank + 1)[1..=rank].to_vec();
    if rank == 1 {
        axes.insert(0, Along { size: 1, stride: 1, dilation: 1, pad: [0, 0] });
        spatial.insert(0, 1);
    }
    let whole: Vec<i64> =
        spatial.iter().zip(&axes).map(|(n, along)| n + along.pad[0] + along.pad[1]).collect();
    let sizes: Vec<i64> = axes.iter().map(|along| along.size).collect();
    let strides: Vec<i64> = axes.iter().map(|along| along.stride).collect();
    one(move |d| {
        let columns = d.f_reshape(&from)?.f_permute(&perm)?.f_reshape(columns)?;
        let mut sum = columns.f_col2im(&whole, &sizes, [1, 1], [0, 0], &strides)?;
        for (axis, (along, &n)) in (2..).zip(axes.iter().zip(&spatial)) {
            sum = sum.f_narrow(axis, along.pad[0], n)?;
        }
        sum.f_permute([0, 2, 3, 1])?.f_reshape(&size)
    })
}
