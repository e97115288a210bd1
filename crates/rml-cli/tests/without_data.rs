//! `rml train` without data: limits and conditions, reports, evaluation, and refusals.

mod support;

use serde_json::Value;
use support::Folder;

/// Windows of four cycles. `gap` starts at 4, and is a fifth smaller in each window.
const PROGRAM: &str = "
node level(x: num []) -> (y: num [])
  y = param(4.0) * x;

node train() -> (gap: num [] when end, t)
  t = 0 fby (if end then 0 else t + 1);
  end = t == 3;
  y, _ = diff_level(1.0, true, -0.05 * y) every end;
  gap = y when end;

node evaluate() -> (gap: num [])
  gap = level(1.0);
";

fn folder() -> Folder {
    Folder::new().file("p.rml", PROGRAM)
}

#[test]
fn reports_are_averages_over_windows() {
    let run = folder().rml("train p.rml --windows 5 --report 2 --message-format json");
    let lines: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |key: &str| lines.iter().map(|line| line[key].clone()).collect::<Vec<_>>();
    assert_eq!(
        (of("report"), of("windows"), of("cycles")),
        (ints(&[1, 2, 3]), ints(&[2, 4, 5]), ints(&[8, 16, 20]))
    );
    let gaps: Vec<f64> = lines.iter().map(|line| line["train"]["gap"].as_f64().expect("a number")).collect();
    for (gap, expected) in gaps.iter().zip([4.0 * 0.9, 4.0 * 0.64 * 0.9, 4.0 * 0.4096]) {
        assert!((gap - expected).abs() < 1e-5, "{gaps:?}");
    }
    let tested = |line: &Value| line["test"]["gap"].as_f64();
    assert!((tested(&lines[0]).expect("evaluated") - 4.0 * 0.64).abs() < 1e-5);
    assert_eq!(tested(&lines[2]), None, "a part of a report is not evaluated");
}

fn ints(all: &[i64]) -> Vec<Value> {
    all.iter().map(|n| Value::from(*n)).collect()
}

#[test]
fn a_condition_ends_the_training() {
    let folder = folder();
    let run = folder
        .rml("train p.rml --until 'gap < 0.5 and test.gap < 0.4 for 2' --report 1 --windows 100 --save c");
    let text = run.ok();
    assert!(text.starts_with("test gap 0."), "{text}");
    let again = folder.rml("train p.rml --until 'gap < 0.5 and test.gap < 0.4 for 2' --resume c").ok();
    assert_eq!(again, "nothing was left to train\n");
    folder
        .rml("train p.rml --until 'gap < 0.01' --windows 3 --save missed")
        .fails(1, &["goal-missed", "gap < 0.01", "after 3 windows and 12 cycles"]);
    assert!(folder.path("missed").exists(), "what was learned is saved");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = folder().file("d.json", r#"{"x": [1.0]}"#);
    folder.rml("train p.rml").fails(2, &["--data", "--windows", "--until"]);
    for flags in ["--data d.json", "--epochs 3", "--no-shuffle"] {
        folder.rml(&format!("train p.rml --windows 3 {flags}")).fails(2, &["cannot be used with"]);
    }
    for flags in ["--report 3", "--look-ahead 3"] {
        folder.rml(&format!("train p.rml --data d.json {flags}")).fails(2, &["--windows"]);
    }
    folder
        .rml("train p.rml --data d.json --windows 3 --node infer")
        .fails(2, &["is for a training without data", "`--epochs N` says how long"]);
    folder.rml("infer p.rml --data d.json --windows 3").fails(2, &["with data, leave it out"]);
    folder.rml("train p.rml --windows 0").fails(2, &["at least 1"]);
    folder.rml("train p.rml --windows 3 --test 0.5").fails(1, &["bad-option", "--test COUNT"]);
    folder.rml("train p.rml --windows 3 --evaluate evaluate --test 0").fails(1, &["bad-option"]);
    folder.rml("train p.rml --windows 3 --batch 2").fails(1, &["no-batch-dimension"]);
    folder.rml("train p.rml --until 'gap << 3'").fails(1, &["until-condition", "--until:1:6", "a number"]);
    folder.rml("train p.rml --until 'gab < 3'").fails(1, &["unknown-metric", "there is `gap`", "`test.gap`"]);
}

/// A state that starts with a random draw. The end of the window is found by running ahead and going back; each
/// evaluation restarts.
const DRAWN: &str = "
node level(x: num []) -> (y: num [])
  y = param(4.0) * x;

node from_anywhere() -> (place: num [])
  start = 100.0 * random_uniform([]);
  place = start fby place + 1.0;

node train() -> (place: num [])
  t = 0 fby mod(t + 1, 2);
  end = t == 1;
  place = from_anywhere();
  y, _ = diff_level(1.0, true, -0.05 * y) every end;

node evaluate() -> (place: num [])
  y = level(1.0);
  place = from_anywhere() + 0.0 * y;
";

#[test]
fn states_that_begin_with_a_draw_begin_anew_where_a_run_goes_back() {
    let folder = Folder::new().file("p.rml", DRAWN);
    for engine in ["sim", "plan"] {
        let run = folder.rml(&format!("run p.rml --node train --cycles 6 --engine {engine}")).ok();
        let run: Value = serde_json::from_str(&run).expect("JSON");
        let places: Vec<f64> =
            run["values"]["place"].as_array().expect("a column").iter().filter_map(Value::as_f64).collect();
        let out = folder
            .rml(&format!("train p.rml --windows 3 --report 1 --engine {engine} --message-format json"))
            .out;
        let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!((places.len(), lines.len()), (6, 3), "{engine}: {out}");
        for (line, two) in lines.iter().zip(places.chunks(2)) {
            let place = line["train"]["place"].as_f64().expect("a number");
            assert!((place - (two[0] + two[1]) / 2.0).abs() < 1e-3, "{engine}: {places:?} {line}");
            assert_eq!(
                line["test"], lines[0]["test"],
                "{engine}: the evaluation begins where it began before"
            );
        }
    }
}

/// Windows of four cycles, in which an output is present twice.
const PLAY: &str = "enum way = Left, Right;

node play() -> (t, w: way, n, late: int [] when odd)
  t = 0 fby (if end then 0 else t + 1);
  end = t == 3;
  odd = t == 1 or t == 3;
  w = if t < 2 then Left else Right;
  late = t when odd;
  n = count(1) every end;

node count(x: int []) -> (n)
  n = x + (0 fby n);
";

#[test]
fn inference_needs_no_data() {
    let folder = folder().file("play.rml", PLAY);
    folder.rml("train p.rml --windows 5 --save c.safetensors").ok();
    let gap = folder.rml("infer p.rml --node evaluate --params c.safetensors --windows 3").ok();
    assert!(gap.starts_with("3 windows\ngap 1.3"), "{gap}");
    folder.rml("infer p.rml --node evaluate --windows 3").fails(1, &["no-parameters"]);
    let run = folder.rml("infer play.rml --node play --cycles 6 --out o.csv").ok();
    assert!(run.starts_with("2 windows\n"), "the last window is finished: {run}");
    assert!(run.contains("\nt 1.5000\n") && !run.contains("\nw "), "a case has no mean: {run}");
    let table = folder.read("o.csv");
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(
        rows[..5],
        ["cycle,t,w,n,late", "0,0,Left,1,", "1,1,Left,2,1", "2,2,Right,3,", "3,3,Right,4,3"]
    );
    assert_eq!(rows.len(), 9);
    folder.rml("infer play.rml --node play --windows 1 --out o.json").ok();
    let json: Value = serde_json::from_str(&folder.read("o.json")).expect("JSON");
    assert_eq!(json["late"], serde_json::json!([null, 1, null, 3]));
    folder.rml("infer play.rml --node play --windows 1 --split all").fails(1, &["bad-option", "--split"]);
    folder.rml("infer play.rml --node count --cycles 3").fails(1, &["node count has inputs"]);
    folder.rml("infer play.rml --node play").fails(2, &["--windows"]);
}

#[test]
fn an_evaluation_of_a_single_cycle_is_noted() {
    let folder = folder();
    let run = folder.rml("train p.rml --windows 2");
    assert!(run.err.contains("`evaluate` runs 1 cycle") && run.err.contains("`--test 500`"), "{}", run.err);
    assert!(!folder.rml("train p.rml --windows 2 --test 3").err.contains("runs"), "asked for");
}
