//! `train` and `infer`: a line fitted to points, interruption and resumption, streams.

mod support;

use serde_json::{Value, json};
use support::Folder;

const LINE: &str = "
node line(x) -> (o)
  k = param(0.0);
  b = param(0.0);
  o = k * x + b;

node train(x: num [], y: num []) -> (loss)
  o, _ = diff_line(x, true, do);
  do = 0.2 * (y - o);
  loss = (o - y) * (o - y);

node infer(x: num [], y: num []) -> (o, loss)
  o = line(x);
  loss = (o - y) * (o - y);

node predict(x: num []) -> (o)
  o = line(x);
";

/// Points on the line y = 3 x - 1.
fn folder() -> Folder {
    let xs: Vec<f64> = (0..60).map(|i| f64::from(i % 10) / 5.0 - 0.9).collect();
    let ys: Vec<f64> = xs.iter().map(|x| 3.0 * x - 1.0).collect();
    Folder::new().file("line.rml", LINE).file("d.json", json!({"x": xs, "y": ys}).to_string())
}

/// The number after these words in a text.
fn number_after(text: &str, words: &str) -> f64 {
    let rest = text.split_once(words).unwrap_or_else(|| panic!("`{words}` is missing in {text}")).1;
    rest.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(f64::NAN)
}

#[test]
fn training_reports_each_epoch_and_the_test() {
    let run = folder().rml("train line.rml --data d.json --epochs 5 --test 10 --save l.safetensors");
    let err = run.err.clone();
    let out = run.ok();
    assert!(err.contains("50 windows to train on, 10 to test"), "{err}");
    assert_eq!(err.matches("epoch ").count(), 5, "{err}");
    assert!(err.contains("epoch 5/5  loss "), "{err}");
    assert!(number_after(&out, "test loss ") < 1e-3, "{out}");
}

#[test]
fn training_reports_in_json() {
    let folder = folder();
    let out = folder.rml("train line.rml --data d.json --epochs 3 --test 0.25 --message-format json").ok();
    let lines: Vec<Value> = out.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[2]["epoch"], json!(3));
    assert!(lines[2]["test"]["loss"].as_f64() < lines[0]["test"]["loss"].as_f64());
}

#[test]
fn inference_agrees_with_training() {
    let folder = folder();
    let trained = folder.rml("train line.rml --data d.json --epochs 4 --save l.safetensors").ok();
    let inferred = folder.rml("infer line.rml --params l.safetensors --data d.json --out o.json").ok();
    assert_eq!(
        number_after(&trained, "test loss "),
        number_after(&inferred, "test loss "),
        "{trained}{inferred}"
    );
    let outputs: Value = serde_json::from_str(&folder.read("o.json")).expect("JSON");
    assert_eq!(outputs["o"].as_array().map(Vec::len), Some(10), "{outputs}");
    let all = folder.rml("infer line.rml --params l.safetensors --data d.json --split all").ok();
    assert!(all.starts_with("60 windows\n") && all.contains("\nloss "), "{all}");
    folder.rml("infer line.rml --params l.safetensors --data d.json --out o.npz").ok();
    folder
        .rml("infer line.rml --params l.safetensors --data d.json --out o.txt")
        .fails(1, &["unknown-format"]);
}

#[test]
fn a_resumed_training_is_the_unbroken_one() {
    let folder = folder();
    folder.rml("train line.rml --data d.json --epochs 4 --save whole.safetensors").ok();
    folder.rml("train line.rml --data d.json --epochs 2 --save part.safetensors").ok();
    folder
        .rml("train line.rml --data d.json --epochs 4 --resume part.safetensors --save part.safetensors")
        .ok();
    let bytes = |name| std::fs::read(folder.path(name)).expect("a checkpoint");
    assert_eq!(bytes("whole.safetensors"), bytes("part.safetensors"));
}

#[test]
fn streams_answer_each_line_at_once() {
    let folder = folder();
    folder.rml("train line.rml --data d.json --epochs 10 --save l.safetensors").ok();
    let lines = "{\"x\": 1.0}\n\n{\"x\": null}\n{\"x\": 0.0}\n";
    let out = folder.rml_with("infer line.rml --params l.safetensors --stream --node predict", lines).ok();
    let answers: Vec<Value> = out.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    assert_eq!(answers.len(), 3, "{out}");
    let close = |v: &Value, x: f64| v.as_f64().is_some_and(|v| (v - x).abs() < 0.05);
    assert!(
        close(&answers[0]["o"], 2.0) && answers[1]["o"].is_null() && close(&answers[2]["o"], -1.0),
        "{out}"
    );
}

#[test]
fn a_stream_answers_before_the_next_line_comes() {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::Stdio;
    let folder = folder();
    folder.rml("train line.rml --data d.json --epochs 1 --save l.safetensors").ok();
    let mut command = folder.command("infer line.rml --params l.safetensors --stream --node predict");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("rml starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    for cycle in 0..3 {
        writeln!(stdin, "{{\"x\": 0.5}}").expect("rml reads");
        let answer = answers.next().expect("an answer").expect("a line");
        assert!(
            answer.contains(&format!("\"cycle\": {cycle}")) || answer.contains(&format!("\"cycle\":{cycle}")),
            "{answer}"
        );
    }
    drop(stdin);
    assert!(child.wait().expect("rml ends").success());
}

#[test]
fn wrong_requests_are_explained() {
    let folder = folder()
        .file("nan.csv", "x,y\n1.0,NaN\n")
        .file("empty.json", r#"{"x": [], "y": []}"#)
        .file("short.json", r#"{"x": [1.0, 2.0], "y": [1.0]}"#)
        .file("bad.safetensors", "nonsense");
    for (args, code) in [
        ("train line.rml --data none.npz", "unreadable-file"),
        ("train none.rml --data d.json", "unreadable-file"),
        ("train line.rml --data nan.csv", "nan-in-data"),
        ("train line.rml --data empty.json", "empty-data"),
        ("train line.rml --data short.json", "data-shape"),
        ("train line.rml --data d.json --test 60", "bad-option"),
        ("train line.rml --data d.json --batch 4", "no-batch-dimension"),
        ("train line.rml --data d.json --save no/such/x.safetensors", "unwritable-file"),
        ("train line.rml --data d.json --resume bad.safetensors", "malformed-checkpoint"),
        ("train line.rml --data d.json --resume none.safetensors", "unreadable-file"),
        ("infer line.rml --data d.json --params bad.safetensors", "malformed-checkpoint"),
        ("infer line.rml --data d.json --params none.safetensors", "unreadable-file"),
    ] {
        folder.rml(args).fails(1, &[code]);
    }
    folder.rml("train line.rml --data d.json --node nothing").fails(1, &["error[", "nothing"]);
    for args in [
        "train line.rml",
        "train line.rml --data d.json --epochs x",
        "train line.rml --data d.json --test 2.5",
        "train line.rml --data d.json --batch 0",
        "infer line.rml --params p",
        "infer line.rml --params p --data d.json --stream",
        "infer line.rml --data d.json --strict",
        "infer line.rml --params p --data d.json --split some",
        "infer line.rml --params p --stream --out o.npz",
    ] {
        folder.rml(args).fails(2, &["--help"]);
    }
}

#[test]
fn another_program_is_told_apart() {
    let folder = folder();
    folder.rml("train line.rml --data d.json --epochs 1 --save l.safetensors").ok();
    let folder =
        folder.file("other.rml", LINE.replace("param(0.0)", "param(zeros([2]))").replace(" b ", " c "));
    folder.rml("infer other.rml --params l.safetensors --data d.json").fails(1, &["error["]);
    let folder = folder.file("renamed.rml", LINE.replace(" b", " offset"));
    folder.rml("infer renamed.rml --params l.safetensors --data d.json").fails(
        1,
        &[
            "checkpoint-mismatch",
            "line_0.offset",
            "`line_0.b` is present",
            "`b` in the checkpoint is `offset` here",
        ],
    );
    let folder = folder.file("moved.rml", LINE.replace("line(x", "ramp(x"));
    folder
        .rml("infer moved.rml --params l.safetensors --data d.json")
        .fails(1, &["`ramp_0.k`: num []; `line_0.k` is present", "`--params l.safetensors:line_0=ramp_0`"]);
}

#[test]
fn a_checkpoint_of_the_same_program_is_not_told_to_be_of_another() {
    let text = "
node net(units, x: num []) -> (o)
  k = param(zeros([units]));
  o = sum(k * x);
node train(units, x: num [], y: num []) -> (loss)
  o, _ = diff_net(units, x, true, 0.1 * (y - o));
  loss = (o - y) * (o - y);
node sizes(x: num []) -> (o)
  o = net(3, x);
";
    let folder = folder().file("p.rml", text);
    folder.rml("train p.rml --data d.json --epochs 1 --no-shuffle --set units=2 --save s").ok();
    let run = folder.rml("infer p.rml --node sizes --data d.json --params s");
    let run = run.fails(1, &["checkpoint-mismatch", "expected num [3]", "was made with `--set units=2`"]);
    assert!(!run.err.contains("another version"), "{}", run.err);
}

#[test]
fn states_with_other_rows_are_left_to_fresh() {
    let text = |rows: u32| {
        format!(
            "
node net(x: num []) -> (o)
  k = param(1.0);
  before = zeros([{rows}]) fby (before + x);
  o = k * sum(before);
node train(x: num [], y: num []) -> (loss)
  o, _ = diff_net(x, true, 0.001 * (y - o));
  loss = (o - y) * (o - y);
node infer(x: num []) -> (o)
  o = net(x);
"
        )
    };
    let folder = folder().file("p.rml", text(2)).file("q.rml", text(3));
    folder.rml("train p.rml --data d.json --epochs 1 --no-shuffle --save s").ok();
    let infer = "infer q.rml --data d.json --params s";
    folder.rml(infer).fails(1, &["checkpoint-mismatch", "expected num [3]", "`--fresh` takes them alone"]);
    folder.rml(&format!("{infer} --fresh")).ok();
}
