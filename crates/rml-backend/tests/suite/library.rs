//! Faults that only a library can have: a crash on invalid input, the loss of values that outlive their backend, the
//! use of a buffer of another backend.

use std::sync::Arc;

use rml_backend::suite::{Closed, Report, WantedBackends};
use rml_backend::{Backend, DefKind, Executable, Failure, Function, Held, Options, Outcome, Val};
use rml_backend_cpu::Cpu;
use rml_base::EntityId;
use rml_base::codes::backend as codes;
use rml_ir::op::{Binary, Op};
use rml_ir::{DType, Precision, Shape, Type, Value};

use super::Case;

pub(crate) fn cases(wanted: &WantedBackends, name: &str) -> Vec<Case> {
    let case = |what: &str, body: fn(&Arc<dyn Backend>) -> Result<(), String>| {
        Case::new(format!("library::{what}"), move |backend| report(body(backend)))
    };
    let (first, second) = (wanted.clone(), wanted.clone());
    let (name, again) = (name.to_owned(), name.to_owned());
    vec![
        case("invalid_functions", invalid_functions),
        case("arguments_that_do_not_fit", arguments_that_do_not_fit),
        case("foreign_buffers", foreign_buffers),
        Case::new("library::outlives_its_backend", move |_| report(outlives(&first, &name))),
        Case::new("library::unknown_device", move |_| report(unknown_device(&second, &again))),
    ]
}

fn report(outcome: Result<(), String>) -> Report {
    let mut report = Report::default();
    report.record(outcome);
    report
}

/// `x + y` of vectors of four.
fn sum() -> Function {
    let ty = Type::new(DType::Num, &[4]);
    let mut f = Function::new("sum", Precision::F32);
    let (x, y) = (f.input(ty.clone(), Function::nowhere()), f.input(ty, Function::nowhere()));
    let sum =
        f.apply(Op::Binary(Binary::Add), vec![x, y], Function::nowhere()).expect("vectors of one shape");
    f.results.push(sum);
    f
}

fn numbers(n: usize) -> Value {
    Value::filled(&Type::new(DType::Num, &[n]), 1.5, Precision::F32)
}

/// Checks that functions that break B1 to B3 are refused, and that the backend continues.
fn invalid_functions(backend: &Arc<dyn Backend>) -> Result<(), String> {
    type Spoil = fn(&mut Function);
    let breaks: [(&str, Spoil); 3] = [
        ("B1", |f| f.values[Val::from_index(2)].kind = apply(Op::Binary(Binary::Add), &[0, 2])),
        ("B2", |f| f.values[Val::from_index(2)].ty.shape = Shape::new(&[5])),
        ("B3", |f| f.results.push(Val::from_index(9))),
    ];
    for (rule, spoil) in breaks {
        let mut f = sum();
        spoil(&mut f);
        if backend.prepare(&f).is_ok() {
            return Err(format!("it prepares a function that breaks {rule}"));
        }
    }
    works(backend)
}

fn apply(op: Op, args: &[usize]) -> DefKind {
    DefKind::Apply { op, args: args.iter().map(|&i| Val::from_index(i)).collect() }
}

/// Checks that the backend still computes.
fn works(backend: &Arc<dyn Backend>) -> Result<(), String> {
    let prepared = backend.prepare(&sum()).map_err(|f| f.message)?;
    done(&*prepared, vec![numbers(4).into(), numbers(4).into()])
}

fn done(prepared: &dyn Executable, args: Vec<Held>) -> Result<(), String> {
    match prepared.run(args).map_err(|f| f.message)? {
        Outcome::Done(results) => {
            let sum = results[0].to_host().map_err(|f| f.message)?;
            let three = Value::filled(&sum.ty(), 3.0, Precision::F32);
            if sum.same(&three) { Ok(()) } else { Err(format!("1.5 + 1.5 is {sum:?}")) }
        }
        Outcome::Suspect => Err("a sum of numbers is suspect".to_owned()),
    }
}

/// Checks that missing arguments and arguments of other shapes are failures of the call.
fn arguments_that_do_not_fit(backend: &Arc<dyn Backend>) -> Result<(), String> {
    let prepared = backend.prepare(&sum()).map_err(|f| f.message)?;
    let buffer = |v: Value| backend.upload(&v).map(Held::Device).map_err(|f| f.message);
    let wrong = [
        ("one argument", vec![buffer(numbers(4))?]),
        ("three arguments", vec![buffer(numbers(4))?, buffer(numbers(4))?, buffer(numbers(4))?]),
        ("a longer vector", vec![buffer(numbers(4))?, buffer(numbers(7))?]),
        ("a longer vector of the host", vec![buffer(numbers(4))?, numbers(7).into()]),
        (
            "numbers of double precision",
            vec![numbers(4).to_precision(Precision::F64).into(), buffer(numbers(4))?],
        ),
    ];
    for (what, args) in wrong {
        if prepared.run(args).is_ok() {
            return Err(format!("{what} instead of two vectors of four is taken"));
        }
    }
    done(&*prepared, vec![numbers(4).into(), numbers(4).into()])
}

/// Checks that a buffer of another backend is refused.
fn foreign_buffers(backend: &Arc<dyn Backend>) -> Result<(), String> {
    let cpu = Cpu::open(&Options::default()).map_err(|f| f.message)?;
    let foreign = Held::Device(cpu.upload(&numbers(4)).map_err(|f| f.message)?);
    let prepared = backend.prepare(&sum()).map_err(|f| f.message)?;
    match prepared.run(vec![foreign, numbers(4).into()]) {
        Err(Failure { code, .. }) if code == codes::BACKEND_FAILED => works(backend),
        other => Err(format!("a foreign buffer gives {other:?}")),
    }
}

/// Checks that values of a second backend of the library stay valid after this backend was dropped.
fn outlives(wanted: &WantedBackends, name: &str) -> Result<(), String> {
    let text = |closed: Closed| match closed {
        Closed::NoDevice(why) | Closed::Failed(why) => why,
    };
    let library = wanted.library(name).map_err(text)?;
    let backend = library.backend(&wanted.options).map_err(|f| f.message)?;
    let prepared = backend.prepare(&sum()).map_err(|f| f.message)?;
    let buffer = backend.upload(&numbers(4)).map_err(|f| f.message)?;
    drop(backend);
    drop(library);
    done(&*prepared, vec![Held::Device(Arc::clone(&buffer)), numbers(4).into()])?;
    drop(prepared);
    let kept = buffer.download().map_err(|f| f.message)?;
    if kept.same(&numbers(4)) { Ok(()) } else { Err(format!("the buffer holds {kept:?}")) }
}

/// Checks that an unknown device gives its own kind of failure, so its checks can be skipped.
fn unknown_device(wanted: &WantedBackends, name: &str) -> Result<(), String> {
    let mut wanted = wanted.clone();
    for device in ["cuda:4095", "no such device", ""] {
        wanted.options.device = device.to_owned();
        match wanted.open(name, |_| Err(Failure::call("not embedded"))) {
            Err(Closed::NoDevice(_)) => {}
            other => return Err(format!("the device `{device}` gives {other:?}")),
        }
    }
    Ok(())
}
