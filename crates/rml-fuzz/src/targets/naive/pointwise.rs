//! Operators element by element.

use rml_ir::DType;
use rml_ir::op::Op;

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

/// The error function by its series, where that is exact enough.
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
        Op::Neg => -x,
        Op::Not => 1.0 - x,
        Op::Abs => x.abs(),
        Op::Sign if x.is_nan() => x,
        Op::Sign => truth(x > 0.0) - truth(x < 0.0),
        Op::Exp => x.exp(),
        Op::Expm1 => x.exp_m1(),
        Op::Log => x.ln(),
        Op::Log1p => x.ln_1p(),
        Op::Sqrt => x.sqrt(),
        Op::Sin => x.sin(),
        Op::Cos => x.cos(),
        Op::Erf => erf(x)?,
        Op::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Op::Tanh => x.tanh(),
        Op::Relu => {
            if x > 0.0 {
                x
            } else {
                0.0
            }
        }
        Op::Flush if x.abs().log2() < -970.0 => 0.0,
        Op::Flush => x,
        Op::Gelu => 0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2)?),
        Op::Softplus if x > 30.0 => x,
        Op::Softplus => x.exp().ln_1p(),
        Op::Floor => x.floor(),
        Op::Ceil => x.ceil(),
        Op::Round => x.round_ties_even(),
        Op::ToNum => x,
        Op::ToInt => x.trunc(),
        Op::ToBool => truth(x != 0.0),
        _ => return None,
    })
}

fn binary(op: &Op, a: f64, b: f64, dtype: DType) -> Option<f64> {
    Some(match op {
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::Mul => a * b,
        Op::Div => divide(a, b, dtype),
        Op::Mod => modulo(a, b),
        Op::Pow => a.powf(b),
        Op::Minimum => minimum(a, b),
        Op::Maximum => maximum(a, b),
        Op::And => a * b,
        Op::Or => a.max(b),
        Op::Eq => truth(a == b),
        Op::Ne => truth(a != b),
        Op::Lt => truth(a < b),
        Op::Le => truth(a <= b),
        Op::Gt => truth(a > b),
        Op::Ge => truth(a >= b),
        _ => return None,
    })
}

/// The result's elements, by the operator.
fn dtype(op: &Op, args: &[Array]) -> DType {
    match op {
        Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::ToBool => DType::Bool,
        Op::ToNum => DType::Num,
        Op::ToInt => DType::Int,
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
