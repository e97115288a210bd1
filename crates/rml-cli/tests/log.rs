//! The log of `rml train`: its content, also after interruptions, and refusals. Its learning curves.

mod support;

use std::process::Command;

use serde_json::{Value, json};
use support::{Folder, LINE};

/// The loss of report N is (N - 3)²; the evaluation gives `k`.
const PARABOLA: &str = "
node moving() -> (k)
  k = param(0.0);

node train() -> (loss, root)
  k = diff_moving(true, 1.0);
  loss = (k - 2.0) * (k - 2.0);
  root = sqrt(0.0 - k);

node evaluate() -> (k)
  k = moving();
";

fn folder() -> Folder {
    Folder::new()
        .file("p.rml", PARABOLA)
        .file("l.rml", LINE)
        .file("d.json", json!({"x": [0.1, 0.4, -0.3, 0.9, 0.6], "y": [0.3, 1.0, -1.0, 2.5, 2.0]}).to_string())
}

/// The lines of a log, without times.
fn lines(folder: &Folder, log: &str) -> Vec<Value> {
    let text = folder.read(&format!("{log}/metrics.jsonl"));
    let line = |line: &str| {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        let entries = line.as_object_mut().expect("an object");
        for of_the_clock in ["time", "seconds"] {
            let value = entries.remove(of_the_clock).and_then(|x| x.as_f64());
            assert!(value.is_some_and(|x| x > 0.0), "{text}");
        }
        line
    };
    text.lines().map(line).collect()
}

/// The cells of the table, without times.
fn table(folder: &Folder, log: &str) -> Vec<String> {
    let text = folder.read(&format!("{log}/metrics.csv"));
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let keeps = |column: &usize| !["time", "seconds"].contains(&rows[0][*column]);
    let kept = |row: &Vec<&str>| (0..row.len()).filter(keeps).map(|i| row[i]).collect::<Vec<_>>().join(",");
    rows.iter().map(kept).collect()
}

#[test]
fn a_log_has_what_is_reported() {
    let folder = folder();
    let flags = "--validate 1 --test 1 --epochs 3 --no-shuffle";
    folder.rml(&format!("train l.rml --data d.json {flags} --log runs/a")).ok();
    let reported = folder.rml(&format!("train l.rml --data d.json {flags} --message-format json")).ok();
    let reported = reported.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        line.as_object_mut().expect("an object").remove("seconds");
        line
    });
    let reported: Vec<Value> = reported.collect();
    assert_eq!(lines(&folder, "runs/a"), reported);
    let table = table(&folder, "runs/a");
    assert_eq!(table[0], "epoch,loss,validation.loss,test.loss");
    let cell = |of: &str| reported[2][of]["loss"].to_string();
    assert_eq!(table[3], format!("3,{},{},{}", cell("train"), cell("validation"), cell("test")));
    let run: Value = serde_json::from_str(&folder.read("runs/a/run.json")).expect("JSON");
    assert_eq!((&run["node"], &run["seed"]), (&json!("train"), &json!(0)));
}

#[test]
fn what_is_not_finite_is_logged_and_a_part_of_a_report_too() {
    let folder = folder();
    folder.rml("train p.rml --report 2 --windows 3 --allow-nan --log a").ok();
    let rows = ["report,windows,cycles,loss,root,test.k", "1,2,2,2.5,NaN,2.0", "2,3,3,0.0,NaN,"];
    assert_eq!(table(&folder, "a"), rows);
    assert_eq!(lines(&folder, "a")[0]["train"], json!({"loss": 2.5, "root": "NaN"}));
}

#[test]
fn the_log_of_a_resumed_run_is_that_of_the_unbroken_one() {
    let folder = folder();
    let train = |flags: &str| folder.rml(&format!("train p.rml --report 2 --allow-nan {flags}")).ok();
    train("--windows 12 --log whole");
    train("--windows 5 --log part --save s --save-every 2");
    train("--windows 10 --log part --resume s");
    let at_its_end = folder.read("part/metrics.jsonl") + r#"{"report": 6, "ti"#;
    std::fs::write(folder.path("part/metrics.jsonl"), at_its_end).expect("a file");
    train("--windows 12 --log part --resume s");
    assert_eq!(lines(&folder, "part"), lines(&folder, "whole"));
    assert_eq!(table(&folder, "part"), table(&folder, "whole"));
    train("--windows 12 --log late --resume s");
    assert_eq!(lines(&folder, "late")[..], lines(&folder, "whole")[2..], "a log may begin later");
}

#[test]
fn logs_of_other_runs_stay_as_they_are() {
    let folder = folder().file("file", "text");
    let train = |flags: &str| folder.rml(&format!("train p.rml --report 1 --windows 4 --allow-nan {flags}"));
    train("--log a --save s").ok();
    let before = folder.read("a/metrics.jsonl");
    train("--log a").fails(1, &["log-exists", "--resume FILE"]);
    train("--log b --seed 3 --save other").ok();
    train("--log a --resume other").fails(1, &["resume-mismatch", "another run", "\"seed\":3"]);
    assert_eq!(folder.read("a/metrics.jsonl"), before);
    train("--log file").fails(1, &["unwritable-file", "file"]);
    train("--log file/in/it").fails(1, &["unwritable-file", "file/in/it"]);
    train("--log c --metric k:max --best x --until 'no > 1'").fails(1, &["unknown-metric"]);
    assert!(!folder.path("c").exists(), "what is wrong is said before anything is written");
    std::fs::write(folder.path("a/metrics.jsonl"), "nonsense\n{}\n").expect("a file");
    train("--log a --resume s").fails(1, &["malformed-data", "line 1"]);
    assert_eq!(folder.read("a/metrics.jsonl"), "nonsense\n{}\n");
}

/// No file may be larger than two blocks, as on a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_the_training_and_loses_nothing() {
    let folder = folder();
    let train = "train p.rml --report 1 --windows 40 --allow-nan --save s";
    let limited = format!("trap '' XFSZ; ulimit -f 8; exec rml {train} --save-every 0 --log a");
    let run = folder.shell(&limited).output().expect("a shell");
    let err = String::from_utf8(run.stderr).expect("UTF-8");
    assert_eq!(run.status.code(), Some(1), "{err}");
    assert!(err.contains("unwritable-file") && err.contains("is saved in s"), "{err}");
    let logged = lines(&folder, "a").len();
    assert!((5..40).contains(&logged), "{logged} lines, each of them whole");
    assert!(
        err.contains(&format!("\"report\":{}", logged + 1)),
        "what is not in the log is in the message: {err}"
    );
    folder.rml(&format!("{train} --log a --resume s")).ok();
    folder.rml(&format!("{train} --log whole")).ok();
    let (whole, resumed) = (lines(&folder, "whole"), lines(&folder, "a"));
    assert_eq!(
        (whole.len(), resumed.len()),
        (40, 39),
        "the line that did not fit is the only one that is missing"
    );
    assert_eq!((&whole[..logged], &whole[logged + 1..]), (&resumed[..logged], &resumed[logged..]));
}

#[test]
fn learning_curves_are_drawn_however_the_training_ends() {
    let diverging = PARABOLA.replace("0.0 - k", "3.0 - k");
    let folder = folder().file("diverging.rml", diverging);
    folder.rml("train l.rml --data d.json --validate 1 --epochs 4 --plot c.svg").ok();
    let svg = folder.read("c.svg");
    for shown in [">loss<", ">train<", ">validation<", ">test<", ">epoch<"] {
        assert_eq!(svg.matches(shown).count(), 1, "{shown} in {svg}");
    }
    assert_eq!(svg.matches("<polyline").count(), 3, "{svg}");
    folder.rml("train diverging.rml --report 1 --windows 9 --plot d.svg").fails(1, &["diverged", "report 5"]);
    let svg = folder.read("d.svg");
    let curve = svg.split("points=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a curve");
    assert_eq!(curve.split(' ').count(), 4, "the reports before: {svg}");
    folder.rml("train l.rml --data d.json --plot c.png").fails(2, &["ends with .svg"]);
    folder.rml("train l.rml --data d.json --plot no/folder/c.svg").fails(1, &["unwritable-file"]);
}

#[test]
fn a_log_tells_what_parameters_are_like() {
    let folder = folder();
    let train = |flags: &str| folder.rml(&format!("train p.rml --report 2 --allow-nan --stats {flags}"));
    let run = train("--windows 4 --log a --save s");
    assert!(run.err.contains("parameters 2.0000  update 2.0000  gradient 1.0000"), "{}", run.err);
    run.ok();
    train("--windows 5 --log a --resume s").ok();
    // `k` is N after window N.
    let stats = |log: &str| {
        lines(&folder, log).iter().map(|line| line["parameters"]["moving_0.k"].clone()).collect::<Vec<_>>()
    };
    let expected =
        |k: f64, update: f64| json!({"mean": k, "std": 0.0, "norm": k, "update": update, "gradient": 1.0});
    assert_eq!(stats("a"), [expected(2.0, 2.0), expected(4.0, 2.0), expected(5.0, 1.0)]);
    let table = table(&folder, "a");
    let columns = ",test.k,parameters.norm,parameters.update,parameters.gradient,\
                   moving_0.k.mean,moving_0.k.std,moving_0.k.norm,moving_0.k.update,moving_0.k.gradient";
    assert!(table[0].ends_with(columns), "{}", table[0]);
    assert!(table[3].ends_with(",5.0,1.0,1.0,5.0,0.0,5.0,1.0,1.0"), "{}", table[3]);
    let events = std::fs::read(folder.path("a/events.out.tfevents.rml")).expect("events");
    for tag in ["parameters/moving_0.k/update", "parameters/moving_0.k/gradient", "parameters/gradient"] {
        let found = events.windows(tag.len()).filter(|bytes| *bytes == tag.as_bytes()).count();
        assert_eq!(found, 3, "{tag}");
    }
    // Recording statistics changes no results.
    train("--windows 5 --save t --log b").ok();
    folder.rml("train p.rml --report 2 --allow-nan --windows 5 --save u").ok();
    let bytes = |name: &str| std::fs::read(folder.path(name)).expect("a checkpoint");
    assert!(bytes("t") == bytes("u"));
    // Two elements: 3 and 5.
    let two = PARABOLA
        .replace("param(0.0)", "param([2.0, 4.0])")
        .replace("loss, root", "loss")
        .replace("  root = sqrt(0.0 - k);\n", "")
        .replace("diff_moving(true, 1.0)", "diff_moving(true, [1.0, 1.0])")
        .replace("(k - 2.0) * (k - 2.0)", "sum(k)");
    let folder = folder.file("two.rml", two);
    let out = folder.rml("train two.rml --windows 1 --report 1 --stats --test 0 --message-format json").ok();
    let line: Value = serde_json::from_str(out.lines().next().expect("a line")).expect("JSON");
    let stats = &line["parameters"]["moving_0.k"];
    assert_eq!((&stats["mean"], &stats["std"]), (&json!(4.0), &json!(1.0)));
    assert_eq!((&stats["norm"], &stats["update"]), (&json!(34.0_f64.sqrt()), &json!(2.0_f64.sqrt())));
}

/// A program that computes the gradients of `w` and `b` for each window, but keeps their initial values.
const HELD: &str = "
node diff_param(init, bp, do) -> (o)
  o = init fby o;

node line(x: num [2]) -> (o: num [])
  w = param([0.5, -1.0]);
  b = param(0.25);
  o = sum(w * x) + b;

node error(x: num [2], y: num []) -> (loss: num [])
  o = line(x);
  loss = (o - y) * (o - y);

node train(x: num [2], y: num []) -> (loss: num [])
  o, _ = diff_line(x, true, 2.0 * (o - y));
  loss = (o - y) * (o - y);
";

#[test]
fn norms_of_gradients_are_those_of_rml_grad() {
    let data = [(json!([1.0, 2.0]), 1.5), (json!([-0.5, 3.0]), -2.0)];
    let folder = Folder::new()
        .file("held.rml", HELD)
        .file("both.json", json!({"x": [data[0].0, data[1].0], "y": [data[0].1, data[1].1]}).to_string());
    let mut squares = [0.0; 2];
    for (x, y) in &data {
        std::fs::write(folder.path("one.json"), json!({"x": [x], "y": [y]}).to_string()).expect("a file");
        let grad = folder.rml("grad held.rml --node error --inputs one.json --format json").json();
        for (sum, key) in squares.iter_mut().zip(["line_0.w", "line_0.b"]) {
            let derivative = &grad["params"][key];
            let elements = derivative.as_array().cloned().unwrap_or_else(|| vec![derivative.clone()]);
            *sum += elements.iter().map(|x| x.as_f64().expect("a number").powi(2)).sum::<f64>();
        }
    }
    let expected = squares.map(|sum| (sum / 2.0).sqrt());
    let train = |engine: &str| {
        let flags = "--data both.json --test 0 --epochs 1 --stats --message-format json";
        let line = folder.rml(&format!("train held.rml {flags} --engine {engine}")).json();
        assert_eq!(line["train"].as_object().map(serde_json::Map::len), Some(1), "{line}");
        line
    };
    let line = train("plan");
    let near = |found: &Value, expected: f64| {
        let found = found.as_f64().unwrap_or(f64::NAN);
        assert!((found - expected).abs() < 1e-6 * expected, "{found} in place of {expected}");
    };
    near(&line["parameters"]["line_0.w"]["gradient"], expected[0]);
    near(&line["parameters"]["line_0.b"]["gradient"], expected[1]);
    near(&line["norms"]["gradient"], expected[0].hypot(expected[1]));
    let simulated = train("sim");
    near(&simulated["norms"]["gradient"], expected[0].hypot(expected[1]));
}

#[test]
fn plans_and_the_simulator_agree_on_gradients_in_windows() {
    let folder = Folder::new();
    let digits = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let train = |flags: &str| {
        let data = format!("{digits}/data/digits.npz --test 1790 --batch 3 --epochs 2");
        folder.rml(&format!("train {digits}/digits.rml --data {data} --message-format json {flags}")).ok()
    };
    let lines = |flags: &str| {
        let parse = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
        train(flags).lines().map(parse).filter(|line| line.get("epoch").is_some()).collect::<Vec<_>>()
    };
    let (plan, simulated) =
        (lines("--stats --engine plan --save plan"), lines("--stats --engine sim --save sim"));
    assert_eq!(plan.len(), 2);
    for (plan, simulated) in plan.iter().zip(&simulated) {
        for (key, stats) in simulated["parameters"].as_object().expect("parameters") {
            let norm = |stats: &Value| stats["gradient"].as_f64().unwrap_or(f64::NAN);
            let (a, b) = (norm(&plan["parameters"][key]), norm(stats));
            assert!(a > 0.0 && (a - b).abs() < 1e-5 * b, "{key}: {a} by plan, {b} in the simulator");
        }
    }
    lines("--engine plan --save plan_without");
    lines("--engine sim --save sim_without");
    let bytes = |name: &str| std::fs::read(folder.path(name)).expect("a checkpoint");
    assert!(bytes("plan") == bytes("plan_without") && bytes("sim") == bytes("sim_without"));
}

#[test]
fn what_a_program_updates_by_itself_has_no_gradient() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let flags = "--epochs 1 --stats --message-format json";
    let train = format!("train {examples}/batchnorm.rml --data {examples}/data/rings.npz {flags}");
    let parameters = &Folder::new().rml(&train).json()["parameters"];
    assert!(parameters["normalised_0.dense_0.kernel"]["gradient"].is_number(), "{parameters}");
    let moving = &parameters["normalised_0.batch_norm_0.moving"];
    assert!(moving["update"].is_number() && moving.get("gradient").is_none(), "{moving}");
}

/// Runs if `RML_TENSORBOARD` names a Python with TensorBoard, as `cargo xtask logs` sets it.
#[test]
fn tensorboard_reads_the_events() {
    let Some(python) = std::env::var_os("RML_TENSORBOARD") else { return };
    let folder = folder();
    let train = |flags: &str| folder.rml(&format!("train p.rml --report 1 --allow-nan --log a {flags}")).ok();
    train("--windows 4 --save s --save-every 3");
    train("--windows 6 --resume s");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/logs/read.py");
    let read = Command::new(python).arg(script).arg(folder.path("a")).output().expect("Python starts");
    let text = String::from_utf8(read.stdout).expect("UTF-8");
    assert!(read.status.success(), "{text}{}", String::from_utf8_lossy(&read.stderr));
    let numbers: Value = serde_json::from_str(&text.replace("NaN", "null")).expect("JSON");
    let steps = |values: [f64; 6]| json!((1..).zip(values).collect::<Vec<(u64, f64)>>());
    assert_eq!(numbers["train/loss"], steps([4.0, 1.0, 0.0, 1.0, 4.0, 9.0]));
    assert_eq!(numbers["test/k"], steps([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    assert_eq!(numbers["train/root"][1], json!([2, null]));
}
