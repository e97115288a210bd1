//! Reductions along one axis or over everything.

use rml_ir::Shape;
use rml_ir::op::Op;
use tch::{TchError, Tensor};

use super::arithmetic::watched_sum;
use crate::kernel::{Context, Kernel, dim, one};

/// A kernel that is watched if its operand has ints as elements.
fn sums(cx: &Context<'_>, f: impl Fn(&Tensor) -> Result<Tensor, TchError> + Send + Sync + 'static) -> Kernel {
    if cx.is_int() { watched_sum(f) } else { one(f) }
}

/// The sum; 0 for no elements.
pub(super) fn sum(axis: Option<usize>, cx: &Context<'_>) -> Kernel {
    match axis.map(dim) {
        Some(axis) => sums(cx, move |x| x.f_sum_dim_intlist(axis, false, None)),
        None => sums(cx, |x| x.f_sum(None)),
    }
}

/// The mean; NaN for no elements.
pub(super) fn mean(axis: Option<usize>) -> Kernel {
    match axis.map(dim) {
        Some(axis) => one(move |x| x.f_mean_dim(axis, false, None)),
        None => one(|x| x.f_mean(None)),
    }
}

/// The product; 1 for no elements.
pub(super) fn prod(axis: Option<usize>) -> Kernel {
    match axis.map(dim) {
        Some(axis) => one(move |x| x.f_prod_dim_int(axis, false, None)),
        None => one(|x| x.f_prod(None)),
    }
}

/// The logarithm of the sum of exponentials; -inf for no elements.
pub(super) fn logsumexp(axis: Option<usize>) -> Kernel {
    match axis.map(dim) {
        Some(axis) => one(move |x| x.f_logsumexp(axis, false)),
        None => one(|x| x.f_reshape([-1_i64])?.f_logsumexp(0_i64, false)),
    }
}

/// Sums the axes that broadcasting from `shape` repeats.
pub(super) fn sum_to(shape: &Shape, cx: &Context<'_>) -> Kernel {
    let from = cx.args[0].shape.dims();
    let missing = from.len() - shape.rank();
    let wanted = |axis: usize| axis.checked_sub(missing).map_or(1, |i| shape.dims()[i]);
    let axes: Vec<i64> = (0..from.len()).filter(|&axis| from[axis] != wanted(axis)).map(dim).collect();
    let size = cx.size();
    if axes.is_empty() {
        return one(move |x| x.f_reshape(&size));
    }
    sums(cx, move |x| x.f_sum_dim_intlist(&axes[..], true, None)?.f_reshape(&size))
}

/// The axes that libtorch reduces: an empty list, which means all axes, if none is named.
fn axes(axis: Option<usize>) -> Vec<i64> {
    axis.map(dim).into_iter().collect()
}

/// The largest element; NaN if one is NaN.
pub(super) fn max(axis: Option<usize>) -> Kernel {
    let axes = axes(axis);
    one(move |x| x.f_amax(&axes, false))
}

/// The smallest element; NaN if one is NaN.
pub(super) fn min(axis: Option<usize>) -> Kernel {
    let axes = axes(axis);
    one(move |x| x.f_amin(&axes, false))
}

/// The position of the first largest element; the first NaN if there is one.
pub(super) fn arg_max(axis: Option<usize>) -> Kernel {
    let axis = axis.map(dim);
    one(move |x| x.f_argmax(axis, false))
}

/// The position of the first smallest element; the first NaN if there is one.
pub(super) fn arg_min(axis: Option<usize>) -> Kernel {
    let axis = axis.map(dim);
    one(move |x| x.f_argmin(axis, false))
}

/// Whether any element is true.
pub(super) fn any(axis: Option<usize>) -> Kernel {
    match axis.map(dim) {
        Some(axis) => one(move |x| x.f_any_dim(axis, false)),
        None => one(Tensor::f_any),
    }
}

/// Whether all elements are true.
pub(super) fn all(axis: Option<usize>) -> Kernel {
    match axis.map(dim) {
        Some(axis) => one(move |x| x.f_all_dim(axis, false)),
        None => one(Tensor::f_all),
    }
}

/// Running sums along an axis, from first to last or from last to first.
pub(super) fn cumsum(axis: usize, reverse: bool, cx: &Context<'_>) -> Kernel {
    let axis = dim(axis);
    if reverse {
        sums(cx, move |x| x.f_flip(axis)?.f_cumsum(axis, None)?.f_flip(axis))
    } else {
        sums(cx, move |x| x.f_cumsum(axis, None))
    }
}

/// The order along an axis: positions, or the last operand's elements at these positions. libtorch treats NaN as the
/// largest number, so NaN comes last in ascending order; for a descending order, the negative numbers are sorted.
pub(super) fn sort(op: &Op, axis: usize, descending: bool, cx: &Context<'_>) -> Kernel {
    let (axis, int) = (dim(axis), cx.is_int());
    let order = move |keys: &Tensor| -> Result<Tensor, TchError> {
        if int {
            return keys.f_argsort_stable(true, axis, descending);
        }
        // Adding 0 makes all zeros positive.
        let keys = if descending { keys.f_neg()? } else { keys.shallow_clone() };
        keys.f_add_scalar(0.0)?.f_argsort_stable(true, axis, false)
    };
    if matches!(op, Op::ArgSort { .. }) {
        return one(order);
    }
    Box::new(move |args, _| args[args.len() - 1].f_gather(axis, &order(args[0])?, false))
}
