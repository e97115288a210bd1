//! `grad_f`: gradients of inputs with parameters that are read and not updated.

mod support;

use support::Folder;

const NET: &str = "
node diff_param(init, bp, do) -> (o)
  o = init fby o + merge bp (0.1 * do) 0.0;

node inner(x: num [3]) -> (y: num [3])
  k = param([0.3, -0.7, 1.1]);
  y = tanh(k * x);

node u(x: num [3]) -> (y: num [])
  w = param([0.5, 1.5, -0.25]);
  y = sum(w * inner(inner(x)));
";

/// For one element of an input: the value of `y` at each cycle, and the gradient that the program computes.
fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value
        .as_array()
        .expect("a list")
        .iter()
        .flat_map(|v| match v.as_array() {
            Some(all) => all.iter().map(|x| x.as_f64().expect("a number")).collect(),
            None => vec![v.as_f64().expect("a number")],
        })
        .collect()
}

#[test]
fn the_gradient_is_that_of_finite_differences_and_nothing_is_updated() {
    let text = format!(
        "{NET}
node main(x: num [3]) -> (y: num [], dx: num [3])
  y, dx = grad_u(x, true, 1.0);
"
    );
    let step = 1e-5;
    let point = [0.2, -0.4, 0.9];
    let mut rows = vec![point];
    for i in 0..3 {
        for sign in [1.0, -1.0] {
            let mut row = point;
            row[i] += sign * step;
            rows.push(row);
        }
    }
    rows.push(point);
    let folder = Folder::new().file("p.rml", text).file("i.json", format!(r#"{{"x": {rows:?}}}"#));
    let mut all = Vec::new();
    for engine in ["sim", "plan"] {
        let run =
            folder.rml(&format!("run p.rml --node main --inputs i.json --f64 --engine {engine}")).json();
        let (y, dx) = (numbers(&run["values"]["y"]), numbers(&run["values"]["dx"]));
        for i in 0..3 {
            let slope = (y[1 + 2 * i] - y[2 + 2 * i]) / (2.0 * step);
            assert!((slope - dx[i]).abs() < 1e-8, "{i}: {slope} {}", dx[i]);
        }
        assert_eq!((y[0], &dx[..3]), (y[7], &dx[21..]), "the parameters are as they were");
        all.push((y, dx));
    }
    assert_eq!(all[0], all[1]);
}

/// `_, dx = diff_u(x, true, 1.0)` trains `u`. The advice is to call `grad_u`, which does not.
#[test]
fn the_warning_about_updates_names_the_call_that_holds_parameters() {
    let text = format!("{NET}\nnode main(x: num [3]) -> (dx: num [3])\n  _, dx = diff_u(x, true, 1.0);\n");
    let folder = Folder::new().file("p.rml", &text);
    let run = folder.rml("check p.rml --node main");
    assert!(
        run.err.contains("warning[gradient-updates]") && run.err.contains("call `grad_u`"),
        "{}",
        run.err
    );
    let folder = Folder::new().file("p.rml", text.replace("diff_u", "grad_u"));
    let run = folder.rml("check p.rml --node main");
    assert!(!run.err.contains("warning"), "{}", run.err);
}

/// No optimiser is required, and the second derivative keeps the parameters constant, too.
#[test]
fn second_derivatives_hold_parameters() {
    let text = "
node u(x: num []) -> (y: num [])
  w = param(2.0);
  y = w * x * x * x;
node slope(x: num []) -> (d: num [])
  _, d = grad_u(x, true, 1.0);
node main(x: num []) -> (d, dd, also)
  d = slope(x);
  _, dd = grad_slope(x, true, 1.0);
  _, _, also, _ = grad_grad_u(x, true, 1.0, true, 0.0, 1.0);
";
    let folder = Folder::new().file("p.rml", text).file("i.json", r#"{"x": [1, 2, 1]}"#);
    let run = folder.rml("run p.rml --node main --inputs i.json").json();
    assert_eq!(numbers(&run["values"]["d"]), [6.0, 24.0, 6.0]);
    assert_eq!(numbers(&run["values"]["dd"]), [12.0, 24.0, 12.0]);
    assert_eq!(numbers(&run["values"]["also"]), [12.0, 24.0, 12.0]);
}

/// A node that calls `grad_f` trains all parameters of `f`, also those of a call whose inputs have no gradient.
#[test]
fn what_calls_it_trains_all_parameters_through_it() {
    let text = "
node diff_param(init, bp, do) -> (o)
  o = init fby o + merge bp do 0.0;
node table(i: int []) -> (s: num [])
  t = param([1.0, 2.0]);
  s = gather(t, i);
node u(i: int [], x: num []) -> (y: num [])
  w = param(3.0);
  y = w * table(i) * x * x;
node slope(i: int [], x: num []) -> (d: num [])
  _, d = grad_u(i, x, true, 1.0);
node train(i: int [], x: num [], c: num []) -> (d: num [])
  d, _ = diff_slope(i, x, true, c);
node infer(i: int [], x: num []) -> (d: num [])
  d = slope(i, x);
";
    // d = 2 w t[i] x; its derivative by w is 2 t[i] x, by t[i] 2 w x.
    let folder = Folder::new()
        .file("p.rml", text)
        .file("i.json", r#"{"i": [1, 1], "x": [1, 1], "c": [0.25, 0]}"#)
        .file("d.json", r#"{"i": [[1]], "x": [[1]], "c": [[0.25]]}"#);
    let run = folder.rml("run p.rml --node train --inputs i.json").json();
    assert_eq!(numbers(&run["values"]["d"]), [12.0, 2.0 * 4.0 * 3.5]);
    folder.rml("train p.rml --data d.json --epochs 1 --test 0 --batch 1 --save s.safetensors").ok();
    let listed = folder.rml("params list s.safetensors").ok();
    assert!(listed.contains("slope_0.u_0.w") && listed.contains("slope_0.u_0.table_0.t"), "{listed}");
}

/// u' = -u with u(0) = 1: the solution is exp(-x).
#[test]
fn a_network_learns_a_differential_equation() {
    let text = "
import std.layers;
import std.losses;
import std.optimisers (adam);
node diff_param(init, bp, do) -> (o)
  o = adam(0.01, 0.9, 0.999, 0.00000001, init, bp, do);
node u(x: num [n]) -> (y: num [n])
  y = 1.0 + x * reshape([n], dense(1, tanh(dense(16, reshape([n, 1], x)))));
node residual(x: num [n]) -> (r: num [n], y: num [n])
  y, dy = grad_u(x, true, ones([n]));
  r = dy + y;
node train() -> (loss: num [])
  r, _, _ = diff_residual(2.0 * random_uniform([32]), true, dr, zeros([32]));
  loss, dr, _ = diff_mse(r, zeros([32]), true, -1.0);
node infer(x: num [3]) -> (y: num [3], wanted: num [3])
  _, y = residual(x);
  wanted = exp(-x);
";
    let folder = Folder::new().file("p.rml", text).file("x.json", r#"{"x": [[[0.5, 1.0, 1.75]]]}"#);
    folder.rml("train p.rml --cycles 1500 --save s").ok();
    let run = folder.rml("infer p.rml --params s --data x.json --out o.json");
    run.ok();
    let out: serde_json::Value = serde_json::from_str(&folder.read("o.json")).expect("JSON");
    for (y, wanted) in numbers(&out["y"][0]).iter().zip(numbers(&out["wanted"][0])) {
        assert!((y - wanted).abs() < 0.01, "{y} {wanted}");
    }
}

#[test]
fn adjoints_are_printed_with_what_they_hold() {
    let text = format!(
        "{NET}
node slope(x: num [3]) -> (d: num [3])
  _, d = grad_u(x, true, 1.0);
"
    );
    let folder = Folder::new().file("p.rml", text);
    let held = folder.rml("diff p.rml --node grad_u").ok();
    assert!(held.contains("node grad_u(x: num [3], bp: bool [], dy: num [] when bp)"), "{held}");
    assert!(held.contains("  k = param([0.3, -0.7, 1.1]);") && held.contains(" = grad_inner("), "{held}");
    assert!(!held.contains("diff_") && !held.contains("dk"), "no parameter has a gradient: {held}");
    let trained = folder.rml("diff p.rml --node slope").ok();
    assert!(trained.contains("  k = diff_param([0.3, -0.7, 1.1], "), "what calls it trains: {trained}");
}

#[test]
fn what_trains_is_refused_with_a_call_that_does_not() {
    let text = format!(
        "{NET}
node step(x: num [3]) -> (y: num [])
  y, _ = diff_u(x, true, 0.1);
node main(x: num [3]) -> (dx: num [3])
  _, dx = grad_step(x, true, 1.0);
"
    );
    let folder = Folder::new().file("p.rml", text);
    folder
        .rml("check p.rml --node main")
        .fails(1, &["error[held-training]", "p.rml:", "call `grad_` in place of `diff_`"]);
}
