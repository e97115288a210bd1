//! Compares the paper's hand-written adjoints, with corrections, to derived ones. Each conformance vector with a
//! hand-written `diff_..` is run over its inputs, and so is a program in which this adjoint is derived.

use std::path::Path;

use rml::{Cell, Columns, End, Format, Options, Precision, RunOptions, Source, Trace};
use serde_json::Value as Json;

const APP: &str = "node dense(i) -> (o)
  b = param(0.0);
  k = param(1.0);
  o = k * i + b;
node multiply(i) -> (o) o = i * i;
node app(i: num []) -> (o) o = multiply(dense(i));
node app_pipe(i: num []) -> (o) o = multiply(0.0 fby dense(i));
";

const FBY_END: &str = "node fby_end(shape, end, init, i) -> (o)
  i1 = if end then zeros(shape) else i;
  o = if (true fby end) then init else (init fby i1);
";

/// A vector, the nodes before the program's main node, and the main node.
const PAIRS: &[(&str, &str, &str)] = &[
    (
        "adj_fby",
        "node f(y) -> (o) o = 1.0 fby y;",
        "node main(y: num [], do: num []) -> (o, dy)
  o, bpy, d = diff_f(y, y == y, do);
  dy = merge bpy d 0.0;",
    ),
    (
        "adj_fby_back",
        "node f(y) -> (o) o = 1.0 fby back y;",
        "node main(y: num [], do: num []) -> (o, dy)
  o, bpy, d = diff_f(y, y == y, do);
  dy = merge bpy d 0.0;",
    ),
    (
        "adj_fby_gated",
        "node f(y) -> (o) o = 1.0 fby y;",
        "node main(y: num [], bpo: bool [], do: num [] when bpo) -> (o, bpi, dy)
  o, bpi, dy = diff_f(y, bpo, do);",
    ),
    (
        "adj_backfill",
        "node backfill(i, bp) -> (o) o = merge bp (i when bp) ((post o) when not bp);",
        "node main(i: num [], bp: bool [], do: num []) -> (o, di)
  o, bpi, d = diff_backfill(i, bp, true, do);
  di = merge bpi d 0.0;",
    ),
    (
        "adj_when_merge",
        "node f(x, c) -> (o)
  a = x when c;
  b = x when not c;
  o = merge c (a * a) (3.0 * b);",
        "node main(x: num [], c: bool [], do: num []) -> (o, dx)
  o, bpx, d = diff_f(x, c, true, do);
  dx = merge bpx d 0.0;",
    ),
    (
        "adj_post_end_gated",
        "node post_end(end, init, i) -> (o) o = merge end (init when end) ((post i) when not end);",
        "node main(end: bool [], init: num [], y: num [], bp: bool [], do: num [] when bp) -> (o, bpi, di, bpy, dy)
  o, bpi, di, bpy, dy = diff_post_end(end, init, y, bp, do);",
    ),
    (
        "adj_rnn_gated",
        "node rnn(x) -> (hn)
  h = 0.0 fby hn;
  hn = tanh(0.5 * h + x);",
        "node main(x: num [], gt: num [] when bp, end: bool [], bp: bool []) -> (hn, bpn, dx)
  hn, bpn, dx = diff_rnn(x, bp, do) every end;
  do = (hn when bp) - gt;",
    ),
    (
        "diff_app_200",
        APP,
        "node main(i: num [], gt: num []) -> (o)
  o, _ = diff_app(i, true, do);
  do = -0.005 * 2.0 * (o - gt);",
    ),
    (
        "diff_app_mixed",
        APP,
        "node main(i: num [], bp: bool [], gt: num [] when bp) -> (o)
  o, _ = diff_app(i, bp, do);
  do = -0.005 * 2.0 * ((o when bp) - gt);",
    ),
    (
        "diff_app_pipe_train_200",
        APP,
        "node train(i: num [], gt: num []) -> (o)
  o, _ = diff_app_pipe(i, true, do);
  do = -0.005 * 2.0 * (o - gt);",
    ),
    (
        "diff_fby_end",
        FBY_END,
        "node main(end: bool [], init: num [], i: num [], bp: bool [], do: num [] when bp) -> (o, dinit, di)
  o, bpinit, d0, bpi, d1 = diff_fby_end([], end, init, i, bp, do);
  dinit = merge (bpinit when bp) d0 0.0;
  di = merge (bpi when bp) d1 0.0;",
    ),
    (
        "diff_param",
        "",
        "node main(bp: bool [], do: num [] when bp) -> (o)
  o = diff_param(1.0, bp, do);",
    ),
    (
        "param_end_training",
        "node f(x) -> (o)
  p = param(1.0);
  o = p * x;",
        "node main(x: num [], gt: num [] when bp, end: bool [], bp: bool []) -> (o)
  o, _ = diff_f(x, bp, do) every end;
  do = -0.1 * ((o when bp) - gt);",
    ),
    (
        "rnn_bptt",
        "node rnn(x) -> (hn)
  w = param(0.5);
  h = 0.0 fby hn;
  hn = tanh(w * h + x);",
        "node main(x: num [], gt: num [] when bp, end: bool [], bp: bool []) -> (hn)
  hn, _ = diff_rnn(x, bp, do) every end;
  do = -0.1 * ((hn when bp) - gt);",
    ),
];

fn vector(name: &str) -> Json {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/vectors");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).expect("a vector");
    serde_json::from_str(&text).expect("JSON")
}

/// Runs the main node of a vector, in double precision.
fn run(text: &str, vector: &Json) -> Trace {
    let options = Options {
        node: vector["main"].as_str().map(str::to_owned),
        precision: Precision::F64,
        ..Options::default()
    };
    let program = rml::compile(&Source::text("vector.rml", text), &options).unwrap_or_else(|e| panic!("{e}"));
    let inputs =
        Columns::parse(vector["inputs"].to_string().as_bytes(), Format::Json, "inputs").expect("rows");
    let end = if vector["closed"] == true { End::Closed } else { End::Open };
    let trace = rml::run(&program, &inputs, &RunOptions { end, ..RunOptions::default() });
    let trace = trace.unwrap_or_else(|e| panic!("{e}"));
    assert!(trace.error.is_none(), "{:?}", trace.error);
    trace
}

/// Whether the cells are equal, unless the hand-written adjoint does not determine the value.
fn agree(own: &Cell, derived: &Cell) -> bool {
    match (own, derived) {
        (Cell::Unknown, _) | (Cell::Absent, Cell::Absent) => true,
        (Cell::Value(a), Cell::Value(b)) => match (a.as_num(), b.as_num()) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-12 * (1.0 + a.abs()),
            _ => a.same(b),
        },
        _ => false,
    }
}

#[test]
fn hand_written_adjoints_equal_derived_ones() {
    for (name, nodes, main) in PAIRS {
        let vector = vector(name);
        // One vector discards its output.
        let own = vector["rml"].as_str().expect("a text");
        let own = own.replace("->()", "->(o)").replace("_ = diff_app_pipe", "o = diff_app_pipe");
        let (own, derived) = (run(&own, &vector), run(&format!("{nodes}\n{main}\n"), &vector));
        assert!(own.cycles > 4 && !own.values.is_empty(), "{name}");
        let mut values = 0;
        for (output, cells) in &own.values {
            for (n, (a, b)) in cells.iter().zip(&derived.values[output]).enumerate() {
                assert!(agree(a, b), "{name}: {output} at {n} is {a:?}, derived {b:?}");
                values += usize::from(matches!(a, Cell::Value(_)));
            }
        }
        assert!(values > 3, "{name}: too little is determined");
    }
}

/// Figure "lstmbackprop": the loss decreases in the same way, so the parameters are the same after every window.
#[test]
fn the_hand_written_lstm_trains_as_the_derived_one() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/paper/lstm_end.rml");
    let own = std::fs::read_to_string(file).expect("a program");
    let derived: Vec<&str> = own.split("\n\n").filter(|node| !node.starts_with("node diff_")).collect();
    assert_eq!(own.split("\n\n").count() - derived.len(), 3, "the adjoints by hand");
    let cycles: Vec<f64> = (0..12).map(f64::from).collect();
    let row =
        |width: i32, t: f64| -> Vec<f64> { (0..width).map(|k| (t * 0.7 + f64::from(k)).sin()).collect() };
    let vector = serde_json::json!({
        "main": "train", "closed": true,
        "inputs": {
            "x": cycles.iter().map(|&t| row(3, t)).collect::<Vec<_>>(),
            "gt": cycles.iter().map(|&t| row(4, t + 5.0)).collect::<Vec<_>>(),
            "end": cycles.iter().map(|t| [2.0, 5.0, 6.0, 11.0].contains(t)).collect::<Vec<_>>(),
        },
    });
    let (own, derived) = (run(&own, &vector), run(&derived.join("\n\n"), &vector));
    for (n, (a, b)) in own.values["loss"].iter().zip(&derived.values["loss"]).enumerate() {
        assert!(matches!(a, Cell::Value(_)) && agree(a, b), "loss at {n} is {a:?}, derived {b:?}");
    }
}
