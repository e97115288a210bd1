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

fn unary(op: &Op, x: f64) -> Option<f64> {
    Some(match op {
        Op::Unary(Unary::Neg) => -x,
        Op::Not => 1.0 - x,
        Op::Unary(Unary::Abs) => x.abs(),
        Op::Unary(Unary::Sign) if x.is_nan() => x,
        Op::Unary(Unary::Sign) => truth(x > 0.0) - truth(x < 0.0),
        Op::Unary(Unary::Exp) => x.exp(),
        Op::Unary(Unary::Expm1) => x.exp_m1(),
        Op::Unary(Unary::Log) => x.ln(),
        Op::Unary(Unary::Log1p) => x.ln_1p(),
        Op::Unary(Unary::Sqrt) => x.sqrt(),
        Op::Unary(Unary::Sin) => x.sin(),
        Op::Unary(Unary::Cos) => x.cos(),
        Op::Unary(Unary::Erf) => erf(x)?,
        Op::Unary(Unary::Sigmoid) => 1.0 / (1.0 + (-x).exp()),
        Op::Unary(Unary::Tanh) => x.tanh(),
        Op::Unary(Unary::Relu) => {
            if x > 0.0 {
                x
            } else {
                0.0
            }
        }
        Op::Unary(Unary::Flush) if x.abs().log2() < -970.0 => 0.0,
        Op::Unary(Unary::Flush) => x,
        Op::Unary(Unary::Gelu) => 0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2)?),
        Op::Unary(Unary::Softplus) if x > 30.0 => x,
        Op::Unary(Unary::Softplus) => x.exp().ln_1p(),
        Op::Unary(Unary::Floor) => x.floor(),
        Op::Unary(Unary::Ceil) => x.ceil(),
        Op::Unary(Unary::Round) => x.round_ties_even(),
        Op::Convert(DType::Num) => x,
        Op::Convert(DType::Int) => x.trunc(),
        Op::Convert(DType::Bool) => truth(x != 0.0),
        _ => return None,
    })
}

fn binary(op: &Op, a: f64, b: f64, dtype: DType) -> Option<f64> {
    Some(match op {
        Op::Binary(Binary::Add) => a + b,
        Op::Binary(Binary::Sub) => a - b,
        Op::Binary(Binary::Mul) => a * b,
        Op::Binary(Binary::Div) => divide(a, b, dtype),
        Op::Binary(Binary::Mod) => modulo(a, b),
        Op::Binary(Binary::Pow) => a.powf(b),
        Op::Binary(Binary::Atan2) => a.atan2(b),
        Op::Binary(Binary::LogAddExp) if a == b => a + std::f64::consts::LN_2,
        Op::Binary(Binary::LogAddExp) => maximum(a, b) + (-(a - b).abs()).exp().ln_1p(),
        Op::Binary(Binary::Minimum) => minimum(a, b),
        Op::Binary(Binary::Maximum) => maximum(a, b),
        Op::And => a * b,
        Op::Or => a.max(b),
        Op::Compare(Compare::Eq) => truth(a == b),
        Op::Compare(Compare::Ne) => truth(a != b),
        Op::Compare(Compare::Lt) => truth(a < b),
        Op::Compare(Compare::Le) => truth(a <= b),
        Op::Compare(Compare::Gt) => truth(a > b),
        Op::Compare(Compare::Ge) => truth(a >= b),
        _ => return None,
    })
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
