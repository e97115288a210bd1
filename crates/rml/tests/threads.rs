//! Any number of threads gives the bits of one thread, on both executors that share work among threads.

use std::path::Path;

use rml::{
    Column, Columns, Elements, Engine, Error, Evaluate, Shape, Source, TestSplit, TrainOptions, backend,
    train,
};

const CLASSIFIER: &str = "
import std.layers;
import std.losses;
import std.normalisation;

node classify(x: num [batch, 12], end: bool []) -> (logits: num [batch, 10] when end)
  h = CELL every end;
  logits = dense(10, h when end);

node train(x: num [batch, 12], end: bool [], y: int [batch] when end) -> (loss: num [] when end)
  logits, _ = diff_classify(x, end, true, dlogits);
  loss, dlogits = diff_cross_entropy(logits, y, true, -0.05);

node own(units, x: num [batch.., d]) -> (h_next: num [batch.., units])
  kernel = param(glorot_uniform([d, 2 * units]));
  recurrent = param(glorot_uniform([units, 2 * units]));
  peep = param(normal([units], 0.0, 0.1));
  z = layer_norm(matmul(x, kernel) + matmul(h, recurrent));
  gate = sigmoid(z[.., 0:units] + peep * h);
  h_next = gate * h + (1.0 - gate) * tanh(z[.., units:2 * units]);
  h = zeros([batch.., units]) fby h_next;
";

/// Random numbers between -1 and 1 that are the same in every run.
fn numbers(n: usize) -> Vec<f32> {
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

fn column(shape: &[usize], elements: Elements) -> Column {
    Column { shape: Shape::new(shape), elements, present: None }
}

/// Two batches of `b` windows of `t` rows, and a smaller batch, with inputs of shape `row`.
fn data(b: usize, t: Option<usize>, row: &[usize]) -> Columns {
    let n = 2 * b + b.div_ceil(2);
    let shape: Vec<usize> = std::iter::once(n).chain(t).chain(row.iter().copied()).collect();
    let mut data = Columns::default();
    let x = Elements::F32(numbers(shape.iter().product()));
    data.columns.insert("x".into(), column(&shape, x));
    let y = (0..n).map(|i| i as i64 * 7 % 10).collect();
    data.columns.insert("y".into(), column(&[n], Elements::Int(y)));
    data
}

/// The checkpoint after two epochs on the given engine.
fn trained(text: &str, data: &Columns, batch: usize, engine: Engine) -> Result<Vec<u8>, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint");
    let options = TrainOptions {
        epochs: 2,
        batch: Some(batch),
        test: Some(TestSplit::Count(1)),
        evaluate: Evaluate::Usual,
        save: Some(path.clone()),
        engine,
        ..TrainOptions::default()
    };
    train(&Source::text("main.rml", text), data, &options, &mut ())?;
    Ok(std::fs::read(Path::new(&path)).unwrap())
}

fn with_threads(backend: &str, threads: usize) -> Engine {
    let options = backend::Options { threads: Some(threads), ..backend::Options::default() };
    backend::engine(backend::Runner::Plan, backend, &options).unwrap()
}

#[track_caller]
fn same_bits(what: &str, text: &str, data: &Columns, batch: usize) {
    let of = |engine| trained(text, data, batch, engine).unwrap_or_else(|e| panic!("{what}: {e}"));
    let one = of(with_threads("cpu", 1));
    for (backend, threads) in
        [("cpu", 2), ("cpu", 3), ("cpu", 5), ("native", 1), ("native", 2), ("native", 3)]
    {
        let some = of(with_threads(backend, threads));
        assert!(some == one, "{what} by {backend} with {threads} threads");
    }
}

#[test]
fn recurrent_networks_have_the_same_bits() {
    let lstm = "lstm(48, x)";
    let dropped = "lstm(32, dropout(0.25, x, true))";
    for (cell, b) in [(lstm, 1), (lstm, 7), (lstm, 33), ("gru(40, x)", 33), ("own(32, x)", 32), (dropped, 16)]
    {
        let text = CLASSIFIER.replace("CELL", cell);
        same_bits(&format!("{cell}, {b} rows"), &text, &data(b, Some(6), &[12]), b);
    }
}

#[test]
fn convolutions_have_the_same_bits() {
    const TEXT: &str = "
import std.layers;
import std.losses;

node net(x: num [batch, 8, 8, 1]) -> (logits: num [batch, 10])
  y = relu(convolution(8, 3, 1, 1, x));
  z = relu(convolution(24, 3, 2, 1, y));
  logits = dense(10, mean(mean(z, 1), 1));

node train(x: num [batch, 8, 8, 1], y: int [batch]) -> (loss: num [])
  logits, _ = diff_net(x, true, dlogits);
  loss, dlogits = diff_cross_entropy(logits, y, true, -0.05);
";
    // 33 rows are enough work to share.
    for b in [1, 7, 33] {
        same_bits(&format!("{b} rows"), TEXT, &data(b, None, &[8, 8, 1]), b);
    }
}

/// An overflow in one row is found by any thread, and reported as with one thread.
#[test]
fn an_error_in_one_row_is_the_same_diagnostic() {
    let text = CLASSIFIER.replace("CELL", "counted(24, x)")
        + "
node counted(units, x: num [batch.., d]) -> (o: num [batch.., units])
  o = lstm(units, x) + 0.0 * to_num(sum(to_int(n > 0)));
  n = n_before + to_int(x * 4.0e18);
  n_before = to_int(zeros([batch.., d])) fby n;
";
    let data = data(33, Some(6), &[12]);
    let of = |threads| {
        trained(&text, &data, 33, with_threads("cpu", threads)).expect_err("it overflows").to_string()
    };
    let one = of(1);
    assert!(one.contains("overflow"), "{one}");
    for threads in [2, 5] {
        assert_eq!(of(threads), one, "{threads} threads");
    }
}
