//! Windows that do not fit in memory as a whole, on a backend: the embedded backend runs them in segments. This file
//! contains one test, because the limit applies to the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rml::backend::{About, Backend, Buffer, Cpu, Executable, Failure, Function, Held, Outcome};
use rml::{Columns, Engine, Format, Options, PlanShape, RunOptions, Source, Value, codes, memory};

/// The embedded backend, which runs function by function, with a count of its calls.
#[derive(Clone, Debug, Default)]
struct Watched(Arc<AtomicUsize>);

#[derive(Debug)]
struct Ready(Box<dyn Executable>, Watched);

impl Backend for Watched {
    fn about(&self) -> About {
        Cpu.about()
    }

    fn prepare(&self, function: &Function) -> Result<Box<dyn Executable>, Failure> {
        Ok(Box::new(Ready(Cpu.prepare(function)?, self.clone())))
    }

    fn upload(&self, value: &Value) -> Result<Arc<dyn Buffer>, Failure> {
        Cpu.upload(value)
    }
}

impl Executable for Ready {
    fn run(&self, args: Vec<Held>) -> Result<Outcome, Failure> {
        self.1.0.fetch_add(1, Ordering::SeqCst);
        self.0.run(args)
    }
}

const CYCLES: usize = 400;

/// The training of a recurrent network.
const TEXT: &str = "
import std.layers;
import std.losses;
node net(x: num [8, 5]) -> (o: num [8, 2])
  o = dense(2, lstm(24, x));
node train(x: num [8, 5], y: num [8, 2], end: bool []) -> (loss)
  o, _ = diff_net(x, true, do) every end;
  loss, do, _ = diff_mse(o, y, true, -0.01);
";

fn data() -> Columns {
    let cycles = 2 * CYCLES;
    let row = |t: usize, n: usize| {
        (0..n).map(|i| format!("{}", ((t * 31 + i * 7) % 19) as f32 / 19.0)).collect::<Vec<_>>().join(",")
    };
    let tensor = |t: usize, n: usize| {
        let rows: Vec<String> = (0..8).map(|b| format!("[{}]", row(t + b, n))).collect();
        format!("[{}]", rows.join(","))
    };
    let column = |n: usize| (0..cycles).map(|t| tensor(t, n)).collect::<Vec<_>>().join(",");
    let end: Vec<&str> = (1..=cycles).map(|t| if t % CYCLES == 0 { "true" } else { "false" }).collect();
    let end = end.join(",");
    let text = format!("{{\"x\": [{}], \"y\": [{}], \"end\": [{end}]}}", column(5), column(2));
    Columns::parse(text.as_bytes(), Format::Json, "data").unwrap()
}

#[test]
fn windows_without_memory_on_a_backend_run_in_segments_embedded() {
    let source = Source::text("net.rml", TEXT);
    let options = Options { node: Some("train".to_owned()), ..Options::default() };
    memory::set_limit(1 << 40);
    let program = rml::compile(&source, &options).unwrap();
    let facts = rml::analyse(&source, &options).unwrap().run.unwrap();
    let stated = PlanShape::new(&facts).unwrap().footprint;
    let data = data();
    let watched = Watched::default();
    let run = |engine: Engine| rml::run(&program, &data, &RunOptions { engine, ..RunOptions::default() });
    let on = || run(Engine::plan_on(Arc::new(watched.clone())));
    let embedded = run(Engine::plan()).unwrap();
    assert!(embedded.error.is_none());
    let embedded = embedded.to_json();
    on().unwrap();
    assert!(watched.0.swap(0, Ordering::SeqCst) > CYCLES, "with memory, the backend runs them");

    let limit = |bytes: u64| memory::set_limit(memory::used() + bytes);
    limit(2 * stated.fixed + stated.per_tick * CYCLES as u64 / 2);
    let segments = on().unwrap();
    assert!(segments.error.is_none(), "{}", segments.error.unwrap());
    assert!(segments.to_json() == embedded, "the bits of the embedded backend");
    assert_eq!(watched.0.load(Ordering::SeqCst), 0, "calls of the backend");

    limit(stated.fixed + 10 * stated.per_tick);
    let refused = match on() {
        Ok(trace) => trace.error.expect("there is no memory"),
        Err(error) => error,
    };
    assert_eq!(refused.code(), Some(codes::run::MEMORY_LIMIT), "{refused}");
    assert!(refused.to_string().contains("--memory"), "{refused}");
}
