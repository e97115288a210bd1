//! Operators with integer positions that are data. libtorch sees only positions inside the axis; if a position had to
//! be clamped, the reference computes the call.

use rml_ir::{DType, Shape};
use tch::{Kind, TchError, Tensor};

use super::arithmetic::sums_fit;
use crate::kernel::{Context, Kernel, dim, dims};
use crate::watch::Watch;

/// The positions, clamped to an axis of `n > 0`.
fn inside(positions: &Tensor, n: i64, watch: &mut Watch) -> Result<Tensor, TchError> {
    let clamped = positions.f_clamp(0, n - 1)?;
    watch.all(&clamped.f_eq_tensor(positions)?)?;
    Ok(clamped)
}

/// A kernel for an axis of length 0: zeros; it fails if any position is requested.
fn of_nothing(asked: usize, cx: &Context<'_>) -> Kernel {
    let (size, options) = (cx.size(), cx.options());
    Box::new(move |_, watch| {
        if asked > 0 {
            watch.all(&Tensor::f_zeros([0_i64; 0], (Kind::Bool, options.1))?)?;
        }
        Tensor::f_zeros(&size, options)
    })
}

/// `[l.., n, r..]` at `[s..]` -> `[l.., s.., r..]`.
pub(super) fn gather(axis: usize, cx: &Context<'_>) -> Kernel {
    let n = cx.args[0].shape.dims()[axis];
    if n == 0 {
        return of_nothing(cx.args[1].shape.len(), cx);
    }
    let (n, axis, size) = (dim(n), dim(axis), cx.size());
    Box::new(move |x, watch| {
        let positions = inside(x[1], n, watch)?.f_reshape(-1)?;
        x[0].f_index_select(axis, &positions)?.f_reshape(&size)
    })
}

/// One element of each row.
pub(super) fn pick(cx: &Context<'_>) -> Kernel {
    let n = cx.args[0].shape.dims().last().copied().unwrap_or(0);
    if n == 0 {
        return of_nothing(cx.args[1].shape.len(), cx);
    }
    let n = dim(n);
    Box::new(move |x, watch| {
        let positions = inside(x[1], n, watch)?.f_unsqueeze(-1)?;
        x[0].f_gather(-1, &positions, false)?.f_squeeze_dim(-1)
    })
}

/// Zeros of `shape` with entries added at their positions, first to last.
pub(super) fn scatter_add(shape: &Shape, axis: usize, cx: &Context<'_>) -> Kernel {
    let (positions, d) = (cx.args[0].shape.len(), cx.args[1]);
    let (n, before, after) = (shape.dims()[axis], &shape.dims()[..axis], &shape.dims()[axis + 1..]);
    if n == 0 {
        return of_nothing(positions, cx);
    }
    let flat: Vec<i64> = [&dims(before)[..], &[dim(positions)], &dims(after)].concat();
    let int = d.dtype == DType::Int;
    let (n, size, options) = (dim(n), cx.size(), cx.options());
    Box::new(move |x, watch| {
        if int {
            sums_fit(x[1], |d| d.f_sum(None), watch)?;
        }
        let mut out = Tensor::f_zeros(&size, options)?;
        let positions = inside(x[0], n, watch)?.f_reshape(-1)?;
        // Accumulation by `index_put_` has a fixed order on every device.
        let mut index: Vec<Option<&Tensor>> = vec![None; axis];
        index.push(Some(&positions));
        let _itself = out.f_index_put_(&index, &x[1].f_reshape(&flat)?, true)?;
        Ok(out)
    })
}
