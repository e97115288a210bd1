//! Arithmetic on ints, which may fail.

use tch::{Kind, TchError, Tensor};

use crate::kernel::Kernel;
use crate::watch::Watch;

/// A computation with libtorch that works for elements of any kind.
type Formula = fn(&[&Tensor]) -> Result<Tensor, TchError>;

fn doubles(x: &[&Tensor]) -> Result<Vec<Tensor>, TchError> {
    x.iter().map(|x| x.f_totype(Kind::Double)).collect()
}

/// An operator on ints whose result does not overflow if the same formula in double precision has a small result.
pub(super) fn watched(f: Formula) -> Kernel {
    Box::new(move |x, watch| {
        let image = doubles(x)?;
        watch.small(&f(&image.iter().collect::<Vec<_>>())?)?;
        f(x)
    })
}

/// Watches sums of ints that `f` adds up: no partial sum exceeds the sum of magnitudes.
pub(super) fn sums_fit(
    x: &Tensor,
    f: impl Fn(&Tensor) -> Result<Tensor, TchError>,
    watch: &mut Watch,
) -> Result<(), TchError> {
    watch.small(&f(&x.f_totype(Kind::Double)?.f_abs()?)?)
}

/// A watched sum of ints.
pub(super) fn watched_sum(f: impl Fn(&Tensor) -> Result<Tensor, TchError> + Send + Sync + 'static) -> Kernel {
    Box::new(move |x, watch| {
        sums_fit(x[0], &f, watch)?;
        f(x[0])
    })
}

/// The divisor with 1 in place of 0, by which libtorch refuses to divide, and of -1, by which the smallest int cannot
/// be divided; and the masks of both.
fn harmless(divisor: &Tensor) -> Result<[Tensor; 3], TchError> {
    let (zero, minus) = (divisor.f_eq(0_i64)?, divisor.f_eq(-1_i64)?);
    Ok([divisor.f_masked_fill(&zero.f_logical_or(&minus)?, 1_i64)?, zero, minus])
}

/// The quotient, truncated toward zero; 0 for a zero divisor. The negative of the smallest int overflows.
pub(super) fn int_div() -> Kernel {
    Box::new(|x, watch| {
        watch.all(&x[0].f_ne(i64::MIN)?)?;
        let [divisor, zero, minus] = harmless(x[1])?;
        let quotient = x[0].f_div_tensor_mode(&divisor, "trunc")?.f_masked_fill(&zero, 0_i64)?;
        x[0].f_neg()?.f_where_self(&minus, &quotient)
    })
}

/// The remainder with the sign of the divisor; the dividend for a zero divisor.
pub(super) fn int_mod(a: &Tensor, b: &Tensor) -> Result<Tensor, TchError> {
    let [divisor, zero, _] = harmless(b)?;
    a.f_where_self(&zero, &a.f_remainder_tensor(&divisor)?)
}

/// The remainder of nums with the sign of the divisor, also if it is 0.
pub(super) fn num_mod(a: &Tensor, b: &Tensor) -> Result<Tensor, TchError> {
    // libtorch's remainder is NaN if the quotient is huge. The remainder by a multiple of the divisor has the same
    // remainder, and an infinite multiple changes nothing.
    let scale = if a.kind() == Kind::Double { 2_f64.powi(900) } else { 2_f64.powi(100) };
    let far = b.f_mul_scalar(scale)?;
    let rest = a.f_fmod_tensor(&far.f_mul_scalar(scale)?)?.f_fmod_tensor(&far)?.f_fmod_tensor(b)?;
    let differs = rest.f_lt(0.0)?.f_ne_tensor(&b.f_lt(0.0)?)?;
    let kept = rest.f_add(b)?.f_where_self(&differs, &rest)?;
    let zero = kept.f_zeros_like()?.f_copysign(b)?;
    zero.f_where_self(&rest.f_eq(0.0)?, &kept)
}
