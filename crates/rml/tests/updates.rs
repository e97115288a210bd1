//! Tests the rules of `docs/language/gradients.md` for derived nodes and for the updates of parameters.

mod support;

use rml::{Columns, Format, Options, RunOptions};
use support::{code, source};

fn outputs(text: &str) -> Vec<String> {
    let program = rml::compile(&source(text), &Options::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    program.outputs().iter().map(|o| format!("{} {}", o.name, o.ty)).collect()
}

#[test]
fn a_formal_decides_whether_there_is_a_gradient() {
    let loss = |call: &str| {
        format!("import std.losses;\nnode main(o: num [3], y: num [3], label: int []) -> (loss, d) {call}\n")
    };
    for delta in ["0.3", "1", "2 * 0.5"] {
        let call = format!("loss, _, d, _ = diff_huber({delta}, o, y, true, -1.0);");
        assert_eq!(outputs(&loss(&call)), ["loss num []", "d num [3]"]);
        let call = format!("loss, d, _ = diff_huber({delta}, o, y, true, -1.0);");
        assert_eq!(code(rml::compile(&source(&loss(&call)), &Options::default())), "arity");
    }
    let call = "loss, d = diff_cross_entropy(o, label, true, -1.0);";
    assert_eq!(outputs(&loss(call)), ["loss num []", "d num [3]"]);
}

const STATIC: &str = "
node scale(k, x) -> (o)
  factor = param(k);
  o = factor * x;
node main(x: num []) -> (a, b)
  a = scale(1.0, x);
  b = scale(zeros([3]) + 0.5, x);
";

#[test]
fn an_initial_value_may_be_a_formal() {
    assert_eq!(outputs(STATIC), ["a num []", "b num [3]"]);
    let inputs = Columns::parse(br#"{"x": [2.0]}"#, Format::Json, "inputs").expect("a table");
    let program = rml::compile(&source(STATIC), &Options::default()).expect("it is right");
    let trace = rml::run(&program, &inputs, &RunOptions::default()).expect("it runs");
    let found: serde_json::Value = serde_json::from_str(&trace.to_json()).expect("JSON");
    assert_eq!(found["values"], serde_json::json!({"a": [2.0], "b": [[1.0, 1.0, 1.0]]}));
    let grad = rml::GradOptions { loss: Some("a".to_owned()), ..rml::GradOptions::default() };
    let compile = Options { node: Some("main".to_owned()), ..Options::default() };
    let found = rml::grad(&source(STATIC), &compile, &inputs, &grad).expect("gradients");
    assert!(found.params.keys().any(|key| key == "scale_0.factor"), "{:?}", found.params.keys());
}

/// No gradient is computed through the initial value of a parameter, so no way to run a program accepts a stream as the
/// initial value.
#[test]
fn an_initial_value_is_no_stream() {
    let inputs = Columns::parse(br#"{"a": [3.0, 5.0, 7.0]}"#, Format::Json, "inputs").expect("a table");
    for body in [
        "o = param(a);",
        "o = param(2.0 * a + 1.0);",
        "o = param(1.0 fby a) * a;",
        "o = a + param(counter); counter = 0.0 fby (counter + 1.0);",
        "o = a * param(random_normal([]));",
        "k = param(1.0); o = a * param(k);",
        "o = through(a);",
        "o = through(post a);",
        "o = through(3.0) * through(a);",
    ] {
        let text = format!("node through(k) -> (p) p = param(k);\nnode main(a: num []) -> (o) {body}\n");
        let (source, options) =
            (source(&text), Options { node: Some("main".to_owned()), ..Options::default() });
        assert_eq!(code(rml::compile(&source, &options)), "initial-value", "{body}");
        let grad = rml::GradOptions::default();
        assert_eq!(code(rml::grad(&source, &options, &inputs, &grad)), "initial-value", "{body}");
        let compared = rml::gradcheck(&source, &options, &inputs, &grad, &rml::CheckOptions::default());
        assert_eq!(code(compared), "initial-value", "{body}");
        assert_eq!(code(rml::differentiate(&source, &Options::default(), "main")), "initial-value", "{body}");
        for options in [options, Options::default()] {
            let found = rml::check(&source, &options).1;
            let codes: Vec<&str> = found.iter().map(|d| d.code.name).collect();
            assert!(codes.contains(&"initial-value"), "{body}: {codes:?}");
        }
        let trained = format!(
            "node through(k) -> (p) p = param(k);\nnode f(a: num []) -> (o) {body}\n\
             node main(a: num [], end: bool []) -> (o) o = diff_f(a, true, 0.1) every end;\n"
        );
        assert_eq!(
            code(rml::compile(&support::source(&trained), &Options::default())),
            "initial-value",
            "{body}"
        );
    }
    // A node for use by other nodes may take the initial value of a parameter from its callers.
    let library = source(
        "node scaled(k, x) -> (o) o = param(k) * x;\nnode shifted(k: num [], x) -> (o) o = param(k) + x;\n",
    );
    let found = rml::check(&library, &Options::default()).1;
    assert!(found.is_empty(), "{found}");
    for node in ["scaled", "shifted"] {
        rml::differentiate(&library, &Options::default(), node).unwrap_or_else(|e| panic!("{e}"));
    }
    // The only node of a text can run; it reads its typed inputs from data.
    let alone = source("node shifted(k: num [], x) -> (o) o = param(k) + x;\n");
    assert_eq!(code(rml::differentiate(&alone, &Options::default(), "shifted")), "initial-value");
}

#[test]
fn a_parameter_that_begins_with_draws_of_each_cycle_is_told_how_to_draw_once() {
    for draws in ["normal", "uniform"] {
        let text = format!("node main(x: num [3]) -> (o) o = param(0.1 * random_{draws}([3])) * x;\n");
        let found = rml::check(&source(&text), &Options::default()).1;
        let told = format!("`{draws}(shape, 0.0, 1.0)` is drawn once");
        assert!(found.iter().any(|d| d.help.contains(&told)), "{found}");
    }
}

/// Six cycles in windows of two; the second window has no gradient.
#[test]
fn a_window_without_gradients_leaves_no_trace() {
    let run = |optimiser: &str, inputs: &str| {
        let text = format!(
            "import std.optimisers;
node diff_param(init, bp, do) -> (o) o = {optimiser};
node f(x) -> (o) k = param(1.0); o = k * x;
node main(x: num [], on: bool [], end: bool []) -> (o) o = diff_f(x, on, 0.5 when on) every end;
"
        );
        let program = rml::compile(&source(&text), &Options::default()).unwrap_or_else(|e| panic!("{e}"));
        let inputs = Columns::parse(inputs.as_bytes(), Format::Json, "inputs").expect("a table");
        let trace = rml::run(&program, &inputs, &RunOptions::default()).expect("it runs");
        let found: serde_json::Value = serde_json::from_str(&trace.to_json()).expect("JSON");
        found["values"]["o"].as_array().expect("a row").clone()
    };
    for optimiser in [
        "sgd(init, bp, do)",
        "momentum(0.9, init, bp, do)",
        "adam(0.1, 0.9, 0.999, 0.00000001, init, bp, do)",
    ] {
        let with = run(
            optimiser,
            r#"{"x": [1.0, 2.0, 7.0, 8.0, 1.0, 3.0, 1.0, 1.0], "on": [true, true, false, false, true, true, true, true],
                "end": [false, true, false, true, false, true, false, true]}"#,
        );
        let without = run(
            optimiser,
            r#"{"x": [1.0, 2.0, 1.0, 3.0, 1.0, 1.0], "on": [true, true, true, true, true, true],
                "end": [false, true, false, true, false, true]}"#,
        );
        let others = [&with[..2], &with[4..]].concat();
        assert_eq!(others, without, "{optimiser}");
        assert_ne!(with[0], with[6], "{optimiser} trains");
    }
}
