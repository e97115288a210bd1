//! Assertions: which cycle stops a run, the message, and that both are the same on each engine, in training, and in
//! exported C.

mod support;

use std::process::Command;

use support::Folder;

const PROGRAM: &str = "
node part(x: num [3]) -> (o: num [])
  assert \"inputs are small\" x < 10.0;
  o = sum(x);

node main(x: num [3], c: bool []) -> (o: num [])
  o = part(x);
  total = 0 fby total + 1;
  assert \"rarely where it counts\" (total when c) < 3;
";

fn folder(x: &str, c: &str) -> Folder {
    Folder::new().file("p.rml", PROGRAM).file("i.json", format!(r#"{{"x": {x}, "c": {c}}}"#))
}

const SMALL: &str = "[[1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3]]";

const ENGINES: [&str; 4] =
    ["--engine sim", "--engine plan", "--engine plan --backend native", "--engine plan --backend reference"];

#[test]
fn a_property_that_does_not_hold_stops_every_engine_in_its_cycle() {
    let elements = folder("[[1, 2, 3], [4, 5, 6], [7, 18, 9], [0, 0, 0]]", "[false, false, false, false]");
    let sampled = folder(SMALL, "[true, true, false, false, true]");
    let holds = folder(SMALL, "[true, true, true, false, false]");
    for engine in ENGINES {
        let run = |folder: &Folder| folder.rml(&format!("run p.rml --node main --inputs i.json {engine}"));
        let failed = run(&elements).fails(
            1,
            &[
                "error[assertion-failed]: the assertion \"inputs are small\" does not hold in cycle 2",
                "p.rml:3:3",
                "it is false at [1]",
                "`x[1]` is 18.0",
            ],
        );
        assert!(failed.out.contains("15.0"), "what was known before is shown: {}", failed.out);
        let failed = run(&sampled).fails(1, &["\"rarely where it counts\" does not hold in cycle 4"]);
        assert!(failed.err.contains("`total` is 4"), "{}", failed.err);
        let o = run(&holds).json()["values"]["o"].clone();
        assert_eq!(o, serde_json::json!([6.0, 6.0, 6.0, 6.0, 6.0]), "{engine}");
    }
}

#[test]
fn what_decides_a_property_is_told_by_names_of_the_text() {
    let program = "
enum mode = Low, Mid, High, Top;
node main(c: bool [], x: int [], m: mode) -> (y: int [])
  automaton
    state Up
      y = 1 + (0 fby y);
      until c then Down;
    state Down
      y = -1 + (0 fby y);
      until c then Far;
    state Far
      y = 1 + (0 fby y);
      assert \"far\" x + y < 3;
      until c then Up;
  end;
  assert \"mode\" match m (Low -> true, Mid -> true, High -> x < 7, Top -> false);
";
    let notes = |x: &str| {
        let inputs =
            format!(r#"{{"c": [false, true, true, false], "x": {x}, "m": ["Low", "Mid", "High", "High"]}}"#);
        let folder = Folder::new().file("p.rml", program).file("i.json", inputs);
        let run =
            folder.rml("run p.rml --inputs i.json --message-format json").fails(1, &["assertion-failed"]);
        let report: serde_json::Value = serde_json::from_str(run.err.trim()).expect("one finding");
        report["notes"].clone()
    };
    let state = "`automaton.state` is Far";
    assert_eq!(notes("[1, 2, 3, 4]"), serde_json::json!(["`x` is 4", state, "`Far.y` is 1"]));
    assert_eq!(notes("[1, 2, 9, 4]"), serde_json::json!(["`m` is High", "`x` is 9"]));
    // What several states define has a name in the text, too, and what restarts a delay has none.
    let counted = |inside: &str, outside: &str| {
        let program = format!(
            "node main(c: bool []) -> (y: int [])
  automaton
    state Up
      y = 1 + (0 fby y);
      {inside}
      until c then Hold(y);
    state Hold(level = 7)
      y = level;
      until c then Up;
  end;
  {outside}
"
        );
        let folder =
            Folder::new().file("p.rml", program).file("i.json", r#"{"c": [false, false, false, false]}"#);
        folder.rml("run p.rml --inputs i.json").fails(1, &["assertion-failed"]).err
    };
    assert!(counted("", "assert \"small\" y < 3;").contains("Note: `y` is 3"));
    let low = counted("assert \"low\" (0 fby y) < 3;", "");
    assert!(low.contains("\"low\" does not hold in cycle 3") && !low.contains("restart"), "{low}");
}

#[test]
fn a_training_stops_at_a_property_and_an_inference_needs_no_targets_for_one() {
    let text = "
node net(x: num []) -> (o: num [])
  w = param(0.5);
  assert \"the weight stays small\" abs(w) < 2.0;
  o = w * x;

node train(x: num [], y: num []) -> (loss: num [])
  assert \"targets are not negative\" y >= 0.0;
  o, _ = diff_net(x, true, 0.5 * (y - o));
  loss = (o - y) * (o - y);

node infer(x: num [], y: num []) -> (o: num [], loss: num [])
  assert \"targets are not negative\" y >= 0.0;
  o = net(x);
  loss = (o - y) * (o - y);
";
    let folder = Folder::new()
        .file("p.rml", text)
        .file("good.json", r#"{"x": [1, 1, 1], "y": [1, 1, 1]}"#)
        .file("large.json", r#"{"x": [1, 1, 1, 1, 1, 1], "y": [9, 9, 9, 9, 9, 9]}"#)
        .file("bad.json", r#"{"x": [1, 1], "y": [1, -1]}"#)
        .file("x.json", r#"{"x": [4]}"#);
    let train = |data: &str| {
        folder.rml(&format!("train p.rml --data {data} --epochs 1 --test 0 --no-shuffle --save s"))
    };
    train("large.json").fails(
        1,
        &["error[assertion-failed]: the assertion \"the weight stays small\"", "`net_0.w` is 4.75"],
    );
    train("bad.json").fails(1, &["\"targets are not negative\"", "`y` is -1.0"]);
    train("good.json").ok();
    folder.rml("infer p.rml --params s --data bad.json").fails(1, &["\"targets are not negative\""]);
    folder.rml("infer p.rml --params s --data x.json --out o.json").ok();
}

#[test]
fn nothing_is_left_of_a_property_that_is_known_to_hold() {
    let with = PROGRAM.replace("x < 10.0", "shape(x)[0] == 3").replace("(total when c) < 3", "2 * 2 == 4");
    let without: String =
        PROGRAM.lines().filter(|line| !line.contains("assert")).map(|line| format!("{line}\n")).collect();
    let plan = |text: &str| {
        let folder = Folder::new().file("p.rml", text);
        folder.rml("dump p.rml --node main --after plan").ok()
    };
    assert_eq!(plan(&with), plan(&without));
    assert!(plan(PROGRAM).contains("asserts \"inputs are small\" = gather"), "{}", plan(PROGRAM));
}

#[test]
fn an_adjoint_is_printed_with_its_assertions_and_means_the_same_again() {
    let text = "
node net(x: num [2]) -> (o: num [])
  w = param([0.5, 0.5]);
  h = tanh(w * x);
  assert \"h is inside\" h < 1.0 and h > -1.0;
  o = sum(h);
";
    let folder = Folder::new().file("p.rml", text);
    let out = folder.rml("diff p.rml --node net").ok();
    assert!(out.contains("  assert \"h is inside\" h < 1.0 and h > -1.0;\n"), "{out}");
    folder.file("q.rml", &out).rml("fmt --check q.rml");
}

/// Each assertion has its own number in C.
#[test]
fn exported_c_says_which_property_does_not_hold() {
    let main = "
#include \"p.h\"
#include <stdio.h>
int main(void) {
    static p_state state;
    static p_work work;
    p_in in[2] = {{{1, 2, 3}, true}, {{1, 20, 3}, true}};
    p_out out;
    p_start(&state);
    for (int t = 0; t < 2; t++) {
        printf(\"%ld %d\\n\", p_run(&state, &work, in + t, 1, &out), P_ASSERT_1);
    }
    for (int t = 0; t < 3; t++) {
        printf(\"%ld %d\\n\", p_run(&state, &work, in, 1, &out), P_ASSERT_2);
    }
    return 0;
}
";
    let folder = Folder::new().file("p.rml", PROGRAM).file("main.c", main);
    folder.rml("export p.rml --node main --name p").ok();
    let header = folder.read("p.h");
    assert!(
        header.contains("#define P_ASSERT_1 (-4) /* this does not hold: inputs are small */"),
        "{header}"
    );
    assert!(header.contains("#define P_ASSERT_2 (-5) /* this does not hold: rarely where it counts */"));
    let run = |program: &str, args: &[&str]| {
        let output =
            Command::new(program).args(args).current_dir(folder.path(".")).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    run(
        "cc",
        &["-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I.", "-o", "m", "p.c", "main.c"],
    );
    let printed = run(&folder.path("m").to_string_lossy(), &[]);
    assert_eq!(printed, "1 -4\n-4 -4\n1 -5\n1 -5\n-5 -5\n");
}
