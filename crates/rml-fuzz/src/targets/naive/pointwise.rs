//! Operators element by element.

use rml_ir::DType;
use rml_ir::op::{Binary, Compare, Op, Unary};

use super::{Array, layout};

pub(super) fn maximum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

fn minimum(a: f64, b: f64) -> f64 {
    -maximum(-a, -b)
}

fn truth(b: bool) -> f64 {
    f64::from(u8::from(b))
}

/// The error function by its series; `None` if the series is not exact enough.
fn erf(x: f64) -> Option<f64> {
    if x.abs() > 2.5 {
        return None;
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..80 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    Some(sum * 2.0 / std::f64::consts::PI.sqrt())
}

fn divide(a: f64, b: f64, dtype: DType) -> f64 {
    match dtype {
        DType::Int if b == 0.0 => 0.0,
        DType::Int => (a / b).trunc(),
        _ => a / b,
    }
}

fn modulo(a: f64, b: f64) -> f64 {
    if b == 0.0 { a } else { a - b * (a / b).floor() }
}

/// An operator of one operand; None for one that is not pointwise.
fn unary(op: &Op, x: f64) -> Option<f64> {
    Some(match op {
        Op::Unary(by) => return function(*by, x),
        Op::Not => 1.0 - x,
        Op::Convert(DType::Num) => x,
        Op::Convert(DType::Int) => x.trunc(),
        Op::Convert(DType::Bool) => truth(x != 0.0),
        _ => return None,
    })
}

/// A function of one number; None where this evaluation is not exact enough.
fn function(by: Unary, x: f64) -> Option<f64> {
    Some(match by {
        Unary::Neg => -x,
        Unary::Abs => x.abs(),
        Unary::Sign if x.is_nan() => x,
        Unary::Sign => truth(x > 0.0) - truth(x < 0.0),
        Unary::Exp => x.exp(),
        Unary::Expm1 => x.exp_m1(),
        Unary::Log => x.ln(),
        Unary::Log1p => x.ln_1p(),
        Unary::Sqrt => x.sqrt(),
        Unary::Sin => x.sin(),
        Unary::Cos => x.cos(),
        Unary::Erf => erf(x)?,
        Unary::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Unary::Tanh => x.tanh(),
        Unary::Relu if x > 0.0 => x,
        Unary::Relu => 0.0,
        Unary::Flush if x.abs().log2() < -970.0 => 0.0,
        Unary::Flush => x,
        Unary::Gelu => 0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2)?),
        Unary::Softplus if x > 30.0 => x,
        Unary::Softplus => x.exp().ln_1p(),
        Unary::Floor => x.floor(),
        Unary::Ceil => x.ceil(),
        Unary::Round => x.round_ties_even(),
    })
}

/// An operator of two operands; None for one that is not pointwise.
fn binary(op: &Op, a: f64, b: f64, dtype: DType) -> Option<f64> {
    Some(match op {
        Op::Binary(by) => function_of_two(*by, a, b, dtype),
        Op::Compare(by) => truth(match by {
            Compare::Eq => a == b,
            Compare::Ne => a != b,
            Compare::Lt => a < b,
            Compare::Le => a <= b,
            Compare::Gt => a > b,
            Compare::Ge => a >= b,
        }),
        Op::And => a * b,
        Op::Or => a.max(b),
        _ => return None,
    })
}

fn function_of_two(by: Binary, a: f64, b: f64, dtype: DType) -> f64 {
    match by {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => divide(a, b, dtype),
        Binary::Mod => modulo(a, b),
        Binary::Pow => a.powf(b),
        Binary::Atan2 => a.atan2(b),
        Binary::LogAddExp if a == b => a + std::f64::consts::LN_2,
        Binary::LogAddExp => maximum(a, b) + (-(a - b).abs()).exp().ln_1p(),
        Binary::Minimum => minimum(a, b),
        Binary::Maximum => maximum(a, b),
    }
}

/// The element type of the result.
fn dtype(op: &Op, args: &[Array]) -> DType {
    match op {
        Op::Compare(_) | Op::Convert(DType::Bool) => DType::Bool,
        Op::Convert(DType::Num) => DType::Num,
        Op::Convert(DType::Int) => DType::Int,
        Op::Where => args[1].dtype,
        _ => args[0].dtype,
    }
}

pub(super) fn apply(op: &Op, args: &[Array]) -> Option<Array> {
    let dims = args.iter().skip(1).fold(args[0].dims.clone(), |d, a| layout::broadcast_dims(&d, &a.dims));
    let mut known = true;
    let made = Array::each(dtype(op, args), &dims, |at| {
        let x: Vec<f64> = args.iter().map(|a| a.spread(at)).collect();
        let element = match (op, &x[..]) {
            (Op::Where, &[c, a, b]) => Some(if c == 1.0 { a } else { b }),
            (Op::Clip, &[x, lo, hi]) => Some(minimum(maximum(x, lo), hi)),
            (_, &[a]) => unary(op, a),
            (_, &[a, b]) => binary(op, a, b, args[0].dtype),
            _ => None,
        };
        known &= element.is_some();
        element.unwrap_or(0.0)
    });
    known.then_some(made)
}
