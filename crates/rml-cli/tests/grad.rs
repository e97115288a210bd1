//! `rml grad`, `rml gradcheck` and `--probe`.

mod support;

use serde_json::json;
use support::Folder;

const LINE: &str = "node line(x: num [2], end: bool []) -> (o: num [] when end, n: int [])
  k = param([2.0, 3.0]);
  o = sum(k * x * x) when end;
  n = 1 + (0 fby n);

node main(x: num [2], end: bool []) -> (s: num [])
  o, _ = line(x, end);
  s = merge end o 0.0;
";

fn line() -> Folder {
    Folder::new()
        .file("l.rml", LINE)
        .file("i.json", r#"{"x": [[1, 2], [3, 4], null], "end": [false, true, null]}"#)
}

#[test]
fn grad_prints_the_total_and_its_derivatives() {
    let folder = line();
    let expected = json!({"loss": 66.0, "params": {"k": [9.0, 16.0]},
        "inputs": {"x": [[0.0, 0.0], [12.0, 24.0], null]}});
    assert_eq!(folder.rml("grad l.rml --node line --loss o --inputs i.json --format json").json(), expected);
    assert_eq!(folder.rml("grad l.rml --node line --inputs i.json --format json --f64").json(), expected);
    let root = folder.rml("grad l.rml --loss s --inputs i.json --cycles 2 --format json").json();
    assert_eq!(root["params"], json!({"line_0.k": [9.0, 16.0]}));
    let table = folder.rml("grad l.rml --node line --inputs i.json").ok();
    for part in ["sum of o over 3 cycles: 66.0", "k          num [2]", "[9.0, 16.0]", "□"] {
        assert!(table.contains(part), "{part} is missing in\n{table}");
    }
}

#[test]
fn gradcheck_fails_where_they_differ() {
    let folder = line();
    let table = folder.rml("gradcheck l.rml --node line --inputs i.json").ok();
    assert!(table.contains("parameter k") && table.contains("4 of 4") && !table.contains("WRONG"), "{table}");
    let check = folder.rml("gradcheck l.rml --inputs i.json --f64 --samples 1 --format json").json();
    assert_eq!((&check["ok"], &check["params"]["line_0.k"]["compared"]), (&json!(true), &json!(1)));
    let folder = folder.file(
        "w.rml",
        "node sq(x: num []) -> (o: num []) o = x * x;
node diff_sq(x: num [], bp: bool [], do: num []) -> (o, dx) o = x * x; dx = do * x;
node main(x: num []) -> (o: num []) o = sq(x);
",
    );
    let folder = folder.file("x.json", r#"{"x": [2.0]}"#);
    let run = folder.rml("gradcheck w.rml --inputs x.json").fails(1, &[]);
    assert!(run.out.contains("WRONG") && run.out.contains("5.0e-1"), "{}", run.out);
    folder.rml("gradcheck w.rml --inputs x.json --tolerance 0.6").ok();
    folder.rml("gradcheck w.rml --inputs x.json --eps 0").fails(2, &["--eps"]);
}

#[test]
fn what_has_no_gradient_is_said() {
    let folder = line();
    folder.rml("grad l.rml --node line --loss n --inputs i.json").fails(1, &["bad-option", "no gradient"]);
    folder.rml("grad l.rml --node line --loss p --inputs i.json").fails(1, &["bad-option", "`o`"]);
}

#[test]
fn probes_show_inner_variables() {
    let folder = line();
    let run = folder.rml("run l.rml --inputs i.json --probe line_0.k --probe line_0.n").json();
    assert_eq!(
        run["values"],
        json!({"s": [0.0, 66.0, null], "line_0.k": [[2.0, 3.0], [2.0, 3.0], null], "line_0.n": [1, 2, 3]})
    );
    let table = folder.rml("run l.rml --inputs i.json --probe line_0.n --format csv").ok();
    assert!(table.starts_with("s,line_0.n\n"), "{table}");
    assert!(
        folder.rml("run l.rml --inputs i.json --probe line_0.n --format table").ok().contains("line_0.n")
    );
    let drawn = folder.rml("trace l.rml --inputs i.json --vars outputs --probe line_0.n").ok();
    assert!(drawn.contains("line_0.n") && !drawn.contains("end"), "{drawn}");
    folder.rml("run l.rml --inputs i.json --probe line_0.kk").fails(1, &["bad-option", "`line_0.k`"]);
}

#[test]
fn a_cut_gradient_is_explained() {
    let text = "node main(x: num []) -> (o: num [])
  k = param(2.0);
  o = k * x + stop_gradient(k * k);
";
    let folder = Folder::new().file("c.rml", text).file("x.json", r#"{"x": [2.0]}"#);
    let run = folder.rml("gradcheck c.rml --inputs x.json").fails(1, &[]);
    assert!(
        run.out.contains("WRONG") && run.out.contains("`stop_gradient` in c.rml:3 cuts the gradient"),
        "{}",
        run.out
    );
    let json = folder.rml("gradcheck c.rml --inputs x.json --format json");
    assert!(json.out.contains("\"c.rml:3\""), "{}", json.out);
    let whole = text.replace("stop_gradient(k * k)", "k * k");
    let folder = folder.file("c.rml", whole);
    assert!(!folder.rml("gradcheck c.rml --inputs x.json").ok().contains("stop_gradient"));
}

/// The terms of the loss are far larger than the loss, so its rounding errors are larger than its own size suggests.
#[test]
fn rounding_errors_inside_the_program_are_no_wrong_gradient() {
    let text = "node main(x: num []) -> (o: num [])
  k = param([14.0, 0.0]);
  o = x * (log(sum(exp(k))) - k[0]);
";
    let folder = Folder::new().file("s.rml", text).file("x.json", r#"{"x": [1.0]}"#);
    let table = folder.rml("gradcheck s.rml --inputs x.json").ok();
    assert!(table.contains("2 of 2"), "{table}");
    let wrong = "node f(k: num [2]) -> (o: num [])
  o = log(sum(exp(k))) - k[0];
node diff_f(k: num [2], bp: bool [], do: num []) -> (o, dk)
  o = log(sum(exp(k))) - k[0];
  dk = 1.01 * do * (softmax(k) - [1.0, 0.0]);
node main(x: num []) -> (o: num [])
  o = x * f(param([14.0, 0.0]));
";
    let folder = folder.file("w.rml", wrong);
    let run = folder.rml("gradcheck w.rml --inputs x.json").fails(1, &[]);
    assert!(run.out.contains("WRONG") && run.out.contains("9.9e-3"), "{}", run.out);
}

#[test]
fn an_output_without_derivatives_gets_a_warning() {
    let text = "node main(x: num []) -> (loss: num [], hit: num [])
  k = param(2.0);
  loss = k * x;
  hit = to_num(k * x > 1.0);
";
    let folder = Folder::new().file("h.rml", text).file("x.json", r#"{"x": [2.0]}"#);
    let run = folder.rml("grad h.rml --loss hit --inputs x.json");
    assert!(run.err.contains("warning[zero-gradient]") && run.err.contains("`hit`"), "{}", run.err);
    assert!(!folder.rml("grad h.rml --loss loss --inputs x.json").err.contains("zero-gradient"));
    folder.rml("grad h.rml --inputs x.json --check").fails(2, &["`rml gradcheck FILE`"]);
}

#[test]
fn words_are_classes_as_in_the_training() {
    let text = "import std.layers;
import std.losses;
node net(x: num [batch, 2]) -> (o: num [batch, 2])
  o = dense(2, x);
node train(x: num [batch, 2], y: int [batch]) -> (loss: num [])
  o, _ = diff_net(x, true, do);
  loss, do = diff_cross_entropy(o, y, true, -0.1);
node infer(x: num [batch, 2], y: int [batch]) -> (loss: num [])
  o = net(x);
  loss = cross_entropy(o, y);
";
    let data = "x[0],x[1],y\n1,2,on\n3,1,off\n0,1,on\n2,1,off\n";
    let folder = Folder::new().file("w.rml", text).file("d.csv", data);
    folder.rml("train w.rml --data d.csv --epochs 1 --test 0 --save w.safetensors").ok();
    let row = "{\"x\": [[[1, 2]], [[3, 1]]], \"y\": [[\"on\"], [\"off\"]]}";
    let folder = folder.file("i.json", row);
    for command in ["grad", "gradcheck"] {
        folder
            .rml(&format!("{command} w.rml --node infer --batch 1 --inputs i.json --params w.safetensors"))
            .ok();
    }
    let run = folder.rml("grad w.rml --node infer --batch 2 --inputs d.csv --params w.safetensors");
    assert!(!run.err.contains("declare the input as"), "{}", run.err);
}

/// A step that does not change a number, or moves it out of range, would compare nothing.
#[test]
fn steps_and_tolerances_have_a_range() {
    let folder = line();
    for flags in ["--eps 1e300", "--eps 1e-320", "--eps 1.5", "--tolerance 1.0", "--tolerance 1e9"] {
        folder
            .rml(&format!("gradcheck l.rml --inputs i.json {flags}"))
            .fails(1, &["bad-option", "expected a"]);
    }
    for flags in ["--eps 0", "--eps nan", "--tolerance inf"] {
        folder.rml(&format!("gradcheck l.rml --inputs i.json {flags}")).fails(2, &["above 0"]);
    }
    folder.rml("gradcheck l.rml --inputs i.json --eps 1e-4 --tolerance 0.01").ok();
}

/// All commands that compute numbers accept `--f64`.
#[test]
fn every_command_takes_f64() {
    let folder = line();
    for args in [
        "check l.rml --f64",
        "run l.rml --inputs i.json --f64",
        "trace l.rml --inputs i.json --f64",
        "diff l.rml --node line --f64",
        "dump l.rml --after fold --f64",
        "grad l.rml --inputs i.json --f64",
        "gradcheck l.rml --inputs i.json --f64",
    ] {
        folder.rml(args).ok();
    }
    for args in ["train", "infer"] {
        assert!(folder.rml(&format!("{args} --help")).ok().contains("--f64"), "{args}");
    }
}
