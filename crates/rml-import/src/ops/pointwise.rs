//! Operators that go element by element.

use rml_ir::DType;
use rml_ir::op::{Binary, Compare, Op, Unary};

use super::Table;
use crate::build::{Builder, Call, Val};
use crate::elem::Elem;
use crate::refuse::{Res, refuse};

pub(super) const TABLE: Table = &[
    ("Abs", |b, c| one(b, c, Unary::Abs)),
    ("Neg", |b, c| one(b, c, Unary::Neg)),
    ("Exp", |b, c| one(b, c, Unary::Exp)),
    ("Log", |b, c| one(b, c, Unary::Log)),
    ("Sqrt", |b, c| one(b, c, Unary::Sqrt)),
    ("Sin", |b, c| one(b, c, Unary::Sin)),
    ("Cos", |b, c| one(b, c, Unary::Cos)),
    ("Erf", |b, c| one(b, c, Unary::Erf)),
    ("Sign", |b, c| one(b, c, Unary::Sign)),
    ("Floor", |b, c| one(b, c, Unary::Floor)),
    ("Ceil", |b, c| one(b, c, Unary::Ceil)),
    ("Round", |b, c| one(b, c, Unary::Round)),
    ("Sigmoid", |b, c| one(b, c, Unary::Sigmoid)),
    ("Tanh", |b, c| one(b, c, Unary::Tanh)),
    ("Relu", relu),
    ("Softplus", |b, c| one(b, c, Unary::Softplus)),
    ("Add", |b, c| two(b, c, Binary::Add)),
    ("Sub", |b, c| two(b, c, Binary::Sub)),
    ("Mul", |b, c| two(b, c, Binary::Mul)),
    ("Div", |b, c| two(b, c, Binary::Div)),
    ("Pow", pow),
    ("Mod", modulo),
    ("Max", |b, c| several(b, c, Binary::Maximum)),
    ("Min", |b, c| several(b, c, Binary::Minimum)),
    ("Sum", |b, c| several(b, c, Binary::Add)),
    ("Mean", mean),
    ("Equal", |b, c| compared(b, c, Compare::Eq)),
    ("Less", |b, c| compared(b, c, Compare::Lt)),
    ("LessOrEqual", |b, c| compared(b, c, Compare::Le)),
    ("Greater", |b, c| compared(b, c, Compare::Gt)),
    ("GreaterOrEqual", |b, c| compared(b, c, Compare::Ge)),
    ("And", |b, c| logical(b, c, Op::And)),
    ("Or", |b, c| logical(b, c, Op::Or)),
    ("Xor", |b, c| logical(b, c, Op::Compare(Compare::Ne))),
    ("Not", |b, c| Ok(vec![b.pointwise(Op::Not, &[c.arg(0)?], Elem::Bool)?])),
    ("Where", choose),
    ("Clip", clip),
    ("Cast", cast),
    ("CastLike", |b, c| Ok(vec![converted(b, c.arg(0)?, c.arg(1)?.elem)?])),
    ("BitShift", shift),
    ("BitwiseNot", bitwise_not),
    ("Identity", |_, c| Ok(vec![c.arg(0)?.clone()])),
    ("Dropout", dropout),
];

fn one(b: &mut Builder<'_>, call: &Call<'_>, f: Unary) -> Res<Vec<Val>> {
    Ok(vec![b.unary(f, call.arg(0)?)?])
}

fn two(b: &mut Builder<'_>, call: &Call<'_>, f: Binary) -> Res<Vec<Val>> {
    let (x, y) = (call.arg(0)?.clone(), call.arg(1)?.clone());
    let y = old_broadcast(b, call, &x, y)?;
    if let Some(same) = neutral(f, &x, &y) {
        return Ok(vec![same]);
    }
    let result = b.binary(f, &x, &y)?;
    Ok(vec![wrapped(b, &result, f)?])
}

/// The operand that an operator leaves as it is: a sum with 0, a product with 1.
fn neutral(f: Binary, x: &Val, y: &Val) -> Option<Val> {
    let is = |val: &Val, number: f64| {
        let element = val.known().filter(|_| !val.is_weight()).and_then(crate::tensor::uniform);
        element.is_some_and(|e| crate::tensor::nums(&e) == [number])
    };
    let (left, right) = match f {
        Binary::Add => (Some(0.0), Some(0.0)),
        Binary::Mul => (Some(1.0), Some(1.0)),
        Binary::Sub => (None, Some(0.0)),
        Binary::Div => (None, Some(1.0)),
        Binary::Mod | Binary::Pow | Binary::Atan2 | Binary::LogAddExp => (None, None),
        Binary::Minimum | Binary::Maximum => (None, None),
    };
    let whole = x.shape().broadcast(&y.shape())?;
    if x.shape() == whole && right.is_some_and(|n| is(y, n)) {
        return Some(x.clone());
    }
    (y.shape() == whole && left.is_some_and(|n| is(x, n))).then(|| y.clone())
}

/// Integers without a sign wrap around below zero; the language's do not.
fn wrapped(b: &mut Builder<'_>, x: &Val, f: Binary) -> Res<Val> {
    match x.elem {
        Elem::Unsigned(bits) if bits < 64 && f != Binary::Div => modulo_of(b, x, 1 << bits),
        Elem::Unsigned(_) | Elem::Int(_) | Elem::Float(_) | Elem::BFloat | Elem::Bool => Ok(x.clone()),
    }
}

/// An integer that may be beyond the range of its type, wrapped around into it.
fn within(b: &mut Builder<'_>, x: &Val) -> Res<Val> {
    let (lo, hi) = x.elem.range();
    if hi == i64::MAX {
        return Ok(x.clone());
    }
    if lo == 0 {
        return modulo_of(b, x, hi + 1);
    }
    let offset = b.int(lo).with_elem(x.elem);
    let moved = b.sub(x, &offset)?;
    let wrapped = modulo_of(b, &moved, hi - lo + 1)?;
    b.add(&wrapped, &offset)
}

fn modulo_of(b: &mut Builder<'_>, x: &Val, n: i64) -> Res<Val> {
    let n = b.int(n).with_elem(x.elem);
    b.binary(Binary::Mod, x, &n)
}

/// The second operand of an operator before version 7, which says where its axes belong.
fn old_broadcast(b: &mut Builder<'_>, call: &Call<'_>, x: &Val, y: Val) -> Res<Val> {
    if call.opset >= 7 || !call.flag("broadcast", false) || call.attr("axis").is_none() {
        return Ok(y);
    }
    let axis = call.axis(call.int("axis", 0), x.rank())?;
    let mut dims = y.dims();
    dims.resize(x.rank().saturating_sub(axis).max(dims.len()), 1);
    b.reshape(&y, &dims)
}

fn several(b: &mut Builder<'_>, call: &Call<'_>, f: Binary) -> Res<Vec<Val>> {
    let mut sum = call.arg(0)?.clone();
    for i in 1..call.args.len() {
        sum = b.binary(f, &sum, call.arg(i)?)?;
    }
    Ok(vec![sum])
}

#[allow(clippy::cast_precision_loss, reason = "operands are few")]
fn mean(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let sum = several(b, call, Binary::Add)?;
    let n = b.num(call.args.len() as f64);
    sum.iter().map(|sum| b.div(sum, &n)).collect()
}

fn compared(b: &mut Builder<'_>, call: &Call<'_>, by: Compare) -> Res<Vec<Val>> {
    let (x, y) = (call.arg(0)?.clone(), call.arg(1)?.clone());
    let y = old_broadcast(b, call, &x, y)?;
    Ok(vec![b.compare(by, &x, &y)?])
}

fn logical(b: &mut Builder<'_>, call: &Call<'_>, op: Op) -> Res<Vec<Val>> {
    let (x, y) = (call.arg(0)?.clone(), call.arg(1)?.clone());
    let y = old_broadcast(b, call, &x, y)?;
    Ok(vec![b.pointwise(op, &[&x, &y], Elem::Bool)?])
}

fn relu(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    if x.elem.is_num() {
        return one(b, call, Unary::Relu);
    }
    let zero = b.int(0);
    Ok(vec![b.binary(Binary::Maximum, x, &zero)?])
}

/// Powers: squares and roots as what they are.
fn pow(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (x, y) = (call.arg(0)?, call.arg(1)?);
    let y = &old_broadcast(b, call, x, y.clone())?;
    let exponent =
        y.known().filter(|_| y.len() == 1 && y.rank() <= x.rank()).map(|v| crate::tensor::nums(v)[0]);
    let result = match exponent {
        Some(1.0) => x.clone(),
        Some(2.0) => b.mul(x, x)?,
        Some(0.5) if x.elem.is_num() => b.unary(Unary::Sqrt, x)?,
        _ => {
            let elem = if x.elem.is_num() { x.elem } else { Elem::F32 };
            let (base, exponent) = (b.convert(x, elem)?, b.convert(y, Elem::F32)?);
            let power = b.binary(Binary::Pow, &base, &exponent)?;
            converted(b, &power, x.elem)?
        }
    };
    Ok(vec![result])
}

fn modulo(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (x, y) = (call.arg(0)?, call.arg(1)?);
    if !call.flag("fmod", false) {
        return Ok(vec![b.binary(Binary::Mod, x, y)?]);
    }
    // The remainder with the sign of x: that of the absolute values.
    let (p, q) = (b.unary(Unary::Abs, x)?, b.unary(Unary::Abs, y)?);
    let rest = b.binary(Binary::Mod, &p, &q)?;
    let sign = b.unary(Unary::Sign, x)?;
    Ok(vec![b.mul(&sign, &rest)?])
}

fn choose(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (cond, x, y) = (call.arg(0)?, call.arg(1)?, call.arg(2)?);
    let result = b.pointwise(Op::Where, &[cond, x, y], x.elem)?;
    Ok(vec![result])
}

fn clip(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let bound = |b: &Builder<'_>, name: &str, i: usize| match call.attr(name) {
        Some(_) => Some(b.num(call.float(name, 0.0))),
        None => call.opt(i).cloned(),
    };
    // The bounds of "no bound" that old exporters write are left out.
    let finite = |v: &Val| v.known().is_none_or(|k| crate::tensor::nums(k).iter().all(|x| x.abs() < 3.4e38));
    let lo = bound(b, "min", 1).filter(finite);
    let hi = bound(b, "max", 2).filter(finite);
    let result = match (lo, hi) {
        (None, None) => x.clone(),
        (Some(lo), None) => b.binary(Binary::Maximum, x, &lo)?,
        (None, Some(hi)) => b.binary(Binary::Minimum, x, &hi)?,
        (Some(lo), Some(hi)) => b.pointwise(Op::Clip, &[x, &lo, &hi], x.elem)?,
    };
    Ok(vec![result])
}

fn cast(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let to = i32::try_from(call.int("to", 1)).unwrap_or(-1);
    match Elem::of(to) {
        Ok(elem) => Ok(vec![converted(b, call.arg(0)?, elem)?]),
        Err(what) => refuse(format!("the elements of its result are {what}")),
    }
}

/// A value with elements of another type. Integers wrap around in narrower ones; numbers keep their precision.
pub(super) fn converted(b: &mut Builder<'_>, x: &Val, elem: Elem) -> Res<Val> {
    let (lo, hi) = elem.range();
    let wraps = match (x.elem, elem.dtype()) {
        (_, DType::Num | DType::Bool) => false,
        (Elem::Bool, DType::Int) => false,
        (from, DType::Int) => from.is_num() || from.range().0 < lo || from.range().1 > hi,
    };
    let y = b.convert(x, elem)?;
    if !wraps
        || (lo, hi) == (i64::MIN, i64::MAX)
        || hi == i64::MAX
        || (x.elem.is_num() && x.known().is_none())
    {
        return Ok(y);
    }
    within(b, &y)
}

fn shift(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (x, n) = (call.arg(0)?, call.arg(1)?);
    let width = match x.elem {
        Elem::Int(bits) | Elem::Unsigned(bits) => i64::from(bits),
        Elem::Float(_) | Elem::BFloat | Elem::Bool => 0,
    };
    let inside =
        n.known().and_then(crate::tensor::ints).is_some_and(|v| v.iter().all(|k| (0..width).contains(k)));
    if matches!(x.elem, Elem::Int(_)) && !inside {
        return refuse(
            "how far integers with a sign are moved depends on the values of inputs, or is beyond their width",
        );
    }
    let base = b.num(2.0);
    let count = b.convert(n, Elem::F32)?;
    let power = b.binary(Binary::Pow, &base, &count)?;
    let power = b.convert(&power, x.elem)?;
    if call.text("direction", "LEFT") == "RIGHT" {
        // Toward minus infinity, where a division goes toward zero.
        let rest = b.binary(Binary::Mod, x, &power)?;
        let whole = b.sub(x, &rest)?;
        return Ok(vec![b.div(&whole, &power)?]);
    }
    let moved = b.mul(x, &power)?;
    Ok(vec![within(b, &moved)?])
}

fn bitwise_not(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let all = b.int(if let Elem::Unsigned(_) = x.elem { x.elem.range().1 } else { -1 });
    Ok(vec![b.sub(&all.with_elem(x.elem), x)?])
}

/// Dropout where nothing is trained: the operand itself, and a mask that keeps everything.
fn dropout(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let trains = call.opt(2).is_some_and(|v| v.known().is_none_or(|k| k.as_bool() != Some(false)));
    let ratio = call.opt(1).and_then(Val::known).map(|v| crate::tensor::nums(v)[0]);
    if trains && ratio != Some(0.0) {
        return refuse("it is to drop elements, as in a training");
    }
    let mut results = vec![x.clone()];
    if call.results() > 1 {
        let yes = Val::constant(Elem::Bool, rml_ir::Value::Bool(true));
        results.push(b.broadcast(&yes, &x.dims())?);
    }
    Ok(results)
}
