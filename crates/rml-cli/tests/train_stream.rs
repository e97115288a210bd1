//! `rml train --stream`: lines are answered at once and learned from, as offline; the learned parameters are saved and
//! resumed; wrong lines change nothing.

mod support;

use serde_json::{Value, json};
use support::Folder;

/// A line through points, cycle by cycle; `guess` is known without `y`.
const LINE: &str = "
node line(x) -> (o)
  k = param(glorot_uniform([1, 1])[0, 0]);
  o = k * x;

node train(rate, x: num [], y: num []) -> (guess, loss)
  guess, _ = diff_line(x, true, rate * (y - guess));
  loss = (guess - y) * (guess - y);
";

/// The same, updated at the end of windows: the output is known at once, the gradient only at the end.
const WINDOWS: &str = "
node line(x) -> (o)
  k = param(glorot_uniform([1, 1])[0, 0]);
  o = k * x;

node train(x: num [], y: num [], end: bool []) -> (guess)
  guess, _ = diff_line(x, true, 0.3 * (y - guess)) every end;
";

const TRAIN: &str = "train l.rml --stream --set rate=0.3";

fn folder() -> Folder {
    Folder::new().file("l.rml", LINE).file("w.rml", WINDOWS)
}

fn line(i: usize) -> Value {
    let x = (i as f64 * 0.7).sin();
    json!({"x": x, "y": 3.0 * x})
}

fn lines(range: std::ops::Range<usize>) -> String {
    range.map(|i| line(i).to_string() + "\n").collect()
}

/// The lines of windows of four cycles.
fn windows(range: std::ops::Range<usize>) -> String {
    let line = |i: usize| {
        let mut line = line(i);
        line["end"] = json!(i % 4 == 3);
        line.to_string() + "\n"
    };
    range.map(line).collect()
}

fn values(out: &str, key: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")[key].clone()).collect()
}

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    std::fs::read(folder.path(name)).expect("a file")
}

#[test]
fn answers_are_those_of_the_offline_run() {
    for engine in ["plan", "sim"] {
        let rows: Vec<Value> = (0..40).map(line).collect();
        let folder = folder().file("d.json", Value::Array(rows).to_string());
        let out = folder.rml_with(&format!("{TRAIN} --engine {engine} --seed 5"), &lines(0..40)).ok();
        let run = folder.rml("run l.rml --node train --set rate=0.3 --seed 5 --inputs d.json").json();
        for key in ["guess", "loss"] {
            assert_eq!(
                &values(&out, key),
                run["values"][key].as_array().expect("a column"),
                "{engine}: {key}"
            );
        }
        let losses: Vec<f64> = values(&out, "loss").iter().map(|x| x.as_f64().expect("a number")).collect();
        assert!(losses[30..].iter().sum::<f64>() < 0.01 * losses[..10].iter().sum::<f64>(), "{losses:?}");
    }
}

#[test]
fn a_resumed_stream_goes_on_bit_by_bit() {
    for (train, input) in [(TRAIN, lines as fn(_) -> _), ("train w.rml --stream", windows)] {
        let folder = folder();
        let train = format!("{train} --report 8");
        let whole =
            folder.rml_with(&format!("{train} --save whole.safetensors --log whole"), &input(0..40)).ok();
        let first =
            folder.rml_with(&format!("{train} --save part.safetensors --log part"), &input(0..20)).ok();
        let resumed = format!("{train} --resume part.safetensors --save part.safetensors --log part");
        let second = folder.rml_with(&resumed, &input(20..40)).ok();
        assert_eq!([values(&first, "guess"), values(&second, "guess")].concat(), values(&whole, "guess"));
        assert!(bytes(&folder, "whole.safetensors") == bytes(&folder, "part.safetensors"), "{train}");
        let reports = |log: &str| {
            let text = folder.read(&format!("{log}/metrics.jsonl"));
            let report = |line: &str| {
                let line: Value = serde_json::from_str(line).expect("JSON");
                (line["report"].clone(), line["cycles"].clone(), line["train"].clone())
            };
            text.lines().map(report).collect::<Vec<_>>()
        };
        assert_eq!(reports("whole").len(), 5);
        assert_eq!(reports("part"), reports("whole"));
    }
}

#[test]
fn what_is_saved_is_where_a_window_ended() {
    let folder = folder();
    let train = "train w.rml --stream --save w.safetensors";
    folder.rml_with(train, &windows(0..12)).ok();
    let whole = bytes(&folder, "w.safetensors");
    let run = folder.rml_with(train, &windows(0..15));
    assert!(run.err.contains("the last 3 cycles are not in the checkpoint"), "{}", run.err);
    assert_eq!(values(&run.ok(), "cycle").len(), 15, "answered they are");
    assert!(bytes(&folder, "w.safetensors") == whole);
    // Lines that end no window do not change the initial parameters.
    let run =
        folder.rml_with("train w.rml --stream --resume w.safetensors --save w.safetensors", &windows(0..2));
    assert!(run.err.contains("the last 2 cycles are not in the checkpoint"), "{}", run.err);
    run.ok();
    assert!(bytes(&folder, "w.safetensors") == whole);
}

#[test]
fn refused_lines_change_nothing() {
    let folder = folder();
    folder.rml_with(&format!("{TRAIN} --save whole.safetensors"), &lines(0..6)).ok();
    let wrong = [
        ("garbage", "malformed-data"),
        ("[1, 2]", "malformed-data"),
        ("{\"x\": 1.0}", "missing-input"),
        ("{\"x\": \"one\", \"y\": 1.0}", "input-type"),
        ("{\"x\": [1.0], \"y\": 1.0}", "input-type"),
        ("{\"x\": \"NaN\", \"y\": 1.0}", "nan-in-data"),
        ("{\"x\": NaN, \"y\": 1.0}", "malformed-data"),
        ("{\"z\": 1.0}", "missing-input"),
        ("{\"x\": 1.0, \"y\": 1.0", "malformed-data"),
    ];
    let mut input = lines(0..3);
    wrong.iter().for_each(|(line, _)| input += &format!("{line}\n\n"));
    input += &lines(3..6);
    let run = folder.rml_with(&format!("{TRAIN} --save s.safetensors"), &input);
    let run = run.fails(1, &["9 lines of standard input were answered with an error"]);
    let answers: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for (i, (line, code)) in wrong.iter().enumerate() {
        let answer = &answers[3 + i];
        assert_eq!((&answer["line"], &answer["error"]["code"]), (&json!(4 + 2 * i), &json!(code)), "{line}");
    }
    assert_eq!(answers[12]["cycle"], 3);
    assert!(bytes(&folder, "s.safetensors") == bytes(&folder, "whole.safetensors"));
    let strict = lines(0..6) + "{}\n" + &lines(6..9);
    let run = folder.rml_with(&format!("{TRAIN} --strict --save s.safetensors"), &strict);
    run.fails(1, &["missing-input", "line 7 of standard input", "`x`, `y`"]);
    assert!(bytes(&folder, "s.safetensors") == bytes(&folder, "whole.safetensors"), "the lines before count");
    let run = folder.rml_with(&format!("{TRAIN} --strict"), "{\"x\": 1.0, \"label\": 1.0}\n");
    run.fails(1, &["missing-input", "`label` is no input: rename it to `y`"]);
}

#[test]
fn what_diverges_does_not_replace_what_was_saved() {
    let folder = folder();
    folder.rml_with(&format!("{TRAIN} --save s.safetensors --report 2"), &lines(0..6)).ok();
    let before = bytes(&folder, "s.safetensors");
    let huge = "{\"x\": 1e30, \"y\": 1.0}\n";
    let resume = "train l.rml --stream --resume s.safetensors --save s.safetensors --report 2";
    let run = folder.rml_with(resume, &huge.repeat(8)).fails(1, &["diverged", "nothing was saved"]);
    assert!(run.out.lines().count() < 8, "{}", run.out);
    assert!(bytes(&folder, "s.safetensors") == before);
    // The outputs do not show the update, but the parameters do.
    let hidden = LINE
        .replace("loss)", "far: int [])")
        .replace("loss = (guess - y) * (guess - y)", "far = if guess > y then 1 else 0");
    let folder = folder.file("l.rml", hidden.replace("(guess, far", "(far"));
    folder.rml_with(&format!("{TRAIN} --save s.safetensors --report 2"), &lines(0..6)).ok();
    let before = bytes(&folder, "s.safetensors");
    folder.rml_with(resume, &huge.repeat(3)).fails(1, &["diverged", "parameter `line_0.k`"]);
    assert!(bytes(&folder, "s.safetensors") == before);
}

#[test]
fn it_ends_where_it_is_told_to() {
    let folder = folder();
    let ends = |flags: &str| {
        let run = folder.rml_with(&format!("{TRAIN} {flags}"), &lines(0..400));
        (values(&run.out, "cycle").len(), run)
    };
    let (answers, run) = ends("--cycles 25 --report 10 --message-format json");
    assert_eq!(answers, 25);
    let reports: Vec<Value> = run.err.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(reports.iter().map(|r| r["cycles"].clone()).collect::<Vec<_>>(), [10, 20, 25]);
    // All cycles were trained before.
    folder.rml_with(&format!("{TRAIN} --cycles 5 --save s"), &lines(0..9)).ok();
    let (answers, run) = ends("--cycles 5 --resume s");
    assert_eq!(answers, 0);
    run.ok();
    let (answers, run) = ends("--until 'loss < 0.001' --report 10");
    assert!((20..400).contains(&answers), "{answers}");
    run.ok();
    let (answers, run) = ends("--until 'loss < 0.0' --report 10");
    assert_eq!(answers, 400);
    run.fails(1, &["goal-missed"]);
    let (answers, run) = ends("--patience 2 --best b.safetensors --report 10 --plot c.svg");
    assert!(answers < 400 && run.err.contains("without a better one"), "{}", run.err);
    assert!(folder.path("b.safetensors").exists() && folder.read("c.svg").contains("<polyline"));
    for flags in [
        "--data d.json",
        "--windows 3",
        "--test 2",
        "--epochs 2",
        "--runs r --seeds 0..2",
        "--evaluate train",
    ] {
        folder.rml_with(&format!("{TRAIN} {flags}"), "").fails(2, &["cannot be used with"]);
    }
    folder.rml_with("train l.rml --cycles 3 --strict", "").fails(2, &["--stream"]);
    folder.rml_with("train l.rml --stream --until 'los < 1'", "").fails(1, &["unknown-metric", "`loss`"]);
    folder.rml_with("train l.rml --stream --save no/folder", "").fails(1, &["unwritable-file"]);
}

/// If the reader of the answers closes the pipe, the learned parameters are saved.
#[cfg(unix)]
#[test]
fn without_a_reader_it_is_saved() {
    let folder = folder().file("lines", lines(0..4000));
    let command = format!("rml {TRAIN} --save s.safetensors < lines | head -3");
    let run = folder.shell(&command).output().expect("a shell");
    assert_eq!(String::from_utf8(run.stdout).expect("UTF-8").lines().count(), 3);
    folder.rml_with("train l.rml --stream --resume s.safetensors", "").ok();
}

#[test]
fn stacked_rows_are_those_of_several_clients() {
    let program = LINE
        .replace("x: num [], y: num []", "x: num [batch], y: num [batch]")
        .replace("loss = (guess - y) * (guess - y)", "loss = sum((guess - y) * (guess - y))");
    let folder = Folder::new().file("l.rml", program);
    let one = folder.rml_with(&format!("{TRAIN} --save s.safetensors"), &lines(0..3)).ok();
    assert!(values(&one, "guess")[0].is_number(), "{one}");
    let lines = "{\"x\": [0.5, 0.25], \"y\": [1.0, 2.0]}\n".repeat(3);
    let two = folder.rml_with(&format!("{TRAIN} --batch 2 --save t.safetensors"), &lines).ok();
    assert_eq!(values(&two, "guess")[0].as_array().map(Vec::len), Some(2), "{two}");
    let two = folder.rml_with("train l.rml --stream --resume t.safetensors", &lines).ok();
    assert_eq!(values(&two, "guess")[0].as_array().map(Vec::len), Some(2), "{two}");
}

/// Runs if `RML_GYMNASIUM` names a Python with Gymnasium, as `cargo xtask environments` sets it: the agent of the
/// examples learns to balance Gymnasium's pole longer, and its answers equal the offline answers to the same lines.
#[test]
fn a_pole_of_gymnasium_is_balanced() {
    let Some(python) = std::env::var_os("RML_GYMNASIUM") else { return };
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let agent = examples.join("agent.rml");
    // A wrapper records the input and the output.
    let folder = Folder::new().file("recorded", "#!/bin/sh\ntee lines | rml \"$@\" | tee answers\n");
    std::fs::copy(&agent, folder.path("agent.rml")).expect("a copy");
    let script = examples.join("python/cartpole.py");
    let mut command =
        folder.shell("chmod +x recorded && exec \"$0\" \"$1\" ./recorded agent.rml 5000 --report 5000");
    let run = command.arg(&python).arg(script).output().expect("a shell");
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{out}{err}");
    let numbers: Vec<f64> =
        out.split_whitespace().rev().take(2).map(|word| word.parse().expect("a number")).collect();
    let [last, first] = numbers[..] else { panic!("{out}") };
    assert!(first < 40.0 && last > 80.0, "{out}");
    let offline = folder.rml_with("train agent.rml --stream --report 5000", &folder.read("lines")).ok();
    assert!(folder.read("answers") == offline, "{out}");
}
