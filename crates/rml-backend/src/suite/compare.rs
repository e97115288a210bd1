//! Compares a result with that of the reference, within the operator's tolerance.

use rml_ir::op::{Op, eval};
use rml_ir::{DType, Data, Precision, Value};

use super::tolerance::{Tolerance, tolerance};

/// Compares the result `got` of an operator with that of the reference, `want`.
///
/// # Errors
/// An element differs by more than the tolerance; the first one is named.
pub(super) fn compare(
    op: &Op,
    args: &[Value],
    precision: Precision,
    got: &Value,
    want: &Value,
) -> Result<(), String> {
    let tolerance = tolerance(op);
    let first = same_value(got, want, tolerance, &scale(op, args, tolerance, want), precision);
    let Err(why) = first else { return Ok(()) };
    let error = || {
        let types: Vec<String> = args.iter().map(|v| v.ty().to_string()).collect();
        format!("`{op}` of ({}) in {precision}: {why}", types.join(", "))
    };
    if tolerance == Tolerance::Bits || !args.iter().any(has_subnormal) {
        return Err(error());
    }
    // The backend may have treated subnormal operands as zeros.
    let args: Vec<Value> = args.iter().map(flushed).collect();
    let refs: Vec<&Value> = args.iter().collect();
    let other = eval(op, &refs, precision).map_err(|_| error())?;
    either(got, want, &other, tolerance, &scale(op, &args, tolerance, want), precision).map_err(|()| error())
}

/// Whether each element is near that of one of two references.
fn either(
    got: &Value,
    a: &Value,
    b: &Value,
    tolerance: Tolerance,
    scale: &[f64],
    precision: Precision,
) -> Result<(), ()> {
    let (got, a, b) = (got.to_data(), a.to_data(), b.to_data());
    let near = |i: usize| {
        let scale = scale.get(i..=i).unwrap_or_default();
        [&a, &b].iter().any(|want| same_value(&got.get(i), &want.get(i), tolerance, scale, precision).is_ok())
    };
    if (0..got.len()).all(near) { Ok(()) } else { Err(()) }
}

/// Compares values of one type, element by element.
pub(super) fn same_value(
    got: &Value,
    want: &Value,
    tolerance: Tolerance,
    scale: &[f64],
    precision: Precision,
) -> Result<(), String> {
    if got.ty() != want.ty() || is_double(got) != is_double(want) {
        return Err(format!("the result is a {}, expected {}", got.ty(), want.ty()));
    }
    if want.dtype() != DType::Num {
        if got.same(want) {
            return Ok(());
        }
        let (got, want) = (got.to_data(), want.to_data());
        let at = (0..got.len()).find(|&i| !got.get(i).same(&want.get(i))).unwrap_or(0);
        return Err(format!("element {at} is {:?}, expected {:?}", got.get(at), want.get(at)));
    }
    let (got, want) = (numbers(got), numbers(want));
    let (eps, tiny) = limits(precision);
    for (i, (&got, &want)) in got.iter().zip(&want).enumerate() {
        let allowed = match tolerance {
            Tolerance::Bits | Tolerance::Equal => 0.0,
            Tolerance::Result(n) => n * eps * want.abs(),
            Tolerance::ResultOrOne(n) => n * eps * want.abs().max(1.0),
            Tolerance::Operand(n) | Tolerance::Terms(n) => {
                n * eps * scale.get(i).copied().unwrap_or(0.0).max(want.abs())
            }
        };
        if !near(got, want, allowed, tiny, tolerance == Tolerance::Bits) {
            return Err(format!("element {i} is {got:e}, expected {want:e} within {allowed:e}"));
        }
    }
    Ok(())
}

fn near(got: f64, want: f64, allowed: f64, tiny: f64, bits: bool) -> bool {
    if got.is_nan() || want.is_nan() {
        return got.is_nan() && want.is_nan();
    }
    if bits {
        return got.to_bits() == want.to_bits();
    }
    got == want || (got - want).abs() <= allowed.max(tiny)
}

/// The distance from 1 to the next number, and the smallest normal number.
pub(super) fn limits(precision: Precision) -> (f64, f64) {
    match precision {
        Precision::F32 => (f64::from(f32::EPSILON), f64::from(f32::MIN_POSITIVE)),
        Precision::F64 => (f64::EPSILON, f64::MIN_POSITIVE),
    }
}

/// For each element of the result, the factor by which the tolerance is multiplied.
fn scale(op: &Op, args: &[Value], tolerance: Tolerance, want: &Value) -> Vec<f64> {
    match tolerance {
        Tolerance::Operand(_) => args.first().map(|v| numbers(&map(v, f64::abs))).unwrap_or_default(),
        Tolerance::Terms(_) if want.dtype() == DType::Num => {
            let sums = of(op, args, f64::abs);
            let counts = of(op, args, |_| 1.0);
            sums.iter().zip(counts).map(|(sum, n)| sum * (1.0 + n.sqrt())).collect()
        }
        _ => Vec::new(),
    }
}

/// The result of the operator for the operands with `f` applied to their numbers, in double precision.
fn of(op: &Op, args: &[Value], f: impl Fn(f64) -> f64) -> Vec<f64> {
    let args: Vec<Value> = args.iter().map(|v| map(&v.to_precision(Precision::F64), &f)).collect();
    let refs: Vec<&Value> = args.iter().collect();
    eval(op, &refs, Precision::F64).map(|v| numbers(&v)).unwrap_or_default()
}

/// The value with `f` applied to its numbers; ints and truth values do not change.
pub(super) fn map(value: &Value, f: impl Fn(f64) -> f64) -> Value {
    #[allow(clippy::cast_possible_truncation, reason = "the functions keep single precision")]
    let data = match value.to_data() {
        Data::F32(v) => Data::F32(v.into_iter().map(|x| f(f64::from(x)) as f32).collect()),
        Data::F64(v) => Data::F64(v.into_iter().map(f).collect()),
        other => other,
    };
    Value::new(value.shape(), data)
}

/// The value with its subnormal numbers replaced by zeros of the same sign.
fn flushed(value: &Value) -> Value {
    let limit = limits(if is_double(value) { Precision::F64 } else { Precision::F32 }).1;
    map(value, |x| if x.abs() < limit { 0.0_f64.copysign(x) } else { x })
}

fn has_subnormal(value: &Value) -> bool {
    match value.to_data() {
        Data::F32(v) => v.iter().any(|x| x.is_subnormal()),
        Data::F64(v) => v.iter().any(|x| x.is_subnormal()),
        Data::Int(_) | Data::Bool(_) => false,
    }
}

fn is_double(value: &Value) -> bool {
    matches!(value, Value::F64(_)) || matches!(value, Value::Tensor(t) if matches!(t.data(), Data::F64(_)))
}

/// The numbers of a value of type `num`.
pub(super) fn numbers(value: &Value) -> Vec<f64> {
    match value.to_data() {
        Data::F32(v) => v.into_iter().map(f64::from).collect(),
        Data::F64(v) => v,
        Data::Int(_) | Data::Bool(_) => Vec::new(),
    }
}
