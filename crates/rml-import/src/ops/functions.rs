//! Functions of one number that the language makes of others.

use rml_ir::op::{Binary, Compare, Unary};

use super::Table;
use crate::build::{Builder, Call, Val};
use crate::elem::Elem;
use crate::refuse::Res;

pub(super) const TABLE: Table = &[
    ("Reciprocal", |b, c| with(b, c, |b, x| b.num(1.0).over(b, x))),
    ("Tan", |b, c| with(b, c, tan)),
    ("Asin", |b, c| with(b, c, asin)),
    ("Acos", |b, c| with(b, c, acos)),
    ("Atan", |b, c| with(b, c, |b, x| b.num(1.0).angle(b, x))),
    ("Sinh", |b, c| with(b, c, sinh)),
    ("Cosh", |b, c| with(b, c, cosh)),
    ("Asinh", |b, c| with(b, c, asinh)),
    ("Acosh", |b, c| with(b, c, acosh)),
    ("Atanh", |b, c| with(b, c, atanh)),
    ("Softsign", |b, c| with(b, c, softsign)),
    ("HardSigmoid", hard_sigmoid),
    ("HardSwish", |b, c| with(b, c, hard_swish)),
    ("LeakyRelu", |b, c| below(b, c, 0.01, |b, x, alpha| b.mul(&alpha, x))),
    ("PRelu", prelu),
    ("Elu", |b, c| below(b, c, 1.0, exponential)),
    ("Selu", selu),
    ("Celu", celu),
    ("ThresholdedRelu", thresholded),
    ("Shrink", shrink),
    ("Gelu", gelu),
    ("QuickGelu", quick_gelu),
    ("FastGelu", fast_gelu),
    ("BiasGelu", bias_gelu),
    ("Mish", |b, c| with(b, c, mish)),
    ("Swish", swish),
    ("IsNaN", |b, c| with(b, c, |b, x| b.compare(Compare::Ne, x, x))),
    ("IsInf", is_inf),
];

fn with(b: &mut Builder<'_>, call: &Call<'_>, f: fn(&mut Builder<'_>, &Val) -> Res<Val>) -> Res<Vec<Val>> {
    Ok(vec![f(b, call.arg(0)?)?])
}

impl Val {
    /// This number divided by `x`.
    fn over(&self, b: &mut Builder<'_>, x: &Val) -> Res<Val> {
        b.div(self, x)
    }

    /// The angle of the point of this abscissa and the ordinate `y`.
    fn angle(&self, b: &mut Builder<'_>, y: &Val) -> Res<Val> {
        b.binary(Binary::Atan2, y, self)
    }
}

fn tan(b: &mut Builder<'_>, x: &Val) -> Res<Val> {
    let (sin, cos) = (b.unary(Unary::Sin, x)?, b.unary(Unary::Cos, x)?);
    b.div(&sin, &cos)
}

/// `sqrt(1 - x x)`
fn leg(b: &mut Builder<'_>, x: &Val) -> Res<Val> {
    let (one, square) = (b.num(1.0), b.mul(x, x)?);
    let rest = b.sub(&one, &square)?;
    b.unary(Unary::Sqrt, &rest)
}

fn asin(b: &mut Builder<'_>, x: &Val) -> Res<Val> {
    let leg = leg(b, x)?;
    b.binary(Binary::Atan2, x, &leg)
}

fn acos(b: &mut Builder<'_>, x: &Val) -> Res<Val> {
    let leg = leg(b, x)?;
    b.binary(Binary::Atan2, &leg, x)
}

fn exps(b: &mut Builder<'_>, x: &Val) -> Res<(Val, Val)> {
    let minus = b.unary(Unary::Neg, x)?;
    Ok((b.unary(Unary::Exp, x)?, b.unary(Unary::Exp, &minus)?))
}

fn sinh(b: &mut Builder<'_>, x: &Val) -> Res<Val> {
    let (up, down) = exps(b, x)?;
    let (half, difference) = (b.num(0.5), b.sub(&up, &down)?);
    b.mul(&half, &difference)
}

fn cosh(b: &mut Builder<'_>, x: &Val) -> Res<Val> {
    let (up, down) = exps(b, x)?;
    let (half, sum) = (b.num(0.5), b.add(&up, &down)?);
    b.mul(&half, &sum)
}

/// `sign(x) log(|x| + sqrt(x x + 1))`
fn asinh(b: &mut Builder<'_>, x: &Val) -> Res<Val> {
    let (one, square, size) = (b.num(1.0), b.mul(x, x)?, b.unary(Unary::Abs, x)?);
    let sum = b.add(&square, &one)?;
    let root = b.unary(Unary::Sqrt, &sum)?;
    let total = b.add(&size, &root)?;
    let (log, sign) = (b.unary(Unary::Log, &total)?, b.unary(Unary::Sign, x)?);
    b.mul(&sign, &log)
}

fn acosh(b: &mut Builder<'_>, x: &Val) -> Res<Val> {
    let (one, square) = (b.num(1.0), b.mul(x, x)?);
    let rest = b.sub(&square, &one)?;
    let root = b.unary(Unary::Sqrt, &rest)?;
    let total = b.add(x, &root)?;
    b.unary(Unary::Log, &total)
}

fn atanh(b: &mut Builder<'_>, x: &Val) -> Res<Val> {
    let (half, minus) = (b.num(0.5), b.unary(Unary::Neg, x)?);
    let (up, down) = (b.unary(Unary::Log1p, x)?, b.unary(Unary::Log1p, &minus)?);
    let difference = b.sub(&up, &down)?;
    b.mul(&half, &difference)
}

fn softsign(b: &mut Builder<'_>, x: &Val) -> Res<Val> {
    let (one, size) = (b.num(1.0), b.unary(Unary::Abs, x)?);
    let sum = b.add(&one, &size)?;
    b.div(x, &sum)
}

/// `clip(alpha x + beta, 0, 1)`
pub(super) fn hard(b: &mut Builder<'_>, x: &Val, alpha: f64, beta: f64) -> Res<Val> {
    let (alpha, beta, zero, one) = (b.num(alpha), b.num(beta), b.num(0.0), b.num(1.0));
    let scaled = b.mul(&alpha, x)?;
    let moved = b.add(&scaled, &beta)?;
    b.pointwise(rml_ir::op::Op::Clip, &[&moved, &zero, &one], x.elem)
}

fn hard_sigmoid(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (alpha, beta) = (call.float("alpha", 0.2), call.float("beta", 0.5));
    Ok(vec![hard(b, call.arg(0)?, alpha, beta)?])
}

fn hard_swish(b: &mut Builder<'_>, x: &Val) -> Res<Val> {
    let gate = hard(b, x, 1.0 / 6.0, 0.5)?;
    b.mul(x, &gate)
}

/// `x` where it is at least 0, and something else below.
fn below(
    b: &mut Builder<'_>,
    call: &Call<'_>,
    default: f32,
    f: fn(&mut Builder<'_>, &Val, Val) -> Res<Val>,
) -> Res<Vec<Val>> {
    let (x, alpha, zero) = (call.arg(0)?, b.num(call.float("alpha", default)), b.num(0.0));
    let other = f(b, x, alpha)?;
    let low = b.compare(Compare::Lt, x, &zero)?;
    Ok(vec![b.choose(&low, &other, x)?])
}

/// `alpha (exp(x) - 1)`
fn exponential(b: &mut Builder<'_>, x: &Val, alpha: Val) -> Res<Val> {
    let e = b.unary(Unary::Expm1, x)?;
    b.mul(&alpha, &e)
}

fn prelu(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (x, slope, zero) = (call.arg(0)?, call.arg(1)?, b.num(0.0));
    let other = b.mul(slope, x)?;
    let low = b.compare(Compare::Lt, x, &zero)?;
    Ok(vec![b.choose(&low, &other, x)?])
}

fn selu(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let gamma = b.num(call.float("gamma", 1.050_701));
    let inner = below(b, call, 1.673_263_2, exponential)?;
    inner.iter().map(|x| b.mul(&gamma, x)).collect()
}

/// `max(0, x) + min(0, alpha (exp(x / alpha) - 1))`
fn celu(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (x, alpha, zero) = (call.arg(0)?, b.num(call.float("alpha", 1.0)), b.num(0.0));
    let scaled = b.div(x, &alpha)?;
    let curve = exponential(b, &scaled, alpha)?;
    let (low, high) = (b.binary(Binary::Minimum, &zero, &curve)?, b.unary(Unary::Relu, x)?);
    Ok(vec![b.add(&high, &low)?])
}

fn thresholded(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (x, alpha, zero) = (call.arg(0)?, b.num(call.float("alpha", 1.0)), b.num(0.0));
    let above = b.compare(Compare::Gt, x, &alpha)?;
    Ok(vec![b.choose(&above, x, &zero)?])
}

fn shrink(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let (bias, lambda) = (call.float("bias", 0.0), call.float("lambd", 0.5));
    let (bias, up, down, zero) = (b.num(bias), b.num(lambda), b.num(-lambda), b.num(0.0));
    let (less, more) = (b.sub(x, &bias)?, b.add(x, &bias)?);
    let (high, low) = (b.compare(Compare::Gt, x, &up)?, b.compare(Compare::Lt, x, &down)?);
    let other = b.choose(&low, &more, &zero)?;
    Ok(vec![b.choose(&high, &less, &other)?])
}

fn gelu(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    if call.text("approximate", "none") == "tanh" {
        Ok(vec![approximate(b, x)?])
    } else {
        with(b, call, |b, x| b.unary(Unary::Gelu, x))
    }
}

/// `0.5 x (1 + tanh(0.7978845608 (x + 0.044715 x x x)))`
fn approximate(b: &mut Builder<'_>, x: &Val) -> Res<Val> {
    let (half, one, root, cube) = (b.num(0.5), b.num(1.0), b.num(0.797_884_560_802_865_4), b.num(0.044_715));
    let square = b.mul(x, x)?;
    let third = b.mul(&square, x)?;
    let small = b.mul(&cube, &third)?;
    let sum = b.add(x, &small)?;
    let scaled = b.mul(&root, &sum)?;
    let tanh = b.unary(Unary::Tanh, &scaled)?;
    let gate = b.add(&one, &tanh)?;
    let halved = b.mul(&half, x)?;
    b.mul(&halved, &gate)
}

fn fast_gelu(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = match call.opt(1) {
        Some(bias) => b.add(call.arg(0)?, bias)?,
        None => call.arg(0)?.clone(),
    };
    Ok(vec![approximate(b, &x)?])
}

fn bias_gelu(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = b.add(call.arg(0)?, call.arg(1)?)?;
    Ok(vec![b.unary(Unary::Gelu, &x)?])
}

/// `x sigmoid(alpha x)`
fn gated(b: &mut Builder<'_>, x: &Val, alpha: f64) -> Res<Val> {
    let inner = if (alpha - 1.0).abs() < f64::EPSILON {
        x.clone()
    } else {
        let alpha = b.num(alpha);
        b.mul(&alpha, x)?
    };
    let gate = b.unary(Unary::Sigmoid, &inner)?;
    b.mul(x, &gate)
}

fn quick_gelu(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    Ok(vec![gated(b, call.arg(0)?, call.float("alpha", 1.702))?])
}

fn swish(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    Ok(vec![gated(b, call.arg(0)?, call.float("alpha", 1.0))?])
}

fn mish(b: &mut Builder<'_>, x: &Val) -> Res<Val> {
    let soft = b.unary(Unary::Softplus, x)?;
    let tanh = b.unary(Unary::Tanh, &soft)?;
    b.mul(x, &tanh)
}

fn is_inf(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let (up, down) = (b.num(f64::INFINITY), b.num(f64::NEG_INFINITY));
    let high = b.compare(Compare::Eq, x, &up)?;
    let low = b.compare(Compare::Eq, x, &down)?;
    Ok(vec![match (call.flag("detect_positive", true), call.flag("detect_negative", true)) {
        (true, true) => b.pointwise(rml_ir::op::Op::Or, &[&high, &low], Elem::Bool)?,
        (true, false) => high,
        (false, true) => low,
        (false, false) => {
            let no = Val::constant(Elem::Bool, rml_ir::Value::Bool(false));
            b.broadcast(&no, &x.dims())?
        }
    }])
}
