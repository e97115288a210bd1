//! Long runs in constant memory: cycles and equation activations per second, open cycles, resident memory.
//!
//! `cargo bench -p rml-sim` runs the full length, about five minutes; `RML_SOAK_CYCLES` sets another number of cycles.
#![allow(clippy::print_stdout, missing_docs, reason = "the table is the result")]

use std::sync::Arc;
use std::time::Instant;

use rml_backend_cpu::Cpu;
use rml_ir::flat::{Drawn, Rhs};
use rml_ir::op::{AxisIndex, Binary, Op, Unary};
use rml_ir::{Data, Shape, Type, Value};
use rml_sim::{InputCell, Options, Simulator, Tensors};
use rml_testkit::flat::{BOOL, Builder, INT, NUM};

fn main() {
    // The test runner calls benches with `--test`; then a short run is sufficient.
    let short = std::env::args().any(|a| a == "--test");
    let asked = std::env::var("RML_SOAK_CYCLES").ok().and_then(|n| n.parse().ok());
    let cycles: u64 = asked.unwrap_or(if short { 20_000 } else { 10_000_000 });
    println!(
        "{:<12} {:>10} {:>8} {:>14} {:>10} {:>6} {:>11} {:>11}",
        "program", "cycles", "s", "activations/s", "ns/cycle", "open", "MiB before", "MiB after"
    );
    let every_ten = |n: u64| vec![number(n), InputCell::Given(Value::Bool(n % 10 == 9))];
    soak("backfill", &backfill(), cycles, 11, every_ten);
    soak("window", &window(), cycles, 11, every_ten);
    soak("counter", &counter(), cycles, 1, |_| Vec::new());
    soak("pipeline", &pipeline(), cycles / 10, 1, |n| vec![number(n)]);
    let x = vector(8, 0.25);
    soak("lstm", &lstm(8, 64), if short { cycles / 100 } else { cycles }, 1, |_| {
        vec![InputCell::Given(x.clone())]
    });
}

fn number(n: u64) -> InputCell {
    InputCell::Given(Value::Int(i64::try_from(n % 1000).unwrap_or(0)))
}

/// Runs a program twice: operator by operator, and with the functions of the embedded backend.
fn soak(name: &str, flat: &Arc<Drawn>, cycles: u64, most_open: u64, inputs: impl Fn(u64) -> Vec<InputCell>) {
    run(name, flat, Options::default(), cycles, most_open, &inputs);
    let functions = Options { tensors: Tensors::On(Arc::new(Cpu)), ..Options::default() };
    run(&format!("{name} fn"), flat, functions, cycles, most_open, &inputs);
}

/// Runs a program and prints a line; memory and open cycles must not grow.
fn run(
    name: &str,
    flat: &Arc<Drawn>,
    options: Options,
    cycles: u64,
    most_open: u64,
    inputs: &dyn Fn(u64) -> Vec<InputCell>,
) {
    let mut sim = Simulator::new(Arc::clone(flat), options);
    let warm_up = cycles / 100;
    let (mut start, mut before, mut released) = (Instant::now(), 0.0, 0_u64);
    let mut done = 0;
    for n in 0..cycles + warm_up {
        if n == warm_up {
            (start, before, done) = (Instant::now(), resident(), sim.stats().activations);
        }
        sim.feed(&inputs(n)).expect("a correct program");
        while let Some(row) = sim.next_output() {
            released = row.cycle + 1;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let (after, stats) = (resident(), sim.stats());
    #[allow(clippy::cast_precision_loss, reason = "for display")]
    let (each, rate) = (seconds * 1e9 / cycles as f64, (stats.activations - done) as f64 / seconds);
    println!(
        "{name:<12} {cycles:>10} {seconds:>8.2} {rate:>14.0} {each:>10.0} {:>6} {before:>11.1} {after:>11.1}",
        stats.max_open_cycles
    );
    assert!(stats.max_open_cycles <= most_open, "{name}: {stats:?}");
    assert!(released + most_open > cycles + warm_up, "{name}: outputs up to {released}");
    assert!(after <= before + 4.0, "{name}: memory grew from {before} to {after} MiB");
}

/// Resident memory in MiB, if the system provides it.
fn resident() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|s| s.split_whitespace().nth(1).and_then(|n| n.parse::<f64>().ok()));
    pages.map_or(0.0, |n| n * 4096.0 / 1_048_576.0)
}

/// The program `o = merge bp (i when bp) ((post o) when not bp)`.
fn backfill() -> Arc<Drawn> {
    let mut b = Builder::new();
    let (i, bp) = (b.input("i", INT), b.input("bp", BOOL));
    let o = b.scalar("o", INT);
    let taken = b.when(i, bp);
    let later = b.post(o);
    let left = b.when_not(later, bp);
    b.define(o, Rhs::Merge { cond: bp, on_true: taken, on_false: left });
    b.output(o);
    b.build()
}

/// Forward and backward sums within windows.
fn window() -> Arc<Drawn> {
    let mut b = Builder::new();
    let (i, end) = (b.input("i", INT), b.input("end", BOOL));
    let w = b.window(end, None);
    let (up, down) = (b.scalar("up", INT), b.scalar("down", INT));
    let (before, after) = (b.fby_in(0, up, w), b.back_in(0, down, w));
    b.define(up, Rhs::Apply { op: Op::Binary(Binary::Add), args: vec![before, i] });
    b.define(down, Rhs::Apply { op: Op::Binary(Binary::Add), args: vec![after, i] });
    let o = b.apply(Op::Binary(Binary::Sub), &[up, down]);
    b.output(o);
    b.build()
}

fn counter() -> Arc<Drawn> {
    let mut b = Builder::new();
    let o = b.scalar("o", INT);
    let one = b.lit(1);
    let sum = b.apply(Op::Binary(Binary::Add), &[o, one]);
    let init = b.init(0);
    b.define(o, Rhs::Fby { init, next: sum, window: None });
    b.output(o);
    b.build()
}

/// A hundred scalar operators and delays in a chain.
fn pipeline() -> Arc<Drawn> {
    let mut b = Builder::new();
    let x = b.input("x", INT);
    let mut v = x;
    for i in 0..100 {
        v = match i % 4 {
            0 => b.fby(0, v),
            1 => b.apply(Op::Binary(Binary::Add), &[v, x]),
            2 => b.apply(Op::Binary(Binary::Sub), &[v, x]),
            _ => b.apply(Op::Unary(Unary::Neg), &[v]),
        };
    }
    b.output(v);
    b.build()
}

fn vector(n: usize, x: f64) -> Value {
    Value::new(Shape::new(&[n]), Data::F64(vec![x; n]))
}

/// One step of an LSTM per cycle.
fn lstm(inputs: usize, units: usize) -> Arc<Drawn> {
    let mut b = Builder::new();
    let x = b.var("x", Type::new(NUM, &[inputs]));
    b.flat.inputs.push(rml_ir::flat::Input { var: x, clock: None });
    let state = Type::new(NUM, &[units]);
    let (h, c) = (b.var("h", state.clone()), b.var("c", state.clone()));
    let size = (units + inputs) * 4 * units;
    let kernel = (0..size).map(|i| ((i * 7919 % 1000) as f64 - 500.0) / 5000.0).collect();
    let kernel = b.lit(Value::new(Shape::new(&[units + inputs, 4 * units]), Data::F64(kernel)));
    let bias = b.lit(vector(4 * units, 0.1));
    let zero = Value::zeros(&state, rml_ir::Precision::F64);
    let (h0, c0) = (b.fby(zero.clone(), h), b.fby(zero, c));
    let xh = b.apply(Op::Concat { axis: 0 }, &[h0, x]);
    let product = b.apply(Op::MatMul, &[xh, kernel]);
    let z = b.apply(Op::Binary(Binary::Add), &[product, bias]);
    let gate = |b: &mut Builder, k: usize, op: Op| {
        let part = b.apply(
            Op::Index { items: vec![AxisIndex::Slice { start: k * units, len: units, step: 1 }] },
            &[z],
        );
        b.apply(op, &[part])
    };
    let i = gate(&mut b, 0, Op::Unary(Unary::Sigmoid));
    let f = gate(&mut b, 1, Op::Unary(Unary::Sigmoid));
    let g = gate(&mut b, 2, Op::Unary(Unary::Tanh));
    let o = gate(&mut b, 3, Op::Unary(Unary::Sigmoid));
    let (kept, new) = (b.apply(Op::Binary(Binary::Mul), &[f, c0]), b.apply(Op::Binary(Binary::Mul), &[i, g]));
    b.define(c, Rhs::Apply { op: Op::Binary(Binary::Add), args: vec![kept, new] });
    let t = b.apply(Op::Unary(Unary::Tanh), &[c]);
    b.define(h, Rhs::Apply { op: Op::Binary(Binary::Mul), args: vec![o, t] });
    b.output(h);
    b.build()
}
