//! Prints plans as C, and times their windows.
//!
//! `cargo run --release -p rml-native --example plan -- FILE` prints the C text of a plan, as `rml dump --after plan`
//! writes it. With a number of ticks after the file, it prints the least time in ms of a window with this many ticks,
//! compiled and on the embedded executor, which take turns. Two more arguments give the number of repetitions, and the
//! folder for compiled code.

#![allow(clippy::print_stdout, reason = "an example prints what it finds")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rml_backend::{Held, Options};
use rml_backend_cpu::Cpu;
use rml_base::EntityId;
use rml_executor::{Executor, PrepareOptions, Running};
use rml_ir::{DType, Type, Value};
use rml_native::Native;
use rml_plan::Plan;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, rest @ ..] = &args[..] else { return Err("a file of a plan is missing".into()) };
    let plan = Arc::new(rml_plan::parse(&std::fs::read_to_string(file)?)?);
    let Some(ticks) = rest.first() else {
        println!("{}", Native::text(&plan)?);
        return Ok(());
    };
    let ticks: usize = ticks.parse()?;
    let options = Options { programs: rest.get(2).map(Into::into), ..Options::default() };
    let native = Native::open(&options).map_err(|why| format!("{why:?}"))?;
    let executors: [(&str, &dyn Executor); 2] = [("native", &native), ("cpu", &Cpu)];
    let mut running = Vec::new();
    for (name, executor) in executors {
        running.push((name, started(executor, &plan, ticks)?, Duration::MAX));
    }
    for _ in 0..rest.get(1).map_or(Ok(50), |n| n.parse())? {
        for (_, running, least) in &mut running {
            give(&mut **running, &plan, ticks);
            let begin = Instant::now();
            running.window(ticks).map_err(|why| format!("{why:?}"))?;
            *least = begin.elapsed().min(*least);
        }
    }
    let times = running.iter().map(|(name, _, least)| format!("{name} {:.4}", least.as_secs_f64() * 1e3));
    println!("{}", times.collect::<Vec<_>>().join(", "));
    Ok(())
}

/// Starts a plan, with numbers in its registers.
fn started(
    executor: &dyn Executor,
    plan: &Arc<Plan>,
    ticks: usize,
) -> Result<Box<dyn Running>, Box<dyn Error>> {
    let threads = std::env::var("RML_THREADS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let wish = PrepareOptions { threads };
    let ready = executor.prepare(plan, &wish).map_err(|why| format!("{why:?}"))?;
    let mut running = ready.start(None)?;
    for (id, register) in plan.registers.iter_enumerated() {
        if register.known.is_none() && register.ty.dtype == DType::Num {
            let value = numbers(&register.ty, id.index(), plan);
            running.set_register(id.index(), &Held::Host(value)).map_err(|why| format!("{why:?}"))?;
        }
    }
    give(&mut *running, plan, ticks);
    Ok(running)
}

fn give(running: &mut dyn Running, plan: &Plan, ticks: usize) {
    for (i, (_, ty)) in plan.inputs.iter().enumerate() {
        let dims = [&[ticks], ty.shape.dims()].concat();
        let data = numbers(&Type::new(ty.dtype, &dims), 1000 + i, plan).into_data();
        running.set_rows(i, ticks, &|_| true, &data, 0);
    }
}

/// Small numbers that look random; zeros for other types.
fn numbers(ty: &Type, seed: usize, plan: &Plan) -> Value {
    if ty.dtype != DType::Num {
        return Value::zeros(ty, plan.precision);
    }
    let one = |i: usize| ((i * 7919 + seed * 104_729) % 1009) as f64 / 5045.0 - 0.1;
    let all: Vec<Value> = (0..ty.shape.len()).map(|i| Value::num(one(i), plan.precision)).collect();
    let mut data = Value::zeros(ty, plan.precision).into_data();
    for (i, x) in all.into_iter().enumerate() {
        match (&mut data, x) {
            (rml_ir::Data::F32(to), Value::F32(x)) => to[i] = x,
            (rml_ir::Data::F64(to), Value::F64(x)) => to[i] = x,
            _ => {}
        }
    }
    Value::new(ty.shape.clone(), data)
}
