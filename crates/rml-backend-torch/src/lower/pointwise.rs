//! Operators of one operand, element by element, if libtorch's own operators differ from the specification.

use rml_ir::{DType, op};
use tch::{Kind, TchError, Tensor};

use crate::ffi::Shared;
use crate::kernel::{Context, Kernel, one};

/// A scalar of the result's kind.
fn scalar(x: f64, cx: &Context<'_>) -> Result<Shared, TchError> {
    Tensor::f_full([0_i64; 0], x, cx.options()).map(Shared::new)
}

/// -1, 0 or 1, and NaN for NaN, for which libtorch gives 0.
pub(super) fn sign(x: &Tensor) -> Result<Tensor, TchError> {
    x.f_where_self(&x.f_isnan()?, &x.f_sign()?)
}

/// The larger one of the operand and 0; 0 for NaN.
pub(super) fn relu(cx: &Context<'_>) -> Result<Kernel, TchError> {
    let zero = scalar(0.0, cx)?;
    Ok(one(move |x| x.f_fmax(zero.get())))
}

/// The operand, with 0 in place of negligible numbers.
pub(super) fn flush(cx: &Context<'_>) -> Result<Kernel, TchError> {
    let (zero, least) = (scalar(0.0, cx)?, op::negligible(cx.precision));
    Ok(one(move |x| zero.get().f_where_self(&x.f_abs()?.f_lt(least)?, x)))
}

/// `0.5 x erfc(-x / sqrt 2)`; libtorch's gelu overflows for the largest numbers and is imprecise near 0. Below -40 the
/// result is 0 in both precisions, but -inf times 0 would not be.
pub(super) fn gelu(x: &Tensor) -> Result<Tensor, TchError> {
    let x = x.f_clamp_min(-40.0)?;
    let share = x.f_mul_scalar(-std::f64::consts::FRAC_1_SQRT_2)?.f_erfc()?;
    x.f_mul_scalar(0.5)?.f_mul(&share)
}

/// `log(exp(x) + exp(0))`; libtorch's softplus is linear from 20 on, which is not exact in double precision.
pub(super) fn softplus(cx: &Context<'_>) -> Result<Kernel, TchError> {
    let zero = scalar(0.0, cx)?;
    Ok(one(move |x| x.f_logaddexp(zero.get())))
}

/// Converts elements to another kind.
pub(super) fn cast(to: Kind) -> Kernel {
    one(move |x| x.f_totype(to))
}

/// Truncates toward zero, if the result does not overflow.
pub(super) fn to_int(cx: &Context<'_>) -> Kernel {
    if cx.args[0].dtype != DType::Num {
        return cast(Kind::Int64);
    }
    Box::new(|x, watch| {
        watch.small(x[0])?;
        x[0].f_totype(Kind::Int64)
    })
}
