//! Donated arguments: their memory is taken only where nobody else holds it, and results do not depend on it.

use rml_base::EntityId;
use rml_ir::op::Op;
use rml_ir::{Precision, Value};

use super::{call, expect, expect_all, prepare, ramp, step, upload, uploaded, wanted};
use crate::contract::{Backend, Held};
use crate::function::{Donation, Function, Val};

/// The step that gives its arguments to its results, crosswise.
fn donating(n: usize, precision: Precision) -> Function {
    let mut f = step(n, precision);
    let donation = |input, result| Donation { input: Val::from_index(input), result };
    f.donations = vec![donation(0, 1), donation(1, 0), donation(2, 2)];
    f
}

/// Nobody else holds the arguments, through many calls; host arguments are donated as well.
pub(super) fn unshared(backend: &dyn Backend, precision: Precision) -> Result<(), String> {
    let prepared = prepare(backend, donating(40, precision))?;
    for device in [false, true] {
        let mut host = vec![ramp(40, 0.5, precision), ramp(40, 0.25, precision), Value::Int(0)];
        let mut held: Vec<Held> = host.iter().cloned().map(Held::Host).collect();
        if device {
            held = uploaded(backend, &host)?;
        }
        for _ in 0..12 {
            host = wanted(prepared.function(), &host)?;
            held = call(&prepared, held)?;
        }
        expect_all("result after twelve calls", &held, &host, precision)?;
    }
    Ok(())
}

/// Somebody else holds the arguments, so they stay what they are; also where one buffer is two arguments.
pub(super) fn shared(backend: &dyn Backend, precision: Precision) -> Result<(), String> {
    let prepared = prepare(backend, donating(40, precision))?;
    let host = [ramp(40, 0.5, precision), ramp(40, 0.25, precision), Value::Int(i64::MAX - 3)];
    let want = wanted(prepared.function(), &host)?;
    let held = uploaded(backend, &host)?;
    for _ in 0..3 {
        expect_all("result", &call(&prepared, held.clone())?, &want, precision)?;
        expect_all("shared argument", &held, &host, precision)?;
    }
    let one = upload(backend, &host[0])?;
    let twice = [host[0].clone(), host[0].clone(), Value::Int(1)];
    let results = call(&prepared, vec![one.clone(), one.clone(), Held::Host(Value::Int(1))])?;
    expect_all("result of one buffer twice", &results, &wanted(prepared.function(), &twice)?, precision)?;
    expect("that buffer", &one, &host[0], precision)?;
    // The last two holders of a buffer are the two arguments themselves.
    let results = call(&prepared, vec![one.clone(), one, Held::Host(Value::Int(1))])?;
    expect_all(
        "result of one buffer given twice",
        &results,
        &wanted(prepared.function(), &twice)?,
        precision,
    )?;
    // A call that stops gives the donated arguments back to those who share them.
    let last = upload(backend, &Value::Int(i64::MAX))?;
    if prepared.run(vec![held[0].clone(), held[1].clone(), last.clone()]).is_ok() {
        return Err("the largest int plus 1 has a result".to_owned());
    }
    expect_all("shared argument of a call that stopped", &held, &host, precision)?;
    expect("the int that stopped it", &last, &Value::Int(i64::MAX), precision)
}

/// The argument is used after the result that gets its memory is known, and it is a result itself.
pub(super) fn used(backend: &dyn Backend, precision: Precision) -> Result<(), String> {
    let at = Function::nowhere;
    let a = ramp(40, 0.5, precision);
    let mut f = Function::new("used", precision);
    let (x, y) = (f.input(a.ty(), at()), f.input(a.ty(), at()));
    let mut apply = |op, args: Vec<Val>| f.apply(op, args, at()).map_err(|e| e.to_string());
    let negated = apply(Op::Neg, vec![x])?;
    let sum = apply(Op::Add, vec![negated, y])?;
    let again = apply(Op::Sub, vec![x, sum])?;
    let turned = apply(
        Op::Index { items: vec![rml_ir::op::AxisIndex::Slice { start: 39, len: 40, step: -1 }] },
        vec![y],
    )?;
    f.results = vec![negated, sum, again, x, turned];
    f.donations = vec![Donation { input: x, result: 0 }, Donation { input: y, result: 4 }];
    let host = [a, ramp(40, 0.25, precision)];
    let want = wanted(&f, &host)?;
    let prepared = prepare(backend, f)?;
    for _ in 0..3 {
        expect_all("result", &call(&prepared, uploaded(backend, &host)?)?, &want, precision)?;
    }
    // An input that is its own result.
    let mut same = Function::new("same", precision);
    let x = same.input(host[0].ty(), at());
    same.results = vec![x];
    same.donations = vec![Donation { input: x, result: 0 }];
    let prepared = prepare(backend, same)?;
    let kept = upload(backend, &host[0])?;
    let result = call(&prepared, vec![kept.clone()])?;
    expect_all("a donated input that is the result", &result, &host[..1], precision)?;
    let passed = call(&prepared, call(&prepared, uploaded(backend, &host[..1])?)?)?;
    expect_all("one passed on twice", &passed, &host[..1], precision)?;
    expect("the shared one", &kept, &host[0], precision)
}
