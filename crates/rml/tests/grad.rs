//! Gradients of whole traces, and their check against finite differences.

mod support;

use rml::{
    CheckOptions, Columns, Format, GradCheck, GradOptions, Gradients, Options, Precision, Session, Source,
};
use support::{CLASSIFIER, MOMENTUM, code, source};

fn json(text: &str) -> Columns {
    Columns::parse(text.as_bytes(), Format::Json, "inputs").unwrap()
}

fn options(node: &str) -> Options {
    Options { node: Some(node.into()), precision: Precision::F64, ..Options::default() }
}

fn of(loss: &str) -> GradOptions {
    GradOptions { loss: Some(loss.into()), ..GradOptions::default() }
}

fn grad(text: &str, node: &str, loss: &str, inputs: &str) -> Gradients {
    rml::grad(&source(text), &options(node), &json(inputs), &of(loss)).unwrap_or_else(|e| panic!("{e}"))
}

fn check(text: &str, node: &str, loss: &str, inputs: &str) -> GradCheck {
    let all = CheckOptions { samples: 0, ..CheckOptions::default() };
    let check = rml::gradcheck(&source(text), &options(node), &json(inputs), &of(loss), &all)
        .unwrap_or_else(|e| panic!("{e}"));
    assert!(check.ok(), "{node}\n{}", check.to_table());
    check
}

fn value(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_gradient_of_a_sum_over_cycles_and_elements() {
    let text = "node f(x: num [2], n: int [], on: bool []) -> (o: num [2] when on, other: num [])
  k = param(3.0);
  unused = param([1.0, 2.0]);
  o = (k * x * x) when on;
  other = sum(unused) * k;
";
    let inputs =
        r#"{"x": [[1, 2], null, [3, 4], [5, 6]], "n": [1, null, 2, 3], "on": [true, null, false, true]}"#;
    let found = grad(text, "f", "o", inputs);
    let expected = serde_json::json!({
        "loss": 3.0 * (1.0 + 4.0 + 25.0 + 36.0),
        "params": {"k": 66.0, "unused": [0.0, 0.0]},
        "inputs": {"x": [[6.0, 12.0], null, [0.0, 0.0], [30.0, 36.0]]},
    });
    assert_eq!(value(&found.to_json()), expected);
    let table = found.to_table();
    assert!(table.starts_with("sum of o over 4 cycles: 198.0\n") && table.contains('□'), "{table}");
    check(text, "f", "o", inputs);
}

/// A recurrence outside windows cannot be trained cycle by cycle, but it has a gradient, because the parameters are not
/// updated.
#[test]
fn parameters_are_held_over_the_whole_trace() {
    let text = "node f(x: num []) -> (o: num [])
  w = param(0.5);
  h = tanh(w * (0.1 fby h) + x);
  o = h * h;
";
    let inputs = r#"{"x": [0.3, -0.2, null, 0.7, 0.1]}"#;
    check(text, "f", "o", inputs);
    // The updates of parameters have no effect.
    let adam = format!(
        "import std.optimisers;\nnode diff_param(init, bp, do) -> (o)\n  o = adam(0.001, 0.9, 0.999, 0.00000001, init, bp, do);\n{text}"
    );
    let plain = grad(text, "f", "o", inputs);
    assert_eq!(grad(&adam, "f", "o", inputs).to_json(), plain.to_json());
}

/// A constant gradient has no clock of its own: it is added only in the cycles in which the output is present.
#[test]
fn sampled_outputs_count_where_they_are_present() {
    let text = "node f(x: num [], c: bool []) -> (o: num [])
  p = param(2.0);
  o = p when c;
";
    let inputs = r#"{"x": [1, null, 2, 3], "c": [true, null, false, true]}"#;
    let found = grad(text, "f", "o", inputs);
    assert_eq!(value(&found.to_json())["params"]["p"], 2.0);
    let inner = "node g(x: num []) -> (o: num []) p = param(2.0); o = p + x;
node f(x: num [], c: bool []) -> (o: num []) o = g(x when c);";
    assert_eq!(value(&grad(inner, "f", "o", inputs).to_json())["params"]["g_0.p"], 2.0);
}

#[test]
fn windows_sampled_instances_and_shared_parameters() {
    let text = "node cell(w, x: num []) -> (o)
  h = tanh(w * (0.0 fby h) + x);
  g = x + (0.5 fby back (w * g));
  o = h * g;
node f(x: num [], end: bool [], c: bool []) -> (o: num [])
  w = param(0.3);
  a = cell(w, x) every end;
  b = cell((w when c) * 2.0, x when c) every (end when c);
  o = merge c (b * (a when c)) (a when not c);
";
    let inputs = r#"{"x": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "end": [false, true, false, false, true, true],
                     "c": [true, true, false, true, true, false]}"#;
    check(text, "f", "o", inputs);
}

/// In a node that trains, the parameters are not updated, so the gradient is that of the loss.
#[test]
fn the_gradient_of_a_training_step_is_that_of_its_loss() {
    let inputs = r#"{"x": [[[0.1, 0.2]], [[0.3, -0.5]], [[-0.7, 0.4]]], "end": [false, true, true],
                     "y": [null, [2], [0]]}"#;
    for text in [CLASSIFIER.to_owned(), format!("{CLASSIFIER}{MOMENTUM}")] {
        let one = |node: &str| {
            let options = Options { batch: Some(1), ..options(node) };
            rml::grad(&source(&text), &options, &json(inputs), &of("loss")).unwrap_or_else(|e| panic!("{e}"))
        };
        let (train, infer) = (one("train"), one("infer"));
        assert_eq!(train.to_json(), infer.to_json());
        assert!(train.params.len() == 5 && train.params.keys().all(|k| k.starts_with("classify_0.")));
    }
}

/// The program's own adjoint is called, and can be checked.
#[test]
fn own_adjoints_are_called() {
    let text = "node sq(x: num []) -> (o: num []) o = x * x;
node diff_sq(x: num [], bp: bool [], do: num []) -> (o, dx)
  o = x * x;
  dx = do * 100.0;
node f(x: num []) -> (o: num []) k = param(1.0); o = sq(k * x);
node scale(x: num [], c: bool []) -> (s: num [] when c, t: num [])
  k = param(1.0);
  t = k * x;
  s = t when c;
node diff_scale(x: num [], c: bool [], bp: bool [], ds: num [], dt: num []) -> (s, t, dx)
  k = diff_param(1.0, true, x * dx);
  t = k * x;
  s = t when c;
  dx = dt + merge c ds 0.0;
";
    let found = value(&grad(text, "f", "o", r#"{"x": [3.0]}"#).to_json());
    assert_eq!((&found["params"]["k"], &found["inputs"]["x"]), (&300.0.into(), &serde_json::json!([100.0])));
    let inputs = json(r#"{"x": [3.0]}"#);
    let check = rml::gradcheck(&source(text), &options("f"), &inputs, &of("o"), &CheckOptions::default());
    assert!(!check.unwrap().ok());
    let inputs = r#"{"x": [3.0, 5.0], "c": [true, false]}"#;
    let found = value(&grad(text, "scale", "t", inputs).to_json());
    assert_eq!(found["params"]["k"], 8.0);
    let found = value(&grad(text, "scale", "s", inputs).to_json());
    assert_eq!((&found["loss"], &found["params"]["k"]), (&3.0.into(), &3.0.into()));
}

#[test]
fn kinks_are_told_apart_from_errors() {
    let text = "node f(x: num [2]) -> (o: num []) k = param(1.0); o = max(x) * k + sum(relu(x - 1.0));";
    let check = check(text, "f", "o", r#"{"x": [[1.0, 1.0], [2.0, 0.0]]}"#);
    let x = &check.inputs["x"];
    assert_eq!((x.elements, x.compared, x.kinks), (4, 4, 2));
    assert!(check.to_table().contains("at a kink") && value(&check.to_json())["ok"] == true);
}

#[test]
fn parameters_come_from_a_checkpoint() {
    let text = "node f(x: num []) -> (o: num []) k = param(2.0); o = k * k * x;";
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.safetensors");
    let program = rml::compile(&source(text), &options("f")).unwrap();
    let mut session = Session::new(&program);
    session.set_state("k", &rml::Value::F64(5.0)).unwrap();
    session.save(&path).unwrap();
    let with = GradOptions { params: Some(path.into()), ..GradOptions::default() };
    let inputs = json(r#"{"x": [3.0]}"#);
    let found = rml::grad(&source(text), &options("f"), &inputs, &with).unwrap();
    assert_eq!(found.params["k"].as_num(), Some(30.0));
    let check = rml::gradcheck(&source(text), &options("f"), &inputs, &with, &CheckOptions::default());
    assert!(check.unwrap().ok());
}

/// The seed draws the same initial values as in a run.
#[test]
fn initial_values_are_those_of_a_run() {
    let text = "import std.layers; node f(x: num [3]) -> (o: num [4]) o = dense(4, x);";
    let inputs = json(r#"{"x": [[1.0, 2.0, 3.0]]}"#);
    for seed in [0, 7] {
        let options = Options { seed, ..options("f") };
        let program = rml::compile(&source(text), &options).unwrap();
        let trace = rml::run(&program, &inputs, &rml::RunOptions::default()).unwrap();
        let rml::Cell::Value(o) = &trace.values["o"][0] else { panic!("present") };
        let rml::Data::F64(o) = o.to_data() else { panic!("numbers") };
        let found = rml::grad(&source(text), &options, &inputs, &GradOptions::default()).unwrap();
        assert_eq!(found.loss.as_num(), Some(o.iter().sum::<f64>()));
    }
}

#[test]
fn what_cannot_be_differentiated_is_said() {
    let text = "node f(x: num []) -> (o: num [], n: int [], p: num []) o = x; n = 1; p = post x;
node none(x: num []) -> (b: bool []) b = x > 0.0;";
    let inputs = json(r#"{"x": [1.0, 2.0]}"#);
    let fails = |node: &str, loss: Option<&str>| {
        let loss = GradOptions { loss: loss.map(str::to_owned), ..GradOptions::default() };
        code(rml::grad(&source(text), &options(node), &inputs, &loss))
    };
    assert_eq!(fails("f", None), "bad-option");
    assert_eq!(fails("f", Some("n")), "bad-option");
    assert_eq!(fails("f", Some("q")), "bad-option");
    assert_eq!(fails("none", None), "bad-option");
    assert_eq!(fails("f", Some("p")), "deadlock");
    let alone = Source::text("g.rml", "node g(x: num []) -> (o: num []) o = x * x;");
    assert!(rml::grad(&alone, &Options::default(), &inputs, &GradOptions::default()).is_ok());
}

#[test]
fn single_precision_prints_as_such() {
    let text = "node f(x: num []) -> (o: num []) k = param(0.1); o = k * x;";
    let options = Options { precision: Precision::F32, ..options("f") };
    let found = rml::grad(&source(text), &options, &json(r#"{"x": [0.3]}"#), &of("o")).unwrap();
    assert_eq!(value(&found.to_json())["inputs"]["x"], serde_json::json!([0.1]));
}

#[test]
fn probes_are_outputs_behind_the_others() {
    let text = "node g(x) -> (o) h = x + x; o = h * x;
node f(x: num [], c: bool []) -> (o: num []) o = g(x when c) ;";
    let run = |probes: &[&str]| {
        let probes = probes.iter().map(|&p| p.to_owned()).collect();
        rml::compile(&source(text), &Options { probes, ..options("f") })
    };
    let inputs = json(r#"{"x": [1.0, 2.0], "c": [false, true]}"#);
    let program = run(&["g_0.h", "c", "o", "g_0.h"]).unwrap();
    let trace = rml::run(&program, &inputs, &rml::RunOptions::default()).unwrap();
    assert_eq!(
        value(&trace.to_json())["values"],
        serde_json::json!({"o": [null, 8.0], "g_0.h": [null, 4.0], "c": [false, true]})
    );
    let e = run(&["g_0.hh", "g_1.h", "h"]).unwrap_err();
    let text = e.to_string();
    assert_eq!(e.diagnostics().iter().count(), 3);
    for part in ["there is `g_0.h`", "instance g_0 has `h`, `o`, `x`", "node f has"] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}
