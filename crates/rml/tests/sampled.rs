//! Layers with parameters on clocks that depend on data, in windows: the parameters do not change during the window,
//! are updated once if the clock ticks in the window, and learn the same by plan and by simulator.

mod support;

use rml::{Cell, Columns, Elements, Engine, Options, Precision, RunOptions};
use rml_testkit::Lcg;
use support::{column, source};

const WINDOWS: usize = 40;

/// Ways to compute an answer from a sequence: lines of a node that has `x` and `c`, and returns `o` in the cycles in
/// which `c` is true.
const ANSWERS: &[(&str, &str)] = &[
    ("a layer", "h = gru(3, x) every c; o = dense(1, h when c);"),
    ("two layers", "h = gru(3, x) every c; o = dense(1, tanh(dense(4, h when c)));"),
    ("recurrent over sequences", "h = gru(3, x) every c; o = dense(1, gru(2, h when c));"),
    ("a layer that looks back", "h = bi_gru(2, x) every c; o = dense(1, lstm_back(2, h when c));"),
    ("dropout", "h = gru(3, x) every c; o = dense(1, dropout(0.3, h when c, true when c));"),
    ("normalised", "h = gru(3, x) every c; o = dense(1, layer_norm(h when c));"),
    ("embedded", "h = gru(3, x) every c; l = h when c; o = dense(1, l + embedding(3, 3, argmax(l)));"),
    (
        "two clocks",
        "h = gru(3, x) every c; l = h when c; b = l[0] > 0.1; o = merge b dense(1, l when b) dense(1, l when not b);",
    ),
    ("experts", "h = gru(3, x) every c; o = mixture_of_experts(2, 1, 0.24, h when c);"),
    ("a layer in the sequence", "o = inner(x, c) every c;"),
];

const OPTIMISERS: &[&str] = &[
    "sgd(init, bp, do)",
    "momentum(0.5, init, bp, do)",
    "adam(0.01, 0.9, 0.999, 0.00000001, init, bp, clip_norm(1.0, do))",
];

fn network(answer: &str, optimiser: &str) -> String {
    format!(
        "import std.layers;
import std.experts;
import std.normalisation;
import std.optimisers;

node diff_param(init, bp, do) -> (o) o = {optimiser};

node inner(x: num [2], c: bool []) -> (o) h = gru(3, x); o = dense(1, h when c);

node net(x: num [2], c: bool [], end: bool []) -> (o: num [1] when c) {answer}

node train(x: num [2], y: num [] when c, c: bool [], end: bool []) -> (loss: num [] when c)
  o, _ = diff_net(x, c, end, true when c, do) every end;
  do = -0.02 * (o - [y]);
  loss = (o[0] - y) * (o[0] - y);
"
    )
}

/// Windows of up to eight cycles, in some of which no sequence ends.
fn data(r: &mut Lcg) -> Columns {
    let (mut ends, mut sequences) = (Vec::new(), Vec::new());
    for window in 0..WINDOWS {
        let cycles = 1 + r.below(8);
        ends.extend((1..=cycles).map(|t| t == cycles));
        sequences.extend((0..cycles).map(|_| window % 5 != 4 && r.chance(0.5)));
    }
    let (cycles, labels) = (ends.len(), sequences.iter().filter(|c| **c).count());
    let mut numbers = |n: usize| Elements::F64((0..n).map(|_| r.range(-1.0, 1.0)).collect());
    let (x, mut y) = (numbers(2 * cycles), column(&[cycles], numbers(labels)));
    y.present = Some((0..cycles).filter(|t| sequences[*t]).collect());
    assert!(labels > 20);
    let mut columns = Columns::default();
    columns.columns.insert("x".into(), column(&[cycles, 2], x));
    columns.columns.insert("y".into(), y);
    columns.columns.insert("c".into(), column(&[cycles], Elements::Bool(sequences)));
    columns.columns.insert("end".into(), column(&[cycles], Elements::Bool(ends)));
    columns
}

fn losses(text: &str, data: &Columns, engine: Engine) -> Vec<Option<f64>> {
    let options = Options { node: Some("train".into()), precision: Precision::F64, ..Options::default() };
    let program = rml::compile(&source(text), &options).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let trace = rml::run(&program, data, &RunOptions { engine, ..RunOptions::default() });
    let trace = trace.unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert!(trace.error.is_none(), "{:?}\n{text}", trace.error);
    let number = |cell: &Cell| match cell {
        Cell::Value(v) => v.as_num(),
        _ => None,
    };
    trace.values["loss"].iter().map(number).collect()
}

#[test]
fn layers_on_sampled_clocks_learn_the_same_by_plan_and_by_simulator() {
    for (i, (name, answer)) in ANSWERS.iter().enumerate() {
        let optimiser = OPTIMISERS[i % OPTIMISERS.len()];
        let (text, data) = (network(answer, optimiser), data(&mut Lcg(i as u64)));
        let plan = losses(&text, &data, Engine::plan());
        let simulator = losses(&text, &data, Engine::simulator());
        // The plan also runs call by call, as on other backends.
        let cpu = rml::backend::open("cpu", &rml::backend::Options::default()).unwrap();
        let calls = losses(&text, &data, Engine::plan_on(cpu));
        assert!(plan.len() == simulator.len() && plan.iter().flatten().count() > 20, "{name}");
        for (cycle, (wanted, found)) in simulator.iter().zip(plan.iter().zip(&calls)).enumerate() {
            let same = |found: &Option<f64>| match (found, wanted) {
                (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * (1.0 + b.abs()),
                (a, b) => a.is_none() && b.is_none(),
            };
            assert!(
                same(found.0) && same(found.1),
                "{name}, cycle {cycle}: {found:?}, not {wanted:?}\n{text}"
            );
        }
        let known: Vec<f64> = plan.into_iter().flatten().collect();
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        assert!(mean(&known[..5]).is_finite() && known.windows(2).any(|w| w[0] != w[1]), "{name}");
    }
}
