//! Mistakes around gradients: each is reported where it is made, with the correct form, and the corrected program gets
//! no finding.

mod support;

use support::{Folder, checked, warned};

const NET: &str = "import std.layers;
import std.losses;
node net(x: num [batch, 3]) -> (y: num [batch, 1])
  y = dense(1, x);
";

#[test]
fn a_loop_through_a_gradient_is_delayed_where_the_gradient_is_a_value() {
    let text = format!(
        "{NET}node train(x: num [batch, 3], t: num [batch, 1]) -> (loss: num [])
  y, dx = diff_net(x + 0.1 * dx, true, d);
  loss, d, _ = diff_mse(y, t, true, -0.1);
"
    );
    let words = ["write `(zeros([batch, 3]) fby dx)` in place of `dx` in line 6"];
    warned("instantaneous-cycle", &text, &words, &[("0.1 * dx", "0.1 * (zeros([batch, 3]) fby dx)")]);
    let moved = text.replace("diff_net(x + 0.1 * dx,", "diff_net(moved,") + "  moved = x + 0.1 * dx;\n";
    let words = ["write `(zeros([batch, 3]) fby dx)` in place of `dx` in line 8"];
    warned("instantaneous-cycle", &moved, &words, &[("0.1 * dx", "0.1 * (zeros([batch, 3]) fby dx)")]);
}

#[test]
fn the_gradient_of_a_delayed_output_is_of_another_cycle() {
    let text = format!(
        "{NET}node train(x: num [batch, 3], t: num [batch, 1]) -> (loss: num [])
  y, _ = diff_net(x, true, d);
  loss, d, _ = diff_mse(zeros([batch, 1]) fby y, t, true, -0.1);
"
    );
    let words = ["of `y` of an earlier cycle", "`loss, d, _ = diff_mse(y, t, true, -0.1);`", "p.rml:6:3"];
    let right = [("zeros([batch, 1]) fby y, t", "y, t")];
    warned("foreign-gradient", &text, &words, &right);
    let named = text.replace("diff_mse(zeros([batch, 1]) fby y, t", "diff_mse(before, t")
        + "  before = zeros([batch, 1]) fby (zeros([batch, 1]) fby y);\n";
    warned("foreign-gradient", &named, &words[..1], &[("diff_mse(before,", "diff_mse(y,")]);
    // A gradient may enter later than its value.
    let late = text
        .replace("zeros([batch, 1]) fby y, t", "y, t")
        .replace("true, d)", "true, zeros([batch, 1]) fby d)");
    assert!(!checked(&late).contains("foreign-gradient"), "{late}");
}

#[test]
fn paired_windows_are_shown_where_they_are_paired() {
    let text = format!(
        "{NET}node train(x: num [batch, 3], t: num [batch]) -> (loss: num [])
  y, _ = diff_net(x, true, -0.1 * e);
  e = y - t;
  loss, _, _ = diff_mse(y[.., 0], t, true, 0.0);
"
    );
    let words =
        ["p.rml:6:", "[batch, 1] and [batch] give [batch, batch]", "write `y - expand_dims(t, 1)` there"];
    warned("shape-mismatch", &text, &words, &[("y - t", "y - expand_dims(t, 1)")]);
    assert!(!checked(&text).contains("--batch 1"), "{}", checked(&text));
    let declared = format!(
        "{NET}node main(x: num [batch, 3], t: num [batch]) -> (e: num [batch])
  e = 2.0 * (net(x) - t);
"
    );
    let named = declared.replace("  e = 2.0 * (net(x) - t);", "  y = net(x);\n  e = 2.0 * (y - t);");
    warned("shape-mismatch", &named, &["write `y[.., 0] - t` there"], &[("y - t", "y[.., 0] - t")]);
}

#[test]
fn a_loss_is_not_its_gradient() {
    let text = format!(
        "{NET}node train(x: num [batch, 3], t: num [batch, 1]) -> (loss: num [])
  y, _ = diff_net(x, true, -0.1 * loss);
  loss = mse(y, t);
"
    );
    let words = ["the loss itself", "write `loss, dy, _ = diff_mse(y, t, true, -0.1);`, and pass `dy`"];
    let found = checked(&text);
    assert!(!found.contains("broadcast(shape"), "{found}");
    let right = [("-0.1 * loss", "dy"), ("loss = mse(y, t)", "loss, dy, _ = diff_mse(y, t, true, -0.1)")];
    let corrected = right.iter().fold(text.clone(), |text, (wrong, right)| text.replace(wrong, right));
    warned("shape-mismatch", &text, &words, &[(&text, &corrected)]);
    let own = text.replace("loss = mse(y, t)", "loss = mean((y - t) * (y - t))");
    assert!(checked(&own).contains("put the loss into a node `cost(..) -> (loss)`"), "{}", checked(&own));
}

const CONTINUED: &str = "import std.layers;
import std.losses;
node cell(x: num [2], h0: num [3]) -> (h: num [3])
  h = gru_from(3, h0, false, x);
node net(x: num [2], end: bool []) -> (y: num [3])
  y = cell(x, last) every end;
  last = zeros([3]) fby y;
node train(x: num [2], t: num [3], end: bool []) -> (loss: num [])
  y, _ = diff_net(x, end, true, d);
  loss, d, _ = diff_mse(y, t, true, -0.1);
";

#[test]
fn a_state_that_continues_from_window_to_window_needs_a_cut() {
    let words = ["p.rml:6:", "through `last`", "write `stop_gradient(last)` in place of `last`"];
    let outer = ("diff_net(x, end, true, d)", "diff_net(x, end, true, d) every false");
    warned("uncut-recurrence", CONTINUED, &words, &[("x, last)", "x, stop_gradient(last))"), outer]);
    // A condition may cut the gradient in the data.
    let begins = CONTINUED.replace("cell(x, last)", "cell(x, if begin then zeros([3]) else last)") + "";
    let begins = begins.replace("y = cell", "begin = true fby end;\n  y = cell");
    assert!(!checked(&begins).contains("uncut-recurrence"), "{}", checked(&begins));
    let data = r#"{"x": [[[1, 2], [3, 4]], [[1, 0], [0, 1]]], "t": [[[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5, 6]]]}"#;
    let folder = Folder::new().file("p.rml", CONTINUED).file("d.json", data);
    let run = folder.rml("train p.rml --data d.json --epochs 1 --test 0").fails(1, &["window-incomplete"]);
    assert!(run.err.matches("write `stop_gradient(last)`").count() == 2, "{}", run.err);
    let right = CONTINUED.replace("x, last)", "x, stop_gradient(last))");
    let folder = Folder::new().file("p.rml", &right).file("d.json", data);
    folder.rml("train p.rml --data d.json --epochs 1 --test 0").ok();
}

#[test]
fn an_optimiser_needs_a_gradient_in_every_cycle() {
    let text = format!(
        "{NET}node diff_param(init, bp, do) -> (o)
  v = 0.9 * (0.0 fby v) + do;
  o = init fby o + v;
node train(x: num [batch, 3], t: num [batch, 1], on: bool []) -> (loss: num [])
  y, _ = diff_net(x, on, d when on);
  loss, d, _ = diff_mse(y, t, true, -0.1);
"
    );
    let words =
        ["p.rml:6:3", "only in the cycles with a gradient", "write `merge bp do 0.0` in place of `do`"];
    warned("clock-mismatch", &text, &words, &[("+ do;", "+ merge bp do 0.0;")]);
}

/// A size of the library may be a multiple of the setting.
#[test]
fn sizes_that_are_set_from_outside_are_told_as_settings() {
    let text = "import std.layers;
const units = 4;
node main(x: num [batch, 3]) -> (y: num [batch, 1])
  y = dense(1, gru(units, x));
";
    let folder = Folder::new().file("p.rml", text);
    for value in ["1.5", "-4"] {
        let run = folder.rml(&format!("check p.rml --set units={value}")).fails(1, &["static-value"]);
        assert!(run.err.contains(&format!("change `--set units={value}`")), "{}", run.err);
        assert_eq!(run.err.matches("error[").count(), 1, "{}", run.err);
    }
    folder.rml("check p.rml --set units=8").ok();
}

#[test]
fn parameters_that_learn_nothing_are_named() {
    let text = "import std.layers;
import std.losses;
const units = 2;
node net(x: num [batch, 2]) -> (y: num [batch, 1])
  y = dense(1, tanh(dense(units, x))) + stop_gradient(param(0.5));
node train(x: num [batch, 2], t: num [batch, 1]) -> (loss: num [])
  y, _ = diff_net(x, true, d);
  loss, d, _ = diff_mse(y, t, true, -0.1);
";
    let folder =
        Folder::new().file("p.rml", text).file("d.json", r#"{"x": [[1, 2], [2, 1]], "t": [[1], [2]]}"#);
    let train = "train p.rml --data d.json --epochs 1 --test 0";
    let run = folder.rml(train);
    assert!(run.err.contains("never updated: `net_0.y`") && !run.err.contains("no elements"), "{}", run.err);
    let run = folder.rml(&format!("{train} --set units=0"));
    assert!(run.err.contains("a parameter has no elements, since a size is 0: `net_0.dense_"), "{}", run.err);
}
