//! Buffers in several calls, several functions at once, threads.

use rml_ir::op::{Op, Unary};
use rml_ir::{Precision, Value};

use super::{call, expect, expect_all, prepare, ramp, step, upload, uploaded, wanted};
use crate::contract::{Backend, Held};
use crate::function::Function;

/// Results are arguments of the next call, mixed with host values; buffers of earlier calls keep their elements.
pub(super) fn feedback(backend: &dyn Backend, precision: Precision) -> Result<(), String> {
    let prepared = prepare(backend, step(100, precision))?;
    let mut host = vec![ramp(100, 0.5, precision), ramp(100, 1.0, precision), Value::Int(0)];
    let mut held: Vec<Held> = host.iter().cloned().map(Held::Host).collect();
    let mut kept = Vec::new();
    for n in 0..12 {
        host = wanted(prepared.function(), &host)?;
        held = call(&prepared, held)?;
        if n % 3 == 1 {
            held[1] = Held::Host(host[1].clone());
        }
        kept.push((host.clone(), held.clone()));
    }
    for (n, (host, held)) in kept.iter().enumerate() {
        expect_all(&format!("after all calls, call {n}: result"), held, host, precision)?;
    }
    Ok(())
}

/// Two functions alternate, and each reads the other's results.
pub(super) fn alternating(backend: &dyn Backend, precision: Precision) -> Result<(), String> {
    let first = prepare(backend, step(16, precision))?;
    let mut other = step(16, precision);
    let (a, b) = (other.results[0], other.results[1]);
    let negated =
        other.apply(Op::Unary(Unary::Neg), vec![a], Function::nowhere()).map_err(|e| e.to_string())?;
    other.results = vec![b, negated, other.results[2]];
    let second = prepare(backend, other)?;
    let mut host = vec![ramp(16, 1.0, precision), ramp(16, 2.0, precision), Value::Int(0)];
    let mut held = uploaded(backend, &host)?;
    for n in 0..10 {
        let prepared = if n % 2 == 0 { &first } else { &second };
        host = wanted(prepared.function(), &host)?;
        held = call(prepared, held)?;
        expect_all(&format!("call {n}: result"), &held, &host, precision)?;
    }
    Ok(())
}

/// Many calls with one buffer that does not change.
pub(super) fn many(backend: &dyn Backend, precision: Precision) -> Result<(), String> {
    const CALLS: i64 = 2000;
    let prepared = prepare(backend, step(512, precision))?;
    let (x, y) = (ramp(512, 0.5, precision), ramp(512, 0.25, precision));
    let (held_x, held_y) = (upload(backend, &x)?, upload(backend, &y)?);
    let mut count = upload(backend, &Value::Int(0))?;
    let mut sum = held_x.clone();
    for _ in 0..CALLS {
        let mut results = call(&prepared, vec![held_x.clone(), held_y.clone(), count])?;
        count = results.remove(2);
        sum = results.remove(0);
    }
    expect("the count of calls", &count, &Value::Int(CALLS), precision)?;
    let want = wanted(prepared.function(), &[x.clone(), y, Value::Int(0)])?;
    expect("the last result", &sum, &want[0], precision)?;
    expect("the buffer that stayed", &held_x, &x, precision)
}

/// Threads share a prepared function and its arguments, and each prepares its own function.
pub(super) fn threads(backend: &dyn Backend, precision: Precision) -> Result<(), String> {
    let shared = prepare(backend, step(64, precision))?;
    let host = [ramp(64, 0.5, precision), ramp(64, 0.25, precision), Value::Int(5)];
    let held = uploaded(backend, &host)?;
    let want = wanted(shared.function(), &host)?;
    let body = |thread: usize| -> Result<(), String> {
        let n = 8 + thread;
        let own = prepare(backend, step(n, precision))?;
        let mine = [ramp(n, 0.5, precision), ramp(n, 1.0, precision), Value::Int(1)];
        let expected = wanted(own.function(), &mine)?;
        for _ in 0..20 {
            expect_all("result of a shared function", &call(&shared, held.clone())?, &want, precision)?;
            let args = uploaded(backend, &mine)?;
            expect_all("result of a thread's own function", &call(&own, args)?, &expected, precision)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let body = &body;
        let running: Vec<_> = (0..4).map(|thread| scope.spawn(move || body(thread))).collect();
        running.into_iter().try_for_each(|t| t.join().unwrap_or_else(|_| Err("a thread panicked".to_owned())))
    })
}
