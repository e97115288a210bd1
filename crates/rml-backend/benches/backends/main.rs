//! Measures the cost of calls, start-up and preparation on each backend. `cargo xtask bench` runs this program and
//! writes the table of `docs/performance-method.md`.
//!
//! The backends are selected as in the suite: `RML_TEST_BACKENDS=cpu,xla,torch`. The backends take turns at each case.
//! The arguments and results of a call are on the device, and each call gets the results of the previous one, so no
//! call can be deferred; the last result is copied to the host. Preparation is measured with a function that is in no
//! cache. Start-up is measured in a fresh process, from opening the library to the first tensor on the device.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark tells what it measures, and what is missing"
)]

mod functions;

use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};
use rml_backend::suite::{Closed, WantedBackends};
use rml_backend::{Backend, Function, Held, Prepared};
use rml_backend_cpu::Cpu;
use rml_ir::Value;

/// The environment variable with the name of the backend that a child process opens and times.
const CHILD: &str = "RML_BENCH_OPEN";

/// A name and the backend of this name.
type Opened = (String, Arc<dyn Backend>);

fn main() -> ExitCode {
    let mut wanted = WantedBackends::read(|name| std::env::var_os(name));
    // With more threads, calls would wait for each other on a machine that runs other programs too.
    wanted.options.threads = Some(1);
    if let Ok(name) = std::env::var(CHILD) {
        return child(&wanted, &name);
    }
    let mut backends: Vec<Opened> = Vec::new();
    for name in &wanted.backends {
        match open(&wanted, name) {
            Ok(backend) => backends.push((name.clone(), backend)),
            Err(Closed::NoDevice(why) | Closed::Failed(why)) => {
                eprintln!("{name}: {why}");
                return ExitCode::FAILURE;
            }
        }
    }
    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(1000))
        .configure_from_args();
    calls(&mut criterion, &backends);
    preparation(&mut criterion, &backends);
    start_up(&mut criterion, &backends);
    criterion.final_summary();
    ExitCode::SUCCESS
}

fn open(wanted: &WantedBackends, name: &str) -> Result<Arc<dyn Backend>, Closed> {
    wanted.open(name, |options| Ok(Arc::new(Cpu::open(options)?)))
}

/// Opens a backend and prints the time that this took, in nanoseconds.
fn child(wanted: &WantedBackends, name: &str) -> ExitCode {
    let start = Instant::now();
    let uploaded = open(wanted, name).ok().and_then(|backend| backend.upload(&Value::F32(1.0)).ok());
    println!("{}", start.elapsed().as_nanos());
    if uploaded.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn start_up(criterion: &mut Criterion, backends: &[Opened]) {
    let mut group = criterion.benchmark_group("start-up");
    group.sample_size(10);
    for (name, _) in backends {
        group.bench_function(name, |b| {
            b.iter_custom(|iterations| (0..iterations).map(|_| started(name)).sum());
        });
    }
    group.finish();
}

/// The time that a separate process needs to open the backend.
fn started(name: &str) -> Duration {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program).env(CHILD, name).output().expect("this program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    Duration::from_nanos(text.trim().parse().expect("the child prints a time"))
}

fn calls(criterion: &mut Criterion, backends: &[Opened]) {
    for case in functions::cases() {
        let mut group = criterion.benchmark_group(case.group);
        for (name, backend) in backends {
            let prepared = Prepared::new(&**backend, Arc::new(case.function.clone()));
            let prepared = prepared.unwrap_or_else(|e| panic!("{name} refuses {}: {e}", case.group));
            let upload = |v: &Value| Held::Device(backend.upload(v).expect("there is memory"));
            let args: Vec<Held> = case.args.iter().map(upload).collect();
            group.bench_function(BenchmarkId::new(name, &case.size), |b| {
                b.iter_custom(|iterations| chain(&prepared, &args, iterations));
            });
        }
        group.finish();
    }
}

/// The time of `iterations` calls, each with the results of the previous one as its first arguments.
fn chain(prepared: &Prepared, args: &[Held], iterations: u64) -> Duration {
    let mut args = args.to_vec();
    let start = Instant::now();
    for _ in 0..iterations {
        let results = prepared.run(args.clone()).expect("the call has results");
        for (arg, result) in args.iter_mut().zip(results) {
            *arg = result;
        }
    }
    args[0].to_host().expect("the result can be copied");
    start.elapsed()
}

fn preparation(criterion: &mut Criterion, backends: &[Opened]) {
    let mut group = criterion.benchmark_group("prepare");
    group.sample_size(10);
    let mut seen = 0_u32;
    for size in [1, 10, 100, 1000] {
        for (name, backend) in backends {
            group.bench_function(BenchmarkId::new(name, size), |b| {
                b.iter_custom(|iterations| {
                    let mut fresh = || -> Arc<Function> {
                        seen += 1;
                        Arc::new(functions::chain(size, f64::from(seen)))
                    };
                    let functions: Vec<Arc<Function>> = (0..iterations).map(|_| fresh()).collect();
                    let start = Instant::now();
                    for function in functions {
                        Prepared::new(&**backend, function).expect("every backend has these operators");
                    }
                    start.elapsed()
                });
            });
        }
    }
    group.finish();
}
