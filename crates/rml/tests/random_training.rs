//! Random networks in training: by plan and by simulator the same losses, window after window, whatever the lengths of windows.

mod support;

use rml::{Columns, Elements, Engine, Options, Precision, RunOptions, codes};
use rml_testkit::Random;
use support::{column, source};

/// How many networks, and how many windows each is trained over.
const NETWORKS: usize = 24;
const WINDOWS: usize = 100;

const OPTIMISERS: &[&str] = &[
    "",
    "import std.optimisers;\nnode diff_param(init, bp, do) -> (o) o = momentum(0.5, init, bp, do);\n",
    "import std.optimisers;\nnode diff_param(init, bp, do) -> (o) o = adam(0.01, 0.9, 0.999, 0.00000001, init, bp, do);\n",
];

/// A layer over `$`, and how many features it has for each unit; as many as before if none.
const LAYERS: &[(&str, Option<usize>)] = &[
    ("lstm(UNITS, $)", Some(1)),
    ("lstm_back(UNITS, $)", Some(1)),
    ("gru(UNITS, $)", Some(1)),
    ("gru_back(UNITS, $)", Some(1)),
    ("rnn(UNITS, $)", Some(1)),
    ("bi_gru(UNITS, $)", Some(2)),
    ("tanh(dense(UNITS, $))", Some(1)),
    ("residual(UNITS, $)", None),
    ("$ * sigmoid($)", None),
    ("tanh($ - 0.5 * (0.0 * $ fby $))", None),
];

fn network(r: &mut Random) -> String {
    let (mut body, mut last) = (String::new(), "x".to_owned());
    for i in 0..1 + r.below(3) {
        let (layer, _) = r.pick(LAYERS);
        let layer = layer.replace('$', &last).replace("UNITS", &(1 + r.below(3)).to_string());
        last = format!("h{i}");
        body += &format!("  {last} = {layer};\n");
    }
    let optimiser = r.pick(OPTIMISERS);
    format!(
        "import std.layers;\n{optimiser}\nnode net(x: num [2]) -> (o: num [])\n{body}  o = sum(dense(1, {last}));\n
node train(x: num [2], y: num [], end: bool []) -> (loss: num [])
  o, _ = diff_net(x, true, do) every end;
  do = -0.02 * (o - y);
  loss = (o - y) * (o - y);
"
    )
}

/// Windows of up to five cycles.
fn data(r: &mut Random) -> Columns {
    let mut ends = Vec::new();
    for _ in 0..WINDOWS {
        ends.extend(vec![false; r.below(5)]);
        ends.push(true);
    }
    let cycles = ends.len();
    let mut numbers = |n: usize| Elements::F64((0..n).map(|_| r.range(-1.0, 1.0)).collect());
    let (x, y) = (numbers(2 * cycles), numbers(cycles));
    let mut columns = Columns::default();
    columns.columns.insert("x".into(), column(&[cycles, 2], x));
    columns.columns.insert("y".into(), column(&[cycles], y));
    columns.columns.insert("end".into(), column(&[cycles], Elements::Bool(ends)));
    columns
}

/// The losses of all cycles; nothing if the engine declines.
fn losses(text: &str, data: &Columns, engine: Engine) -> Option<Vec<f64>> {
    let options = Options { node: Some("train".into()), precision: Precision::F64, ..Options::default() };
    let program = rml::compile(&source(text), &options).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let trace = match rml::run(&program, data, &RunOptions { engine, ..RunOptions::default() }) {
        Err(error) if error.code() == Some(codes::backend::ENGINE_DECLINES) => return None,
        found => found.unwrap_or_else(|e| panic!("{e}\n{text}")),
    };
    assert!(trace.error.is_none(), "{:?}\n{text}", trace.error);
    let number = |cell: &rml::Cell| match cell {
        rml::Cell::Value(v) => v.as_num().expect("a number"),
        other => panic!("{other:?}\n{text}"),
    };
    Some(trace.values["loss"].iter().map(number).collect())
}

#[test]
fn random_networks_learn_the_same_by_plan_and_by_simulator() {
    let mut planned = 0;
    for seed in 0..NETWORKS as u64 {
        let mut r = Random(seed);
        let (text, data) = (network(&mut r), data(&mut r));
        let Some(plan) = losses(&text, &data, Engine::plan()) else { continue };
        let simulator = losses(&text, &data, Engine::simulator()).expect("it runs every program");
        planned += 1;
        assert_eq!(plan.len(), simulator.len());
        for (cycle, (a, b)) in plan.iter().zip(&simulator).enumerate() {
            assert!(
                (a - b).abs() <= 1e-9 * (1.0 + b.abs()),
                "seed {seed}, cycle {cycle}: {a} and {b}\n{text}"
            );
        }
    }
    assert!(planned >= 20, "only {planned} of {NETWORKS} networks have a plan");
}
