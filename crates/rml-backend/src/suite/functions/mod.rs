//! Random functions: graphs of many operators with shared, dead and repeated values, constants and several results.
//!
//! The tolerance of a result is measured: the reference computes the function in both precisions, and the distance of
//! the results shows how much rounding errors grow. Discontinuous operators (comparisons, rounding, positions of
//! extremes) get only operands that no backend rounds.

mod generate;
mod shrink;

use std::sync::Arc;

use rml_ir::{DType, Data, Precision, Value};

use super::Check;
use super::compare::{limits, numbers};
use super::report::Report;
use crate::contract::{Backend, Held};
use crate::function::Function;
use crate::prepared::Prepared;
use crate::reference::evaluate;

/// The number of functions that one check tries.
const EACH: usize = 8;
/// The number of checks; every second one is in double precision.
const CHECKS: usize = 6;
/// The allowed error as a multiple of the measured rounding error.
const MARGIN: f64 = 32.0;
/// The error in `eps` that is always allowed.
const FLOOR: f64 = 64.0;

/// A function with arguments that both precisions can represent exactly.
#[derive(Clone)]
struct Sample {
    function: Function,
    args: Vec<Value>,
}

pub(super) fn checks() -> Vec<Check> {
    // The checks alternate between the precisions, because a backend that compiles needs a second for each function.
    let check = |n: usize| {
        let precision = if n.is_multiple_of(2) { Precision::F32 } else { Precision::F64 };
        Check::new("functions", &format!("{precision}_{n}"), move |b| run(b, precision, n))
    };
    (0..CHECKS).map(check).collect()
}

fn run(backend: &dyn Backend, precision: Precision, check: usize) -> Report {
    let mut report = Report::default();
    for n in check * EACH..(check + 1) * EACH {
        let sample = generate::sample(n);
        let outcome = check_function(backend, &sample.function, &sample.args, precision);
        let outcome = outcome.map_err(|why| format!("function {n}: {why}"));
        report.record(outcome);
    }
    report
}

/// Checks that a backend computes a function as the reference does, on arguments of single precision. Discontinuous
/// operators must get operands that are not rounded.
///
/// # Errors
/// A result differs by more than the tolerance; the error names the result and the part of the function that causes it.
pub fn check_function(
    backend: &dyn Backend,
    function: &Function,
    args: &[Value],
    precision: Precision,
) -> Result<(), String> {
    let sample =
        Sample { function: in_precision(function, Precision::F32), args: converted(args, Precision::F32) };
    try_sample(backend, &sample, precision).map_err(|why| {
        let (sample, why) = shrink::shrink(backend, &sample, precision, why);
        let args: Vec<String> = sample.args.iter().map(|v| format!("{v:?}")).collect();
        format!("{why}; shrunk to\n{}on {}", crate::print(&sample.function), args.join(", "))
    })
}

/// The function in another precision, with its constants converted.
fn in_precision(function: &Function, precision: Precision) -> Function {
    let mut function = function.clone();
    function.precision = precision;
    for def in function.values.iter_mut() {
        if let crate::function::DefKind::Const(value) = &mut def.kind {
            *value = value.to_precision(precision);
        }
    }
    function
}

fn converted(args: &[Value], precision: Precision) -> Vec<Value> {
    args.iter().map(|v| v.to_precision(precision)).collect()
}

/// Checks that the backend returns the results of the reference, for host arguments and for buffers.
fn try_sample(backend: &dyn Backend, sample: &Sample, precision: Precision) -> Result<(), String> {
    let reference = |p| evaluate(&in_precision(&sample.function, p), &converted(&sample.args, p));
    let stop = |_| "the reference has no result".to_owned();
    let (single, double) =
        (reference(Precision::F32).map_err(stop)?, reference(Precision::F64).map_err(stop)?);
    let function = Arc::new(in_precision(&sample.function, precision));
    let prepared = Prepared::new(backend, function).map_err(|d| format!("refused: {d}"))?;
    let host: Vec<Held> = converted(&sample.args, precision).into_iter().map(Held::Host).collect();
    let upload = |h: &Held| h.to_host().and_then(|v| backend.upload(&v)).map(Held::Device);
    let device = host.iter().map(upload).collect::<Result<Vec<_>, _>>().map_err(|f| f.message)?;
    for args in [host, device] {
        let results = prepared.run(args).map_err(|e| format!("the call fails: {e:?}"))?;
        if results.len() != single.len() {
            return Err(format!("{} results instead of {}", results.len(), single.len()));
        }
        for (i, got) in results.iter().enumerate() {
            let got = got.to_host().map_err(|f| f.message)?;
            let want = if precision == Precision::F32 { &single[i] } else { &double[i] };
            near(&got, want, allowed(&single[i], &double[i], precision))
                .map_err(|e| format!("result {i}: {e}"))?;
        }
    }
    Ok(())
}

/// The allowed error of the elements of a result.
fn allowed(single: &Value, double: &Value, precision: Precision) -> f64 {
    let measured = distance(single, double);
    let size = numbers(double).iter().fold(1.0_f64, |a, x| a.max(x.abs()));
    let (eps, single) = (limits(precision).0, limits(Precision::F32).0);
    FLOOR * eps * size + MARGIN * measured * (eps / single)
}

/// The largest difference of two elements at the same position.
fn distance(single: &Value, double: &Value) -> f64 {
    numbers(single).iter().zip(numbers(double)).fold(0.0, |a, (x, y)| a.max((x - y).abs()))
}

fn near(got: &Value, want: &Value, allowed: f64) -> Result<(), String> {
    if got.ty() != want.ty() {
        return Err(format!("a {}, expected {}", got.ty(), want.ty()));
    }
    if want.dtype() != DType::Num {
        return if got.same(want) { Ok(()) } else { Err(format!("{got:?}, expected {want:?}")) };
    }
    if matches!(got.to_data(), Data::F32(_)) != matches!(want.to_data(), Data::F32(_)) {
        return Err("numbers of another precision".to_owned());
    }
    for (i, (got, want)) in numbers(got).into_iter().zip(numbers(want)).enumerate() {
        // A NaN also fails.
        let off = (got - want).abs();
        if !off.is_finite() || off > allowed {
            return Err(format!("element {i} is {got:e}, expected {want:e} within {allowed:e}"));
        }
    }
    Ok(())
}
