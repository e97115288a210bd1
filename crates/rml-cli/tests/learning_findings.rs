//! The findings about a training that cannot learn, before it runs: each finding is in the user's own line, and correct
//! programs get none.

mod support;

use std::path::{Path, PathBuf};

use support::{Folder, checked, warned};

/// A training with the calls of the optimiser and of the training as parameters.
fn program(optimiser: &str, train: &str) -> String {
    format!(
        "import std.losses;\nimport std.optimisers;\n{optimiser}\n\
         node net(x: num [batch, 4]) -> (logits: num [batch, 3])\n  w = param(zeros([4, 3]));\n  logits = matmul(x, w);\n\
         node train(x: num [batch, 4], y: int [batch]) -> (loss: num [])\n{train}"
    )
}

/// The output of `rml check` about it, without unused imports.
fn found(optimiser: &str, train: &str) -> String {
    let run = Folder::new().file("p.rml", program(optimiser, train)).rml("check p.rml");
    assert_eq!(run.code, Some(0), "warnings alone\n{}", run.err);
    run.err
}

fn has(optimiser: &str, train: &str, told: &[&str]) {
    let found = found(optimiser, train);
    for text in told {
        assert!(found.contains(text), "`{text}` is not in\n{found}");
    }
}

fn silent(optimiser: &str, train: &str) {
    let found = found(optimiser, train);
    for code in ["no-update", "gradient-sign", "learning-rate", "gradient-updates", "not-logits"] {
        assert!(!found.contains(code), "{train}\n{found}");
    }
}

const SUBTRACTS: &str = "node diff_param(init, bp, do) -> (o)\n  o = init fby (o - 0.1 * merge bp do 0.0);";
const ADAM: &str =
    "node diff_param(init, bp, do) -> (o)\n  o = adam(0.01, 0.9, 0.999, 0.00000001, init, bp, do);";

fn seeded(seed: &str) -> String {
    format!("  logits, _ = diff_net(x, true, d);\n  loss, d = diff_cross_entropy(logits, y, true, {seed});")
}

#[test]
fn a_training_without_updates_gets_the_calls_that_it_lacks() {
    has(
        "",
        "  logits = net(x);\n  loss = cross_entropy(logits, y);",
        &[
            "warning[no-update]",
            "p.rml:8:3",
            "write `logits, _ = diff_net(x, true, dlogits);`",
            "write `loss, dlogits = diff_cross_entropy(logits, y, true, -0.1);`",
        ],
    );
    has(
        "",
        "  loss = cross_entropy(net(x), y);",
        &["no-update", "write `logits, _ = diff_net(x, true, dlogits);`"],
    );
    has(
        "",
        &seeded("-0.1").replace("x, true", "x, false").replace("y, true", "y, false"),
        &["no-update", "`bp` is `false`"],
    );
    has(
        "",
        "  logits = net(x);\n  loss, dlogits = diff_cross_entropy(logits, y, true, -0.1);",
        &["no-update", "p.rml:8:3", "write `logits, _ = diff_net(x, true, dlogits);`"],
    );
    silent("", &seeded("-0.1"));
}

#[test]
fn a_training_by_another_name_is_looked_at_when_it_is_trained() {
    let text = program("", "  loss = cross_entropy(net(x), y);").replace("node train", "node learn");
    let data = r#"{"x": [[1, 2, 3, 4], [4, 3, 2, 1]], "y": [0, 2]}"#;
    let folder = Folder::new().file("p.rml", &text).file("d.json", data);
    assert!(!folder.rml("check p.rml").err.contains("no-update"), "it may be an evaluation");
    let run = folder.rml("train p.rml --node learn --data d.json --epochs 1 --test 0");
    assert!(
        run.err.contains("warning[no-update]") && run.err.contains(", none of them updated"),
        "{}",
        run.err
    );
}

#[test]
fn the_sign_is_followed_from_the_constant_through_the_optimiser() {
    has("", &seeded("0.1"), &["warning[gradient-sign]", "p.rml:9:49", "write `-0.1`"]);
    has(ADAM, &seeded("1.0"), &["warning[gradient-sign]"]);
    has(SUBTRACTS, &seeded("-1.0"), &["warning[gradient-sign]", "subtracts the gradient that it gets"]);
    has(&ADAM.replace("adam(0.01", "adam(-0.01"), &seeded("-1.0"), &["a learning rate of -0.01 is negative"]);
    has("", &seeded("0.1").replace("true, d)", "true, d * 0.5)"), &["warning[gradient-sign]"]);
    has(
        "",
        "  loss, _ = diff_objective(x, y, true, 0.1);\nnode objective(x: num [batch, 4], y: int [batch]) -> (loss: num [])\n  loss = cross_entropy(net(x), y);",
        &["warning[gradient-sign]"],
    );
    silent("", &seeded("-0.1"));
    silent(ADAM, &seeded("-1.0"));
    silent(SUBTRACTS, &seeded("1.0"));
    silent("", &seeded("0.1").replace("true, d)", "true, -d)"));
    silent(
        "",
        "  logits = net(x);\n  loss, d = diff_cross_entropy(logits, y, true, 1.0);\n  unused, _ = diff_net(x, true, 0.1 * (logits - unused));",
    );
}

#[test]
fn a_rate_beyond_measure_is_told_where_it_decides() {
    has("", &seeded("-100.0"), &["warning[learning-rate]", "p.rml:9:49"]);
    has(&ADAM.replace("adam(0.01", "adam(50.0"), &seeded("-1.0"), &["warning[learning-rate]", "p.rml:4:12"]);
    silent(ADAM, &seeded("-100.0"));
    silent("", &seeded("-10.0"));
}

#[test]
fn the_gradient_of_an_input_that_updates_parameters_is_told() {
    let with = |node: &str| program("", &format!("{}\n{node}", seeded("-0.1")));
    let text =
        with("node saliency(x: num [batch, 4]) -> (dx)\n  _, dx = diff_net(x, true, ones([batch, 3]));");
    let run = Folder::new().file("p.rml", &text).rml("check p.rml");
    assert!(run.err.contains("warning[gradient-updates]") && run.err.contains("p.rml:11:3"), "{}", run.err);
    let text = with(
        "node distil(x: num [batch, 4], t: num [batch, 3]) -> (o, dx)\n  o, dx = diff_net(x, true, 0.1 * (t - o));",
    );
    let run = Folder::new().file("p.rml", &text).rml("check p.rml");
    assert!(!run.err.contains("gradient-updates"), "{}", run.err);
}

#[test]
fn no_program_of_the_project_is_warned_of() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let programs = ["examples", "examples/paper", "examples/service", "examples/embed", "std"];
    let mut paths: Vec<PathBuf> = programs
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).into_iter().flatten())
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "rml"))
        .collect();
    paths.sort();
    assert!(paths.len() > 40, "{}", paths.len());
    for path in paths {
        let run = Folder::new().rml(&format!("check {}", path.display()));
        let codes = [
            "no-update",
            "gradient-sign",
            "learning-rate",
            "gradient-updates",
            "loss-as-gradient",
            "no-metric",
            "undeclared-clock",
            "not-logits",
        ];
        for code in codes {
            assert!(!run.err.contains(code), "{}\n{}", path.display(), run.err);
        }
    }
}

/// A network over windows; the text after `end` is a parameter.
const WINDOWED: &str = "import std.losses;
node cell(x: num [batch, 2]) -> (h: num [batch, 2])
  h = tanh(x * param(zeros([2]) + 0.5) + (zeros([batch, 2]) fby h));
node head(h: num [batch.., 2]) -> (o: num [batch.., 3])
  o = matmul(h, param(zeros([2, 3])));
";

#[test]
fn a_label_without_its_clock_is_told_before_the_run() {
    let text = format!(
        "{WINDOWED}node net(x: num [batch, 2], end: bool []) -> (logits: num [batch, 3])
  h = cell(x) every end;
  logits = head(h when end);
node train(x: num [batch, 2], y: int [batch], end: bool []) -> (loss: num [])
  logits, _ = diff_net(x, end, true, d);
  loss, d = diff_cross_entropy(logits, y, true, -0.1);"
    );
    let data = r#"{"x": [[[1, 2], [3, 4]], [[4, 3], [2, 1]]], "y": [0, 2]}"#;
    let folder = Folder::new().file("p.rml", &text).file("d.json", data);
    let told = ["[undeclared-clock]", "p.rml:9:31", "declare `y: int [batch] when end`"];
    let check = folder.rml("check p.rml");
    assert!(check.code == Some(0) && told.iter().all(|t| check.err.contains(t)), "{}", check.err);
    let train = "train p.rml --data d.json --epochs 1 --test 0";
    folder.rml(train).fails(1, &told);
    let right = text.replace("y: int [batch],", "y: int [batch] when end,");
    let run = folder.file("p.rml", &right).rml(train);
    assert!(!run.err.contains("warning"), "{}", run.err);
    assert!(run.err.contains("once a batch"), "{}", run.err);
    run.ok();
}

#[test]
fn a_layer_that_does_not_sample_is_told_before_the_run() {
    let text = format!(
        "{WINDOWED}node net(x: num [batch, 2], end: bool []) -> (logits: num [batch, 3] when end)
  h = cell(x) every end;
  logits = head(h);
node train(x: num [batch, 2], y: int [batch] when end, end: bool []) -> (loss: num [] when end)
  logits, _ = diff_net(x, end, true, d);
  loss, d = diff_cross_entropy(logits, y, true, -0.1);"
    );
    let data = r#"{"x": [[[1, 2], [3, 4]], [[4, 3], [2, 1]]], "y": [0, 2]}"#;
    let folder = Folder::new().file("p.rml", &text).file("d.json", data);
    let told = ["error[undeclared-clock]", "p.rml:8:3", "(logits: num", "write `h when end` for `h`"];
    folder.rml("train p.rml --data d.json --epochs 1 --test 0").fails(1, &told);
}

#[test]
fn a_softmax_before_a_loss_of_logits_is_told() {
    let told = [
        "warning[not-logits]",
        "`cross_entropy` takes the softmax itself",
        "here the softmax is taken before",
    ];
    let call = "  p, _ = diff_soft(x, true, d);\n  loss, d = diff_cross_entropy(p, y, true, -0.1);";
    has("node soft(x: num [batch, 4]) -> (p: num [batch, 3])\n  p = softmax(net(x));", call, &told);
    has("", "  p = softmax(net(x));\n  loss = cross_entropy(p when true, y);", &told);
    let told = ["`cross_entropy` takes the softmax itself", "here the sigmoid is taken before"];
    has("", "  p = sigmoid(net(x));\n  loss = cross_entropy(p, y);", &told);
    silent("", &(seeded("-0.1") + "\n  p = softmax(logits);\n  rate = accuracy(p, y);"));
}

#[test]
fn layers_outside_the_window_are_told_with_how_often_they_are_updated() {
    let text = format!(
        "{WINDOWED}node net(x: num [batch, 2], end: bool []) -> (o: num [batch, 3])
  o = head(cell(x) every end);
node train(x: num [batch, 2], y: int [batch], end: bool []) -> (loss: num [])
  logits, _ = diff_net(x, end, true, d);
  loss, d = diff_cross_entropy(logits, y, true, -0.1);"
    );
    let data = r#"{"x": [[[1, 2], [3, 4]], [[4, 3], [2, 1]]], "y": [[0, 2], [1, 0]]}"#;
    let folder = Folder::new().file("p.rml", &text).file("d.json", data);
    let run = folder.rml("train p.rml --data d.json --epochs 1 --test 0");
    let told = [
        "warning[uneven-updates]",
        "in each cycle: `net_0.head_0",
        "once a window: `net_0.cell_0",
        "updated: 6 in each cycle, 2 once a batch",
    ];
    assert!(told.iter().all(|t| run.err.contains(t)), "{}", run.err);
}

#[test]
fn a_state_that_restarts_in_the_training_alone_is_told() {
    let text = "node net(x: num []) -> (o: num [])
  o = param(0.5) * (x + before);
  before = 0.0 fby x;
node train(x: num [], end: bool [], y: num []) -> (loss)
  o, _ = diff_net(x, true, 0.1 * (y - o)) every end;
  loss = (y - o) * (y - o);
node infer(x: num [], y: num []) -> (loss)
  o = net(x);
  loss = (y - o) * (y - o);";
    let data = r#"{"x": [[0.5, 1.0], [0.2, 0.8], [0.1, 0.3]], "y": [[1.0, 2.0], [0.4, 1.6], [0.2, 0.6]]}"#;
    let train = "train p.rml --data d.json --epochs 1 --test 1";
    let run = Folder::new().file("p.rml", text).file("d.json", data).rml(train);
    let told = ["warning[shuffled-state]", "p.rml:3:3", "node infer carries the state `net_0.before`"];
    assert!(told.iter().all(|t| run.err.contains(t)), "{}", run.err);
    let right = text.replace("infer(x: num [], y", "infer(x: num [], end: bool [], y");
    let right = right.replace("o = net(x);", "o = net(x) every end;");
    let run = Folder::new().file("p.rml", &right).file("d.json", data).rml(train);
    assert!(!run.err.contains("warning"), "{}", run.err);
}

#[test]
fn states_that_go_on_while_rows_are_shuffled_are_told_and_what_inference_begins_with() {
    let text = "node net(x: num []) -> (o: num [])
  o = param(0.5) * (x + before);
  before = 0.0 fby x;
node train(x: num [], y: num []) -> (loss)
  o, _ = diff_net(x, true, 0.1 * (y - o));
  loss = (y - o) * (y - o);
node infer(x: num [], y: num []) -> (loss)
  o = net(x);
  loss = (y - o) * (y - o);";
    let data = r#"{"x": [0.5, 1.0, 0.2, 0.8], "y": [1.0, 2.0, 0.4, 1.6]}"#;
    let folder = Folder::new().file("p.rml", text).file("d.json", data);
    let train = "train p.rml --data d.json --epochs 1 --save s";
    let run = folder.rml(&format!("{train} --test 1"));
    assert!(run.err.contains("warning[shuffled-state]") && run.err.contains("p.rml:3:3"), "{}", run.err);
    let run = folder.rml(&format!("{train} --no-shuffle --test last:1"));
    assert!(!run.err.contains("warning"), "{}", run.err);
    let infer = folder.rml("infer p.rml --params s --data d.json");
    assert!(
        infer.err.contains("begins with the states at the end of training: `net_0.before`"),
        "{}",
        infer.err
    );
    let fresh = folder.rml("infer p.rml --params s --data d.json --fresh");
    assert!(!fresh.err.contains("begins with"), "{}", fresh.err);
    // A correct program: `part` restarts each time, and the states that continue, of an optimiser and a counter, do not
    // depend on data.
    let right = text
        .replace("net(x: num [])", "part(x: num [])")
        .replace("node train", "node net(x: num []) -> (o: num [])\n  o = part(x) every true;\nnode train");
    let run = folder.file("p.rml", &right).rml(&format!("{train} --test 1"));
    assert!(!run.err.contains("shuffled-state"), "{}", run.err);
}

/// A classifier, and the output of `rml check` about its training.
fn of_classes(equations: &str) -> String {
    let text = format!(
        "import std.layers;
import std.losses;
node net(x: num [batch, 2]) -> (logits: num [batch, 3])
  logits = dense(3, relu(dense(8, x)));
node pred(x: num [batch, 2]) -> (c: num [batch])
  c = to_num(argmax(net(x), -1));
node probabilities(x: num [batch, 2]) -> (p: num [batch, 3])
  p = reshape([batch, 3], softmax(net(x)));
node train(x: num [batch, 2], y: int [batch]) -> (loss: num [], acc: num [])
{equations}
"
    );
    Folder::new().file("p.rml", text).rml("check p.rml").err
}

#[test]
fn no_gradient_passes_through_the_choice_of_a_class() {
    let own = of_classes(
        "  c, _ = diff_pred(x, true, dc);
  loss, dc, _ = diff_mse(c, to_num(y), true, -0.1);
  acc = accuracy(net(x), y);",
    );
    for word in
        ["[no-update]", "p.rml:10:3", "`diff_pred` propagates no gradient", "`argmax` has no gradient"]
    {
        assert!(own.contains(word), "`{word}` is not in\n{own}");
    }
    let library = of_classes(
        "  logits, _ = diff_net(x, true, d);
  acc, d = diff_accuracy(logits, y, true, 0.1);
  loss = 1.0 - acc;",
    );
    for word in [
        "[no-update]",
        "p.rml:11:3",
        "`diff_accuracy` propagates no gradient",
        "`cross_entropy(logits, label)`",
    ] {
        assert!(library.contains(word), "`{word}` is not in\n{library}");
    }
}

#[test]
fn a_second_call_of_a_network_is_another_network() {
    let train = |acc: &str| {
        of_classes(&format!(
            "  logits, _ = diff_net(x, true, d);
  loss, d = diff_cross_entropy(logits, y, true, -0.1);
  acc = {acc};"
        ))
    };
    let told = train("accuracy(net(x), y)");
    for word in ["[no-update]", "p.rml:12:", "use `logits`", "`share n = net;`"] {
        assert!(told.contains(word), "`{word}` is not in\n{told}");
    }
    for right in ["accuracy(logits, y)", "accuracy(stop_gradient(net(x)), y)"] {
        assert_eq!(train(right), "", "{right}");
    }
}

#[test]
fn probabilities_in_another_shape_are_no_logits() {
    let told = of_classes(
        "  p, _ = diff_probabilities(x, true, d);
  loss, d = diff_cross_entropy(p, y, true, -0.1);
  acc = accuracy(p, y);",
    );
    for word in ["[not-logits]", "gets the softmax of them"] {
        assert!(told.contains(word), "`{word}` is not in\n{told}");
    }
}

#[test]
fn a_label_is_not_computed_from_what_it_is_compared_with() {
    let text = program("", &seeded("-0.1").replace("(logits, y,", "(logits, argmax(logits, -1),"));
    let words = ["p.rml:9:3", "nothing reads the input `y`"];
    warned(
        "own-label",
        &text,
        &words,
        &[("argmax(logits, -1)", "y"), ("argmax(logits", "y + argmax(logits")],
    );
}

const FORECAST: &str = "import std.losses;
import std.time (last);
node forecast(x: num []) -> (guess: num [])
  k = param(zeros([4]));
  guess = sum(k * last(4, x));
node train(x: num []) -> (loss: num [])
  guess, _ = diff_forecast(x, true, d);
  loss, d, _ = diff_mse(guess, x, true, -0.1);
";

#[test]
fn a_forecast_does_not_know_what_it_forecasts() {
    let right = [
        ("diff_forecast(x,", "diff_forecast(x fby x,"),
        ("guess, x,", "guess, stop_gradient(x),"),
        ("last(4, x)", "x * ones([4])"),
        ("last(4, x)", "last(4, x fby x)"),
    ];
    warned("target-is-input", FORECAST, &["p.rml:8:3", "`x fby x`, in place of `x`"], &right);
}

const DROPS: &str = "import std.layers;
import std.losses;
node net(x: num [batch, 4]) -> (o: num [batch, 3])
  o = dense(3, dropout(0.5, x, true));
node train(x: num [batch, 4], y: int [batch]) -> (loss: num [])
  o, _ = diff_net(x, true, do);
  loss, do = diff_cross_entropy(o, y, true, -0.1);
node infer(x: num [batch, 4]) -> (o: num [batch, 3])
  o = net(x);
";

#[test]
fn dropout_is_for_training() {
    let right = [
        ("x, true));", "x, false));"),
        ("node infer(x: num [batch, 4]) -> (o: num [batch, 3])\n  o = net(x);\n", ""),
    ];
    warned(
        "active-dropout",
        DROPS,
        &["p.rml:4:16", "`infer`, which trains nothing", "`training: bool []`"],
        &right,
    );
}

#[test]
fn dropout_of_everything_gives_zeros() {
    let text = "import std.layers;\nnode f(x: num [3]) -> (y)\n  y = dropout(1.0, x, true);\n";
    let run = Folder::new()
        .file("p.rml", text)
        .file("d.json", "{\"x\": [[1, 2, 3]]}")
        .rml("run p.rml --inputs d.json");
    assert_eq!(run.json()["values"]["y"], serde_json::json!([[0.0, 0.0, 0.0]]));
}

#[test]
fn a_constant_is_not_delayed() {
    let text = "node main(x: num [2], c: bool []) -> (d, e)\n  d = x fby zeros([2]);\n  e = true fby c;\n";
    let words = ["p.rml:2:7", "`zeros([2]) fby x`"];
    warned(
        "constant-delay",
        text,
        &words,
        &[("x fby zeros([2])", "zeros([2]) fby x"), ("x fby zeros([2])", "x fby 2.0 * x")],
    );
}

#[test]
fn a_first_value_is_not_a_sum_by_accident() {
    let right = [("c or false fby all", "c or (false fby all)")];
    let text = "node main(c: bool []) -> (all)\n  all = c or false fby all;\n";
    warned("fby-operand", text, &["p.rml:2:9", "`c or (false fby all)`"], &right);
    warned(
        "fby-operand",
        "node main(x: num []) -> (total)\n  total = x + 0.0 fby total;\n",
        &["p.rml:2:11", "`x + (0.0 fby total)`", "`x` is read in the first cycle only"],
        &[("x + 0.0 fby total", "x + (0.0 fby total)"), ("x + 0.0 fby total", "x + x fby total")],
    );
}

const SEQUENCE: &str = "import std.layers;
import std.losses;
node classify(x: num [batch, 1], end: bool []) -> (logits: num [batch, 2] when end)
  h = lstm(8, x) every end;
  logits = dense(2, h when end);
node train(x: num [batch, 1], end: bool [], y: int [batch] when end) -> (loss: num [] when end)
  logits, _ = diff_classify(x, end, true, dlogits);
  loss, dlogits = diff_cross_entropy(logits, y, true, -1.0);
";

#[test]
fn an_output_of_a_window_is_sampled() {
    let text = SEQUENCE.replace("h when end", "h");
    let words =
        ["p.rml:5:3", "declared `when end`, but computed in every cycle", "write `h when end` for `h`"];
    warned("undeclared-clock", &text, &words, &[("dense(2, h)", "dense(2, h when end)")]);
    let label = SEQUENCE.replace("y: int [batch] when end", "y: int [batch]");
    let told = checked(&label);
    assert!(
        told.contains("Help 1: if it comes where `end` is true, declare `y: int [batch] when end`"),
        "{told}"
    );
}

#[test]
fn a_layer_is_restarted_in_each_window() {
    let text = SEQUENCE.replace(" every end", "");
    let fix = "in line 4, write `h = lstm(8, x) every end;`";
    warned("update-causality", &text, &["p.rml:4:3", fix], &[("lstm(8, x)", "lstm(8, x) every end")]);
    let data = r#"{"x": [[[0.5], [1.0]], [[0.1], [0.4]]], "y": [1, 0]}"#;
    let folder = Folder::new().file("p.rml", &text).file("d.json", data);
    let told = folder.rml("train p.rml --data d.json --epochs 1").err;
    assert!(told.contains("[window-incomplete]") && told.contains(fix), "{told}");
}

const LAYERS: &str = "import std.layers;
import std.losses;
node net(x: num [batch, 4]) -> (o: num [batch, 3])
  h = dense(16, x);
  o = dense(3, h);
node train(x: num [batch, 4], y: int [batch]) -> (loss: num [])
  o, _ = diff_net(x, true, do);
  loss, do = diff_cross_entropy(o, y, true, -0.1);
";

#[test]
fn layers_are_not_all_linear() {
    let right = [("dense(3, h)", "dense(3, tanh(h))"), ("dense(16, x)", "dense(2, x)")];
    warned("linear-layers", LAYERS, &["p.rml:5:3", "write `relu(h)` for `h` here"], &right);
}
