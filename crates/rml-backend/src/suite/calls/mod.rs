//! Calls: values keep their bits on the way to the device and back, buffers do not change, errors change nothing, and
//! threads can share everything.

mod loops;
mod sharing;

use std::sync::Arc;

use rml_ir::op::{Binary, Op, Unary};
use rml_ir::{DType, Data, Precision, Shape, Type, Value};

use super::Check;
use super::compare::same_value;
use super::report::Report;
use super::specials;
use super::tolerance::Tolerance;
use crate::contract::{Backend, Held};
use crate::function::{Function, Val};
use crate::prepared::{Prepared, RunError};
use crate::reference::evaluate;

/// The body of a check of calls; the error text states the defect.
type Body = fn(&dyn Backend, Precision) -> Result<(), String>;

pub(super) fn checks() -> Vec<Check> {
    let all: [(&str, Body); 8] = [
        ("round_trip", round_trip),
        ("results", results),
        ("errors", errors),
        ("feedback", sharing::feedback),
        ("alternating", sharing::alternating),
        ("many", sharing::many),
        ("threads", sharing::threads),
        ("loops", loops::loops),
    ];
    let check = |(name, body): (&'static str, Body)| {
        Check::new("calls", name, move |b| {
            let mut report = Report::default();
            for precision in [Precision::F32, Precision::F64] {
                report.record(body(b, precision).map_err(|why| format!("{precision}: {why}")));
            }
            report
        })
    };
    all.into_iter().map(check).collect()
}

/// The elements 0, 1, 2, .. times `step`, minus 3.
fn ramp(n: usize, step: f64, precision: Precision) -> Value {
    let number = |i: usize| f64::from(u32::try_from(i).unwrap_or(0)) * step - 3.0;
    Value::new(Shape::new(&[n]), Data::F64((0..n).map(number).collect())).to_precision(precision)
}

/// `(x + y / 2, y - x, n + 1)` for two vectors and an int; exact on small multiples of powers of two.
fn step(n: usize, precision: Precision) -> Function {
    let at = Function::nowhere;
    let mut f = Function::new("step", precision);
    let x = f.input(Type::new(DType::Num, &[n]), at());
    let y = f.input(Type::new(DType::Num, &[n]), at());
    let count = f.input(Type::scalar(DType::Int), at());
    let half = f.constant(&Value::F64(0.5), at());
    let one = f.constant(&Value::Int(1), at());
    let mut apply = |op, args: &[Val]| f.apply(op, args.to_vec(), at()).expect("the operands fit");
    let halved = apply(Op::Binary(Binary::Mul), &[y, half]);
    let sum = apply(Op::Binary(Binary::Add), &[x, halved]);
    let difference = apply(Op::Binary(Binary::Sub), &[y, x]);
    let next = apply(Op::Binary(Binary::Add), &[count, one]);
    f.results = vec![sum, difference, next];
    f
}

fn prepare(backend: &dyn Backend, function: Function) -> Result<Prepared, String> {
    Prepared::new(backend, Arc::new(function)).map_err(|d| format!("refused: {d}"))
}

fn call(prepared: &Prepared, args: Vec<Held>) -> Result<Vec<Held>, String> {
    prepared.run(args).map_err(|e| match e {
        RunError::Stop(stop) => format!("the call stops: {}", stop.error),
        RunError::Failed(report) => format!("the call fails: {report}"),
    })
}

fn upload(backend: &dyn Backend, value: &Value) -> Result<Held, String> {
    backend.upload(value).map(Held::Device).map_err(|f| f.message)
}

fn uploaded(backend: &dyn Backend, values: &[Value]) -> Result<Vec<Held>, String> {
    values.iter().map(|v| upload(backend, v)).collect()
}

/// Checks that a value has the expected bits.
fn expect(what: &str, held: &Held, want: &Value, precision: Precision) -> Result<(), String> {
    if held.ty() != want.ty() {
        return Err(format!("{what} is a {}, expected {}", held.ty(), want.ty()));
    }
    let got = held.to_host().map_err(|f| format!("{what}: {}", f.message))?;
    same_value(&got, want, Tolerance::Bits, &[], precision).map_err(|why| format!("{what}: {why}"))
}

fn expect_all(what: &str, held: &[Held], want: &[Value], precision: Precision) -> Result<(), String> {
    if held.len() != want.len() {
        return Err(format!("{what}: {} values instead of {}", held.len(), want.len()));
    }
    held.iter()
        .zip(want)
        .enumerate()
        .try_for_each(|(i, (h, w))| expect(&format!("{what} {i}"), h, w, precision))
}

/// The results of the reference.
fn wanted(function: &Function, args: &[Value]) -> Result<Vec<Value>, String> {
    evaluate(function, args).map_err(|stop| format!("the reference stops: {}", stop.error))
}

/// Values keep their bits on the way to the device and back, directly and through a function.
fn round_trip(backend: &dyn Backend, precision: Precision) -> Result<(), String> {
    let mut values: Vec<Value> =
        [DType::Bool, DType::Int, DType::Num].map(|dtype| specials::vector(dtype, precision)).to_vec();
    for dims in [&[][..], &[1], &[0], &[3, 0], &[1037], &[2, 3, 4, 5]] {
        for dtype in [DType::Bool, DType::Int, DType::Num] {
            values.push(Value::filled(&Type::new(dtype, dims), 1.0, precision));
        }
    }
    let mut f = Function::new("same", precision);
    f.results = values.iter().map(|v| f.input(v.ty(), Function::nowhere())).collect();
    let prepared = prepare(backend, f)?;
    let device = uploaded(backend, &values)?;
    let host: Vec<Held> = values.iter().cloned().map(Held::Host).collect();
    expect_all("uploaded value", &device, &values, precision)?;
    expect_all("result of host values", &call(&prepared, host)?, &values, precision)?;
    expect_all("result of buffers", &call(&prepared, device.clone())?, &values, precision)?;
    expect_all("value uploaded before the call", &device, &values, precision)
}

/// Functions of unusual form: repeated results, inputs and constants as results, unused inputs, no inputs, one buffer
/// for two arguments.
fn results(backend: &dyn Backend, precision: Precision) -> Result<(), String> {
    let (a, b) = (ramp(5, 0.5, precision), ramp(5, 0.25, precision));
    let mut f = Function::new("odd", precision);
    let at = Function::nowhere;
    let (x, y) = (f.input(a.ty(), at()), f.input(b.ty(), at()));
    f.input(Type::scalar(DType::Bool), at());
    let c = f.constant(&b, at());
    let sum = f.apply(Op::Binary(Binary::Add), vec![x, y], at()).map_err(|e| e.to_string())?;
    f.apply(Op::Unary(Unary::Exp), vec![sum], at()).map_err(|e| e.to_string())?;
    f.results = vec![sum, x, sum, c, x, y, c];
    let args = [a.clone(), b.clone(), Value::Bool(true)];
    let want = wanted(&f, &args)?;
    let prepared = prepare(backend, f)?;
    for device in [false, true] {
        let args =
            if device { uploaded(backend, &args)? } else { args.iter().cloned().map(Held::Host).collect() };
        expect_all("result", &call(&prepared, args)?, &want, precision)?;
    }
    let one = upload(backend, &a)?;
    let twice = call(&prepared, vec![one.clone(), one.clone(), Held::Host(Value::Bool(false))])?;
    expect(
        "one buffer as two arguments",
        &twice[0],
        &wanted(prepared.function(), &[a.clone(), a.clone(), Value::Bool(false)])?[0],
        precision,
    )?;
    expect("that buffer", &one, &a, precision)?;
    let mut constant = Function::new("constant", precision);
    let c = constant.constant(&a, at());
    let negated = constant.apply(Op::Unary(Unary::Neg), vec![c], at()).map_err(|e| e.to_string())?;
    constant.results = vec![negated, c];
    let want = wanted(&constant, &[])?;
    expect_all("result without inputs", &call(&prepare(backend, constant)?, Vec::new())?, &want, precision)
}

/// A call that stops changes no value of the caller, and has no effect on the next call.
fn errors(backend: &dyn Backend, precision: Precision) -> Result<(), String> {
    let prepared = prepare(backend, step(64, precision))?;
    let good = [ramp(64, 0.5, precision), ramp(64, 0.25, precision), Value::Int(7)];
    let want = wanted(prepared.function(), &good)?;
    let held = uploaded(backend, &good)?;
    let last = upload(backend, &Value::Int(i64::MAX))?;
    for _ in 0..3 {
        let stopped = prepared.run(vec![held[0].clone(), held[1].clone(), last.clone()]);
        let Err(RunError::Stop(stop)) = stopped else {
            return Err(format!("the largest int plus 1 gives {stopped:?}"));
        };
        if stop.at != prepared.function().results[2] {
            return Err(format!("{} stops instead of {}", stop.at, prepared.function().results[2]));
        }
        expect_all("result after an error", &call(&prepared, held.clone())?, &want, precision)?;
    }
    expect_all("argument of a call that stopped", &held, &good, precision)
}
