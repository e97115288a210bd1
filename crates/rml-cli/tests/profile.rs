//! `--profile`: a table on standard error and a trace file, for every command that runs programs and every engine.

mod support;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use support::{Folder, Run};

const LINE: &str = "
node line(x) -> (o)
  k = param(0.0);
  o = k * x;

node train(x: num [], y: num [], end: bool []) -> (loss)
  o, _ = diff_line(x, true, 0.02 * (y - o)) every end;
  loss = (o - y) * (o - y);

node infer(x: num []) -> (o)
  o = line(x);
";

/// A program with a line that takes most of the time, and one that takes little.
const HEAVY: &str = "node main() -> (heavy, light)
  n = 0.0 fby n + 1.0;
  heavy = sum(matmul(broadcast([300, 300], n), broadcast([300, 300], n)));
  light = n * 2.0;
";

fn folder() -> Folder {
    let xs: Vec<Vec<f64>> = (0..12).map(|i| vec![f64::from(i) / 12.0; 5]).collect();
    let data = json!({"x": xs, "y": xs}).to_string();
    Folder::new().file("line.rml", LINE).file("heavy.rml", HEAVY).file("d.json", data)
}

/// The events of a trace in Perfetto's format: complete events with names, in order of time, that nest or follow one
/// another.
#[track_caller]
fn events(text: &str) -> Vec<Value> {
    let trace: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(trace["otherData"]["events_left_out"], json!(0));
    let mut events = trace["traceEvents"].as_array().expect("a list").clone();
    assert_eq!(events.remove(0)["ph"], json!("M"));
    let nanos = |v: &Value| (v.as_f64().expect("a time") * 1000.0).round();
    let (mut last, mut open) = (0.0, Vec::new());
    for event in &events {
        assert_eq!(event["ph"], json!("X"));
        assert!(!event["name"].as_str().expect("a name").is_empty());
        assert!(!event["cat"].as_str().expect("a kind").is_empty());
        let (start, dur) = (nanos(&event["ts"]), nanos(&event["dur"]));
        assert!(start >= last && dur >= 0.0, "{event}");
        last = start;
        while open.last().is_some_and(|end| *end <= start) {
            open.pop();
        }
        assert!(open.last().is_none_or(|end| start + dur <= *end), "{event} is not within {open:?}");
        open.push(start + dur);
    }
    events
}

fn names(events: &[Value]) -> BTreeSet<&str> {
    events.iter().filter_map(|event| event["name"].as_str()).collect()
}

#[test]
fn every_command_is_measured_on_every_engine() {
    let folder = folder();
    for engine in ["plan", "sim"] {
        let commands = [
            format!("train line.rml --data d.json --epochs 2 --save l.safetensors --engine {engine}"),
            format!("infer line.rml --data d.json --params l.safetensors --engine {engine}"),
            format!("run heavy.rml --cycles 6 --engine {engine}"),
        ];
        for (command, place) in commands.iter().zip(["line.rml:4", "line.rml:4", "heavy.rml:3"]) {
            let (plain, saved) = (folder.rml(command), std::fs::read(folder.path("l.safetensors")));
            let table = folder.rml(&format!("{command} --profile"));
            let traced = folder.rml(&format!("{command} --profile=t.json"));
            for run in [&table, &traced] {
                assert_eq!(run.out, plain.out, "{command}");
                assert!(run.err.contains(place) && run.err.contains("(compilation)"), "{}", run.err);
                assert!(run.err.contains("100.0 %"), "{}", run.err);
            }
            let events = events(&folder.read("t.json"));
            let names = names(&events);
            assert!(names.contains("run") && names.contains("compilation"), "{names:?}");
            assert!(names.iter().any(|name| name.contains(place)), "{command}: {names:?}");
            let again = std::fs::read(folder.path("l.safetensors"));
            assert_eq!(saved.expect("a checkpoint"), again.expect("a checkpoint"), "{command}");
        }
    }
}

#[test]
fn a_stream_is_measured() {
    let folder = folder();
    folder.rml("train line.rml --data d.json --epochs 1 --save l.safetensors").ok();
    let lines = "{\"x\": 1.0}\n".repeat(20);
    let command = "infer line.rml --stream --params l.safetensors";
    let plain = folder.rml_with(command, &lines);
    let run = folder.rml_with(&format!("{command} --profile=t.json"), &lines);
    assert_eq!(plain.out, run.out);
    let events = events(&folder.read("t.json"));
    assert_eq!(events.iter().filter(|event| event["name"] == "run").count(), 20);
}

fn profile(run: &Run) -> Value {
    let mut lines = run.err.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let profile = lines.find_map(|line| line.get("profile").cloned());
    profile.unwrap_or_else(|| panic!("no profile in {}", run.err))
}

#[test]
fn the_rows_add_up_to_the_total_and_the_heavy_line_is_the_first() {
    let folder = folder();
    for engine in ["plan", "sim"] {
        let command = format!("run heavy.rml --cycles 12 --engine {engine}");
        let run = folder.rml(&format!("{command} --profile --message-format json"));
        let profile = profile(&run);
        let rows = |key: &str| profile[key].as_array().expect("rows").clone();
        let ms = |row: &Value| row["ms"].as_f64().expect("a time");
        let sum: f64 = rows("lines").iter().chain(&rows("other")).map(ms).sum();
        let total = profile["total_ms"].as_f64().expect("a time");
        assert!((sum - total).abs() < 1e-6 * total, "{sum} of {total}");
        let lines = rows("lines");
        assert_eq!(lines[0]["line"], json!(3), "{engine}: {lines:?}");
        assert_eq!(lines[0]["text"], json!(HEAVY.lines().nth(2).map(str::trim)));
        assert!(lines[0]["operators"].get("matmul").is_some(), "{lines:?}");
        assert!(lines.iter().any(|line| line["line"] == json!(4)), "{lines:?}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_known_before_the_run() {
    let folder = folder();
    let train = "train line.rml --data d.json --epochs 1 --save l.safetensors";
    folder.rml(&format!("{train} --profile=missing/t.json")).fails(1, &["unwritable-file"]);
    folder.rml(&format!("{train} --profile=line.rml")).fails(1, &["output-is-input"]);
    folder.rml(&format!("{train} --profile=l.safetensors")).fails(1, &["bad-option"]);
    assert!(!folder.path("l.safetensors").exists());
    folder.rml("run heavy.rml --cycles 3 --profile=heavy.rml").fails(1, &["output-is-input"]);
    folder.rml("infer line.rml --data d.json --profile=d.json").fails(1, &["output-is-input"]);
}

#[test]
fn a_run_that_fails_is_measured_up_to_there() {
    let text = "node main() -> (n)\n  n = 1 fby n * 2;\n";
    let folder = Folder::new().file("grow.rml", text);
    let run = folder.rml("run grow.rml --cycles 100 --profile=t.json");
    let run = run.fails(1, &["integer-overflow", "grow.rml:2", "(total)"]);
    assert!(run.out.contains("\"cycles\": 100"), "what was computed is printed: {}", run.out);
    assert!(!events(&folder.read("t.json")).is_empty());
}
