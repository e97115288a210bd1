//! The elementary functions, written once for both precisions and without branches, so that loops over them vectorise.
//!
//! Each is one sequence of IEEE operations with polynomials and constants of its precision ([`KernelNumber`]).

use crate::real::KernelNumber;

/// `exp(x)` as `2^n (1 + p)`: `p`, and `n` in the low bits of the second number.
#[inline(always)]
fn reduced<T: KernelNumber>(x: T) -> (T, T) {
    let t = x.mul_add(T::LOG2_E, T::MAGIC);
    let n = t - T::MAGIC;
    let r = n.mul_add(-T::LN2_HI, x);
    let r = n.mul_add(-T::LN2_LO, r);
    ((r * r).mul_add(T::exp_rest(r), r), t)
}

#[inline(always)]
fn at_most<T: KernelNumber>(x: T, bound: T) -> T {
    if x > bound { bound } else { x }
}

#[inline(always)]
fn at_least<T: KernelNumber>(x: T, bound: T) -> T {
    if x < bound { bound } else { x }
}

#[inline(always)]
pub(crate) fn exp<T: KernelNumber>(x: T) -> T {
    let (p, t) = reduced(at_least(at_most(x, T::EXP_MAX), T::EXP_MIN));
    let (a, b) = T::powers_of_two(t);
    (p + T::ONE) * a * b
}

/// `exp(x) - 1` for `x` in `0..=T::EXPM1_SMALL`.
#[inline(always)]
fn expm1_above<T: KernelNumber>(x: T) -> T {
    let (p, t) = reduced(x);
    let s = T::power_of_two(t);
    s.mul_add(p, s - T::ONE)
}

#[inline(always)]
pub(crate) fn expm1<T: KernelNumber>(x: T) -> T {
    let (p, t) = reduced(at_least(at_most(x, T::EXP_MAX), T::EXPM1_MIN));
    // Half of it, so that the largest results do not overflow on the way.
    let s = T::power_of_two(t - T::ONE);
    let y = s.mul_add(p, s - T::HALF);
    if x.abs() < T::TINY { x } else { y + y }
}

#[inline(always)]
pub(crate) fn tanh<T: KernelNumber>(x: T) -> T {
    let y = at_most(x.abs(), T::TANH_ONE);
    let e = expm1_above(y + y);
    (e / (e + T::TWO)).with_sign_of(x)
}

#[inline(always)]
pub(crate) fn sigmoid<T: KernelNumber>(x: T) -> T {
    let e = exp(-x.abs());
    let above = if x < T::ZERO { e } else { T::ONE };
    above / (e + T::ONE)
}

/// `log(1 + f) + k log 2` for `1 + f` between the square roots of 1/2 and 2.
#[inline(always)]
fn log_of<T: KernelNumber>(f: T, k: T) -> T {
    let s = f / (f + T::TWO);
    let z = s * s;
    let half = T::HALF * f * f;
    let r = z * T::log_rest(z);
    // k ln2_hi + (f - (half - (s (half + r) + k ln2_lo)))
    let low = s.mul_add(half + r, k * T::LN2_SHORT_LO);
    k.mul_add(T::LN2_SHORT, f - (half - low))
}

#[inline(always)]
pub(crate) fn log<T: KernelNumber>(x: T) -> T {
    let small = x < T::SMALLEST_NORMAL;
    let (m, k) = (if small { x * T::RAISE } else { x }).split();
    let y = log_of(m - T::ONE, if small { k - T::RAISED } else { k });
    let y = if x < T::INFINITY { y } else { x };
    let y = if x == T::ZERO { -T::INFINITY } else { y };
    if x < T::ZERO { T::NAN } else { y }
}

#[inline(always)]
pub(crate) fn log1p<T: KernelNumber>(x: T) -> T {
    let u = x + T::ONE;
    let (m, k) = u.split();
    // (1 + x) / 2^k - 1, rounded once.
    let s = T::power_of_two(T::MAGIC - k);
    let f = x.mul_add(s, s - T::ONE);
    let y = log_of(if x > T::BIG { m - T::ONE } else { f }, k);
    let y = if x < T::INFINITY { y } else { x };
    let y = if x.abs() < T::TINY { x } else { y };
    let y = if x == -T::ONE { -T::INFINITY } else { y };
    if x < -T::ONE { T::NAN } else { y }
}

#[inline(always)]
pub(crate) fn softplus<T: KernelNumber>(x: T) -> T {
    at_least(x, T::ZERO) + log1p(exp(-x.abs()))
}

/// `exp(-a^2 / 2)` and `exp(-a^2)`: the square is taken exactly. `scale` is -1/2 or -1.
#[inline(always)]
fn exp_of_square<T: KernelNumber>(a: T, scale: T) -> T {
    let hi = a * a;
    let lo = a.mul_add(a, -hi);
    let e = exp(hi * scale);
    e.mul_add(lo * scale, e)
}

/// `erfc(z) exp(z^2)` for `z >= 0`.
#[inline(always)]
fn erfcx<T: KernelNumber>(z: T) -> T {
    let t = (z - T::ERFC_CENTRE) / (z + T::ERFC_CENTRE);
    T::erfc_scaled(t) / z.mul_add(T::TWO, T::ONE)
}

#[inline(always)]
pub(crate) fn erf<T: KernelNumber>(x: T) -> T {
    let z = at_most(x.abs(), T::ERFC_MAX);
    let near = z.mul_add(T::erf_rest(z * z), z);
    let far = T::ONE - exp_of_square(z, -T::ONE) * erfcx(z);
    (if z < T::ERF_NEAR { near } else { far }).with_sign_of(x)
}

#[inline(always)]
pub(crate) fn gelu<T: KernelNumber>(x: T) -> T {
    let a = at_most(x.abs(), T::GELU_MAX);
    // erfc(a / sqrt 2)
    let tail = exp_of_square(a, -T::HALF) * erfcx(a * T::SQRT_HALF);
    let below = T::HALF * a * tail;
    let y = if x < T::ZERO { -below } else { x - below };
    let y = if x == -T::INFINITY { T::ZERO } else { y };
    if x.is_nan() { x } else { y }
}

/// `x - n pi/2` for the nearest `n`, which stands in the low bits of the second number.
#[inline(always)]
fn quadrant<T: KernelNumber>(x: T) -> (T, T) {
    let t = x.mul_add(T::TWO_OVER_PI, T::MAGIC);
    let n = t - T::MAGIC;
    let r = n.mul_add(-T::HALF_PI[0], x);
    let r = n.mul_add(-T::HALF_PI[1], r);
    (n.mul_add(-T::HALF_PI[2], r), t)
}

#[inline(always)]
fn sine_at<T: KernelNumber>(r: T, t: T) -> T {
    let z = r * r;
    let sin = (r * z).mul_add(T::sin_rest(z), r);
    let half = T::HALF * z;
    let w = T::ONE - half;
    let cos = w + (z * z).mul_add(T::cos_rest(z), (T::ONE - w) - half);
    let y = if t.is_odd() { cos } else { sin };
    y.negated_if_second_bit(t)
}

/// `sin(x)` for `|x| <= T::FAR`.
#[inline(always)]
pub(crate) fn sin<T: KernelNumber>(x: T) -> T {
    let (r, t) = quadrant(x);
    let y = sine_at(r, t);
    if x == T::ZERO { x } else { y }
}

/// `cos(x)` for `|x| <= T::FAR`.
#[inline(always)]
pub(crate) fn cos<T: KernelNumber>(x: T) -> T {
    let (r, t) = quadrant(x);
    sine_at(r, t + T::ONE)
}

#[inline(always)]
pub(crate) fn relu<T: KernelNumber>(x: T) -> T {
    x.positive_part()
}

#[inline(always)]
pub(crate) fn flush<T: KernelNumber>(x: T) -> T {
    if x.abs() < T::NEGLIGIBLE { T::ZERO } else { x }
}

#[inline(always)]
pub(crate) fn sign<T: KernelNumber>(x: T) -> T {
    let y = if x > T::ZERO { T::ONE } else { -T::ONE };
    let y = if x == T::ZERO { T::ZERO } else { y };
    if x.is_nan() { x } else { y }
}

/// The smaller one; NaN wins.
#[inline(always)]
pub(crate) fn least<T: KernelNumber>(a: T, b: T) -> T {
    if a <= b || a.is_nan() { a } else { b }
}

/// The larger one; NaN wins.
#[inline(always)]
pub(crate) fn greatest<T: KernelNumber>(a: T, b: T) -> T {
    if a >= b || a.is_nan() { a } else { b }
}

/// `log(exp(a) + exp(b))`. Equal operands, infinite ones too, have no distance.
#[inline(always)]
pub(crate) fn logaddexp<T: KernelNumber>(a: T, b: T) -> T {
    let distance = if a == b { T::ZERO } else { (a - b).abs() };
    greatest(a, b) + log1p(exp(-distance))
}

/// `a` to the power of `b`, in double precision. A square is the product, and the power 1 is `a` times 1.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "rounding is meant")]
pub(crate) fn pow(a: f32, b: f32) -> f32 {
    let (x, y) = (f64::from(a), f64::from(b));
    let even = y * 0.5;
    let (is_int, is_even) = (y.floor() == y, even.floor() == even);
    let size = exp(y * log(x.abs()));
    let size = if x.abs() == 1.0 { 1.0 } else { size };
    let signed = if is_int && !is_even { size.with_sign_of(x) } else { size };
    let inside = if x < 0.0 && !is_int && x.abs() < f64::INFINITY { f64::NAN } else { signed };
    let inside = if y == 1.0 { x } else { inside };
    let inside = if y == 2.0 { x * x } else { inside };
    (if x == 1.0 || y == 0.0 { 1.0 } else { inside }) as f32
}
