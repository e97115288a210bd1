//! Operators element by element.

use rml_ir::op::{self, Binary, Compare, Unary};
use rml_ir::{DType, Precision};

use super::integer;
use super::text::{Elem, Ssa, Text};

/// Functions of one operand.
pub(super) fn unary(t: &mut Text, f: Unary, x: &Ssa) -> Ssa {
    match f {
        Unary::Neg => t.map("negate", x),
        Unary::Abs => t.map("abs", x),
        Unary::Sign => t.map("sign", x),
        Unary::Exp => t.map("exponential", x),
        Unary::Expm1 => t.map("exponential_minus_one", x),
        Unary::Log => t.map("log", x),
        Unary::Log1p => t.map("log_plus_one", x),
        Unary::Sqrt => t.map("sqrt", x),
        Unary::Sin => t.map("sine", x),
        Unary::Cos => t.map("cosine", x),
        Unary::Erf => t.chlo("erf", x),
        Unary::Sigmoid => t.map("logistic", x),
        Unary::Tanh => t.map("tanh", x),
        Unary::Relu => relu(t, x),
        Unary::Flush => flush(t, x),
        Unary::Gelu => gelu(t, x),
        Unary::Softplus => softplus(t, x),
        Unary::Floor => t.map("floor", x),
        Unary::Ceil => t.map("ceil", x),
        Unary::Round => t.map("round_nearest_even", x),
    }
}

/// Converts to another element type; `num` is the element type of numbers.
pub(super) fn convert(t: &mut Text, to: DType, x: &Ssa, num: Elem) -> Ssa {
    match to {
        DType::Num => t.convert(x, num),
        DType::Int => t.convert(x, Elem::I64),
        DType::Bool => t.compare_to(Compare::Ne, x, 0.0),
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

/// A function of operands whose subnormal numbers are replaced by zeros. In parts of `power` and `atan2`, XLA treats
/// subnormal numbers inconsistently: their logarithm would be neither that of the number nor that of 0.
fn of_normal(t: &mut Text, name: &str, a: &Ssa, b: &Ssa) -> Ssa {
    let (a, b) = (normal(t, a), normal(t, b));
    t.zip(name, &a, &b)
}

/// `x` with its subnormal numbers replaced by zeros of the same sign.
fn normal(t: &mut Text, x: &Ssa) -> Ssa {
    let least = if x.ty.elem == Elem::F32 { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
    let size = t.map("abs", x);
    let vanishes = t.compare_to(Compare::Lt, &size, least);
    let zero = t.splat(0.0, &x.ty);
    let signed = t.zip("multiply", x, &zero);
    t.select(&vanishes, &signed, x)
}

/// Functions of two operands of one shape.
pub(super) fn binary(t: &mut Text, f: Binary, a: &Ssa, b: &Ssa) -> Ssa {
    let int = a.ty.elem == Elem::I64;
    match f {
        Binary::Add => t.zip("add", a, b),
        Binary::Sub => t.zip("subtract", a, b),
        Binary::Mul => t.zip("multiply", a, b),
        Binary::Div if int => integer::divide(t, a, b),
        Binary::Div => t.zip("divide", a, b),
        Binary::Mod if int => integer::modulo(t, a, b),
        Binary::Mod => modulo(t, a, b),
        Binary::Pow => of_normal(t, "power", a, b),
        Binary::Atan2 => of_normal(t, "atan2", a, b),
        Binary::LogAddExp => logaddexp(t, a, b),
        Binary::Minimum => t.zip("minimum", a, b),
        Binary::Maximum => t.zip("maximum", a, b),
    }
}

/// `max(a, b) + log(1 + exp(-|a - b|))`, where the distance of equal operands, also infinite ones, is 0.
fn logaddexp(t: &mut Text, a: &Ssa, b: &Ssa) -> Ssa {
    let most = t.zip("maximum", a, b);
    let difference = t.zip("subtract", a, b);
    let (same, zero) = (t.compare(Compare::Eq, a, b), t.splat(0.0, &a.ty));
    let difference = t.select(&same, &zero, &difference);
    let size = t.map("abs", &difference);
    let negated = t.map("negate", &size);
    let small = t.map("exponential", &negated);
    let rest = t.map("log_plus_one", &small);
    t.zip("add", &most, &rest)
}

/// The remainder with the sign of the divisor, also if it is 0.
fn modulo(t: &mut Text, a: &Ssa, b: &Ssa) -> Ssa {
    let rest = t.zip("remainder", a, b);
    let (low, high) = (t.compare_to(Compare::Lt, &rest, 0.0), t.compare_to(Compare::Lt, b, 0.0));
    let differs = t.compare(Compare::Ne, &low, &high);
    let moved = t.zip("add", &rest, b);
    let kept = t.select(&differs, &moved, &rest);
    let none = t.compare_to(Compare::Eq, &rest, 0.0);
    let (plus, minus) = (t.splat(0.0, &rest.ty), t.splat(-0.0, &rest.ty));
    let zero = t.select(&high, &minus, &plus);
    t.select(&none, &zero, &kept)
}

/// `x` limited to the lower and the upper bound, all of one shape.
pub(super) fn clip(t: &mut Text, x: &Ssa, lo: &Ssa, hi: &Ssa) -> Ssa {
    let above = t.zip("maximum", x, lo);
    t.zip("minimum", &above, hi)
}
