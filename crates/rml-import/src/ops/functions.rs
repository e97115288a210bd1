//! Functions of one number that the language makes of others.

use rml_ir::op::{Binary, Compare, Unary};

use super::Table;
use super::formula::{Term, formula};
use crate::build::{Builder, Call, Val};
use crate::elem::Elem;
use crate::refuse::Res;

pub(super) const TABLE: Table = &[
    ("Reciprocal", |b, c| of(b, c, |x| 1.0 / x)),
    ("Tan", |b, c| of(b, c, |x| x.to(Unary::Sin) / x.to(Unary::Cos))),
    ("Asin", |b, c| of(b, c, |x| x.with(Binary::Atan2, leg(x)))),
    ("Acos", |b, c| of(b, c, |x| leg(x).with(Binary::Atan2, x))),
    ("Atan", |b, c| of(b, c, |x| x.with(Binary::Atan2, x.num(1.0)))),
    ("Sinh", |b, c| of(b, c, |x| 0.5 * (x.to(Unary::Exp) - (-x).to(Unary::Exp)))),
    ("Cosh", |b, c| of(b, c, |x| 0.5 * (x.to(Unary::Exp) + (-x).to(Unary::Exp)))),
    ("Asinh", |b, c| of(b, c, asinh)),
    ("Acosh", |b, c| of(b, c, |x| (x + (x * x - 1.0).sqrt()).to(Unary::Log))),
    ("Atanh", |b, c| of(b, c, |x| 0.5 * (x.to(Unary::Log1p) - (-x).to(Unary::Log1p)))),
    ("Softsign", |b, c| of(b, c, softsign)),
    ("HardSigmoid", |b, c| two(b, c, [("alpha", 0.2), ("beta", 0.5)], hard)),
    ("HardSwish", |b, c| of(b, c, |x| x * hard(x, 1.0 / 6.0, 0.5))),
    ("LeakyRelu", |b, c| one(b, c, "alpha", 0.01, leaky)),
    ("PRelu", |b, c| Ok(vec![formula(b, [c.arg(0)?, c.arg(1)?], |[x, slope]| below_zero(x, slope * x))?])),
    ("Elu", |b, c| one(b, c, "alpha", 1.0, |x, alpha| below_zero(x, exponential(x, alpha)))),
    ("Selu", |b, c| two(b, c, [("gamma", 1.050_701), ("alpha", 1.673_263_2)], selu)),
    ("Celu", |b, c| one(b, c, "alpha", 1.0, celu)),
    ("ThresholdedRelu", |b, c| one(b, c, "alpha", 1.0, thresholded)),
    ("Shrink", |b, c| two(b, c, [("bias", 0.0), ("lambd", 0.5)], shrink)),
    ("Gelu", gelu),
    ("QuickGelu", |b, c| one(b, c, "alpha", 1.702, gated)),
    ("FastGelu", fast_gelu),
    ("BiasGelu", |b, c| {
        Ok(vec![formula(b, [c.arg(0)?, c.arg(1)?], |[x, bias]| (x + bias).to(Unary::Gelu))?])
    }),
    ("Mish", |b, c| of(b, c, |x| x * x.to(Unary::Softplus).to(Unary::Tanh))),
    ("Swish", |b, c| one(b, c, "alpha", 1.0, gated)),
    ("IsNaN", |b, c| of(b, c, |x| x.is(Compare::Ne, x))),
    ("IsInf", is_inf),
];

/// A function of the operand.
fn of(b: &mut Builder<'_>, call: &Call<'_>, f: impl for<'t> FnOnce(Term<'t>) -> Term<'t>) -> Res<Vec<Val>> {
    Ok(vec![formula(b, [call.arg(0)?], |[x]| f(x))?])
}

/// A function of the operand and the number that an attribute is.
fn one(
    b: &mut Builder<'_>,
    call: &Call<'_>,
    name: &str,
    default: f32,
    f: impl for<'t> FnOnce(Term<'t>, f64) -> Term<'t>,
) -> Res<Vec<Val>> {
    of(b, call, |x| f(x, call.float(name, default)))
}

/// A function of the operand and two such numbers.
fn two(
    b: &mut Builder<'_>,
    call: &Call<'_>,
    [(p, of_p), (q, of_q)]: [(&str, f32); 2],
    f: impl for<'t> FnOnce(Term<'t>, f64, f64) -> Term<'t>,
) -> Res<Vec<Val>> {
    of(b, call, |x| f(x, call.float(p, of_p), call.float(q, of_q)))
}

fn leg(x: Term<'_>) -> Term<'_> {
    (1.0 - x * x).sqrt()
}

fn asinh(x: Term<'_>) -> Term<'_> {
    x.to(Unary::Sign) * (x.to(Unary::Abs) + (x * x + 1.0).sqrt()).to(Unary::Log)
}

pub(super) fn softsign(x: Term<'_>) -> Term<'_> {
    x / (1.0 + x.to(Unary::Abs))
}

pub(super) fn hard(x: Term<'_>, alpha: f64, beta: f64) -> Term<'_> {
    (alpha * x + beta).clip(0.0, 1.0)
}

/// `x` where it is at least 0, and something else below.
fn below_zero<'t>(x: Term<'t>, other: Term<'t>) -> Term<'t> {
    x.is(Compare::Lt, x.num(0.0)).choose(other, x)
}

pub(super) fn leaky(x: Term<'_>, alpha: f64) -> Term<'_> {
    below_zero(x, alpha * x)
}

/// `alpha (exp(x) - 1)`
fn exponential(x: Term<'_>, alpha: f64) -> Term<'_> {
    alpha * x.to(Unary::Expm1)
}

fn selu(x: Term<'_>, gamma: f64, alpha: f64) -> Term<'_> {
    gamma * below_zero(x, exponential(x, alpha))
}

/// `max(0, x) + min(0, alpha (exp(x / alpha) - 1))`
fn celu(x: Term<'_>, alpha: f64) -> Term<'_> {
    x.to(Unary::Relu) + x.num(0.0).with(Binary::Minimum, exponential(x / alpha, alpha))
}

pub(super) fn elu(x: Term<'_>, alpha: f64) -> Term<'_> {
    x.to(Unary::Relu) + exponential(x, alpha).with(Binary::Minimum, x.num(0.0))
}

pub(super) fn thresholded(x: Term<'_>, alpha: f64) -> Term<'_> {
    x.is(Compare::Gt, x.num(alpha)).choose(x, x.num(0.0))
}

fn shrink(x: Term<'_>, bias: f64, lambda: f64) -> Term<'_> {
    let low = x.is(Compare::Lt, x.num(-lambda)).choose(x + bias, x.num(0.0));
    x.is(Compare::Gt, x.num(lambda)).choose(x - bias, low)
}

fn gelu(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let tanh = call.text("approximate", "none") == "tanh";
    of(b, call, |x| if tanh { approximate(x) } else { x.to(Unary::Gelu) })
}

/// The one by `tanh`.
fn approximate(x: Term<'_>) -> Term<'_> {
    0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044_715 * (x * x * x))).to(Unary::Tanh))
}

fn fast_gelu(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    match call.opt(1) {
        Some(bias) => Ok(vec![formula(b, [call.arg(0)?, bias], |[x, bias]| approximate(x + bias))?]),
        None => of(b, call, approximate),
    }
}

/// `x sigmoid(alpha x)`
fn gated(x: Term<'_>, alpha: f64) -> Term<'_> {
    let inner = if (alpha - 1.0).abs() < f64::EPSILON { x } else { alpha * x };
    x * inner.to(Unary::Sigmoid)
}

fn is_inf(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (up, down) = (f64::INFINITY, f64::NEG_INFINITY);
    match (call.flag("detect_positive", true), call.flag("detect_negative", true)) {
        (true, true) => of(b, call, |x| x.is(Compare::Eq, x.num(up)).or(x.is(Compare::Eq, x.num(down)))),
        (true, false) => of(b, call, |x| x.is(Compare::Eq, x.num(up))),
        (false, true) => of(b, call, |x| x.is(Compare::Eq, x.num(down))),
        (false, false) => {
            let no = Val::constant(Elem::Bool, rml_ir::Value::Bool(false));
            Ok(vec![b.broadcast(&no, &call.arg(0)?.dims())?])
        }
    }
}
