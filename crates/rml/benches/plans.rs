//! How fast plans run on the embedded backend: medians of rounds, on one thread.
//!
//! `cargo bench -p rml --bench plans`; a name as an argument runs one of them.
#![allow(clippy::print_stdout, missing_docs, reason = "the table is the result")]

use std::fmt::Write as _;
use std::time::Instant;

use rml::{Options, Program, Source, Stepper};

fn main() {
    // The test runner calls benches with `--test`: then a short run is enough.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let short = arguments.iter().any(|a| a == "--test");
    let asked = |name: &str| arguments.iter().all(|a| a.starts_with("--") || name.contains(a.as_str()));
    println!("{:<24} {:>12} {:>12}  unit", "what", "median", "best");
    if asked("stream") {
        stream(short);
    }
    if asked("scalars") {
        scalars(short);
    }
    for sizes in [[32, 28, 28, 128], [1, 64, 16, 64], [32, 128, 64, 256], [64, 8, 8, 64]] {
        if asked("train") {
            train(sizes, short);
        }
    }
}

fn program(text: &str) -> Program {
    rml::compile(&Source::text("bench.rml", text), &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// Times of rounds of so many calls each, in seconds a call.
fn measure(rounds: usize, calls: usize, mut call: impl FnMut()) -> Vec<f64> {
    call();
    let mut times: Vec<f64> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            (0..calls).for_each(|_| call());
            start.elapsed().as_secs_f64() / calls as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

/// A sequence of numbers between -1 and 1.
fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7919 % 2003) as f32 / 1001.5) - 1.0).collect()
}

/// A step of an LSTM(16 → 64) with a dense layer of 4.
fn stream(short: bool) {
    let text = "import std.layers; node main(x: num [16]) -> (y) y = dense(4, lstm(64, x));";
    let program = program(text);
    let mut stepper = Stepper::stream(&program).unwrap_or_else(|e| panic!("{e}"));
    let x = stepper.input::<f32>("x").unwrap_or_else(|e| panic!("{e}"));
    let y = stepper.output::<f32>("y").unwrap_or_else(|e| panic!("{e}"));
    let data = numbers(16);
    let mut sum = 0.0;
    let times = measure(if short { 2 } else { 21 }, if short { 10 } else { 20_000 }, || {
        stepper.write(x, &data);
        stepper.step().unwrap_or_else(|e| panic!("{e}"));
        sum += stepper.read(y).map_or(0.0, |y| y[0]);
    });
    assert!(sum.is_finite());
    println!("{:<24} {:>12.3} {:>12.3}  µs a step", "stream", 1e6 * times[times.len() / 2], 1e6 * times[0]);
}

/// The gradient of a recurrence of 60 scalar states by 120 scalar parameters, over 614 cycles.
fn scalars(short: bool) {
    const STATES: usize = 60;
    const CYCLES: usize = 614;
    let mut text = String::from("import std.losses;\nnode model(u: num []) -> (o)\n");
    for i in 0..STATES {
        let (a, b) = (0.2 + 0.6 * (i as f64 * 0.37).fract(), 0.2 + 0.6 * (i as f64 * 0.61).fract());
        let before = if i == 0 { "u".to_owned() } else { format!("(0.0 fby s{})", i - 1) };
        let _ = writeln!(text, "  a{i} = param({a:?});\n  b{i} = param({b:?});");
        let _ = writeln!(text, "  s{i} = tanh(a{i} * (0.0 fby s{i}) + b{i} * {before}) + 0.1 * u;");
    }
    let _ = write!(
        text,
        "  o = s{};\nnode train(u: num [], y: num [], end: bool []) -> (loss)
  o, _ = diff_model(u, true, d) every end;
  e = o - y;
  d = 0.0 - 0.0002 * e;
  loss = e * e;\n",
        STATES - 1
    );
    let options = Options { node: Some("train".to_owned()), ..Options::default() };
    let program =
        rml::compile(&Source::text("bench.rml", &*text), &options).unwrap_or_else(|e| panic!("{e}"));
    let mut stepper = Stepper::windows(&program).unwrap_or_else(|e| panic!("{e}"));
    let u = stepper.input::<f32>("u").unwrap_or_else(|e| panic!("{e}"));
    let y = stepper.input::<f32>("y").unwrap_or_else(|e| panic!("{e}"));
    let (given, wanted) = (numbers(CYCLES), numbers(2 * CYCLES));
    let times = measure(if short { 2 } else { 31 }, 1, || {
        stepper.window(CYCLES).unwrap_or_else(|e| panic!("{e}"));
        stepper.write(u, &given);
        stepper.write(y, &wanted[CYCLES..]);
        stepper.step().unwrap_or_else(|e| panic!("{e}"));
    });
    println!(
        "{:<24} {:>12.3} {:>12.3}  ms a gradient",
        "scalars",
        1e3 * times[times.len() / 2],
        1e3 * times[0]
    );
}

/// Training of an LSTM classifier, plain gradient descent.
fn train([batch, cycles, inputs, hidden]: [usize; 4], short: bool) {
    let text = format!(
        "import std.layers;
import std.losses;
node classify(x: num [{batch}, {inputs}], end: bool []) -> (logits: num [{batch}, 10] when end)
  h = lstm({hidden}, x) every end;
  logits = dense(10, h when end);
node train(x: num [{batch}, {inputs}], end: bool [], y: int [{batch}] when end) -> (loss: num [] when end)
  logits, _ = diff_classify(x, end, true, dlogits);
  loss, dlogits = diff_cross_entropy(logits, y, true, -0.1);"
    );
    let options = Options { node: Some("train".to_owned()), ..Options::default() };
    let program =
        rml::compile(&Source::text("bench.rml", &*text), &options).unwrap_or_else(|e| panic!("{e}"));
    let mut stepper = Stepper::windows(&program).unwrap_or_else(|e| panic!("{e}"));
    let x = stepper.input::<f32>("x").unwrap_or_else(|e| panic!("{e}"));
    let y = stepper.input::<i64>("y").unwrap_or_else(|e| panic!("{e}"));
    let loss = stepper.output::<f32>("loss").unwrap_or_else(|e| panic!("{e}"));
    let data = numbers(cycles * batch * inputs);
    let labels: Vec<i64> = (0..batch as i64).map(|i| i % 10).collect();
    let calls =
        if short { 1 } else { (40_000_000 / (batch * cycles * hidden * (inputs + hidden))).clamp(1, 200) };
    let times = measure(if short { 1 } else { 11 }, calls, || {
        stepper.window(cycles).unwrap_or_else(|e| panic!("{e}"));
        stepper.write(x, &data);
        stepper.write_at(y, cycles - 1, &labels);
        stepper.step().unwrap_or_else(|e| panic!("{e}"));
        assert!(stepper.read_at(loss, cycles - 1).is_some_and(|l| l[0].is_finite()));
    });
    let name = format!("train {batch},{cycles},{inputs},{hidden}");
    let rate = |t: f64| batch as f64 / t;
    println!("{name:<24} {:>12.0} {:>12.0}  sequences/s", rate(times[times.len() / 2]), rate(times[0]));
}
