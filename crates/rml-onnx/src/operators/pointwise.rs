//! Operators element by element.

use rml_ir::op::{self, Binary, Compare, Unary};
use rml_ir::{DType, Precision};

use crate::integer;
use crate::net::{Attr, Elem, Net, V, broadcast};

/// Functions of one operand.
pub(super) fn unary(net: &mut Net, f: Unary, x: &V) -> V {
    match f {
        Unary::Neg => net.map("Neg", x),
        Unary::Abs => net.map("Abs", x),
        Unary::Sign => sign(net, x),
        Unary::Exp => net.map("Exp", x),
        Unary::Expm1 => expm1(net, x),
        Unary::Log => net.map("Log", x),
        Unary::Log1p => log1p(net, x),
        Unary::Sqrt => net.map("Sqrt", x),
        Unary::Sin => net.map("Sin", x),
        Unary::Cos => net.map("Cos", x),
        Unary::Erf => net.map("Erf", x),
        Unary::Sigmoid => net.map("Sigmoid", x),
        Unary::Tanh => net.map("Tanh", x),
        Unary::Relu => relu(net, x),
        Unary::Flush => flush(net, x),
        Unary::Gelu => gelu(net, x),
        Unary::Softplus => softplus(net, x),
        Unary::Floor => net.map("Floor", x),
        Unary::Ceil => net.map("Ceil", x),
        Unary::Round => net.map("Round", x),
    }
}

/// Converts to another element type; `num` is the element type of numbers.
pub(super) fn convert(net: &mut Net, to: DType, x: &V, num: Elem) -> V {
    match to {
        DType::Num => net.cast(x, num),
        DType::Int => net.cast(x, Elem::I64),
        DType::Bool => net.cast(x, Elem::Bool),
    }
}

/// The sign; NaN for NaN.
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

/// `log(u) x / (u - 1)` with `u = 1 + x`, and `x` where `u` is 1: the error of `u` cancels out.
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

/// The positive part; 0 for NaN, for which `Relu` is not specified.
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

/// Functions of two operands, which broadcast.
pub(super) fn binary(net: &mut Net, f: Binary, a: &V, b: &V) -> V {
    match f {
        Binary::Add => net.zip("Add", a, b),
        Binary::Sub => net.zip("Sub", a, b),
        Binary::Mul => net.zip("Mul", a, b),
        Binary::Div if a.elem == Elem::I64 => integer::divide(net, a, b),
        Binary::Div => net.zip("Div", a, b),
        Binary::Mod if a.elem == Elem::I64 => integer::modulo(net, a, b),
        Binary::Mod => modulo(net, a, b),
        Binary::Pow => net.zip("Pow", a, b),
        Binary::Atan2 => atan2(net, a, b),
        Binary::LogAddExp => logaddexp(net, a, b),
        Binary::Minimum => extreme(net, a, b, "Less"),
        Binary::Maximum => extreme(net, a, b, "Greater"),
    }
}

/// Whether the sign is negative; also for zeros.
fn is_minus(net: &mut Net, x: &V) -> V {
    let (zero, one) = (net.scalar(0.0, x.elem), net.scalar(1.0, x.elem));
    let none = net.compare("Equal", x, &zero);
    let inverse = net.zip("Div", &one, x);
    let sign = net.select(&none, &inverse, x);
    net.compare("Less", &sign, &zero)
}

/// The angle of a point. The smaller absolute coordinate is divided by the larger one, which gives the angle to the
/// nearer axis. The quotient of equal coordinates, also infinite ones, is 1; that of two zeros is 0.
fn atan2(net: &mut Net, y: &V, x: &V) -> V {
    let number = |net: &mut Net, value: f64| net.scalar(value, x.elem);
    let (zero, one) = (number(net, 0.0), number(net, 1.0));
    let (half, pi) = (number(net, std::f64::consts::FRAC_PI_2), number(net, std::f64::consts::PI));
    let (high, wide) = (net.map("Abs", y), net.map("Abs", x));
    let steep = net.compare("Greater", &high, &wide);
    let (large, small) = (net.select(&steep, &high, &wide), net.select(&steep, &wide, &high));
    let same = net.compare("Equal", &large, &small);
    let quotient = net.zip("Div", &small, &large);
    let none = net.compare("Equal", &large, &zero);
    let equal = net.select(&none, &zero, &one);
    let quotient = net.select(&same, &equal, &quotient);
    let angle = net.map("Atan", &quotient);
    let rest = net.zip("Sub", &half, &angle);
    let angle = net.select(&steep, &rest, &angle);
    let behind = is_minus(net, x);
    let rest = net.zip("Sub", &pi, &angle);
    let angle = net.select(&behind, &rest, &angle);
    let below = is_minus(net, y);
    let negated = net.map("Neg", &angle);
    net.select(&below, &negated, &angle)
}

/// `max(a, b) + log(1 + exp(-|a - b|))`, where the distance of equal operands, also infinite ones, is 0.
fn logaddexp(net: &mut Net, a: &V, b: &V) -> V {
    let most = extreme(net, a, b, "Greater");
    let (same, zero) = (net.compare("Equal", a, b), net.scalar(0.0, a.elem));
    let difference = net.zip("Sub", a, b);
    let difference = net.select(&same, &zero, &difference);
    let size = net.map("Abs", &difference);
    let negated = net.map("Neg", &size);
    let small = net.map("Exp", &negated);
    let rest = log1p(net, &small);
    net.zip("Add", &most, &rest)
}

/// Comparisons of two operands, which broadcast.
pub(super) fn compare(net: &mut Net, how: Compare, a: &V, b: &V) -> V {
    match how {
        Compare::Eq => net.compare("Equal", a, b),
        Compare::Ne => {
            let same = net.compare("Equal", a, b);
            net.map("Not", &same)
        }
        Compare::Lt => net.compare("Less", a, b),
        Compare::Le => net.compare("LessOrEqual", a, b),
        Compare::Gt => net.compare("Greater", a, b),
        Compare::Ge => net.compare("GreaterOrEqual", a, b),
    }
}

/// The remainder with the sign of the divisor, also if it is 0. The operator `Mod` for numbers uses the sign of the
/// dividend.
fn modulo(net: &mut Net, a: &V, b: &V) -> V {
    let zero = net.scalar(0.0, a.elem);
    let dims = broadcast(&a.dims, &b.dims);
    let rest = net.node("Mod", &[a, b], &[Attr::Int("fmod", 1)], a.elem, &dims);
    let (low, high) = (net.compare("Less", &rest, &zero), net.compare("Less", b, &zero));
    let differs = net.zip("Xor", &low, &high);
    let moved = net.zip("Add", &rest, b);
    let kept = net.select(&differs, &moved, &rest);
    let none = net.compare("Equal", &rest, &zero);
    let minus = net.scalar(-0.0, a.elem);
    let zero = net.select(&high, &minus, &zero);
    net.select(&none, &zero, &kept)
}

/// The smaller or larger operand; NaN if one is NaN, for which `Min` and `Max` are not specified.
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
