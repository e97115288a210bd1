//! Mistakes in programs that learn, or that run window by window: each is reported once, with the correct form, and a
//! similar correct program gets no finding.

mod support;

use support::{Folder, checked, warned};

const TURNED: &str = "import std.losses;
node net(x: num [batch, 4]) -> (o: num [batch, 1])
  o = matmul(x, param(zeros([4, 1])));
node train(x: num [batch, 4], y: num [batch, 1]) -> (loss: num [])
  o, _ = diff_net(x, true, do);
  loss, do, _ = diff_mse(y, o, true, -0.1);
";

#[test]
fn a_gradient_enters_for_the_value_that_it_is_of() {
    let words = [
        "p.rml:5:3",
        "gradient of `o` is the gradient of `y`",
        "`loss, do, _ = diff_mse(o, y, true, -0.1);`",
    ];
    warned(
        "foreign-gradient",
        TURNED,
        &words,
        &[("(y, o,", "(o, y,"), ("do, _ = diff_mse", "_, do = diff_mse")],
    );
    let own = TURNED.replace("loss, do, _ = diff_mse(y, o", "loss, do, _ = diff_cost(y, o")
        + "node cost(what: num [batch, 1], o: num [batch, 1]) -> (loss: num [])\n  loss = mean(abs(what - 2.0 * o));\n";
    warned(
        "foreign-gradient",
        &own,
        &["`loss, _, do = diff_cost(y, o, true, -0.1);`"],
        &[("do, _ = diff_cost", "_, do = diff_cost")],
    );
}

#[test]
fn a_gradient_may_pass_by_what_is_rounded() {
    let rounded = TURNED
        .replace("loss, do, _ = diff_mse(y, o", "q = floor(o);\n  loss, _, do, _ = diff_cost(o, q, y")
        + "node cost(o: num [batch, 1], q: num [batch, 1], y: num [batch, 1]) -> (loss: num [])\n  loss = mse(q, y) + mse(o, stop_gradient(q));\n";
    let found = checked(&rounded);
    assert!(!found.contains("foreign-gradient") && !found.contains("error"), "{found}");
}

const COPIED: &str = "import std.losses;
node net(x: num [batch, 4]) -> (o: num [batch, 3])
  o = matmul(x, param(zeros([4, 3])));
node train(x: num [batch, 4], y: int [batch]) -> (loss: num [])
  o, _ = diff_net(x, true, do);
  loss, do = diff_cross_entropy(o, y, true, -0.1);
node infer(x: num [batch, 4], y: int [batch]) -> (loss: num [])
  o, _ = diff_net(x, true, do);
  loss, do = diff_cross_entropy(o, y, true, -0.1);
";

#[test]
fn what_evaluates_does_not_learn() {
    let words =
        ["p.rml:8:3", "`infer` updates parameters", "`o = net(x);` and `loss = cross_entropy(o, y);`"];
    warned(
        "evaluation-learns",
        COPIED,
        &words,
        &[("node infer", "node online"), ("node train", "node learn")],
    );
    let off = COPIED.replace("node infer(x: num [batch, 4], y: int [batch]) -> (loss: num [])\n  o, _ = diff_net(x, true, do);\n  loss, do = diff_cross_entropy(o, y, true", "node infer(x: num [batch, 4], y: int [batch]) -> (loss: num [])\n  o, _ = diff_net(x, false, do);\n  loss, do = diff_cross_entropy(o, y, false");
    assert!(!checked(&off).contains("evaluation-learns"), "{off}");
    let data = r#"{"x": [[1, 2, 3, 4], [4, 3, 2, 1], [1, 1, 1, 1], [0, 1, 0, 1]], "y": [0, 1, 2, 0]}"#;
    let folder = Folder::new().file("p.rml", COPIED).file("d.json", data);
    let train = folder.rml("train p.rml --data d.json --epochs 2 --test 2 --save m.safetensors").err;
    assert_eq!(train.matches("[evaluation-learns]").count(), 1, "{train}");
    let infer = folder.rml("infer p.rml --params m.safetensors --data d.json").err;
    assert_eq!(infer.matches("[evaluation-learns]").count(), 1, "{infer}");
}

#[test]
fn draws_of_actions_take_logits() {
    let text = "import std.learning;
node actor(x: num [n, 4]) -> (p: num [n, 2])
  p = softmax(matmul(x, param(zeros([4, 2]))));
node main(x: num [3, 4]) -> (action: int [3], entropy: num [3])
  p = actor(x);
  action = categorical(p);
  entropy = categorical_entropy(p);
";
    warned(
        "not-logits",
        text,
        &["p.rml:6:3", "here the softmax is taken before", "`categorical` takes the softmax itself"],
        &[("softmax(", "(")],
    );
}

#[test]
fn the_sign_of_a_gradient_is_turned_where_it_is_written() {
    let text = TURNED.replace("(y, o,", "(o, y,").replace("true, do)", "true, -do)");
    warned("gradient-sign", &text, &["p.rml:5:", "write `do` in place of `-do`"], &[("-do)", "do)")]);
}

/// Windows whose end is computed by this expression.
fn windows(end: &str) -> String {
    format!(
        "node sums(x: num []) -> (s: num [])\n  s = x + (0.0 fby s);\nnode main(x: num []) -> (s: num [] when end)\n  t = 0 fby t + 1;\n  end = {end};\n  s = (sums(x) every end) when end;\n"
    )
}

#[test]
fn a_counter_alone_ends_one_window_or_none() {
    let right =
        [("t == 15", "mod(t, 16) == 15"), ("t = 0 fby t + 1", "t = 0 fby (if end then 0 else t + 1)")];
    warned(
        "few-windows",
        &windows("t == 15"),
        &["p.rml:5:3", "one cycle only", "write `mod(t, 16) == 15`"],
        &right,
    );
    let right = [("== 16", "== 15"), ("== 16", ">= 15"), ("== 16", "== 0")];
    warned(
        "few-windows",
        &windows("mod(t, 16) == 16"),
        &["p.rml:5:3", "`mod(t, 16)` is at most 15", "write `mod(t, 16) == 15`"],
        &right,
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
fn a_condition_to_learn_is_one_of_the_cycles_of_the_outputs() {
    let text = SEQUENCE.replace("x, end, true,", "x, end, end,");
    warned(
        "clock-mismatch",
        &text,
        &["p.rml:7:3", "write `true` in place of `end`"],
        &[("end, end,", "end, true,")],
    );
}

const FORECAST: &str = "import std.layers;
import std.losses;
node net(x: num [batch, 1]) -> (o: num [batch, 1])
  o = dense(1, lstm(8, x));
node train(x: num [batch, 1], end: bool []) -> (loss: num [])
  o, _ = diff_net(x, true, do) every end;
  loss, do, _ = diff_mse(o when not end, (post x) when not end, true, -0.1);
";

#[test]
fn a_gradient_of_some_cycles_has_their_condition() {
    let right = [("diff_net(x, true", "diff_net(x, not end")];
    warned("clock-mismatch", FORECAST, &["p.rml:6:3", "write `not end` in place of `true`"], &right);
    let data = r#"{"x": [[[1], [2], [3]], [[2], [3], [4]]]}"#;
    let text = FORECAST.replace("o when not end, (post x) when not end", "o, post x");
    let folder = Folder::new().file("p.rml", &text).file("d.json", data);
    let run = folder.rml("train p.rml --data d.json --epochs 1").err;
    for word in
        ["[window-incomplete]", "`(post x) when not end`", "pass `not end` in place of `true` to `diff_net`"]
    {
        assert!(run.contains(word), "`{word}` is not in\n{run}");
    }
}

#[test]
fn what_is_sampled_already_needs_no_sample() {
    let text = "node main(en: bool []) -> (n: int [] when en)\n  n = (0 fby n + 1) when en;\n";
    let right = [("(0 fby n + 1) when en", "0 fby n + (1 when en)")];
    warned("clock-mismatch", text, &["leave out `when en`", "`1 when en` for `1`"], &right);
    let text =
        "node main(x: num [], c: bool []) -> (o: num [] when c)\n  y = x when c;\n  o = (y + 1.0) when c;\n";
    let right = [("(y + 1.0) when c", "y + 1.0")];
    warned("clock-mismatch", text, &["only where `c` is true: leave out `when c`"], &right);
}

#[test]
fn a_loop_is_told_where_it_is_closed() {
    let text = "node controller(error: num []) -> (u: num [])
  u = 0.5 * error;
node plant(u: num []) -> (y: num [])
  y = 0.9 * (0.0 fby y) + 0.2 * u;
node main(set: num []) -> (y: num [])
  u = controller(set - y);
  y = plant(u);
";
    let words = ["p.rml:", "  u = controller(set - y);", "  y = plant(u);", "write `(0.0 fby "];
    warned("instantaneous-cycle", text, &words, &[("set - y", "set - (0.0 fby y)")]);
    let cell = "import std.layers;
node cell(x: num [batch, 1]) -> (h: num [batch, 8])
  h = tanh(dense(8, concat(x, h, -1)));
";
    let words = ["p.rml:3:3", "write `(zeros([batch, 8]) fby h)` in place of `h` in line 3"];
    warned("instantaneous-cycle", cell, &words, &[("concat(x, h,", "concat(x, zeros([batch, 8]) fby h,")]);
}

#[test]
fn an_axis_is_no_time() {
    let text = "import std.layers;
import std.losses;
node net(x: num [batch, 16, 1]) -> (logits: num [batch, 2])
  h = lstm(8, x);
  logits = dense(2, h[:, -1]);
node train(x: num [batch, 16, 1], y: int [batch]) -> (loss: num [])
  logits, _ = diff_net(x, true, dlogits);
  loss, dlogits = diff_cross_entropy(logits, y, true, -0.1);
";
    warned("update-causality", text, &["Help 1: time is in cycles, and no axis", "p.rml:4:3"], &[]);
    assert!(!checked(text).contains("each of these needs the next one"));
}

const RETURNS: &str = "import std.learning;
node net(x: num [4, 1]) -> (o: num [4])
  o = matmul(x, param(zeros([1])));
node train() -> (loss: num [])
  t = 0 fby (if end then 0 else t + 1);
  end = t == 7;
  x = random_normal([4, 1]);
  o, _ = diff_net(x, true, -0.01 * g) every end;
  g = discounted_returns(0.9, x[:, 0], o > 9.0, o > 9.0, zeros([4]));
  loss = mean(g);
";

#[test]
fn what_looks_back_without_an_end_is_told() {
    let folder = Folder::new()
        .file("p.rml", RETURNS)
        .file("q.rml", RETURNS.replace("zeros([4]));\n", "zeros([4])) every end;\n"));
    let run = folder.rml("train p.rml --windows 2 --look-ahead 1000").err;
    for word in ["[endless-window]", "p.rml:9:3", "zeros([4])) every end;`"] {
        assert!(run.contains(word), "`{word}` is not in\n{run}");
    }
    folder.rml("train q.rml --windows 2 --look-ahead 1000").ok();
}

#[test]
fn a_schedule_that_ended_is_no_gradient_of_zero() {
    let text = "import std.losses;
import std.optimisers;
import std.schedules;
node diff_param(init, bp, do) -> (o)
  t = ticks(bp when bp);
  o = sgd(init, bp, cosine(0.1, 4, t) * do);
node net(x: num [batch]) -> (o: num [batch])
  o = x * param(0.0);
node train(x: num [batch], y: num [batch]) -> (loss: num [])
  o, _ = diff_net(x, true, do);
  loss, do, _ = diff_mse(o, y, true, -1.0);
";
    let folder =
        Folder::new().file("p.rml", text).file("d.json", r#"{"x": [1, 2, 3, 4], "y": [2, 5, 6, 7]}"#);
    let run = folder.rml("train p.rml --data d.json --epochs 9 --batch 2 --test 0").err;
    for word in [
        "[zero-gradient]",
        "the optimiser made 0 of it",
        "an epoch has 2 updates",
        "`cosine` after `total` updates",
    ] {
        assert!(run.contains(word), "`{word}` is not in\n{run}");
    }
}

/// Correct programs that look like mistakes.
const RIGHT: [&str; 3] = [
    // Operands of `merge` with names that are keywords of other languages.
    "node f(x: num []) -> (s)
  s = x + (0.0 fby s);
node main(x: num [], c: bool [], end: bool []) -> (s)
  reset = 1.0 when c;
  go = 2.0 when not c;
  s = merge c reset go + f(x) every end;
",
    // A difference of two values: the gradient of one is minus the gradient of the other.
    "import std.layers;
node gen(z: num [n, 4]) -> (fake: num [n, 2])
  fake = dense(2, z);
node margin(a: num [n, 2], b: num [n, 2]) -> (gap: num [])
  gap = mean(a - b);
node train(real: num [batch, 2], z: num [batch, 4]) -> (gap: num [])
  fake, _ = diff_gen(z, true, -dreal);
  gap, dreal, _ = diff_margin(real, fake, true, -0.1);
",
    // A first value in parentheses, and a first value that is a comparison.
    "node main(x: num [], k: int []) -> (y, a)
  y = (x * 0.5) fby (0.9 * y + 0.1 * x);
  a = k == 0 fby not a;
",
];

#[test]
fn programs_that_look_like_slips_get_no_word() {
    for text in RIGHT {
        let run = Folder::new().file("p.rml", text).rml("check p.rml");
        assert_eq!((run.code, &*run.err), (Some(0), ""), "{text}");
    }
}

#[test]
fn minus_the_gradient_of_a_target_is_no_wrong_sign() {
    let text = TURNED.replace(
        "loss, do, _ = diff_mse(y, o, true, -0.1)",
        "loss, _, dy = diff_mse(o, y, true, -0.1);\n  do = -dy",
    );
    let found = checked(&text);
    assert!(!found.contains("[gradient-sign]") && !found.contains("error["), "{found}");
    // Minus the gradient of the prediction itself is a mistake.
    let wrong = text.replace("loss, _, dy", "loss, dy, _");
    assert!(checked(&wrong).contains("[gradient-sign]"), "{wrong}");
    let own = wrong.replace("true, -0.1", "true, 0.1");
    assert!(!checked(&own).contains("[gradient-sign]"), "{own}");
}

#[test]
fn a_condition_that_is_missing_is_one_error() {
    let text = "import std.layers;
node main(x: num [batch, 1]) -> (logits: num [batch, 2] when end)
  h = lstm(8, x) every end;
  logits = dense(2, h when end);
";
    warned(
        "declared-clock",
        text,
        &["`end` is not another variable", "make it an input: `end: bool []`"],
        &[("x: num [batch, 1])", "x: num [batch, 1], end: bool [])")],
    );
    let twice = text.replace("(x: num [batch, 1])", "(x: num [batch, 1] when end, y: num [] when end)");
    assert_eq!(checked(&twice).matches("error[").count(), 1, "{}", checked(&twice));
}

#[test]
fn a_training_that_diverges_shows_its_learning_rate() {
    let text = "node f(x) -> (o)\n  k = param(1.0);\n  o = k * x * x;
node train(x: num [], y: num []) -> (loss)
  o, _ = diff_f(x, true, do);
  do = -100.0 * (o - y);
  loss = (o - y) * (o - y);
";
    let data = r#"{"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "y": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]}"#;
    let folder = Folder::new().file("p.rml", text).file("d.json", data);
    folder
        .rml("train p.rml --data d.json --epochs 20 --test 0")
        .fails(1, &["error[diverged]", "p.rml:6:8", "a learning rate"]);
    // A divisor is not a rate: a smaller divisor makes the steps larger.
    let divided = text.replace("-100.0 * (o - y)", "(o - y) * -3200.0 / 32.0");
    let run = folder.file("p.rml", divided).rml("train p.rml --data d.json --epochs 20 --test 0");
    let shown = run.fails(1, &["error[diverged]", "p.rml:6:18", "a learning rate"]);
    assert!(!shown.err.contains("p.rml:6:28"), "{}", shown.err);
}

/// A net and its losses, around which the programs below are written.
const SHAPES: &str = "import std.losses;
node net(x: num [2]) -> (o: num [2])
  w = param(zeros([2, 2]) + 0.1);
  o = matmul(x, w);
node score(x: num [2]) -> (s: num [])
  w = param(zeros([2]) + 0.1);
  s = sum(w * x);
";

/// Correct programs, each in an unusual form that a warning could misread.
const UNUSUAL: [(&str, &str); 10] = [
    (
        "an optimiser by hand, with the weights as values",
        "import std.losses;
node line(w: num [2], x: num [2]) -> (o: num [])
  o = sum(w * x);
node train(x: num [2], y: num []) -> (loss)
  w = zeros([2]) fby (w - 0.1 * v);
  v = 0.9 * (zeros([2]) fby v) + dw;
  o, dw, _ = diff_line(w, x, true, do);
  loss, do, _ = diff_mse(o, y, true, 1.0);",
    ),
    (
        "an encoder that is frozen",
        "node train(x: num [2], y: num [2]) -> (loss)
  h = stop_gradient(net(x));
  o, _ = diff_net(h, true, do);
  loss, do, _ = diff_mse(o, y, true, -0.1);",
    ),
    (
        "a generator against a critic",
        "node train(z: num [2], real: num [2]) -> (loss)
  fake, _ = diff_net(z, true, dfake);
  a, _ = diff_score(real, true, 0.1 * (1.0 - sigmoid(a)));
  b, dscore = diff_score(fake, true, -0.1 * sigmoid(b));
  dfake = -dscore;
  loss = log(1.0 + exp(-a)) + log(1.0 + exp(b));",
    ),
    (
        "a policy gradient",
        "node train(x: num [2], action: int [], reward: num []) -> (loss)
  logits, _ = diff_net(x, true, 0.1 * (reward - before) * (one_hot(2, action) - softmax(logits)));
  before = 0.0 fby (0.9 * before + 0.1 * reward);
  loss = cross_entropy(logits, action);",
    ),
    (
        "temporal differences",
        "node train(x: num [2], reward: num []) -> (loss)
  v, _ = diff_score(last, true, 0.1 * (was + 0.9 * stop_gradient(v) - v));
  was = 0.0 fby reward;
  last = zeros([2]) fby x;
  loss = (was - v) * (was - v);",
    ),
    (
        "a student and a teacher",
        "node train(x: num [2]) -> (loss)
  t = net(x);
  o, _ = diff_net(x, true, do);
  loss, do, _ = diff_mse(o, t, true, -0.1);",
    ),
    (
        "a rate that follows the loss",
        "node objective(x: num [2], y: num [2]) -> (loss)
  loss = mse(net(x), y);
node train(x: num [2], y: num [2]) -> (loss)
  loss, _, _ = diff_objective(x, y, true, -0.1 * stop_gradient(loss));",
    ),
    (
        "two losses on one net, and one output that has none",
        "node two(x: num [2]) -> (o: num [2], size: num [])
  o = net(x);
  size = sum(o * o);
node train(x: num [2], y: num [2]) -> (loss, size)
  o, size, _ = diff_two(x, true, da + db, 0.0);
  loss, da, _ = diff_mse(o, y, true, -0.1);
  _, db, _ = diff_mae(o, y, true, -0.01);",
    ),
    (
        "updates every other cycle",
        "node train(x: num [2], y: num [2]) -> (loss)
  learn = true fby not learn;
  o, _ = diff_net(x, learn, do);
  loss = mse(o, y);
  do = 0.1 * ((y - o) when learn);",
    ),
    (
        "counts in the place of gradients",
        "node train(y: bool []) -> (rate)
  ones = (0.0 fby ones) + to_num(y);
  all = (0.0 fby all) + 1.0;
  rate = ones / all;",
    ),
];

#[test]
fn programs_of_unusual_shape_are_quiet() {
    for (name, text) in UNUSUAL {
        let text = if text.starts_with("import") { text.to_owned() } else { format!("{SHAPES}{text}") };
        let run = Folder::new().file("p.rml", &text).rml("check p.rml");
        let codes = [
            "no-update",
            "gradient-sign",
            "learning-rate",
            "gradient-updates",
            "loss-as-gradient",
            "no-metric",
            "error",
        ];
        for code in codes {
            assert!(!run.err.contains(code), "{name}: {code}\n{text}\n{}", run.err);
        }
    }
}
