//! First mistakes in training programs, each reported in the user's own line with the fix.

mod support;

use support::Folder;

const NETS: &str = "import std.losses;
node net(x: num [2]) -> (o: num [2])
  w = param(zeros([2, 2]) + 0.1);
  o = matmul(x, w);
node net2(x: num [2]) -> (p: num [2])
  w = param(zeros([2, 2]) + 0.1);
  p = matmul(x, w);
node train(x: num [2], y: num [2]) -> (loss)
";

/// Checks that the output of `rml check` about a training of these nets contains all words.
fn told(equations: &str, words: &[&str]) {
    let run = Folder::new().file("p.rml", format!("{NETS}{equations}")).rml("check p.rml");
    for word in words {
        assert!(run.err.contains(word), "`{word}` is not in\n{}", run.err);
    }
    assert_eq!(run.err.matches(words[0]).count(), 1, "{}", run.err);
}

/// Checks that a program gets no warning.
fn quiet(name: &str, text: &str) {
    let run = Folder::new().file("p.rml", text).rml("check p.rml");
    assert_eq!((run.code, &*run.err), (Some(0), ""), "{name}\n{text}");
}

#[test]
fn a_loss_is_no_gradient() {
    let loss = "  o, _ = diff_net(x, true, -0.1 * loss * ones([2]));\n  loss = mse(o, y);";
    told(
        loss,
        &[
            "[loss-as-gradient]",
            "p.rml:9:3",
            "write `loss, do, _ = diff_mse(o, y, true, -0.1);`",
            "pass `do`",
        ],
    );
    let own = "  o, _ = diff_net(x, true, loss * ones([2]));\n  loss = mean((o - y) * (o - y));";
    told(own, &["[loss-as-gradient]", "p.rml:9:3", "`diff_cost(.., true, -0.1)` gives `do`"]);
}

#[test]
fn a_size_is_no_initial_value() {
    let net = |init: &str| format!("node n(x: num [4]) -> (o)\n  o = sum(param({init}) * x);\n");
    let told = Folder::new().file("p.rml", net("4")).rml("check p.rml").err;
    for word in ["[scalar-parameter]", "p.rml:2:11", "`param(zeros([4]))`", "`param(4.0)`"] {
        assert!(told.contains(word), "`{word}` is not in\n{told}");
    }
    for init in ["zeros([4])", "4.0", "0", "1"] {
        quiet(init, &net(init));
    }
}

/// A training on stacked windows, with an error computed in this way.
fn stacked(error: &str) -> String {
    format!(
        "import std.layers;
node net(x: num [batch, 3]) -> (o)
  o = dense(1, x);
node train(x: num [batch, 3], y: num [batch]) -> (loss)
  o, _ = diff_net(x, true, do);
  e = {error};
  do = -0.1 * sum_to([batch, 1], e);
  loss = mean(e * e);
"
    )
}

#[test]
fn a_window_is_not_compared_with_all_others() {
    let data: Vec<String> = (0..8).map(|i| format!("{{\"x\": [{i}.0, 1.0, 0.5], \"y\": {i}.5}}")).collect();
    let folder = Folder::new().file("p.rml", stacked("o - y")).file("d.jsonl", data.join("\n"));
    for command in
        ["check p.rml", "check p.rml --node train", "train p.rml --data d.jsonl --batch 4 --epochs 1"]
    {
        let told = folder.rml(command).err;
        for word in [
            "[batch-twice]",
            "p.rml:6:7",
            "[batch, 1] and [batch] give [batch, batch]",
            "`expand_dims(y, 1)`",
        ] {
            assert!(told.contains(word), "{command}: `{word}` is not in\n{told}");
        }
        assert_eq!(told.matches("[batch-twice]").count(), 1, "{told}");
    }
    for right in ["o[:, 0] - y", "o - expand_dims(y, 1)", "o - expand_dims(y, 0)"] {
        let told = Folder::new().file("p.rml", stacked(right)).rml("check p.rml").err;
        assert!(!told.contains("batch-twice"), "{right}: {told}");
    }
}

/// The warnings `batch-twice` about a node with these inputs and this result.
fn paired(inputs: &str, result: &str) -> (usize, String) {
    let text = format!("import std.layers;\nnode main({inputs}) -> (o)\n  o = {result};\n");
    let told = Folder::new().file("p.rml", text).rml("check p.rml").err;
    assert!(!told.contains("error["), "{inputs}, {result}: {told}");
    (told.matches("[batch-twice]").count(), told)
}

#[test]
fn an_element_along_any_dimension_is_not_combined_with_all_others() {
    let (count, told) = paired("x: num [n, 3], y: num [n]", "dense(1, x) - y");
    assert_eq!(count, 1, "{told}");
    for word in ["along `n`", "[n, 1] and [n] give [n, n]", "`expand_dims(y, 1)`", "`expand_dims(y, 0)`"] {
        assert!(told.contains(word), "`{word}` is not in\n{told}");
    }
    for (inputs, result) in [
        ("x: num [steps, 1], y: num [steps]", "mean(x - y)"),
        ("x: num [batch, 3], y: num [batch], z: num [n]", "sum(dense(1, x) - y) + sum(z)"),
        ("x: num [m, n, 1], y: num [n]", "x * y"),
    ] {
        let (count, told) = paired(inputs, result);
        assert_eq!(count, 1, "{inputs}, {result}: {told}");
    }
    for (inputs, result) in [
        ("x: num [n]", "expand_dims(x, 1) * expand_dims(x, 0)"),
        ("x: num [n]", "expand_dims(x, 1) - x"),
        ("x: num [n], y: num [n]", "x * expand_dims(y, 1)"),
        ("x: num [n], y: num [n]", "reshape([n, 1], x) + y"),
        ("x: num [n], w: num [m]", "expand_dims(x, 1) * w"),
        ("x: num [n, 1], w: num [m]", "x * w"),
        ("x: num [n, 3], y: num [n]", "dense(1, x)[:, 0] - y"),
        ("x: num [n, 3], y: num [n]", "dense(1, x) - expand_dims(y, 1)"),
        ("x: num [n, n], y: num [n]", "x - y"),
        ("x: num [n, d], y: num [d]", "x - y"),
        ("x: num [n, d]", "matmul(x, transpose(x))"),
        ("x: num [n, 1], y: num [1, n]", "x - y"),
        ("x: num [n, 3]", "x - mean(x, 0)"),
        ("x: num [n, n]", "x * expand_dims(sum(x, 1), 1)"),
        ("x: num [211, 1], y: num [211], z: num [n]", "sum(x - y) + sum(z)"),
    ] {
        let (count, told) = paired(inputs, result);
        assert_eq!(count, 0, "{inputs}, {result}: {told}");
    }
}

#[test]
fn a_training_with_an_open_dimension_is_looked_at() {
    let text = |d: &str, rate: &str| {
        format!(
            "import std.layers;\nimport std.losses;
node net(x: num [n]) -> (o: num [1])\n  o = dense(1, {d});
node train(x: num [n], y: num [1]) -> (loss: num [])
  o, _ = diff_net(x, true, do);\n  loss, do, _ = diff_mse(o, y, true, {rate});\n"
        )
    };
    let check = |text: &str| Folder::new().file("p.rml", text).rml("check p.rml").err;
    let told = check(&text("x", "0.1"));
    assert_eq!(told.matches("[gradient-sign]").count(), 1, "{told}");
    let told = check(&text("dense(n, x)", "-0.1"));
    assert_eq!(told.matches("[linear-layers]").count(), 1, "{told}");
    // Whether a layer is narrow, or a rate is large, depends on values that are not given here.
    let bottleneck = |outer: &str| {
        format!(
            "import std.layers;\nnode main(x: num [n], a: num [k]) -> (o, p)\n  o = dense({outer}, dense(k, x));\n  p = sum(a);\n"
        )
    };
    for right in [
        text("x", "-0.1"),
        bottleneck("n"),
        bottleneck("m").replace("(x:", "(y: num [m], x:"),
        text("x", "-rate").replace("train(x", "train(rate, x"),
        text("relu(dense(n, x))", "-0.1"),
    ] {
        let told = check(&right);
        assert!(!told.contains("warning["), "{right}\n{told}");
    }
}

#[test]
fn a_window_has_more_than_one_cycle() {
    let text = |end: &str, equation: &str| {
        format!(
            "import std.layers;
import std.losses;
node net(x: num [2], end: bool []) -> (o)
  h = lstm(4, x) every end;
  o = dense(1, h);
node train(x: num [2], y: num []{end}) -> (loss)
  {equation}o, _ = diff_net(x, end, true, [0.1 * (y - o[0])]);
  loss = mse(o[0], y);
"
        )
    };
    let data =
        r#"{"x": [[[0.5, 1.0], [0.2, 0.8]], [[0.1, 0.4], [0.3, 0.2]]], "y": [[1.0, 2.0], [0.4, 0.1]]}"#;
    let train = |text: String| {
        let folder = Folder::new().file("p.rml", text).file("d.json", data);
        folder.rml("train p.rml --data d.json --epochs 1").err
    };
    let told = train(text("", "end = true;\n  "));
    for word in ["[unused-state]", "`end` ends a window in each cycle", "p.rml:3:22", "`end: bool []`"] {
        assert!(told.contains(word), "`{word}` is not in\n{told}");
    }
    assert!(!train(text(", end: bool []", "")).contains("unused-state"));
}

/// A parameter keeps its value from window to window, however short they are.
#[test]
fn a_parameter_is_no_unused_state() {
    let net = "node line(x) -> (o)\n  k = param(0.0);\n  o = k * x;
node train(x: num [], y: num [], end: bool []) -> (loss)
  o, _ = diff_line(x, true, 0.05 * (y - o)) every end;\n  loss = (o - y) * (o - y);";
    let folder = Folder::new().file("p.rml", net).file("d.csv", "x,y\n1,2\n2,4\n3,6\n4,8\n");
    let told = folder.rml("train p.rml --data d.csv --epochs 1 --test 0").err;
    assert!(told.contains("updated once a batch") && !told.contains("unused-state"), "{told}");
    let dense = "import std.layers;\nnode net(x: num [batch, 2]) -> (o: num [batch, 1])  o = dense(1, tanh(dense(3, x)));
node train(x: num [batch, 2], y: num [batch, 1], end: bool []) -> (loss)
  o, _ = diff_net(x, true, 0.05 * (y - o)) every end;\n  loss = mean((o - y) * (o - y));";
    let rows = r#"{"x": [[1, 2], [2, 3], [3, 4]], "y": [[1], [2], [3]]}"#;
    let folder = Folder::new().file("p.rml", dense).file("d.json", rows);
    let told = folder.rml("train p.rml --data d.json --epochs 1 --test 0").err;
    assert!(told.contains("13 parameters") && !told.contains("unused-state"), "{told}");
}

#[test]
fn a_label_of_a_window_is_not_learned_from_each_cycle() {
    let data = r#"{"x": [[[0.5, 1.0], [0.2, 0.8]], [[0.1, 0.4], [0.3, 0.2]]], "y": [true, false]}"#;
    let train = |text: &str, data: &str| {
        let folder = Folder::new().file("p.rml", text).file("d.json", data);
        folder.rml("train p.rml --data d.json --epochs 1").err
    };
    let alone = "node net(x: num [2]) -> (o: num [])
  k = param(0.5);
  o = k * sum(x);
node train(x: num [2], y: bool []) -> (loss)
  o, _ = diff_net(x, true, 0.1 * (to_num(y) - o));
  loss = (to_num(y) - o) * (to_num(y) - o);
";
    let told = train(alone, data);
    for word in ["[repeated-value]", "`y` has one value a window", "up to 2 cycles", "`y: bool .. when end`"]
    {
        assert!(told.contains(word), "`{word}` is not in\n{told}");
    }
    let each =
        r#"{"x": [[[0.5, 1.0], [0.2, 0.8]], [[0.1, 0.4], [0.3, 0.2]]], "y": [[true, false], [false, true]]}"#;
    assert!(!train(alone, each).contains("repeated-value"));
    let feature = alone.replace("y: bool", "y: num").replace("to_num(y)", "y");
    let numbers = data.replace("true", "1.0").replace("false", "0.5");
    assert!(!train(&feature, &numbers).contains("repeated-value"));
    let state = alone.replace("k * sum(x)", "k * sum(x) + (0.0 fby o)");
    assert!(!train(&state, data).contains("repeated-value"));
}

#[test]
fn an_optimiser_is_found_by_its_name() {
    let train = "  o, do_ = diff_net(x, true, do);\n  loss, do, _ = diff_mse(o, y, true, -0.1);";
    let train = train.replace("do_", "_");
    let node = |name: &str, next: &str| {
        format!(
            "{train}\nnode {name}(init, bp, do) -> (w)\n  w = init fby w1;\n  w1 = {next} + merge bp do 0.0;"
        )
    };
    told(&node("diff_params", "w"), &["[unused-optimiser]", "p.rml:11:6", "rename it to `diff_param`"]);
    for name in ["optimizer", "sgd"] {
        told(&node(name, "w"), &["[unused-optimiser]", "p.rml:11:6", "rename it to `diff_param`"]);
    }
    told(
        &node("diff_param", "init"),
        &["[no-update]", "does not depend on `w`", "w1 = w + merge bp (0.1 * do) 0.0;"],
    );
}

#[test]
fn a_gradient_by_hand_has_a_sign() {
    let by_hand = |d: &str| format!("  o, _ = diff_net(x, true, {d});\n  loss = mse(o, y);");
    for wrong in ["0.1 * (o - y)", "(o - y) / 8.0", "0.1 * (sigmoid(o) - y)", "-(y - o)"] {
        told(&by_hand(wrong), &["[gradient-sign]", "p.rml:9:28", "grows with `o`", "turn the sign round"]);
    }
    for right in ["0.1 * (y - o)", "0.1 * (y - softmax(o))", "0.1 * (o - y) * (o - y)", "(o - y) * -0.1"] {
        quiet(right, &format!("{NETS}{}", by_hand(right)));
    }
    let subtracts = "\nnode diff_param(init, bp, do) -> (w)\n  w = init fby (w - merge bp do 0.0);";
    quiet("an optimiser that subtracts", &format!("{NETS}{}{subtracts}", by_hand("0.1 * (o - y)")));
    told(&(by_hand("0.1 * (y - o)") + subtracts), &["[gradient-sign]", "falls with `o`"]);
}

#[test]
fn a_second_net_without_a_gradient_is_told() {
    let beside =
        "  o, _ = diff_net(x, true, do);\n  p = net2(x);\n  loss, do, _ = diff_mse(o + p, y, true, -0.1);";
    told(
        beside,
        &["[no-update]", "p.rml:10:3", "write `p, _ = diff_net2(x, true, dp);`", "stop_gradient(p)"],
    );
    let before =
        "  h = net2(x);\n  o, _ = diff_net(h, true, do);\n  loss, do, _ = diff_mse(o, y, true, -0.1);";
    told(before, &["[no-update]", "p.rml:9:3", "write `h, _ = diff_net2(x, true, dh);`", "stop_gradient(h)"]);
    let own =
        "  k = param(2.0);\n  o, _ = diff_net(k * x, true, do);\n  loss, do, _ = diff_mse(o, y, true, -0.1);";
    told(own, &["[no-update]", "p.rml:9:3", "the parameter `k` is not trained"]);
    quiet(
        "frozen on purpose",
        &format!("{NETS}{}", before.replace("diff_net(h", "diff_net(stop_gradient(h)")),
    );
    let teacher = "  o, _ = diff_net(x, true, do);\n  loss, do, _ = diff_mse(o, net2(x) + y, true, -0.1);";
    quiet("a teacher", &format!("{NETS}{teacher}"));
}

#[test]
fn a_rate_of_zero_and_a_training_of_nothing_are_told() {
    let still = "  o, _ = diff_net(x, true, do);\n  loss, do, _ = diff_mse(o, y, true, 0.0);";
    told(still, &["[learning-rate]", "p.rml:10:38", "a learning rate of 0"]);
    let nothing = "  o, _ = diff_scale(x, true, do);\n  loss, do, _ = diff_mse(o, y, true, -0.1);\n\
                   node scale(x: num [2]) -> (o)\n  o = 2.0 * x;";
    told(nothing, &["`train` has no parameter", "[no-update]", "p.rml:9:3", "no `param` is in `scale`"]);
}

#[test]
fn a_training_that_reports_nothing_is_told() {
    let vector = "  o, _ = diff_net(x, true, 0.1 * (y - o));\n  loss = (o - y) * (o - y);";
    told(vector, &["[no-metric]", "p.rml:10:3", "`mean(loss)`"]);
    let inner = "  e, do, _ = diff_mse(o, y, true, -0.1);\n  o, _ = diff_net(x, true, do);\n  loss = o;";
    told(inner, &["[no-metric]", "p.rml:11:3"]);
}

#[test]
fn the_gradient_of_an_input_by_an_expression_is_told() {
    let sensitivity = |d: &str, left: &str| {
        format!(
            "  o, _ = diff_net(x, true, do);\n  loss, do, _ = diff_mse(o, y, true, -0.1);\n\
             node seen(x: num [2], k: num []) -> (dx)\n  {left}, dx = diff_net2(x, true, {d});"
        )
    };
    let updates = ["[gradient-updates]", "p.rml:12:3", "call `grad_net2` in its place"];
    told(&sensitivity("k * ones([2]) + 1.0", "_"), &updates);
    told(&sensitivity("0.5 * p", "p"), &updates);
    quiet(
        "an input is the gradient",
        &format!("{NETS}{}", sensitivity("k", "_").replace("k: num []", "k: num [2]")),
    );
}

#[test]
fn a_name_near_an_adjoint_is_told() {
    let with =
        |loss: &str| format!("  o, _ = diff_net(x, true, do);\n  loss, do, _ = {loss}(o, y, true, -0.1);");
    told(&with("mse"), &["[arity]", "p.rml:10:17", "did you mean `diff_mse`?"]);
    told(&with("dif_mse"), &["[unknown-name]", "there is `diff_mse`"]);
    told(&with("diffmse"), &["[unknown-name]", "there is `diff_mse`"]);
}

#[test]
fn an_optimiser_that_is_not_imported_is_told() {
    let own = "node diff_param(init, bp, do) -> (o)\n  o = init fby (o + 0.1 * merge bp do 0.0);\n\
               node twice(x: num [2]) -> (y)\n  y = 2.0 * x;\n";
    let text = format!(
        "import \"own.rml\" (twice);\n{NETS}  o, _ = diff_net(x, true, do);\n  loss, do, _ = diff_mse(twice(o), y, true, -0.1);"
    );
    let folder = Folder::new().file("own.rml", own).file("p.rml", &text);
    let told = folder.rml("check p.rml").err;
    for word in [
        "is not imported under this name, and updates nothing here",
        "[ p.rml:4:7 ]",
        "add `diff_param` to the names",
    ] {
        assert!(told.contains(word), "{told}");
    }
    let imported = text.replace("(twice)", "(twice, diff_param)");
    let told = folder.file("p.rml", imported).rml("check p.rml").err;
    assert!(!told.contains("updates nothing here"), "{told}");
}

#[test]
fn an_evaluation_with_other_parameters_is_told_before_training() {
    let text = format!(
        "{NETS}  o, _ = diff_net(x, true, do);\n  loss, do, _ = diff_mse(o, y, true, -0.1);\n\
         node infer(x: num [2], y: num [2]) -> (o, loss)\n  o = net(x);\n  loss = mse(net(x), y);"
    );
    let data = r#"{"x": [[1, 2], [3, 4], [2, 1]], "y": [[1, 2], [3, 4], [1, 1]]}"#;
    let folder = Folder::new().file("p.rml", &text).file("d.json", data);
    let run =
        folder.rml("train p.rml --data d.json --epochs 1 --test 1").fails(1, &["[checkpoint-mismatch]"]);
    for word in ["p.rml:13:", "`net_1.w`", "use the result of the first one twice"] {
        assert!(run.err.contains(word), "{}", run.err);
    }
    assert!(!run.err.contains("epoch "), "before any epoch\n{}", run.err);
    let other =
        text.replace("  o = net(x);\n  loss = mse(net(x), y);", "  o = net2(x);\n  loss = mse(o, y);");
    let folder = folder.file("p.rml", &other);
    let run =
        folder.rml("train p.rml --data d.json --epochs 1 --test 1").fails(1, &["p.rml:12:3", "`net2_0.w`"]);
    assert!(run.err.contains("`train` has `net_0.w`"), "{}", run.err);
    let right = text.replace("mse(net(x), y)", "mse(o, y)");
    folder.file("p.rml", &right).rml("train p.rml --data d.json --epochs 1 --test 1").ok();
}

#[test]
fn a_state_in_the_library_is_told_in_the_line_that_calls_it() {
    let text = "import std.layers;\nimport std.losses;
node net(x: num [batch, 2]) -> (o: num [batch, 1])
  h = lstm(4, x);
  o = dense(1, stop_gradient(h));
node train(x: num [batch, 2], y: num [batch, 1]) -> (loss: num [])
  o, _ = diff_net(x, true, do);
  loss, do, _ = diff_mse(o, y, true, -0.1);";
    let data = r#"{"x": [[1, 2], [3, 4], [2, 1]], "y": [[1], [3], [1]]}"#;
    let folder = Folder::new().file("p.rml", text).file("d.json", data);
    let run = folder.rml("train p.rml --data d.json --epochs 1 --test 0 --batch 2");
    let lines: Vec<&str> = run.err.lines().collect();
    for code in ["[shuffled-state]", "[batch-state]"] {
        let at = lines.iter().position(|line| line.contains(code)).unwrap_or_else(|| panic!("{}", run.err));
        assert!(lines[at + 1].contains("p.rml:4:3"), "{}", run.err);
    }
}

#[test]
fn conditions_of_adjoints_that_differ_are_told() {
    let off = "  o, _ = diff_net(x, true, do);\n  loss, do, _ = diff_mse(o, y, false, -0.1);";
    let text = format!("{NETS}{off}");
    let run = Folder::new().file("p.rml", text).rml("check p.rml").fails(1, &["[clock-mismatch]"]);
    assert!(run.err.contains("`diff_mse` takes no gradient, since its condition is `false`"), "{}", run.err);
    assert!(run.err.contains("write `true` in place of `false`"), "{}", run.err);
}

/// A layer in each cycle before a recurrent one that runs window by window.
const CHAIN: &str = "import std.layers;
import std.losses;
node emb(x: num [batch, 3]) -> (o)
  o = tanh(dense(5, x));
node rec(x: num [batch, 5], end: bool []) -> (o: num [batch, 2] when end)
  h = gru(4, x) every end;
  o = dense(2, h when end);
node train(x: num [batch, 3], end: bool [], y: int [batch] when end) -> (loss)
";

#[test]
fn the_condition_of_a_gradient_from_another_adjoint_is_told() {
    let text = format!(
        "{CHAIN}  e, _ = diff_emb(x, true, de);
  o, de = diff_rec(e, end, true, d);
  loss, d = diff_cross_entropy(o, y, true, -1.0);"
    );
    let run = Folder::new().file("p.rml", text).rml("check p.rml");
    let form =
        "name their condition, too, as in `o, bpx, dx = diff_rec(..)`, and pass `bpx` in place of `true`";
    let windows = "in line 9, write `e, _ = diff_emb(x, true, de) every end;`";
    assert!(run.err.contains(form) && run.err.contains(windows), "{}", run.err);
    let both = format!(
        "{CHAIN}  e, _ = diff_emb(x, bpe, de) every end;
  o, bpe, de = diff_rec(e, end, true, d);
  loss, d = diff_cross_entropy(o, y, true, -1.0);"
    );
    quiet("what the two messages say", &both);
}

#[test]
fn the_call_that_is_to_run_by_windows_is_told() {
    let text = |every: &str| {
        format!(
            "import std.layers;\nimport std.losses;
node net(x: num [batch, 3]) -> (o)
  o = dense(2, gru(4, relu(dense(5, x))));
node train(x: num [batch, 3], y: int [batch], end: bool []) -> (loss)
  o, _ = diff_net(x, true, d){every};
  loss, d = diff_cross_entropy(o, y, true, -1.0);"
        )
    };
    let run = Folder::new().file("p.rml", text("")).rml("check p.rml").fails(1, &["[update-causality]"]);
    assert!(run.err.contains("in line 6, write `o, _ = diff_net(x, true, d) every end;`"), "{}", run.err);
    quiet("what the message says", &text(" every end"));
}

#[test]
fn numbers_that_are_large_for_a_layer_are_told() {
    let program = |x: &str| {
        format!(
            "import std.layers;
node net(x: num []) -> (o: num [])
  o = dense(1, tanh(dense(4, [{x}])))[0];
node train(x: num [], y: num []) -> (loss)
  o, _ = diff_net(x, true, 0.1 * (y - o));
  loss = (y - o) * (y - o);"
        )
    };
    let rows: String = (0..20).map(|i| format!("{}.0,{}.5\n", 100 + i, i % 2)).collect();
    let train = |x: &str| {
        let folder = Folder::new().file("p.rml", program(x)).file("d.csv", format!("x,y\n{rows}"));
        folder.rml("train p.rml --data d.csv --epochs 1")
    };
    let run = train("x");
    for words in ["[learning-rate]", "p.rml:3:", "input `x` has numbers around 110", "`x / 110.0`"] {
        assert!(run.err.contains(words), "{words}: {}", run.err);
    }
    assert!(!train("x / 110.0").err.contains("learning-rate"));
}

#[test]
fn a_loss_of_a_single_class_is_told() {
    let text = |units: u8| {
        format!(
            "import std.layers;\nimport std.losses;
node net(x: num [batch, 3]) -> (o)
  o = dense({units}, x);
node train(x: num [batch, 3], y: int [batch]) -> (loss)
  o, _ = diff_net(x, true, d);
  loss, d = diff_cross_entropy(o, y, true, -0.1);"
        )
    };
    let run = Folder::new().file("p.rml", text(1)).rml("check p.rml");
    for words in ["[not-logits]", "p.rml:7:3", "always 0", "bce_with_logits(o[.., 0], label)"] {
        assert!(run.err.contains(words), "{words}: {}", run.err);
    }
    quiet("two classes", &text(2));
}

#[test]
fn a_layer_after_a_state_is_told_to_sample_it() {
    let text = "import std.layers;\nimport std.losses;
node net(x: num [3]) -> (o)
  h = lstm(4, x);
  o = dense(2, h);
node train(x: num [3], y: int [] when end, end: bool []) -> (loss: num [] when end)
  o, _ = diff_net(x, true, do) every end;
  loss, do = diff_cross_entropy(o, y, true, -0.1);";
    let run = Folder::new().file("p.rml", text).rml("check p.rml");
    assert!(run.err.contains("in `o = dense(2, h);`, write `h when end` for `h`"), "{}", run.err);
}

#[test]
fn what_was_right_for_one_size_alone_is_not_called_right() {
    let text = "node f(rate, x: num [n]) -> (y)\n  y = rate * x + [1.0, 2.0];";
    let run = Folder::new().file("p.rml", text).rml("check p.rml");
    let all = format!("{}{}", run.out, run.err);
    assert!(all.contains("its types depend on") && all.contains("`n`"), "{all}");
    let size = "node f(n, x: num [n]) -> (y)\n  y = x + [1.0, 2.0];";
    let axis = "node f(axis, x: num [3, 4]) -> (y)\n  y = sum(x, axis);";
    for (text, wrong, right) in
        [(size, "`n` = 5, the shapes", "in line 2; with `n` = 2"), (axis, "`axis` = 5,", "with `axis` = 1")]
    {
        let found = Folder::new().file("p.rml", text).rml("check p.rml").ok();
        for part in ["its types depend on the value of", wrong, right, "it is right"] {
            assert!(found.contains(part), "{part}\n{found}");
        }
    }
    let all = "node f(n, x: num [n]) -> (y)\n  y = x + range(n);";
    assert!(!Folder::new().file("p.rml", all).rml("check p.rml").out.contains("depend"));
}
