//! A command reads a program once, and elaborates and differentiates each node of it once for each number of stacked
//! windows.

mod support;

use support::{Folder, LINE};

/// A line through points, in stacked windows.
const STACKED: &str = "
node line(x) -> (o)
  k = param(0.0);
  o = k * x;

node train(x: num [batch], y: num [batch]) -> (loss)
  o, _ = diff_line(x, true, 0.3 * (y - o));
  loss = mean((o - y) * (o - y));
";

/// A node that makes its own data, and the node that evaluates it.
const FREE: &str = "
node moving() -> (k)
  k = param(0.0);

node train() -> (loss)
  k = diff_moving(true, 1.0);
  loss = (k - 2.0) * (k - 2.0);

node evaluate() -> (k)
  k = moving();
";

fn folder() -> Folder {
    let data = r#"{"x": [0.1, 0.4, -0.3, 0.9, 0.6], "y": [0.3, 1.0, -1.0, 2.5, 2.0]}"#;
    Folder::new().file("l.rml", LINE).file("s.rml", STACKED).file("f.rml", FREE).file("d.json", data)
}

/// How often a command reads texts and binds their names, elaborates a node, and differentiates one.
#[track_caller]
fn counts(folder: &Folder, args: &str, input: &str) -> [usize; 3] {
    let run = folder.run(args, &[("RML_LOG", "rml_elab=debug,rml_autodiff=debug")], input);
    let count =
        |span: &str| run.err.lines().filter(|line| line.contains(span) && line.contains("close")).count();
    let counts = ["resolve", "instantiate", "differentiate"].map(count);
    run.ok();
    counts
}

#[test]
fn check_makes_each_node_once() {
    let folder = folder();
    assert_eq!(counts(&folder, "check l.rml", ""), [1, 2, 2], "`train` and `infer`");
    assert_eq!(counts(&folder, "check l.rml --explain", ""), [1, 2, 2]);
    assert_eq!(counts(&folder, "check l.rml --node train", ""), [1, 1, 1]);
    assert_eq!(counts(&folder, "check s.rml", ""), [1, 2, 1], "types for one window, and for many");
    assert_eq!(counts(&folder, "check l.rml s.rml f.rml", ""), [3, 6, 5]);
}

#[test]
fn training_makes_each_node_once() {
    let folder = folder();
    let train = |args: &str| counts(&folder, &format!("train {args}"), "");
    assert_eq!(train("l.rml --data d.json --epochs 2"), [1, 2, 2], "`train` and `infer`");
    let files = "--save c.safetensors --best b.safetensors --patience 9 --log log --plot p.svg";
    assert_eq!(train(&format!("l.rml --data d.json --epochs 2 {files}")), [1, 2, 2]);
    assert_eq!(train("s.rml --data d.json --test 1 --batch 2 --epochs 2"), [1, 2, 1], "2 windows, and many");
    assert_eq!(
        train("s.rml --data d.json --test 1 --batch 3 --epochs 2"),
        [1, 4, 2],
        "3 windows, 1, and many"
    );
    assert_eq!(train("f.rml --windows 4 --save f.safetensors"), [1, 2, 2], "`train` and `evaluate`");
    assert_eq!(train("f.rml --windows 8 --resume f.safetensors"), [1, 2, 2]);
    let lines = "{\"x\": 1.0, \"y\": 2.0}\n{\"x\": 2.0, \"y\": 4.0}\n";
    assert_eq!(counts(&folder, "train l.rml --stream --save s.safetensors", lines), [1, 1, 1]);
}
