//! Programs on slices: the results of a session, without allocation.

mod ffi;
mod late;

use std::path::Path;

use ffi::{allocations_in, bytes_kept_by};
use rml::{
    Columns, Engine, Feed, Format, Options, PlanShape, Program, RunOptions, Session, Source, StaticValue,
    Stepper, Value, tensor,
};
use serde_json::json;

fn program(text: &str) -> Program {
    let options = Options { node: Some("main".to_owned()), ..Options::default() };
    rml::compile(&Source::text("main", text), &options).unwrap()
}

fn numbers(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.5 - 1.0).collect()
}

const STREAM: &str = "
import std.layers;
node main(x: num [3], on: bool []) -> (y, n, spike when on)
  h = lstm(4, x);
  y = dense(2, h);
  n = (0 fby n) + (if on then 1 else 0);
  spike = argmax(y) when on;
";

#[test]
fn a_stream_is_what_a_session_gives() {
    let program = program(STREAM);
    let mut stepper = Stepper::stream(&program).unwrap();
    let (x, on) = (stepper.input::<f32>("x").unwrap(), stepper.input::<bool>("on").unwrap());
    let y = stepper.output::<f32>("y").unwrap();
    let (n, spike) = (stepper.output::<i64>("n").unwrap(), stepper.output::<i64>("spike").unwrap());
    let mut session = Session::on(&program, &Engine::simulator()).unwrap();
    for t in 0..20 {
        let (data, flag) = (numbers(3, t), t % 3 == 0);
        stepper.write(x, &data);
        stepper.write(on, &[flag]);
        stepper.step().unwrap();
        let feeds: [(&str, Feed); 2] =
            [("x", tensor(&[3], data).unwrap().into()), ("on", Value::Bool(flag).into())];
        let rows = session.step(feeds).unwrap();
        let row = rows.first().unwrap();
        let nums: Vec<f64> = stepper.read(y).unwrap().iter().map(|x| f64::from(*x)).collect();
        assert_eq!(Some(nums), row.nums("y"), "the same bits");
        assert_eq!(stepper.read(n).map(|n| n[0]), row.get("n").and_then(Value::as_int));
        assert_eq!(stepper.read(spike).map(|s| s[0]), row.get("spike").and_then(Value::as_int));
    }
}

/// The program learns whether the sum of a sequence is positive.
const TRAINING: &str = "
import std.losses;
node leaky(x: num [5, 3]) -> (s: num [5, 3])
  k = param(glorot_uniform([3]));
  a = param(zeros([3]));
  s = (zeros([5, 3]) fby s) * 0.9 + tanh(x * k + a);
node model(x: num [5, 3], end: bool []) -> (o: num [5, 3] when end)
  s = leaky(x) every end;
  o = s when end;
node main(x: num [5, 3], end: bool [], y: int [5] when end) -> (loss: num [] when end, accuracy: num [] when end)
  o, _ = diff_model(x, end, true, d);
  loss, d = diff_cross_entropy(o, y, true, -0.1);
  accuracy = accuracy(o, y);
";

/// Makes one training step with a window; returns the loss.
fn train(stepper: &mut Stepper, cycles: usize, seed: usize) -> f32 {
    let (x, y) = (stepper.input::<f32>("x").unwrap(), stepper.input::<i64>("y").unwrap());
    let loss = stepper.output::<f32>("loss").unwrap();
    let data = numbers(cycles * 15, seed);
    let labels: Vec<i64> = (0..5).map(|i| i64::from((i + seed as i64) % 2 == 0)).collect();
    stepper.window(cycles).unwrap();
    stepper.write(x, &data);
    stepper.write_at(y, cycles - 1, &labels);
    stepper.step().unwrap();
    stepper.read_at(loss, cycles - 1).unwrap()[0]
}

#[test]
fn windows_of_any_length_train() {
    let program = program(TRAINING);
    let mut stepper = Stepper::windows(&program).unwrap();
    let losses: Vec<f32> = (0..40).map(|i| train(&mut stepper, 4 + i % 3, 0)).collect();
    assert!(losses[39] < losses[0], "{losses:?}");
}

/// The number of allocations from the third window on: parameters that have not changed get the layout for products at
/// their second use.
fn steady(stepper: &mut Stepper, feed: impl Fn(&mut Stepper)) -> usize {
    for _ in 0..2 {
        feed(stepper);
        stepper.step().unwrap();
    }
    allocations_in(|| {
        for _ in 0..10 {
            feed(stepper);
            stepper.step().unwrap();
        }
    })
}

#[test]
fn nothing_is_allocated_from_window_to_window() {
    let stream = program(STREAM);
    let mut stepper = Stepper::stream(&stream).unwrap();
    let (x, on) = (stepper.input::<f32>("x").unwrap(), stepper.input::<bool>("on").unwrap());
    let data = numbers(3, 1);
    let count = steady(&mut stepper, |s| {
        s.write(x, &data);
        s.write(on, &[true]);
    });
    assert_eq!(count, 0, "a stream");

    let training = program(TRAINING);
    let mut stepper = Stepper::windows(&training).unwrap();
    let (x, y) = (stepper.input::<f32>("x").unwrap(), stepper.input::<i64>("y").unwrap());
    let data = numbers(9 * 15, 2);
    let count = steady(&mut stepper, |s| {
        s.window(9).unwrap();
        s.write(x, &data);
        s.write_at(y, 8, &[0, 1, 0, 1, 0]);
    });
    assert_eq!(count, 0, "training");

    // The examples cover recurrent layers in one direction and in both, gradient descent and Adam, and tables of
    // vectors.
    for name in ["digits", "digits_gru", "bidirectional", "characters"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/{name}.rml"));
        let defaults = std::iter::once(("batch".to_owned(), StaticValue::Int(4))).collect();
        let options = Options { node: Some("train".to_owned()), defaults, ..Options::default() };
        let program = rml::compile(&Source::file(&file), &options).unwrap();
        let mut stepper = Stepper::windows(&program).unwrap();
        assert_eq!(steady(&mut stepper, |s| s.window(6).unwrap()), 0, "{name}");
    }
}

/// A run over a table allocates memory for its cells, but none for each window: many short windows need the same number
/// of allocations as few long ones.
#[test]
fn windows_of_a_table_allocate_nothing() {
    let text = "node add(x: num [8]) -> (s) s = x + (0.0 fby s);
node main(x: num [8], end: bool []) -> (y: num [] when end, z: int [] when end)
    all = add(x) every end; y = sum(all when end); z = argmax(x when end);";
    let program = program(text);
    let count = |period: usize| {
        const CYCLES: usize = 4096;
        let ends = (0..CYCLES).map(|t| json!((t + 1) % period == 0)).collect::<Vec<_>>();
        let rows = (0..CYCLES).map(|t| json!(vec![t as f64 / 7.0; 8])).collect::<Vec<_>>();
        let text = json!({"x": rows, "end": ends}).to_string();
        let table = Columns::parse(text.as_bytes(), Format::Json, "table").unwrap();
        let options = RunOptions { engine: Engine::plan(), ..RunOptions::default() };
        let run = || {
            let trace = rml::run(&program, &table, &options).unwrap();
            assert!(trace.error.is_none());
        };
        run();
        allocations_in(run)
    };
    let (few, many) = (count(1024), count(4));
    assert!(many < few + 60, "{few} for 4 windows, {many} for 1024");
}

#[test]
fn errors_are_those_of_the_simulator() {
    let program = program("node main(x: int []) -> (p) p = (1 fby p) * x;");
    let mut stepper = Stepper::stream(&program).unwrap();
    let (x, p) = (stepper.input::<i64>("x").unwrap(), stepper.output::<i64>("p").unwrap());
    let mut step = |value: i64| {
        stepper.write(x, &[value]);
        stepper.step().map(|()| stepper.read(p).unwrap()[0])
    };
    assert_eq!(step(3).unwrap(), 3);
    let error = step(i64::MAX).unwrap_err();
    assert_eq!(error.code().unwrap().to_string(), "integer-overflow");
    // The failed step has no effect.
    assert_eq!(step(2).unwrap(), 6);
}

/// Two windows in parallel, each of which is open when the other one ends.
#[test]
fn an_error_within_windows_is_that_of_the_simulator() {
    let text = "node product(x: int []) -> (p) p = (1 fby p) * x;
node count(x: int []) -> (n) n = (0 fby n) + 1;
node main(x: int [], a: bool [], b: bool []) -> (p, n) p = product(x) every a; n = count(x) every b;";
    let program = program(text);
    let mut stepper = Stepper::stream(&program).unwrap();
    let (x, p) = (stepper.input::<i64>("x").unwrap(), stepper.output::<i64>("p").unwrap());
    let (a, b) = (stepper.input::<bool>("a").unwrap(), stepper.input::<bool>("b").unwrap());
    let n = stepper.output::<i64>("n").unwrap();
    let mut step = |value: i64, [ends_a, ends_b]: [bool; 2]| {
        stepper.write(x, &[value]);
        stepper.write(a, &[ends_a]);
        stepper.write(b, &[ends_b]);
        stepper.step().map(|()| (stepper.read(p).unwrap()[0], stepper.read(n).unwrap()[0]))
    };
    assert_eq!(step(5, [true, false]).unwrap(), (5, 1));
    assert_eq!(step(3, [false, true]).unwrap(), (3, 2));
    // The product in this window so far is 3. The new value fits 64 bits, but its product with 3 does not.
    let error = step(i64::MAX / 2, [false, false]).unwrap_err();
    assert_eq!(error.code().unwrap().to_string(), "integer-overflow");
    assert_eq!(step(7, [true, false]).unwrap(), (21, 1));
    assert_eq!(step(2, [false, false]).unwrap(), (2, 2));
}

#[test]
fn ports_have_names_and_types() {
    let program = program(STREAM);
    let stepper = Stepper::stream(&program).unwrap();
    let code = |error: rml::Error| error.code().unwrap().to_string();
    assert_eq!(code(stepper.input::<f32>("xx").unwrap_err()), "unknown-input");
    assert_eq!(code(stepper.output::<f32>("z").unwrap_err()), "unknown-input");
    assert_eq!(code(stepper.input::<f64>("x").unwrap_err()), "input-type");
    assert_eq!(code(Stepper::stream(&self::program(TRAINING)).unwrap_err()), "engine-declines");
}

/// The memory that `rml check` states for windows of the examples is equal to the allocated memory: exactly for each
/// tick, and in total except for the tables of the code, which are the same for windows of any length. Long windows run
/// in segments, and need the memory stated for segments.
#[test]
fn windows_take_the_memory_that_is_stated() {
    const CYCLES: usize = 400;
    const TABLES: usize = 800_000;
    let batch = [("batch".to_owned(), StaticValue::Int(4))];
    let mut in_segments = 0;
    for name in ["digits", "digits_gru", "bidirectional", "forecast", "batchnorm", "characters", "nested"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/{name}.rml"));
        let source = Source::file(&file);
        let defaults = batch.clone().into_iter().collect();
        let options = Options { node: Some("train".to_owned()), defaults, ..Options::default() };
        let facts = rml::analyse(&source, &options).unwrap().run.unwrap();
        let stated = PlanShape::new(&facts).unwrap().footprint;
        let program = rml::compile(&source, &options).unwrap();
        let taken = |cycles: usize| {
            let run = || {
                let mut stepper = Stepper::windows(&program).unwrap();
                stepper.window(cycles).unwrap();
                for _ in 0..3 {
                    // All inputs are zeros.
                    stepper.step().unwrap();
                }
                stepper
            };
            bytes_kept_by(run).0
        };
        let (short, long) = (taken(CYCLES), taken(2 * CYCLES));
        let bytes = |cycles: usize| usize::try_from(stated.at(cycles)).unwrap();
        let ticks = bytes(2 * CYCLES) - bytes(CYCLES);
        assert!((long - short).abs_diff(ticks) <= ticks / 1000, "{name}: {short}, {long}, {stated:?}");
        assert!(long >= bytes(2 * CYCLES) && long < bytes(2 * CYCLES) + TABLES, "{name}: {long}, {stated:?}");
        let Some(cut) = PlanShape::budget(&facts, 10 * CYCLES, u64::MAX).unwrap().cut else { continue };
        let (taken, stated) = (taken(10 * CYCLES), usize::try_from(cut.bytes).unwrap());
        assert!((stated..stated + TABLES * 5 / 4).contains(&taken), "{name}: {taken}, {cut:?}");
        in_segments += 1;
    }
    assert!(in_segments >= 3, "{in_segments} examples have windows in segments");
}

/// A window of one cycle has no segments at any size, and segments never need more memory than the whole window.
#[test]
fn windows_that_are_large_but_short_run_as_a_whole() {
    let source = Source::file(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/digits.rml"));
    for (batch, cycles) in [(1, 9000), (4, 2000), (4000, 1)] {
        let defaults = [("batch".to_owned(), StaticValue::Int(batch))].into_iter().collect();
        let options = Options { node: Some("train".to_owned()), defaults, ..Options::default() };
        let facts = rml::analyse(&source, &options).unwrap().run.unwrap();
        let budget = PlanShape::budget(&facts, cycles, u64::MAX).unwrap();
        assert!(budget.whole > 16 << 20, "{batch}, {cycles}: {budget:?}");
        assert_eq!(budget.cut.is_some(), cycles > 1, "{batch}, {cycles}: {budget:?}");
        assert!(budget.cut.is_none_or(|cut| cut.bytes <= budget.whole), "{batch}, {cycles}: {budget:?}");
    }
}
