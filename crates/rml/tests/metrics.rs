//! Compares losses for unbalanced classes and for pairs, and metrics over all windows, with formulas in this file.

mod support;

use std::sync::Arc;

use rml::{Columns, Data, Elements, Engine, InferOptions, Options, Precision, TestSplit, TrainOptions};
use support::{Interrupter, column, source};

/// Rows of three logits in batches of four. `LABELS` contains the correct classes.
const LOGITS: [f64; 24] = [
    0.5, -1.0, 0.25, 2.0, 0.0, 1.0, -0.5, 0.75, 1.5, 0.5, 0.25, 0.125, 1.5, -1.0, 0.25, 2.0, 3.0, 1.0, 0.5,
    0.75, -1.5, 0.5, 0.25, 0.5,
];
const LABELS: [i64; 8] = [0, 2, 1, 0, 1, 1, 2, 2];

/// The values of an output of node `main`, cycle by cycle, in double precision.
fn outputs(text: &str) -> Vec<Vec<f64>> {
    let imports = "import std.losses;\nimport std.metrics;\nimport std.schedules;\n";
    let text = format!("{imports}node main(x: num [4, 3], y: int [4]) -> (o)\n{text}");
    let options = Options { node: Some("main".into()), precision: Precision::F64, ..Options::default() };
    let program = rml::compile(&source(&text), &options).unwrap_or_else(|e| panic!("{e}"));
    let mut session = rml::Session::new(&program);
    let mut rows = Vec::new();
    for (x, y) in LOGITS.chunks(12).zip(LABELS.chunks(4)) {
        let x = rml::Value::new(rml::Shape::new(&[4, 3]), Data::F64(x.to_vec()));
        let y = rml::Value::new(rml::Shape::new(&[4]), Data::Int(y.to_vec()));
        let inputs = program.inputs().iter().map(|i| (&*i.name, if &*i.name == "x" { &x } else { &y }));
        let feeds = inputs.map(|(name, value)| (name, rml::Feed::Value(value.clone())));
        rows.extend(session.step(feeds).unwrap_or_else(|e| panic!("{e}")));
    }
    rows.extend(session.finish(rml::End::Closed).unwrap_or_else(|e| panic!("{e}")));
    rows.iter().filter_map(|row| row.nums("o")).collect()
}

/// The values of an output of node `main`, which has no inputs, in `cycles` cycles.
fn stepped(text: &str, cycles: usize) -> Vec<f64> {
    let text = format!("import std.losses;\nimport std.time;\nnode main() -> (o)\n{text}");
    let options = Options { node: Some("main".into()), precision: Precision::F64, ..Options::default() };
    let program = rml::compile(&source(&text), &options).unwrap_or_else(|e| panic!("{e}"));
    let mut session = rml::Session::new(&program);
    let mut rows = Vec::new();
    for _ in 0..cycles {
        rows.extend(session.step([]).unwrap_or_else(|e| panic!("{e}")));
    }
    rows.extend(session.finish(rml::End::Closed).unwrap_or_else(|e| panic!("{e}")));
    rows.iter().filter_map(|row| row.nums("o")).flatten().collect()
}

fn output(expression: &str) -> Vec<f64> {
    outputs(&format!("  o = {expression};\n")).concat()
}

#[track_caller]
fn near(found: &[f64], expected: &[f64]) {
    let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9 * (1.0 + b.abs());
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(close), "{found:?} {expected:?}");
}

/// The probabilities of the classes, row by row.
fn probabilities() -> Vec<Vec<f64>> {
    let row = |x: &[f64]| {
        let all: f64 = x.iter().map(|x| x.exp()).sum();
        x.iter().map(|x| x.exp() / all).collect()
    };
    LOGITS.chunks(3).map(row).collect()
}

/// The mean of `of` over the rows of each batch. Its arguments are the probabilities and the label of a row.
fn means(of: impl Fn(&[f64], usize) -> f64) -> Vec<f64> {
    let rows = probabilities();
    let all: Vec<f64> = rows.iter().zip(LABELS).map(|(p, y)| of(p, usize::try_from(y).unwrap())).collect();
    all.chunks(4).map(|batch| batch.iter().sum::<f64>() / 4.0).collect()
}

#[test]
fn losses_of_classes() {
    let weight = [1.0, 2.0, 5.0];
    let sums: Vec<f64> = means(|_, y| weight[y]);
    let parts = means(|p, y| -weight[y] * p[y].ln());
    let weighted: Vec<f64> = parts.iter().zip(sums).map(|(part, sum)| part / sum).collect();
    near(&output("weighted_cross_entropy([1.0, 2.0, 5.0], x, y)"), &weighted);
    near(&output("weighted_cross_entropy([3.0, 3.0, 3.0], x, y)"), &means(|p, y| -p[y].ln()));
    let counts = output("class_weights([90.0, 6.0, 4.0])");
    near(&counts[..3], &[100.0 / 270.0, 100.0 / 18.0, 100.0 / 12.0]);
    let smoothed =
        |p: &[f64], y: usize| (0..3).map(|k| -(if k == y { 0.9 } else { 0.0 } + 0.1 / 3.0) * p[k].ln()).sum();
    near(&output("smoothed_cross_entropy(0.1, x, y)"), &means(smoothed));
    near(&output("focal_loss(2.0, x, y)"), &means(|p, y| -(1.0 - p[y]).powi(2) * p[y].ln()));
    near(&output("focal_loss(0.0, x, y)"), &output("cross_entropy(x, y)"));
    let binary = |x: &[f64], y: usize| {
        let p = |x: f64| 1.0 / (1.0 + (-x).exp());
        if y == 1 { -3.0 * p(x[0]).ln() } else { -(1.0 - p(x[0])).ln() }
    };
    let rows: Vec<f64> =
        LOGITS.chunks(3).zip(LABELS).map(|(x, y)| binary(x, usize::try_from(y).unwrap())).collect();
    let expected: Vec<f64> = rows.chunks(4).map(|rows| rows.iter().sum::<f64>() / 4.0).collect();
    near(&output("weighted_bce_with_logits(3.0, x[.., 0], y == 1)"), &expected);
}

#[test]
fn weights_of_another_number_of_classes_are_refused() {
    let text = "import std.losses;\nnode main(x: num [4, 3], y: int [4]) -> (o)\n\
                \x20 o = weighted_cross_entropy([1.0, 2.0], x, y);\n";
    let options = Options { node: Some("main".into()), ..Options::default() };
    let refused = rml::compile(&source(text), &options).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("there is a weight for each class"), "{refused}");
}

/// Losses and gradients stay finite for rows where 1 - p is computed as 0, and for rows of equal logits.
#[test]
fn losses_stay_finite() {
    for loss in [
        "l, _, o = diff_focal_loss(0.5, 1000.0 * x, y, true, -1.0)",
        "l, _, o = diff_focal_loss(2.0, -1000.0 * x, y, true, -1.0)",
        "l, _, o, _, _ = diff_triplet(1.0, x, x, x, true, -1.0)",
        "l, _, o, _ = diff_contrastive(1.0, x, x, y == 1, true, -1.0)",
        "l, _, o, _ = diff_info_nce(0.1, 0.0 * x, x, true, -1.0)",
        "l, _, o = diff_weighted_bce_with_logits(3.0, 1000.0 * x[.., 0], y == 0, true, -1.0)",
    ] {
        let found = outputs(&format!("  {loss};\n")).concat();
        assert!(found.iter().all(|d| d.is_finite()), "{loss}: {found:?}");
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn losses_of_pairs() {
    let (mut triplet, mut contrastive, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for (x, labels) in LOGITS.chunks(12).zip(LABELS.chunks(4)) {
        let rows: Vec<&[f64]> = x.chunks(3).collect();
        let other: Vec<&[f64]> = rows.iter().rev().copied().collect();
        let (mut t, mut c) = (0.0, 0.0);
        for ((row, other), label) in rows.iter().zip(&other).zip(labels) {
            let half: Vec<f64> = row.iter().map(|x| 0.5 * x).collect();
            let d = distance(row, other);
            t += (d - distance(row, &half) + 1.0).max(0.0) / 4.0;
            c += 0.5 * if *label == 0 { d * d } else { (2.0 - d).max(0.0).powi(2) } / 4.0;
        }
        triplet.push(t);
        contrastive.push(c);
        let norm = |a: &[f64]| distance(a, &[0.0; 3]);
        let cosine =
            |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / norm(a) / norm(b) / 0.5;
        let lost = (0..4).map(|i| {
            let all: f64 = other.iter().map(|b| cosine(rows[i], b).exp()).sum();
            all.ln() - cosine(rows[i], other[i])
        });
        found.push(lost.sum::<f64>() / 4.0);
    }
    near(&output("triplet(1.0, x, x[::-1], 0.5 * x)"), &triplet);
    near(&output("contrastive(2.0, x, x[::-1], y == 0)"), &contrastive);
    near(&output("info_nce(0.5, x, x[::-1])"), &found);
}

/// The probability of a text is the sum over all ways to spell it; there are 27 in this test.
#[test]
fn ctc_sums_over_all_ways_to_spell_a_text() {
    let logits = [[0.5, -1.0, 0.25], [1.5, -1.0, 0.25], [0.1, 0.2, -0.3]];
    let row = |x: &[f64; 3]| {
        let all: f64 = x.iter().map(|x| x.exp()).sum();
        x.map(|x| x.exp() / all)
    };
    let probabilities = logits.map(|x| row(&x));
    let spelt = |ways: [usize; 3]| {
        let mut text = ways.to_vec();
        text.dedup();
        text.retain(|letter| *letter > 0);
        text
    };
    for (label, text) in
        [("[1, 2]", vec![1, 2]), ("[1, 0]", vec![1]), ("[2, 2]", vec![2, 2]), ("[0, 0]", vec![])]
    {
        let mut sum = 0.0;
        for way in 0..27 {
            let ways = [way / 9, way / 3 % 3, way % 3];
            if spelt(ways) == text {
                sum += ways.iter().zip(&probabilities).map(|(k, p)| p[*k]).product::<f64>();
            }
        }
        let program = format!(
            "  cycle = 0 fby cycle + 1;\n  x1 = gather({logits:?}, [cycle]);\n  o = ctc(x1, [{label}], end) every end;\n  end = cycle == 2;\n"
        );
        near(&stepped(&program, 3), &[-sum.ln()]);
    }
}

#[test]
fn metrics_over_all_rows_so_far() {
    // The found classes are 0 0 2 0, then 0 1 1 0; among equal logits, the first one is found.
    let counts =
        [[2.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0], [2.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 1.0, 0.0]];
    let of = |what: &str| output(&what.replace("counts", "confusion(3, argmax(x, -1), y, false)"));
    near(&of("to_num(counts)"), &counts.concat());
    near(&of("total_accuracy(counts)"), &[2.0 / 4.0, 3.0 / 8.0]);
    near(&of("precision(counts)"), &[2.0 / 3.0, 0.0, 0.0, 2.0 / 5.0, 1.0 / 2.0, 0.0]);
    near(&of("recall(counts)"), &[1.0, 0.0, 0.0, 1.0, 1.0 / 3.0, 0.0]);
    near(&of("f1(counts)"), &[0.8, 0.0, 0.0, 4.0 / 7.0, 2.0 / 5.0, 0.0]);
    near(&of("macro_f1(counts)"), &[0.8 / 3.0, (4.0 / 7.0 + 0.4) / 3.0]);
    // Classes that occur neither as labels nor as answers change no mean.
    near(&output("macro_f1(confusion(5, argmax(x, -1), y, false))"), &[0.8 / 3.0, (4.0 / 7.0 + 0.4) / 3.0]);
    near(&output("macro_f1(0 * confusion(3, argmax(x, -1), y, false))"), &[0.0, 0.0]);
    near(&output("top_k_accuracy(1, x, y)"), &output("accuracy(x, y)"));
    near(&output("top_k_accuracy(2, x, y)"), &[1.0, 0.5]);
    near(&output("top_k_accuracy(3, x, y)"), &[1.0, 1.0]);
}

#[test]
fn the_area_under_the_curve_counts_pairs() {
    let scores: Vec<f64> = LOGITS.iter().step_by(3).copied().collect();
    let area = |n: usize, class: i64| {
        let rows = || scores.iter().zip(LABELS).take(n);
        let (mut won, mut pairs) = (0.0, 0.0);
        for (a, _) in rows().filter(|(_, y)| *y == class) {
            for (b, _) in rows().filter(|(_, y)| *y != class) {
                won += if a > b {
                    1.0
                } else if a == b {
                    0.5
                } else {
                    0.0
                };
                pairs += 1.0;
            }
        }
        if pairs > 0.0 { won / pairs } else { 0.5 }
    };
    for class in 0..4 {
        let expected = [area(4, class), area(8, class)];
        near(&output(&format!("auc(8, x[.., 0], y == {class}, false)")), &expected);
    }
    assert!(area(8, 0) != 0.5 && area(8, 3) == 0.5);
    let text = "import std.metrics;\nnode main(x: num [4], y: bool [4]) -> (o)\n  o = auc(7, x, y, false);\n";
    let program = rml::compile(&source(text), &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let mut session = rml::Session::new(&program);
    let mut step = || {
        let x = rml::Value::new(rml::Shape::new(&[4]), Data::F32(vec![0.0; 4]));
        let y = rml::Value::new(rml::Shape::new(&[4]), Data::Bool(vec![true; 4]));
        session.step([("x", rml::Feed::Value(x)), ("y", rml::Feed::Value(y))]).map_err(|e| e.to_string())
    };
    step().unwrap();
    let full = step().unwrap_err();
    assert!(full.contains("assertion-failed") && full.contains("at most `n`"), "{full}");
}

#[test]
fn rates_over_time() {
    let windows = "  o = over_time(-0.6, on) every end;\n  end = cycle == 2 or cycle == 4;\n  on = cycle != 1;\n\
                   \x20 cycle = 0 fby cycle + 1;\n";
    near(&stepped(windows, 5), &[-0.3, -0.3, -0.3, -0.3, -0.3]);
    near(&stepped(&windows.replace("cycle != 1", "true"), 5), &[-0.2, -0.2, -0.2, -0.3, -0.3]);
    let rate = |t: usize| output(&format!("warm_up_cosine(2.0, 4, 12, {t})"))[0];
    near(&[0, 3, 4, 8, 12, 99].map(rate), &[0.5, 2.0, 2.0, 1.0, 0.0, 0.0]);
}

/// Each window has a guess and the correct class. The parameter has no effect.
const GUESSES: &str = "
import std.metrics;

node net(guess: int [batch]) -> (found: int [batch], zero: num [])
  found = guess;
  zero = 0.0 * param(1.0);

node scores(found: int [batch], y: int [batch], epoch_end: bool [])
    -> (f1: num [] when epoch_end, area: num [] when epoch_end)
  f1 = macro_f1(confusion(3, found, y, epoch_end) when epoch_end);
  area = auc(23, to_num(found), y == 1, epoch_end) when epoch_end;

node train(guess: int [batch], y: int [batch], epoch_end: bool []) -> (loss, f1: num [] when epoch_end, area: num [] when epoch_end)
  found, loss = diff_net(guess, true, 0.0);
  f1, area = scores(found, y, epoch_end);

node infer(guess: int [batch], y: int [batch], epoch_end: bool []) -> (f1: num [] when epoch_end, area: num [] when epoch_end)
  found, _ = net(guess);
  f1, area = scores(found, y, epoch_end);
";

const WINDOWS: usize = 23;

fn guesses() -> (Vec<i64>, Vec<i64>) {
    let class = |k: usize, by: usize| i64::try_from(k * by / 5 % 3).unwrap();
    ((0..WINDOWS).map(|k| class(k, 7)).collect(), (0..WINDOWS).map(|k| class(k, 6)).collect())
}

fn data() -> Columns {
    let (guess, y) = guesses();
    let mut columns = Columns::default();
    columns.columns.insert("guess".into(), column(&[WINDOWS], Elements::Int(guess)));
    columns.columns.insert("y".into(), column(&[WINDOWS], Elements::Int(y)));
    columns
}

/// The macro F1 score over some of the windows.
fn expected(windows: impl Iterator<Item = usize> + Clone) -> f64 {
    let (guess, y) = guesses();
    let of = |class: i64| {
        let count = |of: &dyn Fn(usize) -> bool| windows.clone().filter(|w| of(*w)).count() as f64;
        let hits = count(&|w| guess[w] == class && y[w] == class);
        2.0 * hits / (count(&|w| guess[w] == class) + count(&|w| y[w] == class))
    };
    (of(0) + of(1) + of(2)) / 3.0
}

/// The area under the curve of class 1, over some of the windows.
fn expected_area(windows: impl Iterator<Item = usize> + Clone) -> f64 {
    let (guess, y) = guesses();
    let (mut won, mut pairs) = (0.0, 0.0);
    for a in windows.clone().filter(|w| y[*w] == 1) {
        for b in windows.clone().filter(|w| y[*w] != 1) {
            won += if guess[a] > guess[b] {
                1.0
            } else if guess[a] == guess[b] {
                0.5
            } else {
                0.0
            };
            pairs += 1.0;
        }
    }
    won / pairs
}

/// Batches differ in size, and the order of windows differs in each epoch; the value over all windows is the same.
#[test]
fn a_metric_at_the_end_of_an_epoch_is_that_of_all_its_windows() {
    let folder = tempfile::tempdir().unwrap();
    for (name, engine) in [("plan", Engine::plan()), ("simulator", Engine::simulator())] {
        let saved = folder.path().join(name);
        let options = TrainOptions {
            epochs: 2,
            batch: Some(4),
            test: Some(TestSplit::LastCount(9)),
            save: Some(saved.clone()),
            engine: engine.clone(),
            ..TrainOptions::default()
        };
        let report =
            rml::train(&source(GUESSES), &data(), &options, &mut ()).unwrap_or_else(|e| panic!("{e}"));
        for epoch in &report.epochs {
            assert!((epoch.train["f1"] - expected(0..14)).abs() < 1e-6, "{name}: {:?}", epoch.train);
            assert!((epoch.test["f1"] - expected(14..23)).abs() < 1e-6, "{name}: {:?}", epoch.test);
            assert!((epoch.train["area"] - expected_area(0..14)).abs() < 1e-6, "{name}: {:?}", epoch.train);
            assert!((epoch.test["area"] - expected_area(14..23)).abs() < 1e-6, "{name}: {:?}", epoch.test);
        }
        let infer = |split| {
            let options = InferOptions { split, engine: engine.clone(), ..InferOptions::new(&saved) };
            rml::infer(&source(GUESSES), &data(), &options).unwrap_or_else(|e| panic!("{e}")).metrics["f1"]
        };
        assert!((infer(rml::Split::Test) - expected(14..23)).abs() < 1e-6);
        assert!((infer(rml::Split::All) - expected(0..23)).abs() < 1e-6);
    }
}

/// Counts are states, so a training that was interrupted within an epoch continues to count.
#[test]
fn a_metric_continues_in_a_resumed_epoch() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, part] = ["whole", "part"].map(|name| folder.path().join(name));
    let test = Some(TestSplit::LastCount(9));
    let run = |options: TrainOptions, observer: &mut dyn rml::Observer| {
        rml::train(&source(GUESSES), &data(), &options, observer).unwrap_or_else(|e| panic!("{e}"))
    };
    let all = run(TrainOptions { test, ..support::options(&whole, 2) }, &mut ());
    let mut interrupter = Interrupter::new(6);
    let interrupt = Some(Arc::clone(&interrupter.flag));
    run(TrainOptions { test, interrupt, ..support::options(&part, 2) }, &mut interrupter);
    let rest = run(TrainOptions { test, resume: Some(part.clone()), ..support::options(&part, 2) }, &mut ());
    let (all, rest) = (all.epochs.last().unwrap(), rest.epochs.last().unwrap());
    assert_eq!((all.epoch, &all.train, &all.test), (rest.epoch, &rest.train, &rest.test));
    assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&part).unwrap());
}
