//! Compares the library's nodes with values computed by hand, and tests batch normalisation from training to inference.

mod support;

use std::path::Path;

use rml::{
    Checkpoint, Columns, Data, Elements, Evaluate, InferOptions, Options, Precision, Stream, TestSplit,
    TrainOptions,
};
use support::{column, source};

/// The outputs of node `main` in double precision, for the values `x` of its input in all cycles.
fn outputs(text: &str, x: &[f64]) -> Vec<Vec<Vec<f64>>> {
    let options = Options { node: Some("main".into()), precision: Precision::F64, ..Options::default() };
    let program = rml::compile(&source(text), &options).unwrap_or_else(|e| panic!("{e}"));
    let (dims, width) =
        program.inputs().first().map_or((Vec::new(), 1), |i| (i.ty.shape.dims().to_vec(), i.ty.shape.len()));
    let mut session = rml::Session::new(&program);
    let mut rows = Vec::new();
    for cell in x.chunks(width) {
        let value = rml::Value::new(rml::Shape::new(&dims), Data::F64(cell.to_vec()));
        rows.extend(session.step([("x", rml::Feed::Value(value))]).unwrap_or_else(|e| panic!("{e}")));
    }
    rows.extend(session.finish(rml::End::Closed).unwrap_or_else(|e| panic!("{e}")));
    let name = |k: usize| program.outputs()[k].name.to_string();
    (0..program.outputs().len()).map(|k| rows.iter().filter_map(|row| row.nums(&name(k))).collect()).collect()
}

fn flat(rows: &[Vec<f64>]) -> Vec<f64> {
    rows.iter().flatten().copied().collect()
}

#[track_caller]
fn near(found: &[f64], expected: &[f64]) {
    let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9 * (1.0 + b.abs());
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(close), "{found:?} {expected:?}");
}

#[test]
fn windows_of_any_length() {
    let out = outputs(
        "import std.time;\nnode main(x: num [2]) -> (w, one)\n  w = last(3, x);\n  one = last(1, x);\n",
        &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
    );
    assert_eq!(out[0][0], [1.0, 2.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(out[0][3], [7.0, 8.0, 5.0, 6.0, 3.0, 4.0]);
    assert_eq!(out[1][3], [7.0, 8.0]);
}

#[test]
fn delays_of_any_length() {
    let out = outputs(
        "import std.time;\nnode main(x: num [1]) -> (one, three)\n  one = delay(1, x);\n  three = delay(3, x);\n",
        &[1.0, 2.0, 3.0, 4.0, 5.0],
    );
    assert_eq!(out[0].concat(), [0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(out[1].concat(), [0.0, 0.0, 0.0, 1.0, 2.0]);
}

#[test]
fn running_statistics() {
    let x = [2.0, 4.0, 9.0, -1.0];
    let out = outputs(
        "import std.statistics;\nnode main(x: num []) -> (m, mean, var, e)\n  m = running_mean(x);\n\
         \x20 mean, var = running_var(x);\n  e = ema(0.75, x);\n",
        &x,
    );
    let prefix = |n: usize| &x[..=n];
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let means: Vec<f64> = (0..4).map(|n| mean(prefix(n))).collect();
    let var = |x: &[f64]| mean(&x.iter().map(|a| (a - mean(x)).powi(2)).collect::<Vec<_>>());
    near(&flat(&out[0]), &means);
    near(&flat(&out[1]), &means);
    near(&flat(&out[2]), &(0..4).map(|n| var(prefix(n))).collect::<Vec<_>>());
    near(&flat(&out[3]), &[2.0, 2.5, 4.125, 2.84375]);
    let largest = outputs(
        "import std.statistics;\nnode main(x: num [5]) -> (v, i)\n  v, at = top_k(3, x);\n  i = to_num(at);\n",
        &[2.0, 7.0, f64::NAN, 7.0, -1.0],
    );
    near(&flat(&largest[0]), &[7.0, 7.0, 2.0]);
    near(&flat(&largest[1]), &[1.0, 3.0, 0.0]);
}

#[test]
fn products_of_logarithms() {
    let out = outputs(
        "import std.statistics;\nnode main(x: num [2, 2]) -> (near, far)\n  near = logmatmulexp(x, x);\n\
         \x20 far = logmatmulexp(900.0 + x, 900.0 * x);\n",
        &[0.0, 1.0, -1.0, 2.0],
    );
    let sum = |a: f64, b: f64| (a.exp() + b.exp()).ln();
    near(&out[0].concat(), &[sum(0.0, 0.0), sum(1.0, 3.0), sum(-1.0, 1.0), sum(0.0, 4.0)]);
    near(&out[1].concat(), &[900.0, 2701.0, 899.0, 2702.0]);
}

#[test]
fn losses() {
    let out = outputs(
        "import std.losses;\nnode main(x: num [3]) -> (a, h, b, g, r)\n  gt = [1.0, 1.0, 1.0];\n\
         \x20 label = [true, false, true];\n  a = mae(x, gt);\n  h = huber(1.0, x, gt);\n  b = bce_with_logits(x, label);\n\
         \x20 g = hinge(x, label);\n  r = binary_accuracy(x, label);\n",
        &[3.0, 0.5, -900.0],
    );
    let log1p = |z: f64| (1.0 + (-z).exp()).ln();
    near(&flat(&out[0]), &[(2.0 + 0.5 + 901.0) / 3.0]);
    near(&flat(&out[1]), &[(1.5 + 0.125 + 900.5) / 3.0]);
    near(&flat(&out[2]), &[(log1p(3.0) + 0.5 + log1p(0.5) + 900.0) / 3.0]);
    near(&flat(&out[3]), &[(0.0 + 1.5 + 901.0) / 3.0]);
    near(&flat(&out[4]), &[1.0 / 3.0]);
}

/// All updates of a parameter that starts at 1 and has the gradients `x`.
fn updates(optimiser: &str, x: &[f64]) -> Vec<f64> {
    let text = format!(
        "import std.optimisers;\nimport std.schedules;\nnode main(x: num []) -> (o)\n  o = {optimiser};\n\
         \x20 bp = x != 0.0;\n  do = x when bp;\n  t = ticks(bp when bp);\n"
    );
    flat(&outputs(&text, x)[0])
}

#[test]
fn optimisers() {
    // A cycle without a gradient changes no value.
    near(&updates("sgd(1.0, bp, clip_value(0.25, do))", &[0.1, 0.0, -2.0, 1.0]), &[1.0, 1.1, 1.1, 0.85]);
    near(
        &updates("sgd([1.0, 1.0], bp, clip_norm(0.5, [3.0 * do, 4.0 * do]))[0]", &[1.0, 0.05, -1.0, 1.0]),
        &[1.0, 1.3, 1.45, 1.15],
    );
    // the mean of two successive gradients
    let accumulated = "sgd(1.0, due, d);\n  due, d = accumulated(2, bp, do)";
    near(&updates(accumulated, &[1.0, 2.0, 0.0, 4.0, 6.0, 1.0]), &[1.0, 1.0, 2.5, 2.5, 2.5, 7.5]);
    near(&updates("frozen(1.0, bp, do)", &[1.0, 2.0, 3.0]), &[1.0; 3]);
    let (mut mean, mut expected) = (1.0, Vec::new());
    for o in [1.0, 2.0, 4.0, 4.0] {
        mean = 0.9 * mean + 0.1 * o;
        expected.push(mean);
    }
    near(&updates("averaged(0.9, sgd(1.0, bp, do))", &[1.0, 2.0, 0.0, 1.0]), &expected);
    near(&updates("matrix_decay(0.5, ones([2, 3])) + matrix_decay(7.0, ones([2]))", &[1.0]), &[0.5]);
    // a single parameter is a group of one
    let alone = "sgd([1.0, 1.0], bp, clip_global(0.5, bp, [3.0 * do, 4.0 * do]))[0]";
    near(&updates(alone, &[1.0, 0.05, -1.0, 1.0]), &[1.0, 1.3, 1.45, 1.15]);
    let (mut o, mut square, mut expected) = (1.0_f64, 0.0_f64, Vec::new());
    let x = [0.5_f64, -1.0, 2.0, 1.0];
    for g in x {
        expected.push(o);
        square = 0.9 * square + 0.1 * g * g;
        o += 0.01 * g / (square.sqrt() + 1e-8);
    }
    near(&updates("rmsprop(0.01, 0.9, 0.00000001, 1.0, bp, do)", &x), &expected);
    let (mut o, mut m, mut v, mut expected) = (1.0_f64, 0.0, 0.0, Vec::new());
    for (n, g) in x.into_iter().enumerate() {
        expected.push(o);
        m = 0.9 * m + 0.1 * g;
        v = 0.99 * v + 0.01 * g * g;
        let power = i32::try_from(n).unwrap() + 1;
        let step: f64 =
            (m / (1.0 - 0.9_f64.powi(power))) / ((v / (1.0 - 0.99_f64.powi(power))).sqrt() + 1e-8);
        o += 0.01 * step - 0.01 * 0.1 * o;
    }
    near(&updates("adamw(0.01, 0.9, 0.99, 0.00000001, 0.1, 1.0, bp, do)", &x), &expected);
}

#[test]
fn schedules_count_updates() {
    let x = [1.0, 1.0, 0.0, 1.0, 1.0, 1.0];
    near(&updates("sgd(0.0, bp, step_decay(1.0, 0.5, 2, t))", &x), &[0.0, 1.0, 2.0, 2.0, 2.5, 3.0]);
    near(&updates("sgd(0.0, bp, exponential_decay(1.0, 0.5, t))", &x), &[0.0, 1.0, 1.5, 1.5, 1.75, 1.875]);
    near(&updates("sgd(0.0, bp, warm_up(4, t))", &x), &[0.0, 0.25, 0.75, 0.75, 1.5, 2.5]);
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let steps = [1.0, 0.5 * (1.0 + half), 0.5, 0.5 * (1.0 - half)];
    let sum = |n: usize| steps[..n].iter().sum::<f64>();
    near(
        &updates("sgd(0.0, bp, cosine(1.0, 4, t))", &[1.0; 6]),
        &[0.0, sum(1), sum(2), sum(3), sum(4), sum(4)],
    );
}

#[test]
fn a_bidirectional_layer_sees_the_window_from_both_ends() {
    let text = "import std.layers;\nnode main(x: num [1]) -> (h, f, b)\n  end = 0 fby (cycle + 1) == 2;\n\
                \x20 cycle = 0 fby cycle + 1;\n  h = bi_lstm(2, x) every end;\n  f = lstm(2, x) every end;\n\
                \x20 b = lstm_back(2, x) every end;\n";
    let text = text.replace("0 fby (cycle + 1) == 2", "cycle == 2");
    let [h, f, b] = &outputs(&text, &[0.5, -1.0, 2.0])[..] else { panic!("three outputs") };
    assert!(h.iter().all(|row| row.len() == 4) && f[0].len() == 2 && b[0].len() == 2);
    // Weights are drawn by instance path, so the test compares only the dependence of each part on the inputs.
    let changed = &outputs(&text, &[0.5, -1.0, 3.0])[0];
    assert_eq!(h[0][..2], changed[0][..2], "forward: what comes later does not count");
    assert_ne!(h[0][2..], changed[0][2..], "backward: it does");
    assert_ne!(h[2][..2], changed[2][..2]);
}

/// The weights are the softmax of the scores. If all keys are equal, the result is the mean of the present values.
#[test]
fn sliding_attention_ignores_what_is_not_there() {
    let text = "import std.attention;\nnode main(x: num [1]) -> (y)\n  y = sliding_attention(2, 1, 3, x);\n";
    let out = &outputs(text, &[1.0, 1.0, 1.0, 1.0])[0];
    out.iter().for_each(|row| near(row, &out[0]));
    let pool = "import std.attention;\nnode main(x: num [2]) -> (y)\n  y = attention_pool(x) every end;\n\
                \x20 end = cycle == 1;\n  cycle = 0 fby cycle + 1;\n";
    let out = &outputs(pool, &[1.0, 5.0, 3.0, 5.0])[0];
    assert_eq!(out[0], out[1]);
    assert!(out[0][0] > 1.0 && out[0][0] < 3.0 && (out[0][1] - 5.0).abs() < 1e-12, "{out:?}");
}

#[test]
fn layer_normalisation() {
    let text = "import std.normalisation;\nnode main(x: num [2, 2]) -> (y)\n  y = layer_norm(x);\n";
    let out = &outputs(text, &[1.0, 3.0, -4.0, -4.0])[0];
    let y = 1.0 / 1.001_f64.sqrt();
    near(&out[0], &[-y, y, 0.0, 0.0]);
    let out = &outputs(&text.replace("layer_norm(x)", "layer_norm_eps(3.0, x)"), &[1.0, 3.0, -4.0, -4.0])[0];
    near(&out[0], &[-0.5, 0.5, 0.0, 0.0]);
}

/// Equal rows attend to each other equally, and the result of a row does not depend on its position.
#[test]
fn attention_among_rows_follows_their_order() {
    let text = "import std.attention;\nnode main(x: num [3, 2]) -> (y)\n  y = self_attention(4, 2, x);\n";
    let there = flat(&outputs(text, &[1.0, 2.0, -1.0, 0.5, 3.0, 0.0])[0]);
    let back = flat(&outputs(text, &[3.0, 0.0, -1.0, 0.5, 1.0, 2.0])[0]);
    near(&there, &back.chunks(4).rev().flatten().copied().collect::<Vec<_>>());
    let same = flat(&outputs(text, &[1.0, 2.0, 1.0, 2.0, 1.0, 2.0])[0]);
    near(&same[..4], &same[8..]);
    let batched = text.replace("[3, 2]", "[2, 1, 3, 2]");
    let both = flat(&outputs(&batched, &[1.0, 2.0, -1.0, 0.5, 3.0, 0.0, 3.0, 0.0, -1.0, 0.5, 1.0, 2.0])[0]);
    near(&both, &[there, back].concat());
}

#[test]
fn embeddings_and_convolutions_have_the_shapes_they_say() {
    let text = "import std.layers;\nnode main(x: num [4, 4, 1]) -> (y, v, w)\n  y = convolution(2, 3, 1, 1, x);\n\
                \x20 v = embedding(5, 3, to_int(x[0:2, 0, 0]));\n  w = embedding(5, 3, to_int(x[0:2, 0, 0]));\n";
    let mut x = [0.0; 16];
    x[4] = 3.0;
    let out = outputs(text, &x);
    assert_eq!((out[0][0].len(), out[1][0].len()), (32, 6));
    assert_ne!(out[1][0][..3], out[1][0][3..], "two entries");
    assert_ne!(out[1], out[2], "two tables");
}

/// An expert that is not chosen does not run, so its memory does not change.
#[test]
fn memories_of_experts_advance_where_they_run() {
    let text = "import std.experts;\nnode main(x: num [1]) -> (y)\n  y = mixture_of_memories(1, 0.0, x);\n";
    let all = &outputs(text, &[1.0, -1.0, 1.0])[0];
    let some = &outputs(&text.replace("0.0, x", "0.24, x"), &[1.0, -1.0, 1.0])[0];
    assert!(all.iter().chain(some).flatten().all(|y| y.is_finite()));
    assert_ne!(all, some);
}

/// Rows of two features; windows of three cycles for `every`, single cycles for stacked rows.
const NORMALISED: &str = "
import std.layers;
import std.losses;
import std.normalisation;

node stacked(x: num [batch, 2], end: bool []) -> (o: num [batch, 1])
  o = dense(1, batch_norm(0.9, x, end));

node train(x: num [batch, 2], y: num [batch, 1], end: bool []) -> (loss: num [])
  o, _ = diff_stacked(x, true, true, do);
  loss, do, _ = diff_mse(o, y, true, -0.05);

node infer(x: num [batch, 2], end: bool []) -> (o: num [batch, 1])
  o = stacked(x, end);

node in_time(x: num [2], end: bool []) -> (o: num [1])
  o = dense(1, batch_norm(0.9, x, end));

node train_windows(x: num [2], y: num [1], end: bool []) -> (loss: num [])
  o, _ = diff_in_time(x, end, true, do) every end;
  loss, do, _ = diff_mse(o, y, true, -0.05);

node train_cycles(x: num [2], y: num [1], end: bool []) -> (loss: num [])
  o, _ = diff_in_time(x, true, true, do) every end;
  loss, do, _ = diff_mse(o, y, true, -0.05);

node infer_windows(x: num [2], end: bool []) -> (o: num [1])
  o = in_time(x, end);
";

const X: [f32; 24] = [
    3.0, -2.0, 5.0, 0.0, 4.0, 7.0, 2.5, -1.0, 3.5, 3.0, 9.0, -6.0, 1.0, 1.0, 2.0, -3.0, 6.0, 5.0, 4.5, 2.0,
    7.0, -8.0, 0.5, 4.0,
];

fn data(shape: &[usize]) -> Columns {
    let mut columns = Columns::default();
    let y = X.chunks(2).map(|x| x[0] - 0.5 * x[1]).collect();
    let with = |last: usize| shape.iter().copied().chain([last]).collect::<Vec<_>>();
    columns.columns.insert("x".into(), column(&with(2), Elements::F32(X.to_vec())));
    columns.columns.insert("y".into(), column(&with(1), Elements::F32(y)));
    columns
}

/// The moving averages after batches of `rows` rows.
fn averages(rows: usize) -> [f64; 4] {
    let mut moving = [0.0, 0.0, 1.0, 1.0];
    for batch in X.chunks(2 * rows) {
        for d in 0..2 {
            let values: Vec<f64> = batch.chunks(2).map(|x| f64::from(x[d])).collect();
            let mean = values.iter().sum::<f64>() / rows as f64;
            let var = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / rows as f64;
            moving[d] = 0.9 * moving[d] + 0.1 * mean;
            moving[2 + d] = 0.9 * moving[2 + d] + 0.1 * var;
        }
    }
    moving
}

fn state(path: &Path, key: &str) -> Vec<f64> {
    match Checkpoint::read(path).unwrap().states[key].to_data() {
        Data::F32(v) => v.into_iter().map(f64::from).collect(),
        other => panic!("{other:?}"),
    }
}

fn plan(node: &str, path: &Path) -> TrainOptions {
    TrainOptions {
        node: Some(node.into()),
        evaluate: Evaluate::Nothing,
        epochs: 1,
        batch: (node == "train").then_some(3),
        shuffle: Some(false),
        test: Some(TestSplit::Count(0)),
        save: Some(path.to_path_buf()),
        ..TrainOptions::default()
    }
}

#[track_caller]
fn roughly(found: &[f64], expected: &[f64]) {
    assert!(
        found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4 * (1.0 + b.abs())),
        "{found:?} {expected:?}"
    );
}

/// The expected inference result for a row, from the states of a checkpoint.
fn expected(path: &Path, net: &str, x: [f64; 2]) -> f64 {
    let of = |name: &str| state(path, &format!("{net}_0.{name}"));
    let (moving, gamma, beta) = (
        of("batch_norm_0.moving"),
        of("batch_norm_0.scale_shift_0.gamma"),
        of("batch_norm_0.scale_shift_0.beta"),
    );
    let (kernel, bias) = (of("dense_0.kernel"), of("dense_0.bias"));
    (0..2)
        .map(|d| (gamma[d] * (x[d] - moving[d]) / (moving[2 + d] + 0.001).sqrt() + beta[d]) * kernel[d])
        .sum::<f64>()
        + bias[0]
}

#[test]
fn batch_normalisation_from_training_to_inference() {
    let dir = tempfile::tempdir().unwrap();
    for (node, infer, net, shape, rows) in [
        ("train", "infer", "stacked", &[12][..], 3),
        ("train_windows", "infer_windows", "in_time", &[4, 3][..], 3),
    ] {
        let path = dir.path().join(node);
        let trained = rml::train(&source(NORMALISED), &data(shape), &plan(node, &path), &mut ());
        trained.unwrap_or_else(|e| panic!("{e}"));
        roughly(&state(&path, &format!("{net}_0.batch_norm_0.moving"))[..4], &averages(rows));

        let options = InferOptions {
            node: infer.into(),
            keep_outputs: true,
            split: rml::Split::All,
            ..InferOptions::new(&path)
        };
        let report =
            rml::infer(&source(NORMALISED), &data(shape), &options).unwrap_or_else(|e| panic!("{e}"));
        let Elements::F32(o) = report.outputs.unwrap().columns["o"].elements.clone() else {
            panic!("numbers")
        };
        let all: Vec<f64> =
            X.chunks(2).map(|x| expected(&path, net, [f64::from(x[0]), f64::from(x[1])])).collect();
        roughly(&o.iter().map(|o| f64::from(*o)).collect::<Vec<_>>(), &all);

        let mut stream = Stream::new(&source(NORMALISED), &options).unwrap_or_else(|e| panic!("{e}"));
        let line = stream.line("{\"x\": [3.0, -2.0], \"end\": false}").unwrap().concat();
        let number = line.rsplit('[').next().unwrap().trim_end_matches(['}', ']']);
        roughly(&[number.parse().unwrap()], &all[..1]);
    }
}

/// Several batches in one window update the averages once, to the mean of their statistics.
#[test]
fn several_batches_in_a_window_move_the_averages_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    let trained = rml::train(&source(NORMALISED), &data(&[4, 3]), &plan("train_cycles", &path), &mut ());
    trained.unwrap_or_else(|e| panic!("{e}"));
    let mut moving = [0.0, 0.0, 1.0, 1.0];
    for window in X.chunks(6) {
        for d in 0..2 {
            let mean = window.chunks(2).map(|x| f64::from(x[d])).sum::<f64>() / 3.0;
            moving[d] = 0.9 * moving[d] + 0.1 * mean;
            moving[2 + d] *= 0.9;
        }
    }
    roughly(&state(&path, "in_time_0.batch_norm_0.moving")[..4], &moving);
}

#[test]
fn batch_normalisation_resumes_bit_for_bit() {
    let dir = tempfile::tempdir().unwrap();
    let [whole, part] = ["whole", "part"].map(|n| dir.path().join(n));
    let epochs = |epochs, path: &Path| TrainOptions { epochs, ..plan("train_windows", path) };
    let run = |options: &TrainOptions| {
        rml::train(&source(NORMALISED), &data(&[4, 3]), options, &mut ()).unwrap_or_else(|e| panic!("{e}"));
    };
    run(&epochs(3, &whole));
    run(&epochs(1, &part));
    run(&TrainOptions { resume: Some(part.clone()), ..epochs(3, &part) });
    assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&part).unwrap());
}

/// Compares the gradient of the training computation, including the statistics of the batch, with finite differences.
#[test]
fn the_gradient_of_batch_normalisation() {
    let text = "import std.normalisation;\nnode diff_param(init, bp, do) -> (o)\n  o = init fby o;\n\
                node main(x: num [2]) -> (loss, dx)\n  end = cycle == 3;\n  cycle = 0 fby cycle + 1;\n\
                \x20 weight = [to_num(cycle), 1.0];\n  loss = sum(weight * y * y);\n\
                \x20 y, _, dx = diff_batch_norm(0.9, x, end, true, 2.0 * weight * y);\n";
    let x: Vec<f64> = X[..8].iter().map(|x| f64::from(*x)).collect();
    let other = text.replace("batch_norm(0.9", "batch_norm_eps(0.5, 0.9");
    let rows = text.replace("batch_norm(0.9, x, end", "batch_norm_rows(0.9, reshape([2, 1], x)");
    let rows = rows.replace("2.0 * weight * y", "reshape([2, 1], 2.0 * weight * reshape([2], y))");
    let rows = rows.replace("weight * y * y", "weight * reshape([2], y * y)");
    for text in [text, &other, &rows] {
        let loss = |x: &[f64]| flat(&outputs(text, x)[0]).iter().sum::<f64>();
        let found = flat(&outputs(text, &x)[1]);
        for (k, &found) in found.iter().enumerate() {
            let at = |h: f64| {
                loss(&x.iter().enumerate().map(|(i, v)| v + if i == k { h } else { 0.0 }).collect::<Vec<_>>())
            };
            let expected = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((found - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{k}: {found} {expected}");
        }
    }
    assert_ne!(outputs(text, &x), outputs(&other, &x));
}
