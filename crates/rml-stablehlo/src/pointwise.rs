//! Operators element by element.

use rml_ir::op::{self, Op};
use rml_ir::{Precision, Shape};

use super::shape::Compare;
use super::text::{Elem, Ssa, Text};
use super::{CHECKED, integer};

/// Operators of one operand; `num` is how numbers are stored.
pub(super) fn unary(t: &mut Text, op: &Op, x: &Ssa, num: Elem) -> Ssa {
    match op {
        Op::Neg => t.map("negate", x),
        Op::Not => t.map("not", x),
        Op::Abs => t.map("abs", x),
        Op::Sign => t.map("sign", x),
        Op::Exp => t.map("exponential", x),
        Op::Expm1 => t.map("exponential_minus_one", x),
        Op::Log => t.map("log", x),
        Op::Log1p => t.map("log_plus_one", x),
        Op::Sqrt => t.map("sqrt", x),
        Op::Sin => t.map("sine", x),
        Op::Cos => t.map("cosine", x),
        Op::Erf => t.chlo("erf", x),
        Op::Sigmoid => t.map("logistic", x),
        Op::Tanh => t.map("tanh", x),
        Op::Relu => relu(t, x),
        Op::Flush => flush(t, x),
        Op::Gelu => gelu(t, x),
        Op::Softplus => softplus(t, x),
        Op::Floor => t.map("floor", x),
        Op::Ceil => t.map("ceil", x),
        Op::Round => t.map("round_nearest_even", x),
        Op::ToNum => t.convert(x, num),
        Op::ToInt => t.convert(x, Elem::I64),
        Op::ToBool => t.compare_to(Compare::Ne, x, 0.0),
        _ => unreachable!("{CHECKED}"),
    }
}

fn relu(t: &mut Text, x: &Ssa) -> Ssa {
    let zero = t.splat(0.0, &x.ty);
    let above = t.compare(Compare::Gt, x, &zero);
    t.select(&above, x, &zero)
}

fn flush(t: &mut Text, x: &Ssa) -> Ssa {
    let precision = if x.ty.elem == Elem::F32 { Precision::F32 } else { Precision::F64 };
    let size = t.map("abs", x);
    let vanishes = t.compare_to(Compare::Lt, &size, op::negligible(precision));
    let zero = t.splat(0.0, &x.ty);
    t.select(&vanishes, &zero, x)
}

/// `0.5 x erfc(-x / sqrt 2)`; 0 at -inf.
fn gelu(t: &mut Text, x: &Ssa) -> Ssa {
    let scale = t.splat(-std::f64::consts::FRAC_1_SQRT_2, &x.ty);
    let scaled = t.zip("multiply", x, &scale);
    let tail = t.chlo("erfc", &scaled);
    let half = t.splat(0.5, &x.ty);
    let half = t.zip("multiply", x, &half);
    let product = t.zip("multiply", &half, &tail);
    let zero = t.splat(0.0, &x.ty);
    let lowest = t.compare_to(Compare::Eq, x, f64::NEG_INFINITY);
    t.select(&lowest, &zero, &product)
}

/// `max(x, 0) + log(1 + exp(-|x|))`.
fn softplus(t: &mut Text, x: &Ssa) -> Ssa {
    let zero = t.splat(0.0, &x.ty);
    let above = t.zip("maximum", x, &zero);
    let size = t.map("abs", x);
    let negated = t.map("negate", &size);
    let small = t.map("exponential", &negated);
    let rest = t.map("log_plus_one", &small);
    t.zip("add", &above, &rest)
}

/// `a` to the power `b`. Subnormal operands are taken for zeros, since XLA's logarithm of one would be neither that of the number nor that
/// of 0.
fn power(t: &mut Text, a: &Ssa, b: &Ssa) -> Ssa {
    let (a, b) = (normal(t, a), normal(t, b));
    t.zip("power", &a, &b)
}

/// `x` with zeros of their sign for its subnormal numbers.
fn normal(t: &mut Text, x: &Ssa) -> Ssa {
    let least = if x.ty.elem == Elem::F32 { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
    let size = t.map("abs", x);
    let vanishes = t.compare_to(Compare::Lt, &size, least);
    let zero = t.splat(0.0, &x.ty);
    let signed = t.zip("multiply", x, &zero);
    t.select(&vanishes, &signed, x)
}

/// Operators of two operands, which broadcast to `shape`.
pub(super) fn binary(t: &mut Text, op: &Op, a: &Ssa, b: &Ssa, shape: &Shape) -> Ssa {
    let (a, b) = (&t.broadcast(a, shape), &t.broadcast(b, shape));
    match op {
        Op::Add => t.zip("add", a, b),
        Op::Sub => t.zip("subtract", a, b),
        Op::Mul => t.zip("multiply", a, b),
        Op::Div if a.ty.elem == Elem::I64 => integer::divide(t, a, b),
        Op::Div => t.zip("divide", a, b),
        Op::Mod => integer::modulo(t, a, b),
        Op::Pow => power(t, a, b),
        Op::Minimum => t.zip("minimum", a, b),
        Op::Maximum => t.zip("maximum", a, b),
        Op::And => t.zip("and", a, b),
        Op::Or => t.zip("or", a, b),
        Op::Eq => t.compare(Compare::Eq, a, b),
        Op::Ne => t.compare(Compare::Ne, a, b),
        Op::Lt => t.compare(Compare::Lt, a, b),
        Op::Le => t.compare(Compare::Le, a, b),
        Op::Gt => t.compare(Compare::Gt, a, b),
        Op::Ge => t.compare(Compare::Ge, a, b),
        _ => unreachable!("{CHECKED}"),
    }
}

/// Operators of three operands, which broadcast to `shape`.
pub(super) fn ternary(t: &mut Text, op: &Op, args: &[&Ssa], shape: &Shape) -> Ssa {
    let [a, b, c] = args else { unreachable!("{CHECKED}") };
    let (a, b, c) = (&t.broadcast(a, shape), &t.broadcast(b, shape), &t.broadcast(c, shape));
    match op {
        Op::Clip => {
            let above = t.zip("maximum", a, b);
            t.zip("minimum", &above, c)
        }
        Op::Where => t.select(a, b, c),
        _ => unreachable!("{CHECKED}"),
    }
}
