//! Operators element by element.

use rml_ir::Precision;
use rml_ir::op::{self, Op};

use super::CHECKED;
use crate::integer;
use crate::net::{Elem, Net, V};

/// Operators of one operand; `num` is how numbers are stored.
pub(super) fn unary(net: &mut Net, op: &Op, x: &V, num: Elem) -> V {
    match op {
        Op::Neg => net.map("Neg", x),
        Op::Not => net.map("Not", x),
        Op::Abs => net.map("Abs", x),
        Op::Sign => sign(net, x),
        Op::Exp => net.map("Exp", x),
        Op::Expm1 => expm1(net, x),
        Op::Log => net.map("Log", x),
        Op::Log1p => log1p(net, x),
        Op::Sqrt => net.map("Sqrt", x),
        Op::Sin => net.map("Sin", x),
        Op::Cos => net.map("Cos", x),
        Op::Erf => net.map("Erf", x),
        Op::Sigmoid => net.map("Sigmoid", x),
        Op::Tanh => net.map("Tanh", x),
        Op::Relu => relu(net, x),
        Op::Flush => flush(net, x),
        Op::Gelu => gelu(net, x),
        Op::Softplus => softplus(net, x),
        Op::Floor => net.map("Floor", x),
        Op::Ceil => net.map("Ceil", x),
        Op::Round => net.map("Round", x),
        Op::ToNum => net.cast(x, num),
        Op::ToInt => net.cast(x, Elem::I64),
        Op::ToBool => net.cast(x, Elem::Bool),
        _ => unreachable!("{CHECKED}"),
    }
}

/// NaN for NaN.
fn sign(net: &mut Net, x: &V) -> V {
    let sign = net.map("Sign", x);
    if !x.elem.is_float() {
        return sign;
    }
    let nan = net.compare_one("IsNaN", x);
    net.select(&nan, x, &sign)
}

/// `tanh(x / 2) (exp(x) + 1)`.
fn expm1(net: &mut Net, x: &V) -> V {
    let (half, one) = (net.scalar(0.5, x.elem), net.scalar(1.0, x.elem));
    let half = net.zip("Mul", x, &half);
    let tanh = net.map("Tanh", &half);
    let exp = net.map("Exp", x);
    let sum = net.zip("Add", &exp, &one);
    net.zip("Mul", &tanh, &sum)
}

/// `log(u) x / (u - 1)` with `u = 1 + x`, and `x` where that is 1: the error of `u` cancels out.
fn log1p(net: &mut Net, x: &V) -> V {
    let (one, most) = (net.scalar(1.0, x.elem), net.scalar(f64::INFINITY, x.elem));
    let u = net.zip("Add", x, &one);
    let log = net.map("Log", &u);
    let rest = net.zip("Sub", &u, &one);
    let share = net.zip("Div", x, &rest);
    let product = net.zip("Mul", &log, &share);
    let (small, large) = (net.compare("Equal", &u, &one), net.compare("Equal", &u, &most));
    let finite = net.select(&large, &log, &product);
    net.select(&small, x, &finite)
}

/// 0 also for NaN, of which the operator `Relu` does not speak.
fn relu(net: &mut Net, x: &V) -> V {
    let zero = net.scalar(0.0, x.elem);
    let above = net.compare("Greater", x, &zero);
    net.select(&above, x, &zero)
}

fn flush(net: &mut Net, x: &V) -> V {
    let precision = if x.elem == Elem::F32 { Precision::F32 } else { Precision::F64 };
    let (zero, least) = (net.scalar(0.0, x.elem), net.scalar(op::negligible(precision), x.elem));
    let size = net.map("Abs", x);
    let vanishes = net.compare("Less", &size, &least);
    net.select(&vanishes, &zero, x)
}

/// `0.5 x (1 + erf(x / sqrt 2))`; 0 at -inf.
fn gelu(net: &mut Net, x: &V) -> V {
    let scale = net.scalar(std::f64::consts::FRAC_1_SQRT_2, x.elem);
    let (one, half) = (net.scalar(1.0, x.elem), net.scalar(0.5, x.elem));
    let scaled = net.zip("Mul", x, &scale);
    let erf = net.map("Erf", &scaled);
    let share = net.zip("Add", &erf, &one);
    let half = net.zip("Mul", x, &half);
    let product = net.zip("Mul", &half, &share);
    let (zero, least) = (net.scalar(0.0, x.elem), net.scalar(f64::NEG_INFINITY, x.elem));
    let lowest = net.compare("Equal", x, &least);
    net.select(&lowest, &zero, &product)
}

/// `max(x, 0) + log(1 + exp(-|x|))`.
fn softplus(net: &mut Net, x: &V) -> V {
    let zero = net.scalar(0.0, x.elem);
    let below = net.compare("Less", x, &zero);
    let above = net.select(&below, &zero, x);
    let size = net.map("Abs", x);
    let negated = net.map("Neg", &size);
    let small = net.map("Exp", &negated);
    let rest = log1p(net, &small);
    net.zip("Add", &above, &rest)
}

/// Operators of two operands, which broadcast.
pub(super) fn binary(net: &mut Net, op: &Op, a: &V, b: &V) -> V {
    match op {
        Op::Add => net.zip("Add", a, b),
        Op::Sub => net.zip("Sub", a, b),
        Op::Mul => net.zip("Mul", a, b),
        Op::Div if a.elem == Elem::I64 => integer::divide(net, a, b),
        Op::Div => net.zip("Div", a, b),
        Op::Mod => integer::modulo(net, a, b),
        Op::Pow => net.zip("Pow", a, b),
        Op::Minimum => extreme(net, a, b, "Less"),
        Op::Maximum => extreme(net, a, b, "Greater"),
        Op::And => net.zip("And", a, b),
        Op::Or => net.zip("Or", a, b),
        Op::Eq => net.compare("Equal", a, b),
        Op::Ne => {
            let same = net.compare("Equal", a, b);
            net.map("Not", &same)
        }
        Op::Lt => net.compare("Less", a, b),
        Op::Le => net.compare("LessOrEqual", a, b),
        Op::Gt => net.compare("Greater", a, b),
        Op::Ge => net.compare("GreaterOrEqual", a, b),
        _ => unreachable!("{CHECKED}"),
    }
}

/// The smaller or larger one; NaN wins, of which `Min` and `Max` do not speak.
fn extreme(net: &mut Net, a: &V, b: &V, beats: &str) -> V {
    let mut first = net.compare(beats, a, b);
    if a.elem.is_float() {
        let nan = net.compare_one("IsNaN", a);
        first = net.zip("Or", &first, &nan);
    }
    net.select(&first, a, b)
}

/// `min(max(x, lo), hi)`.
pub(super) fn clip(net: &mut Net, x: &V, lo: &V, hi: &V) -> V {
    let above = extreme(net, x, lo, "Greater");
    extreme(net, &above, hi, "Less")
}
